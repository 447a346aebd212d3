"""The summary of a fitted model, as text for `print(model)` and as HTML for notebooks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import nlargest
from html import escape
from itertools import islice
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.estimators.text_tables import STYLE, aligned, cut, number_not_shown
from sunrise.families.kept_values import KeepsValues
from sunrise.model.fitted import FittedModel
from sunrise.model.given_families import given_choices
from sunrise.selection.pairs import search_limit
from sunrise.selection.waking import reasons_asleep
from sunrise.statistics.model import Stats

#: Number of columns, of classes and of levels that a summary shows; the rest is only counted.
MOST_COLUMNS, MOST_CLASSES, MOST_LEVELS = 30, 10, 100


@dataclass(frozen=True)
class ColumnSummary:
    """One column: family, reason for the choice, number of missing cells, and parameters with one number per class."""

    name: str
    family: str | None
    reason: str
    missing: int | None
    parameters: dict[str, Floats]
    #: Score of every candidate family: mean log probability of the class, in nats per row. Empty without candidates.
    scores: dict[str, float]


@dataclass(frozen=True)
class Summary:
    """A fitted model: its classes (label, number of rows, prior) and its columns, all or the first ones."""

    title: str
    classes: list[tuple[str, int, float]]
    columns: list[ColumnSummary]
    #: Number of all columns, of those that the model uses, and of the missing cells in these.
    n_columns: int
    n_used: int
    n_missing: int
    #: Kind of calibration, for the first line; empty without calibration.
    calibration: str = ""
    #: Accuracy and log loss on rows that the model has not seen; empty if unknown.
    score: str = ""
    #: Number of rows that the model keeps, because its families are not final.
    kept: int = 0
    #: The interactions: columns, gain and weight, as text.
    interactions: list[tuple[str, str, str]] = field(default_factory=list)
    #: Number of pairs of columns that are counted and not scored.
    n_counted: int = 0
    #: Number of columns whose pairs were searched, if these were not all.
    n_searched: int | None = None

    @classmethod
    def of(
        cls,
        title: str,
        names: list[str],
        model: FittedModel,
        stats: Stats,
        score: Any = "",
        kept: int = 0,
        most: int | None = None,
    ) -> Summary:
        """Return the summary of a fitted model that keeps this number of rows.

        With `most`, only so many columns are described, and of each only the most probable levels.
        """
        rows = dict(zip(stats.classes.tolist(), stats.rows.tolist(), strict=True))
        total = int(stats.rows.sum())
        classes = [
            (str(label), rows.get(label, 0), float(p))
            for label, p in zip(model.classes.tolist(), model.class_prior, strict=True)
        ]
        schema, n_used, n_missing = model.schema, 0, 0
        columns = [
            ColumnSummary(name, None, choice.reason, None, {}, {})
            for name, choice in zip(names[:most], schema.choices, strict=False)
        ]
        for j, reason in reasons_asleep(schema, stats).items():
            if j < len(columns):
                columns[j] = replace(columns[j], reason=reason)
        alone = model.columns_alone
        described = alone.descriptions if most is None else alone.brief_descriptions(most, MOST_LEVELS)
        for part, parameters, block in zip(alone.parts, described, stats.blocks, strict=False):
            # Given parameters count a row for every level.
            missing = np.maximum(total - block.observed[:: len(part.family.fit_support.views)], 0)
            n_used, n_missing = n_used + len(part.columns), n_missing + int(missing.sum())
            keeps_values = part.family if isinstance(part.family, KeepsValues) else None
            for k, (j, own) in enumerate(zip(part.columns, parameters, strict=False)):
                reason, scores = columns[j].reason, schema.choices[j].scores or {}
                if keeps_values is not None:
                    reason += f"; {keeps_values.kept(block, k)}"
                columns[j] = ColumnSummary(names[j], part.family.name, reason, int(missing[k]), own, scores)
        text = ""
        if (calibration := model.calibration) is not None:
            text = f", calibrated by {calibration.kind}{' (stale)' if calibration.stale else ''}"
        if kept:
            given = given_choices(model.settings.families, schema.names)
            columns = [
                column
                if choice is not None
                else replace(column, reason=f"{column.reason}; so far, {kept:,} rows are kept")
                for column, choice in zip(columns, given, strict=False)
            ]
        pairs = [] if calibration is None else _pair_summaries(model)
        return cls(
            title,
            classes,
            columns,
            len(schema.names),
            n_used,
            n_missing,
            text,
            str(score),
            kept,
            pairs,
            len(schema.counted),
            search_limit(schema) if _was_searched(model) else None,
        )

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return sum(rows for _, rows, _ in self.classes)

    @property
    def head(self) -> str:
        """One line with the number of rows, columns and missing cells."""
        kept = (
            f"\n  {self.kept:,} rows are kept: the choices are final from 1,000 rows on" if self.kept else ""
        )
        more = " more" if self.interactions else ""
        counted = f", {self.n_counted:,}{more} pairs of columns counted" if self.n_counted else ""
        if self.n_searched:
            counted += f", pairs searched among the {self.n_searched} columns whose scores vary most"
        left_out = f" ({self.n_columns - self.n_used} left out)" if self.n_used < self.n_columns else ""
        return (
            f"{self.n_rows:,} rows, {self.n_columns:,} columns{left_out}, "
            f"{self.n_missing:,} of {self.n_rows * self.n_used:,} cells missing{self.calibration}{counted}{kept}"
        )

    def text(self) -> str:
        """Return the summary as text for a terminal."""
        classes = self.classes[:MOST_CLASSES]
        lines = [self.title, "  " + self.head, *([f"  {self.score}"] if self.score else []), ""]
        lines += aligned(
            [("class", "rows", "prior"), *((c, f"{n:,}", f"{p:.3f}") for c, n, p in classes)], "<>>"
        )
        lines += number_not_shown(len(self.classes) - len(classes), "classes")
        order = " | ".join(label for label, *_ in self.classes) if len(self.classes) <= 3 else "by class"
        table = [("column", "family", "missing", f"parameters ({order})", "why")]
        for column in self.columns[:MOST_COLUMNS]:
            missing = "" if column.missing is None else f"{column.missing:,}"
            parameters = format_parameters(column.parameters)
            table.append((column.name, column.family or "-", missing, parameters, column.reason))
        lines += ["", *aligned(table, "<<><<")]
        lines += number_not_shown(self.n_columns - MOST_COLUMNS, "columns")
        if self.interactions:
            shown = self.interactions[:MOST_COLUMNS]
            lines += ["", *aligned([("interaction", "gain, nats", "weight"), *shown], "<>>")]
            lines += number_not_shown(len(self.interactions) - len(shown), "interactions")
        return "\n".join(lines)

    def html(self) -> str:
        """Return the summary as HTML for a notebook; the parameters of a column can be unfolded."""
        shown = self.classes[:MOST_CLASSES]
        classes = "".join(
            f"<tr><td>{escape(c)}</td><td class=n>{n:,}</td><td class=n>{p:.3f}</td></tr>"
            for c, n, p in shown
        )
        columns = "".join(self._html_column(column) for column in self.columns[:MOST_COLUMNS])
        more = [
            *number_not_shown(len(self.classes) - len(shown), "classes"),
            *number_not_shown(self.n_columns - MOST_COLUMNS, "columns"),
        ]
        return (
            f"<div class=sunrise>{STYLE}<b>{escape(self.title)}</b><p>{escape(self.head)}</p>"
            + (f"<p>{escape(self.score)}</p>" if self.score else "")
            + f"<table><tr><th>class</th><th>rows</th><th>prior</th></tr>{classes}</table>"
            "<table><tr><th>column</th><th>family</th><th>missing</th><th>parameters</th><th>why</th></tr>"
            f"{columns}</table>{self._html_interactions()}"
            f"<p>{escape(', '.join(line.strip() for line in more))}</p></div>"
        )

    def _html_interactions(self) -> str:
        if not self.interactions:
            return ""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td class=n>{gain}</td><td class=n>{weight}</td></tr>"
            for name, gain, weight in self.interactions[:MOST_COLUMNS]
        )
        return f"<table><tr><th>interaction</th><th>gain, nats</th><th>weight</th></tr>{rows}</table>"

    def _html_column(self, column: ColumnSummary) -> str:
        missing = "" if column.missing is None else f"{column.missing:,}"
        return (
            f"<tr><td>{escape(column.name)}</td><td>{escape(column.family or '-')}</td><td class=n>{missing}</td>"
            f"<td>{self._html_parameters(column.parameters)}</td><td>{escape(column.reason)}</td></tr>"
        )

    def _html_parameters(self, parameters: dict[str, Floats]) -> str:
        if not parameters:
            return ""
        labels = [label for label, *_ in self.classes][:MOST_CLASSES]
        header = "".join(f"<th>{escape(label)}</th>" for label in labels)
        rows = ""
        for name, values in islice(parameters.items(), 100):
            cells = "".join(f"<td class=n>{_number(v)}</td>" for v in values[:MOST_CLASSES])
            rows += f"<tr><td>{escape(name)}</td>{cells}</tr>"
        short = escape(format_parameters(parameters))
        return f"<details><summary>{short}</summary><table><tr><th></th>{header}</tr>{rows}</table></details>"


def _number(value: Any) -> str:
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.2e}"


def _was_searched(model: FittedModel) -> bool:
    """True if a search for pairs of columns was part of the fit."""
    calibration = model.calibration
    is_open = model.settings.interactions in ("auto", "pairs")
    return is_open and calibration is not None and calibration.kind == "columns"


def _pair_summaries(model: FittedModel) -> list[tuple[str, str, str]]:
    """Return the interactions of a calibrated model as text: columns, gain and weight."""
    schema, weights = model.schema, model.calibration.weights  # type: ignore[union-attr]
    return [
        (own.name, "given" if own.gain is None else f"{own.gain:.1f}", f"{weight:.2f}")
        for own, weight in zip(schema.interactions, weights[len(schema.names) :], strict=True)
    ]


def format_parameters(parameters: dict[str, Floats], width: int = 44) -> str:
    """Return the first few parameters as text, with one number per class; of many, the largest."""
    ranked = list(parameters.items())
    if len(ranked) > 3:  # categories: show the most probable ones
        ranked = nlargest(8, ranked, key=lambda item: float(np.mean(item[1])))
    shown: list[str] = []
    for name, values in ranked:
        numbers = " | ".join(_number(value) for value in values[:3])
        shown.append(f"{cut(name, 16)}: {numbers}" + (" ..." if len(values) > 3 else ""))
        if len(shown) > 1 and len(", ".join(shown)) > width:
            shown.pop()
            break
    return ", ".join(shown) + (", ..." if len(shown) < len(parameters) else "")
