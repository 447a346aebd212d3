"""Leave-one-out log densities of cells on a common measure, by which families of one column can be compared.

A density, a probability of a count, a level and a bin have different units. Here every family gives a density in the
units of the column: bins and levels are spread over their widths. If the values lie on a lattice (whole numbers,
multiples of 0.5), a cell has the probability of half a gap to either side, divided by the gap. Otherwise a narrow
kernel about every whole number would have the highest density of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise.families.capabilities import Discrete
from sunrise.numerics.special import log_sum_exp

#: Most decimal places of values on a lattice.
_MOST_PLACES = 6
#: Number of values of a column whose probability is integrated: the most frequent ones.
_MOST_VALUES = 64
#: A value whose log densities differ by less than this within its gap is averaged over three points, others over _FINE.
_SMOOTH, _FINE = 0.3, 21
#: Middle half of the values in gaps, above which the density is taken as constant within a gap.
_WIDE = 50.0


def lattice_gap(values: Floats) -> float:
    """Return the gap of the lattice on which sorted distinct values lie; 0 if they lie on no lattice.

    >>> lattice_gap(np.array([0.0, 0.5, 2.0])), lattice_gap(np.array([0.0, 0.1234567, 2.0]))
    (0.5, 0.0)
    """
    if len(values) < 2:
        return 0.0
    largest = max(abs(float(values[0])), abs(float(values[-1])))
    for places in range(_MOST_PLACES + 1):
        power = 10.0**places
        if largest * power > 2.0**45:
            return 0.0
        for some in (values[:: max(1, len(values) // 16)], values):
            scaled = some * power
            near = np.rint(scaled)
            if (np.abs(scaled - near) > 1e-5).any():
                break
        else:
            gap = float(np.gcd.reduce(np.diff(near).astype(np.int64)))
            return gap / power
    return 0.0


def lattice_terms(
    family: Any, form: Any, x: Floats, y: Codes, gaps: Floats, frequent: Sequence[Floats | None]
) -> Floats:
    """Return the terms that turn log densities of cells into log probabilities per unit on the lattice, rows x columns.

    The term of a cell is log(P / gap) - log f(x), where P is the probability of half a gap to either side under the
    fitted form: leaving the cell out changes the density, but hardly its shape within a gap. `gaps` holds the gap of
    every column, 0 where there is none, and `frequent` the values to be integrated, see `frequent_values`.
    """
    terms = np.zeros(x.shape)
    if not family.reader.is_numeric:  # levels have the probability of their gap
        return terms - np.log(np.where(gaps > 0, gaps, 1.0))
    is_whole = family.support.whole
    if isinstance(family, Discrete) and not is_whole:
        return terms
    least = 1.0 if is_whole else 0.0
    own_values = {j: own for j, own in enumerate(frequent) if own is not None and gaps[j] > least}
    if not own_values:
        return terms
    values = np.full((max(map(len, own_values.values())), x.shape[1]), np.nan)
    occurs = np.zeros((len(values), int(y.max(initial=0)) + 1, x.shape[1]), bool)
    places = {}
    for j, own in own_values.items():
        values[: len(own), j] = own
        at = np.minimum(np.searchsorted(own, x[:, j]), len(own) - 1)
        rows = np.flatnonzero(own[at] == x[:, j])
        places[j] = rows, at[rows]
        occurs[at[rows], y[rows], j] = True
    table = _terms_of_values(family, form, values, np.where(gaps > 0, gaps, 1.0), occurs)
    for j, (rows, at) in places.items():
        terms[rows, j] = table[at, y[rows], j]
    return terms


def frequent_values(values: Floats, times: Integers, gap: float) -> Floats | None:
    """Return the most frequent of sorted distinct values, in order; None if densities are constant within a gap.

    `times` says how often the values occur.
    """
    if gap == 0.0:
        return None
    share = np.cumsum(times) / times.sum()
    low, high = values[np.searchsorted(share, [0.25, 0.75])]
    if high - low > _WIDE * gap:
        return None
    if len(values) <= _MOST_VALUES:
        return values
    return np.asarray(values[np.sort(np.argsort(-times, kind="stable")[:_MOST_VALUES])])


def _terms_of_values(family: Any, form: Any, values: Floats, gaps: Floats, occurs: Mask) -> Floats:
    """Return log(P / gap) - log f(x) of values (NaN is no value), values x classes x columns.

    Only the terms of values that occur in a class are used, so the others need not be exact.
    """
    if family.support.whole:
        centre, is_steep = _log_density(family, form, values), occurs.any(axis=1)
        log_p = centre.copy()
    else:
        three = _log_densities(family, form, values, gaps, np.array([-0.5, 0.0, 0.5]))
        centre = three[1]
        used = slice(occurs.shape[1])
        with np.errstate(invalid="ignore"):
            is_smooth = (np.abs(three[:, :, used] - centre[:, used]) < _SMOOTH).all(axis=0)
        is_steep = (~is_smooth & occurs).any(axis=1)
        log_p = log_sum_exp(three + np.log([[[[1.0]]], [[[4.0]]], [[[1.0]]]]), axis=0) - np.log(6.0)
    if is_steep.any():
        offsets = (np.arange(_FINE) + 0.5) / _FINE - 0.5
        # The steep values of every column come first, so that no time is spent on the others.
        order = np.argsort(~is_steep, axis=0, kind="stable")[: is_steep.sum(axis=0).max()]
        first = np.take_along_axis(np.where(is_steep, values, np.nan), order, axis=0)
        fine = log_sum_exp(_log_densities(family, form, first, gaps, offsets), axis=0) - np.log(_FINE)
        rows, columns = np.nonzero(~np.isnan(first))
        log_p[order[rows, columns], :, columns] = fine[rows, :, columns]
    log_p = np.minimum(log_p, -np.log(gaps))  # a spike within the gap has probability 1
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(centre), log_p - centre, 0.0)


def _log_densities(family: Any, form: Any, values: Floats, gaps: Floats, offsets: Floats) -> Floats:
    """Return log densities at offsets (in gaps) from the values, of counts at the nearest whole number.

    The result is offsets x values x classes x columns.
    """
    places = (values + gaps * offsets[:, None, None]).reshape(-1, values.shape[1])
    if family.support.whole:
        places = np.rint(places)
    densities = _log_density(family, form, places)
    return densities.reshape(len(offsets), len(values), *densities.shape[1:])


def _log_density(family: Any, form: Any, x: Floats) -> Floats:
    """Return log densities of all classes; -inf outside the support: values x classes x columns."""
    support = family.support
    outside = (x < support.lowest) | (x > support.highest)
    x = np.where(outside, np.nan, x)
    cells = form.finite.cells(support.views_of(x))
    cells = cells.reshape(*cells.shape[:2], x.shape[1], -1).sum(axis=3)
    cells = cells + np.where(np.isnan(x), 0.0, family.log_base_measure(x))[:, None, :]
    return np.where(outside[:, None, :], -np.inf, cells)
