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
    classes' contributions is the evidence a column gives for the one against the other, in log-odds. Where a
    model is not smoothed, `impossible` counts what rules a class out, column by column.
    """

    contributions: Floats
    impossible: Floats
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
        finite, impossible, values = [], [], []
        for block, support, form in zip(batch.blocks, supports, forms, strict=True):
            x = array.read(block, support)
            cells = form.finite.cells(x)
            counts = np.zeros_like(cells) if form.impossible is None else form.impossible.cells(x)
            # A level of probability 0 is looked up as -inf.
            impossible.append(counts + np.isneginf(cells))
            finite.append(np.where(np.isneginf(cells), 0.0, cells))
            values.append(block.numbers())
        added, counted = np.concatenate(finite, axis=2), np.concatenate(impossible, axis=2)
        return cls(added, counted, prior, np.concatenate(values, axis=1), classes, columns)

    @property
    def score(self) -> Floats:
        """Joint log score, rows x classes."""
        return array.forbid(self.prior + self.contributions.sum(axis=2), self.impossible.sum(axis=2))

    def text(self, row: int = 0, top: int = 8) -> str:
        """Tell in words why a row is of its best class rather than of the next best."""
        score = self.score[row]
        order = np.argsort(-score, kind="stable")
        if len(order) == 1:
            return f"{self.classes[0]}: the only class"
        best, second = order[:2]
        evidence = self.contributions[row, best] - self.contributions[row, second]
        if score[best] == -np.inf:
            return "impossible under every class: the class prior decides"
        odds = score[best] - score[second]
        lines = [f"{self.classes[best]} rather than {self.classes[second]}: log-odds {odds:+.2f}"]
        lines.append(f"  {self.prior[best] - self.prior[second]:+7.2f}  class prior")
        decisive = self.impossible[row, second] > self.impossible[row, best]
        ranked = np.argsort(-np.where(decisive, np.inf, np.abs(evidence)), kind="stable")
        for j in ranked[:top]:
            shown = "missing" if np.isnan(self.values[row, j]) else f"{self.values[row, j]:g}"
            amount = "impossible" if decisive[j] else f"{evidence[j]:+7.2f}"
            lines.append(f"  {amount}  {self.columns[j]} = {shown}")
        if len(ranked) > top:
            lines.append(f"  {evidence[ranked[top:]].sum():+7.2f}  {len(ranked) - top} other columns")
        return "\n".join(lines)
