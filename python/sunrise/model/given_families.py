"""The `families` argument of a model: names, family objects, and dicts by column or by block of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from sunrise.data.dates import PARTS
from sunrise.families.base import FAMILIES, Family
from sunrise.model.choice import BY_USER, Choice


def named_family(wanted: Any, column: Any = None) -> Family:
    """Return the family with this name; a family is returned as it is."""
    if isinstance(wanted, Family):
        return wanted
    if isinstance(wanted, type) and issubclass(wanted, Family):
        return wanted()
    if isinstance(wanted, str) and wanted in FAMILIES:
        return FAMILIES[wanted]()
    where = "" if column is None else f" of column {column!r}"
    similar = get_close_matches(str(wanted), ["auto", "auto-fast", *FAMILIES], n=1)
    hint = f"Do you mean {similar[0]!r}? " if similar else ""
    raise ValueError(
        f'{hint}The family{where} is {wanted!r}; it must be "auto", "auto-fast", one of {sorted(FAMILIES)}, or a '
        "family object such as sunrise.Gaussian()."
    )


def given_choices(families: Any, names: Sequence[Any]) -> list[Choice | None]:
    """Return the choice of the user for every column; None if the family is to be chosen automatically."""
    if isinstance(families, str) and families in ("auto", "auto-fast"):
        return [None] * len(names)
    if not isinstance(families, dict):
        return [Choice(named_family(families), "given for all columns", "all")] * len(names)
    choices: list[Choice | None] = [None] * len(names)
    position = {name: j for j, name in enumerate(names)}
    for key, wanted in families.items():
        is_name = _is_name(key, position)
        if isinstance(wanted, str) and wanted in ("auto", "auto-fast"):
            own = [key] if is_name else key
            if unknown := [name for name in own if name not in position and not _is_of_date(name, position)]:
                raise ValueError(
                    f"families names a column {unknown[0]!r}, which X does not have. X has {_first_names(names)}."
                )
            continue
        family = None if wanted is None else named_family(wanted, key)
        if is_name and family is not None and family.joint and not family.reader.own_block:
            raise ValueError(
                f"{family.name} is a joint distribution of several columns: name all of them in a tuple, as in "
                f"families={{({key!r}, ...): {family.name!r}}}."
            )
        reason = BY_USER if family is None else "given"
        for name in [key] if is_name else key:
            if name not in position and _is_of_date(name, position):
                continue  # a part of a date that is not derived yet
            if name not in position:
                raise ValueError(
                    f"families names a column {name!r}, which X does not have. X has {_first_names(names)}."
                )
            if choices[position[name]] is not None:
                raise ValueError(f"families names column {name!r} twice. Name every column once.")
            choices[position[name]] = Choice(family, reason, None if is_name else key)
    return choices


def _is_name(key: Any, position: dict[Any, int]) -> bool:
    """True if a key of `families` is one column name, False if it is a tuple of names."""
    try:
        return key in position or not isinstance(key, tuple)
    except TypeError:
        return False


def _is_of_date(name: Any, position: dict[Any, int]) -> bool:
    """True if a name is that of a part of a column, or of a column whose parts are here."""
    if not isinstance(name, str):
        return False
    column, _, part = name.rpartition(".")
    return (part in PARTS and column in position) or any(f"{name}.{own}" in position for own in PARTS)


def _first_names(names: Iterable[Any]) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
