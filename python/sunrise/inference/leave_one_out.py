"""Leave-one-out: the scores of training rows under the model without the row, computed without another fit.

The statistics of the row are subtracted. Settings that were chosen from the data (prior scales, alphas, variance
smoothing, levels, calibration) do not change. For most families, leaving a cell out changes only the score of the class
of the row, and the change depends only on the sums of this class and column. Where a class never saw a column, or where
rows of counts have missing cells, all classes of the column or the row are estimated again, for many rows at once. The
few rows that are left are subtracted from the statistics one by one, and the block is estimated again.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np

from sunrise import _native, engines
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise._common.warnings import LostPrecisionWarning
from sunrise.data.blocks import Batch, Block, DenseBlock, LevelsBlock
from sunrise.engines import array
from sunrise.families.base import Family
from sunrise.families.left_out import CellsLeftOut, RowsLeftOut
from sunrise.forms.base import Form, apply_weight
from sunrise.forms.table import Table
from sunrise.inference.left_out_blocks import LeftOutBlocks
from sunrise.inference.scores import LooScore, score_of
from sunrise.model.class_prior import log_share_without
from sunrise.model.score import block_scores, by_row, row_factors, score_rows
from sunrise.numerics.special import log
from sunrise.statistics.base import NeverSeenError
from sunrise.statistics.terms import LEVEL, X


class LeaveOneOut(LeftOutBlocks):
    """Training rows of a fitted model, each to be scored without itself."""

    @cached_property
    def own_log_prior(self) -> Floats:
        """Log prior of the class of every row, without the row."""
        model = self.model
        log_prior = model.log_prior[self.y]
        if model.is_prior_fitted and model.is_generative:
            log_prior = log_prior + self._log_share_without()
        return np.where(self.is_only_row_of_class, -np.inf, log_prior)

    def _log_share_without(self, rows: Any = slice(None)) -> Floats:
        """Return the change of the log class prior of some rows if the row is left out."""
        weight, y = self.model.stats.weight, self.y[rows]
        if self.weight is not None:
            return log_share_without(weight[y], self.fitted_weight[rows])
        factors = np.ones(len(weight)) if self.model.factors is None else self.model.factors
        return np.asarray(log_share_without(weight, factors)[y])  # all rows of a class weigh the same

    def log_proba(self) -> Floats:
        """Return log-probabilities, rows x classes; -inf for a class whose only row is left out."""
        stats, w = self.model.stats, self.fitted_weight
        self._refuse_rows((stats.rows[self.y] < (w > 0)) | (w > (1.0 + 1e-9) * stats.weight[self.y]))
        model, factors = self.model, row_factors(self.model, self.batch)
        own_scores, all_classes = self.own_log_prior, {}
        for k in range(len(model.parts)):
            factor = factors.get(k, np.ones(1))
            if self._changes_all_classes(k):
                all_classes[k] = apply_weight(self._all_class_scores(k), factor[:, None])
            else:
                own_scores = own_scores + apply_weight(self._own_class_scores(k), factor)
        refit = np.isnan(own_scores) | np.any([np.isnan(s).any(axis=1) for s in all_classes.values()], axis=0)
        refit &= w > 0
        own_scores = np.where(refit | self.is_only_row_of_class | (w == 0), -np.inf, own_scores)
        if all_classes:
            total = np.tile(model.log_prior, (self.batch.n_rows, 1))
            for k in range(len(model.parts)):
                if k not in all_classes:
                    total += by_row(block_scores(model, self.batch, k, model.forms[k]), factors.get(k))
            total[np.arange(len(own_scores)), self.y] = own_scores
            total += np.where((refit | (w == 0))[:, None], 0.0, sum(all_classes.values()))
            values, n_impossible = array.log_normalise(total, model.log_class_prior, "log_proba")
        else:
            values, n_impossible = score_rows(model, self.batch, "log_proba", (self.y, own_scores))
            total = (
                score_rows(model, self.batch, "joint", (self.y, own_scores))[0] if n_impossible else values
            )
        if n_impossible:
            impossible = np.isneginf(total).all(axis=1)
            values[impossible] = self.log_class_prior(impossible)
        for i in np.flatnonzero(refit | self.is_only_row_of_class).tolist():
            values[i] = self._refit_row(i, factors)
        if (absent := w == 0).any():  # rows that are not in the statistics are scored by the whole model
            values[absent] = score_rows(model, self.batch, "log_proba")[0][absent]
        return values

    def cells(self, k: int, rows: Any) -> Floats:
        """Return the uncalibrated scores of the columns of block k for some rows, rows x classes x columns."""
        part, y, support = self.model.parts[k], self.y[rows], self.model.supports[k]
        numbers = array.numbers(self.batch.blocks[k], support, rows)
        views = (len(y), len(self.model.classes), len(part.columns), -1)
        if self._changes_all_classes(k):
            scores = self._all_class_cells(k, rows)
        else:
            x = numbers if support.views == (X,) else support.views_of(numbers)
            scores = np.asarray(self.model.plain_forms[k].finite.cells(x).reshape(views).sum(axis=3))
            scores[np.arange(len(y)), y] = self._own_class_cells(k, rows, numbers)
        positions = np.arange(self.batch.n_rows)[rows]
        refit = np.isnan(scores).any(axis=(1, 2))
        for at in np.flatnonzero(refit & self._is_removable[rows]).tolist():
            scores[at] = self._refit_cells(int(positions[at]), k)
        return scores

    def like(self, batch: Batch, y: Codes) -> LeaveOneOut | None:
        """Return other rows without sample weights, scored in the same way; None if that depends on the row."""
        return LeaveOneOut(self.model, batch, y, None)

    def write_levels(self, k: int, rows: Positions, out: Floats, first: int) -> bool:
        """Write the `cells` of block k for some rows into `out`, rows x (classes - 1) x columns, from `first` on.

        They are differences from the first class. False if block k has no table of levels, or not all are finite.
        """
        block, tables = self.batch.blocks[k], self._level_tables(k)
        if tables is None or not isinstance(block, LevelsBlock):
            return False
        (form, own), n = tables, len(rows) * len(block.codes) * len(self.model.classes)
        entries = [
            form.entries_of(j, np.arange(codes.max(initial=-1) + 1)) for j, codes in enumerate(block.codes)
        ]
        columns = [np.ascontiguousarray(codes, np.int32) for codes in block.codes]
        data = columns, entries, np.ascontiguousarray(form.values), np.ascontiguousarray(own)
        n_threads = engines.threads(self.model.n_jobs, n)
        return _native.level_differences(*data, self.y, rows, out, first, n_threads)

    def _level_tables(self, k: int) -> tuple[Table, Floats] | None:
        """The table of block k, and its entries for the class of a row without the row; None if it has no tables."""
        form, hook = self.model.plain_forms[k], self._hooks[k]
        own = hook.form if isinstance(hook, CellsLeftOut) else None
        if not isinstance(form, Table) or not isinstance(own, Table) or self._changes_all_classes(k):
            return None
        return (form, own.values) if np.array_equal(form.codes, own.codes) else None

    def block(self, k: int) -> Floats:
        """Return the uncalibrated scores of block k, rows x classes."""
        if self._changes_all_classes(k):
            scores = self._all_class_scores(k, weighted=False)
        else:
            scores = block_scores(self.model, self.batch, k, self.model.plain_forms[k])
            scores[np.arange(len(scores)), self.y] = self._own_class_scores(k)
        scores[self.batch.missing_documents(k)] = 0.0
        for i in np.flatnonzero(np.isnan(scores).any(axis=1) & self._is_removable).tolist():
            scores[i] = self._refit_cells(i, k).sum(axis=1)
        return scores

    def _refit_cells(self, i: int, k: int) -> Floats:
        """Return the scores of the columns of block k for row i, without it, classes x columns; -inf if impossible."""
        cells, counts = self._refit_cells_and_impossible(i, k)
        return np.where(counts > 0, -np.inf, cells)

    def _refit_row(self, i: int, factors: dict[int, Floats]) -> Floats:
        """Return the log-probabilities of row i under blocks that are estimated without the row."""
        model, y = self.model, self.y[i : i + 1]
        total, impossible = model.log_prior.copy(), np.zeros(len(model.classes))
        total[y] = self.own_log_prior[i]
        if np.isneginf(total).all():  # the only row of the data
            return total
        for k in range(len(model.parts)):
            weights = model.weights(k)
            cells, counts = self._refit_cells_and_impossible(i, k)
            total += apply_weight(cells, weights).sum(axis=1) * (factors[k][i] if k in factors else 1.0)
            impossible += (counts * (weights > 0)).sum(axis=1)
        score = array.forbid(total[None], impossible[None])
        return np.asarray(
            array.log_normalise(score, self.log_class_prior(slice(i, i + 1)), "log_proba")[0][0]
        )

    def _refit_cells_and_impossible(self, i: int, k: int) -> tuple[Floats, Floats]:
        """Return the scores of the columns of block k for row i, and the number of impossible cells, without the row.

        Both are classes x columns.
        """
        model, rows, part, block = self.model, slice(i, i + 1), self.model.parts[k], self.batch.blocks[k]
        if self.batch.missing_documents(k)[i]:
            return (zeros := np.zeros((len(model.classes), len(part.columns)))), zeros
        x = array.read(block, part.family.support, rows)
        hook = self._hooks[k]
        if isinstance(hook, RowsLeftOut) and hook.documents is not None:
            x = hook.documents.read_again(x)
        views = len(model.classes), len(part.columns), -1
        if LEVEL in part.family.terms:
            cells = model.plain_forms[k].cells(x)[0]
            cells[self.y[i]] = self._own_class_cells(k, rows)[0]
            if np.isnan(cells[self.y[i]]).any():
                self._refuse_row(i)
            return cells, np.zeros_like(cells)
        form = self._form_without(i, part.family, model.blocks[k], block)
        cells = form.finite.cells(x)[0].reshape(views).sum(axis=2)
        if np.isnan(cells).any():
            self._refuse_row(i)
        if form.impossible is None:
            return cells, np.zeros_like(cells)
        return cells, form.impossible.cells(x)[0].reshape(views).sum(axis=2)

    def log_class_prior(self, rows: Any) -> Floats:
        """Return the leave-one-out log class prior of some rows, without calibration offsets, rows x classes."""
        model, y = self.model, self.y[rows]
        prior = np.tile(model.log_class_prior, (len(y), 1))
        if model.is_prior_fitted:
            prior[np.arange(len(y)), y] += self._log_share_without(rows)
        is_only_row = self.is_only_row_of_class[rows]
        prior[is_only_row, y[is_only_row]] = -np.inf
        is_empty = np.isneginf(prior).all(axis=1, keepdims=True)
        normalised = array.log_normalise(np.where(is_empty, 0.0, prior), prior[:1], "log_proba")[0]
        return np.where(is_empty, prior, normalised)

    def _form_without(self, i: int, family: Family, stats: Any, block: Block) -> Form:
        """Return the form of a block that is estimated without row i."""
        y, w = self.y[i : i + 1], self.fitted_weight[i : i + 1]
        class_weight = self.model.stats.weight.copy()
        class_weight[y] -= w
        row = DenseBlock(block.numbers(slice(i, i + 1)))
        one = array.accumulate(row, family.terms, family.fit_support, y, w, len(class_weight), 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LostPrecisionWarning)
                rest = stats - one
        except NeverSeenError:
            self._refuse_row(i)
        if not np.all(family.is_attainable(rest.select_classes(y))):
            self._refuse_row(i)
        # A row that was never fitted gives NaN, which the caller refuses.
        with np.errstate(invalid="ignore", divide="ignore"):
            return family.form(family.params(rest, class_weight))

    def log_frequencies(self, rows: Any) -> Floats:
        """Return the log class frequencies in the data without the row, rows x classes, whatever the class prior."""
        class_weight, y = self.model.stats.weight, self.y[rows]
        frequencies = np.tile(log(class_weight / class_weight.sum()), (len(y), 1))
        frequencies[np.arange(len(y)), y] += self._log_share_without(rows)
        return frequencies

    def score(self, log_proba: Floats, method: str = "leave-one-out") -> LooScore:
        """Return accuracy and log loss of the model and of the class prior; rows count by their sample weight."""
        weight = np.ones(len(log_proba)) if self.weight is None else self.weight
        use = (weight > 0) & ~self.is_only_row_of_class
        n_only_rows = int((self.is_only_row_of_class & (weight > 0)).sum())
        rows = log_proba[use], self.log_class_prior(use), self.y[use], weight[use]
        return score_of(*rows, self.model.classes, n_only_rows, method)
