"""Complement family: counts scored by the shares of all other classes (Rennie et al. 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family
from sunrise.families.counts_left_out import CountsWithoutRows
from sunrise.families.left_out import Cells, RowsLeftOut
from sunrise.families.multinomial import complete_counts, log_shares, removes_too_much, score_without_counts
from sunrise.families.smoothing import Smoothed
from sunrise.forms.linear import Composition, Linear
from sunrise.numerics.special import log
from sunrise.statistics.base import complement_sum
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import COUNTS, Support
from sunrise.statistics.terms import X


class ComplementParams(NamedTuple):
    """Log share of every column in the other classes, and the weights derived from it."""

    log_theta: Floats
    weights: Floats
    known: Mask


def sums_of_others(stats: Sums) -> Sums:
    """Sums of all classes but one, for every class."""
    weight = stats.observed_weight
    weight = weight if weight.shape[1] == 1 else complement_sum(weight)
    return Sums(complement_sum(stats.rows.astype(float)).astype(np.int64), weight, complement_sum(stats.x))


@dataclass(frozen=True)
class Complement(Smoothed, Family):
    """Counts, weighted by minus the log share of the column in all other classes.

    With `norm` the weights of a class are divided by their sum. The scores are not log-probabilities of the cells.
    """

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
        """Weights: minus the log shares of the other classes, or with `norm` the log shares divided by their sum."""
        return self._params_of_counts(
            complete_counts(sums_of_others(stats), complement_sum(class_weight)), stats.known
        )

    def _params_of_counts(self, counts: Floats, known: Mask) -> ComplementParams:
        log_theta = log_shares(counts, self.alpha, known, self.estimate)
        log_known = np.where(known, log_theta, 0.0)
        if not self.norm:
            return ComplementParams(log_theta, -log_known, known)
        # Without smoothing a count of 0 has log share -inf: in the limit only these columns have a weight.
        zero = np.isneginf(log_known)
        log_known = np.where(zero.any(axis=1, keepdims=True), -zero.astype(float), log_known)
        total = log_known.sum(axis=1, keepdims=True)
        return ComplementParams(
            log_theta, np.divide(log_known, total, out=np.zeros_like(log_known), where=total != 0), known
        )

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> RowsLeftOut:
        """Subtract a row from the weights of every class except its own."""
        return RowsLeftOut(
            lambda block, y, w, n: self._score_without(stats, Cells.stored(block), y, w),
            all_classes=True,
            score_rows=lambda x, class_weight, y, w: self._score_rows_without(stats, x, class_weight, y, w),
        )

    def _score_rows_without(
        self, stats: Sums, x: Floats, class_weight: Floats, y: Codes, w: Floats
    ) -> tuple[Floats, Floats]:
        """Scores with the row's counts subtracted from every class but its own, for any estimate and missing cells."""
        left, others, weight = (
            CountsWithoutRows(stats, x, y, w),
            sums_of_others(stats),
            complement_sum(class_weight),
        )

        def form_of(k: int) -> Linear:
            counts = left.of_class(others, weight, k, y != k)
            family = self.with_settings(alpha=self.alpha.of_class(k))
            return self.form(family._params_of_counts(counts, stats.known))

        return left.scores(len(stats.x), form_of)

    def _score_without(self, stats: Sums, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """Scores with the row's counts subtracted from every other class: rows x classes, NaN for its own class.

        None if cells are missing, a weight is infinite or estimate is "mle" or "map".
        """
        params = self.params(stats, np.ones(len(stats.x)))
        unsmoothed = bool((np.asarray(self.alpha.value) == 0).any())
        missing = unsmoothed or (
            stats.observed_weight.shape[1] > 1
            and (stats.observed_weight != stats.observed_weight[:, :1]).any()
        )
        if missing or not np.isfinite(params.log_theta).all() or self.estimate in ("mle", "map"):
            return None
        counts, j, removed = complement_sum(stats.x), rows.column, w[rows.row] * rows.x
        scores = np.full((rows.n_rows, len(stats.x)), np.nan)
        for k in range(len(stats.x)):
            left = counts[k, j] - removed
            score = score_without_counts(self, counts, left, rows, np.full_like(y, k))
            norm = self._norm_without(counts[k], left, rows) if self.norm else np.full(rows.n_rows, -1.0)
            score = np.divide(score, norm, out=np.zeros_like(score), where=norm != 0)
            scores[:, k] = np.where(y == k, np.nan, score)
        own = stats.x[y[rows.row], j]
        return np.where(removes_too_much(own - removed, own, rows)[:, None], np.inf, scores)

    def _norm_without(self, counts: Floats, left: Floats, rows: Cells) -> Floats:
        """Sum of the log shares of one class, with each of the rows removed."""
        alpha = np.broadcast_to(0.0 if self.estimate == "mle" else self.alpha.value, counts.shape)
        before, after = counts + alpha, np.maximum(left, 0.0) + alpha[rows.column]
        logs = log(before).sum() - rows.by_row(log(before[rows.column]) - log(after))
        total = before.sum() - rows.by_row(before[rows.column] - after)
        return np.asarray(logs - len(counts) * log(total))

    def form(self, params: ComplementParams) -> Linear:
        """Return a form that multiplies counts by the weights of their columns."""
        return Linear(
            x=params.weights, composition=Composition(params.log_theta, sign=-1.0, normed=self.norm)
        )

    def describe(self, params: ComplementParams) -> list[dict[str, Floats]]:
        """Return the weight of every column, per class."""
        return [{"weight": weight} for weight in params.weights.T]
