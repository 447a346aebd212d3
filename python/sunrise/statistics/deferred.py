"""Statistics whose arrays are computed when they are first used: those of a model file, and words as Python strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self


class Deferred:
    """Base of statistics. `deferred` builds them from functions that return the arrays.

    `shapes` has the dimensions of every array by name: equal names stand for equal numbers, and "1 or columns" also
    allows 1. A model file with other shapes is refused.
    """

    shapes: ClassVar[dict[str, tuple[str, ...]]] = {}

    @classmethod
    def deferred(cls, parts: dict[str, Any], later: dict[str, Callable[[], Any]]) -> Self:
        """Return statistics with some fields given, and others computed when they are first read."""
        self = cls.__new__(cls)
        self.__dict__.update(parts, _later=later)
        return self

    def is_consistent(self, sizes: dict[str, int]) -> bool:
        """True if the levels or values of the columns add up to the dimensions of the arrays, given by name."""
        return True

    def __getattr__(self, name: str) -> Any:
        later = self.__dict__.get("_later", {})
        if name not in later:
            raise AttributeError(name)
        value = self.__dict__[name] = later.pop(name)()
        return value

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for pickling, without values that were computed from them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
