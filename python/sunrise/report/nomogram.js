// The live nomogram: a field for every value, the points of every column, and the probabilities of the classes.
"use strict";

const STEP = 20, MOST_POINTS = 12, MOST_OPTIONS = 200, MOST_BARS = 10, MOST_WORDS = 24;

class Nomogram {
  constructor(model, facts, root) {
    Object.assign(this, { model, facts, root });
    this.values = new Array(model.columns.length).fill(null);
    this.rows = new Map();
    const rank = (j) => (facts.bits[j] === null ? -1 : facts.bits[j]);
    this.order = model.columns.map((_, j) => j).filter((j) => model.blockOf[j] !== null);
    this.order.sort((a, b) => rank(b) - rank(a) || a - b);
    this.limit = STEP;
    // -1 stands for the most probable class, and for all other classes.
    this.wanted = { target: model.n > 2 ? -1 : model.n - 1, against: model.n === 2 ? 0 : -1 };
    this.target = Math.max(0, this.wanted.target);
    this.against = this.wanted.against;
    this.build();
    this.list();
    let width = root.clientWidth;
    window.addEventListener("resize", () => {
      if (root.clientWidth !== width) { width = root.clientWidth; this.target = null; this.update(); }
    });
  }

  build() {
    const classes = this.model.names;
    const choice = (id, selected, options) => el("select", { id }, options.map(([value, text]) =>
      el("option", { value, selected: Number(value) === selected }, text)));
    const ofClasses = classes.map((name, c) => [c, name]);
    const many = this.model.n > 2;
    this.targetField = choice("target", this.wanted.target, many ? [[-1, "the most probable class"], ...ofClasses] : ofClasses);
    this.againstField = choice("against", this.wanted.against, many ? [[-1, "all other classes"], ...ofClasses] : ofClasses);
    for (const [field, key] of [[this.targetField, "target"], [this.againstField, "against"]])
      field.addEventListener("change", () => this.compare(key, Number(field.value)));
    this.search = el("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false" });
    this.search.addEventListener("input", () => { this.limit = STEP; this.list(); });
    this.sorting = el("select", { id: "order" }, [["bits", "by information"], ["points", "by points now"], ["name", "by name"], ["table", "as in the table"]]
      .map(([value, text]) => el("option", { value }, text)));
    this.sorting.addEventListener("change", () => this.list());
    this.onlySet = el("input", { type: "checkbox", id: "only-set" });
    this.onlySet.addEventListener("change", () => { this.limit = STEP; this.list(); });
    this.bars = el("div", { class: "bars" });
    this.says = el("p", { class: "says", role: "status", "aria-live": "polite" });
    this.items = el("ol", { class: "rows" });
    this.axis = el("div", { class: "points-axis" });
    this.shown = el("p", { class: "quiet", role: "status" });
    this.more = el("button", { type: "button", onclick: () => { this.limit += STEP; this.list(); } });
    this.pairs = el("ul", { class: "rows", "aria-label": "Pairs of columns" });
    this.prior = el("div", { class: "row total" });
    this.total = el("div", { class: "row total" });
    const hasCounts = this.model.spec.blocks.some((block) => block.kind === "counts" || block.kind === "polya");
    add(this.root,
      el("p", {}, "An empty field is a missing value: it changes nothing. The points of a value are its part of the ",
        "log-odds, as in ", el("code", {}, "model.explain"), "; one point multiplies the odds by 2.72."),
      el("div", { class: "posterior" }, this.bars, this.says),
      el("div", { class: "tools" },
        el("span", {}, el("label", { for: "target" }, "Points for "), this.targetField),
        el("span", {}, el("label", { for: "against" }, "against "), this.againstField),
        this.order.length > 8 ? el("span", {}, el("label", { for: "search" }, "Find a column "), this.search) : null,
        this.order.length > 8 ? el("span", {}, el("label", { for: "order" }, "Order "), this.sorting) : null,
        el("span", {}, this.onlySet, el("label", { for: "only-set" }, " only set values")),
        el("button", { type: "button", onclick: () => this.clear() }, "Clear all"),
        hasCounts ? el("button", { type: "button", onclick: () => this.zeroCounts() }, "Empty counts to 0") : null),
      this.axis, this.prior, this.items, this.more, this.shown, this.pairs,
      this.model.pairs.length ? el("p", { class: "quiet" }, `${plural(this.model.pairs.length, "term")} ${this.model.pairs.length === 1 ? "says" : "say"} what columns tell together, `,
        "more than each alone: a pair has points when both of its values are set.") : null, this.total);
    this.prior.append(el("div", { class: "name" }, "Before any value"), el("div", { class: "field" }));
    this.total.append(el("div", { class: "name" }, "Sum of all points"), el("div", { class: "field" }));
    for (const own of [this.prior, this.total]) {
      own.picture = el("div", { class: "axis" });
      own.output = el("span", { class: "points" });
      own.append(own.picture, own.output);
    }
  }

  sorted() {
    const { model, sorting, result } = this, copy = this.order.slice();
    const size = (j) => Math.abs(this.points(result.parts.subarray(j * model.n, (j + 1) * model.n))) || 0;
    if (sorting.value === "points" && result) copy.sort((a, b) => size(b) - size(a));
    if (sorting.value === "name") copy.sort((a, b) => (model.columns[a].name < model.columns[b].name ? -1 : 1));
    if (sorting.value === "table") copy.sort((a, b) => a - b);
    return copy;
  }

  // The columns that are listed: in their order, filtered by the search, the first `limit` of them.
  list() {
    const query = this.search.value.trim().toLowerCase();
    const found = this.sorted().filter((j) =>
      (!query || this.model.columns[j].name.toLowerCase().includes(query)) &&
      (!this.onlySet.checked || this.values[j] !== null));
    // Set values stay in sight, however little their columns tell.
    const rest = query ? [] : found.slice(this.limit).filter((j) => this.values[j] !== null).slice(0, MOST_OPTIONS);
    const listed = [...found.slice(0, this.limit), ...rest];
    for (const j of this.rows.keys()) if (!listed.includes(j)) this.rows.delete(j);
    for (const j of listed) if (!this.rows.has(j)) this.rows.set(j, makeRow(this, j));
    this.items.replaceChildren(...listed.map((j) => this.rows.get(j).node));
    this.rows = new Map(listed.map((j) => [j, this.rows.get(j)]));
    this.more.hidden = found.length <= this.limit;
    this.more.textContent = `Show ${Math.min(STEP, found.length - this.limit)} more`;
    this.shown.textContent = listed.length === this.order.length ? ""
      : `${count(listed.length)} of ${plural(this.order.length, "column")} shown.`;
    this.target = null;
    this.update();
  }

  compare(key, c) {
    const before = this.wanted[key], other = key === "target" ? "against" : "target";
    this.wanted[key] = c;
    if (c >= 0 && this.wanted[other] === c) this.wanted[other] = before;
    this.targetField.value = this.wanted.target;
    this.againstField.value = this.wanted.against;
    this.target = null;  // the axes are drawn again
    this.update();
  }

  // The classes that are compared now: the most probable class changes with the values.
  resolve(p) {
    const { wanted } = this, best = p.reduce((a, v, c) => (v > p[a] && c !== wanted.against ? c : a), wanted.against === 0 ? 1 % p.length : 0);
    const target = wanted.target >= 0 ? wanted.target : best;
    if (target === this.target && wanted.against === this.against) return;
    Object.assign(this, { target, against: wanted.against });
    this.drawAxes();
  }

  compared() {
    const names = this.model.names.map((name) => cut(name, 24));
    if (this.model.n === 1) return "Points";
    return `Points for ${names[this.target]} against ${this.against < 0 ? "all other classes" : names[this.against]}`;
  }

  // Points of scores by class: for the target, against one class or the mean of all others.
  points(scores) {
    const own = scores[this.target];
    if (this.model.n === 1) return 0;
    if (this.against >= 0) return own - scores[this.against];
    let rest = 0;
    for (let c = 0; c < this.model.n; c++) if (c !== this.target) rest += scores[c];
    return own - rest / (this.model.n - 1);
  }

  set(j, value) {
    this.values[j] = value;
    const row = this.rows.get(j);
    if (row) row.show(value);
    this.update();
  }

  clear() {
    this.values.fill(null);
    for (const row of this.rows.values()) row.show(null);
    if (this.onlySet.checked) this.list();
    else this.update();
  }

  zeroCounts() {
    for (const block of this.model.spec.blocks)
      if (block.kind === "counts" || block.kind === "polya")
        for (const j of block.columns) if (this.values[j] === null) this.values[j] = 0;
    for (const [j, row] of this.rows) row.show(this.values[j]);
    this.update();
  }

  // The common axis of points, and the ticks of every listed column on it.
  drawAxes() {
    let low = -1, high = 1;
    const reach = (t) => {
      if (Number.isFinite(t)) { low = Math.min(low, t); high = Math.max(high, t); }
    };
    for (const row of this.rows.values()) { row.measure(); row.ticks.forEach((tick) => reach(tick.points)); }
    reach(this.points(this.model.logPrior));
    if (this.model.spec.blocks.some((block) => block.kind === "text")) { reach(-6); reach(6); }
    this.low = Math.max(low, -MOST_POINTS) * 1.06;
    this.high = Math.min(high, MOST_POINTS) * 1.06;
    this.width = Math.max(220, this.prior.picture.clientWidth || 600);
    this.at = (t) => {
      const inside = Math.min(Math.max(t, this.low), this.high);
      return 10 + ((inside - this.low) / (this.high - this.low)) * (this.width - 20);
    };
    const ticks = roundTicks(this.low, this.high, this.width / 70);
    this.axis.replaceChildren(el("div", { class: "name compared" }, this.compared()), el("div", { class: "axis" },
      svg("svg", { viewBox: `0 0 ${this.width} 22`, "aria-hidden": "true" },
        svg("line", { x1: this.at(this.low), x2: this.at(this.high), y1: 20, y2: 20, class: "line" }),
        ticks.map((t) => [svg("line", { x1: this.at(t), x2: this.at(t), y1: 15, y2: 20, class: "line" }),
          svg("text", { x: this.at(t), y: 11, "text-anchor": "middle" }, signed(t, t % 1 ? 1 : 0))]))),
      el("span", { class: "points" }));
    for (const row of this.rows.values()) row.drawAxis();
  }

  update() {
    const { model } = this;
    let result;
    try { result = model.score(this.values); } catch (error) { return showProblem(error); }
    showProblem(null);
    this.result = result;
    this.resolve(result.p);
    for (const [j, row] of this.rows) row.drawPoints(this.points(result.parts.subarray(j * model.n, (j + 1) * model.n)));
    this.drawPairs(result);
    const prior = this.points(result.prior), total = this.points(result.score);
    drawBar(this, this.prior, prior);
    this.drawTotal(total);
    this.drawBars(result);
  }

  // The pairs whose two values are set, those with the most points first.
  drawPairs({ parts }) {
    const { model } = this, found = [];
    for (const pair of model.pairs) {
      const set = pair.columns.filter((j) => this.values[j] !== null).length;
      if (set < (pair.together ? 1 : 2)) continue;
      found.push([pair, this.points(parts.subarray(pair.term * model.n, (pair.term + 1) * model.n))]);
    }
    found.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    this.pairs.replaceChildren(...found.slice(0, STEP).map(([{ columns }, points]) => {
      const values = columns.map((j) => cut(String(this.values[j]), 24)), isPair = columns.length === 2;
      const row = el("li", { class: "row set" }, el("div", { class: "name" }, termName(model, columns), el("span", { class: "sub" }, isPair ? "beyond each alone" : "together")),
        el("div", { class: "field" }, isPair ? values.join(" and ") : ""));
      row.picture = el("div", { class: "axis" });
      row.output = el("span", { class: "points" });
      row.append(row.picture, row.output);
      drawBar(this, row, points);
      return row;
    }));
  }

  drawTotal(total) {
    const { width } = this, reach = Math.max(6, Math.min(40, Math.abs(Number.isFinite(total) ? total : 40) + 1));
    const at = (t) => 10 + ((Math.min(Math.max(t, -reach), reach) + reach) / (2 * reach)) * (width - 20);
    const odds = this.model.n === 2 || this.against >= 0;
    const shares = [0.0001, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];
    const marks = odds ? shares.map((p) => [Math.log(p / (1 - p)), `${Number((100 * p).toFixed(4))} %`]).filter(([t]) => Math.abs(t) < reach)
      : roundTicks(-reach, reach, width / 90).map((t) => [t, signed(t, 0)]);
    let last = -Infinity;
    const texts = marks.map(([t, text]) => {
      const wide = text.length * 6.5, fits = at(t) - wide / 2 > last + 4;
      if (fits) last = at(t) + wide / 2;
      return [svg("line", { x1: at(t), x2: at(t), y1: 16, y2: 22, class: "line" }),
        fits ? svg("text", { x: at(t), y: 36, "text-anchor": "middle" }, text) : null];
    });
    this.total.picture.replaceChildren(svg("svg", { viewBox: `0 0 ${width} 42`, "aria-hidden": "true" },
      svg("line", { x1: 10, x2: width - 10, y1: 19, y2: 19, class: "line" }), texts,
      svg("line", { x1: at(0), x2: at(total), y1: 10, y2: 10, class: total < 0 ? "bar neg" : "bar pos" }),
      svg("circle", { cx: at(total), cy: 10, r: 6, class: total < 0 ? "dot neg" : "dot pos" })));
    this.total.output.textContent = signed(total);
  }

  drawBars({ p, impossible }) {
    const names = this.model.names, most = this.root.clientWidth < 600 ? MOST_BARS / 2 : MOST_BARS, many = p.length > most;
    const order = p.map((_, c) => c);
    const best = order.reduce((a, b) => (p[b] > p[a] ? b : a), 0);
    if (many) order.sort((a, b) => p[b] - p[a] || a - b).splice(most);
    this.bars.replaceChildren(...order.map((c) => el("div", { class: "prob", title: String(p[c]) },
      el("span", { class: "label" }, swatch(c), cut(names[c], 28)),
      el("span", { class: "track" }, el("span", { class: "fill", style: `width:${100 * p[c]}%;background:${colour(c)}` })),
      el("span", { class: "value" }, percent(p[c])))),
      many ? el("p", { class: "quiet" }, p.length - most === 1 ? "and 1 less probable class" : `and ${count(p.length - most)} less probable classes`) : "");
    const set = this.values.reduce((sum, v) => sum + (v !== null), 0);
    this.says.textContent = (impossible ? "These values are impossible in every class, so the class prior decides. " : "") +
      `Most probable: ${names[best]}, ${percent(p[best])}; ${plural(set, "value")} set.`;
  }
}

// A bar from 0 to some points on the common axis, without ticks.
function drawBar(nomogram, row, points) {
  const { at, width } = nomogram;
  row.picture.replaceChildren(svg("svg", { viewBox: `0 0 ${width} 22`, "aria-hidden": "true" },
    svg("line", { x1: at(0), x2: at(0), y1: 0, y2: 22, class: "zero" }), marks(nomogram, points, 11)));
  row.output.textContent = signed(points);
}

function marks({ at, low, high }, points, y) {
  if (Number.isNaN(points)) return [];
  const sign = points < 0 ? "neg" : "pos", x = at(points), out = points > high ? 1 : points < low ? -1 : 0;
  return [svg("line", { x1: at(0), x2: x, y1: y, y2: y, class: `bar ${sign}` }),
    out ? svg("path", { d: `M${x + 6 * out} ${y}l${-9 * out} -6v12z`, class: `dot ${sign}` })
      : svg("circle", { cx: x, cy: y, r: 6, class: `dot ${sign}` })];
}
