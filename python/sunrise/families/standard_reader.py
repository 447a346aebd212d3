"""Numbers in units of the standard deviation that their column had in the first data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise._common.stored import stored
from sunrise.data.blocks import Block, ScaledColumns
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.families.cells import finite, numbers
from sunrise.families.readers import Fitting, Reader, Scoring
from sunrise.families.record_cells import Encoder, number_encoder
from sunrise.statistics.support import REAL

#: Scales are rounded to this share of their unit.
DIGITS = 2.0**12


@stored("scale")
class Scale(NamedTuple):
    """Mean and standard deviation of a column in the first data, over all classes."""

    centre: float
    unit: float

    @classmethod
    def of(cls, x: Floats, weight: Floats | None) -> Scale:
        """Return the scale of the cells that count; a constant column has the unit 1.

        Both numbers are rounded, so that they do not depend on the order in which rows are added up.

        >>> Scale.of(np.array([1.0, 3.0, np.nan]), None)
        Scale(centre=2.0, unit=1.0)
        """
        w = np.where(np.isfinite(x), 1.0 if weight is None else weight, 0.0)
        if not (total := w.sum()) > 0:
            return cls(0.0, 1.0)
        x = np.where(w > 0, x, 0.0)
        centre = float((w / total * x).sum())
        unit = float(np.sqrt((w / total * np.where(w > 0, x - centre, 0.0) ** 2).sum()))
        if not 0.0 < unit < np.inf:
            return cls(centre, 1.0)
        mantissa, exponent = np.frexp(unit)
        unit = float(np.ldexp(np.round(mantissa * DIGITS) / DIGITS, exponent))
        return cls(float(np.round(centre / unit * DIGITS) * (unit / DIGITS)), unit)


def for_columns(scales: tuple[Scale, ...], n: int) -> tuple[Floats, Floats]:
    """Return the centres and units of n columns; one scale is that of all columns."""
    centre, unit = (np.array(part, float) for part in zip(*scales, strict=True))
    return np.broadcast_to(centre, n), np.broadcast_to(unit, n)


def standardised(columns: list[Floats], scales: tuple[Scale, ...]) -> Floats:
    """Return rows x columns in units of the standard deviations."""
    if not columns:
        return np.empty((0, 0))
    # Column by column in memory, as the columns come.
    cells = np.empty((len(columns), len(columns[0])))
    for to, x, centre, unit in zip(cells, columns, *for_columns(scales, len(columns)), strict=True):
        np.subtract(x, centre, out=to)
        to /= unit
    return cells.T


class StandardReader(Reader):
    """Cells are numbers, minus the mean of their column and divided by its standard deviation (`family.scales`)."""

    learns = True
    by_column = True

    def learn(self, family: Any, column: Column, fitting: Fitting) -> tuple[Any, bool]:
        """The family with the scale of this column."""
        if not family.scales:
            x = finite(column, family, fitting.who, fitting.weight)
            family = family.with_settings(scales=(Scale.of(x, fitting.weight),))
        return family, False

    def is_decided(self, family: Any) -> bool:
        """True if the scales are known."""
        return bool(family.scales)

    def unlearned(self, family: Any) -> Any:
        """The family without scales."""
        return family.with_settings(scales=()) if family.scales else family

    def with_learned_of(self, family: Any, other: Any) -> Any:
        """The scales of another family of the same kind."""
        if family.scales or family.name != other.name or not other.scales:
            return family
        return family.with_settings(scales=other.scales)

    def merge_columns(self, families: list[Any]) -> Any:
        """The family with the scales of all columns; a family that was given for all of them has their scales."""
        if all(family is families[0] for family in families):
            return families[0]
        return families[-1].with_settings(scales=tuple(own for family in families for own in family.scales))

    def column_family(self, family: Any, at: int) -> Any:
        """The family with the scale of one column."""
        return family if len(family.scales) == 1 else family.with_settings(scales=family.scales[at : at + 1])

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """The standardised columns."""
        own = [_checked(column, family, fitting.who, fitting.weight) for column in table.read_all(columns)]
        return _scaled(own, table.n_rows, family)

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """The standardised columns."""
        own = [_checked(column, family, scoring.who, None) for column in table.read_all(scoring.columns)]
        return _scaled(own, table.n_rows, family)

    def record_encoder(self, family: Any, lookup: Any, lenient: Mask) -> Encoder:
        """The values, standardised."""
        read = number_encoder(REAL, np.zeros(len(family.scales), bool))
        centre, unit = for_columns(family.scales, len(family.scales))

        def encode(values: Any) -> Floats | None:
            cells = read(values)
            return None if cells is None or np.isinf(cells).any() else (cells - centre) / unit

        return encode


class TogetherReader(StandardReader):
    """Cells of numeric columns that other blocks have, too (`family.positions`); infinite ones are missing."""

    learns = False
    by_column = False
    derived = True

    def sources(self, family: Any, columns: tuple[int, ...]) -> tuple[int, ...]:
        """The columns of the block."""
        return tuple(family.positions)

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """The standardised columns."""
        return _scaled(table.read_all(family.positions), table.n_rows, family)

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """The standardised columns."""
        return _scaled(table.read_all(family.positions), table.n_rows, family)


def _checked(column: Column, family: Any, who: str, weight: Floats | None) -> Column:
    """Return a column of numbers; raise if a cell that counts is infinite."""
    finite(column, family, who, weight)
    return numbers(column, family)


def _scaled(columns: list[Column], n_rows: int, family: Any) -> Block:
    """Return columns with the scales of the family."""
    return ScaledColumns(tuple(columns), n_rows, *for_columns(family.scales, len(columns)))


STANDARDISED = StandardReader()
TOGETHER = TogetherReader()
