"""Constraints of constructor arguments in scikit-learn's format.

The classes of scikit-learn's `_parameter_constraints` are in a private module and have no public counterpart. Only this
file imports that module, so a change in scikit-learn needs a change here only.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from sunrise.families.base import ESTIMATES

__all__ = ["COMMON", "OWN", "UNLABELLED", "Interval", "StrOptions", "check_estimate"]

COMMON: dict[str, Any] = {
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}

UNLABELLED: dict[str, Any] = {
    "unlabelled": [StrOptions({"error", "em"})],
    "unlabelled_weight": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    "verbose": ["boolean"],
}

#: Arguments of the estimators without a counterpart in scikit-learn.
OWN: dict[str, Any] = {
    "estimate": [StrOptions(set(ESTIMATES))],
    "calibrate": [StrOptions({"auto", "temperature", "columns", "words"}), None],
}


def check_estimate(who: str, estimate: str, allowed: tuple[str, ...]) -> None:
    """Raise if a family has no such estimate of its parameters."""
    if estimate not in allowed:
        reason = {
            "predictive": "its parameters have no posterior distribution to integrate over",
            "map": "its parameters have no posterior distribution with a mode",
        }[estimate]
        raise ValueError(f"estimate of {who} is {estimate!r}, but {reason}. Use one of {', '.join(allowed)}.")
