"""Derived columns in SQL: numbers written as text, by the rules of a model's schema."""

from __future__ import annotations

from typing import Any

from sunrise.export.sql_dialects import Dialect


def derived_cell(sql: Dialect, rule: dict[str, Any]) -> str:
    """Return the expression of a column of the model from the column of the table that it is derived from.

    >>> from sunrise.export.sql_dialects import DIALECTS
    >>> print(derived_cell(DIALECTS["duckdb"], {"from": "age", "as": "number", "missing": ["?"]}))
    CASE WHEN TRIM(CAST("age" AS VARCHAR)) IN ('?') THEN NULL ELSE CAST("age" AS DOUBLE) END
    """
    column = sql.identifier(rule["from"])
    marks = ", ".join(sql.string(mark) for mark in rule["missing"])
    return (
        f"CASE WHEN TRIM(CAST({column} AS {sql.text})) IN ({marks}) THEN NULL "
        f"ELSE CAST({column} AS {sql.double}) END"
    )
