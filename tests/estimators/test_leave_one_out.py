"""Leave-one-out against its meaning: for every row a model is fitted to the others, and asked for that row.

Whatever the model chose from all rows (families, levels, priors, alphas, floors, class weights) is given to those
models as numbers.
"""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from plain import NaiveBayes
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sunrise import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    engines,
)
from sunrise.families.base import FAMILIES

every_engine = pytest.mark.parametrize("engine", engines.ENGINES)


def examples(n):
    """So many examples; smaller ones would not tell more, since rows are drawn from a seed."""
    return settings(max_examples=n, phases=(Phase.explicit, Phase.generate))


seeds = st.integers(0, 10_000)


# The truth: one fit for every row.


def is_missing(cell):
    return cell is None or cell != cell


def taken(X, rows):
    """Some rows of a dict of columns, or of a matrix, which is then dense."""
    if isinstance(X, dict):
        return {name: column[rows] for name, column in X.items()}
    return (X.toarray() if sparse.issparse(X) else X)[rows]


def declared(X, w, filled=()):
    """Columns of strings as categories: all levels that have a row stay possible, and "missing" in some columns."""
    if not isinstance(X, dict):
        return X

    def column(name, cells):
        if cells.dtype != object:
            return cells
        if name in filled:
            cells = np.array(["missing" if is_missing(cell) else cell for cell in cells], dtype=object)
        levels = sorted(
            {cell for cell, weight in zip(cells, w, strict=True) if weight and not is_missing(cell)}
        )
        return pd.Categorical(cells, categories=levels)

    return {name: column(name, cells) for name, cells in X.items()}


def filled_columns(model):
    """The columns whose missing cells are a level of their own."""
    if type(model) is not sr.NaiveBayes:
        return ()
    return [
        name for name, family in model.fixed_families_.items() if getattr(family, "missing", "") == "level"
    ]


def factors(class_weight, y, w):
    """The weights of the classes as numbers."""
    if class_weight != "balanced":
        return class_weight
    total = {c: w[y == c].sum() for c in sorted(set(y[w > 0]))}
    return {c: w.sum() / len(total) / weight for c, weight in total.items()}


def as_numbers(model):
    """The families of a model with their priors, alphas and floors as numbers."""
    found = {}
    for key, family in model.fixed_families_.items():
        columns = key if isinstance(key, tuple) else (key,)
        if hasattr(family, "alpha"):
            alphas = [chosen.value for names, chosen in model.chosen_.items() if set(columns) <= set(names)]
            family = replace(family, alpha=alphas[0]) if alphas else family
        if getattr(family, "missing", None) == "level":
            family = replace(family, missing="ignore")  # their tables have no missing cells
        if family.joint:
            found[columns] = family
        elif hasattr(family, "prior") and not getattr(family, "laplace", False):
            found |= {name: replace(family, prior=model.prior_[name]) for name in columns}
        else:
            found |= dict.fromkeys(columns, family)
    return found


def restricted(prior, classes):
    """A class prior for some of the classes."""
    if prior is None or isinstance(prior, str):
        return prior
    return {c: prior[c] / sum(prior[d] for d in classes) for c in classes}


def frozen(model, class_weight, classes):
    """A model like this one for some of its classes, in which nothing is left to be chosen."""
    own = model.get_params() | {"class_weight": class_weight}
    if isinstance(model, GaussianNB):
        floor = {"laplace": True} if model.laplace else {"epsilon": float(model.epsilon_)}
        family = sr.Gaussian(**floor, shared_variance=model.shared_variance)
        prior = "fitted" if model.priors is None else restricted(model.priors, classes)
        return NaiveBayes(family, class_prior=prior, class_weight=class_weight)
    own["class_prior"] = restricted(own["class_prior"], classes)
    if type(model) is sr.NaiveBayes:
        own["families"] = as_numbers(model)
    if "alpha" in own and own["alpha"] == "evidence":
        own["alpha"] = next(iter(model.chosen_.values())).value
    if isinstance(model, CategoricalNB):
        own["min_categories"] = np.maximum(model.n_categories_, 1)
    return type(model)(**own)


def by_refits(model, X, y, w=None):
    """Log-probabilities of every row by a model of the other rows; NaN where these cannot be fitted."""
    n, y, classes = len(y), np.asarray(y), model.classes_.tolist()
    w = np.ones(n) if w is None else w
    class_weight, X = factors(model.class_weight, y, w), declared(X, w, filled_columns(model))
    found = np.full((n, len(classes)), -np.inf)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        if not w[rest].any():
            continue
        other = frozen(model, class_weight, sorted(set(y[rest][w[rest] > 0].tolist())))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # impossible rows and unseen levels are not the point here
            try:
                other.fit(taken(X, rest), y[rest], w[rest])
            except ValueError as error:
                if "fewer than two different values" not in str(error):
                    raise
                found[i] = np.nan
                continue
            log_proba = other.predict_log_proba(taken(X, [i]))[0]
        found[i, [classes.index(c) for c in other.classes_.tolist()]] = log_proba
    return found


def assert_left_out(model, X, y, w=None, tolerance=1e-10):
    truth = by_refits(model, X, y, w)
    fitted = ~np.isnan(truth).any(axis=1)
    assert fitted.any()
    found = model.leave_one_out(X, y, w)
    assert not np.isnan(found).any()
    np.testing.assert_allclose(found[fitted], truth[fitted], rtol=tolerance, atol=tolerance)


# Rows of all kinds


CELLS = {
    "gaussian": lambda rng, n: np.round(rng.normal(3.0, 2.0, n), 3),
    "lognormal": lambda rng, n: np.round(rng.gamma(2.0, 2.0, n), 3) + 0.1,
    "exponential": lambda rng, n: np.round(rng.gamma(1.0, 2.0, n), 3),
    "gamma": lambda rng, n: np.round(rng.gamma(2.0, 2.0, n), 3) + 0.1,
    "beta": lambda rng, n: np.round(rng.beta(2.0, 3.0, n), 3) * 0.98 + 0.01,
    "vonmises": lambda rng, n: np.round(rng.vonmises(1.0, 1.0, n), 3),
    "poisson": lambda rng, n: rng.poisson(1.5, n).astype(float),
    "geometric": lambda rng, n: rng.geometric(0.4, n) - 1.0,
    "negative_binomial": lambda rng, n: rng.poisson(rng.gamma(0.7, 3.0, n)).astype(float),
    "zero_inflated_poisson": lambda rng, n: rng.poisson(2.0, n) * (rng.random(n) < 0.6).astype(float),
    "laplace": lambda rng, n: np.round(rng.laplace(3.0, 2.0, n), 2),
    "bernoulli": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "categorical": lambda rng, n: rng.choice(np.array(list("uvwxyz"), dtype=object), n),
    "binned": lambda rng, n: np.round(rng.normal(3.0, 2.0, n), 1),
}

FAMILIES = {
    **{name: FAMILIES[name]() for name in CELLS},
    # The last bin is empty, so that a cell that was never fitted can be told.
    "binned": sr.Binned([1.0, 3.0, 4.5, 1e5]),
    "binned-evidence": sr.Binned([0.0, 2.0, 4.0], alpha="evidence"),
    "binned-frequency": sr.Binned("frequency", 4, 0.5),
    "binned-mdl": sr.Binned("mdl"),
    "gaussian-given": sr.Gaussian(prior=(1.0, 0.5, 2.5, 2.0)),
    "gaussian-evidence": sr.Gaussian(prior="evidence"),
    "gaussian-shared": sr.Gaussian(shared_variance=True),
    "gaussian-laplace": sr.Gaussian(laplace=True),
    "poisson-evidence": sr.Poisson(prior="evidence"),
    "exponential-given": sr.Exponential(prior_shape=2.0, prior_rate=3.0),
    "bernoulli-evidence": sr.Bernoulli("evidence"),
    "bernoulli-two": sr.Bernoulli(2.0, beta=0.5),
    "categorical-evidence": sr.Categorical("evidence"),
    "categorical-own": sr.Categorical({"u": 3.0, "v": 0.5}),
    "categorical-missing": sr.Categorical(missing="level"),
    "categorical-many": sr.Categorical(0.5, min_categories=9),
}
every_family = pytest.mark.parametrize("kind", FAMILIES)
every_plain_family = pytest.mark.parametrize("kind", CELLS)


@dataclass
class Rows:
    """A dict of columns, with labels and weights."""

    X: dict
    y: np.ndarray
    w: np.ndarray | None = None

    def fitted(self, families, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sr.ImpossibleRowWarning)
            return NaiveBayes(families, **settings).fit(self.X, self.y, self.w)


def drawn(kinds, seed, missing=0.0, least=2, weighted=False):
    """Two to four classes of at least so many rows; the first of each is complete."""
    rng = np.random.default_rng(seed)
    classes = list("abcd")[: rng.integers(2, 5)]
    y = np.array(classes * least + rng.choice(classes, rng.integers(1, 5)).tolist(), dtype="<U4")
    X = {}
    for j, kind in enumerate(kinds):
        cells = CELLS[kind.split("-")[0]](rng, len(y))
        gone = (rng.random(len(y)) < missing) & (np.arange(len(y)) >= len(classes))
        cells[gone] = None if cells.dtype == object else np.nan
        X[f"{kind}{j}"] = cells
    order = rng.permutation(len(y))
    w = rng.choice([0.5, 1.0, 2.0, 3.0], len(y)) if weighted else None
    return Rows(taken(X, order), y[order], w)


def of(kinds, X):
    return {name: FAMILIES[kind] for name, kind in zip(X, kinds, strict=True)}


class_priors = st.sampled_from(["fitted", "uniform", "given"])
class_weights = st.sampled_from([None, "balanced", "given"])


def about_classes(prior, weight, y):
    """The settings of that name, for these labels."""
    classes = sorted(set(y.tolist()))
    numbers = {c: 1.0 + k for k, c in enumerate(classes)}
    given_prior = {c: v / sum(numbers.values()) for c, v in numbers.items()}
    return {
        "class_prior": given_prior if prior == "given" else prior,
        "class_weight": {c: 2.0 ** (1 - k) for k, c in enumerate(classes)} if weight == "given" else weight,
    }


# Every family alone, and all of them together


@every_family
@given(
    seed=seeds,
    missing=st.sampled_from([0.0, 0.3]),
    estimate=st.sampled_from(["mean", "predictive"]),
    prior=class_priors,
    weight=class_weights,
    weighted=st.booleans(),
)
@examples(10)
def test_a_family_leaves_out_as_if_it_were_fitted_without_the_row(
    kind, seed, missing, estimate, prior, weight, weighted
):
    rows = drawn([kind], seed, missing, weighted=weighted)
    model = rows.fitted(of([kind], rows.X), estimate=estimate, **about_classes(prior, weight, rows.y))
    assert_left_out(model, rows.X, rows.y, rows.w)


#: Families whose mode is never at a corner.
CORNERED = ("categorical-", "binned-")
RISING = [k for k in FAMILIES if not k.startswith(CORNERED) or k == "categorical-missing"]


@pytest.mark.parametrize("kind", RISING)
@given(seed=seeds, missing=st.sampled_from([0.0, 0.3]), weighted=st.booleans(), prior=class_priors)
@examples(6)
def test_a_family_at_the_mode_leaves_out_as_if_it_were_fitted_without_the_row(
    kind, seed, missing, weighted, prior
):
    rows = drawn([kind], seed, missing, weighted=weighted)
    model = rows.fitted(of([kind], rows.X), estimate="map", **about_classes(prior, None, rows.y))
    assert_left_out(model, rows.X, rows.y, rows.w)


CORNERS = {
    "bernoulli": sr.Bernoulli(0.3),
    "categorical": sr.Categorical(0.3),
    "multinomial": sr.Multinomial(0.3),
}


@pytest.mark.parametrize("kind", CORNERS)
@given(seed=seeds, weighted=st.booleans())
@examples(10)
def test_a_mode_at_a_corner_is_where_it_would_be_without_the_row(kind, seed, weighted):
    rows = drawn(["poisson" if kind == "multinomial" else kind] * 2, seed, weighted=weighted)
    rows.w = None if rows.w is None else rows.w / 4.0
    model = rows.fitted({tuple(rows.X): CORNERS[kind]}, estimate="map")
    assert_left_out(model, rows.X, rows.y, rows.w)


@every_plain_family
@given(seed=seeds, weighted=st.booleans(), weight=st.sampled_from([None, "given"]))
@examples(6)
def test_a_family_without_a_prior_leaves_out_as_if_it_were_fitted_without_the_row(
    kind, seed, weighted, weight
):
    rows = drawn([kind], seed, least=4, weighted=weighted)
    model = rows.fitted(of([kind], rows.X), estimate="mle", **about_classes("fitted", weight, rows.y))
    assert_left_out(model, rows.X, rows.y, rows.w)


@pytest.mark.parametrize("kind", ["gaussian", "lognormal", "gamma", "beta", "vonmises"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_class_without_a_prior_that_is_left_without_spread_leaves_probabilities(kind, weighted):
    rows = drawn([kind, "bernoulli"], 3, least=2, weighted=weighted)
    model = rows.fitted(of([kind, "bernoulli"], rows.X), estimate="mle")
    found = model.leave_one_out(rows.X, rows.y, rows.w)
    assert not np.isnan(found).any()
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-12)


mixtures = st.lists(st.sampled_from([k for k in FAMILIES if k != "gaussian-laplace"]), min_size=2, max_size=5)


@every_engine
@given(
    kinds=mixtures,
    seed=seeds,
    missing=st.sampled_from([0.0, 0.4]),
    estimate=st.sampled_from(["mean", "predictive"]),
    prior=class_priors,
    weight=class_weights,
    weighted=st.booleans(),
)
@examples(15)
def test_mixed_tables_with_missing_cells_leave_out_as_if_fitted_without_the_row(
    engine, kinds, seed, missing, estimate, prior, weight, weighted
):
    rows = drawn(kinds, seed, missing, weighted=weighted)
    with engines.using(engine):
        model = rows.fitted(of(kinds, rows.X), estimate=estimate, **about_classes(prior, weight, rows.y))
        assert_left_out(model, rows.X, rows.y, rows.w)


@pytest.mark.parametrize("joint", ["multinomial", "complement"])
@given(
    seed=seeds, missing=st.sampled_from([0.0, 0.3]), estimate=st.sampled_from(["mean", "map", "predictive"])
)
@examples(8)
def test_a_block_of_counts_beside_other_columns_leaves_out_as_if_fitted_without_the_row(
    joint, seed, missing, estimate
):
    rows = drawn(["poisson", "poisson", "poisson", "gaussian", "categorical"], seed, missing)
    names = list(rows.X)
    families = {tuple(names[:3]): joint, names[3]: "gaussian", names[4]: "categorical"}
    assert_left_out(rows.fitted(families, estimate=estimate), rows.X, rows.y)


@pytest.mark.parametrize("unseen", ["reserve", "ignore", "error"])
@given(seed=seeds, alpha=st.sampled_from([1.0, 0.3]))
@examples(8)
def test_levels_stay_when_their_only_row_is_left_out(unseen, seed, alpha):
    rows = drawn(["categorical"], seed)
    rows.X["categorical0"][0] = "only here"
    model = rows.fitted(sr.Categorical(alpha), unseen=unseen)
    assert_left_out(model, rows.X, rows.y)


def test_the_only_row_with_its_level_is_counted_0_times():
    model = NaiveBayes(unseen="ignore").fit({"k": ["u", "v", "v", "w"]}, ["a", "a", "b", "b"])
    # Without the row: a has v once, b has v and w, each with one more of all three levels; a has one row of three.
    odds = (1 / 3 * 1 / 4) / (2 / 3 * 1 / 5)
    found = model.leave_one_out({"k": ["u"]}, ["a"])[0]
    np.testing.assert_allclose(np.exp(found), [odds / (1 + odds), 1 / (1 + odds)], rtol=1e-14)


# The single-family estimators, dense and sparse


def as_they_come(X, rng):
    """Sparse rows with cells in any order, counts in several parts, and zeros that are stored."""
    cells = []
    for (i, j), x in np.ndenumerate(X):
        parts = [x]
        if x > 1 and rng.random() < 0.5:
            parts = [x - 1.0, 1.0]
        elif x == 0:
            parts = [0.0] * int(rng.integers(0, 2))
        cells += [(i, rng.random(), j, part) for part in parts]
    row, _, column, data = (np.array(part) for part in zip(*sorted(cells), strict=True))
    indptr = np.searchsorted(row, np.arange(len(X) + 1))
    return sparse.csr_array((data, column, indptr), shape=X.shape)


LAYOUTS = {
    "dense": lambda X, rng: X,
    "sparse": lambda X, rng: sparse.csr_array(X),
    "sparse as it comes": as_they_come,
}

FIVE = {
    "gaussian": (GaussianNB, {"var_smoothing": 1e-3}),
    "gaussian-laplace": (GaussianNB, {"laplace": True}),
    "gaussian-shared": (GaussianNB, {"shared_variance": True}),
    "bernoulli": (BernoulliNB, {}),
    "bernoulli-above": (BernoulliNB, {"binarize": 1.0, "alpha": 0.3}),
    "bernoulli-evidence": (BernoulliNB, {"alpha": "evidence"}),
    "multinomial": (MultinomialNB, {}),
    "multinomial-evidence": (MultinomialNB, {"alpha": "evidence"}),
    "complement": (ComplementNB, {}),
    "complement-norm": (ComplementNB, {"norm": True, "alpha": 0.5}),
    "categorical": (CategoricalNB, {}),
    "categorical-reserve": (CategoricalNB, {"unseen": "reserve", "min_categories": 5}),
    "categorical-evidence": (CategoricalNB, {"alpha": "evidence"}),
    "poisson": (PoissonNB, {}),
}
every_estimator = pytest.mark.parametrize("kind", FIVE)


def matrix(kind, seed, missing, least=3):
    """Rows that a single-family estimator takes; of each class the first is complete."""
    rng = np.random.default_rng(seed)
    classes = list("abcd")[: rng.integers(2, 5)]
    y = np.array(classes * least + rng.choice(classes, rng.integers(1, 5)).tolist())
    X = rng.poisson(1.2, (len(y), rng.integers(1, 5))).astype(float)
    if kind.startswith("gaussian"):
        X = np.round(X + rng.normal(size=X.shape), 3)
    X[(rng.random(X.shape) < missing) & (np.arange(len(y))[:, None] >= len(classes))] = np.nan
    order = rng.permutation(len(y))
    return X[order], y[order], rng


def estimator(kind, prior="fitted", class_weight=None):
    cls, own = FIVE[kind]
    if cls is GaussianNB:
        return cls(**own, priors=prior, class_weight=class_weight)
    if cls is PoissonNB:
        return cls(**own, class_prior=prior, class_weight=class_weight)
    given = None if isinstance(prior, str) else prior
    return cls(**own, fit_prior=prior == "fitted", class_prior=given, class_weight=class_weight)


@every_estimator
@pytest.mark.parametrize("layout", LAYOUTS)
@given(
    seed=seeds,
    missing=st.sampled_from([0.0, 0.3]),
    prior=class_priors,
    weight=class_weights,
    weighted=st.booleans(),
    engine=st.sampled_from(list(engines.ENGINES)),
)
@examples(4)
def test_the_estimators_of_one_family_leave_out_as_if_fitted_without_the_row(
    kind, layout, seed, missing, prior, weight, weighted, engine
):
    X, y, rng = matrix(kind, seed, missing)
    about = about_classes(prior, weight, y)
    w = rng.choice([0.5, 1.0, 2.0, 3.0], len(y)) if weighted else None
    X = LAYOUTS[layout](X, rng)
    with engines.using(engine):
        model = estimator(kind, about["class_prior"], about["class_weight"]).fit(X, y, w)
        assert_left_out(model, X, y, w)


UNSMOOTHED = {
    "bernoulli": BernoulliNB(alpha=0),
    "categorical": CategoricalNB(alpha=0),
    "multinomial": MultinomialNB(alpha=0),
    "complement": ComplementNB(alpha=0),
    "complement-norm": ComplementNB(alpha=0, norm=True),
    "poisson": PoissonNB(prior_shape=0.0, prior_rate=0.0),
    "gaussian": GaussianNB(var_smoothing=0.0),
}


@pytest.mark.parametrize("kind", UNSMOOTHED)
@pytest.mark.parametrize("layout", LAYOUTS)
@given(seed=seeds, missing=st.sampled_from([0.0, 0.2]), weighted=st.booleans())
@examples(6)
def test_what_is_not_smoothed_is_impossible_without_its_only_row(kind, layout, seed, missing, weighted):
    X, y, rng = matrix(kind, seed, missing if kind != "gaussian" else 0.0, least=4)
    w = rng.choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    X = LAYOUTS[layout](X, rng)
    model = UNSMOOTHED[kind].fit(X, y, w)
    assert_left_out(model, X, y, w)


@pytest.mark.parametrize("estimate", ["mle", "map"])
@given(seed=seeds, missing=st.sampled_from([0.0, 0.5]))
@examples(20)
def test_weights_that_are_no_powers_of_two_leave_no_dust(estimate, seed, missing):
    rows = drawn(["bernoulli", "categorical"], seed, missing, least=3)
    rows.w = np.random.default_rng(seed).choice([0.1, 0.2, 0.3, 0.65], len(rows.y))
    model = rows.fitted(of(["bernoulli", "categorical"], rows.X), estimate=estimate)
    assert_left_out(model, rows.X, rows.y, rows.w)


@pytest.mark.parametrize("estimate", ["mean", "map", "mle"])
@pytest.mark.parametrize("weight", [0.13, 0.5, 0.65])
def test_a_class_that_loses_its_only_cell_gives_all_levels_the_same_share(estimate, weight):
    X, y = {"k": np.array(["x", None, "u", "u"], dtype=object)}, np.array(list("bbaa"))
    w = np.array([weight, 3.0, 2.0, 2.0])
    model = NaiveBayes("categorical", estimate=estimate).fit(X, y, w)
    assert_left_out(model, X, y, w)


@pytest.mark.parametrize("settings", [{}, {"var_smoothing": 0.0}, {"laplace": True}])
def test_a_row_that_held_all_the_spread_leaves_none(settings):
    X, y = np.array([[0.4], [-1.4], [0.1], [0.3], [0.7]]), list("ccaaa")
    model = GaussianNB(**settings).fit(X, y)
    assert_left_out(model, X, y)
    assert_left_out(model, X, y, np.ones(5))


# Classes that lose their last row, and classes that never saw a column


@every_family
@given(seed=seeds, prior=class_priors)
@examples(3)
def test_a_class_of_one_row_is_impossible_without_it_and_the_others_are_as_refitted(kind, seed, prior):
    rows = drawn([kind], seed)
    rows.y[0] = "only"
    model = rows.fitted(of([kind], rows.X), **about_classes(prior, None, rows.y))
    assert np.isneginf(model.leave_one_out(rows.X, rows.y)[0]).tolist() == (model.classes_ == "only").tolist()
    assert_left_out(model, rows.X, rows.y)


@every_estimator
@given(seed=seeds, missing=st.sampled_from([0.0, 0.3]))
@examples(3)
def test_a_class_of_one_row_of_a_matrix_is_impossible_without_it(kind, seed, missing):
    X, y, _ = matrix(kind, seed, missing)
    X[y == y[0]] = np.nan_to_num(X[y == y[0]])
    y = np.array(["only", *y[1:]])
    assert_left_out(estimator(kind).fit(X, y), X, y)


@pytest.mark.parametrize("kind", UNSMOOTHED)
@pytest.mark.parametrize("prior", ["fitted", "uniform", "given"])
def test_an_unsmoothed_class_of_one_row_leaves_probabilities_that_sum_to_one(kind, prior):
    # Of counts that no other class has: without its class the row is impossible, and gets the prior of the others.
    X, y = np.array([[0, 1], [0, 1], [0, 2], [0, 2], [0, 1], [3, 0]]) * 1.0, np.array(list("aabbbc"))
    model = UNSMOOTHED[kind]
    setting = {
        "priors" if kind == "gaussian" else "class_prior": about_classes(prior, None, y)["class_prior"]
    }
    if setting.get("class_prior") in ("fitted", "uniform") and kind != "poisson":
        setting = {"fit_prior": prior == "fitted", "class_prior": None}
    model = type(model)(**model.get_params() | setting).fit(X, y)
    np.testing.assert_allclose(np.exp(model.leave_one_out(X, y)).sum(axis=1), 1.0, rtol=1e-12)
    assert_left_out(model, X, y)


@every_plain_family
@pytest.mark.parametrize("estimate", ["mean", "map", "mle", "predictive"])
@given(seed=seeds)
@examples(2)
def test_a_class_that_saw_nothing_of_a_column_loses_the_row_as_well(kind, estimate, seed):
    rows = drawn([kind, "gaussian"], seed, least=3)
    column = rows.X[f"{kind}0"]
    column[rows.y == "a"] = None if column.dtype == object else np.nan
    model = rows.fitted(of([kind, "gaussian"], rows.X), estimate=estimate)
    assert_left_out(model, rows.X, rows.y)


@every_estimator
@given(seed=seeds)
@examples(4)
def test_a_class_that_saw_nothing_of_a_column_of_a_matrix_loses_the_row_as_well(kind, seed):
    X, y, rng = matrix(kind, seed, missing=0.0)
    X = np.column_stack([X, rng.permutation(X[:, 0])])
    X[y == "a", 0] = np.nan
    assert_left_out(estimator(kind).fit(X, y), X, y)


@every_plain_family
@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_that_is_always_missing_says_nothing(kind, weighted):
    rows = drawn([kind, "gaussian"], 5, weighted=weighted)
    column = rows.X[f"{kind}0"]
    column[:] = None if column.dtype == object else np.nan
    model = rows.fitted(of([kind, "gaussian"], rows.X))
    rest = {"gaussian1": rows.X["gaussian1"]}
    expected = NaiveBayes("gaussian").fit(rest, rows.y, rows.w).leave_one_out(rest, rows.y, rows.w)
    np.testing.assert_allclose(model.leave_one_out(rows.X, rows.y, rows.w), expected, rtol=1e-12)


@every_estimator
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_of_a_matrix_that_is_always_missing_says_nothing(kind, layout, weighted):
    X, y, rng = matrix(kind, 5, missing=0.0)
    w = rng.choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    wide = np.column_stack([X, np.full(len(y), np.nan)])
    expected = estimator(kind).fit(X, y, w).leave_one_out(X, y, w)
    wide = LAYOUTS[layout](wide, rng)
    found = estimator(kind).fit(wide, y, w).leave_one_out(wide, y, w)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("kind", [kind for kind in UNSMOOTHED if kind != "gaussian"])
def test_zeros_that_are_stored_are_zeros(kind):
    X, y = np.array([[1, 0, 2], [2, 0, 1], [3, 0, 1], [0, 1, 1], [0, 2, 1], [1, 1, 0]]) * 1.0, list("aaabbb")
    places = np.arange(19, step=3)
    stored = sparse.csr_array((X.ravel(), np.tile(np.arange(3), 6), places), shape=X.shape)
    expected = UNSMOOTHED[kind].fit(X, y).leave_one_out(X, y)
    found = UNSMOOTHED[kind].fit(stored, y).leave_one_out(stored, y)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@every_estimator
def test_sparse_rows_may_store_no_cell_that_is_there(kind):
    for nothing in (0.0, np.nan):
        X, y = np.full((6, 2), nothing), list("aaabbb")
        expected = estimator(kind).fit(X, y).leave_one_out(X, y)
        thin = sparse.csr_array(X)
        np.testing.assert_allclose(estimator(kind).fit(thin, y).leave_one_out(thin, y), expected, rtol=1e-12)


@pytest.mark.parametrize("prior", ["fitted", "uniform", "given"])
def test_a_row_of_nothing_gets_the_class_prior_without_it(prior):
    y = np.array(list("aaab"))
    X = {"x": np.array([1.0, np.nan, 2.0, 3.0]), "k": np.array(["u", None, "v", "u"], dtype=object)}
    about = about_classes(prior, None, y)
    found = np.exp(NaiveBayes(class_prior=about["class_prior"]).fit(X, y).leave_one_out(X, y)[1])
    np.testing.assert_allclose(
        found, {"fitted": [2 / 3, 1 / 3], "uniform": [0.5, 0.5], "given": [1 / 3, 2 / 3]}[prior]
    )
    nothing = GaussianNB().fit([[np.nan]] * 4, y).leave_one_out([[np.nan]] * 4, y)
    np.testing.assert_allclose(np.exp(nothing[:3]), [[2 / 3, 1 / 3]] * 3)
    assert nothing[3].tolist() == [0.0, -np.inf]


def test_a_model_of_one_row_has_nothing_left():
    assert GaussianNB().fit([[1.0]], ["a"]).leave_one_out([[1.0]], ["a"]).tolist() == [[-np.inf]]


# Models that were updated


@every_plain_family
def test_how_a_model_learned_its_rows_makes_no_difference(kind):
    kinds = [kind, "gaussian", "categorical"]
    rows = drawn(kinds, 10, missing=0.2, least=3)
    families = of(kinds, rows.X)
    half = np.arange(len(rows.y)) % 2 == 0
    first, second = ((taken(rows.X, m), rows.y[m]) for m in (half, ~half))
    whole = rows.fitted(families)
    model = NaiveBayes(families).partial_fit(*first).partial_fit(*second)
    merged = NaiveBayes(families).fit(*first).merge(NaiveBayes(families).fit(*second))
    expected = whole.leave_one_out(rows.X, rows.y)
    for other in (model, merged):
        np.testing.assert_allclose(other.leave_one_out(rows.X, rows.y), expected, rtol=1e-9, atol=1e-9)
    whole.forget(*second)
    expected = NaiveBayes(families).fit(*first).leave_one_out(*first)
    np.testing.assert_allclose(whole.leave_one_out(*first), expected, rtol=1e-8, atol=1e-8)


# Rows of weight 0


@every_plain_family
def test_a_row_of_weight_0_was_never_in_the_model(kind):
    rows = drawn([kind, "gaussian"], 8, missing=0.2, weighted=True)
    rows.w[2] = 0.0
    column = rows.X[f"{kind}0"]
    column[2] = column[np.flatnonzero((rows.y == rows.y[2]) & (rows.w > 0))[0]]
    model = rows.fitted(of([kind, "gaussian"], rows.X))
    found = model.leave_one_out(rows.X, rows.y, rows.w)
    np.testing.assert_allclose(found[2], model.predict_log_proba(rows.X)[2], rtol=1e-12, atol=1e-12)
    assert_left_out(model, rows.X, rows.y, rows.w)


@every_plain_family
def test_a_row_of_weight_0_may_hold_what_no_other_row_does(kind):
    rows = drawn([kind, "gaussian"], 8, weighted=True)
    rows.w[2] = 0.0
    strange = {"categorical": "never seen", "beta": 0.999, "bernoulli": 1.0}.get(kind, 77.0)
    rows.X[f"{kind}0"][2] = strange
    model = rows.fitted(of([kind, "gaussian"], rows.X))
    found = model.leave_one_out(rows.X, rows.y, rows.w)
    np.testing.assert_allclose(found[2], model.predict_log_proba(rows.X)[2], rtol=1e-12, atol=1e-12)


def test_a_class_whose_rows_all_have_weight_0_is_no_reason_to_refuse_the_rows_of_the_fit():
    X, y, w = [[0.0], [1.0], [2.0], [3.5], [9.0]], list("aabbz"), [1.0, 1.0, 1.0, 1.0, 0.0]
    model = GaussianNB().fit(X, y, w)
    found = model.leave_one_out(X, y, w)
    np.testing.assert_array_equal(found[:4], model.leave_one_out(X[:4], y[:4], w[:4]))


def test_a_class_of_weight_0_stays_impossible():
    rows = drawn(["gaussian", "categorical"], 11, least=3)
    weights = {c: float(k) for k, c in enumerate(sorted(set(rows.y.tolist())))}
    model = rows.fitted(of(["gaussian", "categorical"], rows.X), class_weight=weights)
    assert np.isneginf(model.leave_one_out(rows.X, rows.y)[:, 0]).all()
    assert_left_out(model, rows.X, rows.y)


# Tables, subsets, threads


def polars(X):
    return pl.DataFrame([pl.Series(k, v.tolist(), nan_to_null=True, strict=False) for k, v in X.items()])


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": polars,
    "pyarrow": lambda X: pa.table({k: pa.array(v.tolist(), from_pandas=True) for k, v in X.items()}),
    "dict": lambda X: {k: v.tolist() for k, v in X.items()},
}
ALL_KINDS = ["gaussian", "poisson", "bernoulli", "categorical", "gamma"]


@pytest.mark.parametrize("frame", FRAMES)
def test_every_kind_of_table_is_left_out_alike_with_labels_by_name(frame):
    rows = drawn(ALL_KINDS, 3, missing=0.2)
    plain = rows.fitted(of(ALL_KINDS, rows.X))
    table = FRAMES[frame](rows.X | {"label": rows.y.astype(object)})
    model = NaiveBayes(of(ALL_KINDS, rows.X)).fit(table, "label")
    expected = plain.leave_one_out(rows.X, rows.y)
    np.testing.assert_allclose(model.leave_one_out(table, "label"), expected, rtol=1e-12, atol=1e-12)
    assert model.loo_score(table, "label")[:6] == pytest.approx(
        plain.loo_score(rows.X, rows.y)[:6], rel=1e-12
    )


def test_declared_levels_stay_declared():
    levels = pd.CategoricalDtype(list("uvwxyz"))
    table = pd.DataFrame({"k": pd.Series(list("uuvvw"), dtype=levels), "y": list("aabbb")})
    model = NaiveBayes(unseen="ignore").fit(table, "y")
    # Without the first row a has one u: (1 + 1) / (1 + 6); b none of it: 1 / (3 + 6); one row against three.
    odds = (1 / 4 * 2 / 7) / (3 / 4 * 1 / 9)
    assert np.exp(model.leave_one_out(table, "y")[0, 0]) == pytest.approx(odds / (1 + odds), rel=1e-13)


def test_some_of_the_rows_may_be_left_out_in_any_order():
    rows = drawn(ALL_KINDS, 4, missing=0.2, weighted=True)
    model = rows.fitted(of(ALL_KINDS, rows.X))
    whole, some = model.leave_one_out(rows.X, rows.y, rows.w), np.array([5, 0, 3])
    found = model.leave_one_out(taken(rows.X, some), rows.y[some], rows.w[some])
    np.testing.assert_allclose(found, whole[some], rtol=1e-12, atol=1e-12)
    one = {name: cells[1] for name, cells in rows.X.items()}
    np.testing.assert_allclose(
        model.leave_one_out(one, [rows.y[1]], [rows.w[1]])[0], whole[1], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_two_threads_give_the_bits_of_one(weighted):
    rng = np.random.default_rng(1)
    n = 9_000
    X = {
        f"{kind}{j}": CELLS[kind](rng, n)
        for j, kind in enumerate([*ALL_KINDS, "gaussian", "poisson", "poisson"])
    }
    X["gaussian0"][::7] = np.nan
    y, w = rng.choice(list("abc"), n), rng.integers(0, 4, n) * 1.0 if weighted else None
    names = list(X)
    families = of([*ALL_KINDS, "gaussian"], dict.fromkeys(names[:6])) | {tuple(names[6:]): "multinomial"}
    found = [NaiveBayes(families, n_jobs=k).fit(X, y, w).leave_one_out(X, y, w) for k in (1, 2)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("kind", [kind for kind in FIVE if kind != "gaussian-shared"])
def test_two_threads_give_the_bits_of_one_in_a_matrix(kind):
    rng = np.random.default_rng(2)
    X, y = rng.poisson(1.0, (9_000, 8)).astype(float), rng.choice(list("abc"), 9_000)
    for layout in (np.asarray, sparse.csr_array):
        found = []
        for k in (1, 2):
            model = estimator(kind).set_params(n_jobs=k).fit(layout(X), y)
            found.append(model.leave_one_out(layout(X), y))
        np.testing.assert_array_equal(*found)


# What cannot be left out


STRANGE = {"beta": 0.99999, "bernoulli": 1.0, "categorical": "never seen", "vonmises": 4.0}


@every_plain_family
@pytest.mark.parametrize("estimate", ["mean", "map", "mle", "predictive"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_that_was_never_fitted_is_refused(kind, estimate, weighted):
    rows = drawn([kind], 6, least=4)
    column = rows.X[f"{kind}0"]
    if kind == "bernoulli":
        column[rows.y == rows.y[1]] = 0.0
    if kind == "vonmises":
        column[:] = 0.9 + 0.1 * np.sin(np.arange(len(column)))
    model = rows.fitted(of([kind], rows.X), estimate=estimate)
    column[1] = STRANGE.get(kind, 1e6)
    with pytest.raises(ValueError, match="row 1 of class '.' was never fitted"):
        model.leave_one_out(rows.X, rows.y, np.ones(len(rows.y)) if weighted else None)


@every_estimator
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_row_of_a_matrix_that_was_never_fitted_is_refused(kind, layout):
    X, y, rng = matrix(kind, 6, missing=0.0)
    X = np.column_stack([X, np.where(y == y[1], 0.0, X[:, 0])])
    model = estimator(kind).fit(LAYOUTS[layout](X, rng), y)
    X[1, -1] = 1e6
    with pytest.raises(ValueError, match="row 1 of class '.' was never fitted"):
        model.leave_one_out(LAYOUTS[layout](X, rng), y)


def test_a_row_of_more_weight_than_its_class_has_is_refused():
    model = GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], list("aabb"), [1.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="never fitted"):
        model.leave_one_out([[0.0]], ["a"], [3.0])


def test_labels_that_are_no_classes_or_too_few_are_refused():
    model = GaussianNB().fit([[0.0], [1.0], [5.0]], list("aab"))
    with pytest.raises(ValueError, match=r"no row of class 'z' was fitted; the classes are \['a', 'b'\]"):
        model.leave_one_out([[0.0]], ["z"])
    with pytest.raises(ValueError, match="one label for every row"):
        model.leave_one_out([[0.0], [1.0]], ["a"])
    with pytest.raises(ValueError, match="one weight for every row"):
        model.loo_score([[0.0], [1.0]], ["a", "a"], [1.0])


@pytest.mark.parametrize("method", ["leave_one_out", "loo_score"])
def test_only_fitted_models_have_rows_to_leave_out(method):
    with pytest.raises(NotFittedError):
        getattr(GaussianNB(), method)([[0.0]], ["a"])
    with pytest.raises(NotFittedError):
        getattr(NaiveBayes(), method)({"x": [0.0]}, ["a"])
    made = BernoulliNB.from_parameters([[0.2], [0.8]], classes=["a", "b"])
    with pytest.raises(ValueError, match="made from parameters"):
        getattr(made, method)([[1.0]], ["a"])


# Scores


def score_by_hand(log_proba, y, w, classes):
    """Accuracy and log loss, rows that were alone in their class left out."""
    place = np.searchsorted(classes, y)
    count = Counter(y[w > 0].tolist())
    use = np.array([w[i] > 0 and count[y[i]] > 1 for i in range(len(y))])
    right, own = log_proba.argmax(axis=1) == place, log_proba[np.arange(len(y)), place]
    weights = w[use] / w[use].sum()
    return float(weights @ right[use]), -float(weights @ own[use]), int(use.sum())


def priors_by_refits(model, y, w):
    """Log class priors of every row without it."""
    prior = model.class_prior
    if isinstance(prior, dict):
        return np.log([[prior[c] for c in model.classes_]] * len(y))
    if prior == "uniform":
        return np.full((len(y), len(model.classes_)), -np.log(len(model.classes_)))
    factor = factors(model.class_weight, y, w) or {}
    weight = w * [factor.get(c, 1.0) for c in y]
    rest = (weight * (y == model.classes_[:, None])).sum(axis=1) - weight[:, None] * (
        y[:, None] == model.classes_
    )
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(rest, 0.0) / rest.sum(axis=1, keepdims=True))


@given(seed=seeds, prior=class_priors, weight=st.sampled_from([None, "given"]), weighted=st.booleans())
@examples(10)
def test_the_score_is_that_of_refitted_models_and_of_their_class_priors(seed, prior, weight, weighted):
    rows = drawn(["gaussian", "categorical"], seed, missing=0.2, least=3, weighted=weighted)
    rows.y[0] = "only"
    model = rows.fitted(of(["gaussian", "categorical"], rows.X), **about_classes(prior, weight, rows.y))
    w = np.ones(len(rows.y)) if rows.w is None else rows.w
    truth, priors = by_refits(model, rows.X, rows.y, rows.w), priors_by_refits(model, rows.y, w)
    assume((np.diff(np.sort(truth, axis=1)[:, -2:]) > 1e-9).all())
    score = model.loo_score(rows.X, rows.y, rows.w)
    assert (score.accuracy, score.log_loss, score.rows) == pytest.approx(
        score_by_hand(truth, rows.y, w, model.classes_)
    )
    assert (score.prior_accuracy, score.prior_log_loss, score.rows) == pytest.approx(
        score_by_hand(priors, rows.y, w, model.classes_)
    )
    assert score.left_out == 1


def test_scores_of_four_rows_by_hand():
    model = BernoulliNB(binarize=None).fit([[1], [1], [1], [0], [0]], list("aabbc"))
    score = model.loo_score([[1], [1], [1], [0], [0]], list("aabbc"))
    # a: 1/4 * 2/3 of 1 against b: 2/4 * 2/4 and c: 1/4 * 1/3; the others likewise.
    own = [1 / 6 / (1 / 6 + 1 / 4 + 1 / 12)] * 2
    own += [1 / 4 * 1 / 3 / (1 / 4 * 1 / 3 + 2 / 4 * 3 / 4 + 1 / 4 * 1 / 3)]
    own += [1 / 4 * 1 / 3 / (1 / 4 * 1 / 3 + 2 / 4 * 1 / 4 + 1 / 4 * 2 / 3)]
    assert score.log_loss == pytest.approx(-np.mean(np.log(own)), rel=1e-13)
    assert score.prior_log_loss == pytest.approx(np.log(4), rel=1e-13)
    assert (score.accuracy, score.prior_accuracy, score.rows, score.left_out) == (0.0, 0.0, 4, 1)


def test_rows_of_weight_0_are_not_scored():
    X, y = [[0.0], [1.0], [0.5], [5.0], [6.0], [5.7], [7.0]], list("aaabbbb")
    model = GaussianNB().fit(X, y, [1, 1, 1, 1, 1, 1, 0])
    score = model.loo_score(X, y, [1, 1, 1, 1, 1, 1, 0])
    assert score[:6] == pytest.approx(model.loo_score(X[:6], y[:6])[:6], rel=1e-9)
    assert score.rows == 6


def test_where_every_class_has_one_row_there_is_nothing_to_score():
    score = GaussianNB().fit([[0.0], [1.0]], ["a", "b"]).loo_score([[0.0], [1.0]], ["a", "b"])
    assert np.isnan(score[:4]).all() and score.rows == 0 and score.left_out == 2


@pytest.mark.parametrize("calibrate", [None, "columns", "temperature"])
def test_leaving_out_changes_nothing_in_the_model(calibrate):
    rows = drawn([*ALL_KINDS, "gaussian-shared"], 9, missing=0.2)
    rows.y[0] = "only"
    model = rows.fitted(of([*ALL_KINDS, "gaussian-shared"], rows.X), calibrate=calibrate)
    before, state, known = model.predict_log_proba(rows.X), pickle.dumps(model), dict(vars(model))
    model.leave_one_out(rows.X, rows.y)
    model.loo_score(rows.X, rows.y)
    with pytest.raises(ValueError, match="no row of class"):
        model.leave_one_out(rows.X, ["z"] * len(rows.y))
    assert vars(model).keys() == known.keys() and all(vars(model)[name] is known[name] for name in known)
    assert pickle.dumps(model) == state
    np.testing.assert_array_equal(model.predict_log_proba(rows.X), before)
