"""Mutual information: how many bits an observed cell of a column tells of the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from sunrise.arrays import Floats, Positions
from sunrise.conjugate import log
from sunrise.family import Family

#: Probabilities at which a density is cut into pieces that are smooth enough to be integrated one by one.
CUTS = ndtr(np.linspace(-8.0, 8.0, 33))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


def entropy_bits(p: Floats) -> float:
    """Entropy of a distribution, in bits.

    >>> entropy_bits(np.array([0.5, 0.25, 0.25]))
    1.5
    """
    return float(-(p * log(np.where(p > 0, p, 1.0))).sum() / np.log(2.0))


def mutual_information(family: Family, params: Any, prior: Floats) -> Floats:
    """Bits per column of a block, from 0 to the entropy of the classes.

    Discrete families are added up over their outcomes, continuous ones integrated piece by piece, each class over
    its own range.
    """
    outcomes = family.outcomes(params)
    if outcomes is None:
        nats = _of_densities(family, params, prior)
    elif isinstance(outcomes, list):
        nats = np.array([_of_outcomes(p, prior) for p in outcomes])
    else:
        nats = _of_outcomes(outcomes, prior)
    known = np.broadcast_to(params.known, nats.shape)
    return np.asarray(np.clip(np.where(known, nats, 0.0) / np.log(2.0), 0.0, entropy_bits(prior)))


def _of_outcomes(p: Floats, prior: Floats) -> Floats:
    """Of probabilities of outcomes: classes x ... x outcomes."""
    weight = prior.reshape(-1, *(1,) * (p.ndim - 1))
    both = np.broadcast_to((weight * p).sum(axis=0), p.shape)
    some = p > 0
    ratio = np.log(np.divide(p, both, out=np.ones_like(p), where=some))
    return np.asarray((weight * p * ratio).sum(axis=(0, -1)))


def _of_densities(family: Family, params: Any, prior: Floats) -> Floats:
    form, support = family.form(params), family.support
    # Between landmarks the densities of all classes are smooth.
    marks = np.sort(family.landmarks(params).reshape(-1, len(params.known)), axis=0)
    middle, half = (marks[1:] + marks[:-1]) / 2, (marks[1:] - marks[:-1]) / 2
    nats = np.zeros(marks.shape[1])
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = middle + half * node
        cells = form.cells(support.seen(x))
        views = *cells.shape[:2], x.shape[1], len(support.views)
        density = np.exp(cells.reshape(views).sum(axis=3) + family.carrier(x)[:, None])
        both = (prior[:, None] * density).sum(axis=1, keepdims=True)
        ratio = np.log(np.divide(density, both, out=np.ones_like(density), where=density > 0))
        nats += weight * (half[:, None] * prior[:, None] * density * ratio).sum(axis=(0, 1))
    return nats


def most_telling(bits: Floats, k: int | None, min_bits: float | None) -> Positions:
    """Positions of the columns to keep, in their order: the k with most bits, or those with enough of them."""
    if (k is None) == (min_bits is None):
        raise ValueError(
            "say how many columns to keep, k, or how much they must tell, min_bits: one of the two."
        )
    if min_bits is not None:
        return np.flatnonzero(bits >= min_bits)
    if k is None or not 0 < k <= len(bits):
        raise ValueError(f"k is {k!r}; it must be a number of columns from 1 to {len(bits)}.")
    return np.sort(np.argsort(-bits, kind="stable")[:k])
