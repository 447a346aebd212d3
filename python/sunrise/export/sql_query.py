"""The description of a model as one SQL query."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sunrise.export.description import Description
from sunrise.export.refusals import refuse_columns
from sunrise.export.shapes import SILENT, log_softmax, refuse_unseen
from sunrise.export.sql_blocks import Lookup, Scores
from sunrise.export.sql_dialects import DIALECTS, Dialect, add

#: SQLite joins at most 64 tables.
_MOST_JOINS = 40
#: PostgreSQL raises an error for the exponential of a smaller number; the probability is 0 to all digits.
_LEAST_EXPONENT = -700.0
#: The longest name that PostgreSQL does not cut.
_LONGEST_NAME = 63


def to_sql(description: Description, dialect: str, table: str | Sequence[str], keep: Sequence[str]) -> str:
    """Return a query of the prediction and the (log-)probability of every class for each row of the table."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is {dialect!r}; it must be one of {', '.join(map(repr, DIALECTS))}.")
    sql = DIALECTS[dialect]
    _refuse(description, sql)
    parts = [table] if isinstance(table, str) else list(table)
    source = ".".join(sql.identifier(part) for part in parts)
    return _Query(sql, description, source, list(keep)).text()


def _refuse(description: Description, sql: Dialect) -> None:
    """Raise for columns that SQL cannot score."""
    names = [column["name"] for column in description["columns"]]
    blocks = description["blocks"]
    if texts := [names[b["columns"][0]] for b in blocks if b["kind"] == "text"]:
        refuse_columns(
            texts,
            "SQL",
            "SQL cannot split text into words",
            "Use to_json() or to_onnx(), or fit without the text: families={column: None}.",
        )
    refuse_unseen(description, "SQL")
    used = [names[j] for block in blocks for j in block["columns"]]
    lower = [name.lower() for name in used]
    same = [name for name in used if lower.count(name.lower()) > 1] if len(set(lower)) < len(lower) else []
    if same and sql.ignores_case:
        refuse_columns(
            same,
            "SQL",
            f"{sql.name} does not distinguish upper and lower case in the names of columns",
            "Rename one of them before fit.",
        )


class _Query:
    """Writes the stages of the query, each from the stage before."""

    def __init__(self, sql: Dialect, description: Description, source: str, keep: list[str]) -> None:
        self.sql, self.description, self.source, self.keep = sql, description, source, keep
        self.scores = Scores(sql, description)
        self.n = len(description["classes"])
        self.stages: list[str] = []
        self.last = source

    def text(self) -> str:
        """Return the whole query."""
        kept = {f"k{i}": self.sql.identifier(name) for i, name in enumerate(self.keep)}
        self.kept = list(kept)
        scores = self.scores
        self._stage("raw_cells", kept | scores.raw)
        self._stage("cells", {k: k for k in self.kept} | scores.cells)
        if scores.rows:
            self._stage("row_values", {"*": ""} | scores.rows)
        self._join_lookups()
        own = {f"s{c}": add(scores.terms[c]) for c in range(self.n)}
        has_exclusions = any(scores.excluded)
        if has_exclusions:
            zero = self.sql.number(0.0)
            own |= {f"e{c}": add(terms) if terms else zero for c, terms in enumerate(scores.excluded)}
        self._stage("scores", self._kept() | own)
        if has_exclusions:
            self._exclude()
        self._normalise()
        return self._finish()

    def _kept(self) -> dict[str, str]:
        return {name: name for name in self.kept}

    def _classes(self, pattern: str) -> list[str]:
        return [pattern.format(c=c) for c in range(self.n)]

    def _stage(self, name: str, columns: dict[str, str], joins: str = "") -> None:
        listed = ",\n    ".join(
            column if expression in ("", column) else f"{expression} AS {column}"
            for column, expression in columns.items()
        )
        listed = listed or "1 AS one"
        name = f"sunrise_{name}"  # no name of the user's tables
        self.stages.append(f"{name} AS MATERIALIZED (\n  SELECT\n    {listed}\n  FROM {self.last}{joins}\n)")
        self.last = name

    def _join_lookups(self) -> None:
        """Add the scores of look-up tables, some tables at a time."""
        lookups = self.scores.lookups
        for first in range(0, len(lookups), _MOST_JOINS):
            group = lookups[first : first + _MOST_JOINS]
            self.stages += [self._table(lookup) for lookup in group]
            sums = {}
            for c in range(self.n):
                terms = [term for lookup in group for term in lookup.terms[c]]
                if terms:
                    sums[f"j{first}_{c}"] = add(terms)
                    self.scores.terms[c].append(f"j{first}_{c}")
            joins = "".join(f"\n  LEFT JOIN {own.name} ON {own.name}.place = {own.key}" for own in group)
            self._stage(f"joined_{first}", {f"{self.last}.*": ""} | sums, joins)

    def _table(self, lookup: Lookup) -> str:
        rows = ",\n    ".join(f"({', '.join(row)})" for row in lookup.rows)
        names = ", ".join(["place", *lookup.columns])
        return f"{lookup.name}({names}) AS (\n  VALUES\n    {rows}\n)"

    def _exclude(self) -> None:
        """Give -inf to classes under which the row is impossible; the fewest impossible cells decide if below 0."""
        sql = self.sql
        least = sql.extreme(sql.least, [sql.number(0.0), *self._classes("e{c}")])
        self._stage("exclusions", {"*": "", "least": least})
        self._stage(
            "possible",
            self._kept()
            | {
                f"s{c}": f"CASE WHEN e{c} > least THEN {sql.number(-math.inf)} ELSE s{c} END"
                for c in range(self.n)
            },
        )

    def _normalise(self) -> None:
        """Subtract the largest score; a row that is impossible under every class gets the class prior."""
        sql = self.sql
        self._stage("largest", {"*": "", "top": sql.extreme(sql.greatest, self._classes("s{c}"))})
        prior = self.description["log_class_prior"]
        fallback, none = prior - prior.max(), sql.number(-math.inf)
        self._stage(
            "shifted",
            self._kept()
            | {
                f"d{c}": f"CASE WHEN top = {none} THEN {sql.number(fallback[c])} WHEN s{c} = {none} THEN {none} "
                f"ELSE s{c} - top END"
                for c in range(self.n)
            },
        )
        powers = [
            f"CASE WHEN d{c} < {sql.number(_LEAST_EXPONENT)} THEN {sql.number(0.0)} ELSE EXP(d{c}) END"
            for c in range(self.n)
        ]
        self._stage("totals", {"*": "", "log_total": f"LN({add([f'({power})' for power in powers])})"})
        logs = {f"q{c}": f"d{c} - log_total" for c in range(self.n)}
        self._stage("logs", self._kept() | logs)
        self._stage(
            "normalised",
            {"*": ""}
            | {
                f"p{c}": f"CASE WHEN q{c} < {sql.number(_LEAST_EXPONENT)} THEN {sql.number(0.0)} ELSE EXP(q{c}) END"
                for c in range(self.n)
            },
        )
        if self.description["log_prior_without_offsets"] is not None:
            self._restore_prior()

    def _restore_prior(self) -> None:
        """Give the class prior to rows that say nothing: offsets correct the evidence of columns."""
        sql = self.sql
        offsets, prior = (
            log_softmax(self.description[k]) for k in ("log_prior", "log_prior_without_offsets")
        )
        near = [
            f"ABS(p{c} - {sql.number(math.exp(offsets[c]))}) <= {sql.number(SILENT)}" for c in range(self.n)
        ]
        self._stage("silence", {"*": "", "silent": f"CASE WHEN {' AND '.join(near)} THEN 1 ELSE 0 END"})
        own = {}
        for c in range(self.n):
            own[f"q{c}"] = f"CASE WHEN silent = 1 THEN {sql.number(prior[c])} ELSE q{c} END"
            own[f"p{c}"] = f"CASE WHEN silent = 1 THEN {sql.number(math.exp(prior[c]))} ELSE p{c} END"
        self._stage("restored", self._kept() | own)

    def _finish(self) -> str:
        sql, classes = self.sql, self.description["classes"]
        self._stage("ranked", {"*": "", "best": sql.extreme(sql.greatest, self._classes("p{c}"))})
        whens = " ".join(f"WHEN p{c} THEN {sql.label(label)}" for c, label in enumerate(classes))
        names = [("prediction", f"CASE best {whens} END")]
        labels = [str(label) for label in classes]
        if max(len(f"log_probability_{label}".encode()) for label in labels) > _LONGEST_NAME or len(
            set(labels)
        ) < len(labels):
            labels = [str(c) for c in range(self.n)]
        names += [(f"probability_{label}", f"p{c}") for c, label in enumerate(labels)]
        names += [(f"log_probability_{label}", f"q{c}") for c, label in enumerate(labels)]
        kept = [f"{own} AS {sql.identifier(name)}" for own, name in zip(self.kept, self.keep, strict=True)]
        columns = ",\n  ".join([*kept, *(f"{own} AS {sql.identifier(name)}" for name, own in names)])
        stages = ",\n".join(self.stages)
        return f"WITH {stages}\nSELECT\n  {columns}\nFROM {self.last}\n"
