"""Additive smoothing: the alpha of the counting families."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

#: The smallest alpha where `force_alpha` is off.
SMALLEST = 1e-10


@dataclass(frozen=True)
class Alpha:
    """Pseudo-counts: one for all columns, or one for each.

    >>> Alpha.given([1.0, 2.0]).value
    array([1., 2.])
    """

    value: Any = 1.0

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def given(cls, alpha: Any, force: bool = True) -> Alpha:
        """Check what the user gave."""
        if isinstance(alpha, Alpha):
            return alpha
        value = float(alpha) if isinstance(alpha, Real) else np.asarray(alpha, dtype=float)
        smallest = np.min(value, initial=np.inf)
        if smallest < 0 or not np.all(np.isfinite(value)):
            raise ValueError(
                f"All values in alpha must be greater than 0, or 0 for maximum likelihood. Got {smallest}; "
                "alpha counts imagined observations, and 1 is Laplace's choice."
            )
        if smallest < SMALLEST and not force:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha ="
                f" {SMALLEST:.1e}. Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=5,
            )
            return cls(np.maximum(value, SMALLEST))
        return cls(value)

    def check(self, n_columns: int) -> None:
        """Refuse an array that does not have one alpha per column."""
        if np.ndim(self.value) and np.shape(self.value) != (n_columns,):
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {np.size(self.value)} elements instead of {n_columns}."
            )


class Smoothed:
    """A family with an alpha: a number, or one for each column of its block."""

    alpha: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", Alpha.given(self.alpha))

    def check(self, n_columns: int) -> None:
        """Refuse an alpha that does not fit the columns."""
        self.alpha.check(n_columns)

    def taken(self, columns: list[int]) -> Any:
        """The family of some columns, with their alphas."""
        value = self.alpha.value
        return replace(self, alpha=Alpha(value[columns])) if np.ndim(value) else self  # type: ignore[type-var]
