"""Errors of exports: which column cannot be exported, why, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn


def refuse_column(name: Any, problem: str, remedy: str) -> NoReturn:
    """Raise because a column cannot be exported."""
    raise ValueError(f"column {name!r} cannot be exported: {problem}. {remedy}")


def refuse_columns(names: Iterable[Any], export: str, problem: str, remedy: str) -> NoReturn:
    """Raise because an export cannot say how some columns are scored."""
    listed = list(names)
    shown = ", ".join(repr(name) for name in listed[:10])
    more = f" and {len(listed) - 10} more" if len(listed) > 10 else ""
    noun = "column" if len(listed) == 1 else "columns"
    raise ValueError(f"{export} cannot be written because of {noun} {shown}{more}: {problem}. {remedy}")
