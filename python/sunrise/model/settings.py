"""Settings: the constructor arguments of an estimator, read once at the start of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunrise.families.base import Family


@dataclass(frozen=True)
class Settings:
    """What the constructor's arguments mean, read once at the start of a fit."""

    #: A family for all columns, or what NaiveBayes takes: "auto", a name, or a dict by column.
    families: Any
    class_prior: Any
    class_weight: Any
    n_jobs: int | None
    unseen: str = "reserve"
    estimate: str = "mean"

    def settle(self, family: Family) -> Family:
        """A family with the model's own settings where it has none."""
        return family.with_defaults(unseen=self.unseen, estimate=self.estimate)
