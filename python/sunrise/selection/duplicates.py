"""Columns that say the same: evidence that naive Bayes would count twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.data.column import Column

#: Rows that are looked at, evenly spaced; and columns, or levels of all columns together, beyond which none are.
ROWS, MOST_COLUMNS, MOST_LEVELS = 500, 400, 1500
#: Rows that must hold both cells of a pair, and hold each level on average, for it to be judged.
LEAST_ROWS, ROWS_A_LEVEL = 40, 4
#: Numbers of which there are no more different ones are looked at as levels, too.
FEW_VALUES = 20
#: A pair is one column said twice from this correlation within the classes on, or up to this share of entropy left.
CORRELATION, ENTROPY_LEFT = 0.99, 0.05


@dataclass
class ColumnSample:
    """Some rows of a table while it is read: numbers with NaN, levels as codes with -1."""

    rows: Positions
    numbers: dict[int, Floats] = field(default_factory=dict)
    levels: dict[int, Codes] = field(default_factory=dict)

    @classmethod
    def of(cls, n_rows: int) -> ColumnSample:
        """Evenly spaced rows."""
        return cls(np.unique(np.linspace(0, n_rows - 1, min(n_rows, ROWS)).astype(np.intp)))

    def note_numbers(self, columns: dict[int, Column], as_levels: set[int]) -> None:
        """Keep the sampled cells of numeric columns; of some columns, if few numbers are distinct, also as levels."""
        for j, column in columns.items():
            x = self.numbers[j] = column.numbers(self.rows)
            if j in as_levels:
                values, codes = np.unique(x, return_inverse=True)  # NaN comes last
                if len(values) <= FEW_VALUES:
                    self.levels[j] = np.where(np.isnan(x), -1, codes).astype(np.int32)

    def note_levels(self, j: int, codes: Codes) -> None:
        """Keep the sampled cells of a column of levels."""
        self.levels[j] = codes[self.rows]

    def pairs(self, y: Codes) -> list[tuple[int, int]]:
        """Columns that determine each other given the classes y of the rows."""
        found = [*_alike_numbers(self.numbers, y), *_alike_levels(self.levels, y)]
        return list(dict.fromkeys(tuple(sorted(pair)) for pair in found))  # type: ignore[misc]


def describe_pairs(pairs: list[tuple[int, int]], names: list[str]) -> str:
    """What a user should know of such pairs."""
    a, b = pairs[0]
    more = f" (and {len(pairs) - 1} more pair{'s' if pairs[2:] else ''} of columns)" if pairs[1:] else ""
    return (
        f"Columns {names[a]!r} and {names[b]!r}{more} determine each other given the class: their evidence is counted "
        'twice, and probabilities are too sure. Use calibrate="columns", or leave one of them out.'
    )


def _alike_numbers(columns: dict[int, Floats], y: Codes) -> Iterator[tuple[int, int]]:
    """Columns of numbers that are close to a straight line of each other within every class."""
    places = list(columns)
    if not 2 <= len(places) <= MOST_COLUMNS:
        return
    x = np.stack([columns[j] for j in places], axis=1)
    seen = np.isfinite(x)
    x = np.where(seen, x, 0.0)
    member = (y[None, :] == np.unique(y)[:, None]).astype(float)
    n = member @ seen
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        x = np.where(seen, x - (member @ x / np.maximum(n, 1.0))[np.searchsorted(np.unique(y), y)], 0.0)
        x = x / np.where((scale := np.abs(x).max(axis=0)) > 0, scale, 1.0)
        squares = (x * x).T @ seen  # of each column over the rows that hold the other, too
        r = (x.T @ x) / np.sqrt(squares * squares.T)
    both = seen.astype(float).T @ seen
    yield from _found(places, (np.abs(r) > CORRELATION) & (both >= LEAST_ROWS))


def _alike_levels(columns: dict[int, Codes], y: Codes) -> Iterator[tuple[int, int]]:
    """Columns of levels of which hardly anything is left to say within a class once the other is known."""
    compact = {j: np.unique(codes, return_inverse=True) for j, codes in columns.items()}
    # A column with a level for almost every row determines all others, and tells nothing by it.
    places = [j for j, (levels, _) in compact.items() if 2 <= len(levels) <= len(y) / ROWS_A_LEVEL]
    sizes = np.array([len(compact[j][0]) for j in places])
    if len(places) < 2 or sizes.sum() > MOST_LEVELS or len(y) < LEAST_ROWS:
        return
    first = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.zeros((len(y), first[-1]))
    for at, j in enumerate(places):
        ones[np.arange(len(y)), first[at] + compact[j][1].ravel()] = 1.0
    joint = np.zeros((len(places), len(places)))
    for c in np.unique(y):
        own = ones[y == c]
        counts = own.T @ own
        spread = np.where(counts > 0, counts * np.log(np.maximum(counts, 1.0)), 0.0)
        spread = np.add.reduceat(np.add.reduceat(spread, first[:-1], axis=0), first[:-1], axis=1)
        joint += len(own) * np.log(max(len(own), 1)) - spread
    # Entropies times rows, of pairs and on the diagonal of columns alone.
    alone = np.diag(joint)
    left = joint - alone[:, None]
    yield from _found(
        places, (left < ENTROPY_LEFT * alone[None, :]) & (ENTROPY_LEFT * alone[:, None] > left.T)
    )


def _found(places: list[int], alike: Mask) -> Iterator[tuple[int, int]]:
    for a, b in np.argwhere(np.triu(alike, 1)).tolist():
        yield places[a], places[b]
