"""Every export equals `predict_proba`: all families, estimates and calibrations, with missing and unseen cells."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr

CLASSES = np.array(["no", "it's", "maybe ü"])
N = 150


def exact(x):
    """Numbers that float32 holds exactly."""
    return np.round(np.asarray(x, float) * 64.0) / 64.0


def columns(rng, y):
    """Two columns for each kind of number."""
    shift = y[:, None] * [0.7, -0.4]
    n = len(y)
    return {
        "gaussian": exact(rng.normal(shift, 1.0, (n, 2)) + 3.0),
        "positive": exact(np.exp(rng.normal(shift, 0.5, (n, 2)))) + 1 / 64,
        "between": np.clip(exact(rng.beta(1.5 + y[:, None], 2.0, (n, 2))), 1 / 64, 63 / 64),
        "angle": exact(rng.vonmises(shift, 2.0, (n, 2))),
        "count": rng.poisson(np.exp(shift + 0.7), (n, 2)).astype(float),
        "yes": (rng.random((n, 2)) < 0.3 + 0.2 * y[:, None]).astype(float),
    }


FAMILIES = {
    "gaussian": "gaussian",
    "lognormal": "positive",
    "gamma": "positive",
    "exponential": "positive",
    "beta": "between",
    "vonmises": "angle",
    "poisson": "count",
    "geometric": "count",
    "negative_binomial": "count",
    "zero_inflated_poisson": "count",
    "laplace": "gaussian",
    "kernel": "gaussian",
    "binned": "gaussian",
    "bernoulli": "yes",
    "multinomial": "count",
    "complement": "count",
    "odds": "count",
    "dirichlet_multinomial": "count",
}
JOINT = {"multinomial", "complement", "odds", "dirichlet_multinomial"}


def table(rng, kind, n=N, unseen=False):
    y = np.arange(n) % 3
    x = columns(rng, y)[kind]
    colour = np.where(
        rng.random(n) < 0.3, "red", np.array(["b'lue", 'gr"een', "ünseen"])[(y + rng.integers(0, 2, n)) % 3]
    )
    frame = pd.DataFrame({'a "first"': x[:, 0], "sécond'": x[:, 1], "colour": colour.astype(object)})
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    if unseen:
        frame.loc[::7, "colour"] = "never"
        frame.loc[0] = [np.nan, np.nan, None]
        frame.loc[1, "colour"] = None
    frame["colour"] = frame["colour"].astype(object).where(frame["colour"].notna(), None)
    return frame, CLASSES[y]


def families(name, frame):
    own = list(frame.columns[:2])
    return {tuple(own): name} if name in JOINT else dict.fromkeys(own, name)


def fit(name, kind, estimate="mean", calibrate="columns", **settings):
    rng = np.random.default_rng(3)
    X, y = table(rng, kind)
    if name == "dirichlet_multinomial":  # it needs the total of every training row
        X = X.fillna(dict.fromkeys(X.columns[:2], 0.0))
    # SQL and ONNX score rows with missing cells without a block of correlated columns, which has tests of its own.
    settings = {"families": families(name, X), "interactions": "pairs", **settings}
    model = sr.NaiveBayes(estimate=estimate, calibrate=calibrate, **settings).fit(X, y)
    return model, table(rng, kind, 60, unseen=True)[0]


def check(engine, model, X, tolerance=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, labels = model.predict_proba(X), model.predict(X)
    p, label = engine(model, X)
    assert not np.isnan(p).any()
    assert np.abs(p - expected).max() <= max(engine.tolerance, tolerance or 0.0)
    others = np.sort(expected, axis=1)[:, :-1].max(axis=1, initial=0.0)
    sure = expected.max(axis=1) - others > 1e-4
    assert (np.asarray(label)[sure] == labels[sure]).all()


#: Joint blocks have one weight.
CALIBRATIONS = [
    (name, kind)
    for name in FAMILIES
    for kind in (None, "columns", "temperature")
    if not (name in JOINT and kind == "columns")
]


@pytest.mark.parametrize("name, calibrate", CALIBRATIONS)
def test_families(engine, name, calibrate):
    model, X = fit(name, FAMILIES[name], calibrate=calibrate)
    check(engine, model, X, 1e-6 if name == "kernel" else None)


ESTIMATES = {
    "gaussian": ["map", "mle", "predictive"],
    "lognormal": ["map", "mle", "predictive"],
    "exponential": ["mle", "predictive"],
    "poisson": ["map", "mle", "predictive"],
    "geometric": ["mle", "predictive"],
    "bernoulli": ["map", "mle", "predictive"],
    "multinomial": ["mle", "predictive"],
    "complement": ["mle"],
    "kernel": ["mle"],
    "binned": ["mle"],
    "gamma": ["mle"],
    "beta": ["mle"],
}


@pytest.mark.parametrize("name, estimate", [(name, e) for name, all_ in ESTIMATES.items() for e in all_])
def test_estimates(engine, name, estimate):
    model, X = fit(name, FAMILIES[name], estimate, calibrate=None)
    check(engine, model, X, 1e-6 if name == "kernel" else None)


@pytest.mark.parametrize("unseen", ["reserve", "ignore"])
@pytest.mark.parametrize("missing", ["ignore", "level"])
@pytest.mark.parametrize("estimate", ["mean", "mle", "predictive"])
def test_levels(engine, unseen, missing, estimate):
    levels = sr.Categorical(unseen=unseen, missing=missing, min_categories=9 if missing == "level" else None)
    model, X = fit("gaussian", "gaussian", estimate, None, families={"colour": levels})
    check(engine, model, X)


@pytest.mark.parametrize("kind", ["number", "bool"])
def test_levels_that_are_numbers_or_booleans(engine, kind):
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    values = rng.integers(0, 3, 120) + y if kind == "number" else rng.random(120) < 0.3 + 0.4 * y
    others = rng.integers(0, 3, 120) * 0.5 if kind == "number" else rng.random(120) < 0.3 + 0.4 * y
    X = pd.DataFrame({"v": values, "w": others})
    model = sr.NaiveBayes({"v": "categorical", "w": "bernoulli" if kind == "bool" else "categorical"}).fit(
        X, y
    )
    test = pd.DataFrame({"v": [0, 1, 2, 7, None], "w": [0.0, 0.5, 1.0, 9.0, None]})
    if kind == "bool":
        test = pd.DataFrame({"v": [True, False, None], "w": [False, None, True]}, dtype=object)
    check(engine, model, test)


def test_rows_impossible_under_every_class_and_rows_that_say_nothing(engine):
    X = pd.DataFrame({"a": ["p", "p", "q", "q"] * 20, "b": ["r", "r", "s", "s"] * 20})
    y = ["yes", "yes", "no", "no"] * 18 + ["yes"] * 8
    model = sr.NaiveBayes("categorical", estimate="mle", calibrate=None, class_prior=[0.25, 0.75]).fit(
        X[:72], y[:72]
    )
    test = pd.DataFrame({"a": ["p", "p", None, "q"], "b": ["r", "s", None, None]})
    check(engine, model, test)
    offsets = sr.NaiveBayes("categorical", calibrate="columns").fit(X, y)
    assert offsets._model.has_offsets
    check(engine, offsets, test)


@pytest.mark.parametrize(
    "bounds", [{"lower": 0.0}, {"lower": 0.0, "upper": 8.0}, {"lower": 0.0, "boundary": "log"}], ids=str
)
def test_bounded_kernels(engine, bounds):
    y = np.arange(150) % 3
    x = np.clip(columns(np.random.default_rng(2), y)["positive"], 1 / 64, 7.5)
    model = sr.NaiveBayes(sr.Kernel(**bounds)).fit(pd.DataFrame(x, columns=["u", "v"]), y)
    test = pd.DataFrame({"u": [1 / 64, 0.5, 3.0, 7.75, None], "v": [2.0, 7.0, 0.25, None, 1.0]})
    check(engine, model, test, 1e-6)


def test_cells_that_a_chosen_family_excludes_are_missing(engine):
    rng = np.random.default_rng(5)
    y = np.arange(300) % 2
    x = exact(rng.gamma(2.0 + 3.0 * y, 1.0)) + 1 / 64
    X = pd.DataFrame({"x": x, "n": rng.poisson(1.0 + y).astype(float)})
    model = sr.NaiveBayes().fit(X, y)
    assert model._model.schema.lenient(model._model.parts[0]).any()
    check(engine, model, pd.DataFrame({"x": [-1.0, 0.0, 1.0, 400.0], "n": [0.5, 1.0, -2.0, 1e6]}), 1e-6)
