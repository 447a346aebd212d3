// One row of the nomogram: the field of a column, the ticks of its values on the axis of points, and its points.
"use strict";

function makeRow(nomogram, j) {
  const { model, facts } = nomogram, column = model.columns[j], block = model.blockOf[j], id = `v${j}`;
  const note = el("span", { class: "note", id: `n${j}` });
  const change = (value) => {
    nomogram.values[j] = value;
    note.textContent = remark(block, column, value);
    row.node.classList.toggle("set", value !== null);
    nomogram.update();
  };
  const field = (FIELDS[block.kind] || numberField)({ id, column, block, range: facts.ranges[j], change, described: `n${j}` });
  const clear = el("button", { type: "button", class: "clear", "aria-label": `Clear ${column.name}: missing`, title: "Clear: missing",
    onclick: () => { nomogram.set(j, null); byId(id).focus(); } }, "\u00d7");
  const picture = el("div", { class: "axis" });
  const output = el("output", { class: "points", for: id, "aria-live": "off", "aria-label": `Points of ${column.name}` });
  const bits = facts.bits[j];
  const words = el("ul", { class: "words", "aria-label": `Words of ${column.name} by points` });
  const row = {
    node: el("li", { class: block.kind === "text" ? "row long" : "row" },
      el("div", { class: "name" }, el("label", { for: id, title: column.name }, cut(column.name, 40)),
        el("span", { class: "sub" }, column.family + (bits === null ? "" : `, ${bitsText(bits)}`))),
      el("div", { class: "field" }, field.node, clear, note), picture, output, block.kind === "text" ? words : null),
    ticks: [],
    show(value) {
      field.show(value);
      note.textContent = remark(block, column, value);
      row.node.classList.toggle("set", value !== null);
    },
    measure() { row.ticks = ticksOf(nomogram, j); },
    drawAxis() {
      row.base = svg("g", {}, drawTicks(nomogram, row.ticks, (value) => nomogram.set(j, value)));
      row.live = svg("g", {});
      picture.replaceChildren(svg("svg", { viewBox: `0 0 ${nomogram.width} 46`, "aria-hidden": "true" }, row.base, row.live));
    },
    drawPoints(points) {
      const set = nomogram.values[j] !== null || points !== 0;
      if (block.kind === "text") words.replaceChildren(...wordItems(nomogram, block, nomogram.values[j]));
      row.live.replaceChildren(...(set ? marks(nomogram, points, 23).flat() : []));
      output.textContent = set ? signed(points) : "missing";
    },
  };
  row.show(nomogram.values[j]);
  return row;
}

// The words of a document that speak loudest, each with its points.
function wordItems(nomogram, block, text) {
  if (text === null) return [];
  const found = KINDS.text.words(block, String(text), nomogram.model.n)
    .map(([word, times, scores]) => [word, times, nomogram.points(scores)]);
  found.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  if (!found.length) return [el("li", {}, "no word that the model knows")];
  const shown = found.slice(0, MOST_WORDS).map(([word, times, points]) => el("li", { class: points < 0 ? "against" : "for" },
    `${word}${times > 1 ? ` \u00d7${times}` : ""} `, el("b", {}, signed(points))));
  return found.length > MOST_WORDS ? [...shown, el("li", {}, `and ${plural(found.length - MOST_WORDS, "other word")}`)] : shown;
}

// What a person should know about a value; empty for most.
function remark(block, column, value) {
  if (value === null) return "";
  if (block.kind === "levels")
    return block.place.has(levelName(value)) ? "" : block.refuse_unseen ? "the model refuses a value that it has not seen" : "not seen in training";
  if (block.kind === "codes") return block.place.has(Number(value)) ? "" : "not seen in training";
  if (!block.cells || cellOf(block, value) !== null) return "";
  return `not possible for ${column.family}: ` + (column.impossible === "error" ? "predict refuses it" : "counts as missing");
}

// Fields by the kind of block; a block of another kind takes numbers.
const FIELDS = {
  levels({ id, column, block, change, described }) {
    if (block.levels.length > MOST_OPTIONS) return levelSearch({ id, block, change, described });
    const other = "\u0000other";
    const node = el("select", { id, "aria-describedby": described },
      el("option", { value: "\u0000missing" }, "missing"), block.levels.map((name) => el("option", { value: name }, name)),
      el("option", { value: other }, "(another value)"));
    node.addEventListener("change", () =>
      change(node.value === "\u0000missing" ? null : node.value === other ? "\u0000" : node.value));
    return { node, show: (value) => { node.value = value === null ? "\u0000missing" : block.place.has(levelName(value)) ? levelName(value) : other; } };
  },
  codes(options) { return numberField(options); },
  text({ id, change, described }) {
    const node = el("textarea", { id, rows: 4, placeholder: "Type or paste a text", "aria-describedby": described });
    node.addEventListener("input", () => change(node.value === "" ? null : node.value));
    return { node, show: (value) => { if (node.value !== (value ?? "")) node.value = value ?? ""; } };
  },
};

// A column with very many levels: a text field that suggests levels as one types.
function levelSearch({ id, block, change, described }) {
  const suggestions = el("datalist", { id: `${id}-levels` });
  const node = el("input", { type: "text", id, list: `${id}-levels`, placeholder: "missing", autocomplete: "off", "aria-describedby": described });
  const suggest = () => {
    const start = node.value.toLowerCase(), found = [];
    for (const name of block.levels) {
      if (found.length === 30) break;
      if (name.toLowerCase().includes(start)) found.push(name);
    }
    suggestions.replaceChildren(...found.map((name) => el("option", { value: name })));
  };
  node.addEventListener("focus", suggest);
  node.addEventListener("input", () => { suggest(); change(node.value === "" ? null : node.value); });
  return { node: el("span", { class: "pair" }, node, suggestions), show: (value) => { node.value = value === null ? "" : levelName(value); } };
}

const isLog = (low, high) => low > 0 && high >= 100 * low;

// Cells that can only be 0 and 1.
const isYesNo = (column, { cells }) => cells && cells.above === null &&
  (column.kind === "bool" || (cells.lowest === 0 && cells.highest === 1));

function numberField({ id, column, block, range, change, described }) {
  const [low, high] = range || [0, 1];
  const whole = (block.cells && block.cells.whole) || block.kind === "codes";
  if (isYesNo(column, block)) {
    const node = el("select", { id, "aria-describedby": described },
      [["", "missing"], ["0", "no"], ["1", "yes"]].map(([value, text]) => el("option", { value }, text)));
    node.addEventListener("change", () => change(node.value === "" ? null : Number(node.value)));
    return { node, show: (value) => { node.value = value === null ? "" : String(Number(value)); } };
  }
  // A range over powers of ten has a logarithmic slider.
  const log = !whole && isLog(low, high), to = log ? Math.log : (v) => Number(v);
  const from = log ? (u) => Number(Math.exp(u).toPrecision(3)) : (u) => Number(u);
  const step = whole ? 1 : 10 ** Math.floor(Math.log10((to(high) - to(low)) / 50)), middle = (to(low) + to(high)) / 2;
  const number = el("input", { type: "number", id, step: "any", placeholder: "missing", "aria-describedby": described });
  const slider = el("input", { type: "range", min: to(low), max: to(high), step, "aria-label": `${column.name}, slider` });
  slider.value = middle;
  const say = () => slider.setAttribute("aria-valuetext", number.value === "" ? "missing" : number.value);
  number.addEventListener("input", () => {
    const value = number.value === "" ? null : Number(number.value);
    if (value !== null) slider.value = to(value);
    say();
    change(value);
  });
  slider.addEventListener("input", () => { number.value = from(slider.value); say(); change(Number(number.value)); });
  return {
    node: el("span", { class: "pair" }, number, slider),
    show(value) {
      if (value === null) { number.value = ""; slider.value = middle; }
      else if (number.value === "" || Number(number.value) !== Number(value)) { number.value = Number(value); slider.value = to(value); }
      say();
    },
  };
}

// The values that the axis of a column names, with their points.
function ticksOf(nomogram, j) {
  const { model, facts } = nomogram, block = model.blockOf[j];
  const tick = (value, text, extra) => ({ value, text, points: nomogram.points(model.partsOf(j, value)), ...extra });
  if (block.kind === "text") return [];
  if (block.kind === "levels") {
    const levels = block.levels.length > MOST_OPTIONS ? block.levels.slice(0, MOST_OPTIONS) : block.levels;
    return levels.map((name) => tick(name, cut(name, 14)));
  }
  if (block.kind === "codes") return block.codes.slice(0, MOST_OPTIONS).map((code) => tick(code, String(code)));
  const [low, high] = facts.ranges[j] || [0, 1], whole = block.cells && block.cells.whole;
  if (block.cells && block.cells.above !== null) {
    const { above } = block.cells;
    return [tick(above, `up to ${short(above)}`), tick(above + 1, `above ${short(above)}`)];
  }
  if (isYesNo(model.columns[j], block)) return [tick(0, "no"), tick(1, "yes")];
  // A number: round values with a text, and enough points between them to draw the axis. A falling branch lies below.
  const log = !whole && isLog(low, high), between = [];
  const texts = (log ? logTicks(low, high) : roundTicks(low, high, 7)).filter((v) => !whole || Number.isInteger(v));
  for (let k = 0; k <= 40; k++) {
    const v = log ? low * (high / low) ** (k / 40) : low + ((high - low) * k) / 40;
    between.push(whole ? Math.round(v) : v);
  }
  const grid = [...new Set([...texts, ...between])].sort((a, b) => a - b);
  const ticks = grid.map((v) => tick(v, texts.includes(v) ? short(v, 6) : null, { number: true }));
  ticks.forEach((t, k) => {
    const before = ticks[Math.max(0, k - 1)].points, after = ticks[Math.min(ticks.length - 1, k + 1)].points;
    t.falling = after < before;
  });
  return ticks;
}

function drawTicks({ at, width, low, high }, ticks, choose) {
  const finite = ticks.filter((t) => Number.isFinite(t.points));
  const line = (x1, x2, y1, y2, kind) => svg("line", { x1, x2, y1, y2, class: kind });
  const drawn = [line(at(0), at(0), 0, 46, "zero")];
  if (!finite.length) return drawn;
  const ends = finite.map((t) => at(t.points));
  drawn.push(line(Math.min(...ends), Math.max(...ends), 23, 23, "line"));
  const lanes = { up: [], down: [] };
  const fits = (lane, x, wide) => lanes[lane].every(([a, b]) => x + wide / 2 < a || x - wide / 2 > b);
  for (const t of finite) {
    if (t.text === null) continue;
    const out = t.points < low || t.points > high;
    const wide = t.text.length * 6.3 + 6, x = at(t.points);
    const at_ = Math.min(Math.max(x, wide / 2 + 1), width - wide / 2 - 1);
    const wanted = t.number ? [t.falling ? "down" : "up"] : ["up", "down"];
    const lane = out ? undefined : wanted.find((own) => fits(own, at_, wide));
    drawn.push(line(x, x, t.number ? (t.falling ? 23 : 17) : 18, t.number ? (t.falling ? 29 : 23) : 28, "line"));
    if (lane === undefined) continue;
    lanes[lane].push([at_ - wide / 2, at_ + wide / 2]);
    const text = svg("text", { x: at_, y: lane === "up" ? 12 : 42, "text-anchor": "middle", class: "choose" }, t.text);
    text.addEventListener("click", () => choose(t.value));
    drawn.push(text);
  }
  return drawn;
}
