"""Summary of a fitted model, as text for `print(model)` and as HTML for notebooks, and the fitted attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from heapq import nlargest
from html import escape
from itertools import islice
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.data import write
from sunrise.data.levels import escape_newlines
from sunrise.estimators.base import Estimator
from sunrise.families.base import Family
from sunrise.families.capabilities import KeepsValues
from sunrise.inference.posteriors import ByColumn, log_evidence_of
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import given_choices
from sunrise.numerics.evidence import Chosen, Evidence
from sunrise.selection.waking import reasons_asleep
from sunrise.statistics.model import Stats

#: Number of columns and of classes that a summary shows; the rest is only counted.
MOST_COLUMNS, MOST_CLASSES = 30, 10


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
    """A fitted model: its classes (label, number of rows, prior) and its columns."""

    title: str
    classes: list[tuple[str, int, float]]
    columns: list[ColumnSummary]
    #: Kind of calibration, for the first line; empty without calibration.
    calibration: str = ""
    #: Accuracy and log loss on rows that the model has not seen; empty if unknown.
    score: str = ""
    #: Number of rows that the model keeps, because its families are not final.
    kept: int = 0

    @classmethod
    def of(
        cls, title: str, names: list[str], model: FittedModel, stats: Stats, score: Any = "", kept: int = 0
    ) -> Summary:
        """Return the summary of a fitted model that keeps this number of rows."""
        rows = dict(zip(stats.classes.tolist(), stats.rows.tolist(), strict=True))
        total = int(stats.rows.sum())
        classes = [
            (str(label), rows.get(label, 0), float(p))
            for label, p in zip(model.classes.tolist(), model.class_prior, strict=True)
        ]
        columns = [
            ColumnSummary(name, None, choice.reason, None, {}, {})
            for name, choice in zip(names, model.schema.choices, strict=True)
        ]
        for j, reason in reasons_asleep(model.schema, stats).items():
            columns[j] = replace(columns[j], reason=reason)
        for part, described, block in zip(model.parts, model.descriptions, stats.blocks, strict=True):
            observed = block.observed[:: len(part.family.fit_support.views)]
            for k, j in enumerate(part.columns):
                missing = max(0, total - int(observed[k]))  # given parameters count a row for every level
                choice, reason = model.schema.choices[j], model.schema.choices[j].reason
                if isinstance(part.family, KeepsValues):
                    reason += f"; {part.family.kept(block, k)}"
                columns[j] = ColumnSummary(
                    names[j], part.family.name, reason, missing, described[k], choice.scores or {}
                )
        text = ""
        if (calibration := model.calibration) is not None:
            text = f", calibrated by {calibration.kind}{' (stale)' if calibration.stale else ''}"
        if kept:
            for j, given in enumerate(given_choices(model.settings.families, model.schema.names)):
                if given is None:
                    columns[j] = replace(
                        columns[j], reason=f"{columns[j].reason}; so far, {kept:,} rows are kept"
                    )
        return cls(title, classes, columns, text, str(score), kept)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return sum(rows for _, rows, _ in self.classes)

    @property
    def head(self) -> str:
        """One line with the number of rows, columns and missing cells."""
        used = [column for column in self.columns if column.missing is not None]
        missing = sum(column.missing or 0 for column in used)
        kept = (
            f"\n  {self.kept:,} rows are kept: the choices are final from 1,000 rows on" if self.kept else ""
        )
        left_out = f" ({len(self.columns) - len(used)} left out)" if len(used) < len(self.columns) else ""
        return (
            f"{self.n_rows:,} rows, {len(self.columns):,} columns{left_out}, "
            f"{missing:,} of {self.n_rows * len(used):,} cells missing{self.calibration}{kept}"
        )

    def text(self) -> str:
        """Return the summary as text for a terminal."""
        classes = self.classes[:MOST_CLASSES]
        lines = [self.title, "  " + self.head, *([f"  {self.score}"] if self.score else []), ""]
        lines += _aligned(
            [("class", "rows", "prior"), *((c, f"{n:,}", f"{p:.3f}") for c, n, p in classes)], "<>>"
        )
        lines += _number_not_shown(len(self.classes) - len(classes), "classes")
        order = " | ".join(label for label, *_ in self.classes) if len(self.classes) <= 3 else "by class"
        table = [("column", "family", "missing", f"parameters ({order})", "why")]
        for column in self.columns[:MOST_COLUMNS]:
            missing = "" if column.missing is None else f"{column.missing:,}"
            parameters = format_parameters(column.parameters)
            table.append((column.name, column.family or "-", missing, parameters, column.reason))
        lines += ["", *_aligned(table, "<<><<")]
        lines += _number_not_shown(len(self.columns) - MOST_COLUMNS, "columns")
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
            *_number_not_shown(len(self.classes) - len(shown), "classes"),
            *_number_not_shown(len(self.columns) - MOST_COLUMNS, "columns"),
        ]
        return (
            f"<div class=sunrise>{_STYLE}<b>{escape(self.title)}</b><p>{escape(self.head)}</p>"
            + (f"<p>{escape(self.score)}</p>" if self.score else "")
            + f"<table><tr><th>class</th><th>rows</th><th>prior</th></tr>{classes}</table>"
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
        for name, values in islice(parameters.items(), 100):
            cells = "".join(f"<td class=n>{_number(v)}</td>" for v in values[:MOST_CLASSES])
            rows += f"<tr><td>{escape(name)}</td>{cells}</tr>"
        short = escape(format_parameters(parameters))
        return f"<details><summary>{short}</summary><table><tr><th></th>{header}</tr>{rows}</table></details>"


_STYLE = (
    "<style>.sunrise{font:13px sans-serif}.sunrise p{margin:.3em 0;opacity:.75}.sunrise table{border-collapse:collapse;"
    "margin:.4em 0}.sunrise th,.sunrise td{text-align:left;vertical-align:top;padding:.15em .7em;"
    "border-bottom:1px solid #8884}.sunrise .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".sunrise summary{cursor:pointer}</style>"
)


def _number(value: Any) -> str:
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.2e}"


def format_parameters(parameters: dict[str, Floats], width: int = 44) -> str:
    """Return the first few parameters as text, with one number per class; of many, the largest."""
    ranked = list(parameters.items())
    if len(ranked) > 3:  # categories: show the most probable ones
        ranked = nlargest(8, ranked, key=lambda item: float(np.mean(item[1])))
    shown: list[str] = []
    for name, values in ranked:
        numbers = " | ".join(_number(value) for value in values[:3])
        shown.append(f"{_cut(name, 16)}: {numbers}" + (" ..." if len(values) > 3 else ""))
        if len(shown) > 1 and len(", ".join(shown)) > width:
            shown.pop()
            break
    return ", ".join(shown) + (", ..." if len(shown) < len(parameters) else "")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _aligned(rows: Iterable[tuple[str, ...]], sides: str) -> list[str]:
    """Return the lines of a table with aligned columns; `sides` has < or > for each column."""
    cut = [tuple(_cut(escape_newlines(cell), 70) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    cells = [[f"{cell:{side}{w}}" for cell, side, w in zip(row, sides, widths, strict=True)] for row in cut]
    return ["  " + "  ".join(row).rstrip() for row in cells]


def _number_not_shown(number: int, noun: str) -> list[str]:
    return [f"  ... and {number:,} more {noun}"] if number > 0 else []


class SummaryMixin(Estimator):
    """Fitted attributes that describe the columns, and the display of a fitted model."""

    stats_: Stats
    _columns: Callable[[], list[str]]

    @property
    def families_(self) -> Any:
        """The family of every column, the reason for the choice, its parameters, and the scores of the candidates.

        The score of a candidate family is the mean leave-one-out log probability of the class, given this column only.
        The value is a frame of the library that the model was fitted with, or a dict by column if it was not fitted to
        a frame.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"]}, ["a", "b", "a"])
        >>> model.families_["hair"]["family"], model.families_["hair"]["reason"]
        ('categorical', '2 categories')
        """
        self._fitted_model("families_")
        columns = self._summary().columns
        if self._model.schema.library is None:
            return {
                c.name: {
                    "family": c.family,
                    "reason": c.reason,
                    "parameters": c.parameters,
                    "scores": c.scores,
                }
                for c in columns
            }
        return write.frame(
            self._model.schema.library,
            {
                "column": [c.name for c in columns],
                "family": [c.family for c in columns],
                "reason": [c.reason for c in columns],
                "parameters": [format_parameters(c.parameters) for c in columns],
                "scores": [
                    ", ".join(f"{name} {score:.4f}" for name, score in c.scores.items()) for c in columns
                ],
            },
        )

    @property
    def fixed_families_(self) -> dict[Any, Family | None]:
        """The chosen families as a dict, to be passed to another model: `NaiveBayes(model.fixed_families_)`.

        Columns that form a block have a tuple as their key. The value None marks a column that the model does not use.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"], "day": [1, 1, 1]}, ["a", "b", "a"])
        >>> model.fixed_families_["day"] is None, model.fixed_families_["hair"].name
        (True, 'categorical')
        """
        self._fitted_model("fixed_families_")
        return self._model.schema.families

    @property
    def parameters_(self) -> dict[str, dict[str, Floats]]:
        """The parameters of every column, each an array with one number per class in the order of `classes_`.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"]}, ["a", "b", "a"])
        >>> model.parameters_["hair"]["long"]
        array([0.625     , 0.27777778])
        """
        self._fitted_model("parameters_")
        names = self._columns()
        parameters: dict[str, dict[str, Floats]] = {}
        for part, described in zip(self._model.parts, self._model.descriptions, strict=True):
            parameters |= {names[j]: column for j, column in zip(part.columns, described, strict=True)}
        return parameters

    @property
    def prior_(self) -> ByColumn:
        """The prior distribution of the parameters of every column, given or chosen from the data.

        The prior of one model can be passed to another: `NaiveBayes({"x": sunrise.Gaussian(prior=model.prior_["x"])})`.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes("gaussian").fit({"x": [0.0, 2.0, 4.0, 6.0]}, [0, 0, 1, 1])
        >>> float(model.prior_["x"].m), float(model.prior_["x"].kappa)
        (3.0, 0.2)
        """
        self._fitted_model("prior_")
        return ByColumn(self._model, self._columns(), "prior")

    @property
    def posterior_(self) -> ByColumn:
        """The conjugate posterior distribution of the parameters of every column, with one entry per class.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes("bernoulli").fit({"heads": [1, 1, 0, 1]}, ["coin"] * 4)
        >>> coin = model.posterior_["heads"]
        >>> coin.mean.round(3), [float(end[0].round(3)) for end in coin.interval(0.9)]
        (array([0.667]), [0.343, 0.924])
        """
        self._fitted_model("posterior_")
        return ByColumn(self._model, self._columns(), "posterior")

    @property
    def log_evidence_(self) -> Evidence:
        """Log marginal likelihood: log probability of labels and cells with all parameters integrated out.

        The value is a float with two attributes. `columns` has one number per class for every column. `classes` is the
        part of the labels, under a uniform prior of the class probabilities; it is 0 if the class prior was given. The
        value is NaN if a column has no proper prior or no closed form. Use it to compare priors of the same family, not
        to compare families.

        >>> from fractions import Fraction
        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes("bernoulli").fit({"heads": [1, 0, 0, 1, 1]}, ["coin"] * 5)
        >>> Fraction(float(np.exp(model.log_evidence_))).limit_denominator(100)
        Fraction(1, 60)
        """
        self._fitted_model("log_evidence_")
        model, names = self._model, self._columns()
        columns: dict[str | tuple[str, ...], Floats] = {}
        for part, block in zip(model.parts, model.blocks, strict=True):
            evidence = log_evidence_of(part.family, block, model.stats.weight)
            block_names = tuple(names[j] for j in part.columns)
            if part.family.joint:
                columns[block_names] = evidence[:, 0]
            else:
                columns |= dict(zip(block_names, evidence.T, strict=True))
        return Evidence(model.log_evidence_of_classes, columns)

    @property
    def chosen_(self) -> dict[tuple[str, ...], Chosen]:
        """Prior strengths chosen by maximum marginal likelihood (`"evidence"`), in a dict by tuples of columns.

        `value` is the alpha, or the number of rows that the prior is worth. `at_boundary` is True if the marginal
        likelihood still increases towards 0 or infinity.

        >>> from sunrise import Bernoulli, NaiveBayes
        >>> cells = {"a": [1, 0, 0, 1, 1, 1], "b": [0, 0, 1, 0, 0, 0]}
        >>> model = NaiveBayes(Bernoulli("evidence")).fit(cells, list("xxxyyy"))
        >>> alpha, at_boundary = model.chosen_["a", "b"]
        >>> round(alpha, 3), at_boundary
        (1.0, False)
        """
        self._fitted_model("chosen_")
        names = self._columns()
        return {
            tuple(names[j] for j in part.columns): part.family.chosen
            for part in self._model.parts
            if part.family.chosen is not None
        }

    @property
    def convergence_(self) -> Any:
        """Convergence of iteratively estimated parameters, in a dict by tuples of columns.

        >>> from sunrise import NaiveBayes
        >>> counts = {"a": [5, 0, 3, 1], "b": [0, 4, 3, 0], "c": [1, 2, 0, 6]}
        >>> model = NaiveBayes("dirichlet_multinomial").fit(counts, ["x"] * 4)
        >>> model.convergence_["a", "b", "c"].converged
        array([ True])
        """
        self._fitted_model("convergence_")
        names = self._columns()
        return {
            tuple(names[j] for j in part.columns): convergence
            for part in self._model.parts
            if (convergence := getattr(part.family, "convergence", None)) is not None
        }

    def _summary(self) -> Summary:
        kept, score = self.__dict__.get("_kept"), self.__dict__.get("loo_score_", "")
        n_kept = 0 if kept is None else kept.n_rows
        return Summary.of(super().__repr__(), self._columns(), self._model, self.stats_, score, n_kept)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the summary of a fitted model; before fit, the constructor call."""
        return self._summary().text() if "_model" in self.__dict__ else str(super().__repr__(N_CHAR_MAX))

    def _repr_html_inner(self) -> str:
        return self._summary().html() if "_model" in self.__dict__ else str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "_model" in self.__dict__ and "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
