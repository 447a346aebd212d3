"""Documents scored without themselves, as `predict` would score them if they were new.

The words that no other document has would be unknown: they add nothing to the score, and the document would be scaled
by the length of its other words. Document frequencies, and so the weights of the words, still count the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.blocks import Batch, SparseBlock
from sunrise.engines import array
from sunrise.families.left_out import Cells, CellsLeftOut, Documents, RowsLeftOut, score_sparse_rows
from sunrise.forms.base import Form


@dataclass(frozen=True)
class DocumentsLeftOut:
    """The documents of a text column: the text family, its statistics, its form, and its model of the words.

    `inner` is the leave-one-out of the model, `counts` the statistics that the model has.
    """

    family: Any
    stats: Any
    form: Form
    inner: CellsLeftOut | RowsLeftOut
    counts: Any

    @property
    def hook(self) -> RowsLeftOut:
        """The leave-one-out of the text column: unknown words change the scores of all classes."""
        return RowsLeftOut(self._scores, all_classes=True, read_again=self._read_again)

    @cached_property
    def _is_elsewhere(self) -> Mask:
        """Mask of the words that remain in the vocabulary without one of their documents."""
        return np.asarray(self.stats.documents_with_word.sum(axis=0) > 1)

    @cached_property
    def _is_used(self) -> Mask:
        """Mask of the words that the model still uses without one of their documents."""
        return np.asarray(self._is_elsewhere & self.family.stays_used(self.stats))

    def _stretch(self, x: Floats, elsewhere: Mask, n_rows: int, row: Any) -> Floats:
        """Return the factor of each document: it would be scaled by the length of its known words only."""
        family = self.family
        if family.total is None and not family.length:
            return np.ones(n_rows)
        size, power = (x, 1.0) if family.total is not None else (x * x, 0.5 * family.length)
        full, rest = np.bincount(row, size, n_rows), np.bincount(row, size * elsewhere, n_rows)
        return np.where(rest > 0, full / np.where(rest > 0, rest, 1.0), 1.0) ** power

    def documents(self, block: SparseBlock, w: Floats) -> Documents:
        """Return documents to leave out, over all words; a document of weight 0 is in no statistics."""
        row = np.repeat(np.arange(len(w)), np.diff(block.indptr))
        absent = (w == 0)[row]
        elsewhere = self._is_elsewhere[block.indices] | absent
        known = self._is_used[block.indices] | absent
        stretch = self._stretch(block.data, elsewhere, len(w), row)
        return Documents(block.data, block.indices, block.indptr, block.shape, known, stretch)

    def _weighted(self, documents: Documents) -> Documents:
        """Return the documents with weighted words, without the ignored words: the columns of `counts`."""
        weight = self.family.weight_to_apply
        if (weight == 1.0).all():
            return documents
        use = ~np.isnan(weight)
        data, indices, indptr, known = (
            documents.data * weight[documents.indices],
            documents.indices,
            documents.indptr,
            documents.known,
        )
        if not use.all():
            keep = use[indices]
            position = np.cumsum(use) - 1
            ends = np.concatenate([[0], np.cumsum(keep)])[indptr]
            data, known = data[keep], known[keep]
            indices = position[indices[keep]].astype(indices.dtype)
            indptr = ends.astype(indptr.dtype)
        shape = documents.shape[0], int(use.sum())
        return Documents(data, indices, indptr, shape, known, documents.stretch)

    def _scores(self, block: SparseBlock, y: Codes, w: Floats, n_threads: int) -> Floats | None:
        """Return the scores of documents without themselves, rows x classes; see RowsLeftOut."""
        documents = self.documents(block, w)
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

    def _read_again(self, x: Floats) -> Floats:
        """Return the cells of a document as the model without it would read them; NaN for absent unknown words."""
        row, column = np.nonzero(x)
        stretch = self._stretch(x[row, column], self._is_elsewhere[column], len(x), row)
        nothing = np.nan if getattr(self.form, "base", None) is not None else 0.0
        return np.where(self._is_used | (x == 0), x * stretch[:, None], nothing)
