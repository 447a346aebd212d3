"""All warning classes of the library, and `alert`, which reports a warning at the user's line of code."""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "ColumnNamesWarning",
    "DuplicateColumnsWarning",
    "FirstBatchWarning",
    "ImpossibleCellWarning",
    "ImpossibleRowWarning",
    "InexactExportWarning",
    "LostPrecisionWarning",
    "NoColumnsWarning",
    "NoDensityWarning",
    "NoWordsWarning",
    "NotConvergedWarning",
    "RareClassesWarning",
    "SkippedRowsWarning",
    "StaleCalibrationWarning",
    "UnlabelledRowsWarning",
    "UnseenLevelsWarning",
    "VersionWarning",
]

#: Packages whose stack frames `alert` skips.
_SKIPPED_PACKAGES = ("sunrise", "sklearn")


def alert(text: str, category: type[UserWarning]) -> None:
    """Issue a warning at the first stack frame outside these packages, and append how to silence it."""
    frame, level = sys._getframe(1), 2
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] in _SKIPPED_PACKAGES
    ):
        frame, level = frame.f_back, level + 1
    remedy = f'warnings.filterwarnings("ignore", category=sunrise.{category.__name__})'
    warnings.warn(f"{text} Silence this with {remedy}.", category, stacklevel=level)


class ColumnNamesWarning(UserWarning):
    """Columns are matched by position, because either the model or X has no column names.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ColumnNamesWarning)`.
    """


class DuplicateColumnsWarning(UserWarning):
    """Two columns nearly determine each other given the class, so their evidence is counted twice.

    A pair of columns of a table is reported once in a process.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.DuplicateColumnsWarning)`.
    """


class FirstBatchWarning(UserWarning):
    """The first rows of a stream fix the families of all columns, but have too few cells of some of them.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.FirstBatchWarning)`.
    """


class ImpossibleCellWarning(UserWarning):
    """Cells that the automatically chosen family of their column cannot have; they count as missing.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ImpossibleCellWarning)`.
    """


class ImpossibleRowWarning(UserWarning):
    """Rows have probability 0 under every class; their predicted probabilities are the class prior.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ImpossibleRowWarning)`.
    """


class InexactExportWarning(UserWarning):
    """An exported query or graph scores rows with missing cells in another way than the model.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.InexactExportWarning)`.
    """


class LostPrecisionWarning(UserWarning):
    """After `forget`, a variance is accurate to only a few digits.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.LostPrecisionWarning)`.
    """


class NoColumnsWarning(UserWarning):
    """All columns are left out, so the model predicts the class prior for every row.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.NoColumnsWarning)`.
    """


class NoDensityWarning(UserWarning):
    """A column has no density, so `score_samples` is that of the other columns.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.NoDensityWarning)`.
    """


class NoWordsWarning(UserWarning):
    """A text column has no word that the model uses, so it says nothing about the class.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.NoWordsWarning)`.
    """


class NotConvergedWarning(UserWarning):
    """The maximum likelihood fit of a Dirichlet-multinomial reached `max_iter` before it converged.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.NotConvergedWarning)`.
    """


class RareClassesWarning(UserWarning):
    """`suppress` removes rare levels and words, but no class: a class of few rows still describes these rows.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.RareClassesWarning)`.
    """


class SkippedRowsWarning(UserWarning):
    """Rows of a file could not be read or have no label, and `on_bad_rows="skip"` has left them out.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.SkippedRowsWarning)`.
    """


class StaleCalibrationWarning(UserWarning):
    """The data have doubled since the weights of a calibrated model were fitted.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.StaleCalibrationWarning)`.
    """


class UnlabelledRowsWarning(UserWarning):
    """A model that EM has fitted to rows without a label is updated, and the update does not run EM again.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.UnlabelledRowsWarning)`.
    """


class UnseenLevelsWarning(UserWarning):
    """Most cells of a column are levels that did not occur in fit.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.UnseenLevelsWarning)`.
    """


class VersionWarning(UserWarning):
    """A pickle was written by another version of the library.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.VersionWarning)`.
    """
