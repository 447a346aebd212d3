"""CategoricalNB: naive Bayes for columns of integer category codes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sunrise.estimators.constraints import Interval, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import DiscreteNB
from sunrise.families.categorical import Categorical, tables_of_all_codes
from sunrise.families.smoothing import Alpha
from sunrise.model.settings import Settings
from sunrise.statistics.counts import Counts
from sunrise.statistics.support import LEVELS


class CategoricalNB(DiscreteNB):
    """Naive Bayes for categorical columns whose cells are integer codes 0, 1, 2, ...

    X is a dense or sparse matrix; in a sparse matrix a cell that is not stored has code 0. Missing cells (NaN) are
    skipped in fit and in predict. Only the codes that occur in the training data take memory.

    Parameters
    ----------
    alpha : float, array-like of shape (n_features,) or "evidence", default=1.0
        Additive (Laplace) smoothing parameter; 0 is maximum likelihood, and "evidence" chooses the alpha with the
        largest marginal likelihood.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are set to 1e-10.
    fit_prior : bool, default=True
        Estimate the class probabilities from the data. If False, all classes have the same probability.
    class_prior : array-like, dict or None, default=None
        Class probabilities in the order of `classes_`, or a dict from label to probability. If given, `fit_prior` is
        ignored.
    min_categories : int, array-like of shape (n_features,) or None, default=None
        Minimum number of categories per column. By default the largest code of the training data plus 1.
    unseen : {"ignore", "reserve", "error"}, default="ignore"
        Treatment of a code outside the known categories in predict: "ignore" skips the cell, "reserve" gives the code
        the same probability in every class, so that it is evidence for no class, "error" raises a ValueError.
    class_weight : dict, "balanced" or None, default=None
        Class weights: the weight of a class multiplies the weights of its rows. "balanced" gives every class the same
        total weight.
    n_jobs : int or None, default=None
        Number of threads. None: the environment variable SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    class_count_, class_prior_ : ndarray of shape (n_classes,)
        Total weight and probability of each class. `class_prior_` may be set.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probability of each class.
    n_categories_ : ndarray of shape (n_features,)
        Number of categories of each column.
    category_count_ : list of ndarray of shape (n_classes, n_categories of the column)
        Total weight of each code, one array per column.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories of the column)
        Log probability of each code, one array per column.

    Examples
    --------
    >>> from sunrise import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [0, 1], [1, 0], [2, 1]], ["n", "n", "n", "y"])
    >>> model.predict_proba([[2, 1], [99, 1]]).round(3)
    array([[0.474, 0.526],
           [0.73 , 0.27 ]])
    """

    _support = LEVELS

    _parameter_constraints: dict[str, Any] = {
        **DiscreteNB._parameter_constraints,
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "unseen": [StrOptions({"ignore", "reserve", "error"})],
    }

    n_categories_ = FittedAttribute(
        lambda self: self._model.params[0].sizes, "Number of categories of each column."
    )
    category_count_ = FittedAttribute(
        lambda self: tables_of_all_codes(
            self._model.params[0],
            self._model.blocks[0].weight,
            np.zeros_like(self._model.params[0].log_other),
        ),
        "Total weight of each code: one array (classes x codes) per column.",
    )
    feature_log_prob_ = FittedAttribute(
        lambda self: tables_of_all_codes(
            self._model.params[0], self._model.params[0].log_level, self._model.params[0].log_other
        ),
        "Log probability of each code: one array (classes x codes) per column.",
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
        alpha = Alpha.given(self.alpha, self.force_alpha)
        family = Categorical(alpha, self.min_categories, self.unseen, coded=True)
        return Settings(family, self._prior(), self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(  # type: ignore[override]
        cls,
        feature_prob: list[ArrayLike],
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
        unseen: str = "ignore",
    ) -> Self:
        """Return a model with the given probabilities, one table (classes x categories) per column, without data.

        `rows` is the number of training rows that the parameters are worth; without `rows` the model predicts, but
        cannot be updated or merged.

        >>> from sunrise import CategoricalNB
        >>> model = CategoricalNB.from_parameters([[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]], classes=["a", "b"])
        >>> model.predict([[2]])
        array(['b'], dtype='<U1')
        """
        given = given_parameters(classes, class_prior, rows)
        if len(feature_prob) == 0:
            raise ValueError("feature_prob is empty; it must contain one table of probabilities per column")
        tables = [given.shares(f"feature_prob[{j}]", table) for j, table in enumerate(feature_prob)]
        sizes = np.array([table.shape[1] for table in tables], dtype=np.int64)
        weight = np.concatenate(tables, axis=1) * given.observed_weight
        counts = Counts(
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([np.arange(size) for size in sizes]),
            np.broadcast_to(given.block_rows, weight.shape).copy(),
            weight,
        )
        return cls(alpha=0.0, unseen=unseen)._from_stats(given, (counts,), len(tables), feature_names)
