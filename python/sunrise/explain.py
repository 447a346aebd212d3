"""Explanations: a prediction is a sum, and here are its summands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sunrise.arrays import Floats, Labels
from sunrise.data.batch import Batch
from sunrise.engines import array


@dataclass(frozen=True)
class Explanation:
    """What every column adds to the joint log score of every class.

    `contributions` is rows x classes x columns; with `prior` it adds up to `score`. The difference of two
    classes' contributions is the evidence a column gives for the one against the other, in log-odds.
    """

    contributions: Floats
    prior: Floats
    values: Floats
    classes: Labels
    columns: list[str]

    @classmethod
    def of(
        cls,
        batch: Batch,
        supports: Any,
        forms: Any,
        prior: Floats,
        classes: Labels,
        columns: list[str],
    ) -> Explanation:
        """Explain the rows of a batch."""
        parts, values = [], []
        for block, support, form in zip(batch.blocks, supports, forms, strict=True):
            x = array.read(block, support)
            cells = form.finite.cells(x)
            if form.impossible is not None:
                cells = array.forbid(
                    np.moveaxis(cells, 1, 2).reshape(-1, cells.shape[1]),
                    np.moveaxis(form.impossible.cells(x), 1, 2).reshape(-1, cells.shape[1]),
                ).reshape(len(x), -1, cells.shape[1])
                cells = np.moveaxis(cells, 2, 1)
            parts.append(cells)
            values.append(block.numbers())
        return cls(np.concatenate(parts, axis=2), prior, np.concatenate(values, axis=1), classes, columns)

    @property
    def score(self) -> Floats:
        """Joint log score, rows x classes."""
        return np.asarray(self.prior + self.contributions.sum(axis=2))

    def text(self, row: int = 0, top: int = 8) -> str:
        """Tell in words why a row is of its best class rather than of the next best."""
        score = self.score[row]
        order = np.argsort(-score, kind="stable")
        if len(order) == 1:
            return f"{self.classes[0]}: the only class"
        best, second = order[:2]
        evidence = self.contributions[row, best] - self.contributions[row, second]
        lines = [
            f"{self.classes[best]} rather than {self.classes[second]}: log-odds {score[best] - score[second]:+.2f}"
        ]
        lines.append(f"  {self.prior[best] - self.prior[second]:+7.2f}  class prior")
        ranked = np.argsort(-np.abs(evidence), kind="stable")
        for j in ranked[:top]:
            shown = "missing" if np.isnan(self.values[row, j]) else f"{self.values[row, j]:g}"
            lines.append(f"  {evidence[j]:+7.2f}  {self.columns[j]} = {shown}")
        if len(ranked) > top:
            lines.append(f"  {evidence[ranked[top:]].sum():+7.2f}  {len(ranked) - top} other columns")
        return "\n".join(lines)
