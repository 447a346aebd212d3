// The columns by information, with a picture of each; pictures are drawn when their rows are shown.
"use strict";

function drawColumns(model, facts, root) {
  const classes = facts.picture_classes, names = classes.map((c) => model.names[c]);
  const bits = (j) => (facts.bits[j] === null ? -1 : facts.bits[j]);
  const used = model.columns.map((_, j) => j).filter((j) => model.columns[j].family !== null);
  const unused = model.columns.map((_, j) => j).filter((j) => model.columns[j].family === null);
  used.sort((a, b) => bits(b) - bits(a) || a - b);
  const most = Math.max(1e-12, ...used.slice(0, 1).map(bits));
  const list = el("ol", { class: "columns" });
  const search = el("input", { type: "search", id: "find-column", autocomplete: "off", spellcheck: "false" });
  const more = el("button", { type: "button" });
  const shown = el("p", { class: "quiet", role: "status" });
  let limit = 12;
  const show = () => {
    const query = search.value.trim().toLowerCase();
    const found = used.filter((j) => !query || model.columns[j].name.toLowerCase().includes(query));
    list.replaceChildren(...found.slice(0, limit).map(card));
    more.hidden = found.length <= limit;
    more.textContent = `Show ${Math.min(12, found.length - limit)} more columns`;
    shown.textContent = found.length > limit ? `${count(limit)} of ${plural(found.length, "column")} shown.` : "";
  };
  const card = (j) => {
    const column = model.columns[j], picture = facts.pictures[j];
    const drawn = picture ? drawPicture(picture, classes, names, column.name) : null;
    return el("li", {},
      el("h3", {}, column.name),
      el("p", { class: "quiet" }, `${column.family}; ${facts.reasons[j]}`,
        facts.missing[j] ? `; ${plural(facts.missing[j], "missing cell")}` : "",
        column.weight !== undefined && column.weight !== 1 ? `; weight ${short(column.weight)}` : ""),
      el("p", { class: "bits" }, el("span", { class: "track" }, el("span", { class: "fill", style: `width:${(100 * Math.max(0, bits(j))) / most}%` })),
        el("span", {}, bitsText(facts.bits[j]))),
      drawn || el("p", { class: "quiet" }, picture || facts.pictured > used.indexOf(j)
        ? "No picture: the values of this column have no distribution of their own."
        : `No picture: only the ${count(facts.pictured)} most informative columns have one.`));
  };
  search.addEventListener("input", () => { limit = 12; show(); });
  more.addEventListener("click", () => {
    const first = limit;
    limit += 12;
    show();
    const heading = list.children[first].querySelector("h3");
    heading.tabIndex = -1;
    heading.focus();
  });
  add(root,
    el("p", {}, "Bits say how much an observed value tells about the class, on average and taken alone. The pictures show the ",
      "distribution that the model has learnt for each class."),
    facts.without_bits ? el("p", {}, `Some columns have no bits: ${facts.without_bits}`) : null,
    el("p", { class: "legend" }, names.map((name, i) => el("span", {}, legendMark(classes[i]), cut(name, 30))),
      classes.length < model.n ? el("span", {}, `the ${classes.length} most frequent of ${count(model.n)} classes`) : null),
    used.length > 12 ? el("p", {}, el("label", { for: "find-column" }, "Find a column "), search) : null,
    list, more, shown,
    model.pairs.length ? el("details", { open: model.pairs.length < 13 }, el("summary", {}, `${plural(model.pairs.length, "term")} of several columns together`),
      el("ul", {}, model.pairs.slice(0, 500).map(({ columns, weight }) => el("li", {},
        `${termName(model, columns)}: weight ${short(weight)}`)))) : null,
    unused.length ? el("details", {}, el("summary", {}, `${plural(unused.length, "column")} that the model does not use`),
      el("ul", {}, unused.slice(0, 500).map((j) => el("li", {}, `${model.columns[j].name}: ${facts.reasons[j]}`)))) : null);
  show();
}

const legendMark = (c) => svg("svg", { class: "swatch", viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true" },
  svg("line", { x1: 1, x2: 33, y1: 6, y2: 6, style: `stroke:${colour(c)}`, "stroke-width": 2.5, "stroke-dasharray": dash(c) }), mark(17, 6, c, ""));
