// Small helpers: elements, numbers as text, colours of classes.
"use strict";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const add = (node, ...children) => fill(node, null, children);
const byId = (id) => document.getElementById(id);

const MINUS = "\u2212";
const signed = (x, digits = 2) =>
  Number.isNaN(x) ? "impossible" : x === Infinity ? "certain" : x === -Infinity ? "impossible"
    : (Number(x.toFixed(digits)) === 0 ? "" : x < 0 ? MINUS : "+") + Math.abs(x).toFixed(digits);
const count = (n) => Math.round(n).toLocaleString("en-US");
// A number for a person: about so many digits, and no exponent where none is needed.
function short(x, digits = 3) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "unknown";
  if (x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-4)) return x.toExponential(digits - 1).replace("-", MINUS);
  return String(Number(x.toPrecision(digits))).replace("-", MINUS);
}
function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p > 0.9995) return "> 99.9 %";
  return `${(100 * p).toFixed(1)} %`;
}
const bitsText = (b) => (b === null ? "bits unknown" : `${b < 1e-6 ? "0" : short(b)} bits`);
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
// The name of columns that are scored together: two with a cross, of more the first three.
const termName = (model, columns) => (columns.length === 2 ? columns.map((j) => cut(model.columns[j].name, 24)).join(" \u00d7 ")
  : columns.slice(0, 3).map((j) => cut(model.columns[j].name, 24)).join(", ") + (columns.length > 3 ? ` and ${columns.length - 3} more` : ""));
const cut = (text, most) => (text.length <= most ? text : text.slice(0, most - 1) + "\u2026");

// Eight colours that colour-blind people can tell apart, each with a dash of its own, so that print needs no colour.
const DASHES = ["", "7 3", "2 2.5", "9 3 2 3", "5 2", "12 3", "1.5 3", "8 2 2 2 2 2"];
const colour = (c) => `var(--c${c % 8})`;
const dash = (c) => DASHES[Math.floor(c / 8) % 2 ? (c + 3) % 8 : c % 8];

// About `most` round numbers between two ends.
function roundTicks(low, high, most) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++)
    ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}
