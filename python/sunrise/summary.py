"""A fitted model at a glance: plain data first, then the same for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from sunrise.arrays import Floats
from sunrise.derived import Derived
from sunrise.stats import Stats

#: How much of a large model is shown.
MOST_COLUMNS, MOST_CLASSES, MOST_PARAMETERS = 30, 10, 3


@dataclass(frozen=True)
class ColumnSummary:
    """A column: its family and why, how many cells are missing, and parameters with a number per class."""

    name: str
    family: str | None
    reason: str
    missing: int | None
    parameters: dict[str, Floats]


@dataclass(frozen=True)
class Summary:
    """A model: its classes, each with rows and prior, and its columns."""

    title: str
    classes: list[tuple[str, int, float]]
    columns: list[ColumnSummary]

    @classmethod
    def of(cls, title: str, names: list[str], fitted: Derived, stats: Stats) -> Summary:
        """Sum up a fitted model."""
        rows = dict(zip(stats.classes.tolist(), stats.rows.tolist(), strict=True))
        total = int(stats.rows.sum())
        classes = [
            (str(label), rows.get(label, 0), float(p))
            for label, p in zip(fitted.classes.tolist(), fitted.class_prior, strict=True)
        ]
        columns = [
            ColumnSummary(name, None, choice.reason, None, {})
            for name, choice in zip(names, fitted.schema.choices, strict=True)
        ]
        for part, params, block in zip(fitted.parts, fitted.params, stats.blocks, strict=True):
            observed = block.observed[:: len(part.family.support.views)]
            described = part.family.described(params)
            for k, j in enumerate(part.columns):
                missing = total - int(observed[k])
                reason = fitted.schema.choices[j].reason
                columns[j] = ColumnSummary(names[j], part.family.name, reason, missing, described[k])
        return cls(title, classes, columns)

    @property
    def n_rows(self) -> int:
        """Rows the model has seen."""
        return sum(rows for _, rows, _ in self.classes)

    @property
    def head(self) -> str:
        """Rows, columns and missing cells in a line."""
        used = [column for column in self.columns if column.missing is not None]
        missing = sum(column.missing or 0 for column in used)
        left_out = f" ({len(self.columns) - len(used)} left out)" if len(used) < len(self.columns) else ""
        return (
            f"{self.n_rows:,} rows, {len(self.columns):,} columns{left_out}, "
            f"{missing:,} of {self.n_rows * len(used):,} cells missing"
        )

    def text(self) -> str:
        """For a terminal."""
        few = self.classes[:MOST_CLASSES]
        lines = [self.title, "  " + self.head, ""]
        lines += _aligned(
            [("class", "rows", "prior"), *((c, f"{n:,}", f"{p:.3f}") for c, n, p in few)], "<>>"
        )
        lines += _rest(len(self.classes) - len(few), "classes")
        given = " | ".join(label for label, *_ in self.classes) if len(self.classes) <= 3 else "by class"
        shown = [("column", "family", "missing", f"parameters ({given})", "why")]
        for column in self.columns[:MOST_COLUMNS]:
            missing = "" if column.missing is None else f"{column.missing:,}"
            shown.append((column.name, column.family or "-", missing, told(column.parameters), column.reason))
        lines += ["", *_aligned(shown, "<<><<"), *_rest(len(self.columns) - MOST_COLUMNS, "columns")]
        return "\n".join(lines)

    def html(self) -> str:
        """For a notebook: the same, and behind every column all of its parameters."""
        few = self.classes[:MOST_CLASSES]
        classes = "".join(
            f"<tr><td>{escape(c)}</td><td class=n>{n:,}</td><td class=n>{p:.3f}</td></tr>" for c, n, p in few
        )
        columns = "".join(self._html_column(column) for column in self.columns[:MOST_COLUMNS])
        more = [
            *_rest(len(self.classes) - len(few), "classes"),
            *_rest(len(self.columns) - MOST_COLUMNS, "columns"),
        ]
        return (
            f"<div class=sunrise>{_STYLE}<b>{escape(self.title)}</b><p>{escape(self.head)}</p>"
            f"<table><tr><th>class</th><th>rows</th><th>prior</th></tr>{classes}</table>"
            "<table><tr><th>column</th><th>family</th><th>missing</th><th>parameters</th><th>why</th></tr>"
            f"{columns}</table><p>{escape(', '.join(line.strip() for line in more))}</p></div>"
        )

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
        for name, values in list(parameters.items())[:100]:
            cells = "".join(f"<td class=n>{_number(v)}</td>" for v in values[:MOST_CLASSES])
            rows += f"<tr><td>{escape(name)}</td>{cells}</tr>"
        short = escape(told(parameters))
        return f"<details><summary>{short}</summary><table><tr><th></th>{header}</tr>{rows}</table></details>"


_STYLE = (
    "<style>.sunrise{font:13px sans-serif}.sunrise p{margin:.3em 0;opacity:.75}.sunrise table{border-collapse:collapse;"
    "margin:.4em 0}.sunrise th,.sunrise td{text-align:left;vertical-align:top;padding:.15em .7em;"
    "border-bottom:1px solid #8884}.sunrise .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".sunrise summary{cursor:pointer}</style>"
)


def _number(value: Any) -> str:
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.2e}"


def told(parameters: dict[str, Floats]) -> str:
    """The first few parameters, the largest where there are many, each with its number for every class."""
    ranked = list(parameters.items())
    if len(ranked) > MOST_PARAMETERS:  # levels: the most probable ones
        ranked.sort(key=lambda item: -float(np.mean(item[1])))
    shown = []
    for name, values in ranked[:MOST_PARAMETERS]:
        numbers = " | ".join(_number(value) for value in values[:3])
        shown.append(f"{_cut(name, 16)}: {numbers}" + (" ..." if len(values) > 3 else ""))
    return ", ".join(shown) + (", ..." if len(ranked) > MOST_PARAMETERS else "")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _aligned(rows: Iterable[tuple[str, ...]], sides: str) -> list[str]:
    """Rows of a table with its columns under each other."""
    cut = [tuple(_cut(cell, 52) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    cells = [[f"{cell:{side}{w}}" for cell, side, w in zip(row, sides, widths, strict=True)] for row in cut]
    return ["  " + "  ".join(row).rstrip() for row in cells]


def _rest(number: int, what: str) -> list[str]:
    return [f"  ... and {number:,} more {what}"] if number > 0 else []
