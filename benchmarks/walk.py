"""Count how often a call walks from one folder of the package into another.

    python -m benchmarks.walk

`sys.setprofile` reports every call of a function in python/sunrise. A switch is a call whose caller (the nearest
function of the package on the stack) lives in another folder. Few switches mean that a reader who follows a fit stays
in one folder for long.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import sunrise as sr

from benchmarks.tables import load, protocol, schema
from benchmarks.text import rows

PACKAGE = str(Path(sr.__file__).parent) + "/"


class Walk(NamedTuple):
    """Calls of functions of the package, and how many of them lead into another folder."""

    calls: int
    switches: int


def folder_of(frame: FrameType) -> str | None:
    """Return the folder of a frame's function; None where it is not a function of the package."""
    code = frame.f_code
    if not code.co_filename.startswith(PACKAGE) or code.co_name in ("<listcomp>", "<genexpr>", "<dictcomp>"):
        return None
    module = code.co_filename.removeprefix(PACKAGE).split("/")[0].removesuffix(".py")
    return module


def walk(action: Callable[[], Any]) -> Walk:
    """Run an action and count its calls and switches."""
    calls = switches = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls, switches
        if event != "call" or (here := folder_of(frame)) is None:
            return
        calls += 1
        caller = frame.f_back
        while caller is not None and (there := folder_of(caller)) is None:
            caller = caller.f_back
        switches += caller is not None and there != here

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Walk(calls, switches)


def main() -> None:
    """Print calls and switches of three fits and predictions."""
    warnings.simplefilter("ignore")
    titanic, survived, _ = protocol(load("titanic", schema()["titanic"]))
    matrix = np.random.default_rng(0).normal(size=(500, 20))
    messages = rows("sms-spam")
    texts, labels = [row["text"] for row in messages], [row["label"] for row in messages]
    cases: dict[str, tuple[Any, Any, Any]] = {
        "titanic, NaiveBayes()": (sr.NaiveBayes(n_jobs=1), titanic, survived),
        "500 x 20 matrix, GaussianNB()": (sr.GaussianNB(n_jobs=1), matrix, matrix[:, 0] > 0),
        "sms, TextNB()": (sr.TextNB(n_jobs=1), texts, labels),
    }
    print(f"{'':32}{'fit':>18}{'predict_proba':>18}\n{'':32}{'calls switches':>18}{'calls switches':>18}")
    for name, (model, X, y) in cases.items():
        fit = walk(lambda model=model, X=X, y=y: model.fit(X, y))  # type: ignore[misc]
        proba = walk(lambda model=model, X=X: model.predict_proba(X))  # type: ignore[misc]
        print(f"{name:32}{fit.calls:>9}{fit.switches:>9}{proba.calls:>9}{proba.switches:>9}")


if __name__ == "__main__":
    main()
