"""Feature choice: the columns that tell most of the class, without another look at the data."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sunrise.arrays import Floats, Mask
from sunrise.data.frame import frame_of
from sunrise.estimator import NaiveBayes
from sunrise.information import most_telling


class InformationSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns with most mutual information with the class, under a naive Bayes model of them.

    Parameters
    ----------
    k : int or None, default=None
        How many columns to keep.
    min_bits : float or None, default=None
        Keep columns that tell at least so much.
    estimator : NaiveBayes or None, default=None
        The model whose families give the bits; `NaiveBayes()` if None.

    Examples
    --------
    >>> import numpy as np
    >>> from sunrise import InformationSelector
    >>> X = np.column_stack([np.arange(40) % 3, np.arange(40) // 20])
    >>> InformationSelector(k=1).fit(X, np.arange(40) // 20).get_support()
    array([False,  True])
    """

    bits_: Floats

    def __init__(self, k: int | None = None, *, min_bits: float | None = None, estimator: Any = None) -> None:
        self.k = k
        self.min_bits = min_bits
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model and its bits."""
        model = NaiveBayes() if self.estimator is None else clone(self.estimator)
        model.fit(X, y)
        kept = most_telling(model.mutual_information(), self.k, self.min_bits)
        self.bits_, self._kept = model.mutual_information(), kept
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "bits_")
        mask = np.zeros(len(self.bits_), bool)
        mask[self._kept] = True
        return mask

    def transform(self, X: Any) -> Any:
        """The kept columns of X, in X's own type."""
        keep = np.flatnonzero(self._get_support_mask())
        if isinstance(X, dict):
            names = frame_of(X).names
            return {names[j]: X[names[j]] for j in keep}
        if hasattr(X, "iloc"):
            return X.iloc[:, keep]
        if hasattr(X, "get_columns") or hasattr(X, "column_names"):
            return X[:, keep.tolist()] if hasattr(X, "get_columns") else X.select(keep.tolist())
        return X[:, keep] if hasattr(X, "shape") else np.asarray(X)[:, keep]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
