"""Arrays in fewer bytes: the narrowest type that holds the numbers exactly, and a bit mask where most are 0.

Packed arrays are unpacked when they are first used, so that loading takes no more memory than the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise.store.errors import ModelFileError

_NARROW = tuple(np.dtype(name) for name in ("u1", "i1", "u2", "i2", "u4", "i4", "f4"))
#: Arrays with fewer bytes stay as they are.
_SMALL = 64


class Packed(NamedTuple):
    """An array in fewer bytes: the values that are not 0, and a bit for every number if some are 0."""

    values: NDArray[Any]
    mask: NDArray[np.uint8] | None

    @classmethod
    def of(cls, a: NDArray[Any]) -> Packed:
        """Pack an array of numbers; `unpack` restores every bit.

        >>> import numpy as np
        >>> packed = Packed.of(np.array([0.0] * 60 + [3.0] * 4))
        >>> packed.values, packed.mask
        (array([3, 3, 3, 3], dtype=uint8), array([  0,   0,   0,   0,   0,   0,   0, 240], dtype=uint8))
        """
        flat = np.ascontiguousarray(a).reshape(-1)
        if flat.nbytes < _SMALL:
            return cls(np.ascontiguousarray(a), None)
        bits = flat.view(f"u{flat.itemsize}")  # -0.0 is not 0
        nonzero = bits != 0
        values = _narrowed(flat[nonzero])
        dense = flat.astype(values.dtype)  # every type holds 0
        if values.nbytes + len(flat) // 8 < dense.nbytes:
            return cls(values, np.packbits(nonzero, bitorder="little"))
        return cls(dense.reshape(a.shape), None)

    def unpack(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the array; without packing this is a view."""
        if self.mask is None:
            return self.values.astype(dtype, copy=False)
        nonzero = np.unpackbits(self.mask, count=math.prod(shape), bitorder="little").view(bool)
        a = np.zeros(len(nonzero), dtype)
        a[nonzero] = self.values
        return a.reshape(shape)

    def check(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        """Raise ModelFileError unless the parts fit the type and the shape."""
        size = math.prod(shape)
        if self.values.dtype.kind == "b" and dtype.kind != "b":
            raise ModelFileError("A packed array of the model file has a type that its numbers do not have.")
        if self.mask is None:
            fits = self.values.shape == shape
        else:
            ones = int(np.bitwise_count(self.mask).sum(dtype=np.int64))
            last = int(self.mask[-1]) >> (size % 8) if len(self.mask) and size % 8 else 0
            fits = (
                self.mask.dtype == np.uint8
                and self.mask.shape == ((size + 7) // 8,)
                and self.values.shape == (ones,)
                and last == 0
            )
        if not fits:
            raise ModelFileError("A packed array of the model file does not have the shape that it claims.")


def _narrowed(a: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers in the narrowest type that holds each of them exactly."""
    bits = a.view(f"u{a.itemsize}")
    for dtype in _NARROW:
        if dtype.itemsize >= a.itemsize:
            break
        if a.size and not _may_hold(a, dtype):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = a.astype(dtype)
            if np.array_equal(narrow.astype(a.dtype).view(bits.dtype), bits):
                return narrow
    return a


def _may_hold(a: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """True if the first numbers fit a type: skips most conversions that cannot succeed."""
    head = a[:8]
    if dtype.kind == "f":
        return a.dtype.kind == "f"
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        return bool(((head >= limits.min) & (head <= limits.max) & (head == np.floor(head))).all())


def pack_strings(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return strings as one array of UTF-8 bytes, and the offset at which each begins.

    >>> [array.tolist() for array in pack_strings(["a", "", "bc"])]
    [[97, 98, 99], [0, 1, 1, 3]]
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in strings]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    blob = np.frombuffer(b"".join(encoded), np.uint8)
    return blob, offsets.astype(np.uint32) if offsets[-1] < 2**32 else offsets.astype(np.uint64)


def check_strings(blob: NDArray[Any], offsets: NDArray[Any]) -> None:
    """Raise ModelFileError unless the offsets divide the bytes."""
    fits = (
        blob.dtype == np.uint8
        and blob.ndim == 1
        and offsets.ndim == 1
        and offsets.dtype.kind == "u"
        and len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == len(blob)
        and bool((offsets[1:] >= offsets[:-1]).all())
    )
    if not fits:
        raise ModelFileError("The strings of the model file do not have the lengths that it claims.")


def unpack_strings(blob: NDArray[Any], offsets: NDArray[Any]) -> list[str]:
    """Return the strings."""
    try:
        text = blob.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise ModelFileError("A string of the model file is not valid UTF-8.") from None
    ends = offsets
    if len(text) < len(blob):  # offsets count bytes; count characters instead, which begin with other bytes
        first_bytes = (blob & 0xC0) != 0x80
        if not first_bytes[offsets[:-1][offsets[:-1] < len(blob)]].all():
            raise ModelFileError("A string of the model file begins within a character.")
        ends = np.concatenate([[0], np.cumsum(first_bytes)])[offsets]
    return [text[a:b] for a, b in pairwise(ends.tolist())]
