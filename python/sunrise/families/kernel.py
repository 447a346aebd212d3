"""Numbers of any distribution: a Gaussian kernel about every value, and the estimator KernelNB."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate
from sunrise.families.left_out import CellsLeftOut
from sunrise.forms.base import Form
from sunrise.forms.kernel_density import Bounds, Density, Sums
from sunrise.forms.pointwise import Pointwise
from sunrise.numerics.bandwidth import bandwidth, given_bandwidth
from sunrise.numerics.special import log
from sunrise.statistics.base import without_dust
from sunrise.statistics.empirical import Values, given_grid, nodes, on_grid
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import VALUE

#: The most points between which the density of a class and column is integrated.
_MOST_MARKS = 4096
#: How far kernels reach for that, in bandwidths.
_REACH = 9


@dataclass(frozen=True, eq=False)
class Pooled:
    """The density of a column whatever the class: values with the bandwidth of their class (classes x columns)."""

    values: Values
    width: Floats


class KernelParams(NamedTuple):
    """Bandwidth and weight of every class and column, the values, and the density that all classes share."""

    bandwidth: Floats
    n: Floats
    #: Columns that were observed at all; the others say nothing.
    known: Mask
    values: Values
    prior: Pooled
    #: How often the classes are there, for draws of parameters that have no posterior.
    copies: int = 1


@dataclass(frozen=True)
class Kernel(Candidate, Family):
    """Numbers of any distribution: the density of a class is a Gaussian about each of its values, and a share of all's.

    With n values (by weight) it is (n kde + pooled) / (n + 1), where kde is the mean of the class's own kernels and
    pooled the density of the column whatever the class, one more row that keeps every class possible. A class that
    never saw the column has the pooled density.

    Parameters
    ----------
    bandwidth : str, float or array-like, default="silverman"
        The standard deviation of the kernels, by a rule for every class and column: "sqrt" (John and Langley's
        1 / sqrt(n), in units of the range of the values), "silverman", "scott", "isj" (improved Sheather-Jones), "loo"
        (greatest leave-one-out likelihood, at least a sixth of the smallest gap); or a number, one for each column, or
        classes x columns. Of a class with one value: by the spread of the column.
    shared_bandwidth : bool, default=True
        Give all classes of a column the mean of their bandwidths. Where many cells hold the same value (zeros, ages in
        years) the density there is as high as the kernel is narrow; with bandwidths of their own, classes then differ
        by these more than by how many of their cells hold it.
    lower, upper : float, optional
        Bounds of the cells; a cell beyond is an error.
    boundary : {"reflect", "log"}, default="reflect"
        What happens at a bound: kernels are reflected there, or they are put about log(x - lower) instead, which
        excludes the bound itself.
    grid : (low, high, cells), optional
        Keep no values: each is shared out to the two nodes of a grid about it. The density is then off by no more than
        (step / h)^2 / 8 times the height 1 / (h sqrt(2 pi)) of a kernel of bandwidth h, twice that beside a bound; h
        is at least a step. Cells outside the grid cannot be learned, but scored.
    prior : Pooled, optional
        The pooled density, a model's own `prior_[column]`, for one.
    """

    name = "kernel"
    terms = (VALUE,)
    complexity = 80
    trait = "number"
    cost_power = 2  # the density of every class at the values of every class
    bandwidth: Any = "silverman"
    lower: float | None = None
    upper: float | None = None
    boundary: str = "reflect"
    grid: Any = None
    prior: Any = None
    shared_bandwidth: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", given_bandwidth(self.bandwidth))
        low, high = self.bounds.lower, self.bounds.upper
        if self.boundary not in ("reflect", "log"):
            raise ValueError(f'boundary is "reflect" or "log", not {self.boundary!r}')
        if not low < high or low == math.inf or high == -math.inf:
            raise ValueError(
                f"lower is {self.lower!r} and upper is {self.upper!r}: lower must be below upper."
            )
        if self.boundary == "log" and not (math.isfinite(low) or math.isfinite(high)):
            raise ValueError('boundary="log" needs a bound: say lower= or upper=.')
        if self.grid is not None:
            self._check_grid()
        if self.prior is not None and not isinstance(self.prior, Pooled):
            raise ValueError(f"the prior of Kernel is a model's own prior_[column], not {self.prior!r}.")

    def _check_grid(self) -> None:
        low, high, cells = given_grid(self.grid)
        if self.boundary == "log":
            raise ValueError('boundary="log" needs the values themselves: leave grid out, or reflect.')
        if low < self.bounds.lower or high > self.bounds.upper:
            raise ValueError(
                f"the grid from {low} to {high} leaves the bounds {self.lower} and {self.upper}."
            )
        object.__setattr__(self, "grid", (low, high, cells))

    @property
    def bounds(self) -> Bounds:
        """Between which numbers cells lie, and what kernels do there."""
        low, high = (
            -math.inf if self.lower is None else self.lower,
            math.inf if self.upper is None else self.upper,
        )
        return Bounds(float(low), float(high), self.boundary == "log")

    @property
    def support(self) -> Support:
        """Numbers between the bounds."""
        low, high = self.bounds.lower, self.bounds.upper
        if self.lower is None and self.upper is None:
            return REAL
        sides = [f"from {self.lower:g}"] if self.lower is not None else []
        sides += [f"up to {self.upper:g}"] if self.upper is not None else []
        text = "a number " + " ".join(sides)
        if self.boundary == "log":
            low, high, text = (
                math.nextafter(low, math.inf),
                math.nextafter(high, -math.inf),
                f"{text}, excluded",
            )
        return Support(text, lowest=low, highest=high)

    @property
    def fit_support(self) -> Support:
        """On the grid, where there is one."""
        if self.grid is None:
            return self.support
        low, high, _ = self.grid
        return replace(
            self.support,
            text=f"a number on the grid from {low:g} to {high:g}",
            lowest=low,
            highest=high,
            grid=self.grid,
        )

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The grid shapes the statistics."""
        return *super().statistics_key, self.grid

    def select_columns(self, columns: list[int]) -> Kernel:
        """The family of some columns; the pooled density goes with it."""
        family = super().select_columns(columns)
        if self.prior is None:
            return family
        at = np.array(columns, dtype=np.intp)
        return family.with_settings(
            prior=Pooled(self.prior.values.select_columns(at), self.prior.width[:, at])
        )

    def find_problem(self, stats: Values) -> Problem | None:
        """Refuse numbers whose range is none."""
        low, high = stats.range_of_columns()
        with np.errstate(invalid="ignore", over="ignore"):
            wide = stats.known & ~np.isfinite(high - low)
        if not wide.any():
            return None
        return Problem(
            int(np.argmax(wide)), "holds numbers too far apart. Rescale it: divide it by a power of ten."
        )

    def resolve(self, stats: Values, again: bool = False) -> Kernel:
        """The family with its bandwidths and its pooled density as numbers."""
        scaled = self._on_scale(stats)
        width = self._widths(scaled)
        prior = Pooled(scaled, width) if self.prior is None else self.prior
        return self.with_settings(bandwidth=width, prior=prior)

    def _on_scale(self, stats: Values) -> Values:
        """The values as kernels are put about them."""
        return stats.on_scale(self.bounds.to_scale) if self.bounds.log else stats

    def _widths(self, scaled: Values) -> Floats:
        """Bandwidths of every class and column."""
        shape = scaled.rows.shape
        if isinstance(self.bandwidth, str):
            width = np.ones(shape)
            for j in np.flatnonzero(scaled.known).tolist():
                width[:, j] = self._by_rule(scaled, j)
        else:
            width = np.array(np.broadcast_to(self.bandwidth, shape), dtype=float)
        if self.grid is not None:
            width = np.maximum(width, (self.grid[1] - self.grid[0]) / self.grid[2])
        if not self.bounds.log and math.isfinite(self.bounds.span):
            # Twice as wide as there is room, reflected kernels are level to nine digits.
            width = np.minimum(width, 2.0 * self.bounds.span)
        return width

    def _by_rule(self, scaled: Values, j: int) -> Floats:
        """Bandwidths of the classes of a column."""

        def column() -> tuple[Floats, Floats]:
            run = scaled.column(j)
            return run.x, run.observed_weight

        width = np.array(
            [bandwidth(self.bandwidth, run.x, run.observed_weight, column) for run in scaled.of_column(j)]
        )
        return (
            np.full_like(width, np.average(width, weights=scaled.observed_weight[:, j]))
            if self.shared_bandwidth
            else width
        )

    def params(self, stats: Values, class_weight: Floats) -> KernelParams:
        """Bandwidths as they were found, about the values as they are."""
        width = np.broadcast_to(self.bandwidth, stats.rows.shape)
        return KernelParams(width, stats.observed_weight, self.prior.values.known, stats, self.prior)

    def form(self, params: KernelParams) -> Form:
        """Log of the sum of kernels; the pooled density needs none of its own where it is of the same values."""
        values, width = self._on_scale(params.values), params.bandwidth
        pooled, n_classes = params.prior, len(params.n)
        if pooled.values is values or (self.bounds.log and _same(pooled.values, values)):
            first = 0
        else:
            first, more = n_classes, pooled.values.n_classes
            places = np.arange(n_classes + more)
            values = values.reindexed(places[:first], len(places)) + pooled.values.reindexed(
                places[first:], len(places)
            )
            width = np.concatenate([width, pooled.width])
        share = np.zeros(values.rows.shape)
        total = pooled.values.observed_weight.sum(axis=0)
        share[first : first + pooled.values.n_classes] = 1.0 / np.where(total > 0, total, 1.0)
        share = np.where(values.sizes > 0, share, 0.0)
        blind = params.n == 0
        prior = blind.astype(float) if self.estimate == "mle" else np.ones_like(params.n)
        density = Density(
            Sums(values, width, self.bounds),
            share.T,
            prior.T,
            (params.n + prior).T,
            params.known,
            np.ones(len(params.known)),
        )
        if params.copies == 1:
            return density
        return Pointwise(lambda x: np.tile(density.cells(x[:, 0, :]), (1, params.copies, 1)))

    def left_out(self, stats: Values, params: KernelParams, row_weight: Floats | None) -> CellsLeftOut:
        """The density of a class without the kernel of a cell; the pooled density stays."""
        form: Any = self.form(params._replace(copies=1))
        return CellsLeftOut(lambda x, c, j, w: self._score_without(stats, form, x, c, j, w))

    def _score_without(
        self, stats: Values, form: Density, x: Floats, c: Codes, j: Positions, w: Floats
    ) -> Floats:
        """Log density of every cell for its own class without itself."""
        u = self.bounds.to_scale(x)
        if self.grid is None:
            points, weights = x[:, None], w[:, None]
        else:
            at, share = on_grid(x, self.grid)
            points = np.stack([nodes(self.grid)[at], nodes(self.grid)[at + 1]], axis=1)
            weights = np.stack([w * (1.0 - share), w * share], axis=1)
        columns = range(points.shape[1])
        held = np.stack([stats.weight_at(points[:, k], c, j) for k in columns], axis=1)
        fitted = (held >= (1.0 - 1e-9) * weights).all(axis=1)
        if self.grid is None:  # the native sums take two points to remove
            points, weights = np.repeat(points, 2, axis=1), np.stack([w, 0.0 * w], axis=1)
        own = form.sums.log_sums(c, j, u, (self.bounds.to_scale(points), weights))
        total = stats.observed_weight[c, j]
        n = without_dust(total - w, total)
        own = np.where(n > 0, own, -np.inf)
        prior = np.where(n > 0, 0.0, 1.0) if self.estimate == "mle" else np.ones(len(x))
        density = np.logaddexp(own, form.common(j, u) + log(prior)) - np.log(n + prior)
        return np.where(fitted, density, np.nan)

    def prior_of(self, stats: Values, j: int) -> Pooled:
        """The pooled density of a column."""
        return Pooled(self.prior.values.select_columns(np.array([j])), self.prior.width[:, [j]])

    def log_prior_density(self, stats: Any, class_weight: Floats) -> float:
        """A density of kernels is no maximum of a likelihood."""
        return float("nan")

    def sample_parameters(
        self, stats: Values, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> KernelParams:
        """The same density every time: it has no posterior."""
        return self.params(stats, class_weight)._replace(copies=n)

    def log_base_measure(self, x: Floats) -> Floats:
        """How fast the scale of the kernels grows."""
        return self.bounds.log_derivative(x)

    def landmarks(self, params: KernelParams) -> Floats:
        """Points a bandwidth apart, wherever kernels reach; the finest of them beside a bound."""
        values, (n_classes, n_columns) = self._on_scale(params.values), params.n.shape
        found = [
            [self._marks(values.run(c, j).x, float(params.bandwidth[c, j])) for j in range(n_columns)]
            for c in range(n_classes)
        ]
        most = max(len(marks) for row in found for marks in row)
        padded = [[np.append(marks, np.full(most - len(marks), marks[-1])) for marks in row] for row in found]
        return np.moveaxis(np.array(padded), 2, 0)

    def _marks(self, x: Floats, width: float) -> Floats:
        if len(x) == 0:
            x = self.bounds.to_scale(np.array([min(max(1.0, self.support.lowest), self.support.highest)]))
        step = width
        while len(cells := np.unique(np.floor(x / step))) * 2 > _MOST_MARKS:
            step *= 2.0
        near = np.arange(-_REACH, _REACH + 2) if len(cells) * 8 < _MOST_MARKS else np.arange(2)
        marks = np.unique(np.concatenate([cells + k for k in near])) * step
        if self.bounds.log:
            marks = self.bounds.from_scale(marks)
        fine = width * 10.0 ** -np.arange(0.0, 12.0)
        for bound, side in ((self.bounds.lower, 1.0), (self.bounds.upper, -1.0)):
            if math.isfinite(bound) and not self.bounds.log:
                marks = np.concatenate([marks, bound + side * fine])
        low, high = self.support.lowest, self.support.highest
        return np.sort(np.clip(marks, low + (0.0 if low else 1e-12 * width), high))

    def sample(self, params: KernelParams, y: Codes, rng: np.random.Generator) -> Floats:
        """One of the values and a step from it; in place of the class's own as often as the prior says, any."""
        values, pooled = self._on_scale(params.values), params.prior
        drawn = np.zeros((len(y), len(params.known)))
        n = params.n[y]
        prior = (n == 0).astype(float) if self.estimate == "mle" else np.ones_like(n)
        for j in np.flatnonzero(params.known).tolist():
            common = rng.random(len(y)) * (n[:, j] + prior[:, j]) >= n[:, j]
            for c in np.unique(y[~common]):
                rows = np.flatnonzero(~common & (y == c))
                drawn[rows, j] = _draw(values, params.bandwidth, c, j, len(rows), rng)
            weight = pooled.values.observed_weight[:, j]
            of = rng.choice(len(weight), len(y), p=weight / weight.sum())
            for c in np.unique(of[common]):
                rows = np.flatnonzero(common & (of == c))
                drawn[rows, j] = _draw(pooled.values, pooled.width, c, j, len(rows), rng)
        return np.clip(self.bounds.from_scale(drawn), self.support.lowest, self.support.highest)

    def describe(self, params: KernelParams) -> list[dict[str, Floats]]:
        """Bandwidths, and the weight of the cells."""
        return [{"bandwidth": h, "n": n} for h, n in zip(params.bandwidth.T, params.n.T, strict=True)]


def _same(a: Values, b: Values) -> bool:
    """Whether two are the same values; both are on a scale of their own."""
    return (
        np.array_equal(a.sizes, b.sizes) and np.array_equal(a.x, b.x) and np.array_equal(a.weight, b.weight)
    )


def _draw(values: Values, width: Floats, c: int, j: int, n: int, rng: np.random.Generator) -> Floats:
    """Values of a class and column, each a step of its kernel away."""
    run = values.run(c, j)
    at = np.searchsorted(
        np.cumsum(run.observed_weight), rng.random(n) * run.observed_weight.sum(), side="right"
    )
    return np.asarray(run.x[np.minimum(at, len(run.x) - 1)] + width[c, j] * rng.standard_normal(n))
