// Charts as SVG: a frame with axes, and marks that differ by shape as well as by colour.
"use strict";

// A frame of the size `width` x `height` with scales: x and y map data to pixels.
function frame({ width, height, x, y, left = 46, bottom = 34, top = 8, right = 12, log = false, xTicks, yTicks, xText, yText }) {
  const u = log ? Math.log : (v) => v, [x0, x1] = x.map(u), [y0, y1] = y;
  const atX = (v) => left + ((u(v) - x0) / (x1 - x0 || 1)) * (width - left - right);
  const atY = (v) => height - bottom - ((v - y0) / (y1 - y0 || 1)) * (height - bottom - top);
  const floor = height - bottom, parts = [svg("line", { x1: left, x2: width - right, y1: floor, y2: floor, class: "line" })];
  let last = -Infinity;
  for (const v of xTicks || (log ? logTicks(x[0], x[1]) : roundTicks(x[0], x[1], (width - left) / 60))) {
    const text = short(v, 6), wide = text.length * 6.3;
    if (atX(v) - wide / 2 < last + 5 || atX(v) + wide / 2 > width + 4) continue;
    last = atX(v) + wide / 2;
    parts.push(svg("line", { x1: atX(v), x2: atX(v), y1: floor, y2: floor + 4, class: "line" }),
      svg("text", { x: atX(v), y: floor + 15, "text-anchor": "middle" }, text));
  }
  for (const v of yTicks || [])
    parts.push(svg("line", { x1: left - 4, x2: left, y1: atY(v), y2: atY(v), class: "line" }),
      svg("text", { x: left - 7, y: atY(v) + 4, "text-anchor": "end" }, short(v, 3)));
  if (yTicks) parts.push(svg("line", { x1: left, x2: left, y1: top, y2: floor, class: "line" }));
  if (xText) parts.push(svg("text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, xText));
  if (yText) parts.push(svg("text", { x: 11, y: (top + floor) / 2, "text-anchor": "middle",
    transform: `rotate(-90 11 ${(top + floor) / 2})` }, yText));
  return { atX, atY, parts, floor, left, right: width - right };
}

function logTicks(low, high) {
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++)
    for (const m of [1, 2, 5]) if (m * 10 ** k >= low && m * 10 ** k <= high) ticks.push(Number((m * 10 ** k).toPrecision(3)));
  return ticks.length > 7 ? ticks.filter((v) => /^1/.test(v.toExponential())) : ticks;
}

const chart = (width, height, text, ...parts) =>
  svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": text, class: "chart" }, parts);

const path = (points, c, extra) => svg("path", {
  d: points.map(([a, b], k) => `${k ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join(""), class: "curve",
  style: `stroke:${colour(c)}`, "stroke-dasharray": dash(c), ...extra });

// A mark of a class: eight shapes.
const SHAPES = [
  "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", "M-4 -4h8v8h-8z", "M0 -5.5l5 9h-10z", "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
  "M0 5.5l5 -9h-10z", "M-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z", "M-5 -2h10v4h-10z", "M-2 -5h4v10h-4z",
];
const mark = (x, y, c, text) => svg("path", { d: SHAPES[c % 8], transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
  class: "mark", style: `fill:${colour(c)}` }, svg("title", {}, text));

// Class-conditional distributions of one column.
function drawPicture(picture, classes, names, name) {
  if (!picture.heights.length) return null;
  return picture.kind === "dots" ? dotPicture(picture, classes, names, name) : curvePicture(picture, classes, names, name);
}

function dotPicture({ at, heights }, classes, names, name) {
  const width = 420, line = 20, left = 128, most = Math.max(...heights.flat()), least = Math.min(0, ...heights.flat());
  const height = at.length * line + 30;
  const own = frame({ width, height, x: [least, most || 1], y: [0, 1], left, bottom: 24, top: 4 });
  const rows = at.map((level, k) => {
    const y = 4 + (k + 0.5) * line;
    return [svg("line", { x1: left, x2: own.right, y1: y, y2: y, class: "guide" }),
      svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, cut(String(level), 19)),
      heights.map((h, i) => mark(own.atX(h[k]), y, classes[i], `${level}, ${names[i]}: ${short(h[k])}`))];
  });
  const best = (k) => names[heights.reduce((a, h, i) => (h[k] > heights[a][k] ? i : a), 0)];
  const text = `${name}: ` + at.slice(0, 6).map((level, k) => `${level} is most frequent in class ${best(k)}`).join("; ") + ".";
  return chart(width, height, text, own.parts, rows);
}

function curvePicture({ kind, at, heights, log }, classes, names, name) {
  const width = 420, height = 150, steps = kind === "steps";
  const tops = heights.map((h) => Math.max(0, ...h)).filter((top) => top > 0).sort((a, b) => a - b);
  if (!tops.length) return null;  // all density is in one point
  // A very narrow density is cut off, so that the others stay visible.
  const most = Math.min(tops[tops.length - 1], 4 * tops[Math.floor((tops.length - 1) / 2)]) ;
  const own = frame({ width, height, x: [at[0], at[at.length - 1]], y: [0, most * 1.05], left: 12, bottom: 22, log });
  const lines = heights.map((h, i) => {
    const points = [];
    if (Math.max(0, ...h) === 0) return null;
    h.forEach((v, k) => {
      const y = own.atY(Math.min(v === null ? 0 : v, most * 1.05));
      if (steps) points.push([own.atX(at[k]), y], [own.atX(at[k + 1]), y]);
      else points.push([own.atX(at[k]), y]);
    });
    return path(points, classes[i]);
  });
  const peak = (h) => at[h.reduce((a, v, k) => (v > h[a] ? k : a), 0)];
  const text = `${name}: ` + heights.slice(0, 6).map((h, i) => `class ${names[i]} is densest at ${short(peak(h))}`).join("; ") + ".";
  return chart(width, height, text, own.parts, lines);
}
