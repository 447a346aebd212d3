"""Constants for numerical sums and integrals over distributions."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

#: Probabilities whose quantiles split a density into pieces smooth enough for quadrature with a few nodes.
CUTS = np.array([0.5 * erfc(-z / sqrt(2.0)) for z in np.linspace(-8.0, 8.0, 33).tolist()])

#: Largest number of terms of a sum over the counts of a distribution; longer ranges are summed in steps.
MOST_COUNTS = 100_000
