"""A version in every pickle, and a warning if another version reads it."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sunrise._common.warnings import VersionWarning, alert

_KEY = "_sunrise_version"


@cache
def own_version() -> str:
    """Return the version of the installed package; "unknown" if its files were copied without their metadata."""
    try:
        return version("sunrise")
    except PackageNotFoundError:
        return "unknown"


def with_version(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a pickled object with the version that writes it."""
    return {**state, _KEY: own_version()}


def without_version(who: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state without its version; warn if another version has written it."""
    state = dict(state)
    written_by = state.pop(_KEY, None)
    if written_by != own_version():
        alert(
            f"This {who} was pickled by sunrise {written_by or 'of an unknown version'} and is read by sunrise "
            f"{own_version()}, which may read it differently. Exchange models between versions as files of "
            "model.save() and sunrise.load(), or fit again.",
            VersionWarning,
        )
    return state


class VersionedMixin:
    """The version of the package in the pickles of a class."""

    def __getstate__(self) -> Any:
        return with_version(super().__getstate__())  # type: ignore[arg-type]

    def __setstate__(self, state: Any) -> None:
        state = without_version(type(self).__name__, state)
        if hasattr(super(), "__setstate__"):
            super().__setstate__(state)  # type: ignore[misc]
        else:
            self.__dict__.update(state)
