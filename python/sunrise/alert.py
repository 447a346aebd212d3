"""Warnings that point to the caller's own line."""

from __future__ import annotations

import sys
import warnings

#: Packages whose lines are not the caller's.
_OURS = ("sunrise", "sklearn")


def alert(text: str, category: type[UserWarning]) -> None:
    """Warn, as from the first line outside of this package; the text ends with how to silence it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    remedy = f'warnings.filterwarnings("ignore", category=sunrise.{category.__name__})'
    warnings.warn(f"{text} Silence this with {remedy}.", category, stacklevel=level)
