"""Alignment: the columns of a table brought into the order of the table that a model was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sunrise._common.warnings import ColumnNamesWarning, alert
from sunrise.data.column import Column
from sunrise.data.derive import Rules
from sunrise.data.errors import refuse_missing_columns, refuse_unknown_columns, refuse_width
from sunrise.data.frame import Frame


class ColumnOrder(Protocol):
    """The columns that a model expects."""

    @property
    def names(self) -> Sequence[Any]:
        """Names of the columns, in order."""

    @property
    def is_named(self) -> bool:
        """True if columns are known by name; else by position."""

    @property
    def label(self) -> Any:
        """Name of the column that held the labels, if they came by name."""

    @property
    def used(self) -> Sequence[Any]:
        """Names of the columns that the model needs; the others may be absent."""

    @property
    def rules(self) -> Rules | None:
        """How columns of the model are derived from those of a table; None if they are the same."""


def align(table: Frame, order: ColumnOrder, who: str) -> Frame:
    """Return the columns of the model in their order, derived from the table by the rules of the model.

    Raises if columns are missing or unknown. A table that was derived already is only put in order.
    """
    if order.rules is None or table.rules is not None:
        return _ordered(table, order, who)
    rules = order.rules
    if rules.dates and not rules.dates.keys() & set(table.names) and set(table.names).issuperset(order.used):
        # The parts of the dates are given themselves.
        return replace(rules, dates={}).apply(_ordered(table, order, who))
    return rules.apply(align_inputs(table, order, who))


@dataclass(frozen=True)
class _Inputs:
    """The columns from which those of a model are derived."""

    names: Sequence[Any]
    used: Sequence[Any]
    is_named: bool
    label: Any
    rules: None = None


def align_inputs(table: Frame, order: ColumnOrder, who: str) -> Frame:
    """Return the table with the expected columns in their order, before anything is derived from them."""
    if order.rules is None or table.rules is not None:
        return _ordered(table, order, who)
    names, used = order.rules.inputs(order.names), order.rules.inputs(order.used)
    return _ordered(table, _Inputs(names, used, order.is_named, order.label), who)


def _ordered(table: Frame, order: ColumnOrder, who: str) -> Frame:
    """Return the table with the expected columns in their order; raise if columns are missing or unknown."""
    if not (order.is_named and table.is_named):
        return _by_position(table, order, who)
    if table.names == order.names:
        return table
    position = {name: j for j, name in enumerate(table.names)}
    absent = [name for name in order.used if name not in position]
    unknown = [name for name in table.names if name not in {*order.names, order.label}]
    if absent:
        refuse_missing_columns(absent, unknown)
    if unknown:
        refuse_unknown_columns(unknown)
    positions = [position.get(name) for name in order.names]

    def read(j: int) -> Column:
        at = positions[j]
        # Only a column that the model leaves out may be absent.
        return Column(order.names[j], "empty", table.n_rows) if at is None else table.raw(at)

    return Frame(order.names, table.n_rows, read, table.library, index=table.index, rules=table.rules)


def _by_position(table: Frame, order: ColumnOrder, who: str) -> Frame:
    if len(table.names) != len(order.names):
        refuse_width(who, len(table.names), len(order.names))
    if order.is_named == table.is_named:
        return table
    numbered = list(range(len(order.names)))
    if not list(order.names) == list(table.names) == numbered:
        with_names, without = ("the model", "X") if order.is_named else ("X", "the model")
        alert(
            f"{with_names} has column names and {without} has none: columns are taken in their order. "
            "Pass the same kind of table to fit and predict.",
            ColumnNamesWarning,
        )
    return table
