"""Sufficient statistics: what a model keeps of its data.

Everything else is derived from them. Statistics add, subtract and scale; classes are aligned by label, levels
by code. Whether anything was seen at all is decided by integer row counts, because weights may leave dust
(0.1 + 0.2 - 0.1 - 0.2 is not 0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sunrise import labels
from sunrise.arrays import Codes, Floats, Integers, Labels, Mask, Positions


class NeverSeenError(ValueError):
    """Rows are to be forgotten that the statistics do not hold."""


class Observed(Protocol):
    """Statistics that know how many cells they are of."""

    @property
    def rows(self) -> Integers:
        """Observed cells, as rows."""

    @property
    def seen(self) -> Floats:
        """Observed cells, by weight."""


def spread_classes(a: NDArray[Any], position: Positions, n_classes: int) -> NDArray[Any]:
    """Lay rows out among `n_classes`, row k at position[k]; the others are 0."""
    if (position < 0).any():
        raise LookupError("a class is not among those it is to be laid out among")
    wide = np.zeros((n_classes, *a.shape[1:]), a.dtype)
    wide[position] = a
    return wide


def per_row(sums: Floats, of: Observed) -> Floats:
    """Sums divided by the weight they were made of; 0 where nothing was seen."""
    return np.divide(sums, of.seen, out=np.zeros_like(sums), where=of.rows > 0)


def left(before: Floats, taken: Floats, rows: Integers, touched: Mask | bool = True) -> Floats:
    """What is left of weights or counts, free of dust; less than nothing is refused."""
    rest = before - taken
    if (rest < -1e-9 * before).any():
        raise NeverSeenError("more is to be forgotten than was seen")
    return np.where((rows > 0) | ~np.asarray(touched), np.maximum(rest, 0.0), 0.0)


def without_dust(rest: Floats, before: Floats) -> Floats:
    """What is left of sums once something is taken out, where what cannot be told from rounding is nothing."""
    return np.where(rest <= 2.0**-46 * before, 0.0, rest)  # a NaN stays


def others(per_class: Floats) -> Floats:
    """Sum over the other classes, without subtracting: what is not there leaves no dust."""
    zero = np.zeros((1, *per_class.shape[1:]))
    before = np.cumsum(np.concatenate([zero, per_class[:-1]]), axis=0)
    after = np.cumsum(np.concatenate([zero, per_class[:0:-1]]), axis=0)[::-1]
    return np.asarray(before + after)


def left_weight(before: Observed, taken: Observed) -> tuple[Integers, Floats]:
    """Rows and weight that are left; one cannot be used up without the other."""
    rows = before.rows - taken.rows
    if (rows < 0).any():
        raise NeverSeenError("more rows are to be forgotten than were seen")
    seen = left(before.seen, taken.seen, rows, taken.rows > 0)
    dust = before.seen - taken.seen
    # Rows without a label may leave weight where they are no rows; what nothing is taken from cannot be wrong.
    used_up = (rows == 0) & (taken.rows > 0)
    if ((rows > 0) & (seen == 0)).any() or (used_up & (dust > 1e-9 * before.seen)).any():
        raise NeverSeenError("the rows do not have the weights they were fitted with")
    return rows, seen


@dataclass(frozen=True)
class Sums:
    """Sums of x per class and column.

    `rows` and `seen` count observed cells, as rows and by weight; they have one column where no cell of the
    block was ever missing.

    >>> import numpy as np
    >>> a = Sums(np.array([[2]]), np.array([[2.0]]), np.array([[5.0]]))
    >>> (a + a - a).x
    array([[5.]])
    """

    rows: Integers
    seen: Floats
    x: Floats
    #: Where what is added up may be negative (a logarithm, for one): a bound on what forgetting did to x.
    error: Floats | None = None

    @property
    def mean(self) -> Floats:
        """Mean of the observed cells; 0 where nothing was seen."""
        return per_row(self.x, self)

    @property
    def known(self) -> Mask:
        """Columns that were observed at all."""
        return np.broadcast_to(self.rows.sum(axis=0) > 0, self.x.shape[1:])

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.broadcast_to(self.rows.sum(axis=0), self.x.shape[1:])

    def pooled(self) -> Sums:
        """Take all classes as one."""
        return self._each(lambda a: a.sum(axis=0, keepdims=True))

    def __add__(self, other: Sums) -> Sums:
        error = None if self.error is None or other.error is None else self.error + other.error
        return Sums(self.rows + other.rows, self.seen + other.seen, self.x + other.x, error)

    def __sub__(self, other: Sums) -> Sums:
        rows, seen = left_weight(self, other)
        if self.error is None or other.error is None:
            return Sums(rows, seen, left(self.x, other.x, rows))
        size = np.abs(self.x) + np.abs(other.x) + self.seen
        error = self.error + other.error + 2.0**-52 * (64.0 + self.rows) * size
        return Sums(rows, seen, *(np.where(rows > 0, a, 0.0) for a in (self.x - other.x, error)))

    def scaled(self, factor: Floats) -> Sums:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        error = None if self.error is None else self.error * f
        return Sums(np.where(f > 0, self.rows, 0), self.seen * f, self.x * f, error)

    def _each(self, change: Any) -> Sums:
        error = None if self.error is None else change(self.error)
        return Sums(change(self.rows), change(self.seen), change(self.x), error)

    def less(self, x: Floats, c: Codes, j: Positions, w: Floats) -> Sums:
        """What is left for each of some cells without itself, as a column of its own; NaN where it was never there.

        `x` is cells x views, `c` and `j` are their classes and columns, `w` their weights.
        """
        n = x.shape[1]
        at = (j[:, None] * n + np.arange(n)).ravel()
        c, w, x = np.repeat(c, n), np.repeat(w, n), x.ravel()
        own = self._each(lambda a: np.broadcast_to(a, self.x.shape)[c, at])
        rows = own.rows - (w > 0)
        seen, rest = own.seen - w, own.x - w * x
        sound = (rows >= 0) & ((seen > 0) | (rows == 0))
        if own.error is None:
            sound &= rest >= -1e-9 * own.x
            rest = without_dust(rest, own.x)
        error = None if own.error is None else own.error[None]
        rest = np.where(sound, np.where(rows > 0, rest, 0.0), np.nan)
        return Sums(rows[None], np.where(rows > 0, seen, 0.0)[None], rest[None], error)

    def view(self, k: int, n_views: int) -> Sums:
        """The sums of one view of the cells, of those that lie side by side."""
        return self._each(lambda a: a if a.shape[1] == 1 else a[:, k::n_views])

    def spread(self, position: Positions, n_classes: int) -> Sums:
        """Lay the classes out among `n_classes`; the others are empty."""
        return self._each(lambda a: spread_classes(a, position, n_classes))

    def taken(self, position: Positions) -> Sums:
        """Keep these classes only."""
        return self._each(lambda a: a[position])

    def select(self, columns: Positions) -> Sums:
        """Keep these columns, in this order."""
        shape = self.x.shape
        return self._each(lambda a: np.broadcast_to(a, shape)[:, columns])

    @staticmethod
    def woven(parts: list[Sums]) -> Sums:
        """Put the views of every column side by side; none of them is ever negative."""
        wide = [
            [np.broadcast_to(getattr(p, name), p.x.shape) for p in parts] for name in ("rows", "seen", "x")
        ]
        return Sums(*(np.stack(arrays, axis=2).reshape(len(arrays[0]), -1) for arrays in wide))

    @staticmethod
    def joined(parts: list[Sums]) -> Sums:
        """Put the columns of several side by side."""
        names = ("rows", "seen", "x") if parts[0].error is None else ("rows", "seen", "x", "error")
        wide = ([np.broadcast_to(getattr(p, name), p.x.shape) for p in parts] for name in names)
        return Sums(*(np.concatenate(arrays, axis=1) for arrays in wide))


@dataclass(frozen=True)
class Counts:
    """Rows and weight of every level seen, per class; levels lie column after column, in order.

    A level is known by its code, a whole number, or by its name, a string.

    >>> import numpy as np
    >>> a = Counts(np.array([0, 1]), np.array([7]), np.array([[2]]), np.array([[2.0]]))
    >>> b = Counts(np.array([0, 1]), np.array([3]), np.array([[1]]), np.array([[1.0]]))
    >>> (a + b).codes, (a + b - b).codes
    (array([3, 7]), array([7]))
    """

    offsets: Integers
    codes: NDArray[Any]
    rows: Integers
    weight: Floats

    @property
    def is_named(self) -> bool:
        """Whether levels are known by name."""
        return self.codes.dtype == object

    @property
    def seen(self) -> Floats:
        """The weight of every level, by its other name."""
        return self.weight

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

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.asarray(self.by_column(self.rows).sum(axis=0))

    def by_column(self, values: NDArray[Any], by: np.ufunc = np.add) -> NDArray[Any]:
        """Sum values of the levels, classes x levels, over each column; or put them together in another way."""
        found = np.zeros((len(values), self.n_columns), values.dtype)
        some = np.diff(self.offsets) > 0
        if some.any():
            found[:, some] = by.reduceat(values, self.offsets[:-1][some], axis=1)
        return found

    def _places(self, other: Counts) -> Positions | None:
        """Where the levels of another are among these, if all of them are."""
        if not self.is_named and len(other.codes):
            places = self.places(other.column, other.codes)
            return None if (places < 0).any() else places
        places = np.empty(len(other.codes), np.intp)
        for j in np.flatnonzero(np.diff(other.offsets)).tolist():
            mine, theirs = self.levels(j), other.levels(j)
            at = np.searchsorted(mine, theirs)
            if len(mine) == 0 or at.max() == len(mine) or not np.array_equal(mine[at], theirs):
                return None
            places[other.offsets[j] : other.offsets[j + 1]] = self.offsets[j] + at
        return places

    def places(self, column: Positions, codes: NDArray[Any]) -> Positions:
        """Where levels of these columns and codes are among these; -1 where they are not."""
        mine = np.stack([self.column, self.codes]).astype(np.int64)
        if len(self.codes) == 0 or len(codes) == 0:
            return np.full(len(codes), -1)
        wide = int(max(self.codes.max(), codes.max())) + 1
        if self.n_columns * wide < 2**62:
            keys, wanted = mine[0] * wide + mine[1], column * wide + codes
        else:  # too large to be told as one number
            _, numbers = np.unique(np.concatenate([self.codes, codes]), return_inverse=True)
            wide, n = int(numbers.max()) + 1, len(self.codes)
            keys, wanted = mine[0] * wide + numbers[:n], column * wide + numbers[n:]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, at, -1)

    def pooled(self) -> Counts:
        """Take all classes as one."""
        rows, weight = (a.sum(axis=0, keepdims=True) for a in (self.rows, self.weight))
        return replace(self, rows=rows, weight=weight)

    def __add__(self, other: Counts) -> Counts:
        if self.codes is other.codes and self.offsets is other.offsets:
            return replace(self, rows=self.rows + other.rows, weight=self.weight + other.weight)
        if (places := self._places(other)) is not None:  # nothing new: a small batch costs little
            rows, weight = self.rows.copy(), self.weight.copy()
            rows[:, places] += other.rows
            weight[:, places] += other.weight
            return replace(self, rows=rows, weight=weight)
        column = np.concatenate([self.column, other.column])
        codes = np.concatenate([self.codes, other.codes])
        order = np.lexsort((np.unique(codes, return_inverse=True)[1] if self.is_named else codes, column))
        column, codes = column[order], codes[order]
        new = np.ones(len(codes), bool)
        new[1:] = (column[1:] != column[:-1]) | (codes[1:] != codes[:-1])
        slot = np.empty(len(codes), np.intp)
        slot[order] = np.cumsum(new) - 1
        rows = np.zeros((len(self.rows), int(new.sum())), np.int64)
        weight = np.zeros(rows.shape)
        mine, theirs = slot[: len(self.codes)], slot[len(self.codes) :]
        rows[:, mine], weight[:, mine] = self.rows, self.weight
        rows[:, theirs] += other.rows
        weight[:, theirs] += other.weight
        offsets = np.searchsorted(column[new], np.arange(self.n_columns + 1))
        return replace(self, offsets=offsets, codes=codes[new], rows=rows, weight=weight)

    def __sub__(self, other: Counts) -> Counts:
        nothing = replace(other, rows=0 * other.rows, weight=0.0 * other.weight)
        before, taken = self + nothing, replace(self, rows=0 * self.rows, weight=0.0 * self.weight) + other
        rows, weight = left_weight(before, taken)
        return replace(before, rows=rows, weight=weight)._seen()

    def _seen(self) -> Counts:
        """Drop the levels without rows: a forgotten level leaves no trace."""
        keep = self.rows.any(axis=0)
        if keep.all():
            return self
        offsets = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        return replace(
            self,
            offsets=offsets,
            codes=self.codes[keep],
            rows=self.rows[:, keep],
            weight=self.weight[:, keep],
        )

    def scaled(self, factor: Floats) -> Counts:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        scaled = replace(self, rows=np.where(f > 0, self.rows, 0), weight=self.weight * f)
        return scaled if (factor > 0).all() else scaled._seen()

    def spread(self, position: Positions, n_classes: int) -> Counts:
        """Lay the classes out among `n_classes`; the others are empty."""
        rows, weight = (spread_classes(a, position, n_classes) for a in (self.rows, self.weight))
        return replace(self, rows=rows, weight=weight)

    def taken(self, position: Positions) -> Counts:
        """Keep these classes only."""
        return replace(self, rows=self.rows[position], weight=self.weight[position])._seen()

    def select(self, columns: Positions) -> Counts:
        """Keep these columns, in this order."""
        levels = [np.arange(self.offsets[j], self.offsets[j + 1]) for j in columns]
        offsets = np.concatenate([[0], np.cumsum([len(places) for places in levels])])
        at = np.concatenate([np.empty(0, np.intp), *levels])
        return replace(
            self, offsets=offsets, codes=self.codes[at], rows=self.rows[:, at], weight=self.weight[:, at]
        )

    @staticmethod
    def joined(parts: list[Counts]) -> Counts:
        """Put the columns of several side by side."""
        widths = np.concatenate([np.diff(p.offsets) for p in parts])
        return Counts(
            np.concatenate([[0], np.cumsum(widths)]),
            np.concatenate([p.codes for p in parts]),
            np.concatenate([p.rows for p in parts], axis=1),
            np.concatenate([p.weight for p in parts], axis=1),
        )

    def named(self, names: Labels) -> Counts:
        """Call the levels of a single column by their names, in the order of these."""
        mine = names[self.codes]
        order = np.argsort(mine)
        return Counts(self.offsets, mine[order], self.rows[:, order], self.weight[:, order])

    def with_levels(self, names: list[Labels]) -> Counts:
        """Add levels that were declared, a list for each column; they have no rows."""
        if not any(map(len, names)):
            return self
        names = [np.unique(column) for column in names]
        offsets = np.concatenate([[0], np.cumsum([len(column) for column in names])])
        none = len(self.rows), int(offsets[-1])
        return self + Counts(offsets, np.concatenate(names), np.zeros(none, np.int64), np.zeros(none))

    def levels(self, j: int) -> NDArray[Any]:
        """The levels of a column."""
        return self.codes[self.offsets[j] : self.offsets[j + 1]]


@dataclass(frozen=True)
class Words(Counts):
    """The words of one column of text: in how many documents of a class each is, and the sum of what it counts there.

    The empty word, which no document has, comes first and stands for the documents themselves.
    """

    @classmethod
    def of(cls, words: Labels | Callable[[], Labels], found: Integers, sums: Floats) -> Words:
        """From words in order and classes x (1 + words), the documents of the classes first.

        Words may be a function that gives them: most models never ask for a hundred thousand strings.
        """
        self = cls(np.array([0, found.shape[1]]), np.empty(0, object), found, sums)
        del self.__dict__["codes"]
        object.__setattr__(self, "_words", words if callable(words) else lambda: words)
        return self

    def __getattr__(self, name: str) -> Any:
        if name != "codes" or "_words" not in self.__dict__:
            raise AttributeError(name)
        codes = np.concatenate([np.array([""], dtype=object), self.__dict__["_words"]()])
        object.__setattr__(self, "codes", codes)
        return codes

    def _seen(self) -> Counts:
        """Drop the words without documents; the documents themselves stay, if there are none, too."""
        keep = np.asarray(self.rows.any(axis=0))
        keep[:1] = True
        if keep.all():
            return self
        offsets = np.array([0, int(keep.sum())])
        rest = self.codes[keep], self.rows[:, keep], self.weight[:, keep]
        return Words(offsets, *rest)

    def known_by(self, vocabulary: Any) -> Words:
        """The same, with the vocabulary of its words, which need not be made again."""
        object.__setattr__(self, "_vocabulary", vocabulary)
        return self

    @property
    def vocabulary(self) -> Any:
        """The vocabulary of its words where it is at hand, else None. What is made of these statistics has none."""
        return self.__dict__.get("_vocabulary")

    def __getstate__(self) -> dict[str, Any]:
        state = {"codes": self.codes, **self.__dict__}
        return {name: value for name, value in state.items() if name not in ("_vocabulary", "_words")}

    def as_counts(self, terms: Any, weight: Floats) -> Sums:
        """The words that have a weight (NaN is none) as a block of counts, weighed."""
        use = ~np.isnan(weight)
        sums = self.sums if use.all() else self.sums[:, use]
        if not (weight[use] == 1.0).all():
            sums = sums * weight[use]
        return Sums(self.rows[:, :1], self.weight[:, :1], sums)

    def __sub__(self, other: Counts | Sums) -> Counts:
        if not isinstance(other, Sums):
            return super().__sub__(other)
        # One document, added up as a row of counts: its words stay in their places.
        taken = np.concatenate([other.rows[:, :1], other.rows * (other.x > 0)], axis=1)
        sums = np.concatenate([other.seen[:, :1], other.x], axis=1)
        rows = self.rows - taken
        if (rows < 0).any():
            raise NeverSeenError("more documents are to be taken out than were seen")
        return replace(
            self, rows=rows, weight=np.where(rows > 0, without_dust(self.weight - sums, self.weight), 0.0)
        )

    @property
    def words(self) -> Labels:
        """The words, sorted."""
        return self.codes[1:]

    @property
    def found(self) -> Integers:
        """Documents with every word, classes x words."""
        return self.rows[:, 1:]

    @property
    def sums(self) -> Floats:
        """What every word counts, classes x words."""
        return self.weight[:, 1:]

    @property
    def documents(self) -> Integers:
        """Documents of every class."""
        return np.asarray(self.rows[:, :1].sum(axis=1))

    @property
    def observed(self) -> Integers:
        """Documents, as rows."""
        return np.asarray(self.rows[:, :1].sum(axis=0))


@dataclass(frozen=True)
class RowCounts(Counts):
    """Rows of counts: how often each count from 1 is in each column, and in a last column each total of the rows.

    Zeros are not kept, but for rows of nothing but zeros; in other columns the code 0 stands for missing counts.
    """

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.asarray(self.rows[:, self.offsets[-2] :].sum() - self.missing)

    @property
    def missing(self) -> Integers:
        """Missing counts of every column, as rows."""
        unknown = self.rows.sum(axis=0) * (self.codes == 0)
        return np.asarray(self.by_column(unknown[None])[0, :-1])

    @property
    def known(self) -> Mask:
        """Columns of which anything was ever counted."""
        some = self.rows.sum(axis=0) * (self.codes > 0)
        return np.asarray(self.by_column(some[None])[0, :-1] > 0)

    def select(self, columns: Positions) -> Counts:
        """The columns in another order; totals of fewer of them are not known."""
        if not np.array_equal(np.sort(columns), np.arange(self.n_columns - 1)):
            raise ValueError(
                "The totals of rows are known of all columns of a block together, so none can be left out or moved to "
                "another block. Fit the columns that are wanted."
            )
        if np.array_equal(columns, np.arange(self.n_columns - 1)):
            return self
        return super().select(np.append(columns, self.n_columns - 1))

    @staticmethod
    def joined(parts: list[Counts]) -> Counts:
        """Two blocks do not make one: the totals of their rows are not known together."""
        raise ValueError(
            "The totals of rows are known block by block, so blocks cannot be put together. Fit them together."
        )


@dataclass(frozen=True)
class Stats:
    """Statistics of a whole model: rows and weight of every class, and those of every block of columns."""

    classes: Labels
    rows: Integers
    weight: Floats
    blocks: tuple[Any, ...]

    @property
    def seen(self) -> Floats:
        """The weight of every class, by its other name."""
        return self.weight

    def spread(self, classes: Labels) -> Stats:
        """Lay the statistics out for these classes, which include all of its own."""
        if np.array_equal(self.classes, classes) and self.classes.dtype == classes.dtype:
            return self
        position, n = labels.locate(classes, self.classes), len(classes)
        return Stats(
            classes,
            spread_classes(self.rows, position, n),
            spread_classes(self.weight, position, n),
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
        rows, weight = left_weight(self, b)
        blocks = tuple(p - q for p, q in zip(self.blocks, b.blocks, strict=True))
        rest = Stats(self.classes, rows, weight, blocks)
        keep = np.flatnonzero(rows)
        if len(keep) == len(rows):
            return rest
        return Stats(
            self.classes[keep], rest.rows[keep], rest.weight[keep], tuple(p.taken(keep) for p in blocks)
        )
