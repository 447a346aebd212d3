"""Sunrise: naive Bayes done completely.

>>> import sunrise as sr
>>> table = {"height": [1.62, 1.71, 1.93, 1.88], "hair": ["long", None, "short", "short"]}
>>> model = sr.NaiveBayes().fit(table, ["a", "a", "b", "b"])
>>> model.predict({"height": 1.9, "hair": "long"})
array(['b'], dtype='<U1')
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from sunrise import datasets, engines
from sunrise.data.align import ColumnNamesWarning
from sunrise.duplicates import DuplicateColumnsWarning
from sunrise.estimator import FirstBatchWarning, ImpossibleRowWarning, NaiveBayes
from sunrise.families.bernoulli import Bernoulli, BernoulliNB
from sunrise.families.beta import Beta
from sunrise.families.binned import Binned
from sunrise.families.categorical import Categorical, CategoricalNB
from sunrise.families.complement import Complement, ComplementNB
from sunrise.families.dirichlet_multinomial import (
    DirichletMultinomial,
    DirichletMultinomialNB,
    NotConvergedWarning,
)
from sunrise.families.exponential import Exponential
from sunrise.families.gamma import Gamma
from sunrise.families.gaussian import Gaussian, GaussianNB
from sunrise.families.geometric import Geometric
from sunrise.families.kernel import Kernel, KernelNB
from sunrise.families.lognormal import LogNormal
from sunrise.families.multinomial import Multinomial, MultinomialNB
from sunrise.families.odds import Odds
from sunrise.families.poisson import Poisson, PoissonNB
from sunrise.families.text import Text, TextNB
from sunrise.families.vonmises import VonMises
from sunrise.moments import LostPrecisionWarning
from sunrise.present import UnseenLevelsWarning

if TYPE_CHECKING:
    from sunrise.select import InformationSelector

__version__ = _version("sunrise")

__all__ = [
    "Bernoulli",
    "BernoulliNB",
    "Beta",
    "Binned",
    "Categorical",
    "CategoricalNB",
    "ColumnNamesWarning",
    "Complement",
    "ComplementNB",
    "DirichletMultinomial",
    "DirichletMultinomialNB",
    "DuplicateColumnsWarning",
    "Exponential",
    "FirstBatchWarning",
    "Gamma",
    "Gaussian",
    "GaussianNB",
    "Geometric",
    "ImpossibleRowWarning",
    "InformationSelector",
    "Kernel",
    "KernelNB",
    "LogNormal",
    "LostPrecisionWarning",
    "Multinomial",
    "MultinomialNB",
    "NaiveBayes",
    "NotConvergedWarning",
    "Odds",
    "Poisson",
    "PoissonNB",
    "Text",
    "TextNB",
    "UnseenLevelsWarning",
    "VonMises",
    "__version__",
    "datasets",
    "engines",
    "plots",
]


def __getattr__(name: str) -> Any:
    if name == "plots":  # few need it, and it needs more than the rest
        from importlib import import_module

        return import_module("sunrise.plots")
    # scikit-learn's selectors take as long to import as all of this package.
    if name == "InformationSelector":
        from sunrise.select import InformationSelector

        return InformationSelector
    raise AttributeError(f"module 'sunrise' has no attribute {name!r}")
