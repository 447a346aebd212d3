"""The weights of forms in the layout of the native functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats
from sunrise.forms.distance import Distance
from sunrise.forms.kernel_density import Density
from sunrise.forms.linear import Linear
from sunrise.forms.polya import Polya
from sunrise.forms.quadratic import Quadratic, log_student
from sunrise.forms.rising import Rising
from sunrise.forms.table import Table

Weights = (
    _native.DenseWeights
    | _native.SparseWeights
    | _native.LevelScores
    | _native.PolyaWeights
    | _native.KernelWeights
    | _native.DistanceWeights
    | _native.FactorialWeights
    | _native.StudentWeights
)

#: Counts of a column, and scores of all columns, that are computed in advance at the most.
MOST_COUNTS, MOST_SCORES = 1 << 11, 1 << 17


def dense_weights(form: Linear) -> _native.DenseWeights:
    """Return the weights of a linear form for dense cells, classes x columns."""
    base, x, x2, anchor = (
        None if part is None else np.ascontiguousarray(part)
        for part in (form.base, form.x, form.x2, form.anchor)
    )
    return _native.DenseWeights(_constant(form), base, x, x2, anchor, _composition(form))


def _constant(form: Linear) -> Floats:
    """Return the sum of the base over the columns, for each class."""
    return np.zeros(form.shape[0]) if form.base is None else np.asarray(form.base.sum(axis=1))


def _composition(form: Linear) -> tuple[Floats, float, bool] | None:
    """Return log theta, the factor of all weights and whether they are normed; None if columns are independent."""
    part = form.composition
    if part is None:
        return None
    factor = part.weight if part.normed else part.weight * part.sign
    return np.ascontiguousarray(part.log_theta), factor, part.normed


def sparse_weights(form: Linear) -> _native.SparseWeights:
    """Return the weights of a linear form for sparse cells, columns x classes.

    The constant is the score of a row of zeros; a stored cell replaces the zero of its column.
    """
    n_classes, n_columns = form.shape

    def by_column(part: Floats | None) -> Floats:
        return padded(np.zeros((n_columns, n_classes)) if part is None else part.T)

    if form.x2 is None and form.anchor is None:
        return _native.SparseWeights(
            _constant(form),
            np.zeros(n_classes),
            zero=None if form.base is None else by_column(form.base),
            x=by_column(form.x),
            composition=_composition(form),
        )
    at_zero = form.cells(np.zeros((1, n_columns)))[0]
    constant = np.array([math.fsum(row) for row in at_zero])
    residue = np.array([math.fsum([*row, -c]) for row, c in zip(at_zero, constant, strict=True)])
    about = [by_column(part) for part in (form.base, form.anchor, form.x, form.x2)]
    return _native.SparseWeights(
        constant, residue, by_column(at_zero), about=about, composition=_composition(form)
    )


def level_scores(form: Table) -> _native.LevelScores:
    """Return the scores by level; an additional row of zeros is for missing cells."""
    values = padded(form.values, more_rows=1)
    n_classes = form.values.shape[1]
    return _native.LevelScores(form.offsets, form.codes, form.sizes, values, n_classes, form.refuse_unseen)


def polya_weights(form: Polya) -> _native.PolyaWeights:
    """Return the concentrations, columns x classes; `moderate` is False if products could over- or underflow."""
    used = form.concentration[:, form.known]
    return _native.PolyaWeights(
        padded(form.concentration.T),
        form.total,
        known=None if form.known.all() else np.ascontiguousarray(form.known),
        weight=form.weight,
        moderate=bool(((used > 1e-18) & (used < 1e15)).all()),
    )


def distance_weights(form: Distance) -> _native.DistanceWeights:
    """Return the parts of a distance form, classes x columns."""
    parts = (form.base, form.anchor, form.scale, form.power)
    return _native.DistanceWeights(form.curve, *map(np.ascontiguousarray, parts))


def factorial_weights(form: Rising) -> _native.FactorialWeights:
    """Return the parts of a rising form, columns x classes, and the usual counts to score in advance."""
    base, slope, shape = (np.ascontiguousarray(part.T) for part in (form.base, form.slope, form.shape))
    gap = None if form.gap is None else np.ascontiguousarray(form.gap.T)
    least, largest = form.usual
    most = min(MOST_COUNTS, MOST_SCORES // max(1, base.size))
    usual = np.nan_to_num(largest - least) + 1.0
    # A table that holds few of the usual counts costs more than it saves.
    sizes = np.where(usual > 8.0 * most, 0.0, np.minimum(usual, most))
    lows = np.clip(np.nan_to_num(least), 0.0, 2.0**52)
    rest = np.ascontiguousarray(form.weight), lows.astype(np.int64), sizes.astype(np.int64)
    return _native.FactorialWeights(base, slope, shape, gap, *rest)


def student_weights(form: Quadratic) -> _native.StudentWeights:
    """Return centres, factors and log densities at the centres of a quadratic form."""
    (n_classes, n_columns), (inverse, log_determinant) = form.mean.shape, form.factors
    constant = log_student(np.zeros(n_classes), log_determinant, form.freedom, n_columns)
    mean, factors = np.ascontiguousarray(form.mean), np.ascontiguousarray(inverse.reshape(n_classes, -1))
    freedom = np.ascontiguousarray(form.freedom)
    return _native.StudentWeights(mean, factors, constant, freedom, form.weight, form.share)


def kernel_weights(form: Density) -> _native.KernelWeights:
    """Return the densities and the weights of the columns."""
    return _native.KernelWeights(form.native(0, 1), np.where(form.known, form.weight, 0.0))


MAKE_WEIGHTS: dict[str, Callable[[Any], Weights]] = {
    "dense": dense_weights,
    "sparse": sparse_weights,
    "table": level_scores,
    "polya": polya_weights,
    "distance": distance_weights,
    "rising": factorial_weights,
    "kernel": kernel_weights,
    "quadratic": student_weights,
}


def padded(table: Floats, more_rows: int = 0) -> Floats:
    """Return a table with its rows padded with zeros to whole groups of classes."""
    rows, n_classes = table.shape
    shape = rows + more_rows, -(-n_classes // _native.GROUP) * _native.GROUP
    # Look-ups touch the fewest cache lines if rows begin on one, and NumPy requests huge pages only for np.empty.
    space = np.empty(shape[0] * shape[1] + 8)
    start = -(space.ctypes.data // 8) % 8
    wide = space[start : start + shape[0] * shape[1]].reshape(shape)
    wide[:rows, :n_classes] = table
    wide[:, n_classes:] = 0.0
    wide[rows:] = 0.0
    return wide
