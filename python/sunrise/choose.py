"""Which family a column of numbers gets where several might do: the one that tells most of the class.

Families are compared by their one-column conditional score, sum_i log P(y_i | x_ij, all rows but i): it is free of
units and of measure, so that densities, bins and point masses can be compared. Columns are independent given the
class, so all of them are tried together, one family after the other, on a bounded sample of rows that is drawn by what
the rows hold: their order does not matter.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise import labels
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

#: Rows that are scored, of each class at least; and columns of numbers beyond which all go by their types, because
#: trying takes some milliseconds for each.
ROWS, ROWS_OF_CLASS, MOST_COLUMNS = 2000, 20, 256
#: Classes beyond which all columns go by their types, too; and classes squared times columns beyond which families
#: that cost as much (kernel densities) take too long to be tried.
MOST_CLASSES, MOST_PAIRS = 200, 50_000
#: A family that is worse by no more than this, in nats a row, and comes before the best one, is taken in its place.
CLOSE = 5e-4
#: Cells that are too few to choose by.
FEW_CELLS = 30


def choices_by_score(
    observer: Observer, table: Frame, settings: Settings, places: list[int]
) -> dict[int, Choice]:
    """The families of those of these columns that are numbers, with the scores of all that were tried."""
    looks = {j: look for j in places if (look := _look(observer, table, j)) is not None}
    wanted = {j: [name for name in CANDIDATES if _may_be(name, look)] for j, look in looks.items()}
    wanted = {j: names for j, names in wanted.items() if len(names) > 1}
    labelled = observer if observer.labels is None else observer.of_labelled
    n_classes = len(labelled.classes)
    if not 0 < len(wanted) <= MOST_COLUMNS or not 2 <= n_classes <= MOST_CLASSES:
        return {}
    columns = list(wanted)
    rows = drawn([table.read(j).numbers for j in columns], labelled.codes, labelled.weight, ROWS)
    sample = _Sample.of(labelled, table, columns, rows)
    scores: dict[int, dict[str, float]] = {j: {} for j in columns}
    for name in CANDIDATES:
        if FAMILIES[name].costs_pairs and n_classes * n_classes * len(columns) > MOST_PAIRS:
            continue
        tried = [at for at, j in enumerate(columns) if name in wanted[j]]
        for at, score in zip(tried, sample.scores(name, settings, tried), strict=True):
            if np.isfinite(score):
                scores[columns[at]][name] = score
    return {j: _best(scores[j], looks[j]) for j in columns if len(scores[j]) > 1}


def _look(observer: Observer, table: Frame, j: int) -> Look | None:
    column = table.read(j)
    if column.kind != "number" or column.problem:
        return None
    look = observer.look(column, lambda: (float("nan"),) * 2)
    if look.distinct < 2 or (look.numbering and look.cells >= 50):
        return None
    integers = str(column.cells.dtype).lower().startswith(("int", "uint"))
    if integers and max(abs(look.low), abs(look.high)) >= 2**53:  # floats do not tell these apart
        return None
    x = column.numbers() if observer.weight is None else column.numbers()[observer.weight > 0]
    # A look may stop where measurements are told from whole numbers; what is possible depends on every cell.
    return replace(look, low=float(np.nanmin(x)), high=float(np.nanmax(x)))


def _may_be(name: str, look: Look) -> bool:
    family = FAMILIES[name]()
    support = family.support
    holds = family.reads_levels or support.lowest <= look.low <= look.high <= support.highest
    return family.may_be(look) and holds


def _best(scores: dict[str, float], look: Look) -> Choice:
    best = max(scores.values())
    name = next(name for name in scores if scores[name] >= best - CLOSE)
    others = sorted((other for other in scores if other != name), key=lambda other: -scores[other])
    told = f"log loss {-scores[name]:.3f} alone, {others[0]} {-scores[others[0]]:.3f}"
    return Choice(FAMILIES[name](), told, is_uninformed=look.cells < FEW_CELLS, scores=scores)


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
        """The mean conditional score of some columns under a family, each row taken out; NaN where it has none."""
        if not columns:
            return []
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._scores(name, settings, columns)
        except ValueError:
            # Some column is refused: all are tried alone.
            if len(columns) == 1:
                return [float("nan")]
            return [self.scores(name, settings, [at])[0] for at in columns]

    def _scores(self, name: str, settings: Settings, columns: list[int]) -> list[float]:
        table = frame_of(self.x[:, columns])
        schema, stats = self.observer.frame(table, None, name)
        # Which family a column has does not depend on how often classes are expected elsewhere.
        own = replace(settings, families=name, class_weight=None, class_prior="fitted")
        fitted = Derived(own, schema, stats, stats.classes)
        for part, block in zip(fitted.parts, fitted.blocks, strict=True):
            if complaint := part.family.complaint(block):
                raise ValueError(complaint.text)
        place = np.maximum(labels.locate(stats.classes, self.observer.classes), 0).astype(np.int32)
        batch, _ = present(table, fitted)
        rows = LeaveOneOut(fitted, batch, place[self.observer.codes], self.observer.weight)
        return [float(score) for score in rows.by_column(0)]


def drawn(columns: list[Any], codes: Codes, weight: Floats | None, most: int) -> Positions:
    """The places of rows to look at, chosen by what they hold: numbers, class and weight; some of every class."""
    there = np.arange(len(codes)) if weight is None else np.flatnonzero(weight > 0)
    if len(there) <= most:
        return there
    found = _mixed(np.zeros(len(there), np.uint64), codes[there].astype(np.float64))
    found = found if weight is None else _mixed(found, weight[there])
    for numbers in columns:
        found = _mixed(found, numbers(there))
    # Rows that are the same are numbered, so that one is as likely to be drawn as any other.
    order = np.argsort(found, kind="stable")
    first = np.flatnonzero(np.diff(found[order], prepend=found[order[:1]] ^ np.uint64(1)) != 0)
    times = np.empty(len(found))
    times[order] = np.arange(len(found)) - np.repeat(first, np.diff(np.append(first, len(found))))
    order = np.argsort(_mixed(found, times), kind="stable")
    kept = np.zeros(len(there), bool)
    kept[order[:most]] = True
    rank = np.empty(len(there), np.int64)
    of_class = codes[there][order]
    for c in np.unique(of_class):
        own = order[of_class == c]
        rank[own] = np.arange(len(own))
    return there[kept | (rank < ROWS_OF_CLASS)]


def _mixed(found: Any, x: Floats) -> Any:
    """Numbers for rows that depend on what they were and on x."""
    x = np.where(np.isnan(x), np.nan, x + 0.0)  # one NaN, one zero
    found = (found ^ x.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return found ^ (found >> np.uint64(29))
