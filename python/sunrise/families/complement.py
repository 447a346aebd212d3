"""Counts against the counts of all other classes (Rennie et al. 2003), and the estimator ComplementNB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family
from sunrise.families.left_out import Cells, RowsLeftOut
from sunrise.families.multinomial import log_shares, rates, shares_without, taken_too_much
from sunrise.families.smoothing import Smoothed
from sunrise.forms.linear import Composition, Linear
from sunrise.numerics.special import log
from sunrise.statistics.base import complement_sum
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import COUNTS, Support
from sunrise.statistics.terms import X


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
    alpha: Any = 1.0
    norm: bool = False

    @property
    def support(self) -> Support:
        """Counts, or any weights of 0 or more."""
        return COUNTS

    def params(self, stats: Sums, class_weight: Floats) -> ComplementParams:
        """Weights: minus the log shares of the other classes, or these divided by their sum."""
        known = stats.known
        seen = (
            stats.observed_weight
            if stats.observed_weight.shape[1] == 1
            else complement_sum(stats.observed_weight)
        )
        pooled = Sums(
            complement_sum(stats.rows.astype(float)).astype(np.int64),
            seen,
            complement_sum(stats.x),
        )
        log_theta = log_shares(rates(pooled, complement_sum(class_weight)), self.alpha, known, self.estimate)
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

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> RowsLeftOut:
        """A row takes part in the weights of every class but its own."""
        return RowsLeftOut(
            lambda block, y, w, n: self._score_without(stats, Cells.stored(block), y, w), all_classes=True
        )

    def _score_without(self, stats: Sums, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """Every class but a row's own loses its counts; None where counts are missing, or a weight is infinite."""
        params = self.params(stats, np.ones(len(stats.x)))
        unsmoothed = bool((np.asarray(self.alpha.value) == 0).any())
        missing = unsmoothed or (
            stats.observed_weight.shape[1] > 1
            and (stats.observed_weight != stats.observed_weight[:, :1]).any()
        )
        if missing or not np.isfinite(params.log_theta).all() or self.estimate in ("mle", "map"):
            return None
        counts, j, taken = complement_sum(stats.x), rows.column, w[rows.row] * rows.x
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

    def describe(self, params: ComplementParams) -> list[dict[str, Floats]]:
        """Weight of each column."""
        return [{"weight": weight} for weight in params.weights.T]
