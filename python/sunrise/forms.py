"""Forms: how a fitted block of columns scores its cells.

Every form gives what each cell adds to the joint log score of each class (`cells`, the readable formula that
the array engine and the explanations use) and the same as weights of features (the linear form). How its
arrays are laid out for the native kernels is the native engine's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from sunrise import _native
from sunrise.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.special import log_rising


class Form(Protocol):
    """What the engines, the explanations and the linear form ask of a fitted block."""

    #: Which kernels score it: linear, table, polya, kernel or pointwise.
    kind: ClassVar[str]

    @property
    def impossible(self) -> Form | None:
        """A form that counts the impossible things in a row, where the parameters hold any."""

    @property
    def finite(self) -> Form:
        """The same form without its infinities."""

    @property
    def readable(self) -> Form:
        """The same form by its plain formula, where `cells` takes a faster way."""

    @property
    def compositional(self) -> bool:
        """Whether a row with missing cells needs more than its own cells."""

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""

    def unseen(self, j: int, x: Floats) -> Mask:
        """Which cells of column j hold levels beyond those that are possible."""

    def times(self, weight: Floats) -> Form:
        """The same form with what every cell adds multiplied by the weight of its column, or by one for all."""

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Weights (classes x features) and intercepts of the form as a linear function about a centre."""

    def features(self, x: Any, centre: Floats) -> Any:
        """The features those weights multiply."""

    def feature_names(self, columns: list[str]) -> list[str]:
        """Names of those features."""


class Readable:
    """A form whose cells are scored by the plain formula anyway."""

    @property
    def readable(self) -> Self:
        """The form itself."""
        return self


@dataclass(frozen=True)
class Composition:
    """Parameters that sum to 1 over the columns, so that a missing count changes the others' share.

    A row is scored with its observed shares brought back to a sum of 1; `sign` is -1 for a complement, and
    `normed` divides by the sum of the weights (Rennie et al. 2003).
    """

    log_theta: Floats
    sign: float = 1.0
    normed: bool = False
    #: What all weights are multiplied by.
    weight: float = 1.0

    def weights(self, observed: Mask) -> Floats:
        """Weight of every cell for rows with these observed columns: rows x classes x columns."""
        theta = np.exp(self.log_theta)[None] * observed[:, None, :]
        share = theta.sum(axis=2, keepdims=True)
        rescale = np.log(np.where(share > 0, share, 1.0))
        weight = np.where(observed[:, None, :] & np.isfinite(self.log_theta), self.log_theta - rescale, 0.0)
        if self.normed:
            total = weight.sum(axis=2, keepdims=True)
            # One observed column has all of the share: its weight is 0, up to rounding.
            some = np.abs(total) > 1e-12
            return np.asarray(self.weight * np.divide(weight, total, out=np.zeros_like(weight), where=some))
        return np.asarray(self.weight * self.sign * weight)


@dataclass(frozen=True, eq=False)
class Linear(Readable):
    """A cell adds base + x (x - a) + x2 (x - a)^2; each part is classes x columns.

    >>> import numpy as np
    >>> form = Linear(base=np.array([[1.0]]), x2=np.array([[-0.5]]), anchor=np.array([[3.0]]))
    >>> form.cells(np.array([[5.0], [np.nan]])).ravel()
    array([-1.,  0.])
    """

    base: Floats | None = None
    x: Floats | None = None
    x2: Floats | None = None
    anchor: Floats | None = None
    composition: Composition | None = None

    kind: ClassVar[str] = "linear"

    @property
    def compositional(self) -> bool:
        """Whether a row with missing cells needs more than its own cells."""
        return self.composition is not None

    @property
    def _parts(self) -> list[Floats]:
        return [part for part in (self.base, self.x, self.x2) if part is not None]

    @property
    def shape(self) -> tuple[int, int]:
        """Classes and columns."""
        n_classes, n_columns = self._parts[0].shape
        return n_classes, n_columns

    @cached_property
    def impossible(self) -> Linear | None:
        """Counts cells of probability 0; a sure thing (weight +inf) counts as -1.

        Infinities are taken out of the sums because 0 * log 0 must be 0, and two of them must not meet. A
        square however small weighs more than all sure things together.
        """
        if all(np.isfinite(part).all() for part in self._parts):
            return None

        def count(part: Floats | None, weight: float = 1.0) -> Floats | None:
            return None if part is None else np.where(np.isinf(part), -weight * np.sign(part), 0.0)

        return Linear(count(self.base), count(self.x), count(self.x2, weight=1e100), self.anchor)

    @cached_property
    def finite(self) -> Linear:
        """The same form without its infinities."""
        if self.impossible is None:
            return self

        def keep(part: Floats | None) -> Floats | None:
            return None if part is None else np.where(np.isinf(part), 0.0, part)

        return Linear(keep(self.base), keep(self.x), keep(self.x2), self.anchor, self.composition)

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        seen = ~np.isnan(x)
        d = x[:, None, :] - (0.0 if self.anchor is None else self.anchor[None])
        if self.composition is not None and not seen.all():
            whole = np.all(seen, axis=1, keepdims=True)[:, :, None]
            score = np.where(whole, np.asarray(self.x), self.composition.weights(seen)) * d
        else:
            score = np.zeros(d.shape)
            if self.x is not None:
                score = score + self.x * d
            if self.x2 is not None:
                score = score + self.x2 * d * d
            if self.base is not None:
                score = score + self.base
        return np.where(seen[:, None, :], score, 0.0)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Numbers are never unseen."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Linear:
        """The form with its columns weighed; what has no weight says nothing, not even that a row is impossible."""
        base, x, x2 = (
            None if part is None else weighed(part, weight) for part in (self.base, self.x, self.x2)
        )
        composition = self.composition
        if composition is not None:
            composition = replace(composition, weight=composition.weight * float(np.mean(weight)))
        return Linear(base, x, x2, self.anchor, composition)

    def among(self, columns: Mask) -> Linear:
        """The form of its columns among more, of which the others say nothing."""

        def spread(part: Floats | None) -> Floats | None:
            if part is None:
                return None
            wide = np.zeros((len(part), len(columns)))
            wide[:, columns] = part
            return wide

        return Linear(spread(self.base), spread(self.x), spread(self.x2), spread(self.anchor))

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Weights of x - centre, then of (x - centre)^2 where squares are used, and intercepts."""
        zero = np.zeros(self.shape)
        base, x, x2 = (zero if part is None else part for part in (self.base, self.x, self.x2))
        # A class's point mass (weight -inf) would meet 0 * inf below; its own row stays infinite.
        shift = centre - (0.0 if self.anchor is None else self.anchor)
        with np.errstate(invalid="ignore"):
            slope = x + np.where(shift == 0, 0.0, 2 * x2 * shift)
            level = base + np.where(shift == 0, 0.0, shift * (x + x2 * shift))
        w = slope if self.x2 is None else np.concatenate([slope, x2], axis=1)
        return w, level.sum(axis=1)

    def features(self, x: Any, centre: Floats) -> Any:
        """x - centre, and its squares where they are used; sparse cells about 0 stay sparse."""
        if not isinstance(x, np.ndarray):
            if self.x2 is None and not centre.any():
                return x
            x = x.toarray()
        d = x - centre
        return d if self.x2 is None else np.concatenate([d, d * d], axis=1)

    def feature_names(self, columns: list[str]) -> list[str]:
        """Names of the features."""
        return columns if self.x2 is None else [*columns, *(f"{name}^2" for name in columns)]


@dataclass(frozen=True, eq=False)
class Table(Readable):
    """A cell adds what its level says.

    A column with k levels seen has k + 2 entries in `values` (entries x classes): its levels in order, then
    any other code below its size (possible, never seen), then any code beyond (unseen).
    """

    offsets: Integers
    codes: Integers
    sizes: Integers
    values: Floats
    refuse_unseen: bool = False
    #: What the levels are called.
    names: list[str] = field(default_factory=list)

    kind: ClassVar[str] = "table"
    compositional = False
    impossible = None

    @property
    def finite(self) -> Table:
        """Looked-up infinities never multiply anything, so there is nothing to take out."""
        return self

    def places(self, x: Floats, j: Positions) -> Integers:
        """The places of cells among the levels of their columns; beyond them all where the level is none of them."""
        found = np.empty(len(x), np.int64)
        for column in np.unique(j):
            own = j == column
            levels = self.codes[self.offsets[column] : self.offsets[column + 1]]
            place = np.searchsorted(levels, x[own])
            seen = (place < len(levels)) & (np.append(levels, -1)[place] == x[own])
            found[own] = np.where(seen, place, len(levels))
        return found

    def entries(self, x: Floats) -> Integers:
        """The entry of every cell, rows x columns; -1 where the cell is missing."""
        found = np.empty(x.shape, np.int64)
        for j in range(x.shape[1]):
            levels = self.codes[self.offsets[j] : self.offsets[j + 1]]
            first, k = self.offsets[j] + 2 * j, len(levels)
            cell = np.where(np.isnan(x[:, j]), 0.0, x[:, j])
            if k and levels[-1] == k - 1:  # codes without gaps are their own places
                place = np.minimum(cell, k).astype(np.int64)
                seen = place < k
            else:
                place = np.searchsorted(levels, cell)
                seen = (place < k) & (np.append(levels, -1)[place] == cell)
            beyond = ~seen & (cell >= self.sizes[j])
            if self.refuse_unseen and beyond.any():
                row = int(np.argmax(beyond))
                raise _native.CellError("unseen", row, j, float(cell[row]))
            found[:, j] = first + np.where(seen, place, np.where(beyond, k + 1, k))
        return np.where(np.isnan(x), -1, found)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Which cells of column j hold levels beyond those that are possible."""
        return np.asarray(x >= self.sizes[j]) & ~np.isin(x, self.codes[self.offsets[j] : self.offsets[j + 1]])

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        entry = self.entries(x)
        return np.where(entry[:, None, :] < 0, 0.0, np.moveaxis(self.values[entry], 2, 1))

    def times(self, weight: Floats) -> Table:
        """The form with its columns weighed."""
        sizes = np.diff(self.offsets) + 2
        by_entry = np.repeat(np.broadcast_to(weight, sizes.shape), sizes)
        return replace(self, values=weighed(self.values, by_entry[:, None]))

    def own(self, x: Floats, y: Codes) -> Floats:
        """What cells add to the score of one class each, that of their row: rows x columns."""
        entry = self.entries(x)
        return np.where(entry < 0, 0.0, self.values[entry, y[:, None]])

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """One weight per class and entry; levels have no centre and no intercept."""
        return self.values.T, np.zeros(self.values.shape[1])

    def features(self, x: Any, centre: Floats) -> Any:
        """One-hot rows: 1 for the entry of each cell."""
        from scipy import sparse

        entry = self.entries(x if isinstance(x, np.ndarray) else x.toarray())
        n, columns = entry.shape
        return sparse.csr_array(
            (np.ones(entry.size), entry.ravel(), np.arange(0, entry.size + 1, columns)), (n, len(self.values))
        )

    def feature_names(self, columns: list[str]) -> list[str]:
        """Names of the entries."""
        return [
            f"{name}={level}"
            for j, name in enumerate(columns)
            for level in [*self.names[self.offsets[j] : self.offsets[j + 1]], "other", "unseen"]
        ]


@dataclass(frozen=True, eq=False)
class Pointwise(Readable):
    """A cell adds what a function says, which takes cells (rows x 1 x columns) and gives rows x classes x columns.

    The form of predictive distributions, which are no weighted sums of terms.
    """

    of: Callable[[Floats], Floats]
    weight: Floats | float = 1.0

    kind: ClassVar[str] = "pointwise"
    compositional = False
    impossible = None

    @property
    def finite(self) -> Pointwise:
        """Nothing is infinite: a predictive distribution leaves nothing impossible."""
        return self

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        return np.where(np.isnan(x)[:, None, :], 0.0, weighed(self.of(x[:, None, :]), self.weight))

    def unseen(self, j: int, x: Floats) -> Mask:
        """Numbers are never unseen."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Pointwise:
        """The form with its columns weighed."""
        return replace(self, weight=self.weight * weight)

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """There are none."""
        raise ValueError(
            'a model with estimate="predictive" is not linear in any features of its cells. Use estimate="mean".'
        )

    def features(self, x: Any, centre: Floats) -> Any:
        """There are none."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """There are none."""
        return []


@dataclass(frozen=True, eq=False)
class Polya(Readable):
    """Counts drawn from an urn per class, to which everything drawn returns with one more of its kind.

    A row adds log_rising(a_j, n_j) for each of its counts, less log_rising(sum of a, sum of n). What the length of a
    row takes from all of its counts is told to each of them in proportion. Missing counts are as if their columns were
    not there; so are columns that are not known.

    >>> import numpy as np
    >>> urn = Polya(np.array([[0.1, 0.1]]), np.array([True, True]))
    >>> twice, once_each = np.exp(urn.cells(np.array([[2.0, 0.0], [1.0, 1.0]])).sum(axis=2))[:, 0]
    >>> round(float(twice + once_each), 12), round(float(twice / (twice + once_each)), 12)
    (0.5, 0.916666666667)
    """

    concentration: Floats
    known: Mask
    #: What all scores are multiplied by.
    weight: float = 1.0

    kind: ClassVar[str] = "polya"
    compositional = True
    impossible = None

    @property
    def finite(self) -> Polya:
        """What an urn does not hold is -inf and multiplies nothing, so there is nothing to take out."""
        return self

    @cached_property
    def total(self) -> Floats:
        """The sum of what the urns hold."""
        return np.asarray(np.where(self.known, self.concentration, 0.0).sum(axis=1))

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        seen = ~np.isnan(x) & self.known
        n = np.where(seen, x, 0.0)[:, None, :]
        total = np.where(seen[:, None, :], self.concentration, 0.0).sum(axis=2, keepdims=True)
        length = n.sum(axis=2, keepdims=True)
        share = np.divide(n, length, out=np.zeros_like(n), where=length > 0)
        whole = np.where(total > 0, log_rising(np.where(total > 0, total, 1.0), length), 0.0)
        return weighed(log_rising(self.concentration, n) - share * whole, self.weight)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Numbers are never unseen."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Polya:
        """The form with all of its columns weighed by one number."""
        return replace(self, weight=self.weight * float(np.mean(weight)))

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """There are none."""
        raise ValueError(
            'a Polya urn (a multinomial with estimate="predictive", a Dirichlet-compound multinomial) is not linear in '
            'any features of its cells. Use a multinomial with estimate="mean".'
        )

    def features(self, x: Any, centre: Floats) -> Any:
        """There are none."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """There are none."""
        return []


class Removal(NamedTuple):
    """What a cell adds to the score of its own class without itself: all but the squares u = (x - anchor)^2 is known.

    A mean and a variance that lose a cell give base - log(1 - q u) / 2 - p u / (1 - q u), where the anchor is the mean
    with the cell and 1 - q u is what is left of the variance; each part is classes x columns.
    """

    base: Floats
    anchor: Floats
    q: Floats
    p: Floats

    @classmethod
    def of(cls, mean: Floats, var: Floats, farther: Floats, q: Floats, known: Mask) -> Removal:
        """From the variance without the cell had it been at the mean, and how much farther off the cell then is."""
        base = -0.5 * np.log(2.0 * np.pi * var)
        p = 0.5 * farther * farther / var
        return cls(*(np.where(known, part, 0.0) for part in (base, mean, q, p)))

    def cells(self, x: Floats, y: Codes) -> Floats:
        """What the cells of rows of these classes add, rows x columns: 0 if missing, NaN if nothing would be left."""
        base, anchor, q, p = (part[y] for part in self)
        d = np.where(np.isnan(x), anchor, x) - anchor
        left = 1.0 - q * d * d
        left = np.where(left > 1e-6, left, np.nan)  # of less, too few digits are known
        return np.where(np.isnan(x), 0.0, base - 0.5 * np.log(left) - p * d * d / left)


def weighed(part: Floats, weight: Floats | float) -> Floats:
    """Numbers times their weights, where 0 times anything infinite is 0."""
    nothing = np.asarray(weight) == 0.0
    if not nothing.any():
        return np.asarray(part * weight)
    with np.errstate(invalid="ignore"):
        return np.where(nothing, 0.0, part * weight)


def side_by_side(*views: Floats) -> Floats:
    """Arrays of classes x columns, one for each view, as one of classes x views."""
    return np.stack(views, axis=2).reshape(len(views[0]), -1)
