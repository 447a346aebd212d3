"""An evaluator of exported JSON, written from docs/export.md alone: plain Python and the standard library.

It shares no code with the package, so that agreement with `predict_proba` shows that the document is complete.
"""

from __future__ import annotations

import bisect
import json
import math
import re
import unicodedata

MISSING = None


def number(value):
    return float(value) if isinstance(value, str) else value


class JsonModel:
    def __init__(self, text):
        self.spec = json.loads(text)
        self.names = [column["name"] for column in self.spec["columns"]]
        self.kinds = [column["kind"] for column in self.spec["columns"]]

    def predict_proba(self, rows):
        """Probabilities of rows, each a dict by column name."""
        return [self.probabilities(row) for row in rows]

    def probabilities(self, row):
        spec, n = self.spec, len(self.spec["classes"])
        log_prior = [number(v) for v in spec["log_prior"]]
        score, excluded = list(log_prior), [0.0] * n
        for block in spec["blocks"]:
            own, out = getattr(self, "block_" + block["kind"])(block, row, n)
            score = [s + o for s, o in zip(score, own, strict=True)]
            excluded = [e + o for e, o in zip(excluded, out, strict=True)]
        least = min(min(excluded), 0.0)
        score = [-math.inf if e > least else s for s, e in zip(score, excluded, strict=True)]
        if all(s == -math.inf for s in score):
            score = [number(v) for v in spec["log_class_prior"]]
        p = softmax(score)
        if spec["log_prior_without_offsets"] is not None:
            silent = softmax(log_prior)
            if all(abs(a - b) <= 1e-13 for a, b in zip(p, silent, strict=True)):
                p = softmax([number(v) for v in spec["log_prior_without_offsets"]])
        return p

    def cell(self, block, j, row):
        """The number of a cell; None if it is missing or impossible."""
        x, cells = row[self.names[j]], block["cells"]
        if x is None or x != x or math.isinf(x):
            return None
        x = float(x)
        if cells["above"] is not None:
            return 1.0 if x > cells["above"] else 0.0
        if (
            x < number(cells["lowest"])
            or x > number(cells["highest"])
            or (cells["whole"] and x != math.floor(x))
        ):
            return None
        return x

    def views(self, block, row):
        """Position of a view of a cell, and its value, for every cell that is not missing."""
        for at, j in enumerate(block["columns"]):
            x = self.cell(block, j, row)
            if x is not None:
                for v, view in enumerate(block["views"]):
                    yield at * len(block["views"]) + v, VIEWS[view](x)

    def block_linear(self, block, row, n):
        score, excluded = [0.0] * n, [0.0] * n
        for k, x in self.views(block, row):
            for c in range(n):
                d = x - (block["anchor"][c][k] if "anchor" in block else 0.0)
                for name, feature, infinite in (
                    ("base", 1.0, 1.0),
                    ("x", d, d),
                    ("x2", d * d, 1e100 * d * d),
                ):
                    if name in block:
                        weight = number(block[name][c][k])
                        if math.isinf(weight):
                            excluded[c] -= math.copysign(1.0, weight) * infinite
                        else:
                            score[c] += weight * feature
        return self.times_length(block, row, score), excluded

    def times_length(self, block, row, score):
        """Scores times (sum of the observed cells + 1) to the power of the exponent."""
        if block["exponent"] == 0.0:
            return score
        cells = [self.cell(block, j, row) for j in block["columns"]]
        factor = (sum(x for x in cells if x is not None) + 1.0) ** block["exponent"]
        return [s if factor == 1.0 else (0.0 if factor == 0.0 else s * factor) for s in score]

    def block_counts(self, block, row, n):
        cells = [self.cell(block, j, row) for j in block["columns"]]
        observed = [x is not None for x in cells]
        if all(observed):
            return self.block_linear(block, row, n)
        score, excluded = [0.0] * n, [0.0] * n
        for c in range(n):
            log_share = [number(v) for v in block["log_share"][c]]
            share = sum(math.exp(v) for v, o in zip(log_share, observed, strict=True) if o)
            rescale = math.log(share) if share > 0 else 0.0
            weights = [
                v - rescale if o and math.isfinite(v) else 0.0
                for v, o in zip(log_share, observed, strict=True)
            ]
            if block["normed"]:
                total = sum(weights)
                weights = [w / total if abs(total) > 1e-12 else 0.0 for w in weights]
            else:
                weights = [block["sign"] * w for w in weights]
            score[c] = block["factor"] * sum(
                w * x for w, x in zip(weights, cells, strict=True) if x is not None
            )
            for k, x in enumerate(cells):
                weight = number(block["x"][c][k])
                if x is not None and math.isinf(weight):
                    excluded[c] -= math.copysign(x, weight)
        return self.times_length(block, row, score), excluded

    def block_quadratic(self, block, row, n):
        """The multivariate Student-t of the observed cells, by elimination."""
        cells = [row[self.names[j]] for j in block["columns"]]
        at = [k for k, x in enumerate(cells) if x is not None and x == x and not math.isinf(x)]
        z = [(cells[k] - block["centre"][k]) / block["unit"][k] for k in at]
        score, m = [0.0] * n, len(at)
        for c in range(n if m else 0):
            rows = [
                [block["scatter"][c][a][b] for b in at] + [z[i] - block["mean"][c][a]]
                for i, a in enumerate(at)
            ]
            log_determinant, distance = 0.0, 0.0
            for i in range(m):  # what is left of column i is its part of the determinant and of the distance
                pivot = rows[i][i]
                log_determinant += math.log(pivot)
                distance += rows[i][m] ** 2 / pivot
                for k in range(i + 1, m):
                    factor = rows[k][i] / pivot
                    rows[k] = [v - factor * w for v, w in zip(rows[k], rows[i], strict=True)]
            nu = block["freedom"][c]
            score[c] = math.lgamma((nu + m) / 2) - math.lgamma(nu / 2) - m / 2 * math.log(math.pi * nu)
            score[c] -= log_determinant / 2 + (nu + m) / 2 * math.log1p(distance / nu)
        if block["share"] > 0:
            p = softmax(score)
            score = [math.log((1 - block["share"]) * v + block["share"] / n) for v in p]
        return [block["weight"] * s for s in score], [0.0] * n

    def block_distance(self, block, row, n):
        score = [0.0] * n
        for k, x in self.views(block, row):
            for c in range(n):
                u = block["scale"][c][k] * abs(x - block["anchor"][c][k])
                h = {
                    "line": lambda u: u,
                    "log": math.log1p,
                    "log square": lambda u: 2.0 * math.log(math.hypot(1.0, u)),
                }
                score[c] += block["base"][c][k] + block["power"][c][k] * h[block["curve"]](u)
        return score, [0.0] * n

    def block_rising(self, block, row, n):
        score = [0.0] * n
        for k, x in self.views(block, row):
            for c in range(n):
                if block["weight"][k] == 0:
                    continue
                shape = block["shape"][c][k]
                own = number(block["base"][c][k]) + block["slope"][c][k] * x + log_rising(shape, x)
                if "gap" in block:
                    own -= log_rising(shape + block["gap"][c][k], x)
                score[c] += block["weight"][k] * own
        return score, [0.0] * n

    def block_polya(self, block, row, n):
        cells = {
            k: x
            for k, j in enumerate(block["columns"])
            if block["known"][k] and (x := self.cell(block, j, row)) is not None
        }
        return self.times_length(block, row, polya(block, cells, list(cells), n)), [0.0] * n

    def block_levels(self, block, row, n):
        x = row[self.names[block["columns"][0]]]
        if x is None or x != x:
            return block["missing"] and [number(v) for v in block["missing"]], [0.0] * n
        name = level_name(x)
        if name in block["levels"]:
            scores = block["scores"][block["levels"].index(name)]
        else:
            assert not block["refuse_unseen"]
            scores = block["unseen"]
        return [number(v) for v in scores], [0.0] * n

    def block_codes(self, block, row, n):
        x = row[self.names[block["columns"][0]]]
        if x is None or x != x:
            return [0.0] * n, [0.0] * n
        if x in block["codes"]:
            scores = block["scores"][block["codes"].index(x)]
        else:
            scores = block["other"] if x < block["size"] else block["unseen"]
        return [number(v) for v in scores], [0.0] * n

    def block_bins(self, block, row, n):
        x = row[self.names[block["columns"][0]]]
        if x is None or x != x:
            return [0.0] * n, [0.0] * n
        return [number(v) for v in block["scores"][bisect.bisect_right(block["edges"], x)]], [0.0] * n

    def block_pair(self, block, row, n):
        places = []
        for j, side in zip(block["columns"], (block["first"], block["second"]), strict=True):
            x = row[self.names[j]]
            if x is None or x != x:
                return [0.0] * n, [0.0] * n
            if "edges" in side:
                places.append(bisect.bisect_right(side["edges"], x))
            elif level_name(x) in side["levels"]:
                places.append(side["levels"].index(level_name(x)))
            else:
                return [0.0] * n, [0.0] * n
        return block["scores"][places[0]][places[1]], [0.0] * n

    def block_curve(self, block, row, n):
        x = self.cell(block, block["columns"][0], row)
        if x is None:
            return [0.0] * n, [0.0] * n
        lower, upper = number(block["scale"]["lower"]), number(block["scale"]["upper"])
        if block["scale"]["log"]:
            low = math.log(x - lower) if math.isfinite(lower) else 0.0
            high = math.log(upper - x) if math.isfinite(upper) else 0.0
            x = low - high
        breaks = block["breaks"]
        x = min(max(x, breaks[0]), breaks[-1])
        i = min(bisect.bisect_right(breaks, x), len(breaks) - 1) - 1
        t = (2.0 * x - breaks[i] - breaks[i + 1]) / (breaks[i + 1] - breaks[i])
        return [sum(a * t**k for k, a in enumerate(own)) for own in block["coefficients"][i]], [0.0] * n

    def block_text(self, block, row, n):
        text = row[self.names[block["columns"][0]]]
        if text is None or text != text:
            return [0.0] * n, [0.0] * n
        found = tokens(text, block["tokens"])
        place = {word: k for k, word in enumerate(block["words"])}
        if block["tokens"]["hash_bits"] is not None:
            found = [hashed(token, block["tokens"]["hash_bits"]) for token in found]
        counts = {}
        for token in found:
            if token in place:
                counts[place[token]] = counts.get(place[token], 0) + 1
        if block["tokens"]["binary"]:
            counts = dict.fromkeys(counts, 1)
        tf = {"count": float, "log": math.log1p, "binary": lambda count: 1.0}[block["tf"]]
        cells = {k: tf(count) for k, count in counts.items()}
        if block["word_weight"] is not None:
            cells = {k: x * block["word_weight"][k] for k, x in cells.items()}
        length = math.sqrt(sum(x * x for x in cells.values()))
        factor = length ** -block["length"] if block["length"] and length > 0 else 1.0
        if block["total"] is not None:
            total = sum(cells.values())
            factor = block["total"] / total if total > 0 else 1.0
        cells = {k: x * factor for k, x in cells.items()}
        if block["above"] is not None:
            cells = {k: 1.0 if x > block["above"] else 0.0 for k, x in cells.items()}
        excluded = [0.0] * n
        if block["scores"] == "polya":
            score = polya(block, cells, range(len(block["known"])), n)
        else:
            score, excluded = list(block["base"]), list(block["base_excluded"])
            for c in range(n):
                for k, x in cells.items():
                    weight = number(block["x"][c][k])
                    if math.isinf(weight):
                        excluded[c] -= math.copysign(x, weight)
                    else:
                        score[c] += weight * x
        # The binary setting counts a token once in the length, too.
        n_words = len(set(found)) if block["tokens"]["binary"] else len(found)
        return [s * (n_words + 1.0) ** block["exponent"] for s in score], excluded


def polya(block, cells, observed, n):
    score = []
    for c in range(n):
        a = block["concentration"][c]
        total, length = sum(a[k] for k in observed if block["known"][k]), sum(cells.values())
        own = sum(log_rising(a[k], x) for k, x in cells.items() if block["known"][k])
        score.append(block["factor"] * (own - (log_rising(total, length) if total > 0 else 0.0)))
    return score


def log_rising(a, n):
    if n == 0:
        return 0.0
    if a == 0:
        return -math.inf
    if n == int(n) and n < 2000:
        return math.fsum(math.log(a + k) for k in range(int(n)))
    return math.lgamma(a + n) - math.lgamma(a)


def softmax(score):
    most = max(score)
    p = [math.exp(s - most) for s in score]
    return [v / sum(p) for v in p]


VIEWS = {
    "x": lambda x: x,
    "log x": math.log,
    "log(1 - x)": lambda x: math.log1p(-x),
    "cos x": math.cos,
    "sin x": math.sin,
    "x = 0": lambda x: float(x == 0.0),
}


def level_name(value):
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def tokens(text, how):
    if how["lowercase"]:
        text = text.lower()
    if how["strip_accents"] is not None and not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        if how["strip_accents"] == "ascii":
            text = text.encode("ascii", "ignore").decode("ascii")
        text = "".join(c for c in text if not unicodedata.combining(c))
    least, most = how["ngram_range"]
    if how["analyzer"] == "word":
        words = re.findall(r"(?u)\b\w\w+\b", text)
        words = [word for word in words if how["stop_words"] is None or word not in how["stop_words"]]
        return [" ".join(words[i : i + n]) for n in range(least, most + 1) for i in range(len(words) - n + 1)]
    text = re.sub(r"\s\s+", " ", text)
    if how["analyzer"] == "char":
        return [text[i : i + n] for n in range(least, most + 1) for i in range(len(text) - n + 1)]
    grams = []
    for word in text.split():
        padded = f" {word} "
        for n in range(least, most + 1):
            grams += [padded[i : i + n] for i in range(max(1, len(padded) - n + 1))]
            if n > len(padded):
                break
    return grams


def hashed(token, bits):
    h = 0xCBF29CE484222325
    for byte in token.encode():
        h = ((h ^ byte) * 0x100000001B3) % (1 << 64)
    return f"#{(h ^ (h >> 32)) % (1 << bits):010d}"
