"""Families: the base of a distribution's file, and the registry of their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from sunrise.arrays import Floats
from sunrise.forms import Form
from sunrise.support import Support
from sunrise.terms import Term

#: Every family by its name, filled as the files under families/ are imported.
FAMILIES: dict[str, type[Family]] = {}


class Family(ABC):
    """A distribution of the cells of a block of columns given the class.

    A family declares which cells it takes (`support`) and what it adds up (`terms`); from the sums it derives
    parameters, and from these the form in which cells are scored. It holds settings, never data.
    """

    name: ClassVar[str]
    terms: ClassVar[tuple[Term, ...]]
    #: Whether the class prior belongs in the score (a complement's weights are no probabilities).
    generative: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        FAMILIES[cls.name] = cls

    @property
    @abstractmethod
    def support(self) -> Support:
        """The cells it can take, and how they are read."""

    def check(self, n_columns: int) -> None:
        """Refuse settings that do not fit this many columns."""

    def complaint(self, stats: Any) -> str | None:
        """What is wrong with statistics that no data can have, or that no parameters can be derived from."""
        return None

    @abstractmethod
    def params(self, stats: Any, class_weight: Floats) -> Any:
        """Derive the parameters from a block's statistics and the weight of the classes."""

    @abstractmethod
    def form(self, params: Any) -> Form:
        """How cells are scored under these parameters."""

    def centre(self, stats: Any) -> Floats:
        """A point to write the linear form about; 0 unless squares would cancel there."""
        return np.zeros(1)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The settings that shaped the statistics: models must agree on them to be merged."""
        return self.name, self.support.above
