"""Sunrise: naive Bayes done completely.

>>> import sunrise as sr
>>> model = sr.GaussianNB().fit([[1.0], [1.4], [2.8], [3.1]], ["low", "low", "high", "high"])
>>> model.predict([[2.9]])
array(['high'], dtype='<U4')
"""

from importlib.metadata import version as _version

from sunrise import datasets, engines
from sunrise.estimator import ImpossibleRowWarning
from sunrise.families.bernoulli import BernoulliNB
from sunrise.families.categorical import CategoricalNB
from sunrise.families.complement import ComplementNB
from sunrise.families.gaussian import GaussianNB
from sunrise.families.multinomial import MultinomialNB
from sunrise.moments import LostPrecisionWarning

__version__ = _version("sunrise")

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "ImpossibleRowWarning",
    "LostPrecisionWarning",
    "MultinomialNB",
    "__version__",
    "datasets",
    "engines",
]
