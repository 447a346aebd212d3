"""Words that are known by their hashes alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sunrise.text.counter import Counted
from sunrise.text.vocabulary import Vocabulary

#: Digits of the largest hash there is.
DIGITS = 10


def named_by_hash(counted: Counted, vocabulary: Vocabulary | None) -> Counted:
    """Counts by hash as counts of words that are called by their hashes; with a vocabulary, only those in it.

    >>> from sunrise.text import WordCounter
    >>> named_by_hash(WordCounter(hash_bits=8).count(["one two one"]), None).words.tolist()
    ['#0000000016', '#0000000182']
    """
    if vocabulary is None:
        numbers = np.unique(counted.indices).astype(np.int64)
        vocabulary = Vocabulary([f"#{number:0{DIGITS}d}" for number in numbers.tolist()])
    else:
        numbers = _numbers(vocabulary)
    place = np.searchsorted(numbers, counted.indices)
    known = np.append(numbers, -1)[place] == counted.indices
    row = np.repeat(np.arange(counted.n_rows), counted.distinct)[known]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=counted.n_rows))])
    return replace(
        counted,
        indptr=indptr.astype(np.int64),
        indices=place[known].astype(np.int32),
        data=counted.data[known],
        vocabulary=vocabulary,
        n_columns=len(numbers),
    )


def _numbers(vocabulary: Vocabulary) -> NDArray[np.int64]:
    return np.array([int(word[1:]) for word in vocabulary.words.tolist()], np.int64)
