"""Constants for sums and integrals over distributions."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

#: Probabilities at which a density is cut into pieces, each smooth enough to be integrated by a few nodes.
CUTS = ndtr(np.linspace(-8.0, 8.0, 33))

#: Sums over the counts of a distribution have at most this many terms; above it they go in steps.
MOST_COUNTS = 100_000
