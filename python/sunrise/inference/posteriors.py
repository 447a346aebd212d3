"""Priors and posteriors by column: what is known of the parameters, and how well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.families.base import Family
from sunrise.families.capabilities import HasEvidence, HasPosterior, HasPrior
from sunrise.model.fitted import FittedModel


class ByColumn(Mapping[str, Any]):
    """The conjugate prior or posterior of every column that the model uses; a posterior has an entry per class.

    What they offer: `mean`, `mode`, `var`, `interval(level)`, `sample(n, random_state)` and `pdf(x)`, of a
    probability (Beta), probabilities (Dirichlet), a rate (Gamma) or a mean, with its `variance` beside it.
    """

    def __init__(self, fitted: FittedModel, names: list[str], what: str) -> None:
        self._fitted, self._what = fitted, what
        self._where = {
            names[j]: (k, i) for k, part in enumerate(fitted.parts) for i, j in enumerate(part.columns)
        }

    def __getitem__(self, name: str) -> Any:
        if name not in self._where:
            raise KeyError(f"{name!r} is no column that the model uses: {list(self._where)[:10]}")
        k, i = self._where[name]
        family, stats = self._fitted.parts[k].family, self._fitted.blocks[k]
        if self._what == "prior" and isinstance(family, HasPrior):
            return family.prior_of(stats, i)
        if self._what == "posterior" and isinstance(family, HasPosterior):
            return family.posterior_of(stats, i, self._fitted.stats.weight)
        raise ValueError(f"{family.name} has no conjugate {self._what}: its parameters are point estimates.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)

    def __repr__(self) -> str:
        return f"{self._what}s of {list(self._where)}"


def log_evidence_of(family: Family, stats: Any, class_weight: Floats) -> Floats:
    """Log evidence of a block, classes x columns (x 1 of a joint block); NaN if it has no closed form."""
    if isinstance(family, HasEvidence):
        return family.log_evidence(stats, class_weight)
    n_columns = 1 if family.joint else len(stats.observed) // len(family.fit_support.views)
    return np.full((len(class_weight), n_columns), np.nan)
