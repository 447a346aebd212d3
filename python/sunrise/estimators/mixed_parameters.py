"""Models of several families from given parameters: statistics whose maximum likelihood estimates they are.

A family derives its parameters from the mean of each of its terms, so parameters become statistics by the expectations
of these terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, i0e, i1e, polygamma

from sunrise._common.arrays import Floats
from sunrise.data.levels import name_of
from sunrise.estimators.given_parameters import Given
from sunrise.families.base import FAMILIES
from sunrise.model.choice import Choice
from sunrise.model.schema import Schema
from sunrise.statistics.counts import Counts
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums

#: Smallest and largest value of a parameter, by its name.
BOUNDS = {
    "yes": (0.0, 1.0),
    "zeros": (0.0, 1.0),
    "p": (1e-300, 1.0),
    "share": (0.0, 1.0),
    "concentration": (0.0, np.inf),
}
POSITIVE = ("sd", "log sd", "rate", "shape", "a", "b", "size")


class Terms(NamedTuple):
    """The parameters of a family, and the expectations of its terms as a function of the parameters."""

    parameters: tuple[str, ...]
    means: Callable[..., tuple[Any, ...]]
    #: Variances of the terms, for families whose statistics are moments.
    variances: Callable[..., tuple[Any, ...]] | None = None


def _von_mises(direction: Floats, concentration: Floats) -> tuple[Any, ...]:
    length = i1e(concentration) / i0e(concentration)
    return length * np.cos(direction), length * np.sin(direction)


#: Families whose statistics are sums of terms; the parameters have the names that `parameters_` shows.
TERMS = {
    "bernoulli": Terms(("yes",), lambda yes: (yes,)),
    # The mean of log x! is unknown without the counts themselves; only the evidence needs it.
    "poisson": Terms(("rate",), lambda rate: (rate, np.full_like(rate, np.nan))),
    "exponential": Terms(("rate",), lambda rate: (1.0 / rate,)),
    "geometric": Terms(("p",), lambda p: ((1.0 - p) / p,)),
    "gamma": Terms(
        ("shape", "rate"),
        lambda shape, rate: (shape / rate, digamma(shape) - np.log(rate)),
        lambda shape, rate: (shape / rate**2, polygamma(1, shape)),
    ),
    "beta": Terms(("a", "b"), lambda a, b: (digamma(a) - digamma(a + b), digamma(b) - digamma(a + b))),
    "vonmises": Terms(("direction", "concentration"), _von_mises),
    "zero_inflated_poisson": Terms(
        ("rate", "zeros"),
        lambda rate, zeros: ((1.0 - zeros) * rate, zeros + (1.0 - zeros) * np.exp(-rate)),
    ),
    "negative_binomial": Terms(
        ("mean", "size"), lambda mean, size: (mean, mean + mean * mean * (1.0 + 1.0 / size))
    ),
}
#: Families of numbers whose statistics are moments.
MOMENTS = {"gaussian": ("mean", "sd"), "lognormal": ("log mean", "log sd")}
NAMES = sorted([*TERMS, *MOMENTS, "categorical", "multinomial"])


def schema_and_blocks(parameters: Any, given: Given) -> tuple[Schema, tuple[Any, ...]]:
    """Return the schema and the statistics of a model with these parameters; see `NaiveBayes.from_parameters`."""
    if not isinstance(parameters, dict) or not parameters:
        raise ValueError(
            'parameters must be a dict, as in {"x": ("gaussian", {"mean": [0, 1], "sd": [1, 1]})}.'
        )
    names: list[Any] = []
    choices: list[Choice] = []
    statistics: dict[int, Any] = {}
    for key, entry in parameters.items():
        if not (isinstance(entry, tuple | list) and len(entry) == 2 and isinstance(entry[1], dict)):
            raise ValueError(
                f'column {key!r}: {entry!r} is not a family and its parameters. Give a pair, as in ("gaussian", '
                '{"mean": [0, 1], "sd": [1, 1]}).'
            )
        family, values = entry
        if family not in NAMES:
            raise ValueError(
                f"column {key!r}: the family is {family!r}. Families that parameters can be given for are "
                f"{', '.join(NAMES)}."
            )
        columns, kind = [key], "number"
        if family == "multinomial":
            columns = _columns_of_block(key, values)
            block = _shares(key, values, given)
            statistics[len(names)] = Sums(
                given.block_rows, given.observed_weight, block * given.observed_weight
            )
        elif family == "categorical":
            kind = _kind(list(values))
            statistics[len(names)] = _level_counts(key, values, given)
        else:
            statistics[len(names)] = _statistics(key, family, values, given)
        names += columns
        together = key if family == "multinomial" else None
        choices += [Choice(FAMILIES[family](), "given with its parameters", together, kind=kind)] * len(
            columns
        )
    if len(set(names)) < len(names):
        raise ValueError("parameters names a column twice. Name every column once.")
    schema = Schema(tuple(names), tuple(choices))
    blocks = []
    for part in schema.parts:
        own = [statistics[j] for j in part.columns if j in statistics]
        blocks.append(type(own[0]).concatenate(own) if len(own) > 1 else own[0])
    return schema, tuple(blocks)


def _numbers(column: Any, name: str, value: Any, given: Given, positive: bool = False) -> Floats:
    """Return a parameter as one number per class, in the order of the sorted classes: classes x 1."""
    labels = given.classes.tolist()
    lowest, highest = BOUNDS.get(name, (-np.inf, np.inf))
    if isinstance(value, dict):
        if set(value) != set(labels):
            raise ValueError(
                f"column {column!r}: {name!r} has numbers for {list(value)}, and the classes are {labels}."
            )
        numbers = np.array([value[label] for label in labels], dtype=float)
    elif np.ndim(value) == 0:
        numbers = np.full(len(labels), float(value))
    else:
        numbers = np.asarray(value, dtype=float)
        if numbers.shape != (len(labels),):
            raise ValueError(
                f"column {column!r}: {name!r} is an array of shape {numbers.shape}. Give one number for each of the "
                f"{len(labels)} classes, in the order of classes, or a dict by class."
            )
        numbers = numbers[given.order]
    bad = ~(np.isfinite(numbers) & (numbers >= lowest) & (numbers <= highest))
    wanted = "finite" if np.isinf(lowest) else f"from {lowest:g} to {highest:g}"
    if positive or name in POSITIVE:
        bad, wanted = bad | (numbers <= 0.0), "above 0"
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"column {column!r}: {name!r} of class {labels[k]!r} is {numbers[k]:g}; it must be {wanted}."
        )
    return numbers[:, None]


def _statistics(column: Any, family: str, values: dict[str, Any], given: Given) -> Any:
    """Return the statistics of one column whose parameters are the maximum likelihood: the given values."""
    wanted = MOMENTS[family] if family in MOMENTS else TERMS[family].parameters
    if set(values) != set(wanted):
        raise ValueError(
            f"column {column!r}: {family} has the parameters {' and '.join(map(repr, wanted))}, not "
            f"{' and '.join(map(repr, values))}."
        )
    is_count = family == "negative_binomial"  # its mean is one of counts
    numbers = [_numbers(column, name, values[name], given, is_count) for name in wanted]
    rows, weight = given.block_rows, given.observed_weight
    if family in MOMENTS:
        mean, sd = numbers
        return Moments.about_mean(rows, weight, mean, sd * sd * weight)
    terms = TERMS[family]
    means = np.concatenate(terms.means(*numbers), axis=1)
    if terms.variances is not None:
        return Moments.about_mean(
            rows, weight, means, np.concatenate(terms.variances(*numbers), axis=1) * weight
        )
    sums = means * weight
    signed = any(view.signed for view in FAMILIES[family]().fit_support.views)
    return Sums(rows, weight, sums, np.zeros_like(sums) if signed else None)


def _shares(column: Any, values: dict[Any, Any], given: Given) -> Floats:
    """Return probabilities by level or by column, classes x levels; they must sum to 1 in every class."""
    if not values:
        raise ValueError(f"column {column!r} has no probabilities. Give one for each class and level.")
    table = np.concatenate([_numbers(column, "share", value, given) for value in values.values()], axis=1)
    wrong = ~np.isclose(table.sum(axis=1), 1.0)
    if wrong.any():
        c = int(np.argmax(wrong))
        raise ValueError(
            f"column {column!r}: the probabilities of class {given.classes.tolist()[c]!r} sum to {table[c].sum():g}; "
            "they must sum to 1."
        )
    return table


def _level_counts(column: Any, values: dict[Any, Any], given: Given) -> Counts:
    """Return the counts of the levels of a categorical column."""
    weight = _shares(column, values, given) * given.observed_weight
    names = np.array([name_of(level) for level in values], dtype=object)
    order = np.argsort(names)
    if len(set(names.tolist())) < len(names):
        raise ValueError(
            f"column {column!r}: two levels have the same name {sorted(names)[0]!r}. Name each once."
        )
    rows = np.broadcast_to(given.block_rows, weight.shape).copy()
    return Counts(np.array([0, len(names)]), names[order], rows, weight[:, order])


def _columns_of_block(key: Any, values: dict[Any, Any]) -> list[Any]:
    """Return the columns of a multinomial block."""
    if not isinstance(key, tuple) or list(values) != list(key):
        raise ValueError(
            f"column {key!r}: multinomial is a joint distribution of several columns. Name all of them in a tuple, and "
            'give the share of each: {("a", "b"): ("multinomial", {"a": [0.3, 0.6], "b": [0.7, 0.4]})}.'
        )
    return list(key)


def _kind(levels: list[Any]) -> str:
    """Return the kind of cells that have these levels."""
    if all(isinstance(level, bool | np.bool_) for level in levels):
        return "bool"
    is_number = all(isinstance(level, int | float | np.number) for level in levels)
    return "number" if is_number else "level"
