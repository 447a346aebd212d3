"""Counts by their odds: the shares of a class against those of all other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.blocks import SparseBlock
from sunrise.families.base import Family
from sunrise.families.left_out import RowsLeftOut
from sunrise.families.multinomial import rates
from sunrise.families.smoothing import SMALLEST, Smoothed
from sunrise.forms.linear import Linear
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import COUNTS, Support
from sunrise.statistics.terms import X


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
    alpha: Any = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.alpha.value):
            raise ValueError("alpha of odds is one number for all columns.")

    @property
    def uses_class_prior(self) -> bool:
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
            return OddsParams(engines.current().odds(x, self._smoothing), known)
        log_odds = np.zeros(x.shape)
        log_odds[:, known] = engines.current().odds(x[:, known], self._smoothing)
        return OddsParams(log_odds, known)

    def form(self, params: OddsParams) -> Linear:
        """A count times the log odds of its column."""
        return Linear(x=params.log_odds)

    def left_out(self, stats: Sums, params: OddsParams, row_weight: Floats | None) -> RowsLeftOut:
        """A row takes part in the shares of its own class and in those of the others of all other classes."""

        def score(block: SparseBlock, y: Codes, w: Floats, n_threads: int) -> Floats | None:
            return self._score_without(stats, params, block, y, w, n_threads)

        return RowsLeftOut(score, all_classes=True)

    def _score_without(
        self, stats: Sums, params: OddsParams, block: SparseBlock, y: Codes, w: Floats, n_threads: int
    ) -> Floats | None:
        if stats.x.shape[1] == 0:
            return np.zeros((len(y), len(stats.x)))
        if not stats.known.all() or (stats.observed_weight != stats.observed_weight[:, :1]).any():
            return None
        rest = stats.x, self._smoothing, params.log_odds, n_threads
        return engines.current().odds_left_out(block, y, w, *rest)  # type: ignore[no-any-return]

    def log_prior_density(self, stats: Sums, class_weight: Floats) -> float:
        """Odds are no likelihood."""
        return float("nan")

    def describe(self, params: OddsParams) -> list[dict[str, Floats]]:
        """Log odds of each column."""
        return [{"log odds": told} for told in params.log_odds.T]
