"""Class priors and class weights: what the user says about the classes themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.numerics.special import log
from sunrise.statistics.model import Stats


def log_share_without(class_weight: Floats, row_weight: Floats) -> Floats:
    """Log of the share of a class's weight that is left without a row: what leaving it out does to the class prior."""
    left = np.maximum(class_weight - row_weight, 0.0)
    return log(left) - log(np.where(class_weight > 0, class_weight, 1.0))


def class_probabilities(wanted: Any, stats: Stats) -> Floats:
    """Probability of every class: "fitted" (or None), "uniform", an array in class order, or a dict by label.

    >>> import numpy as np
    >>> stats = Stats(np.array(["a", "b"]), np.array([3, 1]), np.array([3.0, 1.0]), ())
    >>> class_probabilities("fitted", stats)
    array([0.75, 0.25])
    >>> class_probabilities({"b": 0.9, "a": 0.1}, stats)
    array([0.1, 0.9])
    """
    n = len(stats.classes)
    if wanted is None or isinstance(wanted, str):
        if wanted not in (None, "fitted", "uniform"):
            raise ValueError(f'The class prior is "fitted", "uniform" or probabilities, not {wanted!r}.')
        if wanted == "uniform":
            return np.full(n, 1.0 / n)
        total = stats.weight.sum()
        if not total > 0:
            raise ValueError("Every class has weight 0: there is no class prior to fit. Check class_weight.")
        return np.asarray(stats.weight / total)
    if isinstance(wanted, dict):
        absent = [label for label in stats.classes.tolist() if label not in wanted]
        if absent:
            raise ValueError(
                f"The class prior names no probability for class {absent[0]!r}. Name one for each class."
            )
        _refuse_strangers("The class prior", wanted, stats)
        wanted = [wanted[label] for label in stats.classes.tolist()]
    prior = np.asarray(wanted, dtype=float)
    if prior.shape != (n,):
        raise ValueError(
            f"Number of priors must match number of classes. Got {prior.size} for {n} classes: "
            f"{stats.classes.tolist()}."
        )
    if (prior < 0).any():
        raise ValueError("Priors must be non-negative.")
    if not np.isclose(prior.sum(), 1.0):
        raise ValueError(f"The sum of the priors should be 1. It is {prior.sum():g}.")
    return prior


def class_factors(class_weight: Any, stats: Stats) -> Floats | None:
    """What every class's weight is multiplied by, or None for nothing.

    "balanced" makes all classes weigh the same. Factors act when parameters are derived, so statistics stay
    exact under updates whatever the classes' sizes become.
    """
    if class_weight is None:
        return None
    known = stats.classes.tolist()
    if isinstance(class_weight, str):
        present = stats.rows > 0
        share = np.where(present, present.sum() * stats.weight / stats.weight.sum(), 1.0)
        return np.where(present, 1.0 / share, 0.0)
    if not all(label in class_weight for label in known):  # a misspelt name leaves its class without weight
        _refuse_strangers("class_weight", class_weight, stats)
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not np.isfinite(factors).all() or (factors < 0).any():
        raise ValueError("class_weight must be finite and 0 or more for every class.")
    return factors


def _refuse_strangers(what: str, named: dict[Any, Any], stats: Stats) -> None:
    known = stats.classes.tolist()
    strange = [label for label in named if label not in known]
    if strange:
        raise ValueError(f"{what} names class {strange[0]!r}, which is not among the classes {known}.")
