"""Estimators: `NaiveBayes` for tables with mixed column types, and one scikit-learn estimator per single family.

`learning.py` contains the only fit, partial_fit and forget of the library, `algebra.py` the only merge and decay,
`prediction.py` the only predict. The single-family estimators inherit these methods and add a constructor, fitted
attributes and `from_parameters`.
"""

from sunrise.estimators.bernoulli_nb import BernoulliNB
from sunrise.estimators.categorical_nb import CategoricalNB
from sunrise.estimators.complement_nb import ComplementNB
from sunrise.estimators.dirichlet_multinomial_nb import DirichletMultinomialNB
from sunrise.estimators.gaussian_nb import GaussianNB
from sunrise.estimators.kernel_nb import KernelNB
from sunrise.estimators.multinomial_nb import MultinomialNB
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.estimators.poisson_nb import PoissonNB
from sunrise.estimators.text_nb import TextNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "DirichletMultinomialNB",
    "GaussianNB",
    "KernelNB",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
    "TextNB",
]
