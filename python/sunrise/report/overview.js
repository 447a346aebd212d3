// The overview: numbers of rows, classes and columns.
"use strict";

function drawOverview(model, facts, root) {
  byId("head").textContent = facts.head;
  const used = model.columns.filter((column) => column.family !== null).length;
  const largest = Math.max(...facts.class_rows) / Math.max(facts.rows, 1);
  const card = (value, text) => el("li", {}, el("strong", {}, value), el("span", {}, text));
  add(root,
    el("ul", { class: "cards" },
      card(count(facts.rows), "training rows"),
      card(count(model.n), "classes"),
      card(count(used), used === model.columns.length ? "columns" : `of ${count(model.columns.length)} columns are used`),
      facts.quality ? card(percent(facts.quality.accuracy), "correct on unseen rows") : null,
      facts.quality ? card(percent(largest), "of the rows are in the largest class") : null),
    classTable(model, facts),
    el("p", { class: "quiet" }, el("code", {}, facts.estimator)));
}

function classTable(model, facts) {
  const most = 12, shown = model.names.map((_, c) => c);
  if (shown.length > most) shown.sort((a, b) => facts.class_prior[b] - facts.class_prior[a]).splice(most);
  return el("table", { class: "classes" },
    el("caption", {}, "Classes" + (model.n > most ? `: the ${most} most frequent of ${count(model.n)}` : "")),
    el("thead", {}, el("tr", {}, ["Class", "Rows", "Probability before any value"].map((h, k) =>
      el("th", { scope: "col", class: k ? "n" : null }, h)))),
    el("tbody", {}, shown.map((c) => el("tr", {},
      el("th", { scope: "row" }, swatch(c), model.names[c]),
      el("td", { class: "n" }, count(facts.class_rows[c])),
      el("td", { class: "n" }, percent(facts.class_prior[c]))))));
}

const swatch = (c) => svg("svg", { class: "swatch", viewBox: "0 0 26 10", width: 26, height: 10, "aria-hidden": "true" },
  svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, style: `stroke:${colour(c)}`, "stroke-width": 4, "stroke-dasharray": dash(c) }));
