"""The Polya distribution (Dirichlet-compound multinomial): its parameters of greatest likelihood.

A row of counts n_k with total n has the log probability sum_k log_rising(alpha_k, n_k) - log_rising(s, n), where s is
the sum of the alphas. With C_kj the weight of the rows whose count of column k is above j, and D_j that of the rows
whose total is above j, the slope of the log likelihood in alpha_k is (Minka 2012)

    sum_j C_kj / (alpha_k + j) - sum_j D_j / (s + j)

so at an optimum every alpha_k follows from the one number D = sum_j D_j / (s + j), and what is left to solve is one
equation in s: the alphas that D(s) makes must add up to s. Newton's steps on its logarithm, kept within what is known
to enclose the solution, need about six rounds and no special function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, zeta

from sunrise._common.arrays import Floats, Integers, Mask
from sunrise.numerics.special import log_rising, reciprocals
from sunrise.statistics.counts import Counts, RowCounts

#: Sums of alphas that stand for 0 and for infinity.
LEAST, MOST = 1e-8, 1e12
#: Sums of alphas beyond this cannot be told from infinity.
FAR = 1e10
#: Counts up to this are in tables; of larger ones the rest is known in closed form.
REACH = 16
#: Tables of counts up to these, so that rare large counts do not make all rows long.
WIDTHS = (2, 4, 8, REACH)


class PolyaFit(NamedTuple):
    """Alphas of greatest likelihood, classes x columns, and how they were found, class by class.

    `boundary` is 0 where the sum of the alphas is finite, 1 where the likelihood grows towards infinity (the counts
    are no burstier than a multinomial's, whose shares the alphas then have) and -1 where it grows towards 0 (no row has
    two different things).
    """

    alpha: Floats
    iterations: Integers
    change: Floats
    converged: Mask
    boundary: Integers


class Rises:
    """Sums of 1 / (a + j) over the counts of some parameters, each of which has counts above 1."""

    def __init__(self, place: Integers, code: Integers, weight: Floats, n: int) -> None:
        """Take levels (counts from 1 and how often each is there), ordered by the parameter they are of."""
        top = np.zeros(n, np.int64)
        top[place] = code  # the last of a parameter's levels is its largest
        far = code > REACH
        beyond = np.bincount(place[far], weight[far], n)
        self.tables: list[tuple[Integers, Floats]] = []
        low = 0
        for width in WIDTHS:
            own = np.flatnonzero((top > low) & ((top <= width) | (width == REACH)))
            low = width
            if len(own) == 0:
                continue
            at = np.full(n, -1)
            at[own] = np.arange(len(own))
            near = (at[place] >= 0) & ~far
            table = np.zeros((width, len(own)))
            table[code[near] - 1, at[place[near]]] = weight[near]
            table[-1] += beyond[own]
            self.tables.append((own, np.cumsum(table[::-1], axis=0)[::-1]))
        self.place, self.rest, self.weight, self.n = place[far], code[far] - REACH, weight[far], n

    def sums(self, a: Floats) -> tuple[Floats, Floats]:
        """Sum_j C_j / (a + j) and sum_j C_j / (a + j)^2."""
        first, second = np.zeros(self.n), np.zeros(self.n)
        for own, table in self.tables:
            at, one, two = a[own], np.zeros(len(own)), np.zeros(len(own))
            for j, tail in enumerate(table):
                part = tail / (at + j)
                one += part
                two += part / (at + j)
            first[own], second[own] = one, two
        if len(self.place):
            one, two = reciprocals(a[self.place] + REACH, self.rest.astype(np.float64))
            first += np.bincount(self.place, self.weight * one, self.n)
            second += np.bincount(self.place, self.weight * two, self.n)
        return first, second

    def solve(self, target: Floats, least: Floats, start: Floats) -> tuple[Floats, Floats]:
        """The a whose sum is the target, and how fast the sum falls there; `least` is below the solution.

        1 / sum is concave, so that after its first step Newton's method comes from below and never turns back.
        """
        a = np.maximum(start, least)
        for _ in range(100):
            first, second = self.sums(a)
            new = np.maximum(a + first * (first - target) / (target * second), least)
            change = np.abs(new - a) / new
            a = new
            if change.max(initial=0.0) <= 1e-8:  # the next step would be its square
                break
        return a, second


class Levels(NamedTuple):
    """How often each count from 1 is there, by class and column; ordered by class, column and count."""

    c: Integers
    column: Integers
    code: Integers
    weight: Floats

    @classmethod
    def of(cls, stats: Counts) -> Levels:
        """All of the statistics."""
        c, at = np.nonzero(stats.weight)
        code = stats.codes[at].astype(np.int64)
        there = code > 0
        c, at, code = c[there], at[there], code[there]
        return cls(c, stats.column[at], code, stats.weight[c, at])

    def some(self, which: Mask) -> Levels:
        """Some of them."""
        return Levels(self.c[which], self.column[which], self.code[which], self.weight[which])


def likeliest(stats: Counts, tolerance: float = 1e-12, most: int = 100) -> PolyaFit:
    """The alphas of greatest likelihood of every class; 0 for columns that it never counted.

    `stats` hold, for every column, how often each count from 1 is there, and in a last column the totals of the rows
    in the same way.

    >>> import numpy as np
    >>> rows = np.array([[5, 0, 1], [0, 4, 2], [3, 3, 0], [1, 0, 6]])
    >>> likeliest(counts_of_counts(rows, np.ones((1, 4)))).alpha.round(6)
    array([[0.594683, 0.399321, 0.573799]])
    """
    n_classes, n_columns = len(stats.weight), stats.n_columns - 1
    levels = Levels.of(stats)
    rows, cells = (levels.some(which) for which in (levels.column == n_columns, levels.column < n_columns))
    first = np.ones(len(cells.c), bool)  # the first level of its class and column
    first[1:] = (np.diff(cells.c) != 0) | (np.diff(cells.column) != 0)
    place = np.cumsum(first) - 1
    c, column = cells.c[first], cells.column[first]

    def per(values: Floats) -> Floats:
        return np.asarray(np.bincount(place, values, len(c)), float)

    def per_class(values: Floats, of: Integers = c) -> Floats:
        return np.asarray(np.bincount(of, values, n_classes), float)

    # How much of a column was counted, in how many rows, and twice how many pairs it makes; the same of whole rows.
    drawn, held = per(cells.weight * cells.code), per(cells.weight)
    pairs = per_class(per(cells.weight * cells.code * (cells.code - 1.0)) / drawn)
    total, n_rows = per_class(rows.weight * rows.code, rows.c), per_class(rows.weight, rows.c)
    some = total > 0
    total, n_rows = np.where(some, total, 1.0), np.where(some, n_rows, 1.0)
    row_pairs = per_class(rows.weight * rows.code * (rows.code - 1.0), rows.c) / total
    # Twice what the alphas that a very large s makes exceed it by: above 0 the likelihood grows on and on.
    endless = some & (row_pairs - pairs >= -1e-9 * (row_pairs + pairs))
    # Where no row has two different things it grows towards 0.
    single = some & ~endless & (per_class(held) <= n_rows * (1.0 + 1e-9))
    inside = some & ~endless & ~single
    alpha = np.where(endless[c], MOST * drawn / total[c], np.where(single[c], LEAST * held / n_rows[c], 0.0))
    iterations, change = np.zeros(n_classes, np.int64), np.zeros(n_classes)
    if inside.any():
        of, own = np.cumsum(inside) - 1, inside[c]
        at = np.cumsum(own) - 1
        cells, rows = cells._replace(c=at[place]).some(own[place]), rows.some(inside[rows.c])
        rows = rows._replace(c=of[rows.c])
        problem = _Problem(of[c[own]], held[own], cells, rows, int(inside.sum()))
        alpha[own], iterations[inside], change[inside], far = problem.solve(
            (total / n_rows)[inside], tolerance, most
        )
        endless[inside] = far
        alpha = np.where(endless[c], MOST * drawn / total[c], alpha)
    table = np.zeros((n_classes, n_columns))
    table[c, column] = alpha
    boundary = endless.astype(np.int64) - single
    return PolyaFit(table, iterations, change, change <= tolerance, boundary)


class _Problem:
    """The equation in s of classes that have a solution: alphas made by D(s) must add up to s."""

    def __init__(self, c: Integers, held: Floats, cells: Levels, rows: Levels, n_classes: int) -> None:
        """Take the class of every alpha, the weight of rows that hold it, and levels with the alpha, or class, as c."""
        self.c, self.held, self.n = c, held, n_classes
        bursty = np.zeros(len(c), bool)
        bursty[cells.c[cells.code > 1]] = True
        self.bursty = np.flatnonzero(bursty)
        at = np.cumsum(bursty) - 1
        cells = cells.some(bursty[cells.c])
        self.cells = Rises(at[cells.c], cells.code, cells.weight, len(self.bursty))
        self.rows = Rises(rows.c, rows.code, rows.weight, n_classes)

    def solve(self, start: Floats, tolerance: float, most: int) -> tuple[Floats, Integers, Floats, Mask]:
        """The alphas; iterations and last relative change of s for every class, and whether s is beyond all bounds."""
        log_s, low, high = np.log(start), np.full(self.n, -np.inf), np.full(self.n, np.inf)
        iterations, change = np.zeros(self.n, np.int64), np.full(self.n, np.inf)
        far = np.zeros(self.n, bool)
        of, held = self.c[self.bursty], self.held[self.bursty]
        once = np.bincount(self.c, self.held, self.n) - np.bincount(of, held, self.n)
        alpha, slope, before = np.zeros(len(of)), np.ones(self.n), np.ones(self.n)
        for _ in range(most):
            s = np.exp(log_s)
            slope, bend = self.rows.sums(s)
            alpha, falls = self.cells.solve(slope[of], held / slope[of], alpha * (before / slope)[of])
            before = slope
            # Alphas of columns that no row counts twice are what they are held by over the slope.
            total = once / slope + np.bincount(of, alpha, self.n)
            spread = once / slope**2 + np.bincount(of, 1.0 / falls, self.n)
            gap = np.log(total / s)
            low, high = np.where(gap > 0, log_s, low), np.where(gap < 0, log_s, high)
            steepness = 1.0 - s * bend * spread / total
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(steepness > 0, gap / steepness, np.inf * gap)
            new = log_s + np.clip(np.where(gap == 0, 0.0, step), -3.0, 3.0)
            with np.errstate(invalid="ignore"):
                new = np.where(
                    (new <= low) | (new >= high), np.where(gap == 0, log_s, 0.5 * (low + high)), new
                )
            todo = ~far & (change > tolerance)
            # What is no more than rounding of the sums is no change.
            moved = np.where(np.abs(gap) <= 4e-15, 0.0, np.abs(new - log_s))
            iterations += todo
            change = np.where(todo, moved, change)
            far |= todo & (new > np.log(FAR))
            log_s = np.where(todo & ~far, new, log_s)
            if (far | (change <= tolerance)).all():
                break
        made = self.held / slope[self.c]
        made[self.bursty] = alpha
        return made, iterations, np.where(far, 0.0, change), far


def counts_of_counts(x: Floats, member: Floats) -> RowCounts:
    """How often each count from 1 is in each column, and each total in the rows, as a last column; by class.

    `member` is the weight of every row in every class, classes x rows. Missing counts are noted under 0.
    """
    absent = np.isnan(x)
    codes = np.concatenate([x, np.nansum(x, axis=1, keepdims=True)], axis=1)
    kept = codes > 0
    kept[:, :-1] |= absent
    kept[:, -1] = True
    codes = np.where(np.isnan(codes), 0.0, codes)
    offsets, found, rows, weight = [0], [], [], []
    for column, use in zip(codes.T, kept.T, strict=True):
        levels = np.unique(column[use])
        at = (column[:, None] == levels[None, :]) & use[:, None]
        found.append(levels.astype(np.int64))
        rows.append((member > 0).astype(np.int64) @ at.astype(np.int64))
        weight.append(member @ at)
        offsets.append(offsets[-1] + len(levels))
    return RowCounts(
        np.array(offsets), np.concatenate(found), np.concatenate(rows, 1), np.concatenate(weight, 1)
    )


def slope(alpha: Floats, n: Floats) -> Floats:
    """How log_rising(alpha, n) grows with alpha: the sum of 1 / (alpha + j) over j from 0 to n - 1."""
    near, far = np.minimum(alpha, 16.0), np.maximum(alpha, 16.0)
    some = np.where(near > 0, near, 1.0)
    first = np.where((near <= 0) & (n > 0), np.inf, digamma(some + n) - digamma(some))
    return np.where(alpha < 16.0, first, reciprocals(far, n)[0])


def bend(alpha: Floats, n: Floats) -> Floats:
    """How that falls with alpha: the sum of 1 / (alpha + j)^2."""
    near, far = np.minimum(alpha, 16.0), np.maximum(alpha, 16.0)
    some = np.where(near > 0, near, 1.0)
    first = np.where((near <= 0) & (n > 0), np.inf, zeta(2.0, some) - zeta(2.0, some + n))
    return np.where(alpha < 16.0, first, reciprocals(far, n)[1])


class Response(NamedTuple):
    """How the likeliest alphas give way to rows: classes x columns, and two numbers for each class."""

    bend: Floats
    total_bend: Floats
    stiffness: Floats

    @classmethod
    def of(cls, stats: Counts, alpha: Floats) -> Response:
        """How the slopes of the log likelihood change with each alpha, and with their sum."""
        n_columns = stats.n_columns - 1
        levels = Levels.of(stats)
        wide = np.concatenate([alpha, alpha.sum(axis=1, keepdims=True)], axis=1)
        bends = levels.weight * bend(wide[levels.c, levels.column], levels.code.astype(np.float64))
        at = levels.c * (n_columns + 1) + levels.column
        found = np.asarray(np.bincount(at, bends, wide.size), float).reshape(wide.shape)
        own, of_sum = np.where(np.isfinite(found) & (found > 0), found, np.inf)[:, :-1], found[:, -1]
        return cls(own, of_sum, 1.0 - of_sum * (1.0 / own).sum(axis=1))


def with_background(alpha: Floats, pooled: Floats, share: float) -> Floats:
    """Alphas a share of which is as in all classes together, so that no class rules out what another has seen.

    What the alphas of a class add up to stays; a class that saw nothing has those of all classes.
    """
    total = alpha.sum(axis=1, keepdims=True)
    common = pooled / max(float(pooled.sum()), LEAST)
    return np.where(total > 0, (1.0 - share) * alpha + share * total * common, pooled)


def log_likelihood(stats: Counts, alpha: Floats) -> Floats:
    """Log probability of the rows of every class, without their multinomial coefficients."""
    n_columns = stats.n_columns - 1
    levels = Levels.of(stats)
    of_rows = levels.column == n_columns
    wide = np.concatenate([alpha, alpha.sum(axis=1, keepdims=True)], axis=1)
    rises = log_rising(wide[levels.c, levels.column], levels.code.astype(np.float64))
    signed = np.where(of_rows, -levels.weight, levels.weight)
    return np.asarray(np.bincount(levels.c, signed * rises, len(alpha)), float)
