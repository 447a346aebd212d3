"""Cells that a model cannot use, noted while a table is read, and one warning for each kind of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sunrise._common.arrays import Mask
from sunrise._common.warnings import ImpossibleCellWarning, UnseenLevelsWarning, alert


class Found(NamedTuple):
    """Cells of one kind in a column: how many, of how many observed cells, the first one with its row."""

    column: Any
    cells: int
    present: int
    example: str
    row: int
    #: The family of the column, in words.
    family: str = ""

    @property
    def text(self) -> str:
        """The column and the numbers of cells, in words."""
        return f"column {self.column!r}: {self.cells} of {self.present} cells"


@dataclass
class Findings:
    """Unseen levels, and cells that automatically chosen families cannot have, of all columns of a table."""

    unseen: list[Found] = field(default_factory=list)
    impossible: list[Found] = field(default_factory=list)
    #: Rows with a cell that the family of its column cannot have; None if there are none.
    impossible_rows: Mask | None = None

    def note_impossible(self, found: list[Found], rows: Mask) -> None:
        """Add cells that families cannot have, and their rows."""
        self.impossible += found
        self.impossible_rows = rows if self.impossible_rows is None else self.impossible_rows | rows

    def warn(self) -> None:
        """Issue one warning if most cells of a column are unseen levels, and one if cells are impossible."""
        if mostly := [found for found in self.unseen if found.cells > found.present / 2]:
            alert(
                f"{mostly[0].text} hold levels that did not occur in fit, such as {mostly[0].example!r}"
                f"{_others(mostly)}. Is it the same column, with the same spelling?",
                UnseenLevelsWarning,
            )
        if impossible := self.impossible:
            first = impossible[0]
            alert(
                f"{first.text}, such as {first.example} in row {first.row}, are impossible under {first.family}, "
                f"which was chosen automatically{_others(impossible)}. They count as missing, and score_samples "
                "is -inf for their rows. Correct the cells, or set the family of the column in families.",
                ImpossibleCellWarning,
            )


def _others(found: list[Found]) -> str:
    """The other columns, in words."""
    names = [repr(other.column) for other in found[1:]]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f" (likewise {', '.join(names[:3])}{more})" if names else ""
