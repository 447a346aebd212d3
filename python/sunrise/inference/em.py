"""EM: learning from rows without a label, too (Nigam, McCallum, Thrun and Mitchell, 2000).

A row without a label counts for every class with the probability that the model gives it (the E step); of all rows
together the model is derived anew (the M step), and so on. This climbs the log-likelihood of labels and rows, and of
unlabelled rows alone, which count `weight` each, plus what the priors add. What the families take from the data is
frozen after the first step, so that it does.

More likely is not more right: where the classes are not the clusters of the rows, EM leads away from them. So it has to
prove itself on labelled rows that it has not seen, by cross-validation; if it does not, such rows are left out.
(Leave-one-out would not do: unlabelled rows keep what they learned from the row that is left out.)
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise._common.warnings import UnseenLevelsWarning
from sunrise.data.blocks import Batch, Block
from sunrise.data.frame import Frame
from sunrise.engines import array
from sunrise.families.base import Family
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.accumulate import Accumulator
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Part, Schema
from sunrise.model.score import block_scores, scored
from sunrise.model.settings import Settings
from sunrise.numerics.special import log_sum_exp
from sunrise.statistics.model import Stats

_log = logging.getLogger("sunrise")

#: The weights of unlabelled rows that are tried, until one proves to be good.
WEIGHTS = (1.0, 0.3)
#: Steps, after which more seldom help; and the relative change of the log-likelihood that ends them before.
STEPS, TOLERANCE = 10, 1e-6
#: Probabilities below are none, which saves most of the work where rows are sure of their classes.
DUST = 1e-10
#: A model, and the labelled rows that it has not seen.
Held = tuple[FittedModel, Positions]
#: Parts of the labelled rows that are held out in turn.
FOLDS = 5
#: How much of the labelled rows that it got right before EM a model must still get right, or have a better proof.
STILL_RIGHT = 0.99


class Em(NamedTuple):
    """How a model learned from rows without a label.

    `weight` is what such a row counts, 0 where it was better to leave them out. `log_likelihood` has a number for
    each step, `is_likelihood` says whether it must rise (not where scores are no probabilities of the rows, or where
    estimates are no maximum). `scores` are the accuracies on labelled rows held out, by weight, 0 being the
    labelled rows alone; none where no class has two labelled rows.
    """

    weight: float
    labelled: int
    unlabelled: int
    steps: int
    converged: bool
    log_likelihood: tuple[float, ...]
    is_likelihood: bool
    scores: dict[float, float]


@dataclass(frozen=True)
class Rows:
    """Rows that were read once: their cells and weights."""

    batch: Batch
    weight: Floats

    def some(self, rows: Positions) -> Rows:
        """Some of the rows, by their places."""
        return Rows(self.batch.some(rows), self.weight[rows])


@dataclass(frozen=True)
class Climb:
    """Where EM ended: what rows without a label are, the model before that, and how it came there."""

    p: Floats
    fitted: FittedModel
    trace: tuple[float, ...]
    is_likelihood: bool
    converged: bool


class LabelledRows:
    """The labelled rows of a table under a schema, and models of some of them."""

    def __init__(
        self,
        settings: Settings,
        schema: Schema,
        labelled: Stats,
        table: Frame,
        accumulator: Accumulator,
        y: Codes,
    ) -> None:
        if settings.unseen == "error":  # other rows may have levels that these have not
            settings = replace(settings, unseen="ignore")
        self.schema, self.classes, self._settings, self._accumulator = (
            schema,
            labelled.classes,
            settings,
            accumulator,
        )
        self._labelled = labelled
        self._plain = FittedModel(settings, schema, labelled, self.classes)
        self._rows = self._read(table)
        #: The classes of the rows; -1 where there is none.
        self.y = y
        at = np.flatnonzero((y >= 0) & (self._rows.weight > 0))
        self._y, self._told = y[at], self._rows.some(at)

    def _read(self, table: Frame) -> Rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelsWarning)
            batch, _ = encode_rows(table, self._plain)
        weight = self._accumulator.weight
        return Rows(batch, np.ones(batch.n_rows) if weight is None else weight)

    def _model(self, stats: Stats, parts: tuple[Part, ...] | None = None) -> FittedModel:
        """The model of some statistics; with the parts of an earlier step, only what EM estimates changes."""
        if parts is not None:
            pairs = zip(parts, stats.blocks, strict=True)
            parts = tuple(
                replace(part, family=part.family.resolve(block, again=True)) for part, block in pairs
            )
        return FittedModel(self._settings, self.schema, stats, self.classes, resolved=parts)

    def _counted(self, rows: Rows, codes: Codes, weight: Floats) -> Stats:
        """Statistics of rows of these classes, with the levels and words of all rows."""
        accumulator = replace(self._accumulator, classes=self.classes, codes=codes, weight=weight)
        blocks: list[Any] = []
        for k, (part, like) in enumerate(zip(self._plain.parts, self._plain.blocks, strict=True)):
            names = [self.schema.names[j] for j in part.columns]
            block, family = rows.batch.blocks[k], part.family
            found = accumulator.accumulate(block, family.terms, family.fit_support, names)
            blocks.append(found.with_levels_of(like))
        n, total = engines.current().totals(codes, weight, len(self.classes))
        return Stats(self.classes, n, total, tuple(blocks))

    def _folds(self) -> Iterator[tuple[Stats, Floats, Positions]]:
        """Statistics of labelled rows without some, their weights, and these rows, with their share of every class."""
        n = min(FOLDS, int(np.bincount(self._y).max()))
        if n < 2:
            return
        order = np.random.default_rng(0).permutation(len(self._y))
        fold = np.empty(len(order), int)
        fold[order[np.argsort(self._y[order], kind="stable")]] = np.arange(len(order)) % n
        for k in range(n):
            w = np.where(fold == k, 0.0, self._told.weight)
            yield self._counted(self._told, self._y, w), w, np.flatnonzero(fold == k)

    def _ranks(self, models: list[Held]) -> Floats:
        """1 where the label of a row is the best of a model that does not know it, 1/2 where it is the second best, ...

        Of many classes that says more than how often it is the best one; 0 for rows that no model was asked about.
        """
        found = np.zeros(len(self._y))
        for fitted, rows in models:
            joint, _ = scored(fitted, self._told.batch.some(rows), "joint")
            own, k = joint[np.arange(len(rows)), self._y[rows]], np.arange(len(self.classes))
            better = (joint > own[:, None]) | ((joint == own[:, None]) & (k < self._y[rows][:, None]))
            found[rows] = 1.0 / (1.0 + better.sum(axis=1))
        return found

    def ranks_alone(self) -> Floats:
        """The same by models of the other labelled rows."""
        return self._ranks([(self._model(rest), rows) for rest, _, rows in self._folds()])

    def left_out(self, fitted: FittedModel) -> LeaveOneOut:
        """The labelled rows, each to be scored without itself, by a model of them."""
        weight = None if self._accumulator.weight is None else self._told.weight
        return LeaveOneOut(fitted, self._told.batch, self._y, weight)


class SemiSupervised(LabelledRows):
    """A table some of whose rows have no label, and models of all of it.

    Rows that have none are a class of their own, the last, in the statistics `every`.
    """

    def __init__(
        self, settings: Settings, schema: Schema, every: Stats, table: Frame, accumulator: Accumulator
    ) -> None:
        labels = np.empty(0) if accumulator.labels is None else accumulator.labels
        known = np.flatnonzero(every.classes < len(labels))  # classes of weight 0 are not there
        if len(known) == 0:
            raise ValueError("no row with a label has a weight above 0. Give one of each class a weight.")
        there, blocks = every.classes[known], (block.keep_classes(known) for block in every.blocks)
        labelled = Stats(labels[there], every.rows[known], every.weight[known], tuple(blocks))
        place = np.full(len(labels) + 1, -1, np.int32)
        place[there] = np.arange(len(known))
        super().__init__(settings, schema, labelled, table, accumulator, place[accumulator.codes])
        untold = (accumulator.codes == len(labels)) & (self._rows.weight > 0)
        self._untold = self._rows.some(np.flatnonzero(untold))

    def learn(self, weight: Any, alone: LabelledRows) -> tuple[Stats | None, Em, LeaveOneOut | None]:
        """Statistics of all rows, unless `alone` the labelled ones are better; how; and the labelled rows held out."""
        n = len(self._told.weight), len(self._untold.weight)
        weights = WEIGHTS if weight == "auto" else (float(weight),)
        best, end, held_out = 0.0, None, None
        scores: dict[float, float] = {}
        if n[1]:
            best, end, scores, held_out = self._proven(weights, alone)
        if end is None:
            return None, Em(0.0, *n, 0, True, (), True, scores), None
        stats = self._labelled + self._shared_out(end.p, best, self._once(end.p))
        em = Em(best, *n, len(end.trace), end.converged, end.trace, end.is_likelihood, scores)
        return stats, em, held_out

    # The two steps.

    def _climb(self, labelled: Stats, w: Floats, weight: float) -> Climb:
        """EM from the model of labelled rows alone, which have weights w."""
        p = self._expected(self._model(labelled))[0]
        once, trace, end = self._once(p), [], None
        for step in range(STEPS):
            stats = labelled + self._shared_out(p, weight, once)
            fitted = self._model(stats, None if end is None else end.fitted.parts)
            after, found = self._expected(fitted)
            value, pull = weight * found + self._log_joint(fitted, w), self._pull(fitted)
            is_likelihood = not np.isnan(pull)
            value += pull if is_likelihood else 0.0
            moved = int((after.argmax(axis=1) != p.argmax(axis=1)).sum())
            told = weight, step + 1, value, moved, len(p)
            _log.info("EM, weight %g, step %d: log-likelihood %.9g, %d of %d rows moved", *told)
            if end is not None and is_likelihood and value < trace[-1] - 1e-9 * abs(trace[-1]):
                _log.info("EM: the log-likelihood fell; the step before is kept")
                return end
            trace.append(value)
            change = np.inf if end is None else abs(trace[-1] - trace[-2])
            p, end = (
                after,
                Climb(after, fitted, tuple(trace), is_likelihood, change <= TOLERANCE * abs(value)),
            )
            if end.converged:
                break
        assert end is not None
        return end

    def _expected(self, fitted: FittedModel) -> tuple[Floats, float]:
        """The E step: probabilities of the classes for rows without a label; and the log-likelihood of the rows."""
        joint, _ = scored(fitted, self._untold.batch, "joint")
        log_density = log_sum_exp(joint, axis=1)
        p, _ = engines.current().normalise(joint, fitted.log_class_prior, "proba")  # in place
        likely = np.isfinite(log_density)
        return p, float(self._untold.weight[likely] @ log_density[likely])

    def _log_joint(self, fitted: FittedModel, w: Floats) -> float:
        """The log-likelihood of labelled rows and their labels."""
        joint, _ = scored(fitted, self._told.batch, "joint")
        own = joint[np.arange(len(self._y)), self._y]
        return float(w @ np.where(np.isfinite(own), own, 0.0))

    def _pull(self, fitted: FittedModel) -> float:
        """What the priors add; NaN where it is not known, or classes weigh differently."""
        if fitted.factors is not None:
            return float("nan")
        pairs = zip(fitted.parts, fitted.blocks, strict=True)
        return sum(part.family.log_prior_density(block, fitted.stats.weight) for part, block in pairs)

    def _once(self, p: Floats) -> Stats:
        """Unlabelled rows as rows: each is one of its most probable class."""
        return self._counted(self._untold, p.argmax(axis=1).astype(np.int32), self._untold.weight)

    def _shared_out(self, p: Floats, weight: float, once: Stats) -> Stats:
        """The M step: statistics of unlabelled rows that count for every class by its probability.

        As rows they count once, because rows say whether something was seen, and how many documents have a word.
        """
        shares = weight * self._untold.weight[:, None] * np.where(p > DUST, p, 0.0)
        zeros = np.zeros(len(p), np.int32)
        each = [
            replace(self._accumulator, classes=self.classes[:1], codes=zeros, weight=np.ascontiguousarray(w))
            for w in shares.T
        ]
        blocks = []
        for k, part in enumerate(self._plain.parts):
            family, block = part.family, self._untold.batch.blocks[k]

            def of_class(c: int, block: Block = block, family: Family = family) -> Any:
                return each[c].accumulate(block, family.terms, family.fit_support)

            blocks.append(block.share_out(shares, once.blocks[k], of_class))
        return Stats(self.classes, once.rows, shares.sum(axis=0), tuple(blocks))

    # The proof.

    def _proven(
        self, weights: tuple[float, ...], alone: LabelledRows
    ) -> tuple[float, Climb | None, dict[float, float], HeldOut | None]:
        """The first weight that does better on labelled rows held out than 0, and that by more than chance."""
        w, total, folds = self._told.weight, self._told.weight.sum(), list(self._folds())
        if not folds:  # all that can be seen is that it still knows the labelled rows
            for weight in weights:
                end = self._climb(self._labelled, w, weight)
                if self._still_right(end.fitted):
                    return weight, end, {}, self._held_out([])
            return 0.0, None, {}, None
        before = alone.ranks_alone()
        scores = {0.0: float(w @ (before == 1.0) / total)}
        for weight in weights:
            models: list[Held] = []
            for rest, rest_w, rows in folds:
                models.append((self._climb(rest, rest_w, weight).fitted, rows))
                so_far = np.concatenate([rows for _, rows in models])
                after = self._ranks(models)
                gain = w * (after - before)
                chance = np.sqrt(((gain - w * gain[so_far].sum() / w[so_far].sum()) ** 2)[so_far].sum())
                if gain[so_far].sum() < -2.0 * chance:
                    break
            scores[weight] = float(w[so_far] @ (after == 1.0)[so_far] / w[so_far].sum())
            _log.info("EM: accuracy on labelled rows held out, by the weight of unlabelled ones: %s", scores)
            if gain.sum() > chance:
                end = self._climb(self._labelled, w, weight)
                if gain.sum() > 2.0 * chance or self._still_right(end.fitted):
                    return weight, end, scores, self._held_out(models)
        return 0.0, None, scores, None

    def _still_right(self, fitted: FittedModel) -> bool:
        """Whether a model gives labelled rows their labels as well as one of these rows alone."""

        def right(model: FittedModel) -> float:
            return float(self._told.weight @ (scored(model, self._told.batch, None)[0] == self._y))

        return right(fitted) >= STILL_RIGHT * right(self._plain)

    def _held_out(self, folds: list[Held]) -> HeldOut:
        """Labelled rows with models that do not know them; a row that is the only one of its class counts nothing."""
        single = np.bincount(self._y, minlength=len(self.classes))[self._y] < 2
        weight = np.where(single, 0.0, self._told.weight)
        return HeldOut(self._plain, self._told.batch, self._y, weight, folds=tuple(folds))


@dataclass(frozen=True)
class HeldOut(LeaveOneOut):
    """Labelled rows, each to be scored by a model that learned without it."""

    folds: tuple[Held, ...] = ()

    def log_proba(self) -> Floats:
        """Log-probability of every class for every row, calibrated as `fitted` is."""
        values = np.zeros((self.batch.n_rows, len(self.fitted.classes)))
        for fitted, rows in self.folds:
            model = fitted if self.fitted.calibration is None else fitted.calibrated(self.fitted.calibration)
            values[rows] = scored(model, self.batch.some(rows), "log_proba")[0]
        return values

    def block(self, k: int) -> Floats:
        """What block k adds to the scores of all rows, before any calibration: rows x classes."""
        values = np.zeros((self.batch.n_rows, len(self.fitted.classes)))
        for fitted, rows in self.folds:
            values[rows] = block_scores(fitted, self.batch.some(rows), k, fitted.plain_forms[k])
        return values

    def cells(self, k: int, rows: Any) -> Floats:
        """What the columns of block k add to the scores of some rows before calibration: rows x classes x columns."""
        places, n = np.arange(self.batch.n_rows)[rows], len(self.fitted.parts[k].columns)
        found = np.zeros((len(places), len(self.fitted.classes), n))
        for fitted, held in self.folds:
            at = np.flatnonzero(np.isin(places, held))
            support, form = fitted.supports[k], fitted.plain_forms[k]
            x = array.read(self.batch.blocks[k], support, places[at])
            shape = len(at), len(fitted.classes), n, -1
            found[at] = form.finite.cells(x).reshape(shape).sum(axis=3)
            if form.impossible is not None:
                impossible = form.impossible.cells(x).reshape(shape).sum(axis=3)
                found[at] = np.where(impossible > 0, -np.inf, found[at])
        return found
