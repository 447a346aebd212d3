"""Constants for numerical sums and integrals over distributions."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

#: Probabilities whose quantiles split a density into pieces smooth enough for quadrature with a few nodes.
CUTS = ndtr(np.linspace(-8.0, 8.0, 33))

#: Largest number of terms of a sum over the counts of a distribution; longer ranges are summed in steps.
MOST_COUNTS = 100_000
