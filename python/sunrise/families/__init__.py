"""Families: the class-conditional distributions of a column or a block of columns, one file each.

`base.py` defines the base class of a family, `readers.py` how the cells of its columns are read. This folder does not
depend on estimators.
A new family is one file in this folder and one line below.
"""

from sunrise.families.base import FAMILIES
from sunrise.families.bernoulli import Bernoulli as Bernoulli
from sunrise.families.beta import Beta as Beta
from sunrise.families.binned import Binned as Binned
from sunrise.families.categorical import Categorical as Categorical
from sunrise.families.complement import Complement as Complement
from sunrise.families.correlated import Correlated as Correlated
from sunrise.families.dirichlet_multinomial import DirichletMultinomial as DirichletMultinomial
from sunrise.families.exponential import Exponential as Exponential
from sunrise.families.gamma import Gamma as Gamma
from sunrise.families.gaussian import Gaussian as Gaussian
from sunrise.families.geometric import Geometric as Geometric
from sunrise.families.kernel import Kernel as Kernel
from sunrise.families.laplace import Laplace as Laplace
from sunrise.families.lognormal import LogNormal as LogNormal
from sunrise.families.multinomial import Multinomial as Multinomial
from sunrise.families.negative_binomial import NegativeBinomial as NegativeBinomial
from sunrise.families.odds import Odds as Odds
from sunrise.families.poisson import Poisson as Poisson
from sunrise.families.text import Text as Text
from sunrise.families.vonmises import VonMises as VonMises
from sunrise.families.zero_inflated_poisson import ZeroInflatedPoisson as ZeroInflatedPoisson

__all__ = [family.__name__ for family in FAMILIES.values()]
