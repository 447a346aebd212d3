"""Which family a column of numbers gets where several might do: the one that tells most of the class.

Families are compared by their one-column conditional score, sum_i log P(y_i | x_ij, all rows but i): it is free of
units and of measure, so that densities, bins and point masses can be compared. Columns are independent given the
class, so all of them are tried together, one family after the other, on a bounded sample of rows that is drawn by what
the rows hold: their order does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise.arrays import Codes, Floats, Positions
from sunrise.data.frame import Frame, frame_of
from sunrise.derived import Derived, Settings
from sunrise.family import FAMILIES
from sunrise.leave_out import LeaveOneOut
from sunrise.look import Look
from sunrise.observe import Observer
from sunrise.present import present
from sunrise.schema import Choice

#: Families that are tried, where they may be; of equally good ones the first.
CANDIDATES = ("gaussian", "lognormal", "gamma", "poisson", "geometric", "categorical", "binned", "kernel")

#: Rows that are scored, at most; and columns of numbers beyond which all go by their types, because trying takes some
#: milliseconds for each.
ROWS, MOST_COLUMNS = 2000, 256

#: Columns whose cells are looked at first when rows are drawn.
FEW = 16


def choices_by_score(
    observer: Observer, table: Frame, settings: Settings, places: list[int]
) -> dict[int, Choice]:
    """The families of those of these columns that are numbers, with the scores of all that were tried."""
    looks = {j: look for j in places if (look := _look(observer, table, j)) is not None}
    wanted = {j: [name for name in CANDIDATES if FAMILIES[name].may_be(look)] for j, look in looks.items()}
    wanted = {j: names for j, names in wanted.items() if len(names) > 1}
    if not 0 < len(wanted) <= MOST_COLUMNS or len(observer.classes) < 2:
        return {}
    columns = list(wanted)
    rows = drawn([table.read(j).numbers for j in columns], observer.codes, observer.weight, ROWS)
    sample = _Sample.of(observer, table, columns, rows)
    scores = {j: {} for j in columns}  # type: dict[int, dict[str, float]]
    for name in CANDIDATES:
        tried = [at for at, j in enumerate(columns) if name in wanted[j]]
        if tried:
            for at, score in zip(tried, sample.scores(name, settings, tried), strict=True):
                scores[columns[at]][name] = score
    return {j: _best(scores[j], looks[j]) for j in columns}


def _look(observer: Observer, table: Frame, j: int) -> Look | None:
    column = table.read(j)
    if column.kind != "number" or column.problem:
        return None
    look = observer.look(column, lambda: (float("nan"),) * 2)
    return look if look.distinct > 1 and not (look.numbering and look.cells >= 50) else None


def _best(scores: dict[str, float], look: Look) -> Choice:
    name = max(scores, key=lambda name: scores[name])
    others = sorted((other for other in scores if other != name), key=lambda other: -scores[other])
    told = f"log loss {-scores[name]:.3f} alone, {others[0]} {-scores[others[0]]:.3f}"
    return Choice(FAMILIES[name](), told, scores=scores)


@dataclass(frozen=True)
class _Sample:
    """Some rows of columns of numbers."""

    x: Floats
    observer: Observer

    @classmethod
    def of(cls, observer: Observer, table: Frame, columns: list[int], rows: Positions) -> _Sample:
        x = np.stack([table.read(j).numbers(rows) for j in columns], axis=1)
        weight = None if observer.weight is None else observer.weight[rows]
        return cls(x, replace(observer, codes=observer.codes[rows], weight=weight, glimpse=None))

    def scores(self, name: str, settings: Settings, columns: list[int]) -> list[float]:
        """The mean conditional score of some columns under a family, rows but their own."""
        table = frame_of(self.x[:, columns])
        schema, stats = self.observer.frame(table, None, name)
        own = replace(settings, families=name, class_weight=None)
        fitted = Derived(own, schema, stats, stats.classes)
        place = np.searchsorted(stats.classes, self.observer.classes)
        batch, _ = present(table, fitted)
        rows = LeaveOneOut(fitted, batch, place.astype(np.int32)[self.observer.codes], self.observer.weight)
        return [float(score) for score in rows.by_column(0)]


def drawn(columns: list[Any], codes: Codes, weight: Floats | None, most: int) -> Positions:
    """The places of rows to look at, chosen by what they hold: numbers, class and weight."""
    n = len(codes)
    there = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    if len(there) <= most:
        return there
    first = _hashed(columns[:FEW], codes, weight, there)
    limit = np.partition(first, most)[most]
    surely, perhaps = there[first < limit], there[first == limit]
    # Rows that are alike so far are told apart by all they hold; those that are alike in that are all the same.
    rest = perhaps[np.argsort(_hashed(columns, codes, weight, perhaps), kind="stable")]
    return np.sort(np.concatenate([surely, rest[: most - len(surely)]]))


def _hashed(columns: list[Any], codes: Codes, weight: Floats | None, rows: Positions) -> Any:
    """A number for every row that depends on its cells, its class and its weight."""
    found = _mixed(np.zeros(len(rows), np.uint64), codes[rows].astype(np.float64))
    found = found if weight is None else _mixed(found, weight[rows])
    for numbers in columns:
        found = _mixed(found, numbers(rows))
    return found


def _mixed(found: Any, x: Floats) -> Any:
    x = np.where(np.isnan(x), np.nan, x + 0.0)  # one NaN, one zero
    found = (found ^ x.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return found ^ (found >> np.uint64(29))
