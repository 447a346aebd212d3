"""Bernoulli family: yes-or-no columns, with a Beta prior on the probability of yes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.priors import stack_draws
from sunrise.families.smoothing import Alpha, EvidenceSmoothed
from sunrise.forms.linear import Linear
from sunrise.numerics.conjugate import Beta
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.numerics.special import log
from sunrise.statistics.base import clear_residue
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import BINARY, REAL, Support
from sunrise.statistics.terms import X


class BernoulliParams(NamedTuple):
    """Log probability of 1 and of 0, for every class and column."""

    log_one: Floats
    log_zero: Floats
    known: Mask


@dataclass(frozen=True)
class Bernoulli(EvidenceSmoothed, Conjugate, Candidate, Family):
    """Yes or no: x | c ~ Bernoulli(theta), theta ~ Beta(alpha, beta); `beta` defaults to `alpha`.

    Cells are 0 or 1. With `binarize` a cell is any number, and counts as 1 if it is greater than `binarize`.
    """

    name = "bernoulli"
    terms = (X,)
    complexity = 5
    trait = "binary"
    rule_order = 1
    without_prior = {"alpha": Alpha(0.0), "beta": None}
    alpha: Any = 1.0
    binarize: float | None = None
    beta: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta is not None:
            if self.alpha.by_evidence:
                raise ValueError(
                    'alpha="evidence" chooses one alpha for yes and for no. Leave beta out, or give alpha a number.'
                )
            try:
                object.__setattr__(self, "beta", Alpha.given(self.beta))
            except ValueError as error:
                raise ValueError(
                    f"beta, the pseudo-count of zeros: {str(error).replace('alpha', 'beta')}"
                ) from None

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Reason for booleans and for sparse matrices of zeros and ones."""
        if profile.kind == "sparse":
            return "a sparse matrix of zeros and ones" if profile.is_binary else None
        return "yes and no" if profile.kind == "bool" else None

    @property
    def support(self) -> Support:
        """Numbers from 0 to 1; any number with `binarize`."""
        return BINARY if self.binarize is None else replace(REAL, above=float(self.binarize))

    def find_problem(self, stats: Sums) -> Problem | None:
        """Report a column with more ones than rows: forgetting zeros that were never fitted leaves these."""
        excess = (stats.x > stats.observed_weight * (1 + 1e-9)).any(axis=0)
        if not excess.any():
            return None
        text = "would have more ones than rows left. Forget only rows that were fitted."
        return Problem(int(np.argmax(excess)), text)

    def posterior(self, stats: Sums) -> Beta:
        """Beta(alpha + ones, beta + zeros)."""
        beta = self.alpha if self.beta is None else self.beta
        zeros = clear_residue(stats.observed_weight - stats.x, stats.observed_weight)
        return Beta(self.alpha.value + stats.x, beta.value + zeros)

    def counts_of_counts(self, stats: Sums) -> CountsOfCounts:
        """Counts of ones and zeros; each class of a column is one draw."""
        total = np.broadcast_to(stats.observed_weight, stats.x.shape)
        counts = np.stack([stats.x, np.maximum(total - stats.x, 0.0)])
        return CountsOfCounts(counts[counts > 0], total.ravel(), np.full(total.size, 2.0))

    def params(self, stats: Sums, class_weight: Floats) -> BernoulliParams:
        """Log probabilities of one and of zero."""
        point = self.point(stats)
        return BernoulliParams(point.log_mean, point.log_mean_complement, stats.known)

    def form(self, params: BernoulliParams) -> Linear:
        """Return a form that adds the log probability of 0 and x times the log-odds of 1."""
        with np.errstate(invalid="ignore"):
            odds = params.log_one - params.log_zero
        return Linear(np.where(params.known, params.log_zero, 0.0), np.where(params.known, odds, 0.0))

    def outcomes(self, params: BernoulliParams) -> Floats:
        """Log probabilities of no and yes."""
        return np.stack([params.log_zero, params.log_one], axis=2)

    def sample(self, params: BernoulliParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Zeros and ones; with `binarize`, a number above the threshold for one and the threshold for zero."""
        ones = rng.random((len(y), params.log_one.shape[1])) < np.exp(params.log_one[y])
        if self.binarize is None:
            return ones.astype(float)
        above = max(self.binarize + 1.0, np.nextafter(self.binarize, np.inf))
        return np.where(ones, above, self.binarize)

    def sample_parameters(
        self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> BernoulliParams:
        """Draw the probabilities from their Beta posterior."""
        theta = stack_draws(self.posterior(stats).sample(n, rng))
        return BernoulliParams(log(theta), log(1.0 - theta), stats.known)

    def describe(self, params: BernoulliParams) -> list[dict[str, Floats]]:
        """Return the probability of a yes of every column, per class."""
        return [{"yes": p} for p in np.exp(params.log_one).T]
