"""Curves: kernel densities as piecewise polynomials, for exports that cannot add up kernels.

Only differences between classes decide the probabilities, so a curve is the log density of every class minus that of
the first class. It is bounded where the classes share a prior density, and constant far outside the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.numerics.special import log, log_sum_exp

#: Degree of the polynomials.
DEGREE = 7
#: Largest error of a curve, in log units (relative to the size of the curve where that is above 1).
TOLERANCE = 2e-9
#: A curve ends this many bandwidths outside the data: where it is constant, else at the last one.
REACHES = 40.0 * 4.0 ** np.arange(5)
#: More pieces than this are not written.
MOST_PIECES = 20_000

#: Places in [-1, 1] where a polynomial is fitted, and where its error is measured.
_NODES = np.cos((np.arange(DEGREE + 1) + 0.5) * np.pi / (DEGREE + 1))
_CHECKS = np.concatenate([np.cos(np.arange(1, DEGREE + 1) * np.pi / (DEGREE + 1)), [-0.9999, 0.9999, 0.05]])
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_NODES, DEGREE + 1, increasing=True))


class Curve(NamedTuple):
    """Piecewise polynomials, pieces x classes x (DEGREE + 1); piece i is from breaks[i] to breaks[i + 1].

    The variable of piece i is t = (2 u - breaks[i] - breaks[i + 1]) / (breaks[i + 1] - breaks[i]). Cells outside the
    breaks have the value at the nearest end.
    """

    breaks: Floats
    coefficients: Floats


class TooManyPieces(ValueError):
    """A density is too rough for a table of a reasonable size."""


def tabulate(density: Any, j: int) -> Curve:
    """Return the log densities of column j of a kernel density, minus that of the first class, as a curve."""
    values = density.sums.values
    points = np.unique(np.concatenate([values.run(c, j).x for c in range(values.n_classes)]))
    has_values = np.array([len(values.run(c, j).x) > 0 for c in range(values.n_classes)])
    widths = density.sums.width[:, j][has_values]

    def scores(u: Floats) -> Floats:
        return _scores(density, j, u)

    narrow, wide = float(widths.min()), float(widths.max())
    low, high = _end(scores, points[0], -wide, narrow), _end(scores, points[-1], wide, narrow)
    bounds = density.sums.bounds
    if not bounds.log:  # cells on the scale of the kernels do not leave the bounds
        low, high = max(low, bounds.lower), min(high, bounds.upper)
    starts, ends = _first_pieces(points, narrow, low, high)
    done_starts, done_ends, done = [], [], []
    n_done = 0
    for _ in range(60):
        middle, half = 0.5 * (starts + ends), 0.5 * (ends - starts)
        places = np.concatenate([_NODES, _CHECKS])
        u = middle[:, None] + half[:, None] * places
        values_at = scores(u.ravel()).reshape(len(starts), len(places), -1)
        outside = np.maximum(np.maximum(points[0] - u, u - points[-1]), 0.0)[:, DEGREE + 1 :, None]
        at_nodes, at_checks = values_at[:, : DEGREE + 1], values_at[:, DEGREE + 1 :]
        coefficients = np.einsum("kn,inc->ick", _TO_COEFFICIENTS, at_nodes)
        powers = np.vander(_CHECKS, DEGREE + 1, increasing=True)
        error = np.abs(np.einsum("mk,ick->imc", powers, coefficients) - at_checks)
        allowed = TOLERANCE * np.maximum(1.0, np.abs(at_checks)) + _rounding(outside, narrow)
        fine = (error <= allowed).all(axis=(1, 2))
        fine |= half <= 4e-16 * np.maximum(np.abs(starts), np.abs(ends))
        done_starts.append(starts[fine])
        done_ends.append(ends[fine])
        done.append(coefficients[fine])
        n_done += int(fine.sum())
        starts, ends, middle = starts[~fine], ends[~fine], middle[~fine]
        if len(starts) == 0:
            break
        if n_done + 2 * len(starts) > MOST_PIECES:
            raise TooManyPieces(f"its density needs more than {MOST_PIECES:,} polynomials")
        starts, ends = np.concatenate([starts, middle]), np.concatenate([middle, ends])
    # Eleven decimals are shorter, and far below the tolerance.
    all_starts, all_ends = np.concatenate(done_starts), np.concatenate(done_ends)
    order = np.argsort(all_starts)
    breaks = np.append(all_starts[order], all_ends[order][-1])
    return _merge_constants(Curve(breaks, np.concatenate(done)[order].round(11) + 0.0))


def _end(scores: Callable[[Floats], Floats], last: float, step: float, narrow: float) -> float:
    """Return the first place outside the data, `step` being a bandwidth, beyond which the curves are constant."""
    places = np.asarray(last + step * REACHES, np.float64)
    values = scores(places)
    change = np.abs(values - values[-1]).max(axis=1)
    allowed = TOLERANCE + _rounding(np.abs(places - last), narrow)
    return float(places[int(np.argmax(change <= allowed))])


def _rounding(distance: Floats, width: float) -> Floats:
    """Return the rounding error of a log density, which is half the square of a distance in bandwidths."""
    return np.asarray(2e-16 * (distance / width) ** 2)


def _first_pieces(points: Floats, width: float, low: float, high: float) -> tuple[Floats, Floats]:
    """Return intervals between training values, at least a bandwidth long, so that no kernel is overlooked."""
    cuts = [low]
    steps = np.unique(np.round((points - points[0]) / width))
    cuts += [*(points[0] + steps * width).tolist(), high]
    inside = np.unique(np.clip(cuts, low, high))
    return inside[:-1], inside[1:]


def _scores(density: Any, j: int, u: Floats) -> Floats:
    """Return the log densities at places u on the scale of the kernels, minus that of the first class."""
    n_classes = density.prior.shape[1]
    sums = np.stack([density.sums.log_sums(c, j, u) for c in range(density.share.shape[1])], axis=1)
    sums = np.where(np.isnan(sums), -np.inf, sums)
    common = log_sum_exp(sums + log(density.share[j]), axis=1)[:, None]
    smoothed = np.logaddexp(sums[:, :n_classes], common + log(density.prior[j])) - np.log(density.total[j])
    return np.asarray(density.weight[j] * (smoothed - smoothed[:, :1]))


def _merge_constants(curve: Curve) -> Curve:
    """Join neighbouring pieces whose curves are equal constants, as they are far from the data."""
    constant = np.abs(curve.coefficients[:, :, 1:]).max(axis=(1, 2), initial=0.0) <= TOLERANCE / 4
    value = curve.coefficients[:, :, 0]
    same = (
        constant[1:]
        & constant[:-1]
        & (np.abs(value[1:] - value[:-1]).max(axis=1, initial=0.0) <= TOLERANCE / 4)
    )
    # A chain of small steps may not add up: a piece is compared with the first one that it would join.
    keep = np.ones(len(constant), bool)
    for i in np.flatnonzero(same) + 1:
        first = np.flatnonzero(keep[:i])[-1]
        near = np.abs(value[i] - value[first]).max(initial=0.0) <= TOLERANCE / 4
        keep[i] = not (constant[first] and near)
    at = np.flatnonzero(keep)
    coefficients = curve.coefficients[at].copy()
    last = np.append(at[1:], len(constant)) - 1
    coefficients[at != last, :, 1:] = 0.0
    return Curve(np.append(curve.breaks[at], curve.breaks[-1]), coefficients)
