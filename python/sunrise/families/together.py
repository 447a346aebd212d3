"""Numeric columns scored together, beside the columns themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sunrise._common.arrays import Floats
from sunrise.families.correlated import Correlated, CorrelatedParams
from sunrise.families.standard_reader import TOGETHER
from sunrise.forms.quadratic import Quadratic
from sunrise.statistics.products import Products


@dataclass(frozen=True)
class Together(Correlated, registered=False):
    """The block of numeric columns that families="auto" scores together, beside the columns themselves.

    `positions` are those of the columns. The log-odds of the block are bounded: a row cannot say more about its class
    than all rows of the fit could confirm, see `bounded`.
    """

    name: ClassVar[str] = "together"
    reader = TOGETHER
    generative: ClassVar[bool] = False
    positions: tuple[int, ...] = ()
    #: Share of all classes in the density of each; None if the data have not decided it.
    share: float | None = None

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The columns and their scales."""
        return self.name, self.positions, self.scales

    def resolve(self, stats: Products, again: bool = False) -> Self:
        """The family with the numbers that the data decide."""
        if self.share is not None and not again:
            return self
        share = 1.0 / max(float(stats.observed_weight.sum()), 2.0)
        return super().resolve(stats, again).with_settings(share=share)

    def form(self, params: CorrelatedParams) -> Quadratic:
        """The multivariate Student-t, with bounded log-odds, as one summand."""
        weight = float(params.known.any())
        return Quadratic(
            params.mean, params.scale, params.freedom, weight, self.share or 0.0, one_summand=True
        )

    def params(self, stats: Products, class_weight: Floats) -> CorrelatedParams:
        """Parameters of the classes; the block is one summand."""
        params = super().params(stats, class_weight)
        return params._replace(known=params.known[:1])

    def describe(self, params: CorrelatedParams) -> list[dict[str, Floats]]:
        """Return the number of rows without a missing cell, per class: the block is one summand."""
        return [{"complete rows": params.n_rows.astype(float)}]
