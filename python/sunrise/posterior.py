"""Priors and posteriors by column: what is known of the parameters, and how well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sunrise.derived import Derived


class ByColumn(Mapping[str, Any]):
    """The conjugate prior or posterior of every column that the model uses; a posterior has an entry per class.

    What they offer: `mean`, `mode`, `var`, `interval(level)`, `sample(n, random_state)` and `pdf(x)`, of a
    probability (Beta), probabilities (Dirichlet), a rate (Gamma) or a mean, with its `variance` beside it.
    """

    def __init__(self, fitted: Derived, names: list[str], what: str) -> None:
        self._fitted, self._what = fitted, what
        self._where = {
            names[j]: (k, i) for k, part in enumerate(fitted.parts) for i, j in enumerate(part.columns)
        }

    def __getitem__(self, name: str) -> Any:
        if name not in self._where:
            raise KeyError(f"{name!r} is no column that the model uses: {list(self._where)[:10]}")
        k, i = self._where[name]
        family, stats = self._fitted.parts[k].family, self._fitted.blocks[k]
        if self._what == "prior":
            return family.prior_of(stats, i)
        return family.posterior_of(stats, i, self._fitted.stats.weight)

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)

    def __repr__(self) -> str:
        return f"{self._what}s of {list(self._where)}"
