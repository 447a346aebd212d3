"""SQL dialects: how names, strings and numbers are written, so that no name and no value can break a query."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dialect:
    """The words of a database."""

    name: str
    double: str
    text: str
    greatest: str
    least: str
    infinity: str
    #: The literal of NaN; None if the database stores NaN as NULL.
    nan: str | None
    #: Prefix of a number literal, where a plain number would be a decimal.
    typed: str = ""
    #: A function of two lists that adds up their products; None if the database has none.
    dot_product: str | None = None
    #: Larger numbers count as missing: where their squares would be an error, a row must not end the query.
    largest: float = sys.float_info.max
    #: True if a boolean can be cast to a double.
    casts_booleans: bool = True
    #: True if a cell of any column may be text, which a cast to a number would read as 0.
    has_untyped_cells: bool = False
    #: Function of the type of a value, and its results for floats.
    type_of: str = "TYPEOF"
    float_types: str = "'DOUBLE', 'FLOAT', 'real'"
    #: True if quoted names that differ only by upper and lower case are the same.
    ignores_case: bool = True
    #: The type of whole numbers up to 2^63.
    whole: str = "BIGINT"
    true: str = "TRUE"
    false: str = "FALSE"

    def number(self, x: float) -> str:
        """Return a literal of a double with all its digits.

        >>> DIALECTS["duckdb"].number(0.1), DIALECTS["postgresql"].number(-2.0)
        ('0.1e0', "float8 '-2.0'")
        """
        x = float(x)
        if math.isinf(x):
            return self.infinity if x > 0 else f"(-{self.infinity})"
        digits = repr(x)
        if self.typed:
            return f"{self.typed} '{digits}'"
        digits = digits if "e" in digits else f"{digits}e0"
        return f"({digits})" if x < 0 else digits

    def string(self, text: str) -> str:
        """Return a literal of a string.

        >>> DIALECTS["sqlite"].string("it's")
        "'it''s'"
        """
        if "\0" in text:
            raise ValueError(
                f"{text!r} has a null character, which no SQL text can hold. Rename the level or label before fit."
            )
        quoted = text.replace("'", "''")
        return f"'{quoted}'"

    def identifier(self, name: str) -> str:
        """Return a quoted name of a table or column.

        >>> DIALECTS["sqlite"].identifier("two words")
        '"two words"'
        """
        if "\0" in name:
            raise ValueError(
                f"{name!r} has a null character, which no SQL name can hold. Rename the column before fit."
            )
        quoted = name.replace('"', '""')
        return f'"{quoted}"'

    def label(self, label: Any) -> str:
        """Return a literal of a class label."""
        if isinstance(label, bool):
            return self.true if label else self.false
        if isinstance(label, int):
            return str(label)
        return self.number(label) if isinstance(label, float) else self.string(str(label))

    def cast_number(self, column: str, may_be_boolean: bool) -> str:
        """Return a column as a double; NaN becomes NULL, true 1 and false 0."""
        cast = f"CAST({column} AS {self.double})"
        text, one, zero = f"LOWER(CAST({column} AS {self.text}))", self.number(1.0), self.number(0.0)
        if self.has_untyped_cells:
            # The comparison reads text as a number only if all of it is one.
            cast = f"WHEN {column} = CAST({column} AS NUMERIC) THEN {cast}"
            if may_be_boolean:
                cast += f" WHEN {text} = 'true' THEN {one} WHEN {text} = 'false' THEN {zero}"
            return f"CASE {cast} END"
        if may_be_boolean and not self.casts_booleans:
            number = f"CAST({text} AS {self.double})"
            cast = f"CASE {text} WHEN 'true' THEN {one} WHEN 'false' THEN {zero} ELSE {number} END"
        return cast if self.nan is None else f"NULLIF({cast}, {self.nan})"

    def cast_text(self, column: str, has_numbers: bool) -> str:
        """Return a column as text; with `has_numbers`, the float 1.0 becomes 1, the name of its level, and NaN NULL."""
        text = f"CAST({column} AS {self.text})"
        if not has_numbers:
            return text
        is_float = self._is_float(column)
        whole = f"WHEN {is_float} AND {text} LIKE '%.0' THEN SUBSTR({text}, 1, LENGTH({text}) - 2)"
        missing = f"WHEN {is_float} AND LOWER({text}) = 'nan' THEN NULL"
        return f"CASE {whole} {missing} ELSE {text} END"

    def cast_whole(self, column: str) -> str:
        """Return a column of whole numbers as text with all digits, whether the table has integers or floats."""
        # The text of a large float would have an exponent. Cells that are not floats do not reach the inner casts.
        x = f"CAST({column} AS {self.double})"
        is_large = (
            f"ABS({x}) >= {self.number(1e15)} AND ABS({x}) < {self.number(2.0**63)} AND {x} = FLOOR({x})"
        )
        digits = f"CAST(CAST({x} AS {self.whole}) AS {self.text})"
        float_text = f"CASE WHEN {is_large} THEN {digits} ELSE {self.cast_text(column, True)} END"
        return f"CASE WHEN {self._is_float(column)} THEN {float_text} ELSE CAST({column} AS {self.text}) END"

    def _is_float(self, column: str) -> str:
        """Return the condition that a cell is a float."""
        type_of = f"{self.type_of}({column})"
        type_of = type_of if self.type_of == "TYPEOF" else f"CAST({type_of} AS text)"
        return f"{type_of} IN ({self.float_types})"

    def extreme(self, function: str, terms: Sequence[str]) -> str:
        """Return the greatest or least of terms; databases limit the number of arguments."""
        terms = list(terms)
        if len(terms) == 1:
            return terms[0]
        if len(terms) > 100:
            step = -(-len(terms) // 100)
            terms = [self.extreme(function, terms[i : i + step]) for i in range(0, len(terms), step)]
        return f"{function}({', '.join(terms)})"


DIALECTS = {
    "duckdb": Dialect(
        "duckdb",
        "DOUBLE",
        "VARCHAR",
        "GREATEST",
        "LEAST",
        "CAST('inf' AS DOUBLE)",
        "CAST('nan' AS DOUBLE)",
        dot_product="LIST_DOT_PRODUCT",
    ),
    "postgresql": Dialect(
        "postgresql",
        "double precision",
        "text",
        "GREATEST",
        "LEAST",
        "float8 'Infinity'",
        "float8 'NaN'",
        typed="float8",
        largest=1e140,
        casts_booleans=False,
        type_of="pg_typeof",
        float_types="'double precision', 'real'",
        ignores_case=False,
    ),
    "sqlite": Dialect(
        "sqlite",
        "REAL",
        "TEXT",
        "MAX",
        "MIN",
        "9e999",
        None,
        has_untyped_cells=True,
        whole="INTEGER",
        true="1",
        false="0",
    ),
}


def add(terms: Sequence[str]) -> str:
    """Return the sum of terms as a balanced tree, because databases limit the depth of an expression.

    >>> add(["a", "b", "c"])
    '(a + (b + c))'
    """
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return f"({add(terms[:middle])} + {add(terms[middle:])})"
