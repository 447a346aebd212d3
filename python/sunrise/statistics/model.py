"""Statistics of a whole model: class counts and the statistics of every block of columns."""

from __future__ import annotations

import operator
from collections.abc import Callable
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
    #: Counts of the pairs of columns that the model counts and does not score.
    counted: Counts | None = None

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
        rows, weight = (reindex_classes(a, position, n) for a in (self.rows, self.weight))
        return self._mapped(lambda block: block.reindexed(position, n), rows, weight, classes)

    def scaled(self, factor: Floats) -> Stats:
        """Multiply the weight of every class by its factor."""
        rows, weight = np.where(factor > 0, self.rows, 0), self.weight * factor
        return self._mapped(lambda block: block.scaled(factor), rows, weight)

    def select_classes(self, keep: Positions) -> Stats:
        """Keep only these classes."""
        kept = self.rows[keep], self.weight[keep], self.classes[keep]
        return self._mapped(lambda block: block.select_classes(keep), *kept)

    def _mapped(
        self, change: Callable[[Any], Any], rows: Integers, weight: Floats, classes: Labels | None = None
    ) -> Stats:
        """Return these class counts with a change of all other statistics."""
        asleep, counted = (None if own is None else change(own) for own in (self.asleep, self.counted))
        blocks, classes = tuple(map(change, self.blocks)), self.classes if classes is None else classes
        return Stats(classes, rows, weight, blocks, asleep, counted)

    def _joined(self, other: Stats, join: Callable[[Any, Any], Any], rows: Integers, weight: Floats) -> Stats:
        """Return these class counts with all other statistics joined to those of `other`, of the same classes."""
        pairs = (self.asleep, other.asleep), (self.counted, other.counted)
        asleep, counted = (None if a is None or b is None else join(a, b) for a, b in pairs)
        blocks = tuple(join(a, b) for a, b in zip(self.blocks, other.blocks, strict=True))
        return Stats(self.classes, rows, weight, blocks, asleep, counted)

    def __add__(self, other: Stats) -> Stats:
        classes = labels.union(self.classes, other.classes)
        a, b = self.reindexed(classes), other.reindexed(classes)
        return a._joined(b, operator.add, a.rows + b.rows, a.weight + b.weight)

    def decayed(self, factor: float) -> Stats:
        """Multiply all weights by a factor; the classes stay, even without weight."""
        weight = self.weight * factor
        gone = (self.rows > 0) & (weight < NEGLIGIBLE)
        rows, weight = np.where(gone, 0, self.rows), np.where(gone, 0.0, weight)
        return self._mapped(lambda block: block.decayed(factor), rows, weight)

    def pruned(self, least: float) -> Stats:
        """Drop levels, words and kept values that weigh less than `least` over all classes."""
        blocks = tuple(block.pruned(least) for block in self.blocks)
        counted = None if self.counted is None else self.counted.pruned(least)
        return replace(self, blocks=blocks, counted=counted)

    def __sub__(self, other: Stats) -> Stats:
        return self.subtract(other)

    def subtract(self, other: Stats, decayed: bool = False) -> Stats:
        """Subtract other statistics; `decayed` says that weights have been decayed, see `subtract_observed`."""
        unknown = labels.locate(self.classes, other.classes) < 0
        if unknown.any():
            raise NeverSeenError(f"no row of class {other.classes[unknown].tolist()[0]!r} was fitted")
        b = other.reindexed(self.classes)
        rows, weight = subtract_observed(self, b, decayed)
        rest = self._joined(b, lambda mine, theirs: mine.subtract(theirs, decayed), rows, weight)
        keep = np.flatnonzero(rows)
        return rest if len(keep) == len(rows) else rest.select_classes(keep)
