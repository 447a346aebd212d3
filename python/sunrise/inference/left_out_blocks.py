"""The scores of single blocks of columns for training rows, each without the row itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.data.blocks import Batch, SparseBlock
from sunrise.engines import array
from sunrise.families.left_out import (
    Cells,
    CellsLeftOut,
    RowsLeftOut,
    as_sparse,
    score_classes_without_cells,
    score_sparse_rows,
)
from sunrise.forms.base import apply_weight
from sunrise.forms.kernel_removal import KernelRemoval
from sunrise.forms.removal import Removal
from sunrise.forms.table import Table
from sunrise.model.fitted import FittedModel
from sunrise.model.score import block_scores
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums


@dataclass(frozen=True)
class LeftOutBlocks:
    """Training rows of a fitted model, whose blocks of columns are scored without the row.

    `y` holds the class codes of the rows, `weight` the sample weights.
    """

    model: FittedModel
    batch: Batch
    y: Codes
    weight: Floats | None
    _joint_cache: dict[int, Floats | None] = field(default_factory=dict, repr=False)
    _row_cache: dict[int, Floats] = field(default_factory=dict, repr=False)
    _fitted_cache: dict[int, bool] = field(default_factory=dict, repr=False)

    @cached_property
    def fitted_weight(self) -> Floats:
        """Sample weight times class weight: the weight of every row in the statistics."""
        w = np.ones(self.batch.n_rows) if self.weight is None else self.weight
        return w if self.model.factors is None else w * self.model.factors[self.y]

    @cached_property
    def is_only_row_of_class(self) -> Mask:
        """Mask of the rows that are the only row of their class."""
        return np.asarray((self.model.stats.rows[self.y] <= 1) & (self.fitted_weight > 0))

    @cached_property
    def _is_removable(self) -> Mask:
        """Mask of the rows that are in the statistics, and whose class has other rows."""
        return np.asarray((self.fitted_weight > 0) & ~self.is_only_row_of_class)

    def select_rows(self, rows: Positions) -> Self:
        """Return some of the training rows, of the same model."""
        weight = None if self.weight is None else self.weight[rows]
        return type(self)(self.model, self.batch.select_rows(rows), self.y[rows], weight)

    def _own_class_scores(self, k: int) -> Floats:
        """Return the scores of block k for the class of every row, without the row; NaN if a new estimate is needed."""
        model, part, block = self.model, self.model.parts[k], self.batch.blocks[k]
        weights = model.weights(k)
        hook = self._hooks[k]
        if isinstance(hook, RowsLeftOut):
            return np.asarray(self._joint_own_class_scores(k) * weights)
        if isinstance(block, SparseBlock):
            rows = Cells.stored(block.canonical(), zeros=True)
            read, w = part.family.support.read, self.fitted_weight
            own_scores = score_sparse_rows(hook.score, read, rows, block.shape[1], self.y, w, weights)
            return self._fill_rows(k, own_scores)
        if isinstance(hook.form, Removal) and (weights == weights[0]).all():
            n_threads = engines.threads(model.n_jobs, block.shape[0] * block.shape[1])
            rest = model.supports[k], self.y, hook.form, n_threads
            own_scores = engines.current().leave_one_out_scores(block, *rest)
            return self._fill_rows(k, weights[0] * own_scores)
        if isinstance(hook.form, KernelRemoval):
            n_threads = engines.threads(model.n_jobs, 4 * block.shape[0] * block.shape[1])
            native, support = block.native(model.supports[k].views), model.supports[k]
            check = not self._is_fitted(k)
            return hook.form.scores(native, support, self.y, weights, check, n_threads)
        if isinstance(hook.form, Table):
            scores = block_scores(model, self.batch, k, hook.form.times(weights))
            return scores[np.arange(len(scores)), self.y]
        cells = (self._own_class_cells(k, rows) for rows in array.pieces(block))
        pieces = (apply_weight(piece, weights).sum(axis=1) for piece in cells)
        return np.concatenate([np.empty(0), *pieces])

    def _fill_rows(self, k: int, own_scores: Floats) -> Floats:
        """Return the scores of block k, with those that are NaN replaced by sums over cells."""
        rows = np.flatnonzero(np.isnan(own_scores) & self._is_removable)
        for some in (rows[start : start + 4096] for start in range(0, len(rows), 4096)):
            own_scores[some] = apply_weight(self._own_class_cells(k, some), self.model.weights(k)).sum(axis=1)
        return own_scores

    @cached_property
    def _pooled_columns(self) -> list[Mask]:
        """For every block, the mask of the columns that some class never saw.

        This class uses the estimate of all classes together, which changes without the row.
        """

        def pooled(k: int) -> Mask:
            hook, stats = self._hooks[k], self.model.blocks[k]
            if isinstance(hook, RowsLeftOut) or not hook.pools_unobserved:
                return np.zeros(len(self.model.parts[k].columns), bool)
            n = len(self.model.parts[k].family.fit_support.views)
            return np.asarray((np.broadcast_to(stats.rows, stats.x.shape)[:, ::n] == 0).any(axis=0))

        return [pooled(k) for k in range(len(self.model.parts))]

    @cached_property
    def _class_weight(self) -> Floats:
        """Weight of a row of every class, if there are no sample weights."""
        factors = self.model.factors
        return np.ones(len(self.model.classes)) if factors is None else factors

    @cached_property
    def _hooks(self) -> list[CellsLeftOut | RowsLeftOut]:
        """Leave-one-out functions of the blocks, from `Family.left_out`."""
        row_weight = self._class_weight if self.weight is None else None
        model = self.model
        blocks = zip(model.parts, model.blocks, model.params, strict=True)
        return [part.family.left_out(stats, params, row_weight) for part, stats, params in blocks]

    def _changes_all_classes(self, k: int) -> bool:
        """True if leaving a row out of block k changes the scores of all classes."""
        hook = self._hooks[k]
        if isinstance(hook, CellsLeftOut):
            return hook.score_all is not None or bool(self._pooled_columns[k].any())
        return hook.all_classes or (hook.score_rows is not None and self._joint_block_scores(k) is None)

    def _own_class_cells(self, k: int, rows: Any, x: Floats | None = None) -> Floats:
        """Return the leave-one-out scores of cells x for the class of their row, rows x columns."""
        family, hook, y = self.model.parts[k].family, self._hooks[k], np.asarray(self.y[rows])
        if isinstance(hook, RowsLeftOut):
            raise TypeError(f"the columns of {family.name} share one distribution: they have no own scores")
        if x is None:
            x = array.numbers(self.batch.blocks[k], self.model.supports[k], rows)
        if isinstance(hook.form, Table):
            return hook.form.own_class_cells(x, y)
        if isinstance(hook.form, KernelRemoval):
            return hook.form.cells(x, y, check=not self._is_fitted(k))
        if isinstance(hook.form, Removal):
            cells = hook.form.cells(self.model.supports[k].views_of(x), y)
        else:
            cells = np.zeros(x.shape)
            i, j = np.nonzero(~np.isnan(x))
            if len(i):
                cells[i, j] = hook.score(x[i, j], y[i], j, self.fitted_weight[rows][i])
        i, j = np.nonzero(np.isnan(cells) & self._is_removable[rows][:, None])
        if len(i) and isinstance(self.model.blocks[k], Sums | Moments):
            cells[i, j] = self._cells_without(k, rows, x, i, j)[np.arange(len(i)), y[i]]
        return cells

    def _cells_without(self, k: int, rows: Any, x: Floats, i: Positions, j: Positions) -> Floats:
        """Return the scores of cells x[i, j] for all classes, each without the cell, cells x classes."""
        y, w = self.y[rows][i], self.fitted_weight[rows][i]
        return score_classes_without_cells(self.model.parts[k].family, self.model.blocks[k], x[i, j], y, j, w)

    def _is_fitted(self, k: int) -> bool:
        """True if the cells of block k are known to be those of the fit, so that they need not be searched."""
        if k not in self._fitted_cache:
            hook: Any = self._hooks[k]
            block, support = self.batch.blocks[k], self.model.supports[k]
            n_threads = engines.threads(self.model.n_jobs, block.shape[0] * block.shape[1])
            self._fitted_cache[k] = hook.form.holds(block.native(support.views), support, self.y, n_threads)
        return self._fitted_cache[k]

    def _all_class_cells(self, k: int, rows: Any) -> Floats:
        """Return the leave-one-out scores of cells for all classes, rows x classes x columns."""
        hook: Any = self._hooks[k]
        y, support, pooled = np.asarray(self.y[rows]), self.model.supports[k], self._pooled_columns[k]
        x = array.numbers(self.batch.blocks[k], support, rows)
        if hook.score_all is not None:
            scores = np.asarray(hook.score_all(x, y, self.fitted_weight[rows]))
        else:
            views = (len(y), len(self.model.classes), len(pooled), -1)
            scores = self.model.plain_forms[k].finite.cells(support.views_of(x)).reshape(views).sum(axis=3)
            scores[np.arange(len(y)), y] = self._own_class_cells(k, rows, x)
        unknown = pooled | np.isnan(scores).any(axis=1)
        i, j = np.nonzero(unknown & ~np.isnan(x) & self._is_removable[rows][:, None])
        if len(i):
            scores[i, :, j] = self._cells_without(k, rows, x, i, j)
        return scores

    def _scores_with_pooled_columns(self, k: int, weights: Floats) -> Floats:
        """Return the scores of block k for all classes: those of pooled columns cell by cell, of the others by rows."""
        model, block, pooled = self.model, self.batch.blocks[k], self._pooled_columns[k]
        others = np.where(pooled, 0.0, weights)
        by_view = np.repeat(others, len(model.supports[k].views))
        scores = block_scores(model, self.batch, k, model.plain_forms[k].times(by_view))
        for rows in array.pieces(block, len(model.classes)):
            x = array.numbers(block, model.supports[k], rows)
            piece, y = scores[rows], self.y[rows]
            own = apply_weight(self._own_class_cells(k, rows, x), others)
            piece[np.arange(len(y)), y] = own.sum(axis=1)
            i, j = np.nonzero(pooled & ~np.isnan(x) & self._is_removable[rows][:, None])
            cells = apply_weight(self._cells_without(k, rows, x, i, j).T, weights[j])
            for c, of_class in enumerate(cells):
                piece[:, c] += np.bincount(i, of_class, len(x))
        return scores

    def _joint_own_class_scores(self, k: int) -> Floats:
        """Return the scores of a joint block for the class of every row, without the row; NaN if they are not known."""
        scores = self._joint_block_scores(k)
        return np.full(self.batch.n_rows, np.nan) if scores is None else scores

    def _all_class_scores(self, k: int, weighted: bool = True) -> Floats:
        """Return the leave-one-out scores of block k for all classes, if leaving a row out changes all of them."""
        weights = self.model.weights(k) if weighted else np.ones_like(self.model.weights(k))
        hook = self._hooks[k]
        if isinstance(hook, CellsLeftOut):
            if hook.score_all is None:
                return self._scores_with_pooled_columns(k, weights)
            n_classes, block = len(self.model.classes), self.batch.blocks[k]
            pieces = array.pieces(block, n_classes)
            cells = (apply_weight(self._all_class_cells(k, rows), weights).sum(axis=2) for rows in pieces)
            return np.concatenate([np.empty((0, n_classes)), *cells])
        if weighted and self.model.calibration is not None and self.model.calibration.words is not None:
            return self._weighted_words_scores(k)
        joint = self._joint_block_scores(k)
        if joint is None:
            return apply_weight(self._row_scores(k), weights)
        unchanged = np.isnan(joint)
        if unchanged.any():
            plain = block_scores(self.model, self.batch, k, self.model.plain_forms[k])
            joint = np.where(unchanged, plain, joint)
        return apply_weight(joint, weights)

    def _weighted_words_scores(self, k: int) -> Floats:
        """Return the leave-one-out scores of a text block whose words have weights of their own, rows x classes."""
        model, hook, calibration = self.model, self._hooks[k], self.model.calibration
        if not isinstance(hook, RowsLeftOut) or calibration is None or calibration.words is None:
            raise TypeError("the model has no weights of words")
        self._joint_block_scores(k)  # refuses documents that were never fitted
        block, left, words = self.batch.blocks[k], hook.documents, calibration.words
        documents = left.documents(block, self.fitted_weight, left.has_bands)
        n_threads = engines.threads(model.n_jobs, len(documents.data) * len(model.classes))
        bands = left.band_scores(documents, self.y, self.fitted_weight, n_threads)
        scores = np.tensordot(bands, np.broadcast_to(words.bands, bands.shape[1]), (1, 0))
        if words.strength is not None:
            idf = np.nan_to_num(left.family.weight_to_apply)
            learned = words.learned_for(model.blocks[k], model.classes) * idf
            cells = SparseBlock(documents.scored, documents.indices, documents.indptr, documents.shape)
            scores += cells.matrix @ learned.T
        scores[self.batch.missing_documents(k)] = 0.0
        return np.asarray(float(model.weights(k)[0]) * scores)

    def _joint_block_scores(self, k: int) -> Floats | None:
        """Return the leave-one-out scores of a joint block, cached because calibration does not change them."""
        if k not in self._joint_cache:
            hook: Any = self._hooks[k]
            rows = None if hook.dense else as_sparse(self.batch.blocks[k])
            scores = None
            if rows is not None:
                n_threads = engines.threads(self.model.n_jobs, len(rows.data) * len(self.model.classes))
                scores = hook.score(rows, self.y, self.fitted_weight, n_threads)
            if scores is not None:
                scores[self.batch.missing_documents(k)] = 0.0
                most = scores.reshape(len(scores), -1).max(axis=1, initial=-np.inf)
                self._refuse_rows(np.isposinf(most) & (self.fitted_weight > 0))
            self._joint_cache[k] = scores
        return self._joint_cache[k]

    def _row_scores(self, k: int) -> Floats:
        """Return the scores of a joint block with missing cells for all classes, cached; NaN if they are not known."""
        if k not in self._row_cache:
            hook: Any = self._hooks[k]
            n_classes, block = len(self.model.classes), self.batch.blocks[k]
            pieces = [np.empty((0, n_classes))]
            for rows in array.pieces(block, n_classes):
                pieces.append(np.full((len(self.y[rows]), n_classes), np.nan))
                if hook.score_rows is not None:
                    x = array.numbers(block, self.model.supports[k], rows)
                    rest = self.model.stats.weight, self.y[rows], self.fitted_weight[rows]
                    scores, impossible = hook.score_rows(x, *rest)
                    # Infinite weights of several blocks have to be counted together, see `_refit_row`.
                    alone = len(self.model.parts) == 1 or (impossible >= 0).all(axis=1)
                    pieces[-1] = np.where(np.c_[alone], array.forbid(scores, impossible), np.nan)
            self._row_cache[k] = np.concatenate(pieces)
        return self._row_cache[k]

    def _refuse_rows(self, rows: Mask) -> None:
        if rows.any():
            self._refuse_row(int(np.argmax(rows)))

    def _refuse_row(self, i: int) -> NoReturn:
        label = self.model.classes.tolist()[self.y[i]]
        raise ValueError(
            f"row {i} of class {label!r} was never fitted, so it cannot be left out. Pass the rows, labels and weights "
            "of the fit."
        )
