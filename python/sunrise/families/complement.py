"""Counts against the counts of all other classes (Rennie et al. 2003), and the estimator ComplementNB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import log
from sunrise.derived import Fitted, Settings
from sunrise.families.multinomial import log_shares, rates, shares_without, taken_too_much
from sunrise.family import Cells, Family
from sunrise.forms import Composition, Linear
from sunrise.given import given_parameters
from sunrise.single import DiscreteNB
from sunrise.smoothing import Alpha, Smoothed
from sunrise.stats import Sums, others
from sunrise.support import COUNTS, Support
from sunrise.terms import X


class ComplementParams(NamedTuple):
    """Log share of every column among the other classes, and the weights made of it."""

    log_theta: Floats
    weights: Floats
    known: Mask


@dataclass(frozen=True)
class Complement(Smoothed, Family):
    """Counts, scored against how the other classes use the columns. Not a distribution of the class."""

    name = "complement"
    terms = (X,)
    generative = False
    joint = True
    shared = True
    alpha: Any = 1.0
    norm: bool = False

    @property
    def support(self) -> Support:
        """Counts, or any weights of 0 or more."""
        return COUNTS

    def params(self, stats: Sums, class_weight: Floats) -> ComplementParams:
        """Weights: minus the log shares of the other classes, or these divided by their sum."""
        known = stats.known
        seen = stats.seen if stats.seen.shape[1] == 1 else others(stats.seen)
        pooled = Sums(others(stats.rows.astype(float)).astype(np.int64), seen, others(stats.x))
        log_theta = log_shares(rates(pooled, others(class_weight)), self.alpha, known, self.estimate)
        logged = np.where(known, log_theta, 0.0)
        if not self.norm:
            return ComplementParams(log_theta, -logged, known)
        # Where counts of 0 are not smoothed, the logs of the others are nothing beside theirs.
        unseen = np.isneginf(logged)
        logged = np.where(unseen.any(axis=1, keepdims=True), -unseen.astype(float), logged)
        total = logged.sum(axis=1, keepdims=True)
        return ComplementParams(
            log_theta, np.divide(logged, total, out=np.zeros_like(logged), where=total != 0), known
        )

    def left_out_rows(self, stats: Sums, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """Every class but a row's own loses its counts; None where counts are missing, or a weight is infinite."""
        params = self.params(stats, np.ones(len(stats.x)))
        unsmoothed = bool((np.asarray(self.alpha.value) == 0).any())
        missing = unsmoothed or (stats.seen.shape[1] > 1 and (stats.seen != stats.seen[:, :1]).any())
        if missing or not np.isfinite(params.log_theta).all() or self.estimate in ("mle", "map"):
            return None
        counts, j, taken = others(stats.x), rows.column, w[rows.row] * rows.x
        found = np.full((rows.n_rows, len(stats.x)), np.nan)
        for k in range(len(stats.x)):
            left = counts[k, j] - taken
            score = shares_without(self, counts, left, rows, np.full_like(y, k))
            norm = self._norm_without(counts[k], left, rows) if self.norm else np.full(rows.n_rows, -1.0)
            score = np.divide(score, norm, out=np.zeros_like(score), where=norm != 0)
            found[:, k] = np.where(y == k, np.nan, score)
        own = stats.x[y[rows.row], j]
        return np.where(taken_too_much(own - taken, own, rows)[:, None], np.inf, found)

    def _norm_without(self, counts: Floats, left: Floats, rows: Cells) -> Floats:
        """The sum of the log shares of one class without each of the rows."""
        alpha = np.broadcast_to(0.0 if self.estimate == "mle" else self.alpha.value, counts.shape)
        before, after = counts + alpha, np.maximum(left, 0.0) + alpha[rows.column]
        logs = log(before).sum() - rows.by_row(log(before[rows.column]) - log(after))
        total = before.sum() - rows.by_row(before[rows.column] - after)
        return np.asarray(logs - len(counts) * log(total))

    def form(self, params: ComplementParams) -> Linear:
        """A count times the weight of its column."""
        return Linear(
            x=params.weights, composition=Composition(params.log_theta, sign=-1.0, normed=self.norm)
        )

    def outcomes(self, params: ComplementParams) -> Floats:
        """There are none: a complement is no distribution of its class."""
        raise ValueError("complement is no distribution, so it has no mutual information; use multinomial.")

    def sample(self, params: ComplementParams, y: Codes, rng: np.random.Generator) -> Floats:
        """There is nothing to draw from: a complement is no distribution of its class."""
        raise ValueError("complement is no distribution, so no rows can be drawn from it; use multinomial.")

    def described(self, params: ComplementParams) -> list[dict[str, Floats]]:
        """Weight of each column."""
        return [{"weight": weight} for weight in params.weights.T]


class ComplementNB(DiscreteNB):
    """Complement naive Bayes: which class do these counts fit least to be *not* of?

    Suited to classes of very different sizes. Its `predict_proba` is a softmax of weights, not a posterior.
    Takes missing counts (NaN) as MultinomialNB does.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    fit_prior, class_prior
        Only used where there is a single class, and for rows that are impossible under every class.
    norm : bool, default=False
        Divide the weights of a class by their sum.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import ComplementNB
    >>> model = ComplementNB().fit([[0, 3, 1], [1, 2, 0], [0, 1, 0], [1, 0, 2]], [0, 0, 0, 1])
    >>> model.predict([[3, 0, 2]])
    array([1])
    """

    _takes = COUNTS
    _density = False

    _parameter_constraints: dict[str, Any] = {**DiscreteNB._parameter_constraints, "norm": ["boolean"]}

    feature_count_ = Fitted(
        lambda self: rates(self._fitted.blocks[0], self._fitted.stats.weight), "Counts per class and column."
    )
    feature_all_ = Fitted(lambda self: self.feature_count_.sum(axis=0), "Counts per column.")
    feature_log_prob_ = Fitted(
        lambda self: self._fitted.params[0].weights, "Weight of each column per class."
    )

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Complement(Alpha.given(self.alpha, self.force_alpha), self.norm)
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
        norm: bool = False,
    ) -> Self:
        """Make a model from given shares of each class's own counts (classes x columns), without data.

        The classes enter each other's complements in proportion to their prior.

        >>> from sunrise import ComplementNB
        >>> model = ComplementNB.from_parameters([[0.9, 0.1], [0.2, 0.8]], classes=["a", "b"])
        >>> model.predict([[2, 1]])
        array(['a'], dtype='<U1')
        """
        given = given_parameters(classes, class_prior, rows)
        theta = given.shares("feature_prob", feature_prob)
        weight = given.class_weight[:, None]
        sums = Sums(given.block_rows, weight, theta * weight)
        return cls(alpha=0.0, norm=norm)._from_stats(given, (sums,), theta.shape[1], feature_names)
