"""How the training rows of a block are scored without themselves: the two results of `Family.left_out`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise._common.lazy import sparse
from sunrise.data.blocks import Block, SparseBlock
from sunrise.forms.kernel_removal import KernelRemoval
from sunrise.forms.removal import Removal
from sunrise.forms.table import Table

if TYPE_CHECKING:
    from sunrise.families.base import Family


@dataclass(frozen=True)
class CellsLeftOut:
    """Leave-one-out where each cell changes the score of its own class by itself.

    `score(x, c, j, w)` returns the score of each cell x (class c, column j, weight w) for its own class with the cell
    removed; NaN where the other classes change too, or where the cell was never fitted.
    """

    score: Callable[[Floats, Codes, Positions, Floats], Floats]
    #: The same as a form that engines evaluate for whole blocks, if there is one.
    form: Removal | KernelRemoval | Table | None = None
    #: Scores of all classes (rows x classes x columns) for rows x columns of cells, their classes and weights: given
    #: where removing a cell changes every class.
    score_all: Callable[[Floats, Codes, Floats], Floats] | None = None
    #: True if a class that never saw a column takes the estimate of all classes together, which changes without a row.
    pools_unobserved: bool = False


@dataclass(frozen=True)
class RowsLeftOut:
    """Leave-one-out where a row is one draw from the whole block.

    `score(block, y, w, n_threads)` returns the scores of sparse rows with the row removed: one number per row for its
    own class, or rows x classes with `all_classes`, where NaN means unchanged. It is +inf for a row that was never
    fitted; None if cells are missing, or where only `score_rows` knows the scores.
    """

    score: Callable[[SparseBlock, Codes, Floats, int], Floats | None]
    #: True if a row takes part in the parameters of other classes than its own.
    all_classes: bool = False
    #: Scores of rows with missing cells, rows x columns, given the weights of the classes, and the classes and weights
    #: of the rows: rows x classes, NaN where a row has to be removed from the statistics by itself; and the numbers of
    #: impossible cells.
    score_rows: Callable[[Floats, Floats, Codes, Floats], tuple[Floats, Floats]] | None = None
    #: The same as sums over the bands of `Documents`, rows x bands x classes.
    score_bands: Callable[[Documents, Codes, Floats, int], Floats] | None = None
    #: The documents of a text column, a `DocumentsLeftOut`.
    documents: Any = None
    #: True if only `score_rows` knows the scores, so that rows need not be made sparse.
    dense: bool = False


@dataclass(frozen=True)
class Documents(SparseBlock):
    """Documents to leave out: all words are subtracted, but words that no other document has are not scored.

    The cells that are scored are multiplied by `stretch`, one number for each document, because a new document would be
    scaled by the length of its known words only.
    """

    stretch: Floats
    #: The band of every column; not below `n_bands` for columns that are not scored.
    bands: NDArray[np.uint8]
    n_bands: int
    #: True for documents that are not in the statistics: all of their cells are scored.
    is_new: Mask

    @property
    def known(self) -> Mask:
        """The mask of the stored cells that are scored."""
        is_new = np.repeat(self.is_new, np.diff(self.indptr))
        return np.asarray(self.bands.take(self.indices) < self.n_bands) | is_new

    def in_band(self, band: int) -> Documents:
        """Return the documents with the words of one band as the scored ones."""
        bands = np.where(self.bands == band, 0, self.n_bands).astype(np.uint8)
        return replace(self, bands=bands, n_bands=1, is_new=np.zeros_like(self.is_new))

    @property
    def scored(self) -> Floats:
        """The stored cells, multiplied by the factors of their documents; 0 if they are not scored."""
        return np.where(self.known, self.data * np.repeat(self.stretch, np.diff(self.indptr)), 0.0)


class Cells(NamedTuple):
    """The non-zero cells of rows, each with its row and its column."""

    x: Floats
    row: Positions
    column: Positions
    n_rows: int
    #: The cells that are scored; `x` are the cells that are subtracted. They differ for documents only.
    scored: Floats

    def by_row(self, values: Floats | Mask) -> Floats:
        """Sum values of the cells over each row."""
        return np.bincount(self.row, values, self.n_rows).astype(np.float64)

    @classmethod
    def stored(cls, block: SparseBlock, zeros: bool = False) -> Cells:
        """The stored cells of sparse rows, without explicit zeros unless `zeros`."""
        x, column = block.data.astype(np.float64), block.indices.astype(np.intp)
        row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        scored = block.scored if isinstance(block, Documents) else x
        if zeros or x.all():
            return cls(x, row, column, block.shape[0], scored)
        keep = x != 0
        return cls(x[keep], row[keep], column[keep], block.shape[0], scored[keep])


def as_sparse(block: Block) -> SparseBlock | None:
    """The rows of a block as sparse rows, each column once and in order; None if cells are missing."""
    if not isinstance(block, SparseBlock):
        matrix = sparse.csr_array(block.numbers())
        block = SparseBlock(matrix.data, matrix.indices, matrix.indptr, block.shape)
    block = block.canonical()
    return None if np.isnan(block.data).any() else block


def score_without_cells(family: Family, stats: Any, x: Floats, c: Codes, j: Positions, w: Floats) -> Floats:
    """Score cells by their own class with parameters derived from the statistics less the cell.

    `c` and `j` are the classes and columns of the cells x, `w` their weights. NaN where the rest of the class and
    column is not enough to know the score, or where the cell was never fitted.
    """
    if len(x) == 0:
        return np.empty(0)
    rest = stats.without_cells(family.fit_support.views_of(x[:, None]), c, j, w)
    single = family.for_cells(c, j)
    with np.errstate(invalid="ignore", divide="ignore"):  # cells that were never fitted show as NaN
        form = single.form(single.params(rest, np.ones(1)))
        views = family.support.views_of(x[:, None]).reshape(1, -1)
        scores = form.finite.cells(views)[0, 0].reshape(len(x), -1).sum(axis=1)
    unknown = (rest.rows.reshape(len(x), -1)[:, 0] <= 0) | ~np.broadcast_to(
        family.is_attainable(rest), len(x)
    )
    if form.impossible is not None:
        unknown |= (form.impossible.cells(views)[0, 0] != 0).reshape(len(x), -1).any(axis=1)
    return np.where(unknown, np.nan, scores)


def score_classes_without_cells(
    family: Family, stats: Any, x: Floats, c: Codes, j: Positions, w: Floats
) -> Floats:
    """Score cells by all classes, with parameters derived from the statistics of their column less the cell.

    The arguments are those of `score_without_cells`; cells x classes. It also knows the scores where a class has no
    other cell in the column, or where a class never saw the column. NaN where the cell was never fitted, or where a
    density is infinite.
    """
    if len(x) == 0:
        return np.empty((0, len(stats.rows)))
    views = family.fit_support.views_of(x[:, None])
    own, n_views = stats.without_cells(views, c, j, w), views.shape[1]
    columns = (j[:, None] * n_views + np.arange(n_views)).ravel()
    rest = stats.select_columns(columns).with_cells(own, np.repeat(c, n_views))
    single = family.select_columns(j.tolist())
    with np.errstate(invalid="ignore", divide="ignore"):  # cells that were never fitted show as NaN
        form = single.form(single.params(rest, np.ones(len(rest.rows))))
        cells = family.support.views_of(x[:, None]).reshape(1, -1)
        scores = form.finite.cells(cells)[0].reshape(len(rest.rows), len(x), -1).sum(axis=2)
    unknown = (own.rows[0, ::n_views] < 0) | ~np.broadcast_to(family.is_attainable(own), len(x))
    unknown |= np.isnan(own.x2 if hasattr(own, "x2") else own.x).reshape(len(x), -1).any(axis=1)
    if form.impossible is not None:
        count = form.impossible.cells(cells)[0].reshape(scores.shape[0], len(x), -1).sum(axis=2)
        scores = np.where(count > 0, -np.inf, scores)
        unknown |= (count < 0).any(axis=0)
    return np.where(unknown, np.nan, scores).T


def score_sparse_rows(
    score: Callable[[Floats, Codes, Positions, Floats], Floats],
    read: Callable[[Floats], Floats],
    rows: Cells,
    n_columns: int,
    y: Codes,
    w: Floats,
    column_weights: Floats | None = None,
) -> Floats:
    """Score sparse rows by their own class without themselves.

    `score` is that of single cells (see CellsLeftOut), `read` how the family reads a cell. Zeros are scored once for
    each class, column and weight, not once for each row. A cell that is not scored (see Documents) adds nothing.
    """
    weights = np.ones(n_columns) if column_weights is None else column_weights
    own = np.full(rows.n_rows, np.nan)
    for weight in np.unique(w[w > 0]):
        here = w == weight
        classes, code = np.unique(y[here], return_inverse=True)
        place = np.zeros(rows.n_rows, np.intp)
        place[here] = code
        c, j = np.divmod(np.arange(len(classes) * n_columns), n_columns)
        zeros = score(read(np.zeros(len(c))), classes[c].astype(np.int32), j, np.full(len(c), weight))
        zeros = (zeros * weights[j]).reshape(len(classes), n_columns)
        stored = here[rows.row]
        row, j, x = rows.row[stored], rows.column[stored], read(rows.x[stored])
        observed, cells, at = ~np.isnan(x), np.zeros(len(x)), place[row]
        own_weight = np.full(int(observed.sum()), weight)
        cells[observed] = score(x[observed], y[row[observed]], j[observed], own_weight) * weights[j[observed]]
        cells[(rows.scored[stored] == 0.0) & (rows.x[stored] != 0.0)] = 0.0
        # A zero that no row of its class holds must be covered by a stored cell.
        never = np.isnan(zeros)
        zeros = np.where(never, 0.0, zeros)
        covered = np.bincount(row, never[at, j], rows.n_rows)[here]
        with np.errstate(invalid="ignore"):  # impossible zeros that are covered
            change = np.where(np.isinf(zeros[at, j]), np.nan, cells - zeros[at, j])
        sums = zeros.sum(axis=1)[code] + np.bincount(row, change, rows.n_rows)[here]
        own[here] = np.where(covered == never.sum(axis=1)[code], sums, np.nan)
    return own
