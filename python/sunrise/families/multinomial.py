"""Multinomial family: counts of a whole block of columns, with a Dirichlet prior on the shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise._common.lazy import special
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.counts_left_out import CountsWithoutRows
from sunrise.families.left_out import Cells, RowsLeftOut
from sunrise.families.priors import stack_draws
from sunrise.families.smoothing import Alpha, EvidenceSmoothed, Smoothed
from sunrise.forms.base import Form
from sunrise.forms.linear import Composition, Linear
from sunrise.forms.polya import Polya
from sunrise.numerics.conjugate import Beta, Dirichlet
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.numerics.special import log, log_rising
from sunrise.statistics.base import clear_residue
from sunrise.statistics.sums import Product, Sums
from sunrise.statistics.support import COUNTS, Support
from sunrise.statistics.terms import X


class MultinomialParams(NamedTuple):
    """Log share of every class and column; -inf for columns that were never observed."""

    log_theta: Floats
    known: Mask
    #: Posterior to integrate over, with estimate="predictive"; else None.
    posterior: Dirichlet | None = None
    #: Mean total of a row of each class, for drawn rows.
    mean_total: Floats | None = None


def mean_totals(stats: Sums, counts: Floats, class_weight: Floats) -> Floats:
    """Mean total of the rows of each class; a class without rows has the mean of all classes."""
    shared = stats.observed_weight.shape[1] == 1
    n = np.broadcast_to(stats.observed_weight[:, 0] if shared else class_weight, len(counts))
    total = counts.sum(axis=1)
    pooled = total.sum() / n.sum() if n.sum() > 0 else 0.0
    return np.asarray(np.divide(total, n, out=np.full(len(counts), pooled), where=n > 0))


def complete_counts(stats: Sums, class_weight: Floats) -> Floats:
    """Expected counts if no cell had been missing: N_cj n_c / n_observed_cj.

    A class without cells in a column has the pooled mean of all classes, so that the column favours no class.
    """
    if stats.observed_weight.shape[1] == 1:
        return stats.x
    per_row = np.where(stats.rows > 0, stats.mean, stats.pooled().mean)
    return np.where(stats.observed_weight == class_weight[:, None], stats.x, per_row * class_weight[:, None])


def complete_product(stats: Sums, class_weight: Floats) -> Product:
    """The same as a product, which is that of the sums if no cell can be missing."""
    if stats.observed_weight.shape[1] == 1:
        return stats.product
    counts = complete_counts(stats, class_weight)
    return Product(counts, np.ones(counts.shape[1]))


def log_shares(counts: Floats, alpha: Alpha, known: Mask, estimate: str | None = "mean") -> Floats:
    """Log shares of the known columns; -inf for the others."""
    shares = Dirichlet(counts + (0.0 if estimate == "mle" else alpha.value))
    shares = shares if known.all() else Dirichlet(shares.concentration[:, known])
    log_mean = (shares.with_mean_at_mode if estimate == "map" else shares).log_mean
    if known.all():
        return log_mean
    theta = np.full(counts.shape, -np.inf)
    theta[:, known] = log_mean
    return theta


def score_without_counts(family: Smoothed, counts: Floats, left: Floats, rows: Cells, y: Codes) -> Floats:
    """Score rows by class y with reduced counts: `left` replaces the counts of y in the cells of the rows."""
    c, j = y[rows.row], rows.column
    alpha = np.broadcast_to(0.0 if family.estimate == "mle" else family.alpha.value, counts.shape)
    above = 1.0 if family.estimate == "map" else 0.0
    before = np.maximum(counts + alpha - above, 0.0)
    after = np.maximum(clear_residue(left, counts[c, j]) + alpha[c, j] - above, 0.0)
    total = before.sum(axis=1)[y] - rows.by_row(before[c, j] - after)
    length = rows.by_row(rows.scored)
    # A class without remaining counts has equal shares.
    empty = total <= 0
    logs = log(np.where(rows.scored == 0.0, 1.0, after))
    scores = rows.by_row(rows.scored * logs) - length * log(np.where(empty, 1.0, total))
    equal = -length * np.log(counts.shape[1])
    return np.where(empty, np.nan if above else equal, scores)


def draw_counts(total: Integers, shares: Floats, rng: np.random.Generator) -> Floats:
    """Draw a row of counts with each of these totals and shares (rows x columns)."""
    if shares.size == 0:
        return np.zeros(shares.shape)
    shares = shares / shares.sum(axis=1, keepdims=True)
    return rng.multinomial(total, shares).astype(float)


def log_multinomial_coefficient(x: Floats) -> Floats:
    """Log of n! / (x_1! x_2! ...) for rows of counts, as one summand per cell; n counts the observed cells."""
    cells = -special.gammaln(x + 1.0)
    observed = ~np.isnan(x)
    # n! belongs to the row, and the result is by cell: it is added to the first observed cell.
    first = observed & (np.cumsum(observed, axis=1) == 1)
    return np.asarray(
        cells + np.where(first, special.gammaln(np.nansum(x, axis=1, keepdims=True) + 1.0), 0.0)
    )


def removes_too_much(left: Floats, before: Floats, rows: Cells) -> Mask:
    """True for rows whose counts exceed the fitted counts: these rows were never fitted."""
    return rows.by_row(left < -1e-9 * before) > 0


@dataclass(frozen=True)
class Multinomial(EvidenceSmoothed, Conjugate, Candidate, Family):
    """Counts of a row: x | c ~ Multinomial(theta), theta ~ Dirichlet(alpha)."""

    name = "multinomial"
    terms = (X,)
    joint = True
    complexity = 90
    rule_order = 5
    alpha: Any = 1.0

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Reason for sparse matrices of counts, weighted (for example by inverse document frequency) or not."""
        return "a sparse matrix of counts" if profile.kind == "sparse" and profile.low >= 0 else None

    @property
    def support(self) -> Support:
        """Counts, or any weights of 0 or more."""
        return COUNTS

    def posterior(self, stats: Sums, class_weight: Floats | None = None) -> Dirichlet:
        """Dirichlet(alpha + counts), over the observed columns."""
        weight = stats.observed_weight.max(axis=1) if class_weight is None else class_weight
        return Dirichlet((complete_counts(stats, weight) + self.alpha.value)[:, stats.known])

    def prior_from(self, stats: Sums) -> Dirichlet:
        """Dirichlet(alpha), over the observed columns."""
        return Dirichlet(np.broadcast_to(self.alpha.value, stats.x.shape)[:, stats.known])

    def posterior_of(self, stats: Sums, j: int, class_weight: Floats) -> Beta:
        """Beta posterior of the share of column j: the marginal of the Dirichlet."""
        return self.posterior(stats, class_weight).marginal(
            int(np.searchsorted(np.flatnonzero(stats.known), j))
        )

    def prior_of(self, stats: Sums, j: int) -> Beta:
        """Beta prior of the share of column j: the marginal of the Dirichlet."""
        return self.prior_from(stats).marginal(int(np.searchsorted(np.flatnonzero(stats.known), j))).common

    def log_evidence(self, stats: Sums, class_weight: Floats | None = None) -> Floats:
        """Log marginal likelihood of the counts as sequences, classes x 1; NaN if cells are missing."""
        observed = np.broadcast_to(stats.observed_weight, stats.x.shape)[:, stats.known]
        weight = observed.max(axis=1, initial=0.0) if class_weight is None else class_weight
        whole = (observed == weight[:, None]).all()
        return super().log_evidence(stats)[:, None] * (1.0 if whole else np.nan)

    def counts_of_counts(self, stats: Sums) -> CountsOfCounts:
        """Counts of the observed columns; each class is one draw."""
        counts = complete_counts(stats, stats.observed_weight.max(axis=1))[:, stats.known]
        totals = counts.sum(axis=1)
        return CountsOfCounts(counts[counts > 0], totals, np.full(len(totals), float(counts.shape[1])))

    def params(self, stats: Sums, class_weight: Floats) -> MultinomialParams:
        """Log shares of the columns."""
        counts = complete_counts(stats, class_weight)
        params = self._params_of_counts(counts, stats.known)
        return params._replace(mean_total=mean_totals(stats, counts, class_weight))

    def _params_of_counts(self, counts: Floats, known: Mask) -> MultinomialParams:
        log_theta = log_shares(counts, self.alpha, known, self.estimate)
        predictive = Dirichlet(counts + self.alpha.value) if self.estimate == "predictive" else None
        return MultinomialParams(log_theta, known, predictive)

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> RowsLeftOut:
        """Subtract the counts of a row from the shares of its class."""
        return RowsLeftOut(
            lambda block, y, w, n: self._score_without(stats, Cells.stored(block), y, w),
            score_rows=lambda x, class_weight, y, w: self._score_rows_without(stats, x, class_weight, y, w),
        )

    def _score_rows_without(
        self, stats: Sums, x: Floats, class_weight: Floats, y: Codes, w: Floats
    ) -> tuple[Floats, Floats]:
        """Scores with the row subtracted from its class, and from the mean of a column that a class never saw."""
        left = CountsWithoutRows(stats, x, y, w)

        def form_of(k: int) -> Any:
            counts = left.of_class(stats, class_weight, k, y == k)
            family = self.with_settings(alpha=self.alpha.of_class(k))
            return self.form(family._params_of_counts(counts, stats.known))

        return left.scores(len(stats.x), form_of)

    def _score_without(self, stats: Sums, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """Score each row by its own class with its counts subtracted; None if cells are missing."""
        if (
            stats.observed_weight.shape[1] > 1
            and (stats.observed_weight != stats.observed_weight[:, :1]).any()
        ):
            return None
        x, c, j = rows.x, y[rows.row], rows.column
        left = stats.x[c, j] - w[rows.row] * x
        if self.estimate == "predictive":
            alpha = np.broadcast_to(self.alpha.value, stats.x.shape)
            total = (stats.x + alpha).sum(axis=1)[y] - w * rows.by_row(x)
            scores = rows.by_row(log_rising(clear_residue(left, stats.x[c, j]) + alpha[c, j], rows.scored))
            scores -= log_rising(total, rows.by_row(rows.scored))
        else:
            scores = score_without_counts(self, stats.x, left, rows, y)
        return np.where(removes_too_much(left, stats.x[c, j], rows), np.inf, scores)

    def form(self, params: MultinomialParams) -> Form:
        """Sum of x log share; a Dirichlet-multinomial (Polya urn) with estimate="predictive"."""
        if params.posterior is not None:
            return Polya(np.where(params.known, params.posterior.concentration, 0.0), params.known)
        return Linear(
            x=np.where(params.known, params.log_theta, 0.0), composition=Composition(params.log_theta)
        )

    def log_base_measure(self, x: Floats) -> Floats:
        """Log of the multinomial coefficient of the observed counts."""
        return log_multinomial_coefficient(x)

    def sample_parameters(
        self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> MultinomialParams:
        """Draw the shares from their Dirichlet posterior."""
        theta = np.full((n * len(stats.x), stats.x.shape[1]), -np.inf)
        theta[:, stats.known] = log(stack_draws(self.posterior(stats, class_weight).sample(n, rng)))
        mean_total = mean_totals(stats, complete_counts(stats, class_weight), class_weight)
        return MultinomialParams(theta, stats.known, mean_total=np.tile(mean_total, n))

    def outcomes(self, params: MultinomialParams) -> Floats:
        """Log probabilities that one counted item is not, or is, of this column."""
        return np.stack([log(1.0 - np.exp(params.log_theta)), params.log_theta], axis=2)

    def sample(self, params: MultinomialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw rows of counts: the total is Poisson with the mean total of the class, as only the mean is known."""
        theta = np.exp(params.log_theta)
        mean = np.ones(len(theta)) if params.mean_total is None else params.mean_total
        return draw_counts(rng.poisson(mean[y]), theta[y], rng)

    def describe(self, params: MultinomialParams) -> list[dict[str, Floats]]:
        """Return the share of every column in the counts, per class."""
        return [{"share": share} for share in np.exp(params.log_theta).T]
