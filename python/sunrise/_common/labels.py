"""Class labels of any type: conversion to codes 0, 1, 2, ... and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Labels, Positions


def _sort_key(label: Any) -> tuple[str, Any]:
    # Labels of different types cannot be compared with each other: numbers first, then type by type.
    kind = "" if isinstance(label, int | float | np.number | np.bool_) else type(label).__name__
    return kind, label


def as_array(labels: Any) -> Any:
    """Convert a list of labels to an array that keeps their types: NumPy would turn [1, "a"] into strings.

    >>> as_array([1, "a"])
    array([1, 'a'], dtype=object)
    """
    if isinstance(labels, set | frozenset):
        labels = list(labels)
    if not isinstance(labels, list | tuple):
        return labels
    array = np.asarray(labels)
    if array.dtype.kind not in "US" or array.ndim != 1 or all(isinstance(v, str | bytes) for v in labels):
        return array
    return np.array(labels, dtype=object)


def sort(array: Labels) -> Labels:
    """Distinct labels in sorted order, as an array of the same type.

    >>> sort(np.array(["b", "a", "b"]))
    array(['a', 'b'], dtype='<U1')
    """
    if array.dtype.kind != "O":
        return np.unique(array)
    distinct = list(dict.fromkeys(array.tolist()))
    try:
        ordered = sorted(distinct, key=_sort_key)
    except TypeError:  # hashable labels that cannot be compared
        ordered = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    result = np.empty(len(ordered), dtype=object)
    result[:] = ordered
    return result


def union(a: Labels, b: Labels) -> Labels:
    """Distinct labels of both arrays, sorted.

    >>> union(np.array([2, 0]), np.array([1]))
    array([0, 1, 2])
    """
    if a is b or (a.dtype == b.dtype and np.array_equal(a, b)):
        return a
    numbers = [x.dtype.kind in "biuf" for x in (a, b)]
    if a.dtype.kind != b.dtype.kind and not all(numbers):
        # Joining numbers and strings in one plain array would turn 1 into "1".
        a, b = a.astype(object), b.astype(object)
    joined = np.concatenate([a, b])
    if joined.dtype.kind == "f" and joined.astype(object).tolist() != [*a.tolist(), *b.tolist()]:
        # Integers beyond 2**53 have no exact float.
        joined = np.concatenate([a.astype(object), b.astype(object)])
    return sort(joined)


def locate(classes: Labels, labels: Labels) -> Positions:
    """Position of every label in `classes`; -1 if absent."""
    if classes.dtype != labels.dtype and classes.dtype.kind == labels.dtype.kind:
        labels = labels.astype(np.promote_types(classes.dtype, labels.dtype))
        classes = classes.astype(labels.dtype)  # one date in two units is one label
    position = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def place_of(label: Any, classes: Labels) -> int:
    """Position of one label among the classes; raises ValueError for an unknown label.

    >>> place_of("b", np.array(["a", "b"]))
    1
    """
    position = int(locate(classes, np.asarray([label]))[0])
    if position < 0:
        raise ValueError(f"{label!r} is not one of the classes {classes.tolist()}")
    return position


def encode(y: Labels) -> tuple[Labels, Codes]:
    """Return the distinct labels of a column, sorted, and the code of every row.

    >>> encode(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1], dtype=int32))
    """
    kind = y.dtype.kind
    if kind == "b":
        classes, codes = _native.encode_integers((y.view(np.uint8) != 0).view(np.uint8))
        return classes.astype(bool), codes
    if kind in "iu" and y.dtype != np.uint64:
        own = y.dtype
        if not (own.isnative and y.flags.c_contiguous and y.flags.aligned):
            y = np.require(y, own.newbyteorder("="), ["C", "A"])
        classes, codes = _native.encode_integers(y)
        return classes.astype(own, copy=False), codes
    if kind in "US" and y.dtype.itemsize:
        raw = np.ascontiguousarray(y).view(np.uint8)
        first, codes = _native.encode_strings(raw, y.dtype.itemsize)
        classes = np.unique(y[first])
        return classes, np.searchsorted(classes, y[first]).astype(np.int32)[codes]
    if kind == "O":
        if (coded := _native.encode_objects(y)) is not None and (coded[1] >= 0).all():
            classes = sort(y[coded[0]])
            return classes, _native.map_codes(coded[1], locate(classes, y[coded[0]]).astype(np.int32))
        classes = sort(y)
        position = {label: k for k, label in enumerate(classes.tolist())}
        return classes, np.fromiter((position[label] for label in y.tolist()), np.int32, len(y))
    classes, inverse = np.unique(y, return_inverse=True)
    return classes, inverse.astype(np.int32)
