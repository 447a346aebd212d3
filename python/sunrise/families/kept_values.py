"""Families whose statistics are training values until `compress` of a model replaces them by weights on grids."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from sunrise._common.stored import stored
from sunrise.families.base import Family
from sunrise.families.readers import VALUES, Reader
from sunrise.statistics.empirical import Values, grid_of
from sunrise.statistics.grids import Grid, Lattice
from sunrise.statistics.support import Support

#: A column has at most about this many nodes, unless its grid would become coarser than half a bandwidth.
MOST_NODES = 4096


@stored("column grid")
@dataclass(frozen=True)
class ColumnGrid:
    """The grid of a compressed column: the distance of its nodes, and a bound on the error that it causes.

    The error is in units of the height of a kernel (kernel densities) or of the column (medians and deviations).
    """

    step: float
    error: float
    #: Bandwidths that no longer follow from a rule: one for all classes, or one per class; else empty.
    widths: tuple[float, ...] = ()


@dataclass(frozen=True)
class KeepsValues(Family):
    """A family that keeps the values of its columns, or their weights on grids after `compress`."""

    reader: ClassVar[Reader] = VALUES
    #: The grid of every column; None for a column that keeps its values, empty if all columns do.
    compressed: tuple[ColumnGrid | None, ...] = field(default=(), kw_only=True)

    @property
    def grids(self) -> tuple[Grid | None, ...]:
        """The grids on which values are counted, one for every column or one for all; None where values are kept."""
        return tuple(None if own is None else self.lattice(own.step) for own in self.compressed)

    def grid_at(self, at: int) -> Grid | None:
        """Return the grid of the column at this position of the block; None if its values are kept."""
        return grid_of(self.grids, at)

    def lattice(self, step: float) -> Lattice:
        """Return the lattice with this step on the scale of the family."""
        return Lattice(step)

    @property
    def fit_support(self) -> Support:
        """The cells that are accepted, and the grids on which they are counted."""
        return replace(self.support, grids=self.grids) if any(self.grids) else self.support

    @property
    def description(self) -> str:
        """The family in words, with the grid of its first column."""
        own = self.compressed[0] if self.compressed else None
        return self.name if own is None else f"{self.name} with nodes {own.step:g} apart"

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The settings that shape the statistics, among them the grids."""
        return *super().statistics_key, tuple(None if own is None else own.step for own in self.compressed)

    def select_columns(self, columns: list[int]) -> Self:
        """Return the family restricted to some columns of its block; their grids are kept."""
        family = super().select_columns(columns)
        return family.with_settings(compressed=tuple(self.compressed[j] for j in columns if self.compressed))

    def fixed_widths(self, j: int, n_classes: int) -> tuple[float, ...] | float:
        """Bandwidths that `compress` has fixed for column j; 0 if there are none.

        Their mean if they differ by class and the number of classes has changed.
        """
        own = self.compressed[j] if self.compressed else None
        if own is None or not own.widths:
            return 0.0
        return own.widths if len(own.widths) in (1, n_classes) else sum(own.widths) / len(own.widths)

    def kept(self, stats: Values, j: int) -> str:
        """What the model keeps of column j, for people."""
        n, own = int(stats.sizes[:, j].sum()), self.compressed[j] if self.compressed else None
        if own is None:
            return f"keeps {n:,} training values"
        return f"keeps the weights of {n:,} grid nodes, {own.step:g} apart ({self.describe_error(own)})"

    @abstractmethod
    def describe_error(self, grid: ColumnGrid) -> str:
        """What the grid of a column changes at most, for people."""

    @abstractmethod
    def choose_grid(self, stats: Values, j: int) -> ColumnGrid:
        """Return a grid for the values of column j; the family is resolved."""

    def on_grids(self, grids: tuple[ColumnGrid | None, ...]) -> Self:
        """Return the family with these grids of its columns."""
        return self.with_settings(compressed=grids)
