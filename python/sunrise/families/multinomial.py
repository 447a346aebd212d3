"""Counts of a whole block: x | c ~ Multinomial(theta), theta ~ Dirichlet(alpha), and MultinomialNB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.left_out import Cells, RowsLeftOut
from sunrise.families.priors import as_classes
from sunrise.families.smoothing import Alpha, Smoothed
from sunrise.forms.base import Form
from sunrise.forms.linear import Composition, Linear
from sunrise.forms.polya import Polya
from sunrise.numerics.conjugate import Beta, Dirichlet
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.numerics.special import log, log_rising
from sunrise.statistics.base import clear_residue
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import COUNTS, Support
from sunrise.statistics.terms import X


class MultinomialParams(NamedTuple):
    """Log share of every column per class; columns that were never observed are not in the block."""

    log_theta: Floats
    known: Mask
    #: What is integrated out, where the model is predictive.
    posterior: Dirichlet | None = None


def rates(stats: Sums, class_weight: Floats) -> Floats:
    """Counts as they would be had no cell been missing: N_cj n_c / n_observed_cj.

    A class that saw nothing of a column has the rate of all classes together, which favours none.
    """
    if stats.observed_weight.shape[1] == 1:
        return stats.x
    per_row = np.where(stats.rows > 0, stats.mean, stats.pooled().mean)
    return np.where(stats.observed_weight == class_weight[:, None], stats.x, per_row * class_weight[:, None])


def log_shares(counts: Floats, alpha: Alpha, known: Mask, estimate: str | None = "mean") -> Floats:
    """Log of the shares of the known columns by the estimate; the others get log 0."""
    shares = Dirichlet(counts + (0.0 if estimate == "mle" else alpha.value))
    shares = shares if known.all() else Dirichlet(shares.concentration[:, known])
    log_mean = (shares.with_mean_at_mode if estimate == "map" else shares).log_mean
    if known.all():
        return log_mean
    theta = np.full(counts.shape, -np.inf)
    theta[:, known] = log_mean
    return theta


def shares_without(family: Smoothed, counts: Floats, left: Floats, rows: Cells, y: Codes) -> Floats:
    """The score of rows by the shares of class y, of whose counts this is `left` for the cells of the rows."""
    c, j = y[rows.row], rows.column
    alpha = np.broadcast_to(0.0 if family.estimate == "mle" else family.alpha.value, counts.shape)
    above = 1.0 if family.estimate == "map" else 0.0
    before = np.maximum(counts + alpha - above, 0.0)
    after = np.maximum(clear_residue(left, counts[c, j]) + alpha[c, j] - above, 0.0)
    total = before.sum(axis=1)[y] - rows.by_row(before[c, j] - after)
    length = rows.by_row(rows.x)
    # A class that has no counts left has even shares.
    blank = total <= 0
    scores = rows.by_row(rows.x * log(after)) - length * log(np.where(blank, 1.0, total))
    even = -length * np.log(counts.shape[1])
    return np.where(blank, np.nan if above else even, scores)


def log_multinomial_coefficient(x: Floats) -> Floats:
    """Log of n! / (x_1! x_2! ...) for rows of counts, as one summand per cell; n counts the observed cells."""
    cells = -gammaln(x + 1.0)
    observed = ~np.isnan(x)
    # The factorial of the total belongs to the row: the first observed cell carries it.
    first = observed & (np.cumsum(observed, axis=1) == 1)
    return np.asarray(cells + np.where(first, gammaln(np.nansum(x, axis=1, keepdims=True) + 1.0), 0.0))


def taken_too_much(left: Floats, before: Floats, rows: Cells) -> Mask:
    """Rows that hold more than there was."""
    return rows.by_row(left < -1e-9 * before) > 0


@dataclass(frozen=True)
class Multinomial(Smoothed, Conjugate, Candidate, Family):
    """Counts: the row's counts | c ~ Multinomial(theta)."""

    name = "multinomial"
    terms = (X,)
    joint = True
    complexity = 90
    rule_order = 5
    alpha: Any = 1.0

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """A sparse matrix of counts, which may be weighted (by inverse document frequency, for example)."""
        return "a sparse matrix of counts" if profile.kind == "sparse" and profile.low >= 0 else None

    @property
    def support(self) -> Support:
        """Counts, or any weights of 0 or more."""
        return COUNTS

    def posterior(self, stats: Sums, class_weight: Floats | None = None) -> Dirichlet:
        """Dirichlet(alpha + counts) of the shares of the observed columns."""
        weight = stats.observed_weight.max(axis=1) if class_weight is None else class_weight
        return Dirichlet((rates(stats, weight) + self.alpha.value)[:, stats.known])

    def prior_from(self, stats: Sums) -> Dirichlet:
        """Alpha of every observed column."""
        return Dirichlet(np.broadcast_to(self.alpha.value, stats.x.shape)[:, stats.known])

    def posterior_of(self, stats: Sums, j: int, class_weight: Floats) -> Beta:
        """The share of one column among the observed ones: a Beta, as any part of a Dirichlet."""
        return self.posterior(stats, class_weight).marginal(
            int(np.searchsorted(np.flatnonzero(stats.known), j))
        )

    def prior_of(self, stats: Sums, j: int) -> Beta:
        """Of the share of one column: alpha against those of all others."""
        return self.prior_from(stats).marginal(int(np.searchsorted(np.flatnonzero(stats.known), j))).common

    def log_evidence(self, stats: Sums, class_weight: Floats | None = None) -> Floats:
        """Of the counts as sequences, classes x 1; there is no closed form where counts are missing."""
        seen = np.broadcast_to(stats.observed_weight, stats.x.shape)[:, stats.known]
        weight = seen.max(axis=1, initial=0.0) if class_weight is None else class_weight
        whole = (seen == weight[:, None]).all()
        return super().log_evidence(stats)[:, None] * (1.0 if whole else np.nan)

    def counts_of_counts(self, stats: Sums) -> CountsOfCounts:
        """Every class is a draw of the observed columns."""
        counts = rates(stats, stats.observed_weight.max(axis=1))[:, stats.known]
        totals = counts.sum(axis=1)
        return CountsOfCounts(counts[counts > 0], totals, np.full(len(totals), float(counts.shape[1])))

    def params(self, stats: Sums, class_weight: Floats) -> MultinomialParams:
        """Log of the shares by the estimate, from the counts."""
        counts = rates(stats, class_weight)
        log_theta = log_shares(counts, self.alpha, stats.known, self.estimate)
        predictive = Dirichlet(counts + self.alpha.value) if self.estimate == "predictive" else None
        return MultinomialParams(log_theta, stats.known, predictive)

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> RowsLeftOut:
        """The counts of a row leave the shares of its own class."""
        return RowsLeftOut(lambda block, y, w, n: self._score_without(stats, Cells.stored(block), y, w))

    def _score_without(self, stats: Sums, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """The shares of a row's own class without its counts; None where counts are missing."""
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
            found = rows.by_row(log_rising(clear_residue(left, stats.x[c, j]) + alpha[c, j], x))
            found -= log_rising(total, rows.by_row(x))
        else:
            found = shares_without(self, stats.x, left, rows, y)
        return np.where(taken_too_much(left, stats.x[c, j], rows), np.inf, found)

    def form(self, params: MultinomialParams) -> Form:
        """A count times the log of its column's share; of the predictive distribution a Polya urn's."""
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
        """Shares from their posterior."""
        theta = np.full((n * len(stats.x), stats.x.shape[1]), -np.inf)
        theta[:, stats.known] = log(as_classes(self.posterior(stats, class_weight).sample(n, rng)))
        return MultinomialParams(theta, stats.known)

    def outcomes(self, params: MultinomialParams) -> Floats:
        """Whether one of the things counted is of this column."""
        return np.stack([log(1.0 - np.exp(params.log_theta)), params.log_theta], axis=2)

    def sample(self, params: MultinomialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Rows of one count each: how many there are is not part of the model."""
        theta = np.exp(params.log_theta)
        return np.array([rng.multinomial(1, theta[c]) for c in y], dtype=float).reshape(
            len(y), theta.shape[1]
        )

    def describe(self, params: MultinomialParams) -> list[dict[str, Floats]]:
        """Share of each column in the counts."""
        return [{"share": share} for share in np.exp(params.log_theta).T]
