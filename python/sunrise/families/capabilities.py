"""Optional abilities of families. Drivers ask for them with isinstance, never for a concrete family."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sunrise._common.arrays import Floats, Integers, Mask
from sunrise.data.profile import ColumnProfile

if TYPE_CHECKING:
    from sunrise.families.base import Family as _Base
else:
    _Base = object


@runtime_checkable
class HasPrior(Protocol):
    """A family whose parameters have a prior distribution, which `model.prior_[column]` shows."""

    def prior_of(self, stats: Any, j: int) -> Any:
        """Return the prior distribution of the parameters of column j of the block, e.g. `Beta(a, b)`.

        Its parameters are numbers if all classes have the same prior, else arrays of classes x 1.
        """


@runtime_checkable
class HasPosterior(Protocol):
    """A family whose parameters have a posterior distribution, which `model.posterior_[column]` shows."""

    def posterior_of(self, stats: Any, j: int, class_weight: Floats) -> Any:
        """Return the posterior distribution of the parameters of column j of the block, one per class."""


@runtime_checkable
class HasEvidence(Protocol):
    """A family whose marginal likelihood has a closed form."""

    def log_evidence(self, stats: Any, class_weight: Floats | None = None) -> Floats:
        """Log probability of the cells with the parameters integrated out: classes x columns (x 1 of a joint block).

        NaN where the prior is not proper.
        """


@runtime_checkable
class HasLevels(Protocol):
    """A family whose columns may have a hundred thousand levels, each with its parameters."""

    def describe_briefly(self, params: Any, most: int) -> list[dict[str, Floats]]:
        """`describe`, with only the most probable levels of a column that has more than `most`."""


@runtime_checkable
class HasRareLevels(Protocol):
    """A family whose statistics have levels or words, which may name single rows."""

    def without_rare(self, stats: Any, min_rows: int) -> Any:
        """The statistics without levels or words that fewer than `min_rows` rows have."""

    def level_names(self, stats: Any) -> list[Any]:
        """The names of the levels or words of every column."""


@runtime_checkable
class Documents(Protocol):
    """A family of documents, whose words may be present or absent."""

    def is_linear(self, params: Any) -> bool:
        """True if the score of a document is a sum over its words, each with a weight for every class."""

    def presence(self, stats: Any) -> tuple[_Base, Any, Mask]:
        """Family and parameters of the presence of each word, and which words are used."""

    def parts_of_ngrams(self, vocabulary: Any) -> Integers | None:
        """Number of words of every n-gram of words; None for single words and for n-grams of characters."""


@runtime_checkable
class Discrete(Protocol):
    """A family with countable outcomes."""

    def outcomes(self, params: Any) -> Floats | list[Floats]:
        """Log probabilities of the outcomes of a cell: classes x columns x outcomes.

        A list of classes x outcomes, one array per column, where columns have different outcomes.
        """


@runtime_checkable
class Continuous(Protocol):
    """A family with a density."""

    def landmarks(self, params: Any) -> Floats:
        """Points between which the density is smooth and beyond which it vanishes: points x classes x columns."""


class Conjugate(_Base):
    """A family with a conjugate prior: `posterior` is the one method to write, the rest follows from it."""

    #: The settings under which the family has no prior (maximum likelihood).
    without_prior: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def posterior(self, stats: Any) -> Any:
        """The conjugate posterior of the parameters, classes x columns; the family is resolved."""

    def prior_from(self, stats: Any) -> Any:
        """The prior of the parameters: the posterior before any row."""
        return self.posterior(stats.scaled(np.zeros(len(stats.rows))))

    def point(self, stats: Any) -> Any:
        """A conjugate distribution whose mean is the point estimate."""
        if self.estimate == "mle":
            return self.with_settings(**self.without_prior).posterior(stats)
        posterior = self.posterior(stats)
        return posterior.with_mean_at_mode if self.estimate == "map" else posterior

    def prior_of(self, stats: Any, j: int) -> Any:
        """Return the prior distribution of the parameters of column j, see `HasPrior`."""
        return self.prior_from(stats).at(j).common

    def posterior_of(self, stats: Any, j: int, class_weight: Floats) -> Any:
        """Return the posterior distribution of the parameters of column j, one per class."""
        return self.posterior(stats).at(j)

    def log_evidence(self, stats: Any, class_weight: Floats | None = None) -> Floats:
        """Log probability of the cells with the parameters integrated out, classes x columns; NaN if not proper."""
        try:
            prior, posterior = self.prior_from(stats), self.posterior(stats)
        except ValueError:
            return np.full((len(stats.rows), stats.x.shape[1] // len(self.fit_support.views)), np.nan)
        evidence = np.asarray(prior.log_evidence(posterior) + self.log_measure(stats))
        return np.full_like(evidence, np.nan) if self.estimate == "mle" else evidence

    def log_measure(self, stats: Any) -> Floats | float:
        """The part of the log evidence that does not depend on the parameters, e.g. -log x! of counts."""
        return 0.0

    def log_prior_density(self, stats: Any, class_weight: Floats) -> float:
        """Log prior density at the estimate.

        A posterior mean is the mode under a prior with one row more of each outcome.
        """
        if self.estimate == "mle":
            return 0.0
        if self.estimate == "predictive" or not self.generative:
            return float("nan")
        above = 1.0 if self.estimate == "map" else 0.0
        return float(np.sum(self.prior_from(stats).log_prior_density(self.point(stats), above)))


class Candidate(_Base):
    """A family that families="auto" or families="auto-fast" may choose for a column."""

    #: Among equally good candidates the one with the smaller number is chosen.
    complexity: ClassVar[int]
    #: A numeric column with this trait may have the family, so that it is worth scoring; see `ColumnProfile.traits`.
    trait: ClassVar[str | None] = None
    #: A leave-one-out score costs as much as this power of the number of classes.
    cost_power: ClassVar[int] = 0
    #: In which order the rules by type are asked; None if no rule by type chooses this family.
    rule_order: ClassVar[int | None] = None
    #: True in `fixed_families_` of a model that chose the family by score: cells outside the support count as missing.
    lenient: bool = False

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Why a column with this profile has this family by the rules for types; None if it does not."""
        return None
