"""The rule that chooses one family of a column among candidates with known scores.

1. The candidates whose mean log-probability of the class is at most half a standard error below the best are kept.
   The standard error is that of the mean difference of both scores over the same rows. If no candidate beats the class
   prior by two standard errors, the column says nothing about the class, and all candidates are kept.
2. Of these, the candidates whose mean log density is at most one standard error below the best are kept.
3. Of these, the simplest is chosen.

The class alone would decide by chance between candidates that predict it equally well: cholesterol would be geometric,
with samples of five times the spread of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.numerics.special import weighted_sum

#: Standard errors: below the best score of the class; above the class prior; below the best density.
OF_CLASS, ABOVE_PRIOR, OF_DENSITY = 0.5, 2.0, 1.0
#: Standard errors below the best score up to which a candidate might be chosen on a part of the rows.
PLAUSIBLE = 1.0
#: Differences of mean scores below this are rounding errors.
_ROUNDING = 1e-10


class Decision(NamedTuple):
    """The position of the chosen candidate, why it was chosen, and which candidates other rows might have chosen."""

    at: int
    reason: str
    plausible: Mask


@np.errstate(invalid="ignore")  # scores may be infinite
def decide(
    names: Sequence[str], of_class: Floats, of_cell: Floats, prior: Floats, weight: Floats
) -> Decision:
    """Choose among candidates, the simplest first; scores are rows x candidates, in nats."""
    gain, error = mean_and_error(of_class - prior[:, None], weight)
    informative = bool((gain > ABOVE_PRIOR * error + _ROUNDING).any())
    kept = within(of_class, gain, weight, OF_CLASS) if informative else np.ones(len(names), bool)
    density = weighted_sum(weight, of_cell) / weight.sum()
    density = np.where(kept & ~np.isnan(density), density, -np.inf)
    scores, means = (of_class, gain) if informative else (of_cell, density)
    plausible = within(scores, means, weight, PLAUSIBLE)
    near = within(of_cell, density, weight, OF_DENSITY) & kept
    at = int(np.argmax(near))
    if not informative:
        best = "best density" if at == np.argmax(density) else "simplest of the best densities"
        return Decision(at, f"says nothing about the class beyond chance; {best}", plausible)
    text = f"{gain[at]:.3f} nats per row above the prior"
    other = max((k for k in range(len(names)) if k != at), key=lambda k: gain[k])
    more, its_error = mean_and_error(of_class[:, [at]] - of_class[:, [other]], weight)
    side = "above" if more[0] >= 0 else "below"
    text += f", {abs(more[0]):.3f}+-{its_error[0]:.3f} {side} {names[other]}"
    if more[0] < 0:
        text += "; better density" if density[at] > density[other] else "; simpler"
    return Decision(at, text, plausible)


def mean_and_error(scores: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the means of scores over the rows and their standard errors; a row of weight k counts as k rows."""
    total = weight.sum()
    mean = weighted_sum(weight, scores) / total
    error = np.sqrt(weighted_sum(weight, np.square(scores - mean))) / total
    return np.asarray(mean), np.where(np.isfinite(error), error, 0.0)


def within(scores: Floats, mean: Floats, weight: Floats, errors: float) -> Mask:
    """Return the mask of candidates whose mean score is within some standard errors of the best."""
    best = int(np.argmax(mean))
    less, error = mean_and_error(scores[:, [best]] - scores, weight)
    return np.asarray(np.isfinite(mean) & (less <= errors * error + _ROUNDING))
