"""Conversion of lists, arrays, columns and files to texts for the native code."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Set
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sunrise import _native


def as_texts(texts: Any) -> list[Any] | _native.ArrowColumn:
    """Convert texts to the input of the native code: a list of str, bytes and missing values, or an Arrow column.

    >>> as_texts(np.array(["one", "two"]))
    ['one', 'two']
    """
    if type(texts) is list or isinstance(texts, _native.ArrowColumn):
        return texts
    if isinstance(texts, PathLike):
        return lines_of(texts)
    if isinstance(texts, str | bytes | bytearray | memoryview | Mapping | Set):
        raise TypeError(
            f"texts must be a list, an array or a column of str, and this is one {type(texts).__name__}; "
            "for one text pass [text]"
        )
    if isinstance(texts, np.ndarray):
        return _from_array(texts)
    if hasattr(texts, "dtype") and hasattr(texts, "to_numpy") and hasattr(texts, "array"):
        return _from_pandas(texts)
    if hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__"):
        return _native.arrow_column(texts)
    if isinstance(texts, list | tuple | Iterator) or hasattr(texts, "__getitem__"):
        return list(texts)
    raise TypeError(
        f"texts must be a list, an array or a column of str, and this is of type {type(texts).__name__}; "
        "pass a list of str"
    )


def lines_of(path: PathLike[str]) -> list[bytes]:
    """Lines of a file, one text each; a file name that ends in .gz is decompressed.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "texts.txt"
    ...     _ = path.write_text("one text\\nanother\\n")
    ...     lines_of(path)
    [b'one text', b'another']
    """
    file = Path(path)
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()  # a newline ends the last line, so no text follows it
    return [line.removesuffix(b"\r") for line in lines]


def _from_array(array: Any) -> list[Any]:
    if array.ndim != 1:
        raise ValueError(
            f"texts must be one-dimensional, and this array has shape {array.shape}; pass one column of it"
        )
    if array.dtype.kind not in "OUST":
        raise TypeError(
            f"texts must be str, and this array holds {array.dtype}; convert it with .astype(str)"
        )
    texts: list[Any] = array.tolist()
    return texts


def _from_pandas(series: Any) -> list[Any] | _native.ArrowColumn:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        categories = [*series.array.categories, None]  # code -1, a missing text, selects None
        return [categories[code] for code in series.array.codes.tolist()]
    if getattr(dtype, "storage", "") == "pyarrow" or hasattr(dtype, "pyarrow_dtype"):
        return _native.arrow_column(series.array.__arrow_array__())
    return _from_array(series.to_numpy())
