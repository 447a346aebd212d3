"""The reader of text: documents become scaled counts of their words."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Mask
from sunrise._common.threads import threads
from sunrise.data.blocks import Block, WordsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.families.readers import Fitting, Reader, Scoring
from sunrise.text.counter import Counted
from sunrise.text.hashed import named_by_hash
from sunrise.text.vocabulary import Vocabulary


class TextReader(Reader):
    """Cells are documents, read as scaled counts of their words."""

    own_block = True
    is_numeric = False

    def update_problem(self, family: Any) -> str | None:
        """Words that were weighed before the length was taken depend on all documents together."""
        if not family.idf_first:
            return None
        return (
            "idf_first=True weighs words before the length of a document is taken, so the sums depend on all documents "
            "together: the model can be neither updated nor merged. Set idf_first=False."
        )

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """Scaled counts of the words; only documents with a positive weight decide how rare words are."""
        counted = count_words(table.read(columns[0]), family, None, fitting.n_jobs)
        if not family.idf_first:
            return scaled_counts(counted, family, fitting.n_jobs)
        used = ~counted.missing if fitting.weight is None else ~counted.missing & (fitting.weight > 0)
        documents = np.bincount(
            counted.indices[np.repeat(used, counted.distinct)], minlength=counted.n_columns
        )
        return _scale(counted, family, family.rarity(documents, float(used.sum())), fitting.n_jobs)

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """Scaled counts of the words of the fit."""
        counted = count_words(table.read(scoring.columns[0]), family, scoring.lookup, scoring.n_jobs)
        return scaled_counts(counted, family, scoring.n_jobs)

    def lookup(self, stats: Any) -> Vocabulary:
        """The vocabulary of the fit."""
        return cast(Vocabulary, stats.vocabulary or Vocabulary(stats.words))

    def count_unusable(self, column: Column, family: Any, form: Any, lookup: Any, at: int) -> tuple[int, int]:
        """Missing documents; a document is never unseen."""
        return sum(column.display_value(row) is None for row in range(column.n_rows)), 0


TEXT = TextReader()


def count_words(column: Column, family: Any, vocabulary: Vocabulary | None, n_jobs: int | None) -> Counted:
    """Count the words of the documents of a column; with a vocabulary, only its words."""
    if column.texts is None and column.kind in ("number", "bool"):
        raise ValueError(
            f"column {column.name!r} holds {column.kind}s, not text. Choose another family, or convert it to strings."
        )
    if family.counter.hash_bits is None:
        return cast(Counted, column.count_words(family.counter, vocabulary, n_jobs))
    hashed = column.count_words(family.counter, None, n_jobs)
    own = hashed.derive("words", lambda: named_by_hash(hashed, None))
    return own if vocabulary is None or vocabulary is own.vocabulary else named_by_hash(hashed, vocabulary)


def scaled_counts(counted: Counted, family: Any, n_jobs: int | None) -> WordsBlock:
    """Counted documents as they are scored. The block is kept with the counts, so that it is made once."""
    if family.idf_first:
        return _scale(counted, family, family.word_weight, n_jobs)
    key = family.tf, family.length, family.total
    return cast(WordsBlock, counted.derive(key, lambda: _scale(counted, family, None, n_jobs)))


def _scale(counted: Counted, family: Any, weight: Floats | None, n_jobs: int | None) -> WordsBlock:
    how = (str(family.tf), float(family.length or 0.0), family.total)
    weight = None if weight is None else np.nan_to_num(weight)
    data = counted.data
    if how != ("count", 0.0, None) or weight is not None:
        data = np.empty(len(counted.data))
        n_threads = threads(n_jobs, len(counted.data))
        _native.scale_counts(counted.data, counted.indices, counted.indptr, weight, *how, data, n_threads)
    wide = np.int32 if len(data) < 2**31 else np.int64
    indices, indptr = (a.astype(wide, copy=False) for a in (counted.indices, counted.indptr))
    missing: Mask | None = counted.missing if counted.missing.any() else None
    shape = counted.n_rows, counted.n_columns
    lengths = counted.lengths.astype(float)
    return WordsBlock(data, indices, indptr, shape, lengths, missing, counted.vocabulary)
