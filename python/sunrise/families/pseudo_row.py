"""Pseudo-row prior of families without a conjugate prior, and Jensen's gap of their mean terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.families.base import Problem
from sunrise.families.left_out import CellsLeftOut, score_without_cells
from sunrise.families.priors import missing_maximum_problem
from sunrise.statistics.base import per_row
from sunrise.statistics.sums import Sums


class PseudoRowPrior:
    """Mixin of families without a conjugate prior: one pseudo-row is added to every class.

    The pseudo-row holds the mean terms of the column over all classes, or the setting `prior`.
    """

    prior: Any

    def check_pseudo_row(self, n_terms: int) -> None:
        """Raise unless `prior` has one number (or array) for each term."""
        if isinstance(self.prior, str):
            raise ValueError(
                f"prior is {self.prior!r}, and {type(self).__name__} has no marginal likelihood in closed form. "
                f"Give {n_terms} mean terms, or None."
            )
        if self.prior is not None and len(self.prior) != n_terms:
            raise ValueError(f"prior is {self.prior!r}; give {n_terms} mean terms, or None.")
        if self.prior is not None:
            row = tuple(np.asarray(term, dtype=float) for term in self.prior)
            object.__setattr__(self, "prior", row)

    def resolve(self, stats: Any, again: bool = False) -> Any:
        """Return the family with the terms of its pseudo-row as numbers."""
        family: Any = self
        if self.prior is not None:
            return family
        n = len(family.fit_support.views)
        return family.with_settings(prior=tuple(stats.pooled().mean[0, k::n] for k in range(n)))

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """Subtract each cell from the sums of its class."""
        family: Any = self
        return CellsLeftOut(
            lambda x, c, j, w: score_without_cells(family, stats, x, c, j, w),
            pools_unobserved=family.estimate == "mle",
        )

    def pseudo_row(self, stats: Sums) -> Sums:
        """Sums of the pseudo-row: 1 x views."""
        shape = stats.x.shape[1] // len(self.prior)
        terms = np.stack([np.broadcast_to(term, shape) for term in self.prior], axis=1).reshape(1, -1)
        return Sums(np.ones((1, 1), np.int64), np.ones((1, 1)), terms, np.zeros_like(terms))

    def with_pseudo_row(self, stats: Sums) -> Sums:
        """Return the statistics with the pseudo-row added to every class; not added with estimate="mle"."""
        row = self.pseudo_row(stats)
        if self.estimate == "mle":  # type: ignore[attr-defined]
            # A class without cells has no estimate of its own: it takes the terms of all classes.
            empty = np.broadcast_to(stats.rows == 0, stats.x.shape)
            x, weight = np.where(empty, row.x, stats.x), np.where(empty, 1.0, stats.observed_weight)
            return Sums(np.where(empty, 1, stats.rows), weight, x, stats.error)
        return Sums(stats.rows + 1, stats.observed_weight + 1.0, stats.x + row.x, stats.error)

    def log_prior_density(self, stats: Any, class_weight: Floats) -> float:
        """Log-likelihood of the pseudo-row, summed over the classes."""
        family: Any = self
        form = family.form(family.params(stats, class_weight))
        return 0.0 if family.estimate == "mle" else float(form.finite.cells(self.pseudo_row(stats).x).sum())

    def pseudo_row_share(self, joined: Sums) -> Floats:
        """Weight of the pseudo-row / total weight, for every class and column."""
        n = len(self.prior)
        weight = np.broadcast_to(joined.observed_weight, joined.x.shape)[:, ::n]
        return np.zeros_like(weight) if self.estimate == "mle" else 1.0 / weight  # type: ignore[attr-defined]

    def prior_of(self, stats: Sums, j: int) -> tuple[float, ...]:
        """Mean terms of the pseudo-row of column j."""
        n = len(self.prior)
        return tuple(float(term) for term in self.pseudo_row(stats).x[0, j * n : (j + 1) * n])


def rounding_error(pooled: Sums) -> Floats:
    """Bound on the relative rounding error of a mean due to summation: 1 x views."""
    return np.broadcast_to(2.0**-52 * (64.0 + pooled.rows), pooled.x.shape)


def forgetting_error(pooled: Sums) -> Floats:
    """Bound on the absolute error of a mean due to forgotten rows: 1 x views."""
    return per_row(np.zeros_like(pooled.x) if pooled.error is None else pooled.error, pooled)


def floor_jensen_gap(gap: Floats, pooled: Floats, share: Floats, tolerance: Floats) -> tuple[Floats, Mask]:
    """Return Jensen's gap of every class, raised to its lower bound, and which columns have a positive pooled gap.

    The gap is a concave function of the mean terms that is 0 for a single cell. Equal cells have a gap of 0 up to
    rounding (`tolerance`). By concavity a class that contains the pseudo-row has at least `share` times the gap of the
    pseudo-row (`pooled`).
    """
    positive = pooled > tolerance
    bound = np.maximum(pooled * share, tolerance * (share == 0.0))
    return np.where(positive, np.maximum(gap, bound), tolerance), positive[0]


def is_gap_attainable(stats: Any, gap: Floats) -> Mask:
    """True where the gap of the first class is not negative (real cells have no negative gap), or it has no cells."""
    n = stats.x.shape[1] // gap.shape[1]
    return np.asarray((gap[0] > -1e-9) | (np.broadcast_to(stats.rows, stats.x.shape)[0, ::n] == 0))


def constant_cells_problem(family: Any, stats: Sums, gap: Floats, tolerance: Floats) -> Problem | None:
    """Report the first class and column whose cells are all equal, if there is no prior; else None."""
    if family.estimate != "mle":
        return None
    n = stats.x.shape[1] // gap.shape[1]
    constant = (np.broadcast_to(stats.rows, stats.x.shape)[:, ::n] > 0) & ~(gap > tolerance)
    return missing_maximum_problem(family, constant)
