"""SciPy and scikit-learn, imported when they are first used: a process that only adds up statistics needs neither."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is imported when one of its names is first read.

    >>> LazyModule("math").sqrt(4.0)
    2.0
    """

    def __init__(self, *names: str) -> None:
        self._names = names

    def __getattr__(self, attribute: str) -> Any:
        if not attribute.startswith("__"):
            for module in map(import_module, self._names):
                if hasattr(module, attribute):
                    setattr(self, attribute, getattr(module, attribute))
                    return getattr(module, attribute)
        raise AttributeError(attribute)


special: Any = LazyModule("scipy.special")
sparse: Any = LazyModule("scipy.sparse")
validation: Any = LazyModule("sklearn.utils.multiclass", "sklearn.utils.validation")


def is_sparse(x: Any) -> bool:
    """True for a SciPy sparse matrix; the module is imported by whoever made one."""
    return "scipy.sparse" in sys.modules and bool(sparse.issparse(x))
