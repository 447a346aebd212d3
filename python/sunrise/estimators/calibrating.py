"""Calibration of an estimator, with its score by folds."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise.data.blocks import Batch
from sunrise.data.row_hash import mix
from sunrise.estimators.base import Estimator
from sunrise.estimators.interacting import KeptPairs, PairFinder, with_counted_pairs, with_interactions
from sunrise.estimators.training_rows import TrainingRows
from sunrise.inference.calibration import Calibrated, Rest, calibrate
from sunrise.inference.folds import hashes_of_table, weighted_folds
from sunrise.inference.held_out import HeldOut
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.word_choice import calibrate_words, can_weight_words
from sunrise.model.choice import Choice
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.interaction import Interaction
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.duplicates import ColumnSample
from sunrise.selection.pairs import all_pairs
from sunrise.statistics.model import Stats

#: calibrate="auto" needs this number of rows in total, and this number in each of two classes.
FEWEST_ROWS, FEWEST_ROWS_OF_CLASS = 30, 5
#: calibrate="auto" needs at most this number of classes: the cost grows with rows x classes.
MOST_CLASSES = 200
#: Most rows of a sample for calibration, and most scores (rows x classes x columns), but no fewer rows than the third
#: number.
MOST_SAMPLED, MOST_SCORES, FEWEST_SAMPLED = 1 << 15, 1 << 22, 2048
#: calibrate="auto" has one weight for each column up to this number of scores (classes x columns) of a row.
MOST_SCORES_OF_ROW = 1 << 13


class CalibratingMixin(Estimator):
    """Calibration on training rows, and the score by folds."""

    @abstractmethod
    def _first_statistics(
        self,
        settings: Settings,
        rows: TrainingRows,
        sample: ColumnSample | None = None,
        of_all_rows: Sequence[Choice] = (),
    ) -> tuple[Schema, Stats]:
        """Choose the families of the columns and accumulate the table."""

    def _recalibrate(self, settings: Settings, rows: TrainingRows, find_pairs: bool = False) -> None:
        """Calibrate the model on training rows, and store the score by folds as `loo_score_`.

        With `find_pairs` the rows are those of the fit, and choose the interactions, too. A model that keeps pairs
        chooses among them.
        """
        keeps_pairs = settings.keep_pairs is not None or bool(self._model.schema.counted)
        candidates = None
        # With many classes, a score of every row and class would take longer than the fit.
        if self._calibration_kind() != "auto" or len(self._model.classes) <= MOST_CLASSES:
            kept = KeptPairs.of(self._model) if keeps_pairs and not find_pairs else None
            calibrated = self._judge(settings, rows, find_pairs, kept)
            self._set_calibrated(calibrated, keeps_pairs)
            candidates = calibrated.candidates
        if keeps_pairs and find_pairs:
            self._keep_pairs(rows, candidates)

    def _keep_pairs(self, rows: TrainingRows, candidates: tuple[Interaction, ...] | None) -> None:
        """Count the pairs that a search has considered, or would consider, on the rows of a fit."""
        if candidates is None:
            a = rows.accumulator
            candidates = all_pairs(self._model.schema, rows.table, a.codes, a.weight, a.n_jobs)
        self._model = with_counted_pairs(self._model, candidates, rows)
        self.stats_ = self._model.given_stats

    def _set_calibrated(self, calibrated: Calibrated, keeps_pairs: bool = False) -> None:
        calibration, model = calibrated.calibration, calibrated.model
        if calibration is not None:
            calibration = replace(calibration, total_weight=float(self.stats_.weight.sum()))
            if calibrated.candidates is not None:
                weights, known = calibration.weights[len(model.schema.names) :], self._model.schema.correlated
                chosen = zip(model.schema.interactions, weights > 0, strict=True)
                keep = [k for k, (own, is_used) in enumerate(chosen) if is_used or own == known]
                self._model = model.calibrated(calibration).with_interactions_at(keep, keeps_pairs)
                self.stats_ = self._model.given_stats
                calibration = self._model.calibration
        self._set_calibration(calibration)
        self.__dict__["loo_score_"] = calibrated.score

    def _judge(
        self, settings: Settings, rows: TrainingRows, find_pairs: bool = False, kept: KeptPairs | None = None
    ) -> Calibrated:
        """Return a calibration of the model on training rows, or a sample of them, and the score by folds.

        With `find_pairs` interactions are chosen again, by these rows; with `kept`, they are chosen among those.
        """
        find_pairs = (find_pairs or kept is not None) and settings.interactions in ("auto", "pairs")
        model, all_rows, some = self._model.uncalibrated, rows, None
        model = model.columns_alone if find_pairs else model
        makes_choices = any(choice.scores for choice in model.schema.choices)
        if makes_choices or self._calibration_kind() is not None:
            n_scores = len(model.classes) * max(1, len(model.schema.used))
            some = _sample_rows(rows, max(FEWEST_SAMPLED, min(MOST_SAMPLED, MOST_SCORES // n_scores)))
            rows = rows if some is None else rows.select_rows(some)
        accumulator = rows.accumulator
        batch, _ = encode_rows(rows.table, model)
        left_out = self._leave_one_out_rows(
            model, batch, accumulator.classes, accumulator.codes, accumulator.weight
        )
        # Hashes of the rows make the folds; a model without choices needs none.
        if self._calibration_kind() is None and not makes_choices:
            return Calibrated(None, left_out.score(left_out.log_proba()), model)
        hashes = hashes_of_table(rows.table, model.schema)
        kind = self._resolved_kind(left_out, hashes)
        if kept is not None and find_pairs and kind != "columns":  # pairs need weights of their own
            return self._judge(settings, all_rows)
        if kind is None and not makes_choices:
            return Calibrated(None, left_out.score(left_out.log_proba()), model)
        if kind == "words":
            return calibrate_words(left_out, hashes)
        find_pairs = find_pairs and kind == "columns"
        fold = weighted_folds(hashes, accumulator.codes, accumulator.weight)
        counted_anew = None if kept is None else kept._replace(model=None)

        def learn_rest(k: int) -> Rest:
            return self._learn_rest(settings, rows, fold, k, hashes if find_pairs else None, counted_anew)

        with_block = settings.interactions == "auto"
        finder = PairFinder(all_rows, left_out, hashes, some, with_block, kept) if find_pairs else None
        try:
            calibrated = calibrate(left_out, kind, fold, learn_rest, finder)
        except _RestError:  # the rows of the other folds cannot be fitted, for example without smoothing
            calibrated = calibrate(left_out, kind, fold, None, finder)
        if finder is None:
            return calibrated
        if kept is not None and finder.candidates is None:  # too few rows for a search
            return self._judge(settings, all_rows)
        return calibrated._replace(candidates=finder.candidates)

    def _learn_rest(
        self,
        settings: Settings,
        rows: TrainingRows,
        fold: Codes,
        k: int,
        hashes: Any,
        kept: KeptPairs | None,
    ) -> Rest:
        """Fit a model to the rows outside fold k, choices included, and encode these rows and the rows of the fold.

        With `hashes` of the rows, interactions are chosen, too, among `kept`.
        """
        if settings.unseen == "error":  # the fold may have levels that the other rows do not have
            settings = replace(settings, unseen="ignore")
        outside = np.flatnonzero((fold >= 0) & (fold != k))
        rest, held = (rows.select_rows(some) for some in (outside, np.flatnonzero(fold == k)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                known = self._model.schema.choices
                schema, stats = self._first_statistics(settings, rest, of_all_rows=known)
                model = FittedModel(settings, schema, stats, self._model.classes)
                if hashes is None and (given := self._model.schema.interactions):
                    model = with_interactions(model, given, rest)
                problems = zip(model.parts, model.given_stats.blocks, strict=True)
                if any(part.family.find_problem(block) for part, block in problems):
                    raise _RestError
                encoded = [encode_rows(part.table, model)[0] for part in (rest, held)]
            except ValueError as error:
                raise _RestError from error
        of_rest, of_held = (
            self._leave_one_out_rows(
                model, batch, part.accumulator.classes, part.accumulator.codes, part.accumulator.weight
            )
            for batch, part in zip(encoded, (rest, held), strict=True)
        )
        everywhere = np.arange(of_held.batch.n_rows)
        held_out = HeldOut(model, of_held.batch, of_held.y, of_held.weight, folds=((model, everywhere),))
        if hashes is None:
            return Rest(of_rest, held_out)
        with_block = settings.interactions == "auto"
        finder = PairFinder(rest, of_rest, hashes[outside], None, with_block, kept, (held, held_out))
        return Rest(of_rest, held_out, finder)

    def _resolved_kind(self, rows: LeaveOneOut, hashes: Any) -> str | None:
        """Return the kind of calibration for these rows: "auto" is None with too few rows or too many classes.

        Equal rows count once: repeats say no more about the weights, and a weight of k is the same as k rows.
        """
        kind = self._calibration_kind()
        if kind == "words" and not can_weight_words(rows.model):
            raise ValueError(
                'calibrate="words" needs a model of one text column whose words are scored one by one: "odds", '
                '"multinomial", "complement" or "bernoulli", without idf_first. Use calibrate="auto".'
            )
        if kind != "auto":
            return kind
        if len(rows.model.classes) > MOST_CLASSES:
            return None
        present = np.flatnonzero(rows.fitted_weight > 0)
        if not any(_has_enough_rows(hashes[some], rows.y[some]) for some in (present[:1000], present)):
            return None
        if can_weight_words(rows.model):
            return "words"
        n_weights = sum(not part.family.joint and len(part.columns) for part in rows.model.parts)
        n_scores = len(rows.model.classes) * n_weights
        return "columns" if 0 < n_scores <= MOST_SCORES_OF_ROW else "temperature"

    @staticmethod
    def _leave_one_out_rows(
        model: FittedModel, batch: Batch, classes: Labels, codes: Codes, weight: Floats | None
    ) -> LeaveOneOut:
        """Return training rows, encoded for scoring each row with the row itself removed from the statistics."""
        position = labels.locate(model.classes, classes)
        if weight is not None:  # rows of weight 0 may have an unknown label
            counted = np.isin(np.arange(len(position)), codes[weight > 0])
            position = np.where((position < 0) & ~counted, 0, position)
        if (position < 0).any():
            unknown = classes[position < 0].tolist()[0]
            raise ValueError(
                f"no row of class {unknown!r} was fitted; the classes are {model.classes.tolist()}. "
                "Pass rows that the model was fitted to."
            )
        return LeaveOneOut(model, batch, position.astype(np.int32)[codes], weight)


def _has_enough_rows(hashes: Any, y: Codes) -> bool:
    """True if the different rows are enough to calibrate a model."""
    _, first = np.unique(mix(hashes ^ mix(y.astype(np.uint64))), return_index=True)
    n_rows = np.bincount(y[first], minlength=2)
    return bool(n_rows.sum() >= FEWEST_ROWS and np.sort(n_rows)[-2] >= FEWEST_ROWS_OF_CLASS)


def _sample_rows(rows: TrainingRows, most: int) -> Positions | None:
    """Return the positions of a fixed uniform sample of the rows; None for all rows."""
    n = rows.table.n_rows
    return None if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


class _RestError(Exception):
    """The rows outside a fold cannot be fitted."""
