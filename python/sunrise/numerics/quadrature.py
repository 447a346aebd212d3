"""Constants and nodes for numerical sums and integrals over distributions."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

from sunrise._common.arrays import Floats, Positions

#: Probabilities whose quantiles split a density into pieces smooth enough for quadrature with a few nodes.
CUTS = np.array([0.5 * erfc(-z / sqrt(2.0)) for z in np.linspace(-8.0, 8.0, 33).tolist()])

#: Largest number of terms of a sum over the counts of a distribution; longer ranges are summed in steps.
MOST_COUNTS = 100_000

#: Values in one cell of this many bandwidths are merged into this many points, which are rounded to this fraction of a
#: bandwidth. A sum of kernels then changes by at most 4 (CELL / 4)^(2 POINTS) / (2^POINTS POINTS!) = 4.1e-5 of the
#: height of its kernels by merging (remainder of Gauss quadrature), and by 0.61 ROUNDING / 2 = 1.9e-5 by rounding.
CELL, POINTS, ROUNDING = 2.0, 4, 2.0**-14


def gauss_nodes(x: Floats, weight: Floats, first: Positions, order: int) -> tuple[Floats, Floats]:
    """Nodes and weights (groups x order) that have the first 2 * order moments of groups of weighted values.

    `first` has the position of the first value of each group; each group has at least `order` distinct values.

    >>> nodes, weights = gauss_nodes(np.array([0.0, 1.0, 2.0]), np.ones(3), np.array([0]), 2)
    >>> [round(float((weights * nodes**k).sum()), 12) for k in range(4)]
    [3.0, 3.0, 5.0, 9.0]
    """
    sizes = np.diff(np.append(first, len(x)))
    total = np.add.reduceat(weight, first)
    jacobi = np.zeros((len(first), order, order))
    # Orthonormal polynomials of each group by their three-term recurrence (Lanczos).
    previous, p = np.zeros_like(x), np.repeat(1.0 / np.sqrt(total), sizes)
    b = np.zeros(len(first))
    for k in range(order):
        jacobi[:, k, k] = a = np.add.reduceat(weight * x * p * p, first)
        if k:
            jacobi[:, k, k - 1] = jacobi[:, k - 1, k] = b
        following = (x - np.repeat(a, sizes)) * p - np.repeat(b, sizes) * previous
        b = np.sqrt(np.add.reduceat(weight * following * following, first))
        previous, p = p, following / np.repeat(np.where(b > 0, b, 1.0), sizes)
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, total[:, None] * vectors[:, 0, :] ** 2


def merge_points(x: Floats, weight: Floats, width: float) -> tuple[Floats, Floats]:
    """Points and weights with almost the same sum of Gaussian kernels of this width as values x in ascending order.

    Cells with few values keep their number of points; all points are rounded.
    """
    side = CELL * width
    cell = np.floor(x / side)
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    sizes = np.diff(np.append(first, len(x)))
    merged = np.repeat(sizes > POINTS, sizes)
    points, weights = x[~merged], weight[~merged]
    if merged.any():
        sizes = sizes[sizes > POINTS]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        own, own_weight = x[merged], weight[merged]
        middle = 0.5 * (own[first] + own[first + sizes - 1])
        offsets = (own - np.repeat(middle, sizes)) / side
        nodes, node_weights = gauss_nodes(offsets, own_weight, first, POINTS)
        points = np.append(points, middle[:, None] + side * nodes)
        weights = np.append(weights, node_weights)
    unit = ROUNDING * width
    return np.round(points / unit) * unit, weights
