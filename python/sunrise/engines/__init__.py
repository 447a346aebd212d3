"""Engines compute sufficient statistics and scores: `native` (Rust, the default) and `array` (readable reference)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType

from sunrise._common.threads import threads
from sunrise.engines import array, native
from sunrise.engines.pieces import PIECE, score_in_pieces

__all__ = ["ENGINES", "PIECE", "array", "current", "native", "score_in_pieces", "threads", "using"]

ENGINES: dict[str, ModuleType] = {"native": native, "array": array}

_current_engine: ContextVar[ModuleType] = ContextVar("engine", default=native)


def current() -> ModuleType:
    """Return the engine in use."""
    return _current_engine.get()


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use another engine, "native" or "array", inside a with block.

    >>> from sunrise import BernoulliNB, engines
    >>> with engines.using("array"):
    ...     model = BernoulliNB().fit([[0], [1]], ["no", "yes"])
    """
    token = _current_engine.set(ENGINES[name])
    try:
        yield
    finally:
        _current_engine.reset(token)
