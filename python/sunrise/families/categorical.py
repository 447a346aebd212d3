"""Categories: x | c ~ Categorical(theta), theta ~ Dirichlet(alpha) per column, and the estimator CategoricalNB."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise.arrays import Floats, Integers, Mask
from sunrise.conjugate import log
from sunrise.derived import Fitted, Settings
from sunrise.estimator import DiscreteNB
from sunrise.family import Family
from sunrise.forms import Table
from sunrise.given import given_parameters
from sunrise.smoothing import Alpha
from sunrise.stats import Counts
from sunrise.support import LEVELS, Support
from sunrise.terms import LEVEL

#: The most cells a table of all codes may have when it is asked for as an attribute.
LARGEST_TABLE = 10_000_000


class CategoricalParams(NamedTuple):
    """Log probability of every level seen, of any other possible one, and of an unseen one."""

    counts: Counts
    sizes: Integers
    log_level: Floats
    log_other: Floats
    log_unseen: Floats
    known: Mask


@dataclass(frozen=True)
class Categorical(Family):
    """Level codes 0, 1, 2, ...: a column's size is its largest code + 1, or `min_categories` if that is more.

    Codes below the size are possible whether seen or not. A code beyond is unseen: "ignore" leaves its
    factor out, "reserve" keeps the posterior mass of one more cell for it, "error" refuses it.
    """

    name = "categorical"
    terms = (LEVEL,)
    alpha: Alpha = Alpha()
    min_categories: Any = None
    unseen: str = "ignore"

    @property
    def support(self) -> Support:
        """Level codes."""
        return LEVELS

    def check(self, n_columns: int) -> None:
        """Refuse settings that do not fit the columns."""
        self.alpha.check(n_columns)
        if self.min_categories is None:
            return
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (n_columns,):
            raise ValueError(
                f"'min_categories' should have shape ({n_columns},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )

    def params(self, stats: Counts, class_weight: Floats) -> CategoricalParams:
        """Log of the posterior means, from the counts."""
        least = 0 if self.min_categories is None else np.asarray(self.min_categories)
        sizes = np.maximum(stats.top + 1, least).astype(np.int64)
        alpha = np.broadcast_to(self.alpha.value, sizes.shape).astype(float)
        cells = sizes + (self.unseen == "reserve")
        total = stats.by_column(stats.weight) + alpha * cells
        # Where nothing is known at all, every cell has the same probability.
        blank = total == 0
        log_total = log(np.where(blank, np.maximum(cells, 1), total))
        level, column = np.where(blank, 1.0, alpha), stats.column
        log_level = log(stats.weight + level[:, column]) - log_total[:, column]
        log_other = log(level) - log_total
        log_unseen = log_other if self.unseen == "reserve" else np.zeros_like(log_other)
        known = np.diff(stats.offsets) > 0
        return CategoricalParams(stats, sizes, log_level, log_other, log_unseen, known)

    def form(self, params: CategoricalParams) -> Table:
        """Look the level up."""
        counts = params.counts
        n_columns, n_levels = counts.n_columns, len(counts.codes)
        values = np.zeros((n_levels + 2 * n_columns, len(params.log_level)))
        values[np.arange(n_levels) + 2 * counts.column] = params.log_level.T
        after = counts.offsets[1:] + 2 * np.arange(n_columns)
        values[after] = np.where(params.known, params.log_other, 0.0).T
        values[after + 1] = np.where(params.known, params.log_unseen, 0.0).T
        return Table(counts.offsets, counts.codes, params.sizes, values, self.unseen == "error")


def every_code(params: CategoricalParams, seen: Floats, other: Floats) -> list[Floats]:
    """A table per column with a cell for every possible code, as scikit-learn has it."""
    counts, sizes = params.counts, params.sizes
    largest = int(sizes.max(initial=0))
    if largest * len(seen) > LARGEST_TABLE:
        raise ValueError(
            f"column {int(sizes.argmax())} has codes up to {largest - 1}: a table of them all would have "
            f"{largest * len(seen):,} cells. The model itself keeps only the codes it saw; to look at the "
            "tables, number the levels 0, 1, 2, ... without gaps."
        )
    tables = []
    for j, size in enumerate(sizes):
        levels = slice(counts.offsets[j], counts.offsets[j + 1])
        table = np.repeat(other[:, j : j + 1], size, axis=1)
        table[:, counts.codes[levels]] = seen[:, levels]
        tables.append(table)
    return tables


class CategoricalNB(DiscreteNB):
    """Categorical naive Bayes: every column holds level codes 0, 1, 2, ...

    Takes missing cells (NaN), which are left out of fit and of predict, and sparse input, where a cell that is
    not stored has code 0. Only the codes that were seen take memory.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing; 0 is maximum likelihood.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    fit_prior : bool, default=True
        Learn the class probabilities; if False they are equal.
    class_prior : array-like, dict or None, default=None
        Given class probabilities, in the order of `classes_` or by label.
    min_categories : int, array-like of shape (n_features,) or None, default=None
        Least number of categories per column.
    unseen : {"ignore", "reserve", "error"}, default="ignore"
        What a code beyond all categories gets at predict: its factor left out, the posterior mass of one more
        cell, or an error.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [0, 1], [1, 0], [2, 1]], ["n", "n", "n", "y"])
    >>> model.predict_proba([[2, 1], [99, 1]]).round(3)
    array([[0.474, 0.526],
           [0.73 , 0.27 ]])
    """

    _takes = LEVELS

    _parameter_constraints: dict[str, Any] = {
        **DiscreteNB._parameter_constraints,
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "unseen": [StrOptions({"ignore", "reserve", "error"})],
    }

    n_categories_ = Fitted(lambda self: self._fitted.params[0].sizes, "Number of categories of each column.")
    category_count_ = Fitted(
        lambda self: every_code(
            self._fitted.params[0],
            self._fitted.blocks[0].weight,
            np.zeros_like(self._fitted.params[0].log_other),
        ),
        "Weight of each code, a table per column.",
    )
    feature_log_prob_ = Fitted(
        lambda self: every_code(
            self._fitted.params[0], self._fitted.params[0].log_level, self._fitted.params[0].log_other
        ),
        "Log probability of each code, a table per column.",
    )

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        unseen: str = "ignore",
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.unseen = unseen
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Categorical(Alpha.given(self.alpha, self.force_alpha), self.min_categories, self.unseen)
        return Settings((family,), self._prior(), self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(
        cls,
        feature_prob: list[ArrayLike],
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
        unseen: str = "ignore",
    ) -> Self:
        """Make a model from given probabilities, a table (classes x categories) per column, without data.

        >>> from sunrise import CategoricalNB
        >>> model = CategoricalNB.from_parameters([[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]], classes=["a", "b"])
        >>> model.predict([[2]])
        array(['b'], dtype='<U1')
        """
        given = given_parameters(classes, class_prior, rows)
        if len(feature_prob) == 0:
            raise ValueError("feature_prob must hold a table of probabilities for each column")
        tables = [given.shares(f"feature_prob[{j}]", table) for j, table in enumerate(feature_prob)]
        sizes = np.array([table.shape[1] for table in tables], dtype=np.int64)
        weight = np.concatenate(tables, axis=1) * given.seen
        counts = Counts(
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([np.arange(size) for size in sizes]),
            np.broadcast_to(given.block_rows, weight.shape).copy(),
            weight,
        )
        return cls(alpha=0.0, unseen=unseen)._from_stats(given, (counts,), len(tables), feature_names)
