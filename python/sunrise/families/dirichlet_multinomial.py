"""Dirichlet-multinomial (Polya) family: over-dispersed counts of a whole block of columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise._common.warnings import NotConvergedWarning, alert
from sunrise.families.base import Family, Problem
from sunrise.families.left_out import Cells, RowsLeftOut
from sunrise.families.multinomial import draw_counts, log_multinomial_coefficient
from sunrise.families.readers import ROWS
from sunrise.forms.polya import Polya
from sunrise.numerics import polya
from sunrise.numerics.special import log_rising
from sunrise.statistics.counts import Counts, RowCounts
from sunrise.statistics.support import WHOLE_COUNTS, Support
from sunrise.statistics.terms import COUNT

#: Whole counts; the error text for other numbers names an estimator that accepts them.
ROW_COUNTS = replace(WHOLE_COUNTS, text=WHOLE_COUNTS.text + " (MultinomialNB takes any weights from 0)")


class Convergence(NamedTuple):
    """Convergence of the alphas of every class: iterations, last relative change of their sum, whether converged.

    `boundary` is 1 if the sum of the alphas diverges (the counts are not over-dispersed compared with a multinomial)
    and -1 if it tends to 0 (no row has two different columns). Both are optima that need no iterations.
    """

    iterations: Integers
    change: Floats
    converged: Mask
    boundary: Integers


class DirichletMultinomialParams(NamedTuple):
    """Alphas, classes x columns; 0 for columns without counts."""

    alpha: Floats
    known: Mask
    #: Totals of the training rows, and the weight of the rows of each class with each total, for drawn rows.
    totals: Integers
    total_weight: Floats


@dataclass(frozen=True)
class DirichletMultinomial(Family):
    """Over-dispersed counts: each row draws its shares ~ Dirichlet(alpha), then its counts ~ Multinomial(shares).

    A word that occurs once in a document is likely to occur again (burstiness). The alphas have maximum likelihood;
    the share `background` of them comes from all classes together (none with estimate="mle"). They have no conjugate
    posterior, so all other estimates are the same. Leave-one-out is approximate: it corrects the alphas to first
    order. `alpha` sets the alphas instead: classes x columns.
    """

    name = "dirichlet_multinomial"
    terms = (COUNT,)
    joint = True
    reader = ROWS
    background: float = 0.1
    alpha: Any = None
    tol: float = 1e-12
    max_iter: int = 100
    #: The part of the alphas that comes from the background, classes x columns, once they are estimated.
    background_alpha: Floats | None = field(default=None, init=False, repr=False, compare=False)
    #: Convergence of the alphas, once they are estimated.
    convergence: Convergence | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.background, Real) and 0.0 <= float(self.background) < 1.0):
            raise ValueError(
                f"background is {self.background!r}; it must be at least 0 and below 1, for example 0.1."
            )
        if self.alpha is not None:
            alpha = np.atleast_2d(np.asarray(self.alpha, dtype=float))
            if not (np.isfinite(alpha) & (alpha >= 0)).all():
                raise ValueError("alpha must be finite and 0 or more, for each class and column.")
            object.__setattr__(self, "alpha", alpha)

    @property
    def support(self) -> Support:
        """Whole counts."""
        return ROW_COUNTS

    def find_problem(self, stats: RowCounts) -> Problem | None:
        """Report a column with missing counts, which leave the total of a row unknown; empty columns do not matter."""
        incomplete = (stats.missing > 0) & stats.known
        if not incomplete.any():
            return None
        j = int(np.argmax(incomplete))
        return Problem(
            j,
            f"has {stats.missing[j]} missing counts, and {self.name} needs the total of every row. Set them to 0 if "
            "nothing was counted, drop these rows or the column, or use multinomial, which accepts missing counts.",
        )

    def resolve(self, stats: Counts, again: bool = False) -> Self:
        """Return the family with its alphas as numbers; alphas that the user gave stay in every step of EM."""
        if again and self.background_alpha is not None:
            return self.with_settings(alpha=None, background_alpha=None, convergence=None).resolve(stats)
        if self.alpha is not None:
            shape = len(stats.rows), stats.n_columns - 1
            return self.with_settings(alpha=np.broadcast_to(self.alpha, shape))
        fit = polya.fit_alpha(stats, self.tol, self.max_iter)
        convergence, alpha = Convergence(*fit[1:]), fit.alpha
        share, background = 0.0 if self.estimate == "mle" else float(self.background), np.zeros(1)
        if share > 0.0 or not alpha.any(axis=1).all():
            pooled = polya.fit_alpha(stats.pooled(), self.tol, self.max_iter)
            own, alpha = alpha, polya.with_background(alpha, pooled.alpha, share)
            background = alpha - (1.0 - share) * own
        if not convergence.converged.all():
            alert(
                f"The alphas of {int((~convergence.converged).sum())} classes of {self.name} have not converged after "
                f"max_iter={self.max_iter} iterations: the relative change of their sum is "
                f"{convergence.change.max():.1g}. Increase max_iter or tol.",
                NotConvergedWarning,
            )
        return self.with_settings(alpha=alpha, background_alpha=background, convergence=convergence)

    def params(self, stats: Counts, class_weight: Floats) -> DirichletMultinomialParams:
        """The alphas, estimated from the counts of counts unless the family is resolved."""
        alpha = self.resolve(stats).alpha
        totals, weight = stats.levels(stats.n_columns - 1), stats.weight[:, stats.offsets[-2] :]
        weight = np.where(weight.any(axis=1, keepdims=True), weight, weight.sum(axis=0))
        if not weight.any():  # alphas that were given without rows: drawn rows have one count
            totals, weight = np.ones(1, np.int64), np.ones((len(alpha), 1))
        return DirichletMultinomialParams(alpha, alpha.any(axis=0), totals, weight)

    def log_prior_density(self, stats: Counts, class_weight: Floats) -> float:
        """0 for maximum likelihood alphas; NaN if a background is mixed in."""
        return 0.0 if self.estimate == "mle" or self.background == 0.0 else float("nan")

    def left_out(self, stats: Counts, params: Any, row_weight: Floats | None) -> RowsLeftOut:
        """Subtract the effect of a row on the alphas, to first order."""
        return RowsLeftOut(lambda block, y, w, n: self._score_without(stats, Cells.stored(block), y, w))

    def _score_without(self, stats: Counts, rows: Cells, y: Codes, w: Floats) -> Floats:
        """Score each row by its own class under alphas without the row, to first order; +inf if never fitted."""
        resolved, c = self.resolve(stats), y[rows.row]
        alpha = np.asarray(resolved.alpha)
        known = np.asarray(alpha.any(axis=0))[rows.column]
        length = rows.by_row(np.where(known, rows.scored, 0.0))
        cell_alpha, total = alpha[c, rows.column], alpha.sum(axis=1)[y]
        if resolved.background_alpha is not None:
            background = np.broadcast_to(resolved.background_alpha, alpha.shape)
            change, total_change = resolved._alpha_changes(stats, alpha - background, rows, y, w)
            cell_alpha, total = cell_alpha + change, total + total_change
        scores = rows.by_row(np.where(known, log_rising(cell_alpha, rows.scored), 0.0))
        scores -= np.where(total > 0, log_rising(np.where(total > 0, total, 1.0), length), 0.0)
        at = stats.positions(rows.column, rows.x.astype(np.int64))
        fitted = at >= 0
        c, at, w = c[fitted], at[fitted], w[rows.row][fitted]
        fitted[fitted] = (stats.rows[c, at] > 0) & (stats.weight[c, at] >= (1.0 - 1e-9) * w)
        return np.where(rows.by_row(~fitted) > 0, np.inf, scores)

    def _alpha_changes(
        self, stats: Counts, own: Floats, rows: Cells, y: Codes, w: Floats
    ) -> tuple[Floats, Floats]:
        """Changes of the alphas of a row's columns, and of the sum of all alphas, if the row is removed.

        `own` is the part of the alphas that is not background. The changes keep the gradient of the log-likelihood at 0
        to first order; no alpha falls below 0.
        """
        share = 0.0 if self.estimate == "mle" else float(self.background)
        fitted, c = own / (1.0 - share), y[rows.row]
        hessian = polya.NegativeHessian.of(stats, fitted)
        before, diagonal = fitted[c, rows.column], hessian.diagonal[c, rows.column]
        # Gradient of the row's log-likelihood by the alpha of each cell, and (with the opposite sign) by their sum.
        slope = w[rows.row] * polya.log_rising_derivative(before, rows.x)
        slope = np.where(before > 0, slope, 0.0)
        total_slope = w * polya.log_rising_derivative(
            np.maximum(fitted.sum(axis=1), polya.MIN_TOTAL)[y], rows.by_row(rows.x)
        )
        interior = (hessian.determinant_factor > 0) & np.isfinite(hessian.common)
        if self.convergence is not None:
            interior &= self.convergence.boundary == 0
        # The Hessian is diagonal plus rank one (Sherman-Morrison): first the change of the sum, then of each alpha.
        factor = np.where(interior, hessian.determinant_factor, 1.0)[y]
        inverse_sum = (1.0 / hessian.diagonal).sum(axis=1)[y]
        total_change = (total_slope * inverse_sum - rows.by_row(slope / diagonal)) / factor
        change = (hessian.common[y] * total_change + total_slope)[rows.row] - slope
        change = np.maximum(np.where(interior[c], change, -slope) / diagonal, -before)
        total_change = np.where(interior[y], total_change, rows.by_row(change))
        total_change = np.maximum(total_change, -0.5 * fitted.sum(axis=1)[y])
        return (1.0 - share) * change, (1.0 - share) * total_change

    def form(self, params: DirichletMultinomialParams) -> Polya:
        """Return the Dirichlet-multinomial (Polya urn) log probability as a form."""
        return Polya(params.alpha, params.known)

    def log_base_measure(self, x: Floats) -> Floats:
        """Log of the multinomial coefficient of the observed counts."""
        return log_multinomial_coefficient(x)

    def outcomes(self, params: DirichletMultinomialParams) -> Floats:
        """Raise: draws depend on each other, so a column has no outcomes by itself."""
        raise ValueError(
            f"the draws of {self.name} depend on each other, so no column has mutual information. Use multinomial."
        )

    def sample(self, params: DirichletMultinomialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw rows of counts: the total of a training row of the class, shares ~ Dirichlet(alpha), then the counts."""
        alpha, up_to = params.alpha[y], np.cumsum(params.total_weight, axis=1)[y]
        at = (rng.random((len(y), 1)) * up_to[:, -1:] >= up_to).sum(axis=1) if len(y) else y
        shares = rng.standard_gamma(alpha)
        # Gamma numbers of very small alphas are 0: the limit is a row with one column only.
        for i in np.flatnonzero((shares.sum(axis=1) == 0) & (alpha.sum(axis=1) > 0)):
            shares[i, rng.choice(alpha.shape[1], p=alpha[i] / alpha[i].sum())] = 1.0
        known = shares.any(axis=1)
        drawn = np.zeros(shares.shape)
        drawn[known] = draw_counts(params.totals[at[known]], shares[known], rng)
        return drawn

    def describe(self, params: DirichletMultinomialParams) -> list[dict[str, Floats]]:
        """Return the alpha of every column, per class."""
        return [{"alpha": alpha} for alpha in params.alpha.T]
