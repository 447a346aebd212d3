"""Counts by their odds: the shares of a class against those of all other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise import engines
from sunrise.arrays import Codes, Floats, Mask
from sunrise.data.batch import SparseBlock
from sunrise.families.multinomial import rates
from sunrise.family import Family
from sunrise.forms import Linear
from sunrise.smoothing import SMALLEST, Smoothed
from sunrise.stats import Sums
from sunrise.support import COUNTS, Support
from sunrise.terms import X


class OddsParams(NamedTuple):
    """Log odds of every column per class."""

    log_odds: Floats
    known: Mask


@dataclass(frozen=True)
class Odds(Smoothed, Family):
    """Counts, scored by how much larger their smoothed shares are in a class than in all other classes together.

    Between a multinomial, which asks the class alone, and the complement of Rennie et al. (2003), which asks the others
    alone. Not a distribution of the class. An alpha of 0 is taken as 1e-10: nothing against nothing has no odds.
    """

    name = "odds"
    terms = (X,)
    generative = False
    joint = True
    shared = True
    alpha: Any = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.alpha.value):
            raise ValueError("alpha of odds is one number for all columns.")

    @property
    def wants_prior(self) -> bool:
        """Scores are log-odds of the counts, which the prior belongs to."""
        return True

    @property
    def support(self) -> Support:
        """Counts, or any weights of 0 or more."""
        return COUNTS

    @property
    def _smoothing(self) -> float:
        return max(SMALLEST, 0.0 if self.estimate == "mle" else float(self.alpha.value))

    def params(self, stats: Sums, class_weight: Floats) -> OddsParams:
        """Log shares of the class less those of all others."""
        known = stats.known
        x = rates(stats, class_weight)
        if known.all():
            return OddsParams(engines.choose().odds(x, self._smoothing), known)
        log_odds = np.zeros(x.shape)
        log_odds[:, known] = engines.choose().odds(x[:, known], self._smoothing)
        return OddsParams(log_odds, known)

    def form(self, params: OddsParams) -> Linear:
        """A count times the log odds of its column."""
        return Linear(x=params.log_odds)

    def left_out_scores(
        self, stats: Sums, params: OddsParams, block: SparseBlock, y: Codes, w: Floats, n_threads: int
    ) -> Floats | None:
        """A row leaves the shares of its class, and those of the others of all other classes."""
        if stats.x.shape[1] == 0:
            return np.zeros((len(y), len(stats.x)))
        if not stats.known.all() or (stats.seen != stats.seen[:, :1]).any():
            return None
        rest = stats.x, self._smoothing, params.log_odds, n_threads
        return engines.choose().odds_left_out(block, y, w, *rest)  # type: ignore[no-any-return]

    def pull(self, stats: Sums, class_weight: Floats) -> float:
        """Odds are no likelihood."""
        return float("nan")

    def outcomes(self, params: OddsParams) -> Floats:
        """There are none: odds are no distribution of the class."""
        raise ValueError("odds are no distribution, so they have no mutual information; use multinomial.")

    def sample(self, params: OddsParams, y: Codes, rng: np.random.Generator) -> Floats:
        """There is nothing to draw from: odds are no distribution of the class."""
        raise ValueError("odds are no distribution, so no rows can be drawn from them; use multinomial.")

    def described(self, params: OddsParams) -> list[dict[str, Floats]]:
        """Log odds of each column."""
        return [{"log odds": told} for told in params.log_odds.T]
