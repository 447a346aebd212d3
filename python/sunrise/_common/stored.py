"""The classes that a model file may hold: each is registered where it is defined, under a name that never changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

#: Every class that a model file may hold, by its name in the file.
STORED: dict[str, type] = {}
STORED_NAMES: dict[type, str] = {}


def stored(name: str) -> Callable[[_Class], _Class]:
    """Register a dataclass or a NamedTuple: a model file may hold its fields, and loading builds it from them."""

    def register(cls: _Class) -> _Class:
        STORED[name], STORED_NAMES[cls] = cls, name
        return cls

    return register
