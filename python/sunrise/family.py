"""Families: the base of a distribution's file, and the registry of their names."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sunrise.arrays import Codes, Floats, Mask, Positions
from sunrise.evidence import Chosen
from sunrise.forms import Form, Removal, Table
from sunrise.look import Look
from sunrise.support import Support
from sunrise.terms import Term

#: Every family by its name, filled as the files under families/ are imported.
FAMILIES: dict[str, type[Family]] = {}


#: Which numbers stand for the parameters.
ESTIMATES = ("mean", "map", "mle", "predictive")


class Cells(NamedTuple):
    """The cells of rows that are not 0: each with its row and its column; of as many rows and columns."""

    x: Floats
    row: Positions
    column: Positions
    n_rows: int

    def by_row(self, values: Floats | Mask) -> Floats:
        """Add values of the cells up for every row."""
        return np.bincount(self.row, values, self.n_rows).astype(np.float64)


class Complaint(NamedTuple):
    """What is wrong with statistics: the place of the column in its block, the words, and the class by its place."""

    column: int
    text: str
    of_class: int | None = None


def picked(value: Any, pick: Callable[[Floats], Floats]) -> Any:
    """A setting with its numbers picked; what is one for all columns stays as it is."""
    if hasattr(value, "each"):
        return value.each(pick)
    if isinstance(value, tuple):
        return tuple(picked(part, pick) for part in value)
    return pick(value) if isinstance(value, np.ndarray) and value.ndim else value


@dataclass(frozen=True)
class Family(ABC):
    """A distribution of the cells of a block of columns given the class.

    A family declares which cells it takes (`support`) and what it adds up (`terms`); from the sums it derives
    parameters, and from these the form in which cells are scored. It holds settings, never data. Settings that are
    numbers may be one for all, one for each column, or classes x columns.
    """

    #: Which numbers stand for the parameters: one of ESTIMATES, or None for the model's own.
    estimate: str | None = field(default=None, kw_only=True)
    #: How strong the evidence made the prior, where that was asked for.
    chosen: Chosen | None = field(default=None, init=False, repr=False, compare=False)

    name: ClassVar[str]
    terms: ClassVar[tuple[Term, ...]]
    #: Whether it is a distribution of the cells (a complement's weights are no probabilities).
    generative: ClassVar[bool] = True
    #: Whether the columns of a block share one distribution, so that they have to be named together.
    joint: ClassVar[bool] = False
    #: Whether every column is a block of its own.
    alone: ClassVar[bool] = False
    #: Whether its statistics of all rows are those of any parts of them, added up.
    additive: ClassVar[bool] = True
    #: Whether its statistics are of whole rows, so that its columns have to be read together.
    of_rows: ClassVar[bool] = False
    #: Whether its cells are documents, read as counts of their words.
    reads_text: ClassVar[bool] = False
    #: Whether its cells are numbers that are counted by the bin they fall into.
    reads_bins: ClassVar[bool] = False
    #: Whether a row has part in the parameters of other classes than its own.
    shared: ClassVar[bool] = False
    #: Whether taking rows out of it costs as much as there are pairs of classes.
    costs_pairs: ClassVar[bool] = False
    #: The settings under which it has no prior at all.
    without_prior: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        FAMILIES[cls.name] = cls

    @classmethod
    def suits(cls, look: Look) -> str | None:
        """Why a column that looks like this should be of this family; None if it should not."""
        return None

    @classmethod
    def may_be(cls, look: Look) -> bool:
        """Whether a column of numbers that looks like this may be of this family, so that it is worth trying."""
        return False

    @property
    @abstractmethod
    def support(self) -> Support:
        """The cells it can take, and how they are read."""

    @property
    def pools_where_blind(self) -> bool:
        """Whether a class that never saw a column has the estimate of all classes together."""
        return False

    def possible(self, stats: Any) -> Mask | bool:
        """Whether the first class can have such sums: what was never there leaves others."""
        return True

    @property
    def wants_prior(self) -> bool:
        """Whether the class prior belongs in the score."""
        return self.generative

    @property
    def kept(self) -> Support:
        """The cells as they are added up: as they are scored, unless the evidence needs more of them."""
        return self.support

    @property
    def reads_levels(self) -> bool:
        """Whether its cells are levels, which may be called anything."""
        return False

    @property
    def reads_apart(self) -> bool:
        """Whether its columns are read one by one, because their cells are not added up as numbers."""
        return self.reads_levels or self.reads_text or self.reads_bins

    @property
    def missing_is_level(self) -> bool:
        """Whether a missing cell is a level of its own."""
        return False

    @property
    def refuses_unseen(self) -> bool:
        """Whether a level that was never seen is an error."""
        return False

    def changed(self, **settings: Any) -> Self:
        """The family with settings that need no check."""
        new = copy.copy(self)
        for name, value in settings.items():
            object.__setattr__(new, name, value)
        return new

    def settled(self, **model: Any) -> Self:
        """The family with the model's own settings where it has none."""
        own = {name: value for name, value in model.items() if getattr(self, name, value) is None}
        if (estimate := own.get("estimate", self.estimate)) not in ESTIMATES:
            raise ValueError(f"estimate is {estimate!r}; it must be one of {', '.join(ESTIMATES)}.")
        return self.changed(**own)

    def _picked(self, pick: Callable[[Floats], Floats]) -> Self:
        return self.changed(**{f.name: picked(getattr(self, f.name), pick) for f in fields(self)})

    def taken(self, columns: list[int]) -> Self:
        """The family of some columns of its block, by their places: settings of each column go with it."""
        return self._picked(lambda a: a[..., columns] if np.ndim(a) and a.shape[-1] > 1 else a)

    def at(self, classes: Codes, columns: Positions) -> Self:
        """The family of single cells, each of a class and a column, as if each were a column of its own."""

        def pick(a: Floats) -> Floats:
            if a.ndim < 2:
                return a[columns] if a.ndim and len(a) > 1 else a
            return np.asarray(a[classes if len(a) > 1 else 0, columns if a.shape[1] > 1 else 0])

        return self._picked(pick)

    @property
    def asks_the_data(self) -> bool:
        """Whether there is anything that it takes from the data once all of them are known."""
        return type(self).frozen is not Family.frozen

    # What the first data decide of a family besides its parameters, column by column: edges of bins, for one.

    #: Whether there is such a thing.
    takes_shape: ClassVar[bool] = False
    #: Whether the first data said too little to decide it.
    is_uninformed: ClassVar[bool] = False

    def shaped(self, x: Floats, codes: Codes, weight: Floats | None) -> Self:
        """The family of one column with what the first data decide: its cells with NaN, their classes and weights."""
        return self

    def unshaped(self) -> Self:
        """The family without what the first data decided: columns that agree on it form a block."""
        return self

    def shaped_as(self, other: Any) -> Self:
        """The family with what the first data decided for one of the same settings, unless it has its own."""
        return self

    def beside(self, others: list[Any]) -> Self:
        """The family of a block, of families that the columns of it have in its place."""
        return self

    def of_column(self, at: int) -> Self:
        """The family of a block as one of its columns has it: `beside` puts those together."""
        return self

    @property
    def told(self) -> str:
        """The family in words."""
        return self.name

    def thawed(self) -> Self:
        """A frozen family that is to find its parameters anew, where these were frozen as well."""
        return self

    def frozen(self, stats: Any) -> Self:
        """The family with everything that it takes from the data as numbers: prior scales, floors, chosen alphas."""
        return self

    def check(self, n_columns: int, n_classes: int | None = None) -> None:
        """Refuse settings that do not fit this many columns, or classes once they are known."""
        for name, value in vars(self).items():
            numbers: list[Floats] = []
            if value is not None and not isinstance(value, float | int | str):
                picked(value, lambda a, found=numbers: found.append(a) or a)  # type: ignore[misc]
            for a in numbers:
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

    def complaint(self, stats: Any) -> Complaint | None:
        """What is wrong with statistics that no data can have, or that no parameters can be derived from."""
        return None

    def posterior(self, stats: Any) -> Any:
        """The conjugate posterior of the parameters of a block, classes x columns; the family is frozen."""
        raise ValueError(f"{self.name} has no conjugate posterior: its parameters are point estimates.")

    def prior_from(self, stats: Any) -> Any:
        """The prior of the parameters of a block: what the posterior is before any row."""
        return self.posterior(stats.scaled(np.zeros(len(stats.rows))))

    def point(self, stats: Any) -> Any:
        """A conjugate distribution whose mean is the estimate of the parameters."""
        if self.estimate == "mle":
            return self.changed(**self.without_prior).posterior(stats)
        posterior = self.posterior(stats)
        return posterior.around_mode if self.estimate == "map" else posterior

    def pull(self, stats: Any, class_weight: Floats) -> float:
        """What the prior adds to the log-likelihood, of whose sum the estimate is the maximum.

        A posterior mean is the mode under a prior that has one row more of each outcome. NaN where the estimate is no
        maximum of such a sum.
        """
        if self.estimate == "mle":
            return 0.0
        if self.estimate == "predictive" or not self.generative:
            return float("nan")
        above = 1.0 if self.estimate == "map" else 0.0
        return float(np.sum(self.prior_from(stats).pull(self.point(stats), above)))

    def prior_of(self, stats: Any, j: int) -> Any:
        """The prior of column j: numbers, or classes x 1 where they differ."""
        return self.prior_from(stats).at(j).common

    def posterior_of(self, stats: Any, j: int, class_weight: Floats) -> Any:
        """The posterior of column j."""
        return self.posterior(stats).at(j)

    def log_evidence(self, stats: Any, class_weight: Floats | None = None) -> Floats:
        """Log probability of the cells with the parameters integrated out, classes x columns (x 1 of a joint block).

        NaN where there is no proper prior.
        """
        try:
            prior, posterior = self.prior_from(stats), self.posterior(stats)
        except ValueError:
            return np.full((len(stats.rows), stats.x.shape[1] // len(self.kept.views)), np.nan)
        found = np.asarray(prior.log_rise(posterior) + self.log_measure(stats))
        return np.full_like(found, np.nan) if self.estimate == "mle" else found

    def log_measure(self, stats: Any) -> Floats | float:
        """The part of the log evidence that has no parameter in it."""
        return 0.0

    def drawn(self, stats: Any, n: int, rng: np.random.Generator, class_weight: Floats) -> Any:
        """Parameters drawn n times from their posterior, those of each time as classes of their own: n C classes.

        Parameters that have no conjugate posterior are point estimates, n times the same.
        """
        params = self.params(stats, class_weight)
        spread = (np.tile(a, (n, *(1,) * (np.ndim(a) - 1))) if np.ndim(a) == 2 else a for a in params)
        return type(params)(*spread)

    def left_out(self, stats: Any, x: Floats, c: Codes, j: Positions, w: Floats) -> Floats:
        """What each of some cells adds to the score of its own class once it is taken out of the statistics.

        `c` and `j` are the classes and columns of the cells x, `w` their weights. NaN where that takes more than the
        rest of its class and column, or where the cell was never there.
        """
        if len(x) == 0:
            return np.empty(0)
        rest = stats.less(self.kept.seen(x[:, None]), c, j, w)
        family = self.at(c, j)
        with np.errstate(invalid="ignore", divide="ignore"):  # cells that were never there show as NaN
            form = family.form(family.params(rest, np.ones(1)))
            views = self.support.seen(x[:, None]).reshape(1, -1)
            cells = form.finite.cells(views)[0, 0].reshape(len(x), -1).sum(axis=1)
        alone = (rest.rows.reshape(len(x), -1)[:, 0] <= 0) | ~np.broadcast_to(self.possible(rest), len(x))
        if form.impossible is not None:
            alone |= (form.impossible.cells(views)[0, 0] != 0).reshape(len(x), -1).any(axis=1)
        return np.where(alone, np.nan, cells)

    def left_out_rows(self, stats: Any, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """Of a joint block: what its rows add to the score of their own class once they are taken out.

        Of a shared one to those of all classes, rows x classes, where NaN is what stays as it is. Infinite where more
        is taken than there is; None where rows have to be taken out one by one.
        """
        return None

    def left_out_scores(
        self, stats: Any, params: Any, block: Any, y: Codes, w: Floats, n_threads: int
    ) -> Floats | None:
        """Of a shared block of sparse rows: what they add to the scores of all classes once they are taken out.

        Infinite where more is taken than there is; None where that has to be found in another way.
        """
        return None

    def left_out_form(self, stats: Any, w: Floats) -> Table | None:
        """How cells of weight w (one for each class) are scored by their own class, where they are looked up.

        NaN for what a class never had.
        """
        return None

    def removal(self, stats: Any, w: Floats) -> Removal | None:
        """How cells of weight w (one for each class) are scored by their own class, where variances are left over."""
        return None

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

    def feature_names(self, stats: Any, names: list[str]) -> list[str]:
        """Names of what a linear form weighs, of columns with these names: their views."""
        return [view.name.replace("x", name) for name in names for view in self.support.views]

    def centre(self, stats: Any) -> Floats:
        """A point to write the linear form about; 0 unless squares would cancel there."""
        return np.zeros(1)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The settings that shaped the statistics: models must agree on them to be merged."""
        return self.name, self.support.above
