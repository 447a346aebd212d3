"""Leave-one-out: the scores of training rows under the model without the row, computed without another fit.

The statistics of the row are subtracted. Settings that were chosen from the data (prior scales, alphas, variance
smoothing, levels, calibration) do not change. For most families, leaving a cell out changes only the score of the class
of the row, and the change depends only on the sums of this class and column. The few other rows are subtracted from the
statistics one by one, and the block is estimated again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.warnings import LostPrecisionWarning
from sunrise.data.blocks import Batch, Block, DenseBlock, SparseBlock
from sunrise.engines import array
from sunrise.families.base import Family
from sunrise.families.left_out import Cells, CellsLeftOut, RowsLeftOut, as_sparse, score_sparse_rows
from sunrise.forms.base import Form, apply_weight
from sunrise.forms.kernel_removal import KernelRemoval
from sunrise.forms.removal import Removal
from sunrise.forms.table import Table
from sunrise.inference.scores import LooScore, accuracy_and_loss
from sunrise.model.class_prior import log_share_without
from sunrise.model.fitted import FittedModel
from sunrise.model.score import block_scores, by_row, row_factors, score_rows
from sunrise.numerics.special import log
from sunrise.statistics.base import NeverSeenError
from sunrise.statistics.terms import LEVEL, X


@dataclass(frozen=True)
class LeaveOneOut:
    """Training rows of a fitted model, each to be scored without itself.

    `y` holds the class codes of the rows, `weight` the sample weights.
    """

    model: FittedModel
    batch: Batch
    y: Codes
    weight: Floats | None
    _joint_cache: dict[int, Floats | None] = field(default_factory=dict, repr=False)
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

    @cached_property
    def own_log_prior(self) -> Floats:
        """Log prior of the class of every row, without the row."""
        model = self.model
        log_prior = model.log_prior[self.y]
        if model.is_prior_fitted and model.is_generative:
            log_prior = log_prior + log_share_without(model.stats.weight[self.y], self.fitted_weight)
        return np.where(self.is_only_row_of_class, -np.inf, log_prior)

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
        refit = np.isnan(scores).any(axis=(1, 2)) | self._needs_refit(k)[rows]
        for at in np.flatnonzero(refit & self._is_removable[rows]).tolist():
            scores[at] = self._refit_cells(int(positions[at]), k)
        return scores

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
            return self._mark_refits(k, own_scores)
        if isinstance(hook.form, Removal) and (weights == weights[0]).all():
            n_threads = engines.threads(model.n_jobs, block.shape[0] * block.shape[1])
            rest = model.supports[k], self.y, hook.form, n_threads
            own_scores = engines.current().leave_one_out_scores(block, *rest)
            return self._mark_refits(k, weights[0] * own_scores)
        if isinstance(hook.form, KernelRemoval):
            n_threads = engines.threads(model.n_jobs, 4 * block.shape[0] * block.shape[1])
            cells, support = block.native(model.supports[k].views), model.supports[k]
            check = not self._is_fitted(k)
            own_scores = hook.form.scores(cells, support, self.y, weights, check, n_threads)
            return self._mark_refits(k, own_scores)
        if isinstance(hook.form, Table):
            scores = block_scores(model, self.batch, k, hook.form.times(weights))
            return scores[np.arange(len(scores)), self.y]
        cells = (self._own_class_cells(k, rows) for rows in array.pieces(block))
        pieces = (apply_weight(piece, weights).sum(axis=1) for piece in cells)
        return self._mark_refits(k, np.concatenate([np.empty(0), *pieces]))

    def _mark_refits(self, k: int, own_scores: Floats) -> Floats:
        """Return the scores with NaN for rows that need a new estimate of the block; see `_needs_refit`."""
        return np.where(self._needs_refit(k), np.nan, own_scores)

    def _needs_refit(self, k: int) -> Mask:
        """Return the mask of rows with an observed cell in a column that has no observed cell in some class.

        This class uses the estimate of all classes together, which changes without the row.
        """
        hook, stats, block = self._hooks[k], self.model.blocks[k], self.batch.blocks[k]
        none = np.zeros(self.batch.n_rows, bool)
        if isinstance(hook, RowsLeftOut) or not hook.pools_unobserved:
            return none
        n = len(self.model.parts[k].family.fit_support.views)
        unobserved = (np.broadcast_to(stats.rows, stats.x.shape)[:, ::n] == 0).any(axis=0)
        if not unobserved.any():
            return none
        cells = (block.numbers(rows)[:, unobserved] for rows in array.pieces(block))
        return np.concatenate([none[:0], *(~np.isnan(x).all(axis=1) for x in cells)])

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
        return hook.all_classes if isinstance(hook, RowsLeftOut) else hook.score_all is not None

    def _own_class_cells(self, k: int, rows: Any, x: Floats | None = None) -> Floats:
        """Return the leave-one-out scores of cells x for the class of their row, rows x columns."""
        family, hook, y = self.model.parts[k].family, self._hooks[k], np.asarray(self.y[rows])
        if isinstance(hook, RowsLeftOut):
            raise TypeError(f"the columns of {family.name} share one distribution: they have no own scores")
        if x is None:
            x = array.numbers(self.batch.blocks[k], self.model.supports[k], rows)
        if isinstance(hook.form, Removal):
            return hook.form.cells(self.model.supports[k].views_of(x), y)
        if isinstance(hook.form, KernelRemoval):
            return hook.form.cells(x, y, check=not self._is_fitted(k))
        if isinstance(hook.form, Table):
            return hook.form.own_class_cells(x, y)
        cells = np.zeros(x.shape)
        i, j = np.nonzero(~np.isnan(x))
        if len(i):
            cells[i, j] = hook.score(x[i, j], y[i], j, self.fitted_weight[rows][i])
        return cells

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
        x = array.numbers(self.batch.blocks[k], self.model.parts[k].family.support, rows)
        return np.asarray(hook.score_all(x, self.y[rows], self.fitted_weight[rows]))

    def _joint_own_class_scores(self, k: int) -> Floats:
        """Return the scores of a joint block for the class of every row, without the row; NaN if they are not known."""
        scores = self._joint_block_scores(k)
        return np.full(self.batch.n_rows, np.nan) if scores is None else scores

    def _all_class_scores(self, k: int, weighted: bool = True) -> Floats:
        """Return the leave-one-out scores of block k for all classes, if leaving a row out changes all of them."""
        weights = self.model.weights(k) if weighted else np.ones_like(self.model.weights(k))
        if isinstance(self._hooks[k], CellsLeftOut):
            n_classes, block = len(self.model.classes), self.batch.blocks[k]
            pieces = array.pieces(block, n_classes)
            cells = (apply_weight(self._all_class_cells(k, rows), weights).sum(axis=2) for rows in pieces)
            scores = np.concatenate([np.empty((0, n_classes)), *cells])
            return np.where(self._needs_refit(k)[:, None], np.nan, scores)
        joint = self._joint_block_scores(k)
        if joint is None:
            return np.full((self.batch.n_rows, len(self.model.classes)), np.nan)
        unchanged = np.isnan(joint)
        if unchanged.any():
            plain = block_scores(self.model, self.batch, k, self.model.plain_forms[k])
            joint = np.where(unchanged, plain, joint)
        return apply_weight(joint, weights)

    def _joint_block_scores(self, k: int) -> Floats | None:
        """Return the leave-one-out scores of a joint block, cached because calibration does not change them."""
        if k not in self._joint_cache:
            hook: Any = self._hooks[k]
            rows = as_sparse(self.batch.blocks[k])
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
        model, y, w = self.model, self.y[rows], self.fitted_weight[rows]
        prior = np.tile(model.log_class_prior, (len(y), 1))
        if model.is_prior_fitted:
            prior[np.arange(len(y)), y] += log_share_without(model.stats.weight[y], w)
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

    def _refuse_rows(self, rows: Mask) -> None:
        if rows.any():
            self._refuse_row(int(np.argmax(rows)))

    def _refuse_row(self, i: int) -> NoReturn:
        label = self.model.classes.tolist()[self.y[i]]
        raise ValueError(
            f"row {i} of class {label!r} was never fitted, so it cannot be left out. Pass the rows, labels and weights "
            "of the fit."
        )

    def log_frequencies(self, rows: Any) -> Floats:
        """Return the log class frequencies in the data without the row, rows x classes, whatever the class prior."""
        class_weight, y = self.model.stats.weight, self.y[rows]
        frequencies = np.tile(log(class_weight / class_weight.sum()), (len(y), 1))
        frequencies[np.arange(len(y)), y] += log_share_without(class_weight[y], self.fitted_weight[rows])
        return frequencies

    def score(self, log_proba: Floats, method: str = "leave-one-out") -> LooScore:
        """Return accuracy and log loss of the model and of the class prior; rows count by their sample weight."""
        weight = np.ones(len(log_proba)) if self.weight is None else self.weight
        use = (weight > 0) & ~self.is_only_row_of_class
        both = log_proba[use], self.log_class_prior(use)
        of_model, of_prior = (accuracy_and_loss(log_p, self.y[use], weight[use]) for log_p in both)
        n_only_rows = int((self.is_only_row_of_class & (weight > 0)).sum())
        return LooScore(*of_model, *of_prior, int(use.sum()), n_only_rows, method)
