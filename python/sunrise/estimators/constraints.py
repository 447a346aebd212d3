"""Constraints of constructor arguments in scikit-learn's format.

The classes of scikit-learn's `_parameter_constraints` are in a private module and have no public counterpart. Only this
file imports that module, so a change in scikit-learn needs a change here only.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["COMMON", "UNLABELLED", "Interval", "StrOptions"]

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
