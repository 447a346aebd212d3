"""Leave-one-out: the scores of rows that are taken out of the statistics, each by itself, without another fit.

Only a row's own statistics are removed. Everything that was chosen from the data (prior scales, alphas, floors,
levels, calibration) stays as it was, because the families are frozen. Most cells then change the score of their own
class alone, in a way that needs nothing but the sums of their class and column; the few rows for which that is not
so are taken out of the whole statistics one by one.
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
from sunrise.forms.base import Form, weighed
from sunrise.forms.removal import Removal
from sunrise.forms.table import Table
from sunrise.inference.scores import LooScore, accuracy_and_loss
from sunrise.model.class_prior import log_share_without
from sunrise.model.fitted import FittedModel
from sunrise.model.score import block_scores, by_row, row_factors, scored
from sunrise.numerics.special import log_sum_exp
from sunrise.statistics.base import NeverSeenError
from sunrise.statistics.terms import LEVEL, X

#: Rows that are enough for a temperature, and for each of the classes, whose offsets go with it.
ENOUGH, ENOUGH_OF_CLASS = 4096, 200


@dataclass(frozen=True)
class LeaveOneOut:
    """Rows of a fitted model, each to be scored without itself."""

    fitted: FittedModel
    batch: Batch
    y: Codes
    weight: Floats | None
    _joint_scores: dict[int, Floats | None] = field(default_factory=dict, repr=False)

    @cached_property
    def w(self) -> Floats:
        """The weight with which every row is in the statistics."""
        w = np.ones(self.batch.n_rows) if self.weight is None else self.weight
        return w if self.fitted.factors is None else w * self.fitted.factors[self.y]

    @cached_property
    def alone(self) -> Mask:
        """Rows that are the only ones of their class."""
        return np.asarray((self.fitted.stats.rows[self.y] <= 1) & (self.w > 0))

    @cached_property
    def own_prior(self) -> Floats:
        """Log of the prior of every row's own class without it."""
        fitted = self.fitted
        own = fitted.log_prior[self.y]
        if fitted.is_prior_fitted and fitted.is_generative:
            own = own + log_share_without(fitted.stats.weight[self.y], self.w)
        return np.where(self.alone, -np.inf, own)

    def enough(self) -> LeaveOneOut:
        """As many of the rows, always the same ones, as a few numbers and one for each class can be fitted to."""
        there = np.flatnonzero(self.w > 0)
        most = max(ENOUGH, ENOUGH_OF_CLASS * len(self.fitted.classes))
        if len(there) <= most:
            return self
        some = np.sort(np.random.default_rng(0).choice(there, most, replace=False))
        weight = None if self.weight is None else self.weight[some]
        return LeaveOneOut(self.fitted, self.batch.some(some), self.y[some], weight)

    def log_proba(self) -> Floats:
        """Log-probability of every class for every row, rows x classes; -inf for a class that is left without rows."""
        stats = self.fitted.stats
        self._refuse((stats.rows[self.y] < (self.w > 0)) | (self.w > (1.0 + 1e-9) * stats.weight[self.y]))
        fitted, factors = self.fitted, row_factors(self.fitted, self.batch)
        own, shared = self.own_prior, {}
        for k in range(len(fitted.parts)):
            factor = factors.get(k, np.ones(1))
            if self._changes_all_classes(k):
                shared[k] = weighed(self._all_classes(k), factor[:, None])
            else:
                own = own + weighed(self._own(k), factor)
        lost = np.isnan(own) | np.any([np.isnan(found).any(axis=1) for found in shared.values()], axis=0)
        lost &= self.w > 0
        own = np.where(lost | self.alone | (self.w == 0), -np.inf, own)
        if shared:
            total = np.tile(fitted.log_prior, (self.batch.n_rows, 1))
            for k in range(len(fitted.parts)):
                if k not in shared:
                    total += by_row(block_scores(fitted, self.batch, k, fitted.forms[k]), factors.get(k))
            total[np.arange(len(own)), self.y] = own
            total += np.where((lost | (self.w == 0))[:, None], 0.0, sum(shared.values()))
            values, nowhere = array.normalise(total, fitted.log_class_prior, "log_proba")
        else:
            values, nowhere = scored(fitted, self.batch, "log_proba", (self.y, own))
            total = scored(fitted, self.batch, "joint", (self.y, own))[0] if nowhere else values
        if nowhere:
            impossible = np.isneginf(total).all(axis=1)
            values[impossible] = self._prior(impossible)
        for i in np.flatnonzero(lost | self.alone).tolist():
            values[i] = self._one_by_one(i, factors)
        if (absent := self.w == 0).any():  # nothing is taken out with them
            values[absent] = scored(fitted, self.batch, "log_proba")[0][absent]
        return values

    def cells(self, k: int, rows: Any) -> Floats:
        """What the columns of block k add to the scores of some rows before calibration: rows x classes x columns."""
        part, y = self.fitted.parts[k], self.y[rows]
        support = self.fitted.supports[k]
        numbers = array.numbers(self.batch.blocks[k], support, rows)
        views = (len(y), len(self.fitted.classes), len(part.columns), -1)
        if self._changes_all_classes(k):
            every = self._cells_of_all_classes(k, rows)
        else:
            x = numbers if support.views == (X,) else support.views_of(numbers)
            every = np.asarray(self.fitted.plain_forms[k].finite.cells(x).reshape(views).sum(axis=3))
            every[np.arange(len(y)), y] = self._cells(k, rows, numbers)
        places = np.arange(self.batch.n_rows)[rows]
        apart = np.isnan(every).any(axis=(1, 2)) | self._holds_blind(k)[rows]
        for at in np.flatnonzero(apart & (self.w[rows] > 0) & ~self.alone[rows]).tolist():
            every[at] = self._known_impossible(int(places[at]), k)
        return every

    def column_scores(self) -> list[float]:
        """Mean log-probability of the rows' classes by each column alone, in the order of the schema.

        Every row is scored without itself. NaN for columns that the model leaves out.
        """
        model, n_classes = self.fitted, len(self.fitted.classes)
        weight = np.where(self.alone, 0.0, np.ones(self.batch.n_rows) if self.weight is None else self.weight)
        total = np.full(len(model.schema.names), np.nan)
        if not weight.any():
            return total.tolist()
        log_prior = self._prior(slice(None))
        for k, part in enumerate(model.parts):
            columns = list(part.columns)
            total[columns] = 0.0
            step = max(1, array.PIECE // max(1, len(columns) * n_classes))
            for start in range(0, self.batch.n_rows, step):
                rows = slice(start, min(start + step, self.batch.n_rows))
                y, prior, here = self.y[rows], log_prior[rows], weight[rows, None]
                scores = np.moveaxis(self.cells(k, rows) + prior[:, :, None], 1, 2)
                impossible = np.asarray(np.isneginf(scores).all(axis=2))
                scores = np.where(impossible[..., None], prior[:, None, :], scores)
                own = np.take_along_axis(scores, y[:, None, None].astype(np.intp), axis=2)[:, :, 0]
                log_p = own - log_sum_exp(scores, axis=2)
                total[columns] += (np.where(here > 0, log_p, 0.0) * here).sum(axis=0)
        return (total / weight.sum()).tolist()  # type: ignore[no-any-return]

    def block(self, k: int) -> Floats:
        """What block k adds to the scores of all rows, before any calibration: rows x classes."""
        if self._changes_all_classes(k):
            every = self._all_classes(k, weighted=False)
        else:
            every = block_scores(self.fitted, self.batch, k, self.fitted.plain_forms[k])
            every[np.arange(len(every)), self.y] = self._own(k)
        for i in np.flatnonzero(np.isnan(every).any(axis=1) & (self.w > 0) & ~self.alone).tolist():
            every[i] = self._known_impossible(i, k).sum(axis=1)
        return every

    def _known_impossible(self, i: int, k: int) -> Floats:
        """What the columns of block k add for row i without it, classes x columns; -inf for what is impossible."""
        cells, counts = self._apart(i, k)
        return np.where(counts > 0, -np.inf, cells)

    def _own(self, k: int) -> Floats:
        """What block k adds to the score of every row's own class without it; NaN where that takes more."""
        fitted, part, block = self.fitted, self.fitted.parts[k], self.batch.blocks[k]
        weights = fitted.weights(k)
        hook = self._hooks[k]
        if isinstance(hook, RowsLeftOut):
            return np.asarray(self._rows(k) * weights)
        if isinstance(block, SparseBlock):
            rows = Cells.stored(block.canonical(), zeros=True)
            read = part.family.support.read
            own = score_sparse_rows(hook.score, read, rows, block.shape[1], self.y, self.w, weights)
            return self._with_blind(k, own)
        if isinstance(hook.form, Removal) and (weights == weights[0]).all():
            n_threads = engines.threads(fitted.n_jobs, block.shape[0] * block.shape[1])
            own = engines.current().own(block, fitted.supports[k], self.y, hook.form, n_threads)
            return self._with_blind(k, weights[0] * own)
        if isinstance(hook.form, Table):
            return self._picked(block_scores(fitted, self.batch, k, hook.form.times(weights)))
        pieces = (weighed(self._cells(k, rows), weights).sum(axis=1) for rows in array.pieces(block))
        return self._with_blind(k, np.concatenate([np.empty(0), *pieces]))

    def _with_blind(self, k: int, own: Floats) -> Floats:
        """Scores with NaN for rows that hold a cell of a column which some class never saw."""
        return np.where(self._holds_blind(k), np.nan, own)

    def _holds_blind(self, k: int) -> Mask:
        """Rows with a cell of a column that some class never saw.

        Such a class has the estimate of all classes together, which changes without the row.
        """
        hook, stats, block = self._hooks[k], self.fitted.blocks[k], self.batch.blocks[k]
        none = np.zeros(self.batch.n_rows, bool)
        if isinstance(hook, RowsLeftOut) or not hook.pools_unobserved:
            return none
        n = len(self.fitted.parts[k].family.fit_support.views)
        blind = (np.broadcast_to(stats.rows, stats.x.shape)[:, ::n] == 0).any(axis=0)
        if not blind.any():
            return none
        cells = (block.numbers(rows)[:, blind] for rows in array.pieces(block))
        return np.concatenate([none[:0], *(~np.isnan(x).all(axis=1) for x in cells)])

    @cached_property
    def _class_weight(self) -> Floats:
        """The weight of the rows of every class, where all rows have the same."""
        factors = self.fitted.factors
        return np.ones(len(self.fitted.classes)) if factors is None else factors

    @cached_property
    def _hooks(self) -> list[CellsLeftOut | RowsLeftOut]:
        """How the families of the blocks leave rows out."""
        row_weight = self._class_weight if self.weight is None else None
        fitted = self.fitted
        blocks = zip(fitted.parts, fitted.blocks, fitted.params, strict=True)
        return [part.family.left_out(stats, params, row_weight) for part, stats, params in blocks]

    def _changes_all_classes(self, k: int) -> bool:
        """True if leaving a row out of block k changes the scores of all classes."""
        hook = self._hooks[k]
        return hook.all_classes if isinstance(hook, RowsLeftOut) else hook.score_all is not None

    def _picked(self, scores: Floats) -> Floats:
        """Of scores of all classes, those of the rows' own."""
        return np.asarray(np.take_along_axis(scores, self.y[:, None].astype(np.intp), axis=1)[:, 0])

    def _cells(self, k: int, rows: Any, x: Floats | None = None) -> Floats:
        """What the cells x of some rows add to the score of their own class, rows x columns."""
        family, hook, y = self.fitted.parts[k].family, self._hooks[k], np.asarray(self.y[rows])
        if isinstance(hook, RowsLeftOut):
            raise TypeError(
                f"the columns of {family.name} share one distribution: they have no scores of their own"
            )
        if x is None:
            x = array.numbers(self.batch.blocks[k], self.fitted.supports[k], rows)
        if isinstance(hook.form, Removal):
            views = x if self.fitted.supports[k].views == (X,) else self.fitted.supports[k].views_of(x)
            return hook.form.cells(views, y)
        if isinstance(hook.form, Table):
            return hook.form.own(x, y)
        cells = np.zeros(x.shape)
        i, j = np.nonzero(~np.isnan(x))
        if len(i):
            cells[i, j] = hook.score(x[i, j], y[i], j, self.w[rows][i])
        return cells

    def _cells_of_all_classes(self, k: int, rows: Any) -> Floats:
        """What the cells of some rows add to the scores of all classes, rows x classes x columns."""
        hook: Any = self._hooks[k]
        x = array.numbers(self.batch.blocks[k], self.fitted.parts[k].family.support, rows)
        return np.asarray(hook.score_all(x, self.y[rows], self.w[rows]))

    def _rows(self, k: int) -> Floats:
        """What the rows of a joint block add to the score of their own class."""
        scores = self._joint(k)
        return np.full(self.batch.n_rows, np.nan) if scores is None else scores

    def _all_classes(self, k: int, weighted: bool = True) -> Floats:
        """What the rows of a block add to the scores of all classes, where leaving a row out changes all of them."""
        weights = self.fitted.weights(k) if weighted else np.ones_like(self.fitted.weights(k))
        if isinstance(self._hooks[k], CellsLeftOut):
            n_classes, block = len(self.fitted.classes), self.batch.blocks[k]
            pieces = array.pieces(block, n_classes)
            cells = (weighed(self._cells_of_all_classes(k, rows), weights).sum(axis=2) for rows in pieces)
            scores = np.concatenate([np.empty((0, n_classes)), *cells])
            return np.where(self._holds_blind(k)[:, None], np.nan, scores)
        joint = self._joint(k)
        if joint is None:
            return np.full((self.batch.n_rows, len(self.fitted.classes)), np.nan)
        same = np.isnan(joint)
        if same.any():
            plain = block_scores(self.fitted, self.batch, k, self.fitted.plain_forms[k])
            joint = np.where(same, plain, joint)
        return weighed(joint, weights)

    def _joint(self, k: int) -> Floats | None:
        """Scores of the rows of a joint block without themselves; no calibration changes them, so they are kept."""
        if k not in self._joint_scores:
            hook: Any = self._hooks[k]
            rows = as_sparse(self.batch.blocks[k])
            scores = None
            if rows is not None:
                n_threads = engines.threads(self.fitted.n_jobs, len(rows.data) * len(self.fitted.classes))
                scores = hook.score(rows, self.y, self.w, n_threads)
            if scores is not None:
                most = scores.reshape(len(scores), -1).max(axis=1, initial=-np.inf)
                self._refuse(np.isposinf(most) & (self.w > 0))
            self._joint_scores[k] = scores
        return self._joint_scores[k]

    def _one_by_one(self, i: int, factors: dict[int, Floats]) -> Floats:
        """The log-probabilities of one row, from the statistics without it."""
        fitted, y = self.fitted, self.y[i : i + 1]
        total, impossible = fitted.log_prior.copy(), np.zeros(len(fitted.classes))
        total[y] = self.own_prior[i]
        if np.isneginf(total).all():  # the only row there is
            return total
        for k in range(len(fitted.parts)):
            weights = fitted.weights(k)
            cells, counts = self._apart(i, k)
            total += weighed(cells, weights).sum(axis=1) * (factors[k][i] if k in factors else 1.0)
            impossible += (counts * (weights > 0)).sum(axis=1)
        score = array.forbid(total[None], impossible[None])
        return np.asarray(array.normalise(score, self._prior(slice(i, i + 1)), "log_proba")[0][0])

    def _apart(self, i: int, k: int) -> tuple[Floats, Floats]:
        """What the columns of block k add for row i, from the statistics without it; and what is impossible in them.

        Both are classes x columns.
        """
        fitted, rows = self.fitted, slice(i, i + 1)
        part, block = fitted.parts[k], self.batch.blocks[k]
        x = array.read(block, part.family.support, rows)
        views = len(fitted.classes), len(part.columns), -1
        if LEVEL in part.family.terms:
            cells = fitted.plain_forms[k].cells(x)[0]
            cells[self.y[i]] = self._cells(k, rows)[0]
            if np.isnan(cells[self.y[i]]).any():
                self._never(i)
            return cells, np.zeros_like(cells)
        form = self._form_without(i, part.family, fitted.blocks[k], block)
        cells = form.finite.cells(x)[0].reshape(views).sum(axis=2)
        if np.isnan(cells).any():
            self._never(i)
        if form.impossible is None:
            return cells, np.zeros_like(cells)
        return cells, form.impossible.cells(x)[0].reshape(views).sum(axis=2)

    def _prior(self, rows: Any) -> Floats:
        """Log class prior of some rows without themselves, uncalibrated: rows x classes."""
        fitted, y, w = self.fitted, self.y[rows], self.w[rows]
        prior = np.tile(fitted.log_class_prior, (len(y), 1))
        if fitted.is_prior_fitted:
            prior[np.arange(len(y)), y] += log_share_without(fitted.stats.weight[y], w)
        alone = self.alone[rows]
        prior[alone, y[alone]] = -np.inf
        nothing = np.isneginf(prior).all(axis=1, keepdims=True)
        found = array.normalise(np.where(nothing, 0.0, prior), prior[:1], "log_proba")[0]
        return np.where(nothing, prior, found)

    def _form_without(self, i: int, family: Family, stats: Any, block: Block) -> Form:
        """How a block scores once row i is taken out of it."""
        y, w = self.y[i : i + 1], self.w[i : i + 1]
        class_weight = self.fitted.stats.weight.copy()
        class_weight[y] -= w
        alone = DenseBlock(block.numbers(slice(i, i + 1)))
        one = array.accumulate(alone, family.terms, family.fit_support, y, w, len(class_weight), 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LostPrecisionWarning)
                rest = stats - one
        except NeverSeenError:
            self._never(i)
        if not np.all(family.is_attainable(rest.select_classes(y))):
            self._never(i)
        with np.errstate(invalid="ignore", divide="ignore"):  # rows that were never there show as NaN
            return family.form(family.params(rest, class_weight))

    def _refuse(self, rows: Mask) -> None:
        if rows.any():
            self._never(int(np.argmax(rows)))

    def _never(self, i: int) -> NoReturn:
        label = self.fitted.classes.tolist()[self.y[i]]
        raise ValueError(
            f"row {i} of class {label!r} was never fitted, so it cannot be left out. Give the rows, labels and weights "
            "of the fit."
        )

    def score(self, log_proba: Floats) -> LooScore:
        """Accuracy and log loss, beside those of the prior alone; a row counts by its weight."""
        weight = np.ones(len(log_proba)) if self.weight is None else self.weight
        use = (weight > 0) & ~self.alone
        rest = self.y[use], weight[use]
        own, prior = (accuracy_and_loss(values, *rest) for values in (log_proba[use], self._prior(use)))
        return LooScore(*own, *prior, int(use.sum()), int((self.alone & (weight > 0)).sum()))
