"""The description of a model as one SQL query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from sunrise.export.description import Description
from sunrise.export.refusals import refuse_column, refuse_columns
from sunrise.export.shapes import SILENT, labels_of_one_type, level_keys, log_softmax, refuse_unseen
from sunrise.export.sql_blocks import Scores
from sunrise.export.sql_derived import derived_cell
from sunrise.export.sql_dialects import DIALECTS, Dialect, add
from sunrise.export.sql_tables import Lookup

#: SQLite joins at most 64 tables.
_MOST_JOINS = 40
#: PostgreSQL raises an error for the exponential of a smaller number; the probability is 0 to all digits.
_LEAST_EXPONENT = -700.0
#: The longest name that PostgreSQL does not cut.
_LONGEST_NAME = 63
#: The column with the position of a row in the table, in queries with joins.
_POSITION = "row_position"


def to_sql(description: Description, dialect: str, table: str | Sequence[str], keep: Sequence[str]) -> str:
    """Return a query of the prediction and the (log-)probability of every class for each row of the table."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is {dialect!r}; it must be one of {', '.join(map(repr, DIALECTS))}.")
    sql = DIALECTS[dialect]
    _refuse(description, sql)
    parts = [table] if isinstance(table, str) else list(table)
    if not parts or "" in parts:
        raise ValueError(
            f"table is {table!r}; it must be the name of a table, or its parts: (schema, table)."
        )
    source = ".".join(sql.identifier(part) for part in parts)
    return _Query(sql, description, source, list(keep)).text()


def _refuse(description: Description, sql: Dialect) -> None:
    """Raise for columns that SQL cannot score."""
    columns = description["columns"]
    names = [column["name"] for column in columns]
    blocks = description["blocks"]
    if texts := [names[b["columns"][0]] for b in blocks if b["kind"] == "text"]:
        refuse_columns(
            texts,
            "SQL",
            "SQL cannot split text into words",
            "Use to_json() or to_onnx(), or fit without the text: families={column: None}.",
        )
    refuse_unseen(description, "SQL")
    used = [names[j] for j in {j for block in blocks for j in block["columns"]}]
    remedy = "Rename one of them before fit."
    if same := _repeated(used):
        refuse_columns(same, "SQL", "a table of a database cannot have two columns of one name", remedy)
    if sql.ignores_case and (same := _repeated(used, str.lower)):
        problem = f"{sql.name} does not distinguish upper and lower case in the names of columns"
        refuse_columns(same, "SQL", problem, remedy)
    for block in blocks:
        (j, *_), levels = block["columns"], block.get("levels", [])
        is_number = columns[j]["kind"] == "number"
        if is_number and level_keys(levels, "number") is None and not all(map(_is_integer, levels)):
            refuse_column(
                names[j],
                "it has levels from 2^53 on beside fractions or levels from 2^63 on, which SQL cannot compare exactly",
                "Convert the column to strings before fit.",
            )


def _repeated(names: list[str], key: Callable[[str], str] = str) -> list[str]:
    """Return the names that have the key of another name."""
    counts = Counter(map(key, names))
    return [name for name in names if counts[key(name)] > 1]


def _is_integer(level: str) -> bool:
    """True if a level is the name of a 64-bit integer."""
    return level.removeprefix("-").isdecimal() and -(2**63) <= int(level) < 2**63


def _output_names(labels: list[str], ignores_case: bool) -> list[str]:
    """Return distinct endings of the output columns; labels that differ by case get a number: yes, YES_1."""
    key = str.lower if ignores_case else str
    seen: Counter[str] = Counter()
    names = []
    for label in labels:
        names.append(f"{label}_{seen[key(label)]}" if seen[key(label)] else label)
        seen[key(label)] += 1
    is_long = max(len(f"log_probability_{name}".encode()) for name in names) > _LONGEST_NAME
    return [str(c) for c in range(len(names))] if is_long or _repeated(names, key) else names


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
        scores = self.scores
        if scores.lookups:  # joins return rows in any order
            kept[_POSITION] = "ROW_NUMBER() OVER ()"
        self.kept = list(kept)
        self._derive()
        self._stage("raw_cells", kept | scores.raw)
        self._stage("cells", self._kept() | scores.cells)
        if scores.rows:
            self._stage("row_values", {"*": ""} | scores.rows)
        for at, columns in enumerate(scores.later):
            self._stage(f"row_values_{at + 1}", {"*": ""} | columns)
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

    def _derive(self) -> None:
        """Make the columns of the model from those of the table, where they are not the same."""
        if not (rules := self.description.get("derived")):
            return
        sql, names = self.sql, [column["name"] for column in self.description["columns"]]
        used = [names[j] for block in self.description["blocks"] for j in block["columns"]]
        columns = {sql.identifier(name): sql.identifier(name) for name in dict.fromkeys([*used, *self.keep])}
        for rule in rules:
            if rule["column"] in used:
                columns[sql.identifier(rule["column"])] = derived_cell(sql, rule)
        self._stage("derived", columns)

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
        sql, classes = self.sql, labels_of_one_type(self.description["classes"])
        self._stage("ranked", {"*": "", "best": sql.extreme(sql.greatest, self._classes("p{c}"))})
        whens = " ".join(f"WHEN p{c} THEN {sql.label(label)}" for c, label in enumerate(classes))
        names = [("prediction", f"CASE best {whens} END")]
        labels = _output_names([str(label) for label in classes], sql.ignores_case)
        names += [(f"probability_{label}", f"p{c}") for c, label in enumerate(labels)]
        names += [(f"log_probability_{label}", f"q{c}") for c, label in enumerate(labels)]
        kept = [f"k{i} AS {sql.identifier(name)}" for i, name in enumerate(self.keep)]
        columns = ",\n  ".join([*kept, *(f"{own} AS {sql.identifier(name)}" for name, own in names)])
        stages = ",\n".join(self.stages)
        order = f"ORDER BY {self.last}.{_POSITION}\n" if _POSITION in self.kept else ""
        return f"WITH {stages}\nSELECT\n  {columns}\nFROM {self.last}\n{order}"
