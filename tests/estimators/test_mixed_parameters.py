"""NaiveBayes from given parameters: every family against its density in SciPy, updates, and wrong arguments."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sunrise as sr
from scipy import stats
from sklearn.base import clone

PARAMETERS = {
    "g": ("gaussian", {"mean": [0.0, 1.0], "sd": [1.0, 2.0]}),
    "h": ("gaussian", {"mean": {"b": 5.0, "a": 4.0}, "sd": 0.5}),
    "l": ("lognormal", {"log mean": [0.0, 1.0], "log sd": 0.5}),
    "y": ("bernoulli", {"yes": [0.2, 0.9]}),
    "c": ("categorical", {"u": [0.5, 0.1], "v": [0.2, 0.8], "w": [0.3, 0.1]}),
    "k": ("categorical", {3: [0.5, 0.1], 1: [0.5, 0.9]}),
    "p": ("poisson", {"rate": [1.0, 3.0]}),
    "e": ("exponential", {"rate": [1.0, 3.0]}),
    "q": ("geometric", {"p": [0.3, 0.6]}),
    "m": ("gamma", {"shape": [2.0, 0.4], "rate": [1.0, 3.0]}),
    "s": ("beta", {"a": [2.0, 0.5], "b": [1.0, 3.0]}),
    "d": ("vonmises", {"direction": [0.0, 2.0], "concentration": [1.0, 3.0]}),
    "z": ("zero_inflated_poisson", {"rate": [2.0, 4.0], "zeros": [0.3, 0.1]}),
    "n": ("negative_binomial", {"mean": [2.0, 4.0], "size": [1.0, 3.0]}),
}
CELLS = {
    "g": 0.7, "h": 4.2, "l": 1.3, "y": 1, "c": "v", "k": 3, "p": 2, "e": 0.4, "q": 1, "m": 0.8, "s": 0.3, "d": 1.1,
    "z": 0, "n": 3,
}  # fmt: skip


def zero_inflated(x, rate, zeros):
    return (1 - zeros) * stats.poisson.pmf(x, rate) + zeros * (x == 0)


TRUTH = {
    "g": [stats.norm.pdf(0.7, 0, 1), stats.norm.pdf(0.7, 1, 2)],
    "h": [stats.norm.pdf(4.2, 4, 0.5), stats.norm.pdf(4.2, 5, 0.5)],
    "l": [stats.lognorm.pdf(1.3, 0.5), stats.lognorm.pdf(1.3, 0.5, scale=np.e)],
    "y": [0.2, 0.9],
    "c": [0.2, 0.8],
    "k": [0.5, 0.1],
    "p": stats.poisson.pmf(2, [1, 3]),
    "e": stats.expon.pdf(0.4, scale=1 / np.array([1, 3])),
    "q": stats.geom.pmf(2, [0.3, 0.6]),
    "m": stats.gamma.pdf(0.8, [2, 0.4], scale=1 / np.array([1, 3])),
    "s": stats.beta.pdf(0.3, [2, 0.5], [1, 3]),
    "d": stats.vonmises.pdf(1.1, [1, 3], [0, 2]),
    "z": [zero_inflated(0, 2, 0.3), zero_inflated(0, 4, 0.1)],
    "n": stats.nbinom.pmf(3, [1, 3], [1 / 3, 3 / 7]),
}


@pytest.mark.parametrize("column", PARAMETERS)
def test_every_family_has_the_given_parameters(column):
    given = {column: PARAMETERS[column]}
    model = sr.NaiveBayes.from_parameters(given, classes=["a", "b"], class_prior=[0.3, 0.7])
    joint = np.array([0.3, 0.7]) * TRUTH[column]
    cell = {column: CELLS[column]}
    np.testing.assert_allclose(model.predict_proba(cell)[0], joint / joint.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(cell), np.log(joint.sum()), rtol=1e-9)
    for name, value in PARAMETERS[column][1].items():
        numbers = [value[c] for c in "ab"] if isinstance(value, dict) else np.broadcast_to(value, 2)
        np.testing.assert_allclose(model.parameters_[column][str(name)], numbers, rtol=1e-8, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")
def test_families_mix_and_missing_cells_are_left_out():
    model = sr.NaiveBayes.from_parameters(PARAMETERS, classes=["b", "a"], class_prior={"a": 0.3, "b": 0.7})
    assert model.classes_.tolist() == ["a", "b"]
    flipped = {
        name: (family, {k: v[::-1] if isinstance(v, list) else v for k, v in values.items()})
        for name, (family, values) in PARAMETERS.items()
    }
    model = sr.NaiveBayes.from_parameters(flipped, classes=["b", "a"], class_prior={"a": 0.3, "b": 0.7})
    joint = np.log([0.3, 0.7]) + sum(np.log(p) for p in TRUTH.values())
    np.testing.assert_allclose(
        model.predict_log_proba(CELLS)[0], joint - np.logaddexp.reduce(joint), rtol=1e-9, atol=1e-9
    )
    joint -= np.log(TRUTH["g"]) + np.log(TRUTH["c"])
    found = model.predict_log_proba({**CELLS, "g": None, "c": "never seen"})[0]
    np.testing.assert_allclose(found, joint - np.logaddexp.reduce(joint), rtol=1e-9, atol=1e-9)
    for copy in (pickle.loads(pickle.dumps(model)), model.select(14)):
        np.testing.assert_array_equal(copy.predict_proba(CELLS), model.predict_proba(CELLS))
    clone(model)
    rows, labels = model.sample(400, random_state=0)
    assert model.score(rows, labels) > 0.97 and set(rows["c"]) == {"u", "v", "w"} and set(rows["k"]) == {1, 3}
    assert "0 of 28 cells missing" in repr(model)


def test_a_block_of_counts_has_given_shares():
    model = sr.NaiveBayes.from_parameters(
        {("u", "v"): ("multinomial", {"u": [0.3, 0.6], "v": [0.7, 0.4]}), "x": PARAMETERS["g"]},
        classes=["a", "b"],
    )
    joint = 0.5 * stats.multinomial.pmf([2, 1], 3, [[0.3, 0.7], [0.6, 0.4]]) * TRUTH["g"]
    np.testing.assert_allclose(
        model.predict_proba({"u": 2, "v": 1, "x": 0.7})[0], joint / joint.sum(), rtol=1e-12
    )


def test_with_rows_the_model_is_updated_as_if_they_had_been_fitted():
    """Rows whose maximum likelihood estimates are the given parameters, then the model of all rows."""
    y = np.repeat(["a", "b"], 8)
    table = {
        "x": np.tile([-1.0, 1.0], 8) * np.repeat([1, 2], 8),
        "n": np.tile([0, 2, 1, 5], 4),
        "k": list("uuuvuvvv") * 2,
    }
    estimates = sr.NaiveBayes(
        {"x": "gaussian", "n": "poisson", "k": "categorical"}, estimate="mle", calibrate=None, unseen="ignore"
    ).fit(table, y)
    found = estimates.parameters_
    model = sr.NaiveBayes.from_parameters(
        {
            "x": ("gaussian", found["x"]),
            "n": ("poisson", found["n"]),
            "k": ("categorical", {level: found["k"][level] for level in "uv"}),
        },
        classes=["a", "b"],
        rows=16,
    )
    more = {"x": [0.5, 3.0], "n": [1, 4], "k": ["u", "v"]}
    both = model + estimates
    assert both.class_count_.tolist() == [16, 16]
    model.partial_fit(more, ["a", "b"])
    estimates.partial_fit(more, ["a", "b"])
    np.testing.assert_allclose(model.predict_proba(table), estimates.predict_proba(table), rtol=1e-10)
    fixed = sr.NaiveBayes.from_parameters({"x": ("gaussian", found["x"])}, classes=["a", "b"])
    for call in (lambda: fixed.partial_fit({"x": [1.0]}, ["a"]), lambda: fixed.interval({"x": [1.0]})):
        with pytest.raises(ValueError, match="without rows="):
            call()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "parameters must be a dict"),
        ({"x": "gaussian"}, "column 'x': 'gaussian' is not a family and its parameters"),
        (
            {"x": ("kernel", {})},
            "column 'x': the family is 'kernel'. Families that parameters can be given for are bernoulli",
        ),
        (
            {"x": ("gaussian", {"mean": 0})},
            "column 'x': gaussian has the parameters 'mean' and 'sd', not 'mean'",
        ),
        ({"x": ("gaussian", {"mean": 0, "sd": [1, 0]})}, "'sd' of class 'b' is 0; it must be above 0"),
        ({"x": ("gaussian", {"mean": [0, 1, 2], "sd": 1})}, r"'mean' is an array of shape \(3,\)"),
        (
            {"x": ("poisson", {"rate": {"a": 1}})},
            r"'rate' has numbers for \['a'\], and the classes are \['a', 'b'\]",
        ),
        (
            {"x": ("negative_binomial", {"mean": [-1, 1], "size": 1})},
            "'mean' of class 'a' is -1; it must be above 0",
        ),
        ({"x": ("vonmises", {"direction": 0, "concentration": -1})}, "'concentration' of class 'a' is -1"),
        ({"x": ("bernoulli", {"yes": [0.5, 1.5]})}, "'yes' of class 'b' is 1.5; it must be from 0 to 1"),
        ({"x": ("categorical", {"u": 0.5, "v": [0.5, 0.4]})}, "the probabilities of class 'b' sum to 0.9"),
        ({"x": ("categorical", {})}, "column 'x' has no probabilities"),
        ({"x": ("multinomial", {"x": 1.0})}, "multinomial is a joint distribution of several columns"),
    ],
)
def test_wrong_parameters_are_named(parameters, said):
    with pytest.raises(ValueError, match=said):
        sr.NaiveBayes.from_parameters(parameters, classes=["a", "b"])


@pytest.mark.parametrize("estimator", [sr.KernelNB, sr.TextNB])
def test_other_estimators_point_to_naive_bayes(estimator):
    with pytest.raises(TypeError, match="Use NaiveBayes.from_parameters"):
        estimator.from_parameters({}, classes=["a"])
