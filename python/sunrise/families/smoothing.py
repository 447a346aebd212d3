"""Additive smoothing: `alpha`, the pseudo-counts of the families that count."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.stored import stored
from sunrise.data.levels import name_of
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.statistics.terms import LEVEL

if TYPE_CHECKING:
    from sunrise.families.base import Family as _Base
else:
    _Base = object

#: The smallest alpha with `force_alpha=False`.
SMALLEST_ALPHA = 1e-10


@stored("alpha")
@dataclass(frozen=True)
class Alpha:
    """Pseudo-counts: one for all columns, one for each column, classes x columns, or "evidence".

    "evidence" chooses the alpha that maximises the marginal likelihood. For categories, `levels` gives single levels
    an alpha of their own.

    >>> Alpha.given([1.0, 2.0]).value
    array([1., 2.])
    """

    value: Any = 1.0
    levels: dict[str, float] | None = None

    def __repr__(self) -> str:
        return repr(self.value) if self.levels is None else repr(self.levels)

    @property
    def by_evidence(self) -> bool:
        """True if alpha is to be chosen by marginal likelihood and is not known yet."""
        return isinstance(self.value, str)

    @classmethod
    def given(cls, alpha: Any, force: bool = True) -> Alpha:
        """Check the alpha that the user passed; without `force`, raise values below SMALLEST_ALPHA to it."""
        if isinstance(alpha, Alpha):
            return alpha
        if isinstance(alpha, str):
            if alpha != "evidence":
                raise ValueError(f'alpha is {alpha!r}; it must be a number, an array or "evidence".')
            return cls(alpha)
        if isinstance(alpha, dict):
            values = np.array(list(alpha.values()), dtype=float)
            if not ((values >= 0) & np.isfinite(values)).all():
                raise ValueError(f"alpha must be finite and 0 or more for every level; it is {alpha!r}.")
            return cls(1.0, {name_of(level): float(value) for level, value in alpha.items()})
        value = float(alpha) if isinstance(alpha, Real) else np.asarray(alpha, dtype=float)
        smallest = np.min(value, initial=np.inf)
        if smallest < 0 or not np.all(np.isfinite(value)):
            raise ValueError(
                f"All values in alpha must be greater than 0, or 0 for maximum likelihood. Got {smallest}; "
                "alpha is a number of pseudo-observations, and 1 is Laplace smoothing."
            )
        if smallest < SMALLEST_ALPHA and not force:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha ="
                f" {SMALLEST_ALPHA:.1e}. Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=5,
            )
            return cls(np.maximum(value, SMALLEST_ALPHA))
        return cls(value)

    def each(self, change: Callable[[Floats], Any]) -> Alpha:
        """Apply a function to the array of alphas; a single number stays."""
        return replace(self, value=change(self.value)) if isinstance(self.value, np.ndarray) else self

    def of_class(self, k: int) -> Alpha:
        """The alphas of class k, in an array with one row where they differ by class."""
        by_class = np.ndim(self.value) == 2 and len(self.value) > 1
        return replace(self, value=self.value[k : k + 1]) if by_class else self

    def check(self, n_columns: int) -> None:
        """Raise if an array does not have one alpha per column."""
        shape = np.shape(self.value)
        if shape and not (shape == (n_columns,) or (len(shape) == 2 and shape[1] in (1, n_columns))):
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {np.size(self.value)} elements instead of {n_columns}."
            )


class Smoothed(_Base):
    """Mixin of families with additive smoothing: the setting `alpha`, see `Alpha`."""

    without_prior: ClassVar[dict[str, Any]] = {"alpha": Alpha(0.0)}
    alpha: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", Alpha.given(self.alpha))
        if self.alpha.levels is not None and LEVEL not in self.terms:
            raise ValueError(f"alpha is given by level, and {self.name} has no levels. Give alpha a number.")
        if self.alpha.by_evidence and not self.generative:
            raise ValueError(
                f'alpha is "evidence", and {self.name} has no evidence (marginal likelihood): its scores are not '
                "log-probabilities. Give alpha a number."
            )

    def check(self, n_columns: int, n_classes: int | None = None) -> None:
        """Raise if alpha does not fit the number of columns."""
        self.alpha.check(n_columns)
        super().check(n_columns, n_classes)


class EvidenceSmoothed(Smoothed):
    """Mixin of smoothed families with a marginal likelihood: alpha="evidence" chooses the alpha that maximises it."""

    def resolve(self, stats: Any, again: bool = False) -> Self:
        """Replace alpha="evidence" by the alpha of maximum marginal likelihood, one for all columns."""
        if not self.alpha.by_evidence:
            return self
        chosen = self.counts_of_counts(stats).best()
        return self.with_settings(alpha=Alpha(chosen.value), chosen=chosen)

    @abstractmethod
    def counts_of_counts(self, stats: Any) -> CountsOfCounts:
        """The counts of the Dirichlet-multinomial draws whose marginal likelihood chooses alpha."""
