"""Dates: days since 1970 of any kind of date, and the parts of a date that a model uses.

A date is read as the clock on the wall shows it: a time zone has no effect on day, month and weekday.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.data.column import Column, Levels
from sunrise.data.levels import level_names

#: The parts of a date: days since a reference date, month and weekday.
PARTS = ("days", "month", "weekday")
MONTHS = level_names(range(1, 13))
WEEKDAYS = level_names(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))

_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_MICROSECONDS = 86_400_000_000


def days_of(values: Any) -> Floats:
    """Return dates of NumPy as days since 1970; NaT becomes NaN.

    >>> days_of(np.array(["1970-01-02T12:00", "NaT"], "M8[s]"))
    array([1.5, nan])
    """
    moments = np.asarray(values).astype("M8[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / _MICROSECONDS)


def day_of(value: Any) -> float:
    """Return a date, a datetime or a date of NumPy as days since 1970."""
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=None)
    return float(days_of(np.array([value], "M8[us]"))[0])


def day_of_text(text: str) -> float:
    """Return an ISO date, with or without a time, as days since 1970; NaN for any other text.

    >>> day_of_text("1970-01-03"), day_of_text("1970-01-03 06:00:00+02:00"), day_of_text("3.1.1970")
    (2.0, 2.25, nan)
    """
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return float("nan")
    day, clock = found.groups()
    try:
        return float(days_of(np.array([day if clock is None else f"{day}T{clock}"], "M8[us]"))[0])
    except ValueError:  # the 31st of February
        return float("nan")


def arrow_days(values: Any) -> Floats | None:
    """Return a column of dates of polars or pyarrow as days since 1970; None if it does not hold dates."""
    package = type(values).__module__.partition(".")[0]
    if package == "polars":
        if type(values.dtype).__name__ == "Datetime":
            return days_of(values.dt.replace_time_zone(None).to_numpy())
        return days_of(values.to_numpy()) if type(values.dtype).__name__ == "Date" else None
    if package != "pyarrow":
        return None
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(values.type):
        values = values if values.type.tz is None else pc.local_timestamp(values)
    elif not pa.types.is_date(values.type):
        return None
    return days_of(
        values.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
        if not isinstance(values, pa.ChunkedArray)
        else values.cast(pa.timestamp("us"), safe=False).to_numpy()
    )


def iso(day: float) -> str:
    """Return days since 1970 as an ISO date.

    >>> iso(19000.0)
    '2022-01-08'
    """
    return str(np.datetime64(int(np.floor(day)), "D"))


def part_column(name: str, part: str, days: Floats, reference: float) -> Column:
    """Return one part of a column of dates: days since the reference, or levels for month and weekday."""
    n, known = len(days), ~np.isnan(days)
    if not known.any():
        return Column(name, "empty", n)
    if part == "days":
        return Column(name, "number", n, days - reference, source="float64")
    whole = np.where(known, np.floor(days), 0.0).astype(np.int64)
    if part == "month":
        codes, names = whole.astype("M8[D]").astype("M8[M]").astype(np.int64) % 12, MONTHS
    else:
        codes, names = (whole + 3) % 7, WEEKDAYS  # 1970 began on a Thursday
    return Column(
        name, "level", n, known=Levels(names, np.where(known, codes, -1).astype(np.int32)), declared=names
    )
