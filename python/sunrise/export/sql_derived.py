"""Derived columns in SQL: numbers written as text and parts of dates, by the rules of a model's schema."""

from __future__ import annotations

from typing import Any

from sunrise.data.dates import WEEKDAYS
from sunrise.export.sql_dialects import Dialect


def derived_cell(sql: Dialect, rule: dict[str, Any]) -> str:
    """Return the expression of a column of the model from the column of the table that it is derived from.

    >>> from sunrise.export.sql_dialects import DIALECTS
    >>> print(derived_cell(DIALECTS["duckdb"], {"from": "age", "as": "number", "missing": ["?"]}))
    CASE WHEN TRIM(CAST("age" AS VARCHAR)) IN ('?') THEN NULL ELSE CAST("age" AS DOUBLE) END
    """
    column = sql.identifier(rule["from"])
    if rule["as"] != "number":
        return _part(sql, column, rule)
    marks = ", ".join(sql.string(mark) for mark in rule["missing"])
    return (
        f"CASE WHEN TRIM(CAST({column} AS {sql.text})) IN ({marks}) THEN NULL "
        f"ELSE CAST({column} AS {sql.double}) END"
    )


def _part(sql: Dialect, column: str, rule: dict[str, Any]) -> str:
    """Return the expression of a part of a date; SQLite keeps dates as text."""
    reference, names = sql.string(rule["reference"]), [sql.string(name) for name in WEEKDAYS]
    if sql.name == "sqlite":
        if rule["as"] == "days":
            return f"JULIANDAY({column}) - JULIANDAY({reference})"
        if rule["as"] == "month":
            return f"CAST(CAST(STRFTIME('%m', {column}) AS INTEGER) AS TEXT)"
        days = " ".join(f"WHEN '{(k + 1) % 7}' THEN {name}" for k, name in enumerate(names))
        return f"CASE STRFTIME('%w', {column}) {days} END"
    moment = f"CAST({column} AS TIMESTAMP)"
    if rule["as"] == "days":
        seconds = f"EXTRACT(EPOCH FROM {moment} - CAST({reference} AS TIMESTAMP))"
        return f"CAST({seconds} AS {sql.double}) / {sql.number(86400.0)}"
    if rule["as"] == "month":
        return f"CAST(EXTRACT(MONTH FROM {moment}) AS {sql.text})"
    days = " ".join(f"WHEN {k} THEN {name}" for k, name in enumerate(names, start=1))
    return f"CASE EXTRACT(ISODOW FROM {moment}) {days} END"
