"""Bursty counts of a whole block: x | c ~ Dirichlet-compound multinomial (Polya), and DirichletMultinomialNB."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise._common.warnings import NotConvergedWarning, alert
from sunrise.families.base import Family, Problem
from sunrise.families.left_out import Cells, RowsLeftOut
from sunrise.families.multinomial import log_multinomial_coefficient
from sunrise.families.readers import ROWS
from sunrise.forms.polya import Polya
from sunrise.numerics import polya
from sunrise.numerics.special import log_rising
from sunrise.statistics.counts import Counts, RowCounts
from sunrise.statistics.support import WHOLE_COUNTS, Support
from sunrise.statistics.terms import COUNT

#: Whole counts; a family that takes others is named where they are refused.
BURSTY = replace(WHOLE_COUNTS, text=WHOLE_COUNTS.text + " (MultinomialNB takes any weights from 0)")


class Convergence(NamedTuple):
    """How the alphas of every class were found: rounds, the last relative change of their sum, whether that was enough.

    `boundary` is 1 where the sum of the alphas grew beyond all bounds (the counts are no burstier than a multinomial's)
    and -1 where it fell to 0 (no row has two different things); both are optima, found without rounds.
    """

    iterations: Integers
    change: Floats
    converged: Mask
    boundary: Integers


class DirichletMultinomialParams(NamedTuple):
    """What the urns hold, classes x columns; columns of which nothing was ever counted are not in the block."""

    alpha: Floats
    known: Mask


@dataclass(frozen=True)
class DirichletMultinomial(Family):
    """Counts that come in bursts: shares ~ Dirichlet(alpha) anew for each row, its counts ~ Multinomial(shares).

    A word that was said once is likely to be said again. The alphas are those of greatest likelihood, with a share
    `background` of them as in all classes together (none with estimate="mle"); they have no conjugate posterior, so
    every other estimate is the same. Leave-one-out takes a row out of the alphas of what it holds to first order, which
    makes it approximate. `alpha` may be given instead: classes x columns.
    """

    name = "dirichlet_multinomial"
    terms = (COUNT,)
    joint = True
    reader = ROWS
    background: float = 0.1
    alpha: Any = None
    tol: float = 1e-12
    max_iter: int = 100
    #: What every class has of every column by the background, classes x columns, once the alphas are found.
    common: Floats | None = field(default=None, init=False, repr=False, compare=False)
    #: How the alphas were found, once they are.
    convergence: Convergence | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.background, Real) and 0.0 <= float(self.background) < 1.0):
            raise ValueError(
                f"background is {self.background!r}; it must be a share from 0 to below 1, such as 0.1."
            )
        if self.alpha is not None:
            alpha = np.atleast_2d(np.asarray(self.alpha, dtype=float))
            if not (np.isfinite(alpha) & (alpha >= 0)).all():
                raise ValueError("alpha must be finite and 0 or more, for each class and column.")
            object.__setattr__(self, "alpha", alpha)

    @property
    def support(self) -> Support:
        """Whole counts."""
        return BURSTY

    def find_problem(self, stats: RowCounts) -> Problem | None:
        """Refuse missing counts: what a row adds up to is then not known. A column without any count is no matter."""
        wrong = (stats.missing > 0) & stats.known
        if not wrong.any():
            return None
        j = int(np.argmax(wrong))
        return Problem(
            j,
            f"has {stats.missing[j]} missing counts, and {self.name} cannot learn from rows without a total. Give 0 "
            "where nothing was counted, leave those rows or the column out, or use multinomial, which can.",
        )

    def resolve(self, stats: Counts, again: bool = False) -> Self:
        """The family with its alphas as numbers; given alphas stay in every step of EM."""
        if again and self.common is not None:
            return self.with_settings(alpha=None, common=None, convergence=None).resolve(stats)
        if self.alpha is not None:
            shape = len(stats.rows), stats.n_columns - 1
            return self.with_settings(alpha=np.broadcast_to(self.alpha, shape))
        found = polya.fit_alpha(stats, self.tol, self.max_iter)
        convergence, alpha = Convergence(*found[1:]), found.alpha
        share, common = 0.0 if self.estimate == "mle" else float(self.background), np.zeros(1)
        if share > 0.0 or not alpha.any(axis=1).all():
            pooled = polya.fit_alpha(stats.pooled(), self.tol, self.max_iter)
            own, alpha = alpha, polya.with_background(alpha, pooled.alpha, share)
            common = alpha - (1.0 - share) * own
        if not convergence.converged.all():
            alert(
                f"The alphas of {int((~convergence.converged).sum())} classes of {self.name} have not converged after "
                f"max_iter={self.max_iter} rounds: their sum still changed by {convergence.change.max():.1g} of "
                "itself. Raise max_iter, or tol.",
                NotConvergedWarning,
            )
        return self.with_settings(alpha=alpha, common=common, convergence=convergence)

    def params(self, stats: Counts, class_weight: Floats) -> DirichletMultinomialParams:
        """The alphas; worked out from the counts of counts unless they are known."""
        alpha = self.resolve(stats).alpha
        return DirichletMultinomialParams(alpha, alpha.any(axis=0))

    def log_prior_density(self, stats: Counts, class_weight: Floats) -> float:
        """The alphas are those of greatest likelihood, unless a background is mixed in."""
        return 0.0 if self.estimate == "mle" or self.background == 0.0 else float("nan")

    def left_out(self, stats: Counts, params: Any, row_weight: Floats | None) -> RowsLeftOut:
        """Alphas lose a row to first order."""
        return RowsLeftOut(lambda block, y, w, n: self._score_without(stats, Cells.stored(block), y, w))

    def _score_without(self, stats: Counts, rows: Cells, y: Codes, w: Floats) -> Floats:
        """The score under alphas that lose what the row has to say of them, to first order.

        Infinite for rows that were never there.
        """
        frozen, c = self.resolve(stats), y[rows.row]
        alpha = np.asarray(frozen.alpha)
        known = np.asarray(alpha.any(axis=0))[rows.column]
        length = rows.by_row(np.where(known, rows.x, 0.0))
        mine, total = alpha[c, rows.column], alpha.sum(axis=1)[y]
        if frozen.common is not None:
            common = np.broadcast_to(frozen.common, alpha.shape)
            own, change = frozen._changes(stats, alpha - common, rows, y, w)
            mine, total = mine + own, total + change
        found = rows.by_row(np.where(known, log_rising(mine, rows.x), 0.0))
        found -= np.where(total > 0, log_rising(np.where(total > 0, total, 1.0), length), 0.0)
        at = stats.positions(rows.column, rows.x.astype(np.int64))
        there = at >= 0
        c, at, w = c[there], at[there], w[rows.row][there]
        there[there] = (stats.rows[c, at] > 0) & (stats.weight[c, at] >= (1.0 - 1e-9) * w)
        return np.where(rows.by_row(~there) > 0, np.inf, found)

    def _changes(self, stats: Counts, own: Floats, rows: Cells, y: Codes, w: Floats) -> tuple[Floats, Floats]:
        """How the class's own part of the alphas of a row's columns changes without the row, and their sum's.

        The likeliest alphas change so that the slopes of the likelihood stay 0, to first order; none falls below 0.
        """
        share = 0.0 if self.estimate == "mle" else float(self.background)
        fitted, c = own / (1.0 - share), y[rows.row]
        hessian = polya.NegativeHessian.of(stats, fitted)
        before, diagonal = fitted[c, rows.column], hessian.diagonal[c, rows.column]
        lost = w[rows.row] * polya.log_rising_derivative(before, rows.x)
        lost = np.where(before > 0, lost, 0.0)
        gained = w * polya.log_rising_derivative(
            np.maximum(fitted.sum(axis=1), polya.MIN_TOTAL)[y], rows.by_row(rows.x)
        )
        inner = (hessian.determinant_factor > 0) & np.isfinite(hessian.common)
        if self.convergence is not None:
            inner &= self.convergence.boundary == 0
        factor = np.where(inner, hessian.determinant_factor, 1.0)[y]
        inverse_sum = (1.0 / hessian.diagonal).sum(axis=1)[y]
        change = (gained * inverse_sum - rows.by_row(lost / diagonal)) / factor
        move = (hessian.common[y] * change + gained)[rows.row] - lost
        move = np.maximum(np.where(inner[c], move, -lost) / diagonal, -before)
        change = np.where(inner[y], change, rows.by_row(move))
        change = np.maximum(change, -0.5 * fitted.sum(axis=1)[y])
        return (1.0 - share) * move, (1.0 - share) * change

    def form(self, params: DirichletMultinomialParams) -> Polya:
        """A Polya urn for each class."""
        return Polya(params.alpha, params.known)

    def log_base_measure(self, x: Floats) -> Floats:
        """Log of the multinomial coefficient of the observed counts."""
        return log_multinomial_coefficient(x)

    def outcomes(self, params: DirichletMultinomialParams) -> Floats:
        """There are none: what is drawn next depends on what was drawn."""
        raise ValueError(
            f"the draws of {self.name} depend on each other, so no column has mutual information; use multinomial."
        )

    def sample(self, params: DirichletMultinomialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Rows of one count each: how many there are is not part of the model."""
        total = params.alpha.sum(axis=1, keepdims=True)
        theta = np.divide(params.alpha, total, out=np.zeros_like(params.alpha), where=total > 0)
        drawn = [rng.multinomial(1, theta[c]) * (total[c] > 0) for c in y]
        return np.array(drawn, dtype=float).reshape(len(y), theta.shape[1])

    def describe(self, params: DirichletMultinomialParams) -> list[dict[str, Floats]]:
        """The alpha of each column."""
        return [{"alpha": alpha} for alpha in params.alpha.T]
