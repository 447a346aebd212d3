"""Kernel family: numbers of any distribution, by Gaussian kernel density estimation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.stored import stored
from sunrise.families.base import Problem
from sunrise.families.capabilities import Candidate
from sunrise.families.kept_values import MOST_NODES, ColumnGrid, KeepsValues
from sunrise.families.left_out import CellsLeftOut
from sunrise.forms.base import Form
from sunrise.forms.kernel_density import Density, Sums, integration_points
from sunrise.forms.kernel_draws import DrawnDensities
from sunrise.forms.kernel_removal import KernelRemoval
from sunrise.forms.pointwise import Pointwise
from sunrise.numerics.bandwidth import bandwidth, given_bandwidth, silverman_of_columns
from sunrise.statistics.bounds import Bounds
from sunrise.statistics.empirical import Values
from sunrise.statistics.grids import EvenGrid, Grid, Lattice, given_grid, split_error
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import VALUE

#: A compressed column has at least this many nodes per bandwidth.
_NODES_PER_WIDTH = 8


@stored("pooled density")
@dataclass(frozen=True, eq=False)
class Pooled:
    """The density of a column over all classes: values, and the bandwidths of their classes (classes x columns)."""

    values: Values
    width: Floats


class KernelParams(NamedTuple):
    """Bandwidth and weight of every class and column, the training values, and the pooled density."""

    bandwidth: Floats
    n: Floats
    #: Columns that were observed; the others add nothing.
    known: Mask
    values: Values
    prior: Pooled
    #: Draws of the densities from their posterior, with as many classes for each draw; else None.
    draws: DrawnDensities | None = None
    density: Density | None = None


@dataclass(frozen=True)
class Kernel(Candidate, KeepsValues):
    """Numbers of any distribution: a kernel density estimate per class, mixed with the pooled density of the column.

    The density of a class with n values (by weight) is (n kde + pooled) / (n + 1): kde is the mean of the Gaussian
    kernels about the values of the class, pooled the density of the column over all classes. It counts as one row and
    keeps the density of every class positive. A class without cells in the column has the pooled density.

    Parameters
    ----------
    bandwidth : str, float or array-like, default="silverman"
        The standard deviation of the kernels, by a rule for every class and column: "sqrt" (John and Langley's
        1 / sqrt(n), in units of the range of the values), "silverman", "scott", "isj" (improved Sheather-Jones), "loo"
        (maximum leave-one-out likelihood, at least a sixth of the smallest gap); or one number, one per column, or
        classes x columns. A class with one value uses the scale of the column.
    shared_bandwidth : bool, default=True
        Use the mean of the bandwidths of the classes of a column for all of them. The density at a value that many
        cells share (zeros, ages in years) is proportional to 1 / bandwidth, so with different bandwidths classes would
        differ there by bandwidth more than by frequency.
    lower, upper : float, optional
        Bounds of the cells; a cell outside raises an error.
    boundary : {"reflect", "log"}, default="reflect"
        Treatment of a bound: "reflect" reflects the kernels there, "log" estimates the density of log(x - lower)
        instead, which excludes the bound itself.
    grid : (low, high, cells), optional
        Store weights of grid nodes instead of values: each value is split between the two nearest nodes. The error of
        the density is at most (step / h)^2 / 8 times the height 1 / (h sqrt(2 pi)) of a kernel of bandwidth h, twice
        as much next to a bound; h is at least one step. Cells outside the grid can be scored, but not fitted.
    prior : Pooled, optional
        The pooled density, for example `prior_[column]` of a fitted model.
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
            raise ValueError(f'boundary is {self.boundary!r}; it must be "reflect" or "log".')
        if not low < high or low == math.inf or high == -math.inf:
            raise ValueError(
                f"lower is {self.lower!r} and upper is {self.upper!r}: lower must be below upper."
            )
        if self.boundary == "log" and not (math.isfinite(low) or math.isfinite(high)):
            raise ValueError('boundary="log" needs a bound. Set lower or upper.')
        if self.grid is not None:
            self._check_grid()
        if self.prior is not None and not isinstance(self.prior, Pooled):
            raise ValueError(f"prior of Kernel is {self.prior!r}; give prior_[column] of a fitted model.")

    def _check_grid(self) -> None:
        """Raise if the grid is not valid or does not agree with the bounds."""
        low, high, cells = given_grid(self.grid)
        if self.boundary == "log":
            raise ValueError(
                'boundary="log" does not work with a grid. Leave grid out, or set boundary="reflect".'
            )
        if low < self.bounds.lower or high > self.bounds.upper:
            raise ValueError(
                f"the grid from {low} to {high} exceeds the bounds {self.lower} and {self.upper}. Make it smaller."
            )
        object.__setattr__(self, "grid", (low, high, cells))

    @property
    def bounds(self) -> Bounds:
        """The bounds of the cells, and how kernels are treated there."""
        low = -math.inf if self.lower is None else self.lower
        high = math.inf if self.upper is None else self.upper
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
        """Numbers between the bounds, and inside the grid if there is a given grid."""
        if self.grid is None:
            return super().fit_support
        low, high, _ = self.grid
        return replace(
            self.support,
            text=f"a number on the grid from {low:g} to {high:g}",
            lowest=low,
            highest=high,
            grids=self.grids,
        )

    @property
    def grids(self) -> tuple[Grid | None, ...]:
        """The given grid, or the grids of compressed columns."""
        return super().grids if self.grid is None else (EvenGrid(*self.grid),)

    def lattice(self, step: float) -> Lattice:
        """Return the lattice with this step on the scale of the kernels."""
        return Lattice(step, self.bounds)

    @property
    def description(self) -> str:
        """The family in words, with its grid."""
        return super().description if self.grid is None else f"{self.name} with grid={self.grid}"

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The settings that shape the statistics, among them the grid."""
        return *super().statistics_key, self.grid

    def select_columns(self, columns: list[int]) -> Kernel:
        """Return the family of some columns of its block, with their pooled densities."""
        family = super().select_columns(columns)
        if self.prior is None:
            return family
        at = np.array(columns, dtype=np.intp)
        return family.with_settings(
            prior=Pooled(self.prior.values.select_columns(at), self.prior.width[:, at])
        )

    def find_problem(self, stats: Values) -> Problem | None:
        """Report a column whose range overflows."""
        low, high = stats.range_of_columns()
        with np.errstate(invalid="ignore", over="ignore"):
            wide = stats.known & ~np.isfinite(high - low)
        if not wide.any():
            return None
        return Problem(
            int(np.argmax(wide)), "holds numbers too far apart. Divide the column by a power of ten."
        )

    def resolve(self, stats: Values, again: bool = False) -> Kernel:
        """Return the family with its bandwidths and its pooled density as numbers."""
        scaled = self._transformed(stats)
        width = self._bandwidths(scaled)
        prior = Pooled(scaled, width) if self.prior is None else self.prior
        return self.with_settings(bandwidth=width, prior=prior)

    def _transformed(self, stats: Values) -> Values:
        """The values on the scale of the kernels: log(x - lower) with boundary="log", else x."""
        return stats.transform_values(self.bounds.to_scale) if self.bounds.log else stats

    def _bandwidths(self, scaled: Values) -> Floats:
        """Bandwidths of every class and column."""
        shape = scaled.rows.shape
        if isinstance(self.bandwidth, str):
            width, known = np.ones(shape), np.full(shape[::-1], np.nan)
            if self.bandwidth == "silverman":
                known = silverman_of_columns(scaled.x, scaled.weight, scaled.offsets, shape[0])
            for j in np.flatnonzero(scaled.known).tolist():
                width[:, j] = self.fixed_widths(j, shape[0]) or self._bandwidths_by_rule(scaled, j, known[j])
        else:
            width = np.array(np.broadcast_to(self.bandwidth, shape), dtype=float)
        steps = [0.0 if grid is None else grid.step for grid in self.grids]
        if steps:
            width = np.maximum(width, np.array(steps))
        if not self.bounds.log and math.isfinite(self.bounds.span):
            # With a bandwidth of twice the range, reflected kernels are uniform to nine digits.
            width = np.minimum(width, 2.0 * self.bounds.span)
        return width

    def _bandwidths_by_rule(self, scaled: Values, j: int, width: Floats) -> Floats:
        """Bandwidths of the classes of a column by the rule that `bandwidth` names; those in `width` are known."""

        def column() -> tuple[Floats, Floats]:
            run = scaled.column(j)
            return run.x, run.observed_weight

        for c in np.flatnonzero(np.isnan(width)).tolist():
            run = scaled.run(c, j)
            width[c] = bandwidth(self.bandwidth, run.x, run.observed_weight, column)
        return (
            np.full_like(width, np.average(width, weights=scaled.observed_weight[:, j]))
            if self.shared_bandwidth
            else width
        )

    def params(self, stats: Values, class_weight: Floats) -> KernelParams:
        """The resolved bandwidths, with the current values."""
        width = np.broadcast_to(self.bandwidth, stats.rows.shape)
        params = KernelParams(width, stats.observed_weight, self.prior.values.known, stats, self.prior)
        return params._replace(density=self._density(params))

    def form(self, params: KernelParams) -> Form:
        """Return the log density as a form. All uses share one object, because its tables are built once."""
        if (draws := params.draws) is not None:
            return Pointwise(lambda x: draws.cells(x[:, 0, :]))
        return params.density or self._density(params)

    def _density(self, params: KernelParams) -> Density:
        """The density; the kernels of the classes serve the pooled density, too, if the values are the same."""
        values, width = self._transformed(params.values), params.bandwidth
        pooled, n_classes = params.prior, len(params.n)
        if pooled.values is values or (self.bounds.log and pooled.values.has_values_of(values)):
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
        empty = params.n == 0
        prior = empty.astype(float) if self.estimate == "mle" else np.ones_like(params.n)
        return Density(
            Sums(values, width, self.bounds, self.grids),
            share.T,
            prior.T,
            (params.n + prior).T,
            params.known,
            np.ones(len(params.known)),
        )

    def kept(self, stats: Values, j: int) -> str:
        """What the model keeps of column j: training values, or nodes of a grid."""
        return super().kept(stats, j) if self.grid is None else f"keeps {self.grid[2] + 1:,} grid nodes"

    def describe_error(self, grid: ColumnGrid) -> str:
        """Bound on the change of a density, for people."""
        return f"a density changes by at most {100.0 * grid.error:.2g} % of the height of one kernel"

    def choose_grid(self, stats: Values, j: int) -> ColumnGrid:
        """Return a grid with eight to sixteen nodes per bandwidth; with fewer, at least two, if it would be large."""
        width = np.broadcast_to(self.bandwidth, stats.rows.shape)[:, j]
        smallest = float(width[stats.sizes[:, j] > 0].min())
        lattice = Lattice.finer_than(smallest / _NODES_PER_WIDTH, self.bounds)
        nodes = stats.number_of_nodes(lattice, j)
        while nodes > MOST_NODES and 4.0 * lattice.step <= smallest:
            fewer = stats.number_of_nodes(lattice.coarser, j)
            if fewer > 0.75 * nodes:  # values far apart need two nodes each on any grid
                break
            lattice, nodes = lattice.coarser, fewer
        has_bound = not self.bounds.log and self.support.bounded
        widths = width[:1] if (width == width[0]).all() else width
        error = split_error(lattice.step, smallest, has_bound)
        return ColumnGrid(lattice.step, error, tuple(widths.tolist()))

    def on_grids(self, grids: tuple[ColumnGrid | None, ...]) -> Kernel:
        """Return the family with these grids of its columns; a given prior is put on them, too."""
        family = super().on_grids(grids)
        if family.prior is None:
            return family
        # The values of a prior are on the scale of the kernels already.
        lattices = tuple(
            None if own is None else Lattice(own.step, Bounds() if self.bounds.log else self.bounds)
            for own in grids
        )
        return family.with_settings(prior=Pooled(self.prior.values.on_grids(lattices), self.prior.width))

    def left_out(self, stats: Values, params: KernelParams, row_weight: Floats | None) -> CellsLeftOut:
        """Remove the kernel of a cell from its class; the pooled density is not changed."""
        density: Any = self.form(params)
        removal = KernelRemoval(density, stats, self.estimate == "mle", row_weight)
        return CellsLeftOut(removal.score, removal if removal.is_native else None)

    def prior_of(self, stats: Values, j: int) -> Pooled:
        """The pooled density of a column."""
        return Pooled(self.prior.values.select_columns(np.array([j])), self.prior.width[:, [j]])

    def log_prior_density(self, stats: Any, class_weight: Floats) -> float:
        """NaN: a kernel density does not maximise a likelihood."""
        return float("nan")

    def sample_parameters(
        self, stats: Values, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> KernelParams:
        """Draw the shares of the values and of the pooled density from their Dirichlet posterior."""
        params = self.params(stats, class_weight)
        density: Any = self.with_settings(estimate="mean")._density(params)
        return params._replace(draws=DrawnDensities.draw(density, n, rng))

    def log_base_measure(self, x: Floats) -> Floats:
        """Log of the derivative of the kernels' scale: the Jacobian of log(x - lower), else 0."""
        return self.bounds.log_derivative(x)

    def landmarks(self, params: KernelParams) -> Floats:
        """Points one bandwidth apart wherever the density is not negligible, with finer points next to a bound."""
        values, (n_classes, n_columns) = self._transformed(params.values), params.n.shape
        points = [
            [
                integration_points(
                    values.run(c, j).x, float(params.bandwidth[c, j]), self.bounds, self.support
                )
                for j in range(n_columns)
            ]
            for c in range(n_classes)
        ]
        most = max(len(x) for row in points for x in row)
        padded = [[np.append(x, np.full(most - len(x), x[-1])) for x in row] for row in points]
        return np.moveaxis(np.array(padded), 2, 0)

    def sample(self, params: KernelParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw a training value of the class (or of any class, with the prior's probability) and add Gaussian noise."""
        values, pooled = self._transformed(params.values), params.prior
        x = np.zeros((len(y), len(params.known)))
        n = params.n[y]
        prior = (n == 0).astype(float) if self.estimate == "mle" else np.ones_like(n)
        for j in np.flatnonzero(params.known).tolist():
            from_pooled = rng.random(len(y)) * (n[:, j] + prior[:, j]) >= n[:, j]
            for c in np.unique(y[~from_pooled]):
                rows = np.flatnonzero(~from_pooled & (y == c))
                x[rows, j] = values.run(c, j).draw_kernels(params.bandwidth[c, j], len(rows), rng)
            weight = pooled.values.observed_weight[:, j]
            source = rng.choice(len(weight), len(y), p=weight / weight.sum())
            for c in np.unique(source[from_pooled]):
                rows = np.flatnonzero(from_pooled & (source == c))
                x[rows, j] = pooled.values.run(c, j).draw_kernels(pooled.width[c, j], len(rows), rng)
        return np.clip(self.bounds.from_scale(x), self.support.lowest, self.support.highest)

    def describe(self, params: KernelParams) -> list[dict[str, Floats]]:
        """Return bandwidth and total weight of every column, per class."""
        return [{"bandwidth": h, "n": n} for h, n in zip(params.bandwidth.T, params.n.T, strict=True)]
