"""Hashed tokens as words: the name of a column is its hash."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sunrise.text.counter import Counted
from sunrise.text.vocabulary import Vocabulary

#: Number of decimal digits of the largest hash.
DIGITS = 10


def named_by_hash(counted: Counted, vocabulary: Vocabulary | None) -> Counted:
    """Convert counts by hash to counts of words named by their hashes; with a vocabulary, only its words.

    >>> from sunrise.text import WordCounter
    >>> named_by_hash(WordCounter(hash_bits=8).count(["one two one"]), None).words.tolist()
    ['#0000000016', '#0000000182']
    """
    if vocabulary is None:
        hashes = np.unique(counted.indices).astype(np.int64)
        vocabulary = Vocabulary([f"#{value:0{DIGITS}d}" for value in hashes.tolist()])
    else:
        hashes = _hashes_of(vocabulary)
    position = np.searchsorted(hashes, counted.indices)
    known = np.append(hashes, -1)[position] == counted.indices
    row = np.repeat(np.arange(counted.n_rows), counted.distinct)[known]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=counted.n_rows))])
    return replace(
        counted,
        indptr=indptr.astype(np.int64),
        indices=position[known].astype(np.int32),
        data=counted.data[known],
        vocabulary=vocabulary,
        n_columns=len(hashes),
    )


def _hashes_of(vocabulary: Vocabulary) -> NDArray[np.int64]:
    return np.array([int(word[1:]) for word in vocabulary.words.tolist()], np.int64)
