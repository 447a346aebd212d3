"""Counts of a whole block: x | c ~ Multinomial(theta), theta ~ Dirichlet(alpha), and MultinomialNB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import Beta, Dirichlet, log
from sunrise.derived import Fitted, Settings
from sunrise.evidence import CountsOfCounts
from sunrise.family import Cells, Family
from sunrise.forms import Composition, Form, Linear, Polya
from sunrise.given import given_parameters
from sunrise.priors import as_classes
from sunrise.single import DiscreteNB
from sunrise.smoothing import Alpha, Smoothed
from sunrise.special import log_rising
from sunrise.stats import Sums, without_dust
from sunrise.support import COUNTS, Support
from sunrise.terms import X


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
    if stats.seen.shape[1] == 1:
        return stats.x
    per_row = np.where(stats.rows > 0, stats.mean, stats.pooled().mean)
    return np.where(stats.seen == class_weight[:, None], stats.x, per_row * class_weight[:, None])


def log_shares(counts: Floats, alpha: Alpha, known: Mask, estimate: str | None = "mean") -> Floats:
    """Log of the shares of the known columns by the estimate; the others get log 0."""
    shares = Dirichlet(counts + (0.0 if estimate == "mle" else alpha.value))
    shares = shares if known.all() else Dirichlet(shares.concentration[:, known])
    log_mean = (shares.around_mode if estimate == "map" else shares).log_mean
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
    after = np.maximum(without_dust(left, counts[c, j]) + alpha[c, j] - above, 0.0)
    total = before.sum(axis=1)[y] - rows.by_row(before[c, j] - after)
    length = rows.by_row(rows.x)
    # A class that has no counts left has even shares.
    blank = total <= 0
    scores = rows.by_row(rows.x * log(after)) - length * log(np.where(blank, 1.0, total))
    even = -length * np.log(counts.shape[1])
    return np.where(blank, np.nan if above else even, scores)


def taken_too_much(left: Floats, before: Floats, rows: Cells) -> Mask:
    """Rows that hold more than there was."""
    return rows.by_row(left < -1e-9 * before) > 0


@dataclass(frozen=True)
class Multinomial(Smoothed, Family):
    """Counts: the row's counts | c ~ Multinomial(theta)."""

    name = "multinomial"
    terms = (X,)
    joint = True
    alpha: Any = 1.0

    @property
    def support(self) -> Support:
        """Counts, or any weights of 0 or more."""
        return COUNTS

    def posterior(self, stats: Sums, class_weight: Floats | None = None) -> Dirichlet:
        """Dirichlet(alpha + counts) of the shares of the observed columns."""
        weight = stats.seen.max(axis=1) if class_weight is None else class_weight
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
        seen = np.broadcast_to(stats.seen, stats.x.shape)[:, stats.known]
        weight = seen.max(axis=1, initial=0.0) if class_weight is None else class_weight
        whole = (seen == weight[:, None]).all()
        return super().log_evidence(stats)[:, None] * (1.0 if whole else np.nan)

    def counts_of_counts(self, stats: Sums) -> CountsOfCounts:
        """Every class is a draw of the observed columns."""
        counts = rates(stats, stats.seen.max(axis=1))[:, stats.known]
        totals = counts.sum(axis=1)
        return CountsOfCounts(counts[counts > 0], totals, np.full(len(totals), float(counts.shape[1])))

    def params(self, stats: Sums, class_weight: Floats) -> MultinomialParams:
        """Log of the shares by the estimate, from the counts."""
        counts = rates(stats, class_weight)
        log_theta = log_shares(counts, self.alpha, stats.known, self.estimate)
        predictive = Dirichlet(counts + self.alpha.value) if self.estimate == "predictive" else None
        return MultinomialParams(log_theta, stats.known, predictive)

    def left_out_rows(self, stats: Sums, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """The shares of a row's own class without its counts; None where counts are missing."""
        if stats.seen.shape[1] > 1 and (stats.seen != stats.seen[:, :1]).any():
            return None
        x, c, j = rows.x, y[rows.row], rows.column
        left = stats.x[c, j] - w[rows.row] * x
        if self.estimate == "predictive":
            alpha = np.broadcast_to(self.alpha.value, stats.x.shape)
            total = (stats.x + alpha).sum(axis=1)[y] - w * rows.by_row(x)
            found = rows.by_row(log_rising(without_dust(left, stats.x[c, j]) + alpha[c, j], x))
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

    def log_carrier(self, x: Floats) -> Floats:
        """Log of the multinomial coefficient of the observed counts."""
        return np.asarray(gammaln(np.nansum(x, axis=1) + 1.0) - np.nansum(gammaln(x + 1.0), axis=1))

    def drawn(self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats) -> MultinomialParams:
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

    def described(self, params: MultinomialParams) -> list[dict[str, Floats]]:
        """Share of each column in the counts."""
        return [{"share": share} for share in np.exp(params.log_theta).T]


class MultinomialNB(DiscreteNB):
    """Multinomial naive Bayes: a row is counts, such as the words of a document.

    Takes dense or sparse counts with missing cells (NaN): fitting scales up what was observed, and a row is
    scored with the shares of its observed columns brought back to a sum of 1.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing; 0 is maximum likelihood.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    fit_prior : bool, default=True
        Learn the class probabilities; if False they are equal.
    class_prior : array-like, dict or None, default=None
        Given class probabilities, in the order of `classes_` or by label.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import MultinomialNB
    >>> model = MultinomialNB().fit([[0, 3, 1], [1, 2, 0], [0, 1, 0], [1, 0, 2]], [0, 0, 0, 1])
    >>> model.predict([[3, 0, 2]])
    array([1])
    """

    _takes = COUNTS

    feature_count_ = Fitted(
        lambda self: rates(self._fitted.blocks[0], self._fitted.stats.weight), "Counts per class and column."
    )
    feature_log_prob_ = Fitted(lambda self: self._fitted.params[0].log_theta, "Log share of each column.")

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Multinomial(Alpha.given(self.alpha, self.force_alpha))
        return Settings(family, self._prior(), self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(
        cls,
        feature_prob: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
    ) -> Self:
        """Make a model from given shares (classes x columns, each class summing to 1), without data.

        `rows` counts tokens here: a later document of 10 words weighs as much as 10 of them.

        >>> from sunrise import MultinomialNB
        >>> model = MultinomialNB.from_parameters([[0.9, 0.1], [0.2, 0.8]], classes=["a", "b"])
        >>> model.predict([[2, 1]])
        array(['a'], dtype='<U1')
        """
        given = given_parameters(classes, class_prior, rows)
        theta = given.shares("feature_prob", feature_prob)
        sums = Sums(given.block_rows, given.seen, theta * given.seen)
        return cls(alpha=0.0)._from_stats(given, (sums,), theta.shape[1], feature_names)
