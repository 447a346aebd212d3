"""Feature selection by mutual information with the class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sunrise._common.arrays import Floats, Mask
from sunrise._common.versioned import VersionedMixin
from sunrise.data.columns import library_of
from sunrise.data.frame import frame_of
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.selection.mutual_information import most_informative

__all__ = ["InformationSelector"]


class InformationSelector(VersionedMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select the columns with the largest mutual information with the class, estimated by a naive Bayes model.

    Parameters
    ----------
    k : int or None, default=None
        Number of columns to select.
    min_bits : float or None, default=None
        Select the columns with at least this mutual information, in bits.
    estimator : NaiveBayes or None, default=None
        The model that estimates the mutual information; None uses `NaiveBayes()`.

    Attributes
    ----------
    bits_ : ndarray of shape (n_features,)
        Mutual information of each column and the class, in bits per row.
    feature_names_in_, n_features_in_ : ndarray of str, int
        Names (if the columns have names) and number of the columns.

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
        """Fit the model and compute the mutual information of every column."""
        model = NaiveBayes() if self.estimator is None else clone(self.estimator)
        bits = model.fit(X, y).feature_importances_
        self.__dict__.pop("feature_names_in_", None)
        self._selected = most_informative(bits, self.k, self.min_bits)
        self.bits_, self.n_features_in_ = bits, model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "bits_")
        mask = np.zeros(len(self.bits_), bool)
        mask[self._selected] = True
        return mask

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X in the type of X; columns are matched by name if they have names."""
        positions = np.flatnonzero(self._get_support_mask()).tolist()
        names = getattr(self, "feature_names_in_", None)
        selected = None if names is None else [names[j] for j in positions]
        if selected is not None and isinstance(X, list) and all(isinstance(row, dict) for row in X):
            return [{name: row.get(name) for name in selected} for row in X]
        if selected is not None and (isinstance(X, dict) or library_of(X) is not None):
            absent = [name for name in selected if name not in frame_of(X).names]
            if absent:
                raise ValueError(
                    f"column {absent[0]!r} was selected in fit and is missing in X. Add it, for example as nulls."
                )
            if isinstance(X, dict):
                return {name: X[name] for name in selected}
            return X[selected] if library_of(X) == "pandas" else X.select(selected)
        rows = X if sparse.issparse(X) or isinstance(X, np.ndarray) else np.array(X, dtype=object)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {rows.shape}, but InformationSelector is expecting {self.n_features_in_} features."
            )
        return rows[:, positions]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
