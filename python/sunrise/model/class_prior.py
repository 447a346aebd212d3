"""Class priors and class weights, from the settings of the user."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.numerics.special import log
from sunrise.statistics.model import Stats


def log_share_without(class_weight: Floats, row_weight: Floats) -> Floats:
    """Log of (class weight - row weight) / class weight: the change of the log class prior without the row."""
    remaining = np.maximum(class_weight - row_weight, 0.0)
    return log(remaining) - log(np.where(class_weight > 0, class_weight, 1.0))


def class_probabilities(wanted: Any, stats: Stats) -> Floats:
    """Return the probability of every class.

    `wanted` is "fitted" (or None), "uniform", an array in class order, or a dict by label.

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
            raise ValueError(f'The class prior must be "fitted", "uniform" or probabilities, not {wanted!r}.')
        if wanted == "uniform":
            return np.full(n, 1.0 / n)
        total = stats.weight.sum()
        if total == 0 and not stats.rows.any():  # decay has removed all evidence
            return np.full(n, 1.0 / n)
        if not total > 0:
            raise ValueError("Every class has weight 0, so no class prior can be fitted. Check class_weight.")
        return np.asarray(stats.weight / total)
    if isinstance(wanted, dict):
        absent = [label for label in stats.classes.tolist() if label not in wanted]
        if absent:
            raise ValueError(
                f"The class prior has no probability for class {absent[0]!r}. Give one for each class."
            )
        _refuse_unknown_classes("The class prior", wanted, stats)
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
    """Return the factor of the weight of every class; None if there are no class weights.

    "balanced" gives all classes the same total weight. The factors apply when parameters are derived, not to the
    stored statistics, so that statistics stay exact under updates.
    """
    if class_weight is None:
        return None
    known = stats.classes.tolist()
    if isinstance(class_weight, str):
        present = stats.rows > 0
        if not present.any():  # decay has removed all evidence
            return None
        share = np.where(present, present.sum() * stats.weight / stats.weight.sum(), 1.0)
        return np.where(present, 1.0 / share, 0.0)
    if not all(
        label in class_weight for label in known
    ):  # a misspelt label would leave its class without a weight
        _refuse_unknown_classes("class_weight", class_weight, stats)
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not np.isfinite(factors).all() or (factors < 0).any():
        raise ValueError("class_weight must be finite and 0 or more for every class.")
    return factors


def _refuse_unknown_classes(what: str, named: dict[Any, Any], stats: Stats) -> None:
    known = stats.classes.tolist()
    unknown = [label for label in named if label not in known]
    if unknown:
        raise ValueError(f"{what} names class {unknown[0]!r}, which is not among the classes {known}.")
