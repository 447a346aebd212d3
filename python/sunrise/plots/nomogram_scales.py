"""The scales of a nomogram: the evidence for one class against another as a function of the value of one column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.families.capabilities import Discrete, Documents
from sunrise.model.fitted import FittedModel
from sunrise.numerics.special import log

#: Number of points of a scale of numbers; of drawn rows, from which its range is taken; of words of a text column.
POINTS, ROWS, WORDS = 201, 2000, 8
#: The range of a scale of numbers: these quantiles of rows drawn from the model.
RANGE = 0.01, 0.99


@dataclass(frozen=True)
class Scale:
    """The evidence of a column, in log-odds, at some of its values.

    `values` are numbers in increasing order for a column of numbers (`is_numeric`), else names of levels or words.
    """

    column: str
    values: Any
    evidence: Floats
    is_numeric: bool = False
    #: True if only whole numbers occur.
    whole: bool = False
    #: True for the words of a text column.
    is_text: bool = False

    @property
    def name(self) -> str:
        """The label of the scale."""
        return f"{self.column} (a word)" if self.is_text else self.column

    @property
    def span(self) -> float:
        """The difference between the largest and the smallest evidence."""
        return float(np.ptp(self.evidence)) if len(self.evidence) else 0.0

    @property
    def is_monotone(self) -> bool:
        """True if the evidence only rises or only falls, so that a line can be labelled with the values."""
        steps = np.diff(self.evidence)
        dust = 1e-9 * (self.span + 1e-300)
        return not self.is_numeric or bool((steps >= -dust).all() or (steps <= dust).all())

    def at(self, value: Any) -> float:
        """Return the evidence at a value; numbers between two points are interpolated."""
        if self.is_numeric:
            return float(np.interp(value, self.values, self.evidence))
        name = f"{value:g}" if isinstance(value, float) else str(value)
        return float(self.evidence[list(map(str, self.values)).index(name)])


def scales_of(estimator: NaiveBayes, of: int, against: int) -> list[Scale]:
    """Return the scales of all columns and interactions that the model uses, in the order of the blocks.

    Columns of a Dirichlet-multinomial and columns that are scored together have none: the evidence of a cell depends on
    the other cells of the row.
    """
    model, names = estimator._model, estimator._summands()
    scales: list[Scale] = []
    for k, part in enumerate(model.parts):
        own, known = [names[j] for j in part.columns], np.asarray(model.params[k].known)
        if model.forms[k].kind in ("polya", "quadratic") and not isinstance(part.family, Documents):
            continue
        if isinstance(part.family, Documents):
            scales += [_scale_of_words(estimator, k, own[0], of, against)]
        elif not part.family.reader.is_numeric or part.family.reader.learns:
            scales += _scales_of_levels(model, k, own, of, against)
        else:
            scales += [
                scale
                for scale, used in zip(_scales_of_numbers(model, k, own, of, against), known, strict=False)
                if used
            ]
    return scales


def _scales_of_levels(model: FittedModel, k: int, names: list[str], of: int, against: int) -> list[Scale]:
    """Return the scales of columns of levels or of bins; levels of probability 0 are left out."""
    part, weights = model.parts[k], model.weights(k)
    scales = []
    for j, levels in enumerate(part.family.describe(model.params[k])):
        # The parameters of an interaction are log lifts, those of a column are probabilities.
        is_log = model.schema.is_interaction(part)
        shown = {level: p if is_log else log(p) for level, p in levels.items() if level != "(unseen)"}
        evidence = np.array([p[of] - p[against] for p in shown.values()]) * weights[j]
        finite = np.isfinite(evidence)
        values = [level for level, keep in zip(shown, finite, strict=True) if keep]
        if values:
            scales.append(Scale(names[j], values, evidence[finite]))
    return scales


def _scales_of_numbers(model: FittedModel, k: int, names: list[str], of: int, against: int) -> list[Scale]:
    """Return the scales of columns of numbers; a column of yes and no has these two values."""
    part = model.parts[k]
    support, n = part.family.support, len(names)
    is_binary = isinstance(part.family, Discrete) and (support.lowest, support.highest) == (0.0, 1.0)
    if is_binary or support.above is not None:
        grid = np.repeat([[0.0], [1.0]], n, axis=1)
        evidence = _evidence(model, k, grid, of, against)
        above = support.above
        labels = ["no", "yes"] if above is None else [f"up to {above:g}", f"above {above:g}"]
        return [Scale(name, labels, evidence[:, j]) for j, name in enumerate(names)]
    low, high, total = _ranges(model, k)
    whole = [support.whole or _is_whole(model, j) for j in part.columns]
    low, high = np.where(whole, np.floor(low), low), np.where(whole, np.ceil(high), high)
    grid = np.linspace(low, high, POINTS)
    grid = np.where(whole, np.rint(grid), grid)
    evidence = _evidence(model, k, grid, of, against) * _length_factor(model, k, total)
    scales = []
    for j, name in enumerate(names):
        values, first = np.unique(grid[:, j], return_index=True)
        own = evidence[first, j]
        finite = np.isfinite(own)
        scales.append(Scale(name, values[finite], own[finite], True, whole[j]))
    return scales


def _is_whole(model: FittedModel, j: int) -> bool:
    own = model.schema.choices[j].type
    return own is not None and own.integers is not None


def _evidence(model: FittedModel, k: int, grid: Floats, of: int, against: int) -> Floats:
    """Return the evidence of cells of block k: points x columns."""
    support = model.parts[k].family.support
    with np.errstate(divide="ignore", invalid="ignore"):
        cells = model.forms[k].cells(support.views_of(grid))[:, [of, against]]
        cells = cells.reshape(len(grid), 2, grid.shape[1], -1).sum(axis=3)
        return np.asarray(cells[:, 0] - cells[:, 1])


def _length_factor(model: FittedModel, k: int, length: float) -> float:
    """Return the factor that calibration gives to the scores of block k in a row of this length."""
    return float((length + 1.0) ** model.row_exponents.get(k, 0.0))


def _ranges(model: FittedModel, k: int) -> tuple[Floats, Floats, float]:
    """Return the ranges of the scales of block k, and the mean length of a row, from rows drawn from the model.

    Without a distribution of the cells, the ranges are those of one unit.
    """
    family, n = model.parts[k].family, len(model.parts[k].columns)
    rng = np.random.default_rng(0)
    codes = rng.choice(len(model.classes), ROWS, p=model.class_prior).astype(np.int32)
    try:
        x = family.sample(model.point_params[k], codes, rng)
        low, high = np.quantile(x, RANGE, axis=0)
    except ValueError:
        return np.zeros(n), np.ones(n), 1.0
    is_point, length = ~(high > low), float(np.nansum(x, axis=1).mean())
    low, high = np.where(is_point, low - 0.5 * (low != 0), low), np.where(is_point, low + 1.0, high)
    return low, high, length if k in model.row_exponents else 0.0


def _scale_of_words(estimator: NaiveBayes, k: int, name: str, of: int, against: int) -> Scale:
    """Return the scale of a text column: the strongest words, once each in a document of mean length."""
    first, second = (estimator.classes_[c].item() for c in (of, against))
    entries = [
        entry
        for speaking in ("for", "against")
        for entry in estimator.words(first, WORDS // 2, against=second, speaking=speaking, column=name)
    ]
    weight = estimator._model.blocks[k].weight  # all documents, then each word
    length = float(weight[:, 1:].sum() / max(weight[:, 0].sum(), 1e-300))
    evidence = np.array([entry.evidence for entry in entries], dtype=float)
    evidence *= _length_factor(estimator._model, k, length)
    return Scale(name, [entry.word for entry in entries], evidence, is_text=True)
