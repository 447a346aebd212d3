"""Explanations: the contribution of every column to the score of every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels
from sunrise.data.blocks import Batch
from sunrise.data.frame import Frame
from sunrise.data.levels import escape_newlines
from sunrise.engines import array
from sunrise.model.fitted import FittedModel
from sunrise.model.score import block_scores, row_factors, says_nothing


@dataclass(frozen=True)
class Explanation:
    """Contribution of every column to the joint log score of every class.

    `contributions` is rows x classes x columns. Its sum over the columns plus the log class prior `prior` (classes) and
    the class offsets of the calibration `offset` (rows x classes; 0 without calibration) is `score`.
    The difference between the contributions to two classes is the evidence of a column for one class against the
    other, in log-odds. `impossible` (rows x classes x columns) counts values of probability 0, which exclude a class;
    they occur only in a model without smoothing.
    """

    contributions: Floats
    impossible: Floats
    prior: Floats
    offset: Floats
    values: NDArray[Any]
    classes: Labels
    columns: list[str]

    @classmethod
    def of(
        cls,
        batch: Batch,
        model: FittedModel,
        columns: list[str],
        table: Frame | None,
        record: list[Any] | None = None,
    ) -> Explanation:
        """Return the explanation of the rows of a batch.

        `table` holds the original cells, for display; `record` holds those of a single row instead.
        """
        shape = batch.n_rows, len(model.classes), len(columns)
        contributions, impossible = np.zeros(shape), np.zeros(shape)
        values = np.full((batch.n_rows, len(columns)), np.nan, dtype=object)
        factors = row_factors(model, batch)
        for k, (part, block, form) in enumerate(zip(model.parts, batch.blocks, model.forms, strict=True)):
            support, at = part.family.support, list(part.columns)
            if part.family.reader.own_block:  # a column of text has many features
                scores = block_scores(model, batch, k, form)
                contributions[:, :, at[0]] = scores * factors.get(k, np.ones(1))[:, None]
                continue
            x = array.read(block, support)
            cells = form.finite.cells(x)
            counts = np.zeros_like(cells) if form.impossible is None else form.impossible.cells(x)
            # A level of probability 0 has the score -inf. The score of a column is the sum over its views.
            views = *cells.shape[:2], len(at), len(support.views)
            impossible[:, :, at] = (counts + np.isneginf(cells)).reshape(views).sum(axis=3)
            contributions[:, :, at] = np.where(np.isneginf(cells), 0.0, cells).reshape(views).sum(axis=3)
            if k in factors:
                contributions[:, :, at] *= factors[k][:, None, None]
        if record is not None:
            values[0] = record
        elif table is not None:
            for j, column in enumerate(map(table.read, range(len(columns)))):
                values[:, j] = [column.display_value(row) for row in range(batch.n_rows)]
        prior, calibration = model.plain_log_prior, model.calibration
        offset = np.zeros(len(prior)) if calibration is None else calibration.offsets_of(model.classes)
        silent = says_nothing(contributions.sum(axis=2))  # these rows have the class prior
        offset = np.where(silent[:, None], 0.0, offset)
        return cls(contributions, impossible, prior, offset, values, model.classes, columns)

    @property
    def score(self) -> Floats:
        """Joint log score, rows x classes; -inf for an excluded class."""
        base = self.prior + self.offset
        return array.forbid(base + self.contributions.sum(axis=2), self.impossible.sum(axis=2))

    def __repr__(self) -> str:
        n, classes, columns = self.contributions.shape
        return f"Explanation of {n} rows, {classes} classes, {columns} columns; text(row) describes one row"

    def text(self, row: int = 0, top: int = 8, of: Any = None, against: Any = None) -> str:
        """Return a text that compares two classes for a row, column by column.

        Without `of` and `against`, the best class is compared with the second best; `top` columns are listed.
        """
        if not -len(self.contributions) <= row < len(self.contributions):
            raise IndexError(f"row {row} does not exist: {len(self.contributions)} rows were explained")
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
        offset = self.offset[row, best] - self.offset[row, second]
        if self.offset[row].any():
            lines.append(f"  {offset:+7.2f}  calibration offset")
        excess = self.impossible[row, second] - self.impossible[row, best]
        decisive = excess != 0  # the column excludes one of the two classes
        ranked = np.argsort(-np.where(decisive, np.inf, np.abs(evidence)), kind="stable")
        # Missing cells without a contribution are not listed.
        listed = [
            j
            for j in ranked
            if decisive[j] or evidence[j] != 0 or _cell_text(self.values[row, j]) != "missing"
        ]
        for j in listed[:top]:
            amount = f"{evidence[j]:+7.2f}"
            if decisive[j]:
                amount = "impossible" if excess[j] > 0 else "ruled out "
            lines.append(
                f"  {amount}  " + escape_newlines(f"{self.columns[j]} = {_cell_text(self.values[row, j])}")
            )
        if rest := listed[top:]:
            lines.append(f"  {evidence[rest].sum():+7.2f}  {len(rest)} other column{'s' if rest[1:] else ''}")
        return "\n".join(lines)


def _cell_text(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)
