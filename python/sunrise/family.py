"""Families: the base of a distribution's file, and the registry of their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from sunrise.arrays import Codes, Floats
from sunrise.forms import Form
from sunrise.look import Look
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
    #: Whether the columns of a block share one distribution, so that they have to be named together.
    joint: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        FAMILIES[cls.name] = cls

    @classmethod
    def suits(cls, look: Look) -> str | None:
        """Why a column that looks like this should be of this family; None if it should not."""
        return None

    @property
    @abstractmethod
    def support(self) -> Support:
        """The cells it can take, and how they are read."""

    @property
    def reads_levels(self) -> bool:
        """Whether its cells are levels, which may be called anything."""
        return False

    @property
    def missing_is_level(self) -> bool:
        """Whether a missing cell is a level of its own."""
        return False

    @property
    def refuses_unseen(self) -> bool:
        """Whether a level that was never seen is an error."""
        return False

    def settled(self, unseen: str) -> Self:
        """The family with the model's own settings where it has none."""
        return self

    def taken(self, columns: list[int]) -> Self:
        """The family of some columns of its block, by their places: settings of each column go with it."""
        return self

    def check(self, n_columns: int) -> None:
        """Refuse settings that do not fit this many columns."""

    def complaint(self, stats: Any) -> tuple[int, str] | None:
        """What is wrong with statistics that no data can have, or that no parameters can be derived from.

        The place of the column in its block, and what is to be said of it.
        """
        return None

    def posterior(self, stats: Any) -> Any:
        """The conjugate posterior of the parameters of a block, classes x columns."""
        raise ValueError(f"{self.name} has no conjugate posterior: its parameters are point estimates.")

    def prior_of(self, stats: Any, j: int) -> Any:
        """The prior of column j, the same for every class."""
        raise ValueError(f"{self.name} has no conjugate prior.")

    def posterior_of(self, stats: Any, j: int) -> Any:
        """The posterior of column j."""
        return self.posterior(stats).at(j)

    @abstractmethod
    def params(self, stats: Any, class_weight: Floats) -> Any:
        """Derive the parameters from a block's statistics and the weight of the classes."""

    @abstractmethod
    def form(self, params: Any) -> Form:
        """How cells are scored under these parameters."""

    def carrier(self, x: Floats) -> Floats:
        """The part of the log density that has no class in it, of cells (rows x columns)."""
        return np.zeros_like(x)

    def log_carrier(self, x: Floats) -> Floats:
        """The same of whole rows, missing cells left out."""
        return np.asarray(np.nansum(self.carrier(x), axis=1))

    def outcomes(self, params: Any) -> Floats | list[Floats] | None:
        """Of a discrete family: log probabilities of what a cell may be, classes x columns x outcomes.

        A list of classes x outcomes, one for each column, where columns have different outcomes; None of a density.
        """
        return None

    def landmarks(self, params: Any) -> Floats:
        """Of a density: points between which it is smooth and beyond which is nothing, ... x classes x columns."""
        raise TypeError(f"{self.name} is no density")

    @abstractmethod
    def sample(self, params: Any, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw rows of these classes: rows x columns, levels as their positions."""

    @abstractmethod
    def described(self, params: Any) -> list[dict[str, Floats]]:
        """The parameters for people: for every column their names, each with a number per class."""

    def centre(self, stats: Any) -> Floats:
        """A point to write the linear form about; 0 unless squares would cancel there."""
        return np.zeros(1)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The settings that shaped the statistics: models must agree on them to be merged."""
        return self.name, self.support.above
