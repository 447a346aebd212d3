"""Sunrise: naive Bayes for whole tables and for text.

Names are imported when they are first used, so that `import sunrise` alone loads neither SciPy nor scikit-learn.

>>> import sunrise as sr
>>> table = {"height": [1.62, 1.71, 1.93, 1.88], "hair": ["long", None, "short", "short"]}
>>> model = sr.NaiveBayes().fit(table, ["a", "a", "b", "b"])
>>> model.predict({"height": 1.9, "hair": "long"})
array(['b'], dtype='<U1')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sunrise import datasets as datasets
    from sunrise import engines as engines
    from sunrise import mlflow as mlflow
    from sunrise import plots as plots
    from sunrise import text as text
    from sunrise._common.warnings import *
    from sunrise.cluster import spark as spark
    from sunrise.cluster.errors import *
    from sunrise.estimators import *
    from sunrise.estimators.compare import *
    from sunrise.estimators.cross_validation import *
    from sunrise.estimators.saving import *
    from sunrise.estimators.selector import *
    from sunrise.estimators.window import *
    from sunrise.families import *
    from sunrise.store.accumulator import *
    from sunrise.store.errors import *
    from sunrise.store.inspect import *
    from sunrise.streams.files import *
    from sunrise.streams.lazy import *

    __version__: str

#: Where public names are looked for, in this order: modules that import little come first.
_PUBLIC = (
    *("_common.warnings", "cluster.errors", "store.errors", "store.inspect", "store.accumulator", "families"),
    *("streams.files", "streams.lazy"),
    *("estimators", "estimators.saving", "estimators.window", "estimators.compare", "estimators.selector"),
    "estimators.cross_validation",
)
_SUBMODULES = {name: name for name in ("datasets", "engines", "mlflow", "plots", "text")} | {
    "spark": "cluster.spark"
}


def _public_names() -> dict[str, Any]:
    """Return every public name of the package with its value."""
    modules = [import_module(f"sunrise.{module}") for module in _PUBLIC]
    return {name: getattr(module, name) for module in modules for name in module.__all__}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        return version("sunrise")
    if name == "__all__":
        return sorted([*_public_names(), *_SUBMODULES, "__version__"])
    if name in _SUBMODULES:
        return import_module(f"sunrise.{_SUBMODULES[name]}")
    if not name.startswith("_"):
        for module in _PUBLIC:
            exports = import_module(f"sunrise.{module}")
            if name in exports.__all__:
                value = globals()[name] = getattr(exports, name)
                return value
    raise AttributeError(f"module 'sunrise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __getattr__("__all__")  # type: ignore[no-any-return]
