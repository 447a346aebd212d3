"""EM: semi-supervised learning from labelled and unlabelled rows (Nigam, McCallum, Thrun and Mitchell, 2000).

In the E step, the model assigns class probabilities to every unlabelled row. In the M step, the model is fitted to the
labelled rows and to the unlabelled rows, which count for every class in proportion to its probability. The steps
increase log P(labelled rows, labels) + weight * log P(unlabelled rows) + log prior density. For this, the settings that
families learn from the data stay fixed after the first step.

A higher likelihood does not imply a higher accuracy: if the classes are not the clusters of the rows, EM reduces the
accuracy. Without a given weight, unlabelled rows are therefore used only if cross-validation on the labelled rows shows
a gain. (Leave-one-out is not suitable: the class probabilities of the unlabelled rows still depend on the row that is
left out.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.data.blocks import Batch, Block
from sunrise.data.frame import Frame
from sunrise.families.base import Family
from sunrise.inference.em_report import Em, Progress
from sunrise.inference.folds import hashes_of_table
from sunrise.inference.held_out import Fold, HeldOut
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import Part
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Schema
from sunrise.model.score import score_rows
from sunrise.model.settings import Settings
from sunrise.numerics.special import log_sum_exp
from sunrise.statistics.model import Stats

#: Weights of unlabelled rows to try, in this order, until one improves the accuracy.
WEIGHTS = (1.0, 0.3)
#: Maximum number of steps, and the relative change of the log-likelihood at which EM has converged.
STEPS, TOLERANCE = 10, 1e-6
#: Smaller class probabilities are set to 0 in the M step, which saves time if most rows have one probable class.
NEGLIGIBLE = 1e-10
#: Number of cross-validation folds of the labelled rows.
FOLDS = 5
#: Least ratio of training accuracy after EM to that before EM, unless cross-validation shows a clear gain.
MIN_KEPT_ACCURACY = 0.99


@dataclass(frozen=True)
class Rows:
    """Cells and weights of rows."""

    batch: Batch
    weight: Floats

    def select_rows(self, rows: Positions) -> Rows:
        """Return some of the rows, by position."""
        return Rows(self.batch.select_rows(rows), self.weight[rows])


@dataclass(frozen=True)
class EmResult:
    """The result of EM: class probabilities `p` of unlabelled rows under `model`, and the log-likelihood by step."""

    p: Floats
    model: FittedModel
    trace: tuple[float, ...]
    is_likelihood: bool
    converged: bool


class LabelledRows:
    """The labelled rows of a table, and models fitted to subsets of these rows."""

    def __init__(
        self,
        settings: Settings,
        schema: Schema,
        labelled: Stats,
        table: Frame,
        accumulator: RowAccumulator,
        y: Codes,
    ) -> None:
        if settings.unseen == "error":  # held-out rows may have levels that the other rows do not have
            settings = replace(settings, unseen="ignore")
        self.schema, self.classes = schema, labelled.classes
        self._settings, self._accumulator = settings, accumulator
        self._labelled = labelled
        self._labelled_model = FittedModel(settings, schema, labelled, self.classes)
        self._rows = self._read(table)
        #: Class codes of the rows; -1 for rows without a label.
        self.y = y
        self._positions = at = np.flatnonzero((y >= 0) & (self._rows.weight > 0))
        self._y, self._labelled_rows = y[at], self._rows.select_rows(at)

    def _read(self, table: Frame) -> Rows:
        """Return the cells and weights of the rows of a table."""
        batch, _ = encode_rows(table, self._labelled_model)
        weight = self._accumulator.weight
        return Rows(batch, np.ones(batch.n_rows) if weight is None else weight)

    def _model(self, stats: Stats, parts: tuple[Part, ...] | None = None) -> FittedModel:
        """Return the model of these statistics; `parts` of an earlier step keep the settings learned from data."""
        if parts is not None:
            pairs = zip(parts, stats.blocks, strict=True)
            parts = tuple(
                replace(part, family=part.family.resolve(block, again=True)) for part, block in pairs
            )
        return FittedModel(self._settings, self.schema, stats, self.classes, resolved=parts)

    def _count(self, rows: Rows, codes: Codes, weight: Floats) -> Stats:
        """Return the statistics of rows with these classes; levels and words are those of the labelled model."""
        accumulator = replace(self._accumulator, classes=self.classes, codes=codes, weight=weight)
        blocks: list[Any] = []
        for k, (part, like) in enumerate(
            zip(self._labelled_model.parts, self._labelled_model.blocks, strict=True)
        ):
            names = [self.schema.names[j] for j in part.columns]
            block, family = rows.batch.blocks[k], part.family
            statistics = accumulator.accumulate(block, family.terms, family.fit_support, names)
            blocks.append(statistics.with_levels_of(like))
        n, total = engines.current().totals(codes, weight, len(self.classes))
        return Stats(self.classes, n, total, tuple(blocks))

    def _folds(self) -> Iterator[tuple[Stats, Floats, Positions]]:
        """Yield stratified folds: statistics without the held-out rows, row weights, positions of the held-out rows."""
        n = min(FOLDS, int(np.bincount(self._y).max()))
        if n < 2:
            return
        order = np.random.default_rng(0).permutation(len(self._y))
        fold = np.empty(len(order), int)
        fold[order[np.argsort(self._y[order], kind="stable")]] = np.arange(len(order)) % n
        for k in range(n):
            w = np.where(fold == k, 0.0, self._labelled_rows.weight)
            yield self._count(self._labelled_rows, self._y, w), w, np.flatnonzero(fold == k)

    def _reciprocal_ranks(self, models: list[Fold]) -> Floats:
        """Return the reciprocal rank of the label of every held-out row: 1 for the best score, 1/2 for the second, ...

        With many classes, reciprocal ranks discriminate better than accuracy. Rows outside the folds have 0.
        """
        ranks = np.zeros(len(self._y))
        for model, rows in models:
            joint, _ = score_rows(model, self._labelled_rows.batch.select_rows(rows), "joint")
            label_score, k = joint[np.arange(len(rows)), self._y[rows]], np.arange(len(self.classes))
            better = (joint > label_score[:, None]) | (
                (joint == label_score[:, None]) & (k < self._y[rows][:, None])
            )
            ranks[rows] = 1.0 / (1.0 + better.sum(axis=1))
        return ranks

    def reciprocal_ranks(self) -> Floats:
        """Return the cross-validated reciprocal ranks of models fitted to labelled rows only."""
        return self._reciprocal_ranks([(self._model(rest), rows) for rest, _, rows in self._folds()])

    def hashes(self, table: Frame) -> Any:
        """Return a hash of every labelled row of the table, to draw folds for calibration."""
        return hashes_of_table(table.select_rows(self._positions), self.schema)

    def leave_one_out(self, model: FittedModel) -> LeaveOneOut:
        """Return the leave-one-out scores of the labelled rows, for a model fitted to these rows."""
        weight = None if self._accumulator.weight is None else self._labelled_rows.weight
        return LeaveOneOut(model, self._labelled_rows.batch, self._y, weight)


class SemiSupervised(LabelledRows):
    """A table with labelled and unlabelled rows, and models fitted to both.

    In the statistics `every`, unlabelled rows are an additional last class.
    """

    def __init__(
        self,
        settings: Settings,
        schema: Schema,
        every: Stats,
        table: Frame,
        accumulator: RowAccumulator,
        progress: Progress = Progress(),  # noqa: B008 (immutable)
    ) -> None:
        self._report = progress.report
        labels = np.empty(0) if accumulator.labels is None else accumulator.labels
        known = np.flatnonzero(every.classes < len(labels))  # classes of weight 0 are absent
        if len(known) == 0:
            raise ValueError(
                "every labelled row has weight 0. Give at least one labelled row of each class a positive weight."
            )
        present, blocks = every.classes[known], (block.keep_classes(known) for block in every.blocks)
        labelled = Stats(labels[present], every.rows[known], every.weight[known], tuple(blocks))
        position = np.full(len(labels) + 1, -1, np.int32)
        position[present] = np.arange(len(known))
        super().__init__(settings, schema, labelled, table, accumulator, position[accumulator.codes])
        unlabelled = (accumulator.codes == len(labels)) & (self._rows.weight > 0)
        self._unlabelled_rows = self._rows.select_rows(np.flatnonzero(unlabelled))

    def learn(self, weight: Any, labelled_only: LabelledRows) -> tuple[Stats | None, Em, LeaveOneOut | None]:
        """Return the statistics of all rows, a summary, and the held-out scores of the labelled rows.

        The statistics are None if `weight` is "auto" and unlabelled rows do not improve on the model of
        `labelled_only`, or if there are no unlabelled rows. A given weight is used in any case.
        """
        n = len(self._labelled_rows.weight), len(self._unlabelled_rows.weight)
        is_given = weight != "auto"
        weights = (float(weight),) if is_given else WEIGHTS
        best, end, held_out = 0.0, None, None
        scores: dict[float, float] = {}
        if n[1]:
            best, end, scores, held_out = self._choose_weight(weights, labelled_only, is_given)
        if end is None:
            return None, Em(0.0, *n, 0, True, (), True, scores), None
        stats = self._labelled + self._soft_assignment(end.p, best, self._hard_assignment(end.p))
        em = Em(best, *n, len(end.trace), end.converged, end.trace, end.is_likelihood, scores)
        return stats, em, held_out

    # The two steps.

    def _run_em(self, labelled: Stats, w: Floats, weight: float, where: str = "all rows") -> EmResult:
        """Run EM, starting with the model of the labelled rows, which have weights w; `where` is for the report."""
        p = self._e_step(self._model(labelled))[0]
        hard, trace, end = self._hard_assignment(p), [], None
        for step in range(STEPS):
            stats = labelled + self._soft_assignment(p, weight, hard)
            model = self._model(stats, None if end is None else end.model.parts)
            after, unlabelled_value = self._e_step(model)
            value = weight * unlabelled_value + self._log_joint(model, w)
            log_prior = self._log_prior_density(model)
            is_likelihood = not np.isnan(log_prior)
            value += log_prior if is_likelihood else 0.0
            moved = int((after.argmax(axis=1) != p.argmax(axis=1)).sum())
            text = "EM, weight %g, %s, step %d: log-likelihood %.9g, %d of %d rows changed class"
            self._report(text, weight, where, step + 1, value, moved, len(p))
            if end is not None and is_likelihood and value < trace[-1] - 1e-9 * abs(trace[-1]):
                self._report("EM: the log-likelihood decreased; the previous step is the result")
                return end
            trace.append(value)
            change = np.inf if end is None else abs(trace[-1] - trace[-2])
            converged = change <= TOLERANCE * abs(value)
            p, end = after, EmResult(after, model, tuple(trace), is_likelihood, converged)
            if end.converged:
                break
        assert end is not None
        return end

    def _e_step(self, model: FittedModel) -> tuple[Floats, float]:
        """E step: return class probabilities of the unlabelled rows, and the log-likelihood of these rows."""
        joint, _ = score_rows(model, self._unlabelled_rows.batch, "joint")
        log_density = log_sum_exp(joint, axis=1)
        p, _ = engines.current().log_normalise(joint, model.log_class_prior, "proba")  # in place
        likely = np.isfinite(log_density)
        return p, float(self._unlabelled_rows.weight[likely] @ log_density[likely])

    def _log_joint(self, model: FittedModel, w: Floats) -> float:
        """Return the log-likelihood of the labelled rows and their labels."""
        joint, _ = score_rows(model, self._labelled_rows.batch, "joint")
        log_p = joint[np.arange(len(self._y)), self._y]
        return float(w @ np.where(np.isfinite(log_p), log_p, 0.0))

    def _log_prior_density(self, model: FittedModel) -> float:
        """Return the log prior density of the estimates; NaN if it is unknown, or if there are class weights."""
        if model.factors is not None:
            return float("nan")
        pairs = zip(model.parts, model.blocks, strict=True)
        return sum(part.family.log_prior_density(block, model.stats.weight) for part, block in pairs)

    def _hard_assignment(self, p: Floats) -> Stats:
        """Return the statistics of the unlabelled rows, each in its most probable class."""
        return self._count(
            self._unlabelled_rows, p.argmax(axis=1).astype(np.int32), self._unlabelled_rows.weight
        )

    def _soft_assignment(self, p: Floats, weight: float, hard: Stats) -> Stats:
        """M step: return the statistics of unlabelled rows, weighted by class probabilities.

        Row counts come from the hard assignment `hard`, because they must be whole numbers: the number of observed
        cells, and of documents with a word.
        """
        shares = weight * self._unlabelled_rows.weight[:, None] * np.where(p > NEGLIGIBLE, p, 0.0)
        zeros = np.zeros(len(p), np.int32)
        by_class = [
            replace(self._accumulator, classes=self.classes[:1], codes=zeros, weight=np.ascontiguousarray(w))
            for w in shares.T
        ]
        blocks = []
        for k, part in enumerate(self._labelled_model.parts):
            family, block = part.family, self._unlabelled_rows.batch.blocks[k]

            def of_class(c: int, block: Block = block, family: Family = family) -> Any:
                return by_class[c].accumulate(block, family.terms, family.fit_support)

            blocks.append(block.soft_statistics(shares, hard.blocks[k], of_class))
        return Stats(self.classes, hard.rows, shares.sum(axis=0), tuple(blocks))

    # Cross-validation.

    def _choose_weight(
        self, weights: tuple[float, ...], labelled_only: LabelledRows, is_given: bool
    ) -> tuple[float, EmResult | None, dict[float, float], HeldOut | None]:
        """Return the first weight with a cross-validated gain above its standard error, and its results; else 0.

        A weight that the user has given is returned without a gain, too.
        """
        w, total, folds = self._labelled_rows.weight, self._labelled_rows.weight.sum(), list(self._folds())
        if not folds:  # no cross-validation is possible: compare the training accuracy only
            for weight in weights:
                end = self._run_em(self._labelled, w, weight)
                if is_given or self._keeps_accuracy(end.model):
                    return weight, end, {}, self._held_out([])
            return 0.0, None, {}, None
        before = labelled_only.reciprocal_ranks()
        scores = {0.0: float(w @ (before == 1.0) / total)}
        for weight in weights:
            models: list[Fold] = []
            for k, (rest, rest_w, rows) in enumerate(folds, 1):
                where = f"fold {k} of {len(folds)}"
                models.append((self._run_em(rest, rest_w, weight, where).model, rows))
                so_far = np.concatenate([rows for _, rows in models])
                after = self._reciprocal_ranks(models)
                gain = w * (after - before)
                std_error = np.sqrt(((gain - w * gain[so_far].sum() / w[so_far].sum()) ** 2)[so_far].sum())
                if gain[so_far].sum() < -2.0 * std_error and not is_given:
                    break
            scores[weight] = float(w[so_far] @ (after == 1.0)[so_far] / w[so_far].sum())
            self._report(
                "EM: cross-validated accuracy on labelled rows, by the weight of unlabelled rows: %s", scores
            )
            if is_given or gain.sum() > std_error:
                end = self._run_em(self._labelled, w, weight)
                if is_given or gain.sum() > 2.0 * std_error or self._keeps_accuracy(end.model):
                    return weight, end, scores, self._held_out(models)
        return 0.0, None, scores, None

    def _keeps_accuracy(self, model: FittedModel) -> bool:
        """True if the training accuracy is not much worse than that of the model of labelled rows only."""

        def n_correct(model: FittedModel) -> float:
            predicted, _ = score_rows(model, self._labelled_rows.batch, None)
            return float(self._labelled_rows.weight @ (predicted == self._y))

        return n_correct(model) >= MIN_KEPT_ACCURACY * n_correct(self._labelled_model)

    def _held_out(self, folds: list[Fold]) -> HeldOut:
        """Return the labelled rows with the cross-validation models; the only row of a class gets weight 0."""
        single = np.bincount(self._y, minlength=len(self.classes))[self._y] < 2
        weight = np.where(single, 0.0, self._labelled_rows.weight)
        return HeldOut(self._labelled_model, self._labelled_rows.batch, self._y, weight, folds=tuple(folds))
