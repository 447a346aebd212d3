"""Every warning class of the library, and `alert`, which points a warning to the caller's own line."""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "ColumnNamesWarning",
    "DuplicateColumnsWarning",
    "FirstBatchWarning",
    "ImpossibleRowWarning",
    "LostPrecisionWarning",
    "NotConvergedWarning",
    "UnseenLevelsWarning",
]

#: Packages whose lines are not the caller's.
_OURS = ("sunrise", "sklearn")


def alert(text: str, category: type[UserWarning]) -> None:
    """Warn at the first line outside of this package; the text ends with how to silence the warning."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    remedy = f'warnings.filterwarnings("ignore", category=sunrise.{category.__name__})'
    warnings.warn(f"{text} Silence this with {remedy}.", category, stacklevel=level)


class ColumnNamesWarning(UserWarning):
    """Columns are taken in their order, because either the model or X has no names for them.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ColumnNamesWarning)`.
    """


class DuplicateColumnsWarning(UserWarning):
    """Two columns determine each other given the class, so that their evidence is counted twice.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.DuplicateColumnsWarning)`.
    """


class FirstBatchWarning(UserWarning):
    """The first batch of a stream, which decides the families, says too little of some columns.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.FirstBatchWarning)`.
    """


class ImpossibleRowWarning(UserWarning):
    """Rows have probability 0 under every class; they got the class prior.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ImpossibleRowWarning)`.
    """


class LostPrecisionWarning(UserWarning):
    """Forgetting left a variance that is known to few digits.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.LostPrecisionWarning)`.
    """


class NotConvergedWarning(UserWarning):
    """The likelihood of a Dirichlet-compound multinomial could still grow when the iterations ended.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.NotConvergedWarning)`.
    """


class UnseenLevelsWarning(UserWarning):
    """Most cells of a column are levels that were never seen in fit.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.UnseenLevelsWarning)`.
    """
