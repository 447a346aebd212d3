"""Names of classes in model files, and the fields that are stored."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from sunrise._common.stored import STORED, STORED_NAMES
from sunrise.families.base import FAMILIES, Family
from sunrise.families.capabilities import Candidate
from sunrise.store.errors import ModelFileError

_FAMILY = "family "
_FIELDS: dict[Any, dict[str, Any]] = {}


def name_of_class(cls: type) -> str | None:
    """Return the name of a class in model files; None if a model file cannot hold it.

    >>> from sunrise.families import Gaussian
    >>> name_of_class(Gaussian), name_of_class(dict)
    ('family gaussian', None)
    """
    if issubclass(cls, Family):
        return _FAMILY + cls.name if FAMILIES.get(cls.name) is cls else None
    return STORED_NAMES.get(cls)


def class_named(name: Any) -> type:
    """Return the class with this name; raise ModelFileError if there is none."""
    if isinstance(name, str) and name.startswith(_FAMILY):
        family = FAMILIES.get(name.removeprefix(_FAMILY))
        if family is None:
            raise ModelFileError(
                f"The model file has a column of the family {name.removeprefix(_FAMILY)[:100]!r}, which is not known "
                "here. Import the module that defines it, then load again."
            )
        return family
    if not isinstance(name, str) or name not in STORED:
        raise ModelFileError(f"The model file names {str(name)[:100]!r}, which this version cannot read.")
    return STORED[name]


def stored_fields(cls: Any) -> dict[str, Any]:
    """Return the fields that are stored and their defaults (MISSING without one).

    A field with its default value is not written. Fields with a leading underscore or with the metadata
    `"stored": False` can be derived from others.
    """
    if cls not in _FIELDS:
        _FIELDS[cls] = (
            {
                f.name: f.default if f.default_factory is MISSING else f.default_factory()
                for f in fields(cls)
                if f.metadata.get("stored", not f.name.startswith("_"))
            }
            if is_dataclass(cls)
            else {name: cls._field_defaults.get(name, MISSING) for name in cls._fields}
        )
        if issubclass(cls, Candidate):  # not an argument of a family, but without it a column refuses cells
            _FIELDS[cls]["lenient"] = False
    return _FIELDS[cls]
