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
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from sunrise import engines
from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import log
from sunrise.data.batch import Batch, Block, DenseBlock, SparseBlock
from sunrise.derived import Derived
from sunrise.engines import array
from sunrise.family import Cells, Family
from sunrise.forms import Form, Removal, Table, weighed
from sunrise.moments import LostPrecisionWarning
from sunrise.score import block_scores, by_row, row_factors, scored
from sunrise.stats import NeverSeenError
from sunrise.terms import LEVEL

#: Rows that are enough for a temperature, and for each of the classes, whose offsets go with it.
ENOUGH, ENOUGH_OF_CLASS = 4096, 200


class LooScore(NamedTuple):
    """How good a model is on rows it has not seen, and how good the class prior alone would be.

    `rows` were scored; `left_out` were the only ones of their class, so that nothing was left to score them by. The
    prior alone may be always wrong on rows that it has not seen: of two equal classes, a row's own is then the rarer.
    """

    accuracy: float
    log_loss: float
    prior_accuracy: float
    prior_log_loss: float
    rows: int
    left_out: int


@dataclass(frozen=True)
class LeaveOneOut:
    """Rows of a fitted model, each to be scored without itself."""

    fitted: Derived
    batch: Batch
    y: Codes
    weight: Floats | None
    #: What the rows of joint blocks add, which no calibration changes.
    _found: dict[int, Floats | None] = field(default_factory=dict, repr=False)

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
            total = fitted.stats.weight[self.y]
            own = own + log(np.maximum(total - self.w, 0.0)) - log(np.where(total > 0, total, 1.0))
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
        for k, part in enumerate(fitted.parts):
            factor = factors.get(k, np.ones(1))
            if part.family.shared:
                shared[k] = weighed(self._shared(k), (fitted.weights(k) * factor)[:, None])
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
        x = array.read(self.batch.blocks[k], part.family.support, rows)
        views = (len(y), len(self.fitted.classes), len(part.columns), -1)
        every = np.asarray(self.fitted.plain_forms[k].finite.cells(x).reshape(views).sum(axis=3))
        every[np.arange(len(y)), y] = self._cells(k, rows)
        places = np.arange(self.batch.n_rows)[rows]
        apart = np.isnan(every).any(axis=(1, 2)) | self._holds_blind(k)[rows]
        for at in np.flatnonzero(apart & (self.w[rows] > 0) & ~self.alone[rows]).tolist():
            every[at] = self._known_impossible(int(places[at]), k)
        return every

    def by_column(self, k: int) -> Floats:
        """The mean log-probability of the rows' classes by each column of block k alone, taken out of it."""
        n_columns = len(self.fitted.parts[k].columns)
        weight = np.where(self.alone, 0.0, np.ones(self.batch.n_rows) if self.weight is None else self.weight)
        total = np.zeros(n_columns)
        step = max(1, array.PIECE // max(1, n_columns * len(self.fitted.classes)))
        for start in range(0, self.batch.n_rows, step):
            rows = slice(start, min(start + step, self.batch.n_rows))
            y, here = self.y[rows], weight[rows]
            prior = self._prior(rows)
            scores = np.ascontiguousarray(np.moveaxis(self.cells(k, rows) + prior[:, :, None], 1, 2))
            nowhere = np.isneginf(scores).all(axis=2)
            flat = scores.reshape(-1, len(self.fitted.classes))
            log_p, _ = array.normalise(flat, self.fitted.log_class_prior, "log_proba")
            told = log_p.reshape(scores.shape)[np.arange(len(y)), :, y]
            told = np.where(nowhere, prior[np.arange(len(y)), y][:, None], told)
            total += (np.where(here[:, None] > 0, told, 0.0) * here[:, None]).sum(axis=0)
        return np.asarray(total / weight.sum()) if weight.any() else np.full(n_columns, np.nan)

    def block(self, k: int) -> Floats:
        """What block k adds to the scores of all rows, before any calibration: rows x classes."""
        if self.fitted.parts[k].family.shared:
            every = self._shared(k)
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
        if part.family.joint:
            return np.asarray(self._rows(k) * weights)
        if isinstance(block, SparseBlock):
            return self._with_blind(k, self._sparse(k, block))
        if (weights == weights[0]).all() and (removal := self._removals[k]) is not None:
            n_threads = engines.threads(fitted.n_jobs, block.shape[0] * block.shape[1])
            own = engines.choose().own(block, fitted.supports[k], self.y, removal, n_threads)
            return self._with_blind(k, weights[0] * own)
        if (form := self._forms[k]) is not None:
            return self._picked(block_scores(fitted, self.batch, k, form.times(weights)))
        pieces = (weighed(self._cells(k, rows), weights).sum(axis=1) for rows in array.pieces(block))
        return self._with_blind(k, np.concatenate([np.empty(0), *pieces]))

    def _with_blind(self, k: int, own: Floats) -> Floats:
        """Scores with NaN for rows that hold a cell of a column which some class never saw."""
        return np.where(self._holds_blind(k), np.nan, own)

    def _holds_blind(self, k: int) -> Mask:
        """Rows with a cell of a column that some class never saw.

        Such a class has the estimate of all classes together, which changes without the row.
        """
        family, stats, block = self.fitted.parts[k].family, self.fitted.blocks[k], self.batch.blocks[k]
        none = np.zeros(self.batch.n_rows, bool)
        if not family.pools_where_blind:
            return none
        n = len(family.kept.views)
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
    def _removals(self) -> list[Removal | None]:
        """How the blocks score cells without themselves where variances are left over and all rows weigh the same."""
        blocks = zip(self.fitted.parts, self.fitted.blocks, strict=True)
        if self.weight is not None:
            return [None for _ in blocks]
        return [part.family.removal(stats, self._class_weight) for part, stats in blocks]

    @cached_property
    def _forms(self) -> list[Table | None]:
        """How the blocks look up cells without themselves where all rows weigh the same."""
        blocks = zip(self.fitted.parts, self.fitted.blocks, strict=True)
        if self.weight is not None:
            return [None for _ in blocks]
        return [part.family.left_out_form(stats, self._class_weight) for part, stats in blocks]

    def _picked(self, scores: Floats) -> Floats:
        """Of scores of all classes, those of the rows' own."""
        return np.asarray(np.take_along_axis(scores, self.y[:, None].astype(np.intp), axis=1)[:, 0])

    def _cells(self, k: int, rows: Any) -> Floats:
        """What the cells of some rows add to the score of their own class, rows x columns."""
        family, stats = self.fitted.parts[k].family, self.fitted.blocks[k]
        x, y = array.read(self.batch.blocks[k], family.support, rows), np.asarray(self.y[rows])
        if (removal := self._removals[k]) is not None:
            return removal.cells(x, y)
        if (form := self._forms[k]) is not None:
            return form.own(x, y)
        x = array.numbers(self.batch.blocks[k], family.support, rows)
        cells = np.zeros(x.shape)
        i, j = np.nonzero(~np.isnan(x))
        if len(i) == 0:
            return cells
        cells[i, j] = family.left_out(stats, x[i, j], self.y[rows][i], j, self.w[rows][i])
        return cells

    def _sparse(self, k: int, block: SparseBlock) -> Floats:
        """The same of sparse rows."""
        block = block.canonical()
        row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        cells = Cells(block.data.astype(np.float64), row, block.indices.astype(np.intp), block.shape[0])
        family, stats, weights = self.fitted.parts[k].family, self.fitted.blocks[k], self.fitted.weights(k)
        return sparse_own(family, stats, cells, block.shape[1], self.y, self.w, weights)

    def _rows(self, k: int) -> Floats:
        """What the rows of a joint block add to the score of their own class."""
        found = self._joint(k)
        return np.full(self.batch.n_rows, np.nan) if found is None else found

    def _shared(self, k: int) -> Floats:
        """What the rows of a block add to the scores of all classes, each of which changes without them."""
        found = self._joint(k)
        if found is None:
            return np.full((self.batch.n_rows, len(self.fitted.classes)), np.nan)
        same = np.isnan(found)
        if not same.any():
            return found
        return np.where(same, block_scores(self.fitted, self.batch, k, self.fitted.plain_forms[k]), found)

    def _joint(self, k: int) -> Floats | None:
        if k not in self._found:
            self._found[k] = self._joint_anew(k)
        return self._found[k]

    def _joint_anew(self, k: int) -> Floats | None:
        family, stats, block = self.fitted.parts[k].family, self.fitted.blocks[k], self.batch.blocks[k]
        found = None
        rows = _as_sparse(block)
        if rows is not None and family.shared:
            n_threads = engines.threads(self.fitted.n_jobs, len(rows.data) * len(self.fitted.classes))
            found = family.left_out_scores(stats, self.fitted.params[k], rows, self.y, self.w, n_threads)
        if rows is not None and found is None:
            found = family.left_out_rows(stats, _stored(rows), self.y, self.w)
        if found is not None:
            most = found.reshape(len(found), -1).max(axis=1, initial=-np.inf)
            self._refuse(np.isposinf(most) & (self.w > 0))
        return found

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
            total = fitted.stats.weight
            prior[np.arange(len(y)), y] = log(np.maximum(total[y] - w, 0.0) / total.sum())
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
        one = array.accumulate(alone, family.terms, family.kept, y, w, len(class_weight), 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LostPrecisionWarning)
                rest = stats - one
        except NeverSeenError:
            self._never(i)
        if not np.all(family.possible(rest.taken(y))):
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
        at, y, w = np.flatnonzero(use), self.y[use], weight[use]

        def both(log_p: Floats) -> tuple[float, float]:
            if not len(y):
                return np.nan, np.nan
            right = log_p.argmax(axis=1) == y
            return float(np.average(right, weights=w)), float(
                -np.average(log_p[np.arange(len(y)), y], weights=w)
            )

        return LooScore(
            *both(log_proba[at]), *both(self._prior(use)), len(y), int((self.alone & (weight > 0)).sum())
        )


def _as_sparse(block: Block) -> SparseBlock | None:
    """The cells of rows as sparse ones, each column once and in order; None where some are missing."""
    if not isinstance(block, SparseBlock):
        matrix = sparse.csr_array(block.numbers())
        block = SparseBlock(matrix.data, matrix.indices, matrix.indptr, block.shape)
    block = block.canonical()
    return None if np.isnan(block.data).any() else block


def _stored(block: SparseBlock) -> Cells:
    """The cells that are not 0."""
    x, column = block.data.astype(np.float64), block.indices.astype(np.intp)
    row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    there = x != 0  # zeros that are stored are zeros
    return Cells(x[there], row[there], column[there], block.shape[0])


def sparse_own(
    family: Family,
    stats: Any,
    rows: Cells,
    n_columns: int,
    y: Codes,
    w: Floats,
    weights: Floats | None = None,
) -> Floats:
    """The score of sparse rows for their own class without them: zeros are worked out once by class and weight."""
    weights = np.ones(n_columns) if weights is None else weights
    own = np.full(rows.n_rows, np.nan)
    for weight in np.unique(w[w > 0]):
        here = w == weight
        classes, code = np.unique(y[here], return_inverse=True)
        place = np.zeros(rows.n_rows, np.intp)
        place[here] = code
        c, j = np.divmod(np.arange(len(classes) * n_columns), n_columns)
        of = classes[c].astype(np.int32)
        zeros = family.left_out(stats, family.support.read(np.zeros(len(c))), of, j, np.full(len(c), weight))
        zeros = (zeros * weights[j]).reshape(len(classes), n_columns)
        stored = here[rows.row]
        row, j, x = rows.row[stored], rows.column[stored], family.support.read(rows.x[stored])
        seen, cells, at = ~np.isnan(x), np.zeros(len(x)), place[row]
        taken = np.full(int(seen.sum()), weight)
        cells[seen] = family.left_out(stats, x[seen], y[row[seen]], j[seen], taken) * weights[j[seen]]
        # A zero that no row of its class holds must be covered by a stored cell.
        never = np.isnan(zeros)
        zeros = np.where(never, 0.0, zeros)
        covered = np.bincount(row, never[at, j], rows.n_rows)[here]
        with np.errstate(invalid="ignore"):  # zeros that are impossible, and covered
            change = np.where(np.isinf(zeros[at, j]), np.nan, cells - zeros[at, j])
        sums = zeros.sum(axis=1)[code] + np.bincount(row, change, rows.n_rows)[here]
        own[here] = np.where(covered == never.sum(axis=1)[code], sums, np.nan)
    return own
