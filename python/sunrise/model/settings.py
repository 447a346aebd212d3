"""Settings: the constructor arguments of an estimator, read once at the start of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunrise._common.stored import stored
from sunrise.families.base import Family


def pairs_of(families: Any) -> Any:
    """Return a dict as a list of pairs if it has keys that are tuples, which not every serialiser accepts.

    >>> pairs_of({("a", "b"): "multinomial"})
    [(('a', 'b'), 'multinomial')]
    """
    is_keyed = isinstance(families, dict) and any(isinstance(key, tuple) for key in families)
    return list(families.items()) if is_keyed else families


def dict_of(families: Any) -> Any:
    """Undo `pairs_of`."""
    return dict(families) if isinstance(families, list) else families


@stored("settings")
@dataclass(frozen=True)
class Settings:
    """The constructor arguments of an estimator."""

    #: A family for all columns, or the argument of NaiveBayes: "auto", a name, or a dict by column.
    families: Any
    class_prior: Any
    class_weight: Any
    n_jobs: int | None
    unseen: str = "reserve"
    estimate: str = "mean"
    #: Name of the estimator, for error texts.
    who: str = "the model"
    #: Pairs of columns to score together: "auto", a sequence, or None.
    interactions: Any = None
    #: "all" keeps the counts of all pairs of columns, so that they can be chosen again; None those of scored pairs.
    keep_pairs: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "families": pairs_of(self.families)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles of earlier versions have no interactions, or do not say which pairs they keep.
        defaults = {"interactions": None, "keep_pairs": None}
        self.__dict__.update({**defaults, **state, "families": dict_of(state["families"])})

    def with_defaults(self, family: Family) -> Family:
        """Return a family with the settings of the model in place of settings that the family does not have."""
        return family.with_defaults(unseen=self.unseen, estimate=self.estimate)
