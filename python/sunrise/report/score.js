// Probabilities of a row from the JSON export of a model; docs/export.md describes the format.
"use strict";

const plainNumber = (v) => (v === "inf" ? Infinity : v === "-inf" ? -Infinity : v);
const numbers = (list) => Float64Array.from(list, plainNumber);

const VIEWS = {
  "x": (x) => x,
  "log x": Math.log,
  "log(1 - x)": (x) => Math.log1p(-x),
  "cos x": Math.cos,
  "sin x": Math.sin,
  "x = 0": (x) => (x === 0 ? 1 : 0),
};
const DISTANCES = {
  "line": (u) => u,
  "log": Math.log1p,
  "log square": (u) => 2 * Math.log(Math.hypot(1, u)),
};

// Number of sorted numbers that are at most x.
function countAtMost(sorted, x) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// log Gamma(a + n) - log Gamma(a), without the cancellation of two large logarithms.
function logRising(a, n) {
  if (n === 0) return 0;
  if (a === 0) return -Infinity;
  let sum = 0;
  if (Number.isInteger(n) && n <= 64) {
    for (let k = 0; k < n; k++) sum += Math.log(a + k);
    return sum;
  }
  // Stirling's series needs large arguments: move both up.
  let b = a + n;
  for (; a < 16; a++) sum -= Math.log(a);
  for (; b < 16; b++) sum += Math.log(b);
  const gap = b - a;
  const tail = (x) => {
    const y = 1 / (x * x);
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - (y * 691) / 360360))))) / x;
  };
  return (a - 0.5) * Math.log1p(gap / a) + gap * (Math.log(b) - 1) + (tail(b) - tail(a)) - sum;
}

function softmax(score) {
  const most = Math.max(...score);
  const p = score.map((s) => Math.exp(s - most));
  const total = p.reduce((a, b) => a + b, 0);
  return p.map((v) => v / total);
}

// Python's text of a number, the name of its level: whole numbers have no decimal point.
function levelName(value) {
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return Math.abs(value) < 1e21 ? String(value) : BigInt(value).toString();
  const [digits, power] = value.toExponential().split("e"), exponent = Number(power);
  if (exponent >= -4 && exponent < 16) return exponent < 0 ? value.toFixed(digits.replace(/\D/g, "").length - 1 - exponent) : String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

// How the blocks of each kind score a row: `prepare` runs once, `score` adds the parts of its columns to `out`.
// `values` has the cells of the row by the position of the column; null is missing. `only` asks for one place of the block.
// A new kind needs one entry here.
const KINDS = {
  linear: {
    prepare(block) {
      for (const name of ["base", "x", "x2", "anchor"]) if (name in block) block[name] = block[name].map(numbers);
    },
    score(block, values, out, only) {
      const factor = lengthFactor(block, values), { base, x, x2, anchor } = block;
      eachView(block, values, only, (j, k, view) => {
        for (let c = 0; c < out.n; c++) {
          const d = anchor ? view - anchor[c][k] : view;
          if (base) addWeight(out, j, c, base[c][k], 1, 1, factor);
          if (x) addWeight(out, j, c, x[c][k], d, d, factor);
          if (x2) addWeight(out, j, c, x2[c][k], d * d, 1e100 * d * d, factor);
        }
      });
    },
  },
  counts: {
    prepare(block) {
      KINDS.linear.prepare(block);
      block.log_share = block.log_share.map(numbers);
      block.share = block.log_share.map((own) => own.map(Math.exp));
    },
    score(block, values, out, only) {
      if (only !== undefined) return KINDS.linear.score(block, values, out, only);  // as if the other counts were 0
      const cells = block.columns.map((j) => cellOf(block, values[j]));
      if (cells.every((x) => x !== null)) return KINDS.linear.score(block, values, out);
      const factor = lengthFactor(block, values) * block.factor;
      for (let c = 0; c < out.n; c++) {
        let share = 0, total = 0;
        cells.forEach((x, k) => { if (x !== null) share += block.share[c][k]; });
        const rescale = share > 0 ? Math.log(share) : 0;
        const weights = cells.map((x, k) =>
          x !== null && Number.isFinite(block.log_share[c][k]) ? block.log_share[c][k] - rescale : 0);
        for (const w of weights) total += w;
        cells.forEach((x, k) => {
          if (x === null) return;
          const w = block.normed ? (Math.abs(total) > 1e-12 ? weights[k] / total : 0) : block.sign * weights[k];
          out.add(block.columns[k], c, factor * w * x);
          const weight = block.x[c][k];
          if (!Number.isFinite(weight)) out.exclude(block.columns[k], c, -Math.sign(weight) * x);
        });
      }
    },
  },
  distance: {
    prepare(block) {
      for (const name of ["base", "anchor", "scale", "power"]) block[name] = block[name].map(numbers);
    },
    score(block, values, out, only) {
      const h = DISTANCES[block.curve];
      eachView(block, values, only, (j, k, x) => {
        for (let c = 0; c < out.n; c++) {
          const u = block.scale[c][k] * Math.abs(x - block.anchor[c][k]);
          out.add(j, c, block.base[c][k] + block.power[c][k] * h(u));
        }
      });
    },
  },
  rising: {
    prepare(block) {
      for (const name of ["base", "slope", "shape", "gap"]) if (name in block) block[name] = block[name].map(numbers);
    },
    score(block, values, out, only) {
      eachView(block, values, only, (j, k, x) => {
        if (block.weight[k] === 0) return;
        for (let c = 0; c < out.n; c++) {
          const shape = block.shape[c][k];
          let own = block.base[c][k] + block.slope[c][k] * x + logRising(shape, x);
          if ("gap" in block) own -= logRising(shape + block.gap[c][k], x);
          out.add(j, c, block.weight[k] * own);
        }
      });
    },
  },
  polya: {
    prepare(block) { block.concentration = block.concentration.map(numbers); },
    score(block, values, out) {
      const factor = lengthFactor(block, values), cells = [];
      block.columns.forEach((j, k) => {
        const x = block.known[k] ? cellOf(block, values[j]) : null;
        if (x !== null) cells.push([k, x]);
      });
      const observed = block.concentration.map((a) => cells.reduce((sum, [k]) => sum + a[k], 0));
      polyaScores(block, cells, observed, out.n, (k, c, s) => out.add(block.columns[k], c, factor * s));
    },
  },
  levels: {
    prepare(block) {
      block.scores = block.scores.map(numbers);
      block.unseen = numbers(block.unseen);
      block.missing = numbers(block.missing);
      block.place = new Map(block.levels.map((name, k) => [name, k]));
    },
    score(block, values, out) {
      const j = block.columns[0], x = values[j];
      if (x === null) return out.addAll(j, block.missing);
      const place = block.place.get(levelName(x));
      if (place === undefined && block.refuse_unseen)
        throw new Error(`The model refuses values that it has not seen, such as ${x}.`);
      out.addAll(j, place === undefined ? block.unseen : block.scores[place]);
    },
  },
  codes: {
    prepare(block) {
      block.scores = block.scores.map(numbers);
      block.unseen = numbers(block.unseen);
      block.other = numbers(block.other);
      block.place = new Map(block.codes.map((code, k) => [code, k]));
    },
    score(block, values, out) {
      const j = block.columns[0], x = values[j];
      if (x === null) return;
      const place = block.place.get(Number(x));
      out.addAll(j, place !== undefined ? block.scores[place] : x < block.size ? block.other : block.unseen);
    },
  },
  bins: {
    prepare(block) { block.scores = block.scores.map(numbers); },
    score(block, values, out) {
      const j = block.columns[0], x = values[j];
      if (x !== null) out.addAll(j, block.scores[countAtMost(block.edges, Number(x))]);
    },
  },
  pair: {
    prepare(block) {
      block.scores = block.scores.map((row) => row.map(numbers));
      for (const side of [block.first, block.second])
        if (side.levels) side.place = new Map(side.levels.map((name, k) => [name, k]));
    },
    score(block, values, out) {
      const [a, b] = block.columns, first = placeIn(block.first, values[a]), second = placeIn(block.second, values[b]);
      if (first !== undefined && second !== undefined) out.addAll(block.term, block.scores[first][second]);
    },
  },
  quadratic: {
    prepare(block) { block.scatter = block.scatter.map((rows) => rows.map(numbers)); },
    score(block, values, out) {
      const cells = block.columns.map((j, k) => {
        const x = values[j] === null || values[j] === undefined ? NaN : Number(values[j]);
        return Number.isFinite(x) ? (x - block.centre[k]) / block.unit[k] : NaN;
      });
      const whole = studentScores(block, cells);
      if (block.together) return out.addAll(block.term, whole);
      // The loss of log density if a column is marginalised; the columns share the difference to the whole equally.
      const observed = cells.flatMap((x, k) => (Number.isNaN(x) ? [] : [k])), rest = whole.slice();
      const losses = observed.map((k) => {
        const without = studentScores(block, cells.map((x, at) => (at === k ? NaN : x)));
        return without.map((s, c) => { rest[c] -= whole[c] - s; return whole[c] - s; });
      });
      observed.forEach((k, i) => losses[i].forEach((s, c) => out.add(block.columns[k], c, s + rest[c] / observed.length)));
    },
  },
  curve: {
    prepare(block) {
      block.scale.lower = plainNumber(block.scale.lower);
      block.scale.upper = plainNumber(block.scale.upper);
    },
    score(block, values, out) {
      const j = block.columns[0], { breaks, scale } = block;
      let x = cellOf(block, values[j]);
      if (x === null) return;
      if (scale.log) {
        const low = Number.isFinite(scale.lower) ? Math.log(x - scale.lower) : 0;
        x = low - (Number.isFinite(scale.upper) ? Math.log(scale.upper - x) : 0);
      }
      x = Math.min(Math.max(x, breaks[0]), breaks[breaks.length - 1]);
      const i = Math.min(countAtMost(breaks, x), breaks.length - 1) - 1;
      const t = (2 * x - breaks[i] - breaks[i + 1]) / (breaks[i + 1] - breaks[i]);
      block.coefficients[i].forEach((own, c) => out.add(j, c, own.reduceRight((sum, a) => sum * t + a, 0)));
    },
  },
  text: {
    prepare(block) {
      block.place = new Map(block.words.map((word, k) => [word, k]));
      if (block.scores === "polya") {
        KINDS.polya.prepare(block);
        block.observed = block.concentration.map((a) => a.reduce((sum, v, k) => sum + (block.known[k] ? v : 0), 0));
      } else {
        block.x = block.x.map(numbers);
        block.base = numbers(block.base);
      }
    },
    score(block, values, out) {
      const j = block.columns[0], text = values[j];
      if (text === null) return;
      const document = documentCells(block, String(text)), factor = documentFactor(block, document);
      if (block.scores === "linear")
        for (let c = 0; c < out.n; c++) {
          out.add(j, c, factor * block.base[c]);
          out.exclude(j, c, plainNumber(block.base_excluded[c]));
        }
      eachWord(block, document, out.n, (k, c, weight, x) => addWeight(out, j, c, weight, x, x, factor));
    },
    // Parts of the words of a document: [word, number of times, scores by class].
    words(block, text, n) {
      const document = documentCells(block, text), factor = documentFactor(block, document), parts = new Map();
      eachWord(block, document, n, (k, c, weight, x) => {
        if (!parts.has(k)) parts.set(k, new Float64Array(n));
        parts.get(k)[c] += Number.isFinite(weight) ? factor * weight * x : weight;
      });
      return [...parts].map(([k, scores]) => [block.words[k], document.counts.get(k), scores]);
    },
  },
};

// Scores of standardised cells by a multivariate Student-t for each class; NaN is missing.
function studentScores(block, cells) {
  const at = cells.flatMap((x, k) => (Number.isNaN(x) ? [] : [k])), n = block.mean.length;
  if (at.length === 0) return new Array(n).fill(0);
  const scores = block.mean.map((mean, c) => {
    const { lower, logDeterminant } = cholesky(block.scatter[c], at), freedom = block.freedom[c];
    // Solve lower z = x - mean from the first column on.
    const z = [];
    let distance = 0;
    at.forEach((k, i) => {
      let v = cells[k] - mean[k];
      for (let m = 0; m < i; m++) v -= lower[i][m] * z[m];
      z.push(v / lower[i][i]);
      distance += z[i] * z[i];
    });
    return logRising(freedom / 2, at.length / 2) - (logDeterminant + at.length * Math.log(Math.PI * freedom)
      + (freedom + at.length) * Math.log1p(distance / freedom)) / 2;
  });
  if (block.share === 0) return scores.map((s) => block.weight * s);
  // Log-odds are bounded by mixing a share of all classes into each.
  const most = Math.max(...scores), total = scores.reduce((sum, s) => sum + Math.exp(s - most), 0);
  return scores.map((s) => block.weight * (most + Math.log((1 - block.share) * Math.exp(s - most) + (block.share / n) * total)));
}

// The lower Cholesky factor of some rows and columns of a matrix, and the log of its determinant.
function cholesky(matrix, at) {
  const lower = [];
  let logDeterminant = 0;
  at.forEach((a, i) => {
    const row = [];
    for (let m = 0; m <= i; m++) {
      let v = matrix[a][at[m]];
      for (let k = 0; k < m; k++) v -= row[k] * (m === i ? row[k] : lower[m][k]);
      row.push(m === i ? Math.sqrt(v) : v / lower[m][m]);
    }
    lower.push(row);
    logDeterminant += 2 * Math.log(row[i]);
  });
  return { lower, logDeterminant };
}

// The place of a value among the levels or bins of one side of a pair; undefined if it is missing or unknown.
function placeIn(side, value) {
  if (value === null || value === undefined) return undefined;
  return side.edges ? countAtMost(side.edges, Number(value)) : side.place.get(levelName(value));
}

function addWeight(out, j, c, weight, feature, infinite, factor) {
  if (Number.isFinite(weight)) out.add(j, c, factor * weight * feature);
  else out.exclude(j, c, -Math.sign(weight) * infinite);
}

// The number of a cell; null if it is missing, or if the family of the column excludes it.
function cellOf(block, value) {
  if (value === null || value === undefined) return null;
  const x = Number(value), { lowest, highest, whole, above } = block.cells;
  if (!Number.isFinite(x)) return null;
  if (above !== null) return x > above ? 1 : 0;
  return x < lowest || x > highest || (whole && !Number.isInteger(x)) ? null : x;
}

// Call action(column, position of the view, view) for the cells that are not missing; `only` is one place in the block.
function eachView(block, values, only, action) {
  const per = block.views.length, last = only === undefined ? block.columns.length : only + 1;
  for (let at = only === undefined ? 0 : only; at < last; at++) {
    const x = cellOf(block, values[block.columns[at]]);
    if (x === null) continue;
    for (let v = 0; v < per; v++) action(block.columns[at], at * per + v, VIEWS[block.views[v]](x));
  }
}

function lengthFactor(block, values) {
  if (block.exponent === 0) return 1;
  const length = block.columns.reduce((sum, j) => sum + (cellOf(block, values[j]) || 0), 0);
  return (length + 1) ** block.exponent;
}

// Scores of counts from a Polya urn; the part of the row's length is shared among the cells by their counts.
function polyaScores(block, cells, observed, n, add) {
  const length = cells.reduce((sum, [, x]) => sum + x, 0);
  for (let c = 0; c < n; c++) {
    const whole = observed[c] > 0 ? logRising(observed[c], length) : 0;
    for (const [k, x] of cells)
      add(k, c, block.factor * (logRising(block.concentration[c][k], x) - (length > 0 ? (x / length) * whole : 0)));
  }
}

const documentFactor = (block, { length }) => (block.exponent === 0 ? 1 : (length + 1) ** block.exponent);

// Call action(word, class, weight, number) for the known words of a document.
function eachWord(block, { cells }, n, action) {
  if (block.scores === "polya")
    polyaScores(block, [...cells].filter(([k]) => block.known[k]), block.observed, n, (k, c, s) => action(k, c, s, 1));
  else for (let c = 0; c < n; c++) for (const [k, x] of cells) action(k, c, block.x[c][k], x);
}

// Numbers of the known words of a document (position -> number) and the number of all its words.
function documentCells(block, text) {
  let found = tokensOf(text, block.tokens);
  if (block.tokens.hash_bits !== null) found = found.map((token) => hashedToken(token, block.tokens.hash_bits));
  const counts = new Map();
  for (const token of found) {
    const k = block.place.get(token);
    if (k !== undefined) counts.set(k, block.tokens.binary ? 1 : (counts.get(k) || 0) + 1);
  }
  const cells = new Map();
  let squares = 0, sum = 0;
  for (const [k, count] of counts) {
    let x = block.tf === "log" ? Math.log1p(count) : block.tf === "binary" ? 1 : count;
    if (block.word_weight !== null) x *= block.word_weight[k];
    cells.set(k, x);
    squares += x * x;
    sum += x;
  }
  let factor = block.length && squares > 0 ? Math.sqrt(squares) ** -block.length : 1;
  if (block.total !== null) factor = sum > 0 ? block.total / sum : 1;
  for (const [k, x] of cells) cells.set(k, block.above === null ? x * factor : x * factor > block.above ? 1 : 0);
  return { cells, counts, length: block.tokens.binary ? new Set(found).size : found.length };
}

class Model {
  constructor(spec) {
    this.spec = spec;
    this.n = spec.classes.length;
    this.columns = spec.columns;
    this.names = spec.classes.map(levelName);
    this.logPrior = spec.log_prior.map(plainNumber);
    this.plainLogPrior = spec.log_prior_without_offsets && spec.log_prior_without_offsets.map(plainNumber);
    this.classLogPrior = spec.log_class_prior.map(plainNumber);
    // Columns that are scored together, pairs or more, are a term of their own, after those of the columns.
    this.pairs = [];
    this.terms = spec.columns.length;
    this.blockOf = new Array(spec.columns.length).fill(null);
    this.placeOf = new Array(spec.columns.length).fill(0);
    for (const block of spec.blocks) {
      if (!(block.kind in KINDS))
        throw new Error(`This page cannot score blocks of the kind "${block.kind}". Write it again with the version of Sunrise that made the model.`);
      if (block.cells) {
        block.cells.lowest = plainNumber(block.cells.lowest);
        block.cells.highest = plainNumber(block.cells.highest);
      }
      KINDS[block.kind].prepare(block);
      if (block.kind === "pair" || block.together) {
        block.term = this.terms++;
        this.pairs.push(block);
      } else block.columns.forEach((j, at) => { this.blockOf[j] = block; this.placeOf[j] = at; });
    }
  }

  // The parts of the score: contributions of columns and pairs (term x class), probabilities and the scores behind them.
  score(values) {
    const n = this.n, parts = new Float64Array(this.terms * n);
    const total = new Float64Array(n), excluded = new Float64Array(n), excludes = new Map();
    const out = {
      n,
      add(j, c, s) { parts[j * n + c] += s; total[c] += s; },
      addAll(j, scores) { for (let c = 0; c < n; c++) this.add(j, c, scores[c]); },
      exclude(j, c, count) {
        if (count !== 0) excludes.set(j, true);
        excluded[c] += count;
      },
    };
    for (const block of this.spec.blocks) KINDS[block.kind].score(block, values, out);
    const least = Math.min(0, ...excluded);
    let score = this.logPrior.map((s, c) => (excluded[c] > least ? -Infinity : s + total[c]));
    const impossible = score.every((s) => s === -Infinity);
    if (impossible) score = this.classLogPrior.slice();
    let p = softmax(score), prior = this.logPrior;
    if (this.plainLogPrior) {
      const silent = softmax(this.logPrior);
      if (p.every((v, c) => Math.abs(v - silent[c]) <= 1e-13)) {
        score = prior = this.plainLogPrior;
        p = softmax(score);
      }
    }
    return { parts, score, p, prior, impossible, excludes };
  }

  // Scores of one column alone at a value, for each class.
  partsOf(j, value) {
    const n = this.n, parts = new Float64Array(n), block = this.blockOf[j];
    const out = {
      n,
      add(_, c, s) { parts[c] += s; },
      addAll(_, scores) { for (let c = 0; c < n; c++) parts[c] += scores[c]; },
      exclude(_, c, count) { if (count > 0) parts[c] = -Infinity; },
    };
    KINDS[block.kind].score(block, { [j]: value }, out, this.placeOf[j]);
    return parts;
  }

  // The cells of a record (an object by names of columns, or an array) by the positions of the columns.
  values(record) {
    const cell = (v) => (v === undefined || v === null || Number.isNaN(v) ? null : v);
    return Array.isArray(record) ? record.map(cell) : this.columns.map(({ name }) => cell(record[name]));
  }
}
