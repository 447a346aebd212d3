"""Maximum likelihood fit of the Polya distribution (Dirichlet-multinomial, Dirichlet-compound multinomial).

A row of counts n_k with total n has the log probability sum_k log_rising(alpha_k, n_k) - log_rising(s, n), without the
multinomial coefficient, where s is the sum of the alphas. Let C_kj be the weight of the rows whose count in column k
exceeds j, and D_j the weight of the rows whose total exceeds j. The derivative of the log likelihood in alpha_k is
(Minka 2012)

    sum_j C_kj / (alpha_k + j) - sum_j D_j / (s + j)

At a maximum, every alpha_k is therefore a function of the single number D(s) = sum_j D_j / (s + j), and one equation in
s remains: the alphas that follow from D(s) must sum to s. Newton's method on log s, safeguarded by a bracket of the
solution, takes about six iterations and needs no special functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Floats, Integers, Mask
from sunrise._common.lazy import special
from sunrise.numerics.special import log_rising, reciprocals
from sunrise.statistics.counts import Counts, RowCounts

#: Sums of alphas that stand for 0 and for infinity.
MIN_TOTAL, MAX_TOTAL = 1e-8, 1e12
#: A sum of alphas beyond this is numerically equivalent to infinity.
DIVERGENT_TOTAL = 1e10
#: Counts up to this are tabulated; the terms of larger counts have a closed form.
TABLE_SIZE = 16
#: Sizes of the tables; parameters with small counts use a small table.
TABLE_SIZES = (2, 4, 8, TABLE_SIZE)


class PolyaFit(NamedTuple):
    """Alphas of maximum likelihood, classes x columns, and the convergence of every class.

    `boundary` is 0 if the sum s of the alphas is finite; 1 if the likelihood grows as s goes to infinity (the counts
    are not overdispersed relative to a multinomial; the alphas are then proportional to its probabilities); and -1 if
    it grows as s goes to 0 (no row has two nonzero counts). `change` is the last relative change of s.
    """

    alpha: Floats
    iterations: Integers
    change: Floats
    converged: Mask
    boundary: Integers


class ReciprocalSums:
    """The sums sum_j C_j / (a + j) of several parameters a, where C_j is the weight of the counts above j."""

    def __init__(self, parameter: Integers, count: Integers, weight: Floats, n: int) -> None:
        """Build from counts (1, 2, ...), their weights and the parameter of each, sorted by parameter and count."""
        largest = np.zeros(n, np.int64)
        largest[parameter] = count  # the last count of a parameter is its largest
        large = count > TABLE_SIZE
        large_weight = np.bincount(parameter[large], weight[large], n)
        self.tables: list[tuple[Integers, Floats]] = []
        previous_size = 0
        for size in TABLE_SIZES:
            own = np.flatnonzero((largest > previous_size) & ((largest <= size) | (size == TABLE_SIZE)))
            previous_size = size
            if len(own) == 0:
                continue
            column = np.full(n, -1)
            column[own] = np.arange(len(own))
            tabulated = (column[parameter] >= 0) & ~large
            table = np.zeros((size, len(own)))
            table[count[tabulated] - 1, column[parameter[tabulated]]] = weight[tabulated]
            table[-1] += large_weight[own]
            self.tables.append((own, np.cumsum(table[::-1], axis=0)[::-1]))
        self.parameter, self.excess, self.weight, self.n = (
            parameter[large],
            count[large] - TABLE_SIZE,
            weight[large],
            n,
        )

    def sums(self, a: Floats) -> tuple[Floats, Floats]:
        """Return sum_j C_j / (a + j) and sum_j C_j / (a + j)^2 for every parameter."""
        first, second = np.zeros(self.n), np.zeros(self.n)
        for own, table in self.tables:
            own_a, one, two = a[own], np.zeros(len(own)), np.zeros(len(own))
            for j, weight_above in enumerate(table):
                term = weight_above / (own_a + j)
                one += term
                two += term / (own_a + j)
            first[own], second[own] = one, two
        if len(self.parameter):
            one, two = reciprocals(a[self.parameter] + TABLE_SIZE, self.excess.astype(np.float64))
            first += np.bincount(self.parameter, self.weight * one, self.n)
            second += np.bincount(self.parameter, self.weight * two, self.n)
        return first, second

    def solve(self, target: Floats, lower: Floats, start: Floats) -> tuple[Floats, Floats]:
        """Return the a whose sum equals the target, and minus the derivative of the sum; `lower` bounds a from below.

        1 / sum is concave in a, so after the first step Newton's method increases monotonically to the solution.
        """
        a = np.maximum(start, lower)
        for _ in range(100):
            first, second = self.sums(a)
            new = np.maximum(a + first * (first - target) / (target * second), lower)
            change = np.abs(new - a) / new
            a = new
            if change.max(initial=0.0) <= 1e-8:  # convergence is quadratic
                break
        return a, second


class CountWeights(NamedTuple):
    """Weight of the rows with each count (1, 2, ...), sorted by class, column and count."""

    c: Integers
    column: Integers
    value: Integers
    weight: Floats

    @classmethod
    def of(cls, stats: Counts) -> CountWeights:
        """Extract all positive counts from the statistics."""
        c, at = np.nonzero(stats.weight)
        count = stats.codes[at].astype(np.int64)
        positive = count > 0
        c, at, count = c[positive], at[positive], count[positive]
        return cls(c, stats.column[at], count, stats.weight[c, at])

    def select(self, mask: Mask) -> CountWeights:
        """Keep the entries where the mask is True."""
        return CountWeights(self.c[mask], self.column[mask], self.value[mask], self.weight[mask])


def fit_alpha(stats: Counts, tolerance: float = 1e-12, max_iter: int = 100) -> PolyaFit:
    """Fit the alphas of every class by maximum likelihood; a column without positive counts in a class has alpha 0.

    `stats` holds the frequencies of the counts 1, 2, ... in every column and, in a last column, of the row totals.

    >>> import numpy as np
    >>> rows = np.array([[5, 0, 1], [0, 4, 2], [3, 3, 0], [1, 0, 6]])
    >>> fit_alpha(counts_of_counts(rows, np.ones((1, 4)))).alpha.round(6)
    array([[0.594683, 0.399321, 0.573799]])
    """
    n_classes, n_columns = len(stats.weight), stats.n_columns - 1
    counts = CountWeights.of(stats)
    rows, cells = (counts.select(mask) for mask in (counts.column == n_columns, counts.column < n_columns))
    first = np.ones(len(cells.c), bool)  # the first count of its class and column
    first[1:] = (np.diff(cells.c) != 0) | (np.diff(cells.column) != 0)
    parameter = np.cumsum(first) - 1
    c, column = cells.c[first], cells.column[first]

    def sum_per_parameter(values: Floats) -> Floats:
        return np.asarray(np.bincount(parameter, values, len(c)), float)

    def sum_per_class(values: Floats, class_: Integers = c) -> Floats:
        return np.asarray(np.bincount(class_, values, n_classes), float)

    # Per column: the sum of its counts, the weight of rows with a positive count, and sum n (n - 1) relative to the
    # sum of counts. The same for row totals.
    count_sum = sum_per_parameter(cells.weight * cells.value)
    positive_weight = sum_per_parameter(cells.weight)
    pairs = sum_per_class(sum_per_parameter(cells.weight * cells.value * (cells.value - 1.0)) / count_sum)
    total = sum_per_class(rows.weight * rows.value, rows.c)
    n_rows = sum_per_class(rows.weight, rows.c)
    nonempty = total > 0
    total, n_rows = np.where(nonempty, total, 1.0), np.where(nonempty, n_rows, 1.0)
    row_pairs = sum_per_class(rows.weight * rows.value * (rows.value - 1.0), rows.c) / total
    # For s to infinity, the alphas that follow from D(s) sum to s + (row_pairs - pairs) / 2 in the limit: where this
    # is at least s, the likelihood increases without bound in s.
    diverges = nonempty & (row_pairs - pairs >= -1e-9 * (row_pairs + pairs))
    # Where no row has two nonzero counts, the likelihood increases as s decreases to 0.
    vanishes = nonempty & ~diverges & (sum_per_class(positive_weight) <= n_rows * (1.0 + 1e-9))
    interior = nonempty & ~diverges & ~vanishes
    alpha = np.where(
        diverges[c],
        MAX_TOTAL * count_sum / total[c],
        np.where(vanishes[c], MIN_TOTAL * positive_weight / n_rows[c], 0.0),
    )
    iterations, change = np.zeros(n_classes, np.int64), np.zeros(n_classes)
    if interior.any():
        new_class, own = np.cumsum(interior) - 1, interior[c]
        new_parameter = np.cumsum(own) - 1
        cells = cells._replace(c=new_parameter[parameter]).select(own[parameter])
        rows = rows.select(interior[rows.c])
        rows = rows._replace(c=new_class[rows.c])
        equation = _TotalEquation(new_class[c[own]], positive_weight[own], cells, rows, int(interior.sum()))
        alpha[own], iterations[interior], change[interior], divergent = equation.solve(
            (total / n_rows)[interior], tolerance, max_iter
        )
        diverges[interior] = divergent
        alpha = np.where(diverges[c], MAX_TOTAL * count_sum / total[c], alpha)
    table = np.zeros((n_classes, n_columns))
    table[c, column] = alpha
    boundary = diverges.astype(np.int64) - vanishes
    return PolyaFit(table, iterations, change, change <= tolerance, boundary)


class _TotalEquation:
    """The equation in s of classes with a finite solution: the alphas that follow from D(s) must sum to s."""

    def __init__(
        self, c: Integers, positive_weight: Floats, cells: CountWeights, rows: CountWeights, n_classes: int
    ) -> None:
        """Store the class of every alpha and the weight of rows with a positive count.

        The field `c` of `cells` is the index of the alpha, the field `c` of `rows` the class.
        """
        self.c, self.positive_weight, self.n = c, positive_weight, n_classes
        repeated = np.zeros(len(c), bool)
        repeated[cells.c[cells.value > 1]] = True
        self.repeated = np.flatnonzero(repeated)
        index = np.cumsum(repeated) - 1
        cells = cells.select(repeated[cells.c])
        self.cells = ReciprocalSums(index[cells.c], cells.value, cells.weight, len(self.repeated))
        self.rows = ReciprocalSums(rows.c, rows.value, rows.weight, n_classes)

    def solve(self, start: Floats, tolerance: float, max_iter: int) -> tuple[Floats, Integers, Floats, Mask]:
        """Return the alphas and, per class, the iterations, the last relative change of s, and whether s diverges."""
        log_s, low, high = np.log(start), np.full(self.n, -np.inf), np.full(self.n, np.inf)
        iterations, change = np.zeros(self.n, np.int64), np.full(self.n, np.inf)
        diverges = np.zeros(self.n, bool)
        c, weight = self.c[self.repeated], self.positive_weight[self.repeated]
        single_weight = np.bincount(self.c, self.positive_weight, self.n) - np.bincount(c, weight, self.n)
        alpha, d, previous_d = np.zeros(len(c)), np.ones(self.n), np.ones(self.n)
        for _ in range(max_iter):
            s = np.exp(log_s)
            d, d_slope = self.rows.sums(s)  # D(s) and minus its derivative
            alpha, alpha_slope = self.cells.solve(d[c], weight / d[c], alpha * (previous_d / d)[c])
            previous_d = d
            # The alpha of a column without counts above 1 is its positive weight / D.
            total = single_weight / d + np.bincount(c, alpha, self.n)
            total_slope = single_weight / d**2 + np.bincount(
                c, 1.0 / alpha_slope, self.n
            )  # minus d total / d D
            gap = np.log(total / s)
            low, high = np.where(gap > 0, log_s, low), np.where(gap < 0, log_s, high)
            derivative = 1.0 - s * d_slope * total_slope / total  # minus that of the gap in log s
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(derivative > 0, gap / derivative, np.inf * gap)
            new = log_s + np.clip(np.where(gap == 0, 0.0, step), -3.0, 3.0)
            with np.errstate(invalid="ignore"):
                new = np.where(
                    (new <= low) | (new >= high), np.where(gap == 0, log_s, 0.5 * (low + high)), new
                )
            active = ~diverges & (change > tolerance)
            # A gap within the rounding error of the sums counts as no change.
            moved = np.where(np.abs(gap) <= 4e-15, 0.0, np.abs(new - log_s))
            iterations += active
            change = np.where(active, moved, change)
            diverges |= active & (new > np.log(DIVERGENT_TOTAL))
            log_s = np.where(active & ~diverges, new, log_s)
            if (diverges | (change <= tolerance)).all():
                break
        all_alphas = self.positive_weight / d[self.c]
        all_alphas[self.repeated] = alpha
        return all_alphas, iterations, np.where(diverges, 0.0, change), diverges


def counts_of_counts(x: Floats, member: Floats) -> RowCounts:
    """Frequencies of the counts 1, 2, ... in each column and, as a last column, of the row totals; per class.

    `member` is the weight of every row in every class, classes x rows. The code 0 stands for missing counts.
    """
    missing = np.isnan(x)
    codes = np.concatenate([x, np.nansum(x, axis=1, keepdims=True)], axis=1)
    stored = codes > 0
    stored[:, :-1] |= missing
    stored[:, -1] = True
    codes = np.where(np.isnan(codes), 0.0, codes)
    offsets, level_codes, rows, weight = [0], [], [], []
    for column, use in zip(codes.T, stored.T, strict=True):
        levels = np.unique(column[use])
        at = (column[:, None] == levels[None, :]) & use[:, None]
        level_codes.append(levels.astype(np.int64))
        rows.append((member > 0).astype(np.int64) @ at.astype(np.int64))
        weight.append(member @ at)
        offsets.append(offsets[-1] + len(levels))
    return RowCounts(
        np.array(offsets), np.concatenate(level_codes), np.concatenate(rows, 1), np.concatenate(weight, 1)
    )


def log_rising_derivative(alpha: Floats, n: Floats) -> Floats:
    """Derivative of log_rising(alpha, n) in alpha: the sum of 1 / (alpha + j) over j = 0, ..., n - 1."""
    near, far = np.minimum(alpha, 16.0), np.maximum(alpha, 16.0)
    positive = np.where(near > 0, near, 1.0)
    first = np.where((near <= 0) & (n > 0), np.inf, special.digamma(positive + n) - special.digamma(positive))
    return np.where(alpha < 16.0, first, reciprocals(far, n)[0])


def log_rising_curvature(alpha: Floats, n: Floats) -> Floats:
    """Minus the second derivative of log_rising(alpha, n) in alpha: the sum of 1 / (alpha + j)^2."""
    near, far = np.minimum(alpha, 16.0), np.maximum(alpha, 16.0)
    positive = np.where(near > 0, near, 1.0)
    first = np.where(
        (near <= 0) & (n > 0), np.inf, special.zeta(2.0, positive) - special.zeta(2.0, positive + n)
    )
    return np.where(alpha < 16.0, first, reciprocals(far, n)[1])


class NegativeHessian(NamedTuple):
    """Negative Hessian of the log likelihood of every class: diag(diagonal) - common, `common` in every entry.

    `diagonal` is classes x columns, `common` has one number per class. The inverse (Sherman-Morrison formula) divides
    by `determinant_factor`, 1 - common * sum(1 / diagonal), which is positive at a strict maximum.
    """

    diagonal: Floats
    common: Floats
    determinant_factor: Floats

    @classmethod
    def of(cls, stats: Counts, alpha: Floats) -> NegativeHessian:
        """Evaluate at these alphas, classes x columns."""
        n_columns = stats.n_columns - 1
        counts = CountWeights.of(stats)
        with_sum = np.concatenate([alpha, alpha.sum(axis=1, keepdims=True)], axis=1)
        terms = counts.weight * log_rising_curvature(
            with_sum[counts.c, counts.column], counts.value.astype(np.float64)
        )
        at = counts.c * (n_columns + 1) + counts.column
        sums = np.asarray(np.bincount(at, terms, with_sum.size), float).reshape(with_sum.shape)
        diagonal, common = np.where(np.isfinite(sums) & (sums > 0), sums, np.inf)[:, :-1], sums[:, -1]
        return cls(diagonal, common, 1.0 - common * (1.0 / diagonal).sum(axis=1))


def with_background(alpha: Floats, pooled: Floats, share: float) -> Floats:
    """Mix a share of the pooled alphas into those of every class, so that observed columns have positive alphas.

    The sum of the alphas of a class does not change; a class without data gets the pooled alphas.
    """
    total = alpha.sum(axis=1, keepdims=True)
    common = pooled / max(float(pooled.sum()), MIN_TOTAL)
    return np.where(total > 0, (1.0 - share) * alpha + share * total * common, pooled)


def log_likelihood(stats: Counts, alpha: Floats) -> Floats:
    """Log likelihood of the rows of every class, without multinomial coefficients."""
    n_columns = stats.n_columns - 1
    counts = CountWeights.of(stats)
    is_total = counts.column == n_columns
    with_sum = np.concatenate([alpha, alpha.sum(axis=1, keepdims=True)], axis=1)
    rising = log_rising(with_sum[counts.c, counts.column], counts.value.astype(np.float64))
    signed = np.where(is_total, -counts.weight, counts.weight)
    return np.asarray(np.bincount(counts.c, signed * rising, len(alpha)), float)
