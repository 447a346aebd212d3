"""The base class of a family, and the registry of family names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.families.left_out import CellsLeftOut, RowsLeftOut, score_without_cells
from sunrise.families.readers import NUMBERS
from sunrise.forms.base import Form
from sunrise.numerics.evidence import Chosen
from sunrise.statistics.support import Support
from sunrise.statistics.terms import Term

if TYPE_CHECKING:
    from sunrise.families.readers import Reader

#: Every family by its name, filled as the files of this folder are imported.
FAMILIES: dict[str, type[Family]] = {}

#: Which numbers stand for the parameters.
ESTIMATES = ("mean", "map", "mle", "predictive")


class Problem(NamedTuple):
    """A reason to reject statistics: the position of the column in its block, the text, the position of the class."""

    column: int
    text: str
    of_class: int | None = None


def map_arrays(value: Any, change: Callable[[Floats], Floats]) -> Any:
    """Apply a function to every array inside a setting; numbers that hold for all columns stay as they are."""
    if hasattr(value, "each"):
        return value.each(change)
    if isinstance(value, tuple):
        return tuple(map_arrays(part, change) for part in value)
    return change(value) if isinstance(value, np.ndarray) and value.ndim else value


@dataclass(frozen=True)
class Family(ABC):
    """The distribution of the cells of a block of columns, given the class.

    A family declares how its cells are read (`reader`), which cells it accepts (`support`) and which terms of a cell
    are summed per class (`terms`). From the sums it derives parameters, and from the parameters the form that scores
    cells. It holds settings, never data. A numeric setting may be one number for all columns, one for each column, or
    an array of classes x columns.

    Optional abilities (a conjugate prior, outcomes to sum over, being a candidate of families="auto") are the mixins
    and protocols of `capabilities.py`.
    """

    #: Which numbers stand for the parameters: one of ESTIMATES, or None for the model's own setting.
    estimate: str | None = field(default=None, kw_only=True)
    #: The prior strength that the evidence chose, if the user asked for that.
    chosen: Chosen | None = field(default=None, init=False, repr=False, compare=False)

    name: ClassVar[str]
    terms: ClassVar[tuple[Term, ...]]
    #: How the cells of a column are read, for fitting and for scoring.
    reader: ClassVar[Reader] = NUMBERS
    #: True if the scores are log-probabilities of the cells (the weights of a complement are not).
    generative: ClassVar[bool] = True
    #: True if all columns of a block share one distribution, so that they have to be named together.
    joint: ClassVar[bool] = False

    def __init_subclass__(cls, registered: bool = True) -> None:
        """Register the family by its name, unless models make it themselves."""
        if registered and "name" in cls.__dict__:
            FAMILIES[cls.name] = cls

    # Settings.

    @property
    @abstractmethod
    def support(self) -> Support:
        """The cells that are accepted, and the views of a cell that are scored."""

    @property
    def fit_support(self) -> Support:
        """The cells and views that are summed in fit; more than are scored where the evidence needs more."""
        return self.support

    @property
    def uses_class_prior(self) -> bool:
        """True if the class prior is added to the score."""
        return self.generative

    @property
    def description(self) -> str:
        """The family in words, for messages."""
        return self.name

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The settings that shape the statistics: two models can be merged only if these agree."""
        return self.name, self.support.above

    def with_settings(self, **settings: Any) -> Self:
        """Return a copy with other settings, without checking them."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.update(settings)
        return new

    def with_defaults(self, **model: Any) -> Self:
        """Return a copy whose unset settings (None) are taken from the model."""
        own = {name: value for name, value in model.items() if getattr(self, name, value) is None}
        if (estimate := own.get("estimate", self.estimate)) not in ESTIMATES:
            raise ValueError(f"estimate is {estimate!r}; it must be one of {', '.join(ESTIMATES)}.")
        return self.with_settings(**own) if own else self

    def select_columns(self, columns: list[int]) -> Self:
        """Return the family of some columns of its block: settings that differ by column are selected too."""
        return self._with_arrays(lambda a: a[..., columns] if np.ndim(a) and a.shape[-1] > 1 else a)

    def for_cells(self, classes: Codes, columns: Positions) -> Self:
        """Return the family of single cells, each treated as a column of its own with its class's settings."""

        def pick(a: Floats) -> Floats:
            if a.ndim < 2:
                return a[columns] if a.ndim and len(a) > 1 else a
            return np.asarray(a[classes if len(a) > 1 else 0, columns if a.shape[1] > 1 else 0])

        return self._with_arrays(pick)

    def _with_arrays(self, change: Callable[[Floats], Floats]) -> Self:
        return self.with_settings(**{f.name: map_arrays(getattr(self, f.name), change) for f in fields(self)})

    def check(self, n_columns: int, n_classes: int | None = None) -> None:
        """Raise if array settings do not fit this number of columns (and of classes, once known)."""
        for name, value in vars(self).items():
            if value is None or isinstance(value, (float, int, str)):
                continue
            arrays: list[Floats] = []
            map_arrays(value, lambda a, arrays=arrays: arrays.append(a) or a)  # type: ignore[misc]
            for a in arrays:
                if a.ndim > 2 or (a.ndim and a.shape[-1] not in (1, n_columns)):
                    raise ValueError(
                        f"{name} of {type(self).__name__} is an array of shape {a.shape}, and there are {n_columns} "
                        "columns. Give one number for all, one for each, or classes x columns."
                    )
                if n_classes is not None and a.ndim == 2 and len(a) not in (1, n_classes):
                    raise ValueError(
                        f"{name} of {type(self).__name__} has {len(a)} rows, one for each class, and there are "
                        f"{n_classes} classes. Give one for each class in the order of classes_, or one for all."
                    )

    # Fitting.

    def resolve(self, stats: Any, again: bool = False) -> Self:
        """Return the family with everything that it takes from the data as numbers: prior scales, floors, alphas.

        With `again` parameters that an earlier call resolved are estimated anew (a step of EM); the others stay.
        """
        return self

    def find_problem(self, stats: Any) -> Problem | None:
        """Return why no parameters can be derived from these statistics, or None."""
        return None

    def is_attainable(self, stats: Any) -> Mask | bool:
        """True where the sums of the first class can come from real rows.

        Subtracting a row that was never fitted leaves sums that cannot.
        """
        return True

    @abstractmethod
    def params(self, stats: Any, class_weight: Floats) -> Any:
        """Derive the parameters from the statistics of a block and the weights of the classes.

        The result is a NamedTuple; its `known` says which columns were observed.
        """

    def log_prior_density(self, stats: Any, class_weight: Floats) -> float:
        """Log prior density at the estimate, up to a constant: EM maximises log-likelihood + this.

        NaN if the estimate does not maximise such a sum.
        """
        return 0.0 if self.estimate == "mle" else float("nan")

    def left_out(self, stats: Any, params: Any, row_weight: Floats | None) -> CellsLeftOut | RowsLeftOut:
        """Return how training rows are scored without themselves.

        `row_weight` is the weight of a row of each class, or None where rows of one class have different weights. The
        default subtracts a cell from the sums and derives the parameters again, for each cell by itself.
        """
        return CellsLeftOut(lambda x, c, j, w: score_without_cells(self, stats, x, c, j, w))

    # Using the parameters.

    @abstractmethod
    def form(self, params: Any) -> Form:
        """Return the form that scores cells under these parameters."""

    def log_base_measure(self, x: Floats) -> Floats:
        """The part of the log density that does not depend on the class, for cells (rows x columns); NaN if missing."""
        return np.zeros_like(x)

    def sample(self, params: Any, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw rows of these classes: rows x columns; levels are given by their positions."""
        raise ValueError(
            f"{self.name} is not a distribution of the cells, so no rows can be drawn from it. Use multinomial."
        )

    def sample_parameters(self, stats: Any, n: int, rng: np.random.Generator, class_weight: Floats) -> Any:
        """Draw the parameters n times from their posterior: the result has n times as many classes.

        Parameters without a conjugate posterior are repeated n times.
        """
        params = self.params(stats, class_weight)
        repeated = (np.tile(a, (n, *(1,) * (np.ndim(a) - 1))) if np.ndim(a) == 2 else a for a in params)
        return type(params)(*repeated)

    @abstractmethod
    def describe(self, params: Any) -> list[dict[str, Floats]]:
        """The parameters for people: for every column their names, each with a number per class."""

    def feature_names(self, stats: Any, names: list[str]) -> list[str]:
        """Names of the features that a linear form weighs: the views of the columns with these names."""
        return [view.name.replace("x", name) for name in names for view in self.support.views]

    def centre(self, stats: Any) -> Floats:
        """The point about which the linear form is written; 0 unless squares would cancel there."""
        return np.zeros(1)
