"""Conjugate priors and posteriors of the parameters, by column; log evidence of a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.families.base import Family
from sunrise.families.capabilities import HasEvidence, HasPosterior, HasPrior
from sunrise.model.fitted import FittedModel


class ByColumn(Mapping[str, Any]):
    """A mapping from column name to the conjugate prior or posterior; a posterior has one entry per class.

    Each distribution has `mean`, `mode`, `var`, `interval(level)`, `sample(n, random_state)` and `pdf(x)`. The
    parameter is a probability (Beta), a vector of probabilities (Dirichlet), a rate (Gamma), or a mean, whose
    distribution has the distribution of the `variance` as an attribute.
    """

    def __init__(self, model: FittedModel, names: list[str], kind: str) -> None:
        self._model, self._kind = model, kind
        self._positions = {
            names[j]: (k, i) for k, part in enumerate(model.parts) for i, j in enumerate(part.columns)
        }

    def __getitem__(self, name: str) -> Any:
        if name not in self._positions:
            raise KeyError(f"the model does not use a column {name!r}. It uses {list(self._positions)[:10]}")
        k, i = self._positions[name]
        family, stats = self._model.parts[k].family, self._model.blocks[k]
        if self._kind == "prior" and isinstance(family, HasPrior):
            return family.prior_of(stats, i)
        if self._kind == "posterior" and isinstance(family, HasPosterior):
            return family.posterior_of(stats, i, self._model.stats.weight)
        raise ValueError(f"{family.name} has no conjugate {self._kind}: its parameters are point estimates.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return f"{self._kind}s of {list(self._positions)}"


def log_evidence_of(family: Family, stats: Any, class_weight: Floats) -> Floats:
    """Return the log evidence of a block, classes x columns (classes x 1 if joint); NaN if it has no closed form."""
    if isinstance(family, HasEvidence):
        return family.log_evidence(stats, class_weight)
    n_columns = 1 if family.joint else len(stats.observed) // len(family.fit_support.views)
    return np.full((len(class_weight), n_columns), np.nan)
