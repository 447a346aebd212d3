"""Leave-one-out scores of documents: each document is scored by the statistics of all other documents.

The score is the one that `predict` would return for a new document. A word that no other document contains would be
unknown then, so it adds nothing to the score, and the document is scaled by the length of its other words. One thing
remains: document frequencies, and so the IDF weights of words, still count the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise.data.blocks import Batch, SparseBlock
from sunrise.engines import array
from sunrise.families.left_out import Cells, CellsLeftOut, Documents, RowsLeftOut, score_sparse_rows
from sunrise.forms.base import Form

#: Bands of words by the number of documents that contain them: 1, 2-3, 4-7, ..., 2048 and more.
N_BANDS = 12
#: The band of words that are not scored.
NO_BAND = 255


def band_of(documents: Any) -> NDArray[np.uint8]:
    """Return the band of words in these numbers of documents: their logarithm to base 2, rounded down.

    >>> band_of(np.array([1, 3, 4, 10_000]))
    array([ 0,  1,  2, 11], dtype=uint8)
    """
    band = np.floor(np.log2(np.maximum(documents, 1.0)))
    return np.asarray(np.minimum(band, N_BANDS - 1), np.uint8)


@dataclass(frozen=True)
class DocumentsLeftOut:
    """Leave-one-out scores of one text column.

    `family`, `stats` and `params` are the text family with its statistics and parameters. `inner` computes the
    leave-one-out scores of the model of the words (odds, multinomial, ...), whose statistics are `counts`.
    """

    family: Any
    stats: Any
    params: Any
    inner: CellsLeftOut | RowsLeftOut
    counts: Any

    @property
    def hook(self) -> RowsLeftOut:
        """The leave-one-out of the text column: unknown words change the scores of all classes."""
        return RowsLeftOut(self._scores, all_classes=True, documents=self)

    @property
    def has_bands(self) -> bool:
        """True if the score of a document is a sum over its words, so that bands of words can be weighted."""
        form = self.family.model.form(self.params.words)
        return form.kind == "linear" and getattr(form, "base", None) is None

    @cached_property
    def form(self) -> Form:
        """The form of the text column: words times their weights, a large table that most models do not need."""
        return self.family.form(self.params)  # type: ignore[no-any-return]

    @cached_property
    def n_documents(self) -> Integers:
        """Number of documents that contain each word."""
        return np.asarray(self.stats.document_frequency)

    @cached_property
    def _is_used(self) -> Mask:
        """Mask of the words that the model still uses without one of their documents."""
        return np.asarray((self.n_documents > 1) & self.family.stays_used(self.stats))

    def _stretch(self, block: SparseBlock, elsewhere: Mask, whole: Mask) -> Floats:
        """Return a factor for each document: its length with all words, divided by its length with known words only.

        `elsewhere` is the mask of the words that other documents contain; documents that are `whole` know all words.
        """
        family, n_threads = self.family, engines.threads(None, len(block.data))
        if family.total is None and not family.length:
            return np.ones(block.shape[0])
        by_sum = family.total is not None
        size = not by_sum, 1.0 if by_sum else 0.5 * family.length
        return engines.current().stretch(block, elsewhere, whole, *size, n_threads)  # type: ignore[no-any-return]

    def documents(self, block: SparseBlock, w: Floats, bands: bool = False) -> Documents:
        """Return training documents to leave out; one of weight 0 is not in the statistics and is not changed."""
        is_new = w == 0
        band = band_of(self.n_documents - 1) if bands else np.zeros(len(self.n_documents), np.uint8)
        return Documents(
            block.data,
            block.indices,
            block.indptr,
            block.shape,
            self._stretch(block, self.n_documents > 1, is_new),
            np.where(self._is_used, band, NO_BAND).astype(np.uint8),
            N_BANDS if bands else 1,
            is_new,
        )

    def new_documents(self, block: SparseBlock) -> Documents:
        """Return documents that are not in the statistics, over the same words; some words may be in no statistics."""
        used = ~np.isnan(self.family.weight_to_apply)
        nowhere = np.zeros(block.shape[0], bool)
        stretch = self._stretch(block, self.n_documents > 0, nowhere)
        bands = np.where(used, band_of(self.n_documents), NO_BAND).astype(np.uint8)
        arrays = block.data, block.indices, block.indptr, block.shape
        return Documents(*arrays, stretch, bands, N_BANDS, nowhere)

    def _weighted(self, documents: Documents) -> Documents:
        """Return the documents with weighted words, without the ignored words: the columns of `counts`."""
        weight = self.family.weight_to_apply
        if (weight == 1.0).all():
            return documents
        use, d = ~np.isnan(weight), documents
        n_threads = engines.threads(None, len(d.data))
        data, indices, indptr = engines.current().weigh(d, weight, n_threads), d.indices, d.indptr
        if not use.all():
            keep = use[indices]
            position = np.cumsum(use) - 1
            ends = np.concatenate([[0], np.cumsum(keep)])[indptr]
            data = data[keep]
            indices = position[indices[keep]].astype(indices.dtype)
            indptr = ends.astype(indptr.dtype)
        shape = d.shape[0], int(use.sum())
        return Documents(data, indices, indptr, shape, d.stretch, d.bands[use], d.n_bands, d.is_new)

    def _scores(self, block: SparseBlock, y: Codes, w: Floats, n_threads: int) -> Floats | None:
        """Return the scores of documents without themselves, rows x classes; see RowsLeftOut."""
        return self._scores_of(self.documents(block, w), y, w, n_threads)

    def _scores_of(self, documents: Documents, y: Codes, w: Floats, n_threads: int) -> Floats | None:
        weighted, inner = self._weighted(documents), self.inner
        own: Floats | None
        if isinstance(inner, RowsLeftOut):
            own = inner.score(weighted, y, w, n_threads)
            if own is None or (own.ndim == 2 and not np.isnan(own).any()):
                return own
        else:
            n_words = self.counts.x.shape[1]
            read = self.family.support.read
            own = score_sparse_rows(inner.score, read, Cells.stored(weighted), n_words, y, w)
        plain = self._plain_scores(documents, n_threads)
        if own.ndim == 2:
            return np.where(np.isnan(own), plain, own)
        plain[np.arange(len(y)), y] = own
        return plain

    def band_scores(self, documents: Documents, y: Codes, w: Floats, n_threads: int) -> Floats | None:
        """Return the scores of documents as sums over bands of words, rows x bands x classes; None if unknown.

        Documents of weight 0 are scored by all statistics. Without bands of words, the first band has the whole score.
        """
        if isinstance(self.inner, RowsLeftOut) and self.inner.score_bands is not None:
            return self.inner.score_bands(self._weighted(documents), y, w, n_threads)
        if not self.has_bands:
            whole = (
                self._scores_of(documents, y, w, n_threads)
                if w.any()
                else self._plain_scores(documents, n_threads)
            )
            return None if whole is None else whole[:, None, :]
        scores = []
        for band in range(documents.n_bands):
            some = documents.in_band(band)
            part = self._scores_of(some, y, w, n_threads) if w.any() else self._plain_scores(some, n_threads)
            if part is None:
                return None
            scores.append(part)
        return np.stack(scores, axis=1)

    def _plain_scores(self, documents: Documents, n_threads: int) -> Floats:
        """Return the scores of the known words under all documents, rows x classes."""
        cells = SparseBlock(documents.scored, documents.indices, documents.indptr, documents.shape)
        support, unknown = self.family.support, ~documents.known
        row = np.repeat(np.arange(documents.shape[0]), np.diff(documents.indptr))[unknown]

        def score(form: Any) -> Floats:
            zeros = np.zeros(len(self.stats.rows))
            batch = Batch(cells.shape[0], (cells,))
            rest = (support,), (form,), zeros, zeros, "joint", n_threads, None
            scores = np.asarray(engines.current().score(batch, *rest)[0])
            base = getattr(form, "base", None)
            if base is not None:  # absent words count, but an unknown word is not absent
                for c, of_class in enumerate(base):
                    scores[:, c] -= np.bincount(row, of_class[documents.indices[unknown]], len(scores))
            return scores

        if getattr(self.form, "base", None) is None or self.form.impossible is None:
            return score(self.form)
        return np.asarray(array.forbid(score(self.form.finite), score(self.form.impossible)))

    def read_again(self, x: Floats) -> Floats:
        """Return the cells of a document (1 x words) as the model without it would read them.

        NaN stands for unknown words if absent words count, else 0.
        """
        row, column = np.nonzero(x)
        indptr = np.searchsorted(row, np.arange(len(x) + 1))
        block = SparseBlock(x[row, column], column, indptr, x.shape)
        stretch = self._stretch(block, self.n_documents > 1, np.zeros(len(x), bool))
        form = self.family.model.form(self.params.words)
        nothing = np.nan if getattr(form, "base", None) is not None else 0.0
        return np.where(self._is_used | (x == 0), x * stretch[:, None], nothing)
