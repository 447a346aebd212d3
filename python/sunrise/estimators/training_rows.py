"""The rows of one call of fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Labels, Positions
from sunrise.data.frame import Frame
from sunrise.model.accumulate import RowAccumulator


@dataclass(frozen=True)
class TrainingRows:
    """The rows of one call of fit: the table, the accumulator of its statistics, and the name of the label column."""

    table: Frame
    accumulator: RowAccumulator
    label: Any

    @property
    def labelled(self) -> TrainingRows:
        """The same table, accumulated over the rows with a label only."""
        return replace(self, accumulator=self.accumulator.labelled)

    @property
    def classes(self) -> Labels:
        """The classes of the rows with a positive weight."""
        a = self.accumulator
        return a.classes if a.weight is None else a.classes[np.unique(a.codes[a.weight > 0])]

    @property
    def n_counted(self) -> int:
        """Number of rows with a positive weight."""
        weight = self.accumulator.weight
        return self.table.n_rows if weight is None else int(np.count_nonzero(weight))

    def decayed(self, factor: float) -> TrainingRows:
        """Return the rows with their weights multiplied by a factor, as rows that were learned before decays."""
        a = self.accumulator
        weight, decay = (np.ones(len(a.codes)) if w is None else w for w in (a.weight, a.decay))
        return replace(self, accumulator=replace(a, weight=weight * factor, decay=decay * factor))

    def select_rows(self, rows: Positions) -> TrainingRows:
        """Return some of the rows."""
        accumulator = self.accumulator
        weight, decay = (None if a is None else a[rows] for a in (accumulator.weight, accumulator.decay))
        accumulator = replace(
            accumulator, codes=accumulator.codes[rows], weight=weight, sample=None, decay=decay
        )
        return replace(self, table=self.table.select_rows(rows), accumulator=accumulator)
