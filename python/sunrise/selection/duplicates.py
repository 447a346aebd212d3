"""Duplicate columns: pairs of columns whose evidence naive Bayes would count twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.data.column import Column

#: Number of evenly spaced rows in the sample; number of numeric columns, and total number of levels, beyond which
#: columns are not compared.
ROWS, MOST_COLUMNS, MOST_LEVELS = 500, 400, 1500
#: Least number of rows in which both columns of a pair are observed; least mean number of rows per level.
LEAST_ROWS, ROWS_A_LEVEL = 40, 4
#: Numeric columns with at most this many distinct values are also compared as levels.
FEW_VALUES = 20
#: Columns are duplicates if their correlation within the classes is above the first number, or if the conditional
#: entropy of each given the other is below the second number times its entropy within the classes.
CORRELATION, ENTROPY_RATIO = 0.99, 0.05
#: Number of pairs that a warning names beside the first one.
MOST_SHOWN = 9


@dataclass
class ColumnSample:
    """A sample of rows, collected while a table is read: numbers (NaN is missing) and level codes (-1 is missing)."""

    n_rows: int
    numbers: dict[int, Floats] = field(default_factory=dict)
    levels: dict[int, Codes] = field(default_factory=dict)

    @cached_property
    def rows(self) -> Positions:
        """Positions of the sampled rows, evenly spaced in a table of `n_rows`."""
        return np.unique(np.linspace(0, self.n_rows - 1, min(self.n_rows, ROWS)).astype(np.intp))

    @property
    def is_empty(self) -> bool:
        """True if no cells were noted: columns of a single-family matrix are not compared."""
        return not (self.numbers or self.levels)

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
        """Return the pairs of columns that nearly determine each other given the classes y of the rows."""
        pairs = [*_duplicate_numbers(self.numbers, y), *_duplicate_levels(self.levels, y)]
        return list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs))  # type: ignore[misc]


#: Pairs of columns that were reported in this process, each with the names of all columns of its table.
_REPORTED: set[tuple[tuple[str, ...], int, int]] = set()


def describe_new_pairs(pairs: list[tuple[int, int]], names: list[str]) -> str | None:
    """Return the text of a warning about duplicate columns; None if all of them were reported in this process."""
    table = tuple(names)
    new = [pair for pair in pairs if (table, *pair) not in _REPORTED]
    if not new:
        return None
    _REPORTED.update((table, *pair) for pair in new)
    first, *others = [f"{names[a]!r} and {names[b]!r}" for a, b in new]
    more = f"; so do {'; '.join(others[:MOST_SHOWN])}" if others else ""
    if hidden := len(others[MOST_SHOWN:]):
        more += f"; and {hidden} more pair{'s' if hidden > 1 else ''} of columns"
    return (
        f"Columns {first} nearly determine each other given the class{more}. Their evidence is counted twice, and "
        'probabilities are too close to 0 and 1. Use calibrate="columns", or leave one column of a pair out.'
    )


def _duplicate_numbers(columns: dict[int, Floats], y: Codes) -> Iterator[tuple[int, int]]:
    """Yield pairs of numeric columns with a high correlation within the classes."""
    positions = list(columns)
    if not 2 <= len(positions) <= MOST_COLUMNS:
        return
    x = np.stack([columns[j] for j in positions], axis=1)
    observed = np.isfinite(x)
    x = np.where(observed, x, 0.0)
    member = (y[None, :] == np.unique(y)[:, None]).astype(float)
    n = member @ observed
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        x = np.where(observed, x - (member @ x / np.maximum(n, 1.0))[np.searchsorted(np.unique(y), y)], 0.0)
        x = x / np.where((scale := np.abs(x).max(axis=0)) > 0, scale, 1.0)
        squares = (
            x * x
        ).T @ observed  # of each column, over the rows in which the other column is observed, too
        r = (x.T @ x) / np.sqrt(squares * squares.T)
    both = observed.astype(float).T @ observed
    yield from _pairs(positions, (np.abs(r) > CORRELATION) & (both >= LEAST_ROWS))


def _duplicate_levels(columns: dict[int, Codes], y: Codes) -> Iterator[tuple[int, int]]:
    """Yield pairs of columns of levels with a small conditional entropy within the classes, in both directions."""
    compact = {j: np.unique(codes, return_inverse=True) for j, codes in columns.items()}
    # A column with a level for almost every row determines all others, which is no evidence of duplication.
    positions = [j for j, (levels, _) in compact.items() if 2 <= len(levels) <= len(y) / ROWS_A_LEVEL]
    sizes = np.array([len(compact[j][0]) for j in positions])
    if len(positions) < 2 or sizes.sum() > MOST_LEVELS or len(y) < LEAST_ROWS:
        return
    first = np.concatenate([[0], np.cumsum(sizes)])
    one_hot = np.zeros((len(y), first[-1]), np.float32)  # exact for counts
    for at, j in enumerate(positions):
        one_hot[np.arange(len(y)), first[at] + compact[j][1].ravel()] = 1.0
    entropy = np.zeros((len(positions), len(positions)))
    column = np.repeat(np.arange(len(positions)), sizes)
    for c in np.unique(y):
        members = one_hot[y == c]
        counts = members.T @ members
        a, b = np.nonzero(counts > 1.0)  # n log n is 0 for all other counts, which are nearly all
        n = counts[a, b].astype(float)
        pairs = column[a] * len(positions) + column[b]
        n_log_n = np.bincount(pairs, n * np.log(n), minlength=entropy.size).reshape(entropy.shape)
        entropy += len(members) * np.log(max(len(members), 1)) - n_log_n
    # Entropy within the classes times the number of rows: of pairs, and on the diagonal of single columns.
    single = np.diag(entropy)
    conditional = entropy - single[:, None]
    below = conditional < ENTROPY_RATIO * single[None, :]
    yield from _pairs(positions, below & below.T)


def _pairs(positions: list[int], is_duplicate: Mask) -> Iterator[tuple[int, int]]:
    """Yield the pairs of columns above the diagonal of a mask, by position in the table."""
    for a, b in np.argwhere(np.triu(is_duplicate, 1)).tolist():
        yield positions[a], positions[b]
