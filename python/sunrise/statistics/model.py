"""Statistics of a whole model: class counts and the statistics of every block of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats, Integers, Labels, Positions
from sunrise._common.stored import stored
from sunrise.statistics.base import NEGLIGIBLE, NeverSeenError, reindex_classes, subtract_observed
from sunrise.statistics.counts import Counts


@stored("stats")
@dataclass(frozen=True)
class Stats:
    """Statistics of a whole model: rows and weight of every class, and one statistic per block of columns."""

    classes: Labels
    rows: Integers
    weight: Floats
    blocks: tuple[Any, ...]
    #: Counts of the only value of columns that are left out because they were constant or empty so far.
    asleep: Counts | None = None

    @property
    def observed_weight(self) -> Floats:
        """Weight of every class, under the name that all statistics share."""
        return self.weight

    def reindexed(self, classes: Labels) -> Stats:
        """Use these classes, which must include all current ones; new classes are empty."""
        if self.classes is classes or (
            np.array_equal(self.classes, classes) and self.classes.dtype == classes.dtype
        ):
            return self
        position, n = labels.locate(classes, self.classes), len(classes)
        return Stats(
            classes,
            reindex_classes(self.rows, position, n),
            reindex_classes(self.weight, position, n),
            tuple(block.reindexed(position, n) for block in self.blocks),
            None if self.asleep is None else self.asleep.reindexed(position, n),
        )

    def scaled(self, factor: Floats) -> Stats:
        """Multiply the weight of every class by its factor."""
        blocks = tuple(block.scaled(factor) for block in self.blocks)
        rows, weight = np.where(factor > 0, self.rows, 0), self.weight * factor
        return Stats(
            self.classes, rows, weight, blocks, None if self.asleep is None else self.asleep.scaled(factor)
        )

    def select_classes(self, keep: Positions) -> Stats:
        """Keep only these classes."""
        return Stats(
            self.classes[keep],
            self.rows[keep],
            self.weight[keep],
            tuple(block.select_classes(keep) for block in self.blocks),
            None if self.asleep is None else self.asleep.select_classes(keep),
        )

    def __add__(self, other: Stats) -> Stats:
        classes = labels.union(self.classes, other.classes)
        a, b = self.reindexed(classes), other.reindexed(classes)
        blocks = tuple(p + q for p, q in zip(a.blocks, b.blocks, strict=True))
        asleep = None if a.asleep is None or b.asleep is None else a.asleep + b.asleep
        return Stats(classes, a.rows + b.rows, a.weight + b.weight, blocks, asleep)

    def decayed(self, factor: float) -> Stats:
        """Multiply all weights by a factor; the classes stay, even without weight."""
        weight = self.weight * factor
        gone = (self.rows > 0) & (weight < NEGLIGIBLE)
        return Stats(
            self.classes,
            np.where(gone, 0, self.rows),
            np.where(gone, 0.0, weight),
            tuple(block.decayed(factor) for block in self.blocks),
            None if self.asleep is None else self.asleep.decayed(factor),
        )

    def pruned(self, least: float) -> Stats:
        """Drop levels, words and kept values that weigh less than `least` over all classes."""
        return replace(self, blocks=tuple(block.pruned(least) for block in self.blocks))

    def __sub__(self, other: Stats) -> Stats:
        return self.subtract(other)

    def subtract(self, other: Stats, decayed: bool = False) -> Stats:
        """Subtract other statistics; `decayed` says that weights have been decayed, see `subtract_observed`."""
        unknown = labels.locate(self.classes, other.classes) < 0
        if unknown.any():
            raise NeverSeenError(f"no row of class {other.classes[unknown].tolist()[0]!r} was fitted")
        b = other.reindexed(self.classes)
        rows, weight = subtract_observed(self, b, decayed)
        blocks = tuple(p.subtract(q, decayed) for p, q in zip(self.blocks, b.blocks, strict=True))
        asleep = None
        if self.asleep is not None and b.asleep is not None:
            asleep = self.asleep.subtract(b.asleep, decayed)
        rest = Stats(self.classes, rows, weight, blocks, asleep)
        keep = np.flatnonzero(rows)
        return rest if len(keep) == len(rows) else rest.select_classes(keep)
