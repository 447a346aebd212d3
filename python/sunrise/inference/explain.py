"""Explanations: a prediction is a sum, and here are its summands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels
from sunrise.data.blocks import Batch
from sunrise.data.frame import Frame
from sunrise.data.levels import plain
from sunrise.engines import array
from sunrise.model.fitted import FittedModel
from sunrise.model.score import block_scores, row_factors


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
    values: NDArray[Any]
    classes: Labels
    columns: list[str]

    @classmethod
    def of(cls, batch: Batch, fitted: FittedModel, columns: list[str], table: Frame | None) -> Explanation:
        """Explain the rows of a batch; `table` holds the cells as people know them."""
        shape = batch.n_rows, len(fitted.classes), len(columns)
        added, counted = np.zeros(shape), np.zeros(shape)
        values = np.full((batch.n_rows, len(columns)), np.nan, dtype=float if table is None else object)
        factors = row_factors(fitted, batch)
        for k, (part, block, form) in enumerate(zip(fitted.parts, batch.blocks, fitted.forms, strict=True)):
            support, at = part.family.support, list(part.columns)
            if part.family.reader.own_block:  # a column of text has many features
                scores = block_scores(fitted, batch, k, form)
                added[:, :, at[0]] = scores * factors.get(k, np.ones(1))[:, None]
                continue
            x = array.read(block, support)
            cells = form.finite.cells(x)
            counts = np.zeros_like(cells) if form.impossible is None else form.impossible.cells(x)
            # A level of probability 0 is looked up as -inf; a column's views add up to what the column says.
            views = *cells.shape[:2], len(at), len(support.views)
            counted[:, :, at] = (counts + np.isneginf(cells)).reshape(views).sum(axis=3)
            added[:, :, at] = np.where(np.isneginf(cells), 0.0, cells).reshape(views).sum(axis=3)
            if k in factors:
                added[:, :, at] *= factors[k][:, None, None]
            if table is None:
                values[:, at] = block.numbers()
        if table is not None:
            for j, column in enumerate(map(table.read, range(len(columns)))):
                values[:, j] = [column.shown(row) for row in range(batch.n_rows)]
        return cls(added, counted, fitted.log_prior, values, fitted.classes, columns)

    @property
    def score(self) -> Floats:
        """Joint log score, rows x classes."""
        return array.forbid(self.prior + self.contributions.sum(axis=2), self.impossible.sum(axis=2))

    def __repr__(self) -> str:
        n, classes, columns = self.contributions.shape
        return f"Explanation of {n} rows, {classes} classes, {columns} columns; text(row) tells one of them"

    def text(self, row: int = 0, top: int = 8, of: Any = None, against: Any = None) -> str:
        """Tell in words why a row is of its best class rather than of the next best, or `of` one `against` another."""
        if not -len(self.contributions) <= row < len(self.contributions):
            raise IndexError(f"there is no row {row}: {len(self.contributions)} rows were explained")
        score = self.score[row]
        order = np.argsort(-score, kind="stable").tolist()
        if len(order) == 1:
            return f"{self.classes[0]}: the only class"
        if of is None and against is None and score[order[0]] == -np.inf:
            return "impossible under every class: the class prior decides"
        second = None if against is None else labels.place_of(against, self.classes)
        best = next(k for k in order if k != second) if of is None else labels.place_of(of, self.classes)
        if second is None:
            second = next(k for k in order if k != best)
        evidence = self.contributions[row, best] - self.contributions[row, second]
        with np.errstate(invalid="ignore"):
            odds = score[best] - score[second]
        lines = [f"{self.classes[best]} rather than {self.classes[second]}: log-odds {odds:+.2f}"]
        lines.append(f"  {self.prior[best] - self.prior[second]:+7.2f}  class prior")
        excess = self.impossible[row, second] - self.impossible[row, best]
        decisive = excess != 0  # it rules the other class out, or this one
        ranked = np.argsort(-np.where(decisive, np.inf, np.abs(evidence)), kind="stable")
        # What is missing and adds nothing need not be told.
        telling = [
            j for j in ranked if decisive[j] or evidence[j] != 0 or _shown(self.values[row, j]) != "missing"
        ]
        for j in telling[:top]:
            amount = f"{evidence[j]:+7.2f}"
            if decisive[j]:
                amount = "impossible" if excess[j] > 0 else "ruled out "
            lines.append(f"  {amount}  {plain(self.columns[j])} = {plain(_shown(self.values[row, j]))}")
        if rest := telling[top:]:
            lines.append(f"  {evidence[rest].sum():+7.2f}  {len(rest)} other column{'s' if rest[1:] else ''}")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)
