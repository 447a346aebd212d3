"""Held-out rows: rows that are scored by models that were fitted without them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.data.blocks import Batch
from sunrise.engines import array
from sunrise.forms.table import Table
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.fitted import FittedModel
from sunrise.model.score import block_scores, score_rows
from sunrise.numerics.special import log

#: A model, and the positions of the rows that it was fitted without.
Fold = tuple[FittedModel, Positions]


@dataclass(frozen=True)
class HeldOut(LeaveOneOut):
    """Rows that are scored by models of other rows, in place of leave-one-out."""

    folds: tuple[Fold, ...] = ()

    @cached_property
    def is_only_row_of_class(self) -> Mask:
        """Mask of the rows whose class has no row in the model that scores them."""
        is_only_row = np.zeros(self.batch.n_rows, bool)
        for model, rows in self.folds:
            is_only_row[rows] = model.stats.rows[self.y[rows]] == 0
        return is_only_row

    def log_proba(self) -> Floats:
        """Return log-probabilities, rows x classes, with the calibration of `self.model`."""
        values = np.zeros((self.batch.n_rows, len(self.model.classes)))
        for model, rows in self.folds:
            model = model if self.model.calibration is None else model.calibrated(self.model.calibration)
            values[rows] = score_rows(model, self.batch.select_rows(rows), "log_proba")[0]
        return values

    def block(self, k: int) -> Floats:
        """Return the uncalibrated scores of block k, rows x classes."""
        values = np.zeros((self.batch.n_rows, len(self.model.classes)))
        for model, rows in self.folds:
            values[rows] = block_scores(model, self.batch.select_rows(rows), k, model.plain_forms[k])
        return values

    def cells(self, k: int, rows: Any) -> Floats:
        """Return the uncalibrated scores of the columns of block k for some rows, rows x classes x columns."""
        positions, n = np.arange(self.batch.n_rows)[rows], len(self.model.parts[k].columns)
        scores = np.zeros((len(positions), len(self.model.classes), n))
        for model, held_out in self.folds:
            at = np.flatnonzero(np.isin(positions, held_out))
            support, form = model.supports[k], model.plain_forms[k]
            x = array.read(self.batch.blocks[k], support, positions[at])
            shape = len(at), len(model.classes), n, -1
            scores[at] = form.finite.cells(x).reshape(shape).sum(axis=3)
            if form.impossible is not None:
                impossible = form.impossible.cells(x).reshape(shape).sum(axis=3)
                scores[at] = np.where(impossible > 0, -np.inf, scores[at])
        return scores

    def like(self, batch: Batch, y: Codes) -> HeldOut | None:
        """Return other held-out rows of the same model; None if there are several models."""
        if len(self.folds) != 1:
            return None
        return HeldOut(self.model, batch, y, None, folds=((self.folds[0][0], np.arange(batch.n_rows)),))

    def _level_tables(self, k: int) -> tuple[Table, Floats] | None:
        """The table of block k and its entries, because no row has to be left out; None if there are several models."""
        form = self.folds[0][0].plain_forms[k] if len(self.folds) == 1 else None
        return (form, form.values) if isinstance(form, Table) else None

    def log_class_prior(self, rows: Any) -> Floats:
        """Return the log class prior of the models that score the rows, rows x classes."""
        return self._by_fold(rows, lambda model: model.log_class_prior)

    def log_frequencies(self, rows: Any) -> Floats:
        """Return the log class frequencies in the rows of the models that score the rows, rows x classes."""
        return self._by_fold(rows, lambda model: log(model.stats.weight / model.stats.weight.sum()))

    def _by_fold(self, rows: Any, of_model: Any) -> Floats:
        values = np.zeros((self.batch.n_rows, len(self.model.classes)))
        for model, held_out in self.folds:
            values[held_out] = of_model(model)
        return np.asarray(values[rows])
