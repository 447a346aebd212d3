"""Engines: who adds up and who scores. `native` is the default, `array` the readable oracle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType

from sunrise._common.threads import threads
from sunrise.engines import array, native

__all__ = ["ENGINES", "array", "current", "native", "threads", "using"]

ENGINES: dict[str, ModuleType] = {"native": native, "array": array}

_chosen: ContextVar[ModuleType] = ContextVar("engine", default=native)


def current() -> ModuleType:
    """The engine to use now."""
    return _chosen.get()


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use another engine inside a with block.

    >>> from sunrise import BernoulliNB, engines
    >>> with engines.using("array"):
    ...     model = BernoulliNB().fit([[0], [1]], ["no", "yes"])
    """
    token = _chosen.set(ENGINES[name])
    try:
        yield
    finally:
        _chosen.reset(token)
