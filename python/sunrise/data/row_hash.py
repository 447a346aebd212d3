"""A hash of the content of every row, to draw samples and folds that do not depend on the order of the rows.

A number is hashed as a float64, a level by its name, a missing cell by one fixed mark. The hash of a cell also depends
on the content of its column, and the hashes of a row add up, so names and order of the columns have no effect either.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats
from sunrise._common.threads import threads
from sunrise.data.blocks import SparseBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame

_MISSING = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(table: Frame, columns: Sequence[int]) -> Any:
    """Return a hash of every row, over some columns.

    >>> from sunrise.data.frame import frame_of
    >>> a, b, c = row_hashes(frame_of({"x": [1, 2, 1], "y": ["u", "u", "u"]}), [0, 1])
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    if isinstance(table.block, SparseBlock):
        return _sparse_hashes(table.block)
    total = np.zeros(table.n_rows, np.uint64)
    for j in columns:
        cells = cell_hashes(table.raw(j))
        own = mix(cells).sum(dtype=np.uint64)  # tells columns apart, whatever their names and order
        total += mix(cells ^ mix(own.reshape(1)))
    return total


def cell_hashes(column: Column) -> Any:
    """Return a hash of every cell of a column."""
    if column.texts is not None:
        texts: Any = column.texts
        texts = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
        return _native.hash_texts(texts, int(_MISSING), threads(None, 256 * len(texts)))
    if column.kind in ("number", "bool", "date"):
        return number_hashes(column.numbers())
    names, codes = column.levels
    of_level = np.array([*(text_hash(str(name)) for name in names), _MISSING], np.uint64)
    return of_level[codes]


def number_hashes(x: Floats) -> Any:
    """Return a hash of every number."""
    return np.where(np.isnan(x), _MISSING, mix((x + 0.0).view(np.uint64)))  # + 0.0 makes -0.0 equal to 0.0


def _sparse_hashes(block: SparseBlock) -> Any:
    """Return the sums of the hashes of the stored cells of every row; stored zeros are left out."""
    hashes = mix(number_hashes(np.asarray(block.data, np.float64)) ^ mix(block.indices.astype(np.uint64)))
    hashes[np.asarray(block.data) == 0] = 0
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    return sums[block.indptr[1:]] - sums[block.indptr[:-1]]


def text_hash(text: Any) -> np.uint64:
    """Return the hash of a text; all missing values have the same hash."""
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
    if not isinstance(text, bytes):
        return _MISSING
    return np.uint64(int.from_bytes(blake2b(text, digest_size=8).digest(), "little"))


def mix(bits: Any) -> Any:
    """Return well-distributed bits (the finaliser of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
