"""Settings: the constructor arguments of an estimator, read once at the start of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunrise._common.stored import stored
from sunrise.families.base import Family


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

    def with_defaults(self, family: Family) -> Family:
        """Return a family with the settings of the model in place of settings that the family does not have."""
        return family.with_defaults(unseen=self.unseen, estimate=self.estimate)
