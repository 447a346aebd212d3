"""The container: named arrays behind a JSON header, in the layout of safetensors.

The first 8 bytes are the length of the header, a little-endian integer. The header is JSON: it maps the name of every
array to its type, its shape and its place in the body, and `__metadata__` to a dict of strings. The body follows. Its
last 32 bytes are an array too: the SHA-256 digest of everything before it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise.store.errors import ModelFileError

#: Types of arrays by their names in the header, widest first: every array is then aligned to its type.
_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "F32": np.dtype("<f4"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "I16": np.dtype("<i2"),
    "U16": np.dtype("<u2"),
    "I8": np.dtype("<i1"),
    "U8": np.dtype("<u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_DIGEST = "digest"
_DIGEST_BYTES = 32
#: Key of the description (a JSON text) in the metadata of the header.
_SPEC = "sunrise"
#: Longest header, the limit of safetensors.
_LONGEST_HEADER = 100_000_000


class Contents(NamedTuple):
    """The description and the arrays of a container; the arrays are read-only views of its bytes."""

    spec: Any
    arrays: dict[str, NDArray[Any]]
    n_bytes: int


def pack(spec: Any, arrays: Mapping[str, NDArray[Any]]) -> list[bytes | memoryview]:
    """Return the pieces of a container; written one after the other they are the file.

    >>> import numpy as np
    >>> contents = unpack(b"".join(pack({"answer": 42}, {"a": np.arange(3)})))
    >>> contents.spec, contents.arrays["a"]
    ({'answer': 42}, array([0, 1, 2]))
    """
    rank = {dtype: place for place, dtype in enumerate(_TYPES.values())}
    plain = {name: np.require(a, a.dtype.newbyteorder("<"), "C") for name, a in arrays.items()}
    ordered = sorted(plain.items(), key=lambda item: rank[item[1].dtype])
    header: dict[str, Any] = {"__metadata__": {_SPEC: _to_json(spec)}}
    end = 0
    for name, a in ordered:
        header[name] = {
            "dtype": _NAMES[a.dtype],
            "shape": list(a.shape),
            "data_offsets": [end, end + a.nbytes],
        }
        end += a.nbytes
    header[_DIGEST] = {"dtype": "U8", "shape": [_DIGEST_BYTES], "data_offsets": [end, end + _DIGEST_BYTES]}
    text = _to_json(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"The description of the model has {len(text):,} bytes; a model file can have {_LONGEST_HEADER:,}. Save a "
            "model with fewer columns."
        )
    pieces: list[bytes | memoryview] = [len(text).to_bytes(8, "little"), text]
    pieces += [a.reshape(-1).view(np.uint8).data for _, a in ordered if a.nbytes]
    return [*pieces, _digest(pieces)]


def unpack(data: bytes | memoryview) -> Contents:
    """Return the contents of a container; raise ModelFileError unless every byte is as it was written."""
    view = memoryview(data)
    header = _header(view)
    start = 8 + int.from_bytes(view[:8], "little")
    body = view[start:]
    arrays, end = {}, 0
    for name, entry in header.items():
        if name != "__metadata__":
            arrays[name], end = _array(name, entry, body, end)
    if end != len(body) or _DIGEST not in arrays or arrays[_DIGEST].nbytes != _DIGEST_BYTES:
        raise ModelFileError(_DAMAGED)
    if _digest([view[:-_DIGEST_BYTES]]) != view[-_DIGEST_BYTES:]:
        raise ModelFileError(_DAMAGED)
    del arrays[_DIGEST]
    metadata = header.get("__metadata__")
    text = metadata.get(_SPEC) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("The file has the layout of safetensors, but it does not hold a Sunrise model.")
    return Contents(_from_json(text), arrays, len(view))


_DAMAGED = "The model file is damaged or truncated. Save the model again, or use another copy of the file."
_NOT_A_MODEL = "This is not a Sunrise model file. Model files are written by model.save()."


def _header(view: memoryview) -> dict[str, Any]:
    if len(view) < 8 + 2 + _DIGEST_BYTES:
        raise ModelFileError(_NOT_A_MODEL)
    length = int.from_bytes(view[:8], "little")
    if length > _LONGEST_HEADER or bytes(view[8:9]) != b"{":
        raise ModelFileError(_NOT_A_MODEL)
    if length > len(view) - 8 - _DIGEST_BYTES:
        raise ModelFileError(_DAMAGED)
    header = _from_json(bytes(view[8 : 8 + length]))
    if not isinstance(header, dict):
        raise ModelFileError(_NOT_A_MODEL)
    return header


def _array(name: str, entry: Any, body: memoryview, start: int) -> tuple[NDArray[Any], int]:
    """Return one array of the body and the offset where it ends; arrays follow each other without gaps."""
    try:
        dtype, shape, (first, end) = _TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise ModelFileError(_DAMAGED) from None
    sizes = [*shape, first, end] if isinstance(shape, list) else []
    if not sizes or not all(type(size) is int and 0 <= size <= len(body) for size in sizes):
        raise ModelFileError(_DAMAGED)
    if len(shape) > 4 or first != start or end - first != math.prod(shape) * dtype.itemsize:
        raise ModelFileError(_DAMAGED)
    array = np.frombuffer(body[first:end], dtype).reshape(shape)
    # Native code must never see a boolean that is neither 0 nor 1.
    if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ModelFileError(_DAMAGED)
    array.flags.writeable = False
    return array, end


def _digest(pieces: list[Any]) -> bytes:
    digest = hashlib.sha256(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _from_json(text: str | bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # also text that is not UTF-8, and integers of thousands of digits
        raise ModelFileError(_DAMAGED) from None


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(_DAMAGED)
