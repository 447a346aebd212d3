"""Laplace family (double exponential): numbers with heavier tails than a Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise._common.stored import stored
from sunrise.families.base import Problem
from sunrise.families.capabilities import Candidate
from sunrise.families.kept_values import ColumnGrid, KeepsValues
from sunrise.families.left_out import CellsLeftOut
from sunrise.families.priors import missing_maximum_problem
from sunrise.forms.base import Form
from sunrise.forms.distance import Distance
from sunrise.numerics.quadrature import CUTS
from sunrise.statistics.empirical import Run, Values
from sunrise.statistics.grids import Lattice
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import VALUE

#: A compressed column has at least this many nodes per scale.
_NODES_PER_SCALE = 64


class LaplaceParams(NamedTuple):
    """Median and scale of every class and column."""

    median: Floats
    scale: Floats
    #: Columns with more than one value; the others add nothing.
    known: Mask


@stored("pooled scale")
class Pooled(NamedTuple):
    """The prior of a column: its median, and its mean absolute deviation within the classes."""

    median: Floats
    scale: Floats


def median_and_deviation(
    run: Run, points: Floats | None = None, weights: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Lower weighted median, sum of absolute deviations from it and weight.

    One number each; or one per row of `points`, two values in ascending order that are removed with these weights. NaN
    where nothing is left.
    """
    removed, weight = np.zeros((1, 2)) if points is None else points, np.zeros((1, 2))
    if weights is not None:
        weight = weights
    (first, second), (w, both) = removed.T, (weight[:, 0], weight.sum(axis=1))
    up_to, sums = np.cumsum(run.observed_weight), np.cumsum(run.observed_weight * run.x)
    total = up_to[-1] - both
    # Cumulative weights stay below the first removed value and are smaller by one or both weights from there on.
    place, last = np.searchsorted(run.x, first), np.searchsorted(run.x, second)
    half = 0.5 * total - 1e-12 * up_to[-1]
    at = np.searchsorted(up_to, half)
    between = np.maximum(np.searchsorted(up_to, half + w), place)
    later = np.maximum(np.searchsorted(up_to, half + both), last)
    at = np.where((at < place) | (both == 0), at, np.where(between < last, between, later))
    at = np.minimum(at, len(run.x) - 1)
    median = run.x[at]
    below = median * up_to[at] - sums[at]
    above = sums[-1] - sums[at] - median * (up_to[-1] - up_to[at])
    own = (weight * np.abs(removed - median[:, None])).sum(axis=1)
    deviation = np.maximum(below + above - own, 0.0)
    gone = total <= 1e-9 * up_to[-1]
    return np.where(gone, np.nan, median), np.where(gone, np.nan, deviation), np.where(gone, 0.0, total)


@dataclass(frozen=True)
class Laplace(Candidate, KeepsValues):
    """Numbers with heavy tails: density exp(-|x - median| / scale) / (2 scale).

    The median of a class is its lower weighted median. The scale is the mean absolute deviation from it, with one more
    row that deviates as much as the column does within its classes (none with estimate="mle"). A class without cells
    has the median and the scale of the column. The distinct training values are kept, because medians need them.

    >>> from sunrise import NaiveBayes
    >>> table = {"x": [1.0, 2.0, 30.0, 5.0, 6.0, 7.0]}
    >>> NaiveBayes("laplace").fit(table, list("aaabbb")).parameters_["x"]["median"]
    array([2., 6.])
    """

    name = "laplace"
    terms = (VALUE,)
    complexity = 15
    prior: Any = field(default=None)

    def __post_init__(self) -> None:
        if self.prior is not None:
            try:
                median, scale = (np.asarray(part, dtype=float) for part in self.prior)
            except (TypeError, ValueError):
                raise ValueError(
                    f"the prior of Laplace is a median and a scale, not {self.prior!r}; a model has its own in "
                    "prior_[column]."
                ) from None
            object.__setattr__(self, "prior", Pooled(median, scale))

    @property
    def support(self) -> Support:
        """Any finite number."""
        return REAL

    def select_columns(self, columns: list[int]) -> Self:
        """The family of some columns of its block, with their priors."""
        family = super().select_columns(columns)
        prior = None if self.prior is None else Pooled(*family.prior)
        return family.with_settings(prior=prior)

    def find_problem(self, stats: Values) -> Problem | None:
        """Reject classes with fewer than two distinct values if there is no prior."""
        if self.estimate != "mle":
            return None
        return missing_maximum_problem(self, (stats.rows > 0) & (stats.sizes < 2))

    def resolve(self, stats: Values, again: bool = False) -> Self:
        """The family with the median of every column and its mean absolute deviation within the classes."""
        if self.prior is not None:
            return self
        median, scale = np.zeros(stats.n_columns), np.zeros(stats.n_columns)
        for j in np.flatnonzero(stats.known).tolist():
            median[j] = median_and_deviation(stats.column(j))[0][0]
            within = sum(median_and_deviation(run)[1][0] for run in stats.of_column(j) if len(run.x))
            overall = median_and_deviation(stats.column(j))[1][0]
            scale[j] = (within if within > 0 else overall) / stats.observed_weight[:, j].sum()
        return self.with_settings(prior=Pooled(median, scale))

    def params(self, stats: Values, class_weight: Floats) -> LaplaceParams:
        """Medians and mean absolute deviations."""
        shape = stats.rows.shape
        median, scale = (np.array(np.broadcast_to(part, shape), dtype=float) for part in self.prior)
        rows = 0.0 if self.estimate == "mle" else 1.0
        for j in range(stats.n_columns):
            for c, run in enumerate(stats.of_column(j)):
                if len(run.x):
                    own, deviation, n = (float(part[0]) for part in median_and_deviation(run))
                    median[c, j], scale[c, j] = own, (deviation + rows * scale[c, j]) / (n + rows)
        known = np.broadcast_to(np.asarray(self.prior.scale) > 0, shape).any(axis=0)
        return LaplaceParams(median, np.where(scale > 0, scale, 1.0), known & stats.known)

    def form(self, params: LaplaceParams) -> Form:
        """Return the log density - log(2 scale) - |x - median| / scale as a form."""
        median, scale, known = params
        return Distance.of_columns("line", -np.log(2.0 * scale), median, 1.0 / scale, np.array(-1.0), known)

    def describe_error(self, grid: ColumnGrid) -> str:
        """Bound on the change of the parameters, for people."""
        return f"medians and scales change by at most {grid.error:g}"

    def choose_grid(self, stats: Values, j: int) -> ColumnGrid:
        """Return a grid with at least 64 nodes in the smallest scale of a class.

        A median moves to one of the nodes around it. The deviations from a node are kept, so the least mean deviation
        changes by less than a step, too.
        """
        scale = self.params(stats, np.ones(stats.n_classes)).scale[stats.sizes[:, j] > 0, j].min()
        step = Lattice.finer_than(float(scale) / _NODES_PER_SCALE).step
        return ColumnGrid(step, step)

    def left_out(self, stats: Values, params: LaplaceParams, row_weight: Floats | None) -> CellsLeftOut:
        """A cell leaves the median and the deviations of its class, by prefix sums."""
        return CellsLeftOut(lambda x, c, j, w: self._score_without(stats, params, x, c, j, w))

    def _score_without(
        self, stats: Values, params: LaplaceParams, x: Floats, c: Codes, j: Positions, w: Floats
    ) -> Floats:
        """Log density of every cell for its own class without itself; NaN where nothing is left."""
        scores = np.full(len(x), np.nan)
        points, weights, fitted = stats.points_of_cells(self.grids, x, c, j, w)
        prior, medians = (
            np.broadcast_to(part, stats.rows.shape) for part in (self.prior.scale, self.prior.median)
        )
        rows = 0.0 if self.estimate == "mle" else 1.0
        place = np.asarray(j) * stats.n_classes + c
        for at in np.unique(place[fitted]).tolist():
            column, of_class = divmod(at, stats.n_classes)
            own = np.flatnonzero(fitted & (place == at))
            if not params.known[column]:
                scores[own] = 0.0
                continue
            median, deviation, n = median_and_deviation(
                stats.run(of_class, column), points[own], weights[own]
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = (deviation + rows * prior[of_class, column]) / (n + rows)
                # Without another cell the class has the median and the scale of the column.
                scale = np.where(n > 0, scale, prior[of_class, column])
                median = np.where(n > 0, median, medians[of_class, column])
                log_density = -np.log(2.0 * scale) - np.abs(x[own] - median) / scale
            scores[own] = np.where(scale > 0, log_density, np.nan)
        return scores

    def prior_of(self, stats: Values, j: int) -> Pooled:
        """The median and the scale of a column."""
        return Pooled(*(np.broadcast_to(part, stats.n_columns)[j] for part in self.prior))

    def landmarks(self, params: LaplaceParams) -> Floats:
        """Quantiles."""
        cuts = CUTS[:, None, None]
        quantiles = np.where(cuts < 0.5, np.log(2.0 * cuts), -np.log(2.0 * (1.0 - cuts)))
        return np.asarray(params.median + params.scale * quantiles)

    def sample(self, params: LaplaceParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Laplace numbers."""
        return rng.laplace(params.median[y], params.scale[y])

    def describe(self, params: LaplaceParams) -> list[dict[str, Floats]]:
        """Return median and scale of every column, per class."""
        columns = zip(params.median.T, params.scale.T, strict=True)
        return [{"median": median, "scale": scale} for median, scale in columns]
