"""The best that scikit-learn has for a table of strings and numbers: two naive Bayes models behind imputation.

Numbers: SimpleImputer (mean), then GaussianNB. Strings: SimpleImputer, OrdinalEncoder, then CategoricalNB. The joint
log scores of the two add up, less the class log-prior that both hold.

Missing strings become a level of their own (strategy "constant"), which is kinder to scikit-learn than "most_frequent"
in time, and gives the reference accuracies of benchmarks/tables.py; both can be chosen.

CategoricalNB raises an IndexError for a level it has not seen, so every column gets a spare code: it counts as one
more level of which there are none (min_categories), and OrdinalEncoder's unknown values are moved to it.
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
        """Fit to the columns of a frame."""
        if self.numbers:
            # A column without any number is all zeros, which says nothing; without this it would be dropped.
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
        """The strings as Python objects, and what is missing among them: None in polars, NaN in pandas."""
        part = X[self.strings]
        if hasattr(part, "iloc"):
            return part.to_numpy(dtype=object, na_value=np.nan), np.nan
        return part.to_numpy(), None

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Log P(c) + log P(x | c)."""
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
        """Log-probabilities of the classes."""
        joint = self.predict_joint_log_proba(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes."""
        return np.exp(self.predict_log_proba(X))
