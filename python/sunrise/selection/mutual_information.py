"""Mutual information between the class and an observed cell of a column, and divergence of two models, in bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Positions
from sunrise._common.lazy import special
from sunrise.families.base import Family
from sunrise.families.capabilities import Continuous, Discrete, Documents
from sunrise.numerics.special import log, log_sum_exp

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)

#: Maximum number of densities in memory.
_MOST_DENSITIES = 1 << 21


def entropy_bits(p: Floats) -> float:
    """Return the entropy of a distribution, in bits.

    >>> entropy_bits(np.array([0.5, 0.25, 0.25]))
    1.5
    """
    return float(-(p * log(np.where(p > 0, p, 1.0))).sum() / np.log(2.0))


def mutual_information(family: Family, params: Any, prior: Floats) -> Floats:
    """Return the mutual information of every column of a block, between 0 and the entropy of the classes."""
    bits = _sum_over_cells(family, params, partial(_information, prior=prior))
    return np.asarray(np.clip(bits, 0.0, entropy_bits(prior)))


def divergence(family: Family, params: Any, prior: Floats) -> Floats:
    """Return the Jensen-Shannon divergence between two models of every column of a block, from 0 to 1 bit.

    The parameters have the classes of the first model and then those of the second one. The divergences of the classes
    are averaged with the weights `prior`. The divergence is the mutual information between a cell and the model that
    the cell was drawn from, if both are equally probable.
    """
    return np.asarray(np.clip(_sum_over_cells(family, params, partial(_divergence, prior=prior)), 0.0, 1.0))


def _divergence(log_p: Floats, prior: Floats) -> Floats:
    """Return the contribution of each outcome to the divergence, in nats: classes of both models x ... -> ..."""
    equal, n = np.full(2, 0.5), len(prior)
    nats = [prior[c] * _information(log_p[[c, n + c]], equal) for c in np.flatnonzero(prior)]
    return np.asarray(sum(nats, np.zeros(log_p.shape[1:])))


def _sum_over_cells(family: Family, params: Any, nats_of: Callable[[Floats], Floats]) -> Floats:
    """Sum contributions in nats over the possible cells of every column of a block; return bits.

    Discrete families: sum over the outcomes. Continuous families: Gauss-Legendre quadrature between the landmarks of
    all classes, on a scale on which the densities are smooth (log x for numbers above 0).
    """
    if isinstance(family, Discrete):
        outcomes = family.outcomes(params)
        if isinstance(outcomes, list):
            nats = np.array([nats_of(p).sum() for p in outcomes])
        else:
            nats = nats_of(outcomes).sum(axis=-1)
    elif isinstance(family, Continuous):
        nats = _of_densities(family, params, nats_of)
    else:
        raise ValueError(
            f'{family.name} is not a distribution of the cells, so it has no mutual information. Use "multinomial".'
        )
    known = np.broadcast_to(params.known, nats.shape)
    return np.asarray(np.where(known, nats, 0.0) / np.log(2.0))


def word_information(family: Documents, stats: Any, prior: Floats) -> Floats:
    """Return the mutual information of the presence of each word in a document, in bits; NaN for ignored words."""
    presence, params, used = family.presence(stats)
    return np.where(used, mutual_information(presence, params, prior), np.nan) if len(used) else np.empty(0)


def column_information(
    family: Family, params: Any, stats: Any, prior: Floats, per_row: bool = False
) -> Floats:
    """Return the mutual information of the columns of a block, with `per_row` on the common scale of bits per row.

    A text column has the bits of its most informative word, a lower bound on those of the document. In a block of
    counts the bits are those of one counted unit; per row they are multiplied by the mean number of units of a row,
    which is an upper bound, because the units of a row repeat each other in part.
    """
    if isinstance(family, Documents):
        return np.array([np.nan_to_num(word_information(family, stats, prior)).max(initial=0.0)])
    bits = mutual_information(family, params, prior)
    if not (per_row and family.joint):
        return bits
    return np.minimum(bits * float(stats.pooled().mean.sum()), entropy_bits(prior))


def _information(log_p: Floats, prior: Floats) -> Floats:
    """Return the contribution of each outcome, in nats, from log probabilities or densities: classes x ... -> ..."""
    present = np.flatnonzero(prior)
    log_p = log_p[present]
    weight = prior[present].reshape(-1, *(1,) * (log_p.ndim - 1))
    marginal = log_sum_exp(log_p + np.log(weight), axis=0)
    p = np.exp(log_p)
    with np.errstate(invalid="ignore"):  # an outcome of probability 0 contributes 0
        return np.asarray(np.where(p > 0, weight * p * (log_p - marginal), 0.0).sum(axis=0))


def _of_densities(family: Any, params: Any, nats_of: Callable[[Floats], Floats]) -> Floats:
    """Integrate contributions in nats over the cells of continuous columns, by quadrature."""
    form, support = family.form(params), family.support
    if form.impossible is not None:
        raise ValueError(
            f"{family.name}: a class has no variance in some column, so its density is not finite there. Use smoothing."
        )
    marks = family.landmarks(params)
    n_classes, columns = marks.shape[1:]
    marks = np.sort(marks.reshape(-1, columns), axis=0)
    to_scale, from_scale, log_derivative = _SCALES[_scale_of(support.lowest, support.highest)]
    marks = to_scale(marks)
    middle, half = (marks[1:] + marks[:-1]) / 2, (marks[1:] - marks[:-1]) / 2
    nats = np.zeros(columns)
    step = max(1, _MOST_DENSITIES // (columns * n_classes))
    for start in range(0, len(middle), step):
        piece = slice(start, start + step)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            u = middle[piece] + half[piece] * node
            x = np.clip(from_scale(u), support.lowest, support.highest)
            cells = form.cells(support.views_of(x))
            views = *cells.shape[:2], columns, len(support.views)
            log_density = (
                cells.reshape(views).sum(axis=3) + (family.log_base_measure(x) + log_derivative(u))[:, None]
            )
            nats += weight * (half[piece] * nats_of(np.moveaxis(log_density, 1, 0))).sum(axis=0)
    return nats


def _scale_of(lowest: float, highest: float) -> str:
    """Return the name of the scale on which densities of cells between these bounds are smooth."""
    return "all" if lowest < 0 else "share" if highest <= 1 else "positive"


#: For each scale: the transformation u(x), its inverse x(u), and the log of the derivative dx/du.
_SCALES: dict[str, Any] = {
    "all": (lambda x: x, lambda u: u, np.zeros_like),
    "positive": (lambda x: np.log(np.clip(x, 1e-300, 1e300)), np.exp, lambda u: u),
    "share": (special.logit, special.expit, lambda u: -np.logaddexp(0.0, u) - np.logaddexp(0.0, -u)),
}


def most_informative(
    bits: Floats, k: int | None, min_bits: float | None, among: Iterable[int] | None = None
) -> Positions:
    """Return the positions of the k columns with most bits, or of all with at least `min_bits`, in column order."""
    if (k is None) == (min_bits is None):
        raise ValueError(
            "pass either k, the number of columns to keep, or min_bits, the least mutual information in bits."
        )
    candidates = np.arange(len(bits)) if among is None else np.sort(np.fromiter(among, np.intp))
    candidate_bits = bits[candidates]
    if min_bits is not None:
        kept = candidates[candidate_bits >= min_bits]
        if len(kept) == 0:
            raise ValueError(
                f"no column has {min_bits} bits of mutual information with the class; the largest value is "
                f"{candidate_bits.max(initial=0.0):.3g}. Lower min_bits."
            )
        return np.asarray(kept)
    if not isinstance(k, int | np.integer) or not 0 < k <= len(candidates):
        raise ValueError(f"k is {k!r}; it must be a number of columns from 1 to {len(candidates)}.")
    return np.asarray(np.sort(candidates[np.argsort(-candidate_bits, kind="stable")[:k]]))
