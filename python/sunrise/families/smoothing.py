"""Additive smoothing: the alpha of the counting families."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.data.levels import name_of
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.statistics.terms import LEVEL

if TYPE_CHECKING:
    from sunrise.families.base import Family as _Base
else:
    _Base = object

#: The smallest alpha where `force_alpha` is off.
SMALLEST = 1e-10


@dataclass(frozen=True)
class Alpha:
    """Pseudo-counts: one for all columns, one for each, classes x columns, or "evidence" to have one chosen.

    Of categories, `levels` may name some that have their own.

    >>> Alpha.given([1.0, 2.0]).value
    array([1., 2.])
    """

    value: Any = 1.0
    levels: dict[str, float] | None = None

    def __repr__(self) -> str:
        return repr(self.value) if self.levels is None else repr(self.levels)

    @property
    def by_evidence(self) -> bool:
        """Whether it is still to be chosen."""
        return isinstance(self.value, str)

    @classmethod
    def given(cls, alpha: Any, force: bool = True) -> Alpha:
        """Check what the user gave."""
        if isinstance(alpha, Alpha):
            return alpha
        if isinstance(alpha, str):
            if alpha != "evidence":
                raise ValueError(f'alpha is {alpha!r}; it must be a number, an array or "evidence".')
            return cls(alpha)
        if isinstance(alpha, dict):
            own = np.array(list(alpha.values()), dtype=float)
            if not ((own >= 0) & np.isfinite(own)).all():
                raise ValueError(f"alpha must be 0 or more for every level; it is {alpha!r}.")
            return cls(1.0, {name_of(level): float(value) for level, value in alpha.items()})
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

    def each(self, change: Callable[[Floats], Any]) -> Alpha:
        """Change every number."""
        return replace(self, value=change(self.value)) if isinstance(self.value, np.ndarray) else self

    def check(self, n_columns: int) -> None:
        """Refuse an array that does not have one alpha per column."""
        shape = np.shape(self.value)
        if shape and not (shape == (n_columns,) or (len(shape) == 2 and shape[1] in (1, n_columns))):
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {np.size(self.value)} elements instead of {n_columns}."
            )


class Smoothed(_Base):
    """A family with an alpha: a number, one for each column, classes x columns, or "evidence"."""

    without_prior: ClassVar[dict[str, Any]] = {"alpha": Alpha(0.0)}
    alpha: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", Alpha.given(self.alpha))
        if self.alpha.levels is not None and LEVEL not in self.terms:
            raise ValueError(f"alpha by level is for categories; {self.name} has none.")

    def check(self, n_columns: int, n_classes: int | None = None) -> None:
        """Refuse an alpha that does not fit the columns."""
        self.alpha.check(n_columns)
        super().check(n_columns, n_classes)

    def resolve(self, stats: Any, again: bool = False) -> Self:
        """The family with the alpha of greatest evidence, if that is asked for: one for all its columns."""
        if not self.alpha.by_evidence:
            return self
        chosen = self.counts_of_counts(stats).best()
        return self.with_settings(alpha=Alpha(chosen.value), chosen=chosen)

    def counts_of_counts(self, stats: Any) -> CountsOfCounts:
        """The counts that its shares were drawn for."""
        raise ValueError(
            f"{self.name} has no evidence: it is no distribution of its class. Give alpha a number."
        )
