"""The rows of one call of fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sunrise._common.arrays import Positions
from sunrise.data.frame import Frame
from sunrise.model.accumulate import Accumulator


@dataclass(frozen=True)
class TrainingRows:
    """The rows of one call of fit: the table, the accumulator of its statistics, and the name of the label column."""

    table: Frame
    accumulator: Accumulator
    label: Any

    @property
    def labelled(self) -> TrainingRows:
        """The same table, accumulated over the rows with a label only."""
        return replace(self, accumulator=self.accumulator.labelled)

    def select_rows(self, rows: Positions) -> TrainingRows:
        """Return some of the rows."""
        accumulator = self.accumulator
        weight = None if accumulator.weight is None else accumulator.weight[rows]
        accumulator = replace(accumulator, codes=accumulator.codes[rows], weight=weight, sample=None)
        return replace(self, table=self.table.select_rows(rows), accumulator=accumulator)
