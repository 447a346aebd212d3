// Quality on unseen rows: scores, reliability diagram, confusion matrix, costs and thresholds.
"use strict";

const METHODS = {
  "leave-one-out": "Each training row was scored by the model without that row.",
  "5 folds": "Each fifth of the training rows was scored by a model of the other rows, which made all choices again.",
  "cross-fitted": "Each training row was scored without that row, with weights fitted to other rows.",
};

function drawQuality(model, facts, root) {
  const q = facts.quality;
  if (!q) return root.append(el("p", {}, facts.without_quality));
  const line = (name, value, prior, help) => el("tr", {}, el("th", { scope: "row" }, name),
    el("td", { class: "n" }, value), el("td", { class: "n" }, prior), el("td", { class: "quiet help" }, help));
  add(root,
    el("p", {}, `${plural(q.rows, "row")} (${q.method}). ${METHODS[q.method] || ""}`,
      q.left_out ? ` ${plural(q.left_out, "row")} could not be scored: the only ones of their class.` : ""),
    el("table", {},
      el("thead", {}, el("tr", {}, ["Measure", "Model", "Class prior alone", "Meaning"].map((h, k) =>
        el("th", { scope: "col", class: k === 3 ? "help" : k ? "n" : null }, h)))),
      el("tbody", {},
        line("Accuracy", percent(q.accuracy), percent(q.prior_accuracy), "share of rows whose most probable class is right"),
        line("Log loss", short(q.log_loss), short(q.prior_log_loss), "mean surprise in nats; lower is better"),
        q.brier === undefined ? null : line("Brier score", short(q.brier), "", "mean squared error of the probabilities; lower is better"),
        q.brier === undefined ? null : line("Calibration error", short(q.calibration_error), "", "mean gap between predicted and observed frequency"))));
  // With equally frequent classes, the prior of the other rows always guesses another class.
  if (q.prior_accuracy < 0.8 * (Math.max(...facts.class_rows) / facts.rows))
    root.append(el("p", { class: "quiet" }, "The class prior alone guesses the class that is most frequent among the other rows. Leaving a row out makes " +
      "its own class rarer, so with equally frequent classes the guess is wrong."));
  if (!q.bins) return root.append(el("p", {}, "This model keeps no confusion matrix: it was fitted by an older version."));
  root.append(el("div", { class: "figures" }, reliabilityFigure(model, q), q.confusion ? confusionFigure(model, q) : pairsFigure(model, q)));
  if (q.bins.weight.length === model.n) costsFigure(model, q, root);
  else root.append(el("p", { class: "quiet" }, "Costs and thresholds are shown for models with up to 20 classes."));
}

const classChoice = (id, model, extra, selected) => el("select", { id }, extra.map(([v, t]) => el("option", { value: v }, t)),
  model.names.map((name, c) => el("option", { value: c, selected: c === selected }, cut(name, 40))));

// Groups of similar rows: mean predicted probability, observed frequency, weight. They have about equal weights, or, where most
// probabilities are alike, so that this leaves few groups, equal widths.
function reliabilityGroups(bins, rows) {
  const equal = groupsBy(bins, rows, (share) => share);
  return equal.length > 4 ? equal : groupsBy(bins, rows, (share, width) => width);
}

function groupsBy({ weight, positives, probability }, rows, place, groups = 10) {
  const sum = (array) => array[0].map((_, k) => rows.reduce((total, c) => total + array[c][k], 0));
  const w = sum(weight), o = sum(positives), p = sum(probability), total = w.reduce((a, b) => a + b, 0);
  const out = [];
  let before = 0;
  w.forEach((own, k) => {
    const share = (before + own / 2) / Math.max(total, 1e-300);
    const g = Math.min(groups - 1, Math.floor(place(share, (k + 0.5) / w.length) * groups));
    before += own;
    if (own <= 0) return;
    out[g] = out[g] || { weight: 0, observed: 0, predicted: 0 };
    out[g].weight += own; out[g].observed += o[k]; out[g].predicted += p[k];
  });
  return out.filter(Boolean).map((g) => ({ weight: g.weight, observed: g.observed / g.weight, predicted: g.predicted / g.weight }));
}

function reliabilityFigure(model, q) {
  const pooled = q.bins.weight.length !== model.n, holder = el("div", {});
  const choice = pooled ? null : classChoice("reliability-of", model, model.n === 2 ? [] : [[-1, "all classes"]], model.n === 2 ? 1 : -1);
  const draw = () => {
    const c = choice ? Number(choice.value) : -1, rows = c >= 0 ? [c] : q.bins.weight.map((_, k) => k);
    const groups = reliabilityGroups(q.bins, rows), size = 320, tone = c >= 0 ? c : 0;
    const ticks = [0, 0.25, 0.5, 0.75, 1];
    const own = frame({ width: size, height: size, x: [0, 1], y: [0, 1], xTicks: ticks, yTicks: ticks, bottom: 38, left: 50,
      xText: "predicted probability", yText: "observed frequency" });
    const total = groups.reduce((sum, g) => sum + g.weight, 0);
    // About two standard errors of an observed frequency.
    const bars = groups.map((g) => {
      const half = 2 * Math.sqrt(Math.max(g.observed * (1 - g.observed), 1 / (4 + g.weight)) / Math.max(g.weight, 1));
      return svg("line", { x1: own.atX(g.predicted), x2: own.atX(g.predicted), y1: own.atY(Math.max(0, g.observed - half)),
        y2: own.atY(Math.min(1, g.observed + half)), class: "line" });
    });
    const worst = groups.reduce((m, g) => Math.max(m, Math.abs(g.predicted - g.observed)), 0);
    holder.replaceChildren(
      chart(size, size, `Reliability diagram; the largest gap of a group is ${percent(worst)}.`, own.parts,
        svg("line", { x1: own.atX(0), y1: own.atY(0), x2: own.atX(1), y2: own.atY(1), class: "guide" }), bars,
        path(groups.map((g) => [own.atX(g.predicted), own.atY(g.observed)]), tone),
        groups.map((g) => mark(own.atX(g.predicted), own.atY(g.observed), tone,
          `predicted ${percent(g.predicted)}, observed ${percent(g.observed)}, ${percent(g.weight / total)} of the rows`))),
      el("details", {}, el("summary", {}, "Numbers"), el("table", {},
        el("thead", {}, el("tr", {}, ["Predicted", "Observed", "Rows"].map((h) => el("th", { scope: "col", class: "n" }, h)))),
        el("tbody", {}, groups.map((g) => el("tr", {}, [percent(g.predicted), percent(g.observed), count(g.weight)].map((v) =>
          el("td", { class: "n" }, v))))))));
  };
  if (choice) choice.addEventListener("change", draw);
  draw();
  return el("figure", {}, el("figcaption", {}, el("strong", {}, "Reliability "),
    choice ? [el("label", { for: "reliability-of" }, "of "), choice] : "of all classes together",
    el("p", { class: "quiet" }, "Of rows with a predicted probability of 70 %, about 70 % should belong to the class: points near the ",
      "line. Bars are two standard errors.")), holder);
}

function confusionFigure(model, q) {
  const names = model.names.map((name) => cut(name, 16));
  return el("figure", {}, el("figcaption", {}, el("strong", {}, "Confusion matrix"),
    el("p", { class: "quiet" }, "Rows are true classes, columns are predictions; shading is the share of the true class.")),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion matrix" }, el("table", { class: "confusion" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "true"), names.map((name) => el("th", { scope: "col", class: "n" }, name)))),
      el("tbody", {}, q.confusion.map((row, a) => {
        const total = row.reduce((sum, v) => sum + v, 0) || 1;
        return el("tr", {}, el("th", { scope: "row" }, names[a]), row.map((v, b) => el("td", { class: a === b ? "n right" : "n wrong",
          style: `--share:${((v / total) * 100).toFixed(1)}%`, title: `${percent(v / total)} of ${names[a]}` }, count(v))));
      })))));
}

function pairsFigure(model, q) {
  return el("figure", {}, el("figcaption", {}, el("strong", {}, "Most frequent confusions"),
    el("p", { class: "quiet" }, `The model has ${count(model.n)} classes, too many for a matrix.`)),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Most frequent confusions" }, el("table", {},
      el("thead", {}, el("tr", {}, ["True class", "Predicted", "Rows"].map((h, k) => el("th", { scope: "col", class: k === 2 ? "n" : null }, h)))),
      el("tbody", {}, q.pairs.map(([a, b, n]) => el("tr", {}, el("td", {}, model.names[a]),
        el("td", {}, model.names[b]), el("td", { class: "n" }, count(n))))))));
}

// Costs: every threshold of P(class) with its errors and their price; the best one, and any other to compare.
function costsFigure(model, q, root) {
  const choice = classChoice("costs-of", model, [], model.n === 2 ? 1 : 0);
  const number = (id, value) => el("input", { type: "number", id, value, min: 0, step: "any", class: "cost" });
  const alarm = number("cost-alarm", 1), miss = number("cost-miss", 1);
  const slider = el("input", { type: "range", id: "threshold", min: 0, max: 1, step: 0.01, value: 0.5 });
  const result = el("div", {}), table = el("div", {}), says = el("p", { role: "status" });
  const best = el("button", { type: "button" }, "Use the cheapest threshold");
  const draw = () => {
    const c = Number(choice.value), bins = q.bins.weight[0].length, cost = [Math.max(0, Number(alarm.value)), Math.max(0, Number(miss.value))];
    const found = new Array(bins + 1).fill(0), alarms = new Array(bins + 1).fill(0);
    for (let k = bins - 1; k >= 0; k--) {
      found[k] = found[k + 1] + q.bins.positives[c][k];
      alarms[k] = alarms[k + 1] + Math.max(0, q.bins.weight[c][k] - q.bins.positives[c][k]);
    }
    const positives = found[0], negatives = alarms[0], rows = positives + negatives || 1;
    const price = found.map((f, k) => (100 * (cost[0] * alarms[k] + cost[1] * (positives - f))) / rows);
    const cheapest = price.reduce((a, v, k) => (v < price[a] - 1e-12 ? k : a), 0);
    draw.cheapest = cheapest / bins;
    const k = Math.min(bins, Math.max(0, Math.round(Number(slider.value) * bins))), name = `class ${cut(model.names[c], 30)}`;
    const top = Math.max(...price) || 1, width = 420, height = 190;
    const own = frame({ width, height, x: [0, 1], y: [0, top * 1.05], xTicks: [0, 0.25, 0.5, 0.75, 1], yTicks: roundTicks(0, top, 4), bottom: 38, left: 56,
      xText: `threshold of P(${cut(model.names[c], 20)})`, yText: "cost per 100 rows" });
    result.replaceChildren(chart(width, height, `Cost per 100 rows by threshold; the cheapest threshold is ${short(cheapest / bins, 2)} and costs ${short(price[cheapest])}.`,
      own.parts, path(price.map((v, i) => [own.atX(i / bins), own.atY(v)]), c),
      svg("line", { x1: own.atX(k / bins), x2: own.atX(k / bins), y1: 8, y2: own.floor, class: "cursor" }),
      mark(own.atX(cheapest / bins), own.atY(price[cheapest]), c, `cheapest: ${short(cheapest / bins, 2)}`)));
    const cells = [[`Rows of ${name} found`, found[k]], [`Rows of ${name} missed`, positives - found[k]],
      ["False alarms", alarms[k]], ["Rightly left alone", negatives - alarms[k]]];
    table.replaceChildren(el("table", {}, el("tbody", {}, cells.map(([text, n]) => el("tr", {}, el("th", { scope: "row" }, text),
      el("td", { class: "n" }, count(n)))),
      el("tr", {}, el("th", { scope: "row" }, `Share of ${name} that is found (recall)`), el("td", { class: "n" }, positives ? percent(found[k] / positives) : "unknown")),
      el("tr", {}, el("th", { scope: "row" }, "Share of alarms that are right (precision)"), el("td", { class: "n" },
        found[k] + alarms[k] ? percent(found[k] / (found[k] + alarms[k])) : "no alarm")))));
    says.textContent = `Threshold ${short(k / bins, 3)}: cost ${short(price[k])} per 100 rows. Cheapest on these rows: ${short(cheapest / bins, 3)}, cost ` +
      `${short(price[cheapest])}. If the probabilities are right, the best threshold is ${cost[0] + cost[1] > 0 ? short(cost[0] / (cost[0] + cost[1]), 3) : "any"}.`;
  };
  for (const field of [choice, alarm, miss, slider]) field.addEventListener("input", draw);
  best.addEventListener("click", () => { slider.value = draw.cheapest; draw(); });
  draw();
  add(root, el("h3", {}, "Costs and thresholds"),
    el("p", { class: "quiet" }, "Act if the probability of a class is at least the threshold. What do errors cost?"),
    el("div", { class: "tools" },
      el("span", {}, el("label", { for: "costs-of" }, "Class "), choice),
      el("span", {}, el("label", { for: "cost-alarm" }, "cost of a false alarm "), alarm),
      el("span", {}, el("label", { for: "cost-miss" }, "cost of a miss "), miss),
      el("span", {}, el("label", { for: "threshold" }, "threshold "), slider), best),
    says, el("div", { class: "figures" }, result, table));
}
