"""Odds family: counts scored by the shares of a class against the shares of all other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.blocks import SparseBlock
from sunrise.families.base import Family
from sunrise.families.counts_left_out import CountsWithoutRows
from sunrise.families.left_out import Documents, RowsLeftOut
from sunrise.families.multinomial import complete_product
from sunrise.families.smoothing import SMALLEST_ALPHA, Smoothed
from sunrise.forms.linear import Linear
from sunrise.statistics.base import complement_sum
from sunrise.statistics.sums import Product, Sums
from sunrise.statistics.support import COUNTS, Support
from sunrise.statistics.terms import X


class OddsParams(NamedTuple):
    """Log odds of every class and column."""

    log_odds: Floats
    known: Mask


@dataclass(frozen=True)
class Odds(Smoothed, Family):
    """Counts, weighted by log(share of the column in the class / share in all other classes), smoothed by alpha.

    A compromise between the multinomial, which uses only the shares of the class, and the complement of Rennie et al.
    (2003), which uses only the shares of the other classes. The scores are not log-probabilities of the cells. An
    alpha of 0 is replaced by 1e-10, because the odds of two zero shares are undefined.
    """

    name = "odds"
    terms = (X,)
    generative = False
    joint = True
    alpha: Any = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.alpha.value):
            raise ValueError(
                f"alpha of odds is an array of shape {np.shape(self.alpha.value)}; give one number for all columns."
            )

    @property
    def uses_class_prior(self) -> bool:
        """True: the scores are log-odds of the counts, to which the class prior is added."""
        return True

    @property
    def support(self) -> Support:
        """Counts, or any weights of 0 or more."""
        return COUNTS

    @property
    def _positive_alpha(self) -> float:
        return max(SMALLEST_ALPHA, 0.0 if self.estimate == "mle" else float(self.alpha.value))

    def params(self, stats: Sums, class_weight: Floats) -> OddsParams:
        """Log share of the class minus log share of all other classes, for every column."""
        known, x = stats.known, complete_product(stats, class_weight)
        if known.all():
            return OddsParams(engines.current().odds(x, self._positive_alpha), known)
        log_odds = np.zeros(x.table.shape)
        some = Product(x.table.compress(known, axis=1), x.factors[known])
        log_odds[:, known] = engines.current().odds(some, self._positive_alpha)
        return OddsParams(log_odds, known)

    def form(self, params: OddsParams) -> Linear:
        """Return a form that multiplies counts by the log odds of their columns."""
        return Linear(x=params.log_odds)

    def left_out(self, stats: Sums, params: OddsParams, row_weight: Floats | None) -> RowsLeftOut:
        """Subtract a row from every class: it is part of its own class and of the complement of all others."""

        def score(block: SparseBlock, y: Codes, w: Floats, n_threads: int) -> Floats | None:
            return self._score_without(stats, params, block, y, w, n_threads)

        return RowsLeftOut(
            score,
            all_classes=True,
            score_rows=lambda x, class_weight, y, w: self._score_rows_without(stats, x, class_weight, y, w),
            score_bands=lambda documents, y, w, n: self._score_bands(stats, params, documents, y, w, n),
        )

    def _score_rows_without(
        self, stats: Sums, x: Floats, class_weight: Floats, y: Codes, w: Floats
    ) -> tuple[Floats, Floats]:
        """Scores with the row's counts subtracted from every class, for missing cells."""
        left, known = CountsWithoutRows(stats, x, y, w), stats.known
        counts = np.stack([left.of_class(stats, class_weight, k, y == k) for k in range(len(stats.x))])
        others = complement_sum(counts)

        def log_shares(of: Floats) -> Floats:
            smooth = of + self._positive_alpha
            return np.asarray(np.log(smooth) - np.log(smooth[:, known].sum(axis=1, keepdims=True)))

        def form_of(k: int) -> Linear:
            log_odds = log_shares(counts[k]) - (log_shares(others[k]) if len(counts) > 1 else 0.0)
            return Linear(x=np.where(known, log_odds, 0.0))

        return left.scores(len(counts), form_of)

    def _score_without(
        self, stats: Sums, params: OddsParams, block: SparseBlock, y: Codes, w: Floats, n_threads: int
    ) -> Floats | None:
        if len(stats.known) == 0:
            return np.zeros((len(y), len(stats.rows)))
        if not stats.known.all() or (stats.observed_weight != stats.observed_weight[:, :1]).any():
            return None
        rest = stats.product, self._positive_alpha, params.log_odds, n_threads
        if not isinstance(block, Documents):
            return engines.current().odds_left_out(block, y, w, *rest)  # type: ignore[no-any-return]
        return np.asarray(self._score_bands(stats, params, block, y, w, n_threads).sum(axis=1))

    def _score_bands(
        self, stats: Sums, params: OddsParams, documents: Documents, y: Codes, w: Floats, n_threads: int
    ) -> Floats:
        """Scores of documents without themselves, as sums over bands of words: rows x bands x classes."""
        rest = documents.bands, documents.n_bands, n_threads
        table = stats.product, self._positive_alpha, params.log_odds
        scores: Floats = engines.current().odds_left_out_bands(documents, y, w, *table, *rest)
        scores *= documents.stretch[:, None, None]
        return scores

    def log_prior_density(self, stats: Sums, class_weight: Floats) -> float:
        """NaN: the odds do not maximise a likelihood."""
        return float("nan")

    def describe(self, params: OddsParams) -> list[dict[str, Floats]]:
        """Return the log odds of every column, per class."""
        return [{"log odds": log_odds} for log_odds in params.log_odds.T]
