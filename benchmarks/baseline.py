"""scikit-learn baseline for a table of strings and numbers: GaussianNB and CategoricalNB with imputation.

Numbers: SimpleImputer (mean), then GaussianNB. Strings: SimpleImputer, OrdinalEncoder, then CategoricalNB. The joint
log scores of the two models are added, and the class log-prior, which both contain, is subtracted once.

By default missing strings become a separate level (strategy "constant"). This is faster in scikit-learn than
"most_frequent" and reproduces the reference accuracies of benchmarks/tables.py. Both strategies are available.

CategoricalNB raises an IndexError for a level that did not occur in fit. Every column therefore gets a spare code: one
additional level without observations (min_categories), to which the unknown values of OrdinalEncoder are mapped.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder


class Baseline:
    """CategoricalNB + GaussianNB with imputation, on pandas and polars frames."""

    def __init__(self, numbers: list[str], strings: list[str], impute: str = "constant") -> None:
        self.numbers, self.strings, self.impute = numbers, strings, impute

    def fit(self, X: Any, y: Any) -> Self:
        """Fit both models to the columns of a frame."""
        if self.numbers:
            # A column without any number becomes all zeros, which is uninformative. Otherwise it would be dropped.
            self._means = SimpleImputer(strategy="mean", keep_empty_features=True)
            self._gaussian = GaussianNB().fit(self._means.fit_transform(X[self.numbers]), y)
        if self.strings:
            cells, missing = self._cells(X)
            fill = "missing" if self.impute == "constant" else None
            self._fill = SimpleImputer(missing_values=missing, strategy=self.impute, fill_value=fill)
            cells = self._fill.fit_transform(cells)
            self._encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
            codes = self._encoder.fit_transform(cells)
            self._levels = np.array([len(levels) for levels in self._encoder.categories_])
            self._categorical = CategoricalNB(min_categories=self._levels + 1).fit(codes, y)
        self.classes_ = (self._gaussian if self.numbers else self._categorical).classes_
        return self

    def _cells(self, X: Any) -> tuple[Any, Any]:
        """Return the strings as Python objects, and the marker of missing values: None in polars, NaN in pandas."""
        part = X[self.strings]
        if hasattr(part, "iloc"):
            return part.to_numpy(dtype=object, na_value=np.nan), np.nan
        return part.to_numpy(), None

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log P(c) + log P(x | c)."""
        joint: Any = 0.0
        if self.numbers:
            joint = self._gaussian.predict_joint_log_proba(self._means.transform(X[self.numbers]))
        if self.strings:
            codes = self._encoder.transform(self._fill.transform(self._cells(X)[0]))
            codes = np.where(codes < 0, self._levels, codes)
            joint = joint + self._categorical.predict_joint_log_proba(codes)
            if self.numbers:
                joint -= self._categorical.class_log_prior_
        return joint

    def predict_log_proba(self, X: Any) -> Any:
        """Return the log-probabilities of the classes."""
        joint = self.predict_joint_log_proba(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        return np.exp(self.predict_log_proba(X))
