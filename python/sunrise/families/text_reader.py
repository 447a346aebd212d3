"""Reader of text columns: turns documents into scaled word counts."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Mask
from sunrise._common.threads import threads
from sunrise.data.blocks import Block, WordsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.families.readers import Fitting, Reader, Scoring, Unusable
from sunrise.text.counter import Counted
from sunrise.text.hashed import named_by_hash
from sunrise.text.vocabulary import Vocabulary


class TextReader(Reader):
    """Cells are documents, read as scaled counts of their words."""

    own_block = True
    is_numeric = False

    def update_problem(self, family: Any) -> str | None:
        """Why the model cannot be updated: with `idf_first` the sums depend on all documents together."""
        if not family.idf_first:
            return None
        return (
            "with idf_first=True the sums depend on all documents together, so the model can be neither updated nor "
            "merged. Set idf_first=False."
        )

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """Scaled word counts; only documents with a positive weight count in document frequencies."""
        counted = count_words(table.read(columns[0]), family, None, fitting.n_jobs)
        if not family.idf_first:
            return scaled_counts(counted, family, fitting.n_jobs)
        used = ~counted.missing if fitting.weight is None else ~counted.missing & (fitting.weight > 0)
        documents = np.bincount(
            counted.indices[np.repeat(used, counted.distinct)], minlength=counted.n_columns
        )
        return _scale(counted, family, family.word_weights(documents, float(used.sum())), fitting.n_jobs)

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """Scaled counts of the words in the vocabulary of the fit."""
        counted = count_words(table.read(scoring.columns[0]), family, scoring.lookup, scoring.n_jobs)
        return scaled_counts(counted, family, scoring.n_jobs)

    def unused(self, family: Any) -> str | None:
        """Why no word is used: the documents have none, or the settings ignore all of them."""
        if not np.isnan(family.weight_to_apply).all():
            return None
        return (
            "has no word that the model uses, so it says nothing about the class: the prediction is that of the other "
            "columns and the class prior. The documents are empty or missing, or analyzer, stop_words, min_df, max_df "
            "and max_features leave no word."
        )

    def to_cells(self, x: Floats, lookup: Any, at: int, kind: str, whole: bool) -> list[Any]:
        """None for every row: no documents can be drawn."""
        return [None] * len(x)

    def lookup(self, stats: Any) -> Vocabulary:
        """The vocabulary of the fit."""
        return cast(Vocabulary, stats.vocabulary or Vocabulary(stats.words))

    def count_unusable(self, column: Column, family: Any, form: Any, lookup: Any, at: int) -> Unusable:
        """Number of missing documents; a document is never unseen or impossible."""
        return Unusable(sum(column.display_value(row) is None for row in range(column.n_rows)), 0, 0)


TEXT = TextReader()


def count_words(column: Column, family: Any, vocabulary: Vocabulary | None, n_jobs: int | None) -> Counted:
    """Count the words of the documents of a column; with a vocabulary, only its words."""
    if column.texts is None and column.kind in ("number", "bool"):
        raise ValueError(
            f"column {column.name!r} holds {column.kind}s, not text. Choose another family, or convert the "
            "column to strings."
        )
    if family.counter.hash_bits is None:
        return cast(Counted, column.count_words(family.counter, vocabulary, n_jobs))
    hashed = column.count_words(family.counter, None, n_jobs)
    named = hashed.derive("words", lambda: named_by_hash(hashed, None))
    return (
        named if vocabulary is None or vocabulary is named.vocabulary else named_by_hash(hashed, vocabulary)
    )


def scaled_counts(counted: Counted, family: Any, n_jobs: int | None) -> WordsBlock:
    """Scale counted documents by the settings of a text family. The result is cached with the counts."""
    if family.idf_first:
        return _scale(counted, family, family.word_weight, n_jobs)
    key = family.tf, family.length, family.total
    return cast(WordsBlock, counted.derive(key, lambda: _scale(counted, family, None, n_jobs)))


def _scale(counted: Counted, family: Any, weight: Floats | None, n_jobs: int | None) -> WordsBlock:
    """Scale counts by term frequency, word weights (if any) and length or total."""
    settings = (str(family.tf), float(family.length or 0.0), family.total)
    weight = None if weight is None else np.nan_to_num(weight)
    data = counted.data
    if settings != ("count", 0.0, None) or weight is not None:
        data = np.empty(len(counted.data))
        n_threads = threads(n_jobs, len(counted.data))
        _native.scale_counts(
            counted.data, counted.indices, counted.indptr, weight, *settings, data, n_threads
        )
    index_type = np.int32 if len(data) < 2**31 else np.int64
    indices, indptr = (a.astype(index_type, copy=False) for a in (counted.indices, counted.indptr))
    missing: Mask | None = counted.missing if counted.missing.any() else None
    shape = counted.n_rows, counted.n_columns
    lengths = counted.lengths.astype(float)
    return WordsBlock(data, indices, indptr, shape, lengths, missing, counted.vocabulary)
