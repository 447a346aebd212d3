"""Sufficient statistics: what a model keeps of its data.

Everything else is derived from them. Statistics add, subtract and scale; classes are aligned by label, levels
by code. Whether anything was seen at all is decided by integer row counts, because weights may leave dust
(0.1 + 0.2 - 0.1 - 0.2 is not 0).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sunrise import labels
from sunrise.arrays import Floats, Integers, Labels, Mask, Positions

#: Relative size of a sum of squares that cannot be told from the rounding of the sums it is a difference of.
_ROUNDING = 2.0**-51
#: Relative error of a spread that is still worth 3 digits.
_CERTAIN = 1e-3


class NeverSeenError(ValueError):
    """Rows are to be forgotten that the statistics do not hold."""


class LostPrecisionWarning(UserWarning):
    """Forgetting left a variance that is known to few digits."""


class BlockStats(Protocol):
    """Statistics of a block of columns, for every class."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def scaled(self, factor: Floats) -> Self:
        """Multiply the weight of every class by its factor."""

    def spread(self, position: Positions, n_classes: int) -> Self:
        """Lay the classes out among `n_classes`, class k at position[k]; the others are empty."""

    def taken(self, position: Positions) -> Self:
        """Keep these classes only."""


def _spread(a: NDArray[Any], position: Positions, n_classes: int) -> NDArray[Any]:
    wide = np.zeros((n_classes, *a.shape[1:]), a.dtype)
    wide[position] = a
    return wide


def _left(before: Floats, taken: Floats, left: Mask) -> Floats:
    """What is left of a sum of weights or counts, free of dust; less than nothing is refused."""
    rest = before - taken
    if (rest < -1e-9 * before).any():
        raise NeverSeenError("more is to be forgotten than was seen")
    return np.where(left, np.maximum(rest, 0.0), 0.0)


def _warn_of_lost_precision(rest: Sums, spread: Floats, noise: Floats) -> None:
    """Warn where rounding may be most of what is left, unless it is nothing beside the column itself."""
    pooled = rest.pooled()
    overall = np.divide(pooled.squared_error, pooled.seen, out=np.zeros_like(pooled.x), where=pooled.rows > 0)
    matters = noise > 1e-10 * rest.seen * (overall + rest.mean**2)
    uncertain = (rest.rows > 1) & (spread < noise / _CERTAIN) & matters
    if uncertain.any():
        warnings.warn(
            f"The rows that were forgotten held almost all the spread of {int(uncertain.sum())} class-columns: "
            "the variance of what is left is known to fewer than 3 digits. Fit anew to have it exactly; "
            'silence this with warnings.filterwarnings("ignore", category=sunrise.LostPrecisionWarning).',
            LostPrecisionWarning,
            stacklevel=6,
        )


@dataclass(frozen=True)
class Sums:
    """Sums of x, and where a family needs it of x^2, per class and column.

    `rows` and `seen` count observed cells, as rows and by weight; they have one column where no cell of the
    block was ever missing. Squares are about the `anchor`, a float close to the class mean, and the sum of
    x - anchor is kept beside it: the mean is known beyond the precision of one float, so nothing is lost when
    statistics move to another anchor.

    >>> import numpy as np
    >>> a = Sums(np.array([[2]]), np.array([[2.0]]), np.array([[5.0]]))
    >>> (a + a - a).x
    array([[5.]])
    """

    rows: Integers
    seen: Floats
    x: Floats
    x2: Floats | None = None
    anchor: Floats | None = None

    def about(self, anchor: Floats) -> Sums:
        """Move the squares to another anchor."""
        assert self.x2 is not None and self.anchor is not None
        shift = self.anchor - anchor
        moved = self.seen * shift
        return replace(
            self,
            x=self.x + moved,
            x2=self.x2 + shift * (2 * self.x + moved),
            anchor=anchor + np.zeros_like(self.x),
        )

    @property
    def offset(self) -> Floats:
        """The mean less the anchor; 0 where nothing was seen."""
        return np.divide(self.x, self.seen, out=np.zeros_like(self.x), where=self.rows > 0)

    @property
    def mean(self) -> Floats:
        """Mean of the observed cells; 0 where nothing was seen."""
        return self.offset if self.anchor is None else self.anchor + self.offset

    @property
    def squared_error(self) -> Floats:
        """Sum of squares about the mean."""
        assert self.x2 is not None
        return np.maximum(self.x2 - self.x * self.offset, 0.0)

    def pooled(self) -> Sums:
        """Take all classes as one."""
        rows, seen = (a.sum(axis=0, keepdims=True) for a in (self.rows, self.seen))
        if self.anchor is None:
            return Sums(rows, seen, self.x.sum(axis=0, keepdims=True))
        first = self.anchor[:1]
        moved = (self.x + self.seen * (self.anchor - first)).sum(axis=0, keepdims=True)
        joint = first + np.divide(moved, seen, out=np.zeros_like(moved), where=rows > 0)
        a = self.about(joint)
        assert a.x2 is not None
        return Sums(rows, seen, a.x.sum(axis=0, keepdims=True), a.x2.sum(axis=0, keepdims=True), joint)

    def __add__(self, other: Sums) -> Sums:
        rows, seen = self.rows + other.rows, self.seen + other.seen
        if self.x2 is None:
            return Sums(rows, seen, self.x + other.x)
        assert self.anchor is not None and other.anchor is not None and other.x2 is not None
        moved = (other.anchor - self.anchor) * other.seen + (self.x + other.x)
        joint = self.anchor + np.divide(moved, seen, out=np.zeros_like(moved), where=rows > 0)
        a, b = self.about(joint), other.about(joint)
        assert a.x2 is not None and b.x2 is not None
        return Sums(rows, seen, a.x + b.x, a.x2 + b.x2, joint)

    def __sub__(self, other: Sums) -> Sums:
        rows = self.rows - other.rows
        if (rows < 0).any():
            raise NeverSeenError("more rows are to be forgotten than were seen")
        left = rows > 0
        seen = _left(self.seen, other.seen, left)
        if self.x2 is None:
            return Sums(rows, seen, _left(self.x, other.x, left))
        assert self.anchor is not None
        moved = other.about(self.anchor)
        assert moved.x2 is not None
        x, x2 = np.where(left, self.x - moved.x, 0.0), np.where(left, self.x2 - moved.x2, 0.0)
        rest = Sums(rows, seen, x, x2, self.anchor)
        spread, noise = x2 - x * rest.offset, _ROUNDING * (self.x2 + moved.x2)
        if (spread < -16 * noise).any():
            raise NeverSeenError("the spread of what is left would be negative")
        _warn_of_lost_precision(rest, spread, noise)
        # One row has no spread, and what cannot be told from rounding is none either.
        x2 = np.where((rows <= 1) | (spread <= noise), x * rest.offset, x2)
        rest = replace(rest, x2=x2)
        return rest.about(rest.mean)

    def scaled(self, factor: Floats) -> Sums:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        x2 = None if self.x2 is None else self.x2 * f
        return Sums(np.where(f > 0, self.rows, 0), self.seen * f, self.x * f, x2, self.anchor)

    def _each(self, change: Any) -> Sums:
        x2, anchor = (None if a is None else change(a) for a in (self.x2, self.anchor))
        return Sums(change(self.rows), change(self.seen), change(self.x), x2, anchor)

    def spread(self, position: Positions, n_classes: int) -> Sums:
        """Lay the classes out among `n_classes`; the others are empty."""
        return self._each(lambda a: _spread(a, position, n_classes))

    def taken(self, position: Positions) -> Sums:
        """Keep these classes only."""
        return self._each(lambda a: a[position])


@dataclass(frozen=True)
class Counts:
    """Rows and weight of every level seen, per class; levels lie column after column, in order.

    >>> import numpy as np
    >>> a = Counts(np.array([0, 1]), np.array([7]), np.array([[2]]), np.array([[2.0]]))
    >>> b = Counts(np.array([0, 1]), np.array([3]), np.array([[1]]), np.array([[1.0]]))
    >>> (a + b).codes, (a + b - b).codes
    (array([3, 7]), array([7]))
    """

    offsets: Integers
    codes: Integers
    rows: Integers
    weight: Floats

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.offsets) - 1

    @property
    def column(self) -> Integers:
        """The column of every level."""
        return np.repeat(np.arange(self.n_columns), np.diff(self.offsets))

    @property
    def top(self) -> Integers:
        """The largest code of every column; -1 where nothing was seen."""
        some = np.diff(self.offsets) > 0
        top = np.full(self.n_columns, -1)
        top[some] = self.codes[self.offsets[1:][some] - 1]
        return top

    def by_column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum values of the levels, classes x levels, over each column."""
        sums = np.zeros((len(values), self.n_columns), values.dtype)
        some = np.diff(self.offsets) > 0
        if some.any():
            sums[:, some] = np.add.reduceat(values, self.offsets[:-1][some], axis=1)
        return sums

    def _joined(self, other: Counts, sign: int) -> Counts:
        column = np.concatenate([self.column, other.column])
        codes = np.concatenate([self.codes, other.codes])
        order = np.lexsort((codes, column))
        column, codes = column[order], codes[order]
        new = np.ones(len(codes), bool)
        new[1:] = (column[1:] != column[:-1]) | (codes[1:] != codes[:-1])
        slot = np.empty(len(codes), np.intp)
        slot[order] = np.cumsum(new) - 1
        rows = np.zeros((len(self.rows), int(new.sum())), np.int64)
        weight = np.zeros(rows.shape)
        mine, theirs = slot[: len(self.codes)], slot[len(self.codes) :]
        rows[:, mine], weight[:, mine] = self.rows, self.weight
        rows[:, theirs] += sign * other.rows
        weight[:, theirs] += sign * other.weight
        offsets = np.searchsorted(column[new], np.arange(self.n_columns + 1))
        return Counts(offsets, codes[new], rows, weight)

    def __add__(self, other: Counts) -> Counts:
        return self._joined(other, 1)

    def __sub__(self, other: Counts) -> Counts:
        rest = self._joined(other, -1)
        if (rest.rows < 0).any():
            raise NeverSeenError("more rows are to be forgotten than were seen")
        weight = np.where(rest.rows > 0, np.maximum(rest.weight, 0.0), 0.0)
        return replace(rest, weight=weight)._seen()

    def _seen(self) -> Counts:
        """Drop the levels without rows: a forgotten level leaves no trace."""
        keep = self.rows.sum(axis=0) > 0
        offsets = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        return Counts(offsets, self.codes[keep], self.rows[:, keep], self.weight[:, keep])

    def scaled(self, factor: Floats) -> Counts:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        return replace(self, rows=np.where(f > 0, self.rows, 0), weight=self.weight * f)._seen()

    def spread(self, position: Positions, n_classes: int) -> Counts:
        """Lay the classes out among `n_classes`; the others are empty."""
        rows, weight = (_spread(a, position, n_classes) for a in (self.rows, self.weight))
        return replace(self, rows=rows, weight=weight)

    def taken(self, position: Positions) -> Counts:
        """Keep these classes only."""
        return replace(self, rows=self.rows[position], weight=self.weight[position])._seen()


@dataclass(frozen=True)
class Stats:
    """Statistics of a whole model: rows and weight of every class, and those of every block of columns."""

    classes: Labels
    rows: Integers
    weight: Floats
    blocks: tuple[Any, ...]

    def spread(self, classes: Labels) -> Stats:
        """Lay the statistics out for these classes, which include all of its own."""
        if np.array_equal(self.classes, classes) and self.classes.dtype == classes.dtype:
            return self
        position, n = labels.locate(classes, self.classes), len(classes)
        return Stats(
            classes,
            _spread(self.rows, position, n),
            _spread(self.weight, position, n),
            tuple(block.spread(position, n) for block in self.blocks),
        )

    def scaled(self, factor: Floats) -> Stats:
        """Multiply the weight of every class by its factor."""
        blocks = tuple(block.scaled(factor) for block in self.blocks)
        return Stats(self.classes, np.where(factor > 0, self.rows, 0), self.weight * factor, blocks)

    def __add__(self, other: Stats) -> Stats:
        classes = labels.union(self.classes, other.classes)
        a, b = self.spread(classes), other.spread(classes)
        blocks = tuple(p + q for p, q in zip(a.blocks, b.blocks, strict=True))
        return Stats(classes, a.rows + b.rows, a.weight + b.weight, blocks)

    def __sub__(self, other: Stats) -> Stats:
        unknown = labels.locate(self.classes, other.classes) < 0
        if unknown.any():
            raise NeverSeenError(f"no row of class {other.classes[unknown].tolist()[0]!r} was seen")
        b = other.spread(self.classes)
        rows = self.rows - b.rows
        if (rows < 0).any():
            raise NeverSeenError("more rows are to be forgotten than were seen")
        blocks = tuple(p - q for p, q in zip(self.blocks, b.blocks, strict=True))
        rest = Stats(self.classes, rows, _left(self.weight, b.weight, rows > 0), blocks)
        keep = np.flatnonzero(rows)
        if len(keep) == len(rows):
            return rest
        return Stats(
            self.classes[keep], rest.rows[keep], rest.weight[keep], tuple(p.taken(keep) for p in blocks)
        )
