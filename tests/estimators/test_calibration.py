"""Calibration against its definition: what it minimises is written here once more, over scores from one fit per row.

The calibrated score of class c is tau * sum_j w_j s_cj + log pi_c + delta_c. With one weight for each column tau is 1;
with a temperature all w_j are t, and what a block of counts adds is multiplied by (length + 1)^g.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from scipy import optimize, sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sunrise import NaiveBayes, engines
from sunrise.datasets import load_heart_disease
from sunrise.inference import column_weights
from sunrise.inference.column_weights import GRID, ColumnWeights
from threadpoolctl import threadpool_limits

KINDS = ("columns", "temperature")
every_kind = pytest.mark.parametrize("kind", KINDS)


# The truth


@dataclass
class Told:
    """What the columns add to the scores of rows, each by a model of the other rows."""

    #: Columns that have one weight, and blocks of counts, are one entry: entries x rows x classes.
    scores: np.ndarray
    #: The lengths of the rows in blocks of counts, by entry.
    lengths: dict[int, np.ndarray]
    #: Log class priors, rows x classes; the places of the rows' classes, and their weights.
    prior: np.ndarray
    y: np.ndarray
    w: np.ndarray
    #: The strengths of the penalty on weights that the folds chose.
    strengths: tuple

    def loss(self, scores):
        scores = scores + self.prior
        best = scores.max(axis=1)
        total = best + np.log(np.exp(scores - best[:, None]).sum(axis=1))
        return float(self.w @ (total - scores[np.arange(len(self.y)), self.y])) / self.w.sum()

    def columns(self, v):
        """What weights and offsets should make as small as can be."""
        w, d = np.split(v, [len(self.scores)])
        spread, mean, zero = self.strengths
        pull = spread * ((w - w.mean()) ** 2).sum() + mean * len(w) * (w.mean() - 1.0) ** 2 + zero * w @ w
        pull += 1e-4 * d @ d
        return self.loss(np.tensordot(w, self.scores, axes=1) + d) + pull / self.w.sum()

    def temperature(self, v):
        """What a temperature, an exponent for each block of counts and offsets should make as small as can be."""
        t, g, d = v[0], v[1 : 1 + len(self.lengths)], v[1 + len(self.lengths) :]
        total = self.scores.sum(axis=0)
        for power, (k, length) in zip(g, self.lengths.items(), strict=True):
            total = total + ((length + 1.0) ** power - 1.0)[:, None] * self.scores[k]
        pull = 0.1 * (t - 1.0) ** 2 + 0.1 * g @ g + 1e-4 * d @ d
        return self.loss(t * total + d) + pull / self.w.sum()


def with_numbers(model):
    """The families of a model with their priors as numbers."""
    found = {}
    for key, family in model.fixed_families_.items():
        columns = key if isinstance(key, tuple) else (key,)
        if hasattr(family, "prior"):
            found |= {name: replace(family, prior=model.prior_[name]) for name in columns}
        else:
            found |= {columns: family} if family.joint else dict.fromkeys(columns, family)
    return found


def declared(cells, w):
    """A column in which all levels that have a row stay possible."""
    if cells.dtype != object:
        return cells
    levels = {cell for cell, weight in zip(cells, w, strict=True) if weight and cell is not None}
    return pd.Categorical(cells, categories=sorted(levels))


def told(model, X, y, w=None):
    """One fit for every row that is not alone in its class."""
    w = np.ones(len(y)) if w is None else w
    table = {name: declared(cells, w) for name, cells in X.items()}
    settings = {"families": with_numbers(model), "calibrate": None, "class_prior": "fitted"}
    settings = model.get_params() | settings
    rows, cells, prior = [], [], []
    for i in np.flatnonzero(w > 0):
        rest = np.delete(np.arange(len(y)), i)
        if not w[rest][y[rest] == y[i]].any():
            continue
        other = NaiveBayes(**settings).fit({k: v[rest] for k, v in table.items()}, y[rest], w[rest])
        generative = any(family.generative for family in other.fixed_families_.values())
        rows.append(i)
        cells.append(other.explain({k: v[[i]] for k, v in table.items()}).contributions[0])
        prior.append(np.log(other.class_prior_) * generative)
    cells, names, scores, lengths = np.array(cells), list(X), [], {}
    for k, key in enumerate(model.calibration_.weights):
        columns = key if isinstance(key, tuple) else (key,)
        scores.append(cells[:, :, [names.index(name) for name in columns]].sum(axis=2))
        if isinstance(key, tuple):
            lengths[k] = np.nansum([X[name][rows] for name in columns], axis=0)
    factors = np.array([(model.class_weight or {}).get(label, 1.0) for label in y[rows]])
    places, strengths = np.searchsorted(model.classes_, y[rows]), model.calibration_.strengths
    return Told(np.array(scores), lengths, np.array(prior), places, w[rows] * factors, strengths)


def numbers(model):
    """The fitted numbers in the order of the objectives."""
    found = model.calibration_
    weights, exponents = list(found.weights.values()), list(found.exponents.values())
    if found.kind == "columns":
        assert not any(exponents)
        exponents = []
    else:
        assert len(set(weights)) == 1
        weights = weights[:1]
    return np.array([*weights, *exponents, *found.offsets.values()])


def slopes(objective, v, step=1e-6):
    """The gradient by finite differences."""
    moves = step * np.eye(len(v))
    return np.array([(objective(v + move) - objective(v - move)) / (2 * step) for move in moves])


def assert_lowest(model, X, y, w=None):
    """No other numbers do better than those that were fitted, whatever they are sought from."""
    truth, v, kind = told(model, X, y, w), numbers(model), model.calibration_.kind
    objective, n_offsets = getattr(truth, kind), len(model.classes_)
    n_weights = len(truth.scores) if kind == "columns" else 1
    n_exponents = len(v) - n_weights - n_offsets
    free = np.where(np.isin(np.arange(n_offsets), truth.y), np.inf, 0.0)
    low = np.concatenate([np.zeros(n_weights), np.full(n_exponents, -3.0), -free])
    starts = [v, np.r_[np.ones(n_weights), np.zeros(n_exponents + n_offsets)]]
    starts += [
        np.r_[t, np.full(n_exponents, g), v[-n_offsets:]] for t, g in ((0.2, -0.7), (1.5, 0.4)) if n_exponents
    ]
    high = np.concatenate([np.full(n_weights, np.inf), np.full(n_exponents, 3.0), free])
    bounds, options = list(zip(low, high, strict=True)), {"ftol": 1e-13, "maxiter": 300}
    with threadpool_limits(1):  # of so few numbers more threads only wait for each other
        ends = [
            optimize.minimize(objective, start, bounds=bounds, method="L-BFGS-B", options=options).fun
            for start in starts
        ]
    assert (v >= low).all() and (v <= high).all()
    assert objective(v) <= min(ends) + 1e-7
    slope, inside = slopes(objective, np.maximum(v, low + 2e-6)), (v > low + 1e-5) & (low < high)
    np.testing.assert_allclose(slope[inside], 0.0, atol=2e-4)
    assert (slope[~inside & (low < high)] > -2e-4).all()


# Tables


RNG = np.random.default_rng(5)


def table(n=30, classes=3, seed=0, missing=0.0):
    """Columns of five kinds that tell something of the class, two of them the same thing twice."""
    rng = np.random.default_rng(seed)
    c = rng.permutation(np.arange(n) % classes)
    x = np.round(rng.normal(1.2 * c, 1.0), 3)
    X = {
        "x": x,
        "again": np.round(x + rng.normal(0, 0.2, n), 3),
        "n": rng.poisson(1.0 + c).astype(float),
        "b": (rng.random(n) < 0.3 + 0.2 * c).astype(float),
        "k": np.array(list("uvwz"), dtype=object)[(c + rng.integers(0, 3, n)) % 4],
        "noise": np.round(rng.gamma(2.0, 1.0, n), 3) + 0.1,
    }
    for cells in X.values():
        gone = rng.random(n) < missing
        cells[gone] = None if cells.dtype == object else np.nan
    return X, np.array(list("abcd"), dtype="<U10")[c]


FAMILIES = {
    "x": "gaussian",
    "again": "gaussian",
    "n": "poisson",
    "b": "bernoulli",
    "k": "categorical",
    "noise": "gamma",
}


def counts(n=30, classes=3, seed=0, longest=14, words=4, scale=1):
    """Rows of counts of very different lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    c = rng.permutation(np.arange(n) % classes)
    theta = rng.dirichlet(np.full(words, 2.0), classes)
    X = np.array([rng.multinomial(rng.integers(0, longest), theta[k]) for k in c]).astype(float) * scale
    X[:3] = 0.0
    return {f"w{j}": X[:, j] for j in range(words)}, np.array(list("abcd"))[c]


WORDS = tuple(f"w{j}" for j in range(4))


def some_columns(*names, seed=0):
    X, y = table(seed=seed)
    return {name: X[name] for name in names}, y


def calibrated(kind, X, y, w=None, families=None, **settings):
    families = {name: FAMILIES[name] for name in X} if families is None else families
    return NaiveBayes(families, calibrate=kind, **settings).fit(X, y, w)


# What is minimised


@every_kind
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_the_numbers_are_the_best_for_a_table_of_all_kinds(kind, missing):
    X, y = table(missing=missing)
    assert_lowest(calibrated(kind, X, y), X, y)


@every_kind
def test_a_row_counts_by_its_weight_and_one_of_weight_0_not_at_all(kind):
    X, y = table(seed=1)
    w = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    assert_lowest(calibrated(kind, X, y, w), X, y, w)


@every_kind
def test_rows_that_are_alone_in_their_class_take_no_part(kind):
    X, y = table(n=24, classes=2, seed=2)
    y[3] = "only"
    model = calibrated(kind, X, y)
    assert_lowest(model, X, y)
    assert model.loo_score_.left_out == 1


@every_kind
@pytest.mark.parametrize("estimate", ["map", "predictive"])
def test_other_estimates_have_their_own_numbers(kind, estimate):
    X, y = some_columns("x", "again", "n", seed=3)
    assert_lowest(calibrated(kind, X, y, estimate=estimate), X, y)


@every_kind
@pytest.mark.parametrize("prior", ["uniform", {"a": 0.2, "b": 0.2, "c": 0.6}])
def test_offsets_are_fitted_under_the_prior_of_the_data_so_that_they_do_not_undo_another(kind, prior):
    X, y = some_columns("x", "again", "b", seed=4)
    model = calibrated(kind, X, y, class_prior=prior)
    assert_lowest(model, X, y)
    assert numbers(model) == pytest.approx(numbers(calibrated(kind, X, y)), abs=1e-9)


@every_kind
def test_class_weights_are_in_the_scores_and_in_the_loss(kind):
    X, y = some_columns("x", "again", "b", seed=5)
    assert_lowest(calibrated(kind, X, y, class_weight={"a": 2.0, "b": 1.0, "c": 0.5}), X, y)


@every_kind
def test_a_shared_variance_loses_the_row_in_every_class(kind):
    X, y = some_columns("x", "again", seed=6)
    families = dict.fromkeys(X, sr.Gaussian(shared_variance=True))
    assert_lowest(calibrated(kind, X, y, families=families), X, y)


@every_kind
def test_a_class_that_loses_its_only_cell_of_a_column_has_the_prior_there(kind):
    X, y = some_columns("x", "again", "noise", seed=7)
    for name, label in (("x", "a"), ("again", "b"), ("noise", "c")):
        X[name][np.flatnonzero(y == label)[1:]] = np.nan
    assert_lowest(calibrated(kind, X, y), X, y)


@every_kind
def test_a_class_that_saw_nothing_of_a_column_loses_the_row_as_well(kind):
    X, y = some_columns("x", "n", seed=14)
    X["n"][y == "a"] = np.nan
    assert_lowest(calibrated(kind, X, y), X, y)


@every_kind
def test_cells_that_are_very_improbable_count_in_full(kind):
    X, y = some_columns("x", "again", seed=8)
    X["x"][5] = 60.0
    families = dict.fromkeys(X, sr.Gaussian(prior=(0.0, 1.0, 5.0, 0.01)))
    assert_lowest(calibrated(kind, X, y, families=families), X, y)


@every_kind
def test_a_block_of_counts_has_one_weight_and_rows_of_length_0_may_be_there(kind):
    X, y = counts()
    model = calibrated(kind, X, y, families={WORDS: "multinomial"})
    assert list(model.calibration_.weights) == list(model.calibration_.exponents) == [WORDS]
    assert_lowest(model, X, y)
    assert (model.calibration_.exponents[WORDS] == 0.0) == (kind == "columns")


@every_kind
@pytest.mark.parametrize(
    "settings", [{"estimate": "predictive"}, {"estimate": "map", "class_prior": "uniform"}]
)
def test_so_it_is_under_other_settings(kind, settings):
    X, y = counts(seed=1)
    assert_lowest(calibrated(kind, X, y, families={WORDS: sr.Multinomial(1.5)}, **settings), X, y)


@every_kind
def test_long_rows_of_counts_are_as_good_as_short_ones(kind):
    X, y = counts(seed=2, longest=30, scale=40)
    assert_lowest(calibrated(kind, X, y, families={WORDS: "multinomial"}), X, y)


@every_kind
def test_so_are_long_rows_of_many_words(kind):
    rng = np.random.default_rng(0)
    theta, y = rng.dirichlet(np.full(1000, 0.5), 2), np.arange(80) % 2
    X = np.array([rng.multinomial(400, 0.9 * theta.mean(axis=0) + 0.1 * theta[c]) for c in y])
    plain, model = (NaiveBayes("multinomial", calibrate=k).fit(X, y) for k in (None, kind))
    assert plain.loo_score(X, y).log_loss > 0.8 and model.loo_score_.log_loss < 0.65


@every_kind
@pytest.mark.parametrize("family", ["multinomial", "complement"])
def test_missing_counts_are_left_out_of_rows_and_lengths(kind, family):
    X, y = counts(seed=3)
    X["w1"][::3] = np.nan
    X["w2"][5] = np.nan
    assert_lowest(calibrated(kind, X, y, families={WORDS: family}), X, y)


@every_kind
@pytest.mark.parametrize("norm", [False, True])
def test_a_complement_has_no_class_prior(kind, norm):
    X, y = counts(seed=4)
    assert_lowest(calibrated(kind, X, y, families={WORDS: sr.Complement(norm=norm)}), X, y)


@every_kind
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_columns_and_blocks_of_counts_may_be_side_by_side(kind, missing):
    words, y = counts(seed=5)
    X = {
        "first": RNG.normal(size=30),
        **words,
        "x": np.round(np.searchsorted(list("abc"), y) + RNG.normal(size=30), 3),
    }
    X["first"][RNG.random(30) < missing] = np.nan
    X["kind"] = np.array(list("uvw"), dtype=object)[RNG.integers(0, 3, 30)]
    families = {"first": "gaussian", WORDS: "multinomial", "x": "gaussian", "kind": "categorical"}
    assert_lowest(calibrated(kind, X, y, families=families), X, y)


@every_kind
@pytest.mark.parametrize("seed, longest, scale", [(0, 60, 10), (8, 60, 100), (16, 3, 30), (17, 60, 100)])
def test_counts_that_tell_nothing_do_not_silence_columns_that_do(kind, seed, longest, scale):
    X, _ = counts(classes=2, seed=seed, longest=longest, scale=scale)
    rng = np.random.default_rng(seed + 1)
    c = rng.integers(0, 2, 30)
    X["x"] = np.round(3.0 * c + rng.normal(size=30), 3)
    y = np.array(["a", "b"])[c]
    assert_lowest(calibrated(kind, X, y, families={"x": "gaussian", WORDS: "multinomial"}), X, y)


@every_kind
def test_two_blocks_of_counts_have_an_exponent_each(kind):
    X, y = counts(seed=6)
    more, _ = counts(seed=7, longest=40)
    X |= {f"v{j}": cells for j, cells in enumerate(more.values())}
    model = calibrated(
        kind, X, y, families={WORDS: "multinomial", tuple(f"v{j}" for j in range(4)): "multinomial"}
    )
    assert len(model.calibration_.exponents) == 2
    assert_lowest(model, X, y)


# The calibrated score


def scores_by_hand(model, plain, X):
    """The formula, with the fitted numbers, over what the columns of an uncalibrated model add."""
    found, cells, names = model.calibration_, plain.explain(X).contributions, list(X)
    offsets = [found.offsets.get(label, 0.0) for label in model.classes_.tolist()]
    scores = np.zeros((len(cells), len(offsets)))
    for key, weight in found.weights.items():
        columns = list(key) if isinstance(key, tuple) else [key]
        length = np.nansum([X[name] for name in columns], axis=0) if key in found.exponents else 0.0
        factor = np.reshape(weight * (length + 1.0) ** found.exponents.get(key, 0.0), (-1, 1))
        scores = scores + factor * cells[:, :, [names.index(name) for name in columns]].sum(axis=2)
    says_nothing = np.ptp(scores, axis=1, keepdims=True) < 1e-12  # rows without words have the class prior
    return scores + np.log(model.class_prior_) + np.where(says_nothing, 0.0, offsets)


def cases():
    X, y = table(missing=0.2)
    words, z = counts(seed=8)
    mixed = words | {
        "x": np.round(np.searchsorted(list("abc"), z) + np.random.default_rng(8).normal(size=30), 3)
    }
    return {
        "table": (X, y, FAMILIES),
        "counts": (words, z, {WORDS: "multinomial"}),
        "mixed": (mixed, z, {WORDS: "multinomial", "x": "gaussian"}),
    }


CASES = cases()
every_case = pytest.mark.parametrize("case", CASES)
every_engine = pytest.mark.parametrize("engine", engines.ENGINES)


@every_kind
@every_case
@every_engine
def test_calibrated_scores_are_the_formula_with_the_fitted_numbers(kind, case, engine):
    X, y, families = CASES[case]
    with engines.using(engine):
        model = calibrated(kind, X, y, families=families)
        scores = scores_by_hand(model, calibrated(None, X, y, families=families), X)
        np.testing.assert_allclose(model.predict_joint_log_proba(X), scores, rtol=1e-10, atol=1e-10)
        expected = scores - logsumexp(scores, axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_log_proba(X), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(model.predict_proba(X), np.exp(expected), rtol=1e-9)
        assert model.predict(X).tolist() == model.classes_[expected.argmax(axis=1)].tolist()


@every_kind
@every_case
def test_leaving_a_row_out_of_a_calibrated_model_keeps_the_fitted_numbers(kind, case):
    X, y, families = CASES[case]
    model = calibrated(kind, X, y, families=families)
    truth, found = told(model, X, y), model.calibration_
    scores = truth.prior + np.array(list(found.offsets.values()))
    for k, (key, weight) in enumerate(found.weights.items()):
        factor = weight * (truth.lengths.get(k, np.zeros(len(y))) + 1.0) ** found.exponents.get(key, 0.0)
        scores = scores + factor[:, None] * truth.scores[k]
    expected = scores - logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(model.leave_one_out(X, y), expected, rtol=1e-9, atol=1e-9)
    assert model.loo_score_ == model.loo_score(X, y)


@every_case
def test_explanations_and_linear_forms_are_of_the_calibrated_score(case):
    X, y, families = CASES[case]
    model = calibrated("columns", X, y, families=families)
    told = model.explain(X)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(told.score, joint, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        told.prior + told.offset + told.contributions.sum(axis=2), joint, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(told.prior, np.log(model.class_prior_), rtol=1e-12)
    offsets = np.array(list(model.calibration_.offsets.values()))
    silent = np.ptp(told.contributions.sum(axis=2), axis=1) < 1e-12  # rows of no words
    np.testing.assert_allclose(told.offset, np.where(silent[:, None], 0.0, offsets))
    whole = np.array(
        [not any(cell is None or cell != cell for cell in row) for row in zip(*X.values(), strict=True)]
    )
    complete = {name: cells[whole] for name, cells in X.items()}
    np.testing.assert_allclose(model.to_linear().decision(complete), joint[whole], rtol=1e-9, atol=1e-9)


def test_a_temperature_without_counts_is_linear_as_well():
    X, y = table()
    model = calibrated("temperature", X, y)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(model.explain(X).score, joint, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.to_linear().decision(X), joint, rtol=1e-9, atol=1e-9)


@every_kind
@every_case
def test_what_is_said_of_the_rows_themselves_is_not_calibrated(kind, case):
    X, y, families = CASES[case]
    model, plain = calibrated(kind, X, y, families=families), calibrated(None, X, y, families=families)
    np.testing.assert_array_equal(model.score_samples(X), plain.score_samples(X))
    np.testing.assert_array_equal(model.mutual_information(), plain.mutual_information())
    drawn = [m.sample(20, random_state=0) for m in (model, plain)]
    assert drawn[0][1].tolist() == drawn[1][1].tolist() and repr(drawn[0][0]) == repr(drawn[1][0])
    if case != "table":  # a gamma has no evidence and no posterior
        assert float(model.log_evidence_) == float(plain.log_evidence_)
        for name in X:
            assert pickle.dumps(model.posterior_[name]) == pickle.dumps(plain.posterior_[name])


# Honest numbers


@every_kind
def test_probabilities_of_columns_that_repeat_each_other_become_honest(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = y + rng.normal(0, 1.5, 400)
    X = {f"x{j}": x + rng.normal(0, 0.5, 400) for j in range(6)}
    plain = NaiveBayes("gaussian", calibrate=None).fit(X, y).loo_score(X, y)
    honest = NaiveBayes("gaussian", calibrate=kind).fit(X, y).loo_score_
    alone = NaiveBayes("gaussian", calibrate=None).fit({"x": x}, y).loo_score({"x": x}, y)
    assert plain.log_loss > 1.5 * alone.log_loss
    assert honest.log_loss == pytest.approx(alone.log_loss, abs=0.02)


@every_kind
def test_classes_that_are_far_apart_have_finite_numbers(kind):
    # Every column alone tells the class, as in a table of animals.
    y = np.array(list("abc") * 8)
    X = {f"x{j}": np.searchsorted(list("abc"), y) * 50.0 + RNG.normal(size=24) for j in range(3)}
    X |= {"k": y.astype(object), "b": (y == "a") * 1.0}
    families = {"x0": "gaussian", "x1": "gaussian", "x2": "gaussian", "k": "categorical", "b": "bernoulli"}
    model = calibrated(kind, X, y, families=families)
    v = numbers(model)
    assert np.isfinite(v).all() and (np.abs(v) < 5).all()
    assert np.isfinite(model.predict_log_proba(X)).all() and model.score(X, y) == 1.0
    assert_lowest(model, X, y)


@every_kind
@pytest.mark.parametrize("engine", engines.ENGINES)
def test_a_single_class_and_classes_of_one_row_leave_the_scores_as_they_are(kind, engine):
    with engines.using(engine):
        for y in (["a"] * 6, list("abcdef")):
            X = {"x": RNG.normal(size=6), "n": np.arange(6.0)}
            families = {"x": "gaussian", "n": "poisson"}
            model, plain = (
                calibrated(kind, X, y, families=families),
                calibrated(None, X, y, families=families),
            )
            assert set(model.calibration_.weights.values()) == {1.0} and set(
                model.calibration_.offsets.values()
            ) == {0.0}
            np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
            assert model.loo_score_.rows == (6 if len(set(y)) == 1 else 0)


@every_kind
def test_columns_that_say_nothing_are_harmless(kind):
    X, y = some_columns("x", "n", seed=9)
    X |= {"same": np.full(30, 3.0), "gone": np.full(30, np.nan)}
    families = {"x": "gaussian", "n": "poisson", "same": "gaussian", "gone": "gaussian"}
    model = calibrated(kind, X, y, families=families)
    assert np.isfinite(numbers(model)).all()
    assert_lowest(model, X, y)
    gone = calibrated(kind, X, y, families=families | {"gone": "poisson"})
    np.testing.assert_allclose(gone.predict_log_proba(X), model.predict_log_proba(X), atol=1e-5)


@pytest.mark.filterwarnings("ignore::sunrise.NoColumnsWarning")
@every_kind
def test_a_model_without_columns_may_be_calibrated(kind):
    model = NaiveBayes(calibrate=kind).fit({"same": [1, 1, 1, 1]}, list("aaab"))
    np.testing.assert_allclose(model.predict_proba({"same": [1]}), [[0.75, 0.25]])


@every_kind
@pytest.mark.parametrize("strange", ["level", "class"])
def test_rows_of_weight_0_may_hold_levels_and_classes_of_their_own(kind, strange):
    X, y = some_columns("x", "k", seed=10)
    w = np.ones(len(y))
    w[4] = 0.0
    if strange == "level":
        X["k"][4] = "never seen"
    else:
        y[4] = "never seen"
    model = calibrated(kind, X, y, w)
    rest = np.delete(np.arange(len(y)), 4)
    fewer = calibrated(kind, {name: cells[rest] for name, cells in X.items()}, y[rest])
    assert numbers(model) == pytest.approx(numbers(fewer), abs=1e-5)


# Updates, priors, selection


def parts(X, y):
    half = np.arange(len(y)) % 3 == 0
    return [({k: v[m] for k, v in X.items()}, y[m]) for m in (half, ~half)]


def assert_same_statistics(a, b, X):
    np.testing.assert_array_equal(a.class_count_, b.class_count_)
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X), rtol=1e-10)
    for name, told in a.parameters_.items():
        for parameter, values in told.items():
            np.testing.assert_allclose(values, b.parameters_[name][parameter], rtol=1e-9)


UPDATES = {
    "partial_fit": lambda model, more: model.partial_fit(*more),
    "forget": lambda model, more: model.forget(*more),
    "merge": lambda model, more: model.merge(clone(model).fit(*more)),
    "+": lambda model, more: model + clone(model).fit(*more),
}


@every_kind
@every_case
@pytest.mark.parametrize("update", UPDATES)
def test_updates_keep_the_numbers_as_stale_ones_until_they_are_fitted_anew(kind, case, update):
    X, y, families = CASES[case]
    first, more = parts(X, y)
    start, end = ((X, y), first) if update == "forget" else (first, (X, y))
    model = calibrated(kind, *start, families=families)
    before = numbers(model)
    assert model.calibration_.stale is False
    model = UPDATES[update](model, more)
    assert model.calibration_.stale is True and model.calibration_.kind == kind
    np.testing.assert_array_equal(numbers(model), before)
    fresh = calibrated(kind, *end, families=families)
    assert_same_statistics(model, fresh, X)
    assert model.recalibrate(*end) is model
    assert model.calibration_.stale is False
    np.testing.assert_allclose(numbers(model), numbers(fresh), atol=1e-5)
    # Weights without a fold are fitted roughly, from different starts.
    assert model.loo_score_[:6] == pytest.approx(fresh.loo_score_[:6], abs=1e-4)


@every_kind
def test_what_an_update_has_made_untrue_is_not_shown(kind):
    (first, y), (more, z) = parts(*table())
    model = calibrated(kind, first, y).partial_fit(more, z)
    assert not hasattr(model, "loo_score_") or model.loo_score_.rows == 30


def test_fit_forgets_the_old_numbers():
    X, y = table()
    other, z = some_columns("x", "again", seed=11)
    model = calibrated("columns", other, z)
    model.set_params(families=FAMILIES).fit(X, y)
    np.testing.assert_array_equal(numbers(model), numbers(calibrated("columns", X, y)))
    assert model.calibration_.stale is False
    model.set_params(calibrate=None).fit(X, y)
    assert model.calibration_ is None and not hasattr(model, "loo_score_")
    np.testing.assert_array_equal(model.predict_proba(X), calibrated(None, X, y).predict_proba(X))


def test_a_fit_that_fails_leaves_model_and_numbers_as_they_were():
    X, y = table()
    model = calibrated("columns", X, y)
    before, proba = numbers(model), model.predict_proba(X)
    with pytest.raises(ValueError, match="one label for every row"):
        model.fit(X, y[:5])
    with pytest.raises(ValueError, match="never fitted"):
        model.recalibrate(X | {"x": X["x"] + 1e6}, y)
    np.testing.assert_array_equal(numbers(model), before)
    np.testing.assert_array_equal(model.predict_proba(X), proba)


@every_kind
@every_case
def test_another_class_prior_keeps_weights_and_offsets(kind, case):
    X, y, families = CASES[case]
    model = calibrated(kind, X, y, families=families)
    joint, prior, before = model.predict_joint_log_proba(X), model.class_prior_, numbers(model)
    wanted = np.array([0.5, 0.2, 0.3])
    other = model.with_class_prior(wanted)
    np.testing.assert_allclose(
        other.predict_joint_log_proba(X), joint + np.log(wanted / prior), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(numbers(other), before)
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), joint)
    model.class_prior_ = wanted
    np.testing.assert_array_equal(numbers(model), before)
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), other.predict_joint_log_proba(X))
    assert model.calibration_.stale is other.calibration_.stale is False


@every_kind
def test_selected_columns_keep_their_weights_as_stale_ones(kind):
    X, y = table()
    model = calibrated(kind, X, y)
    small = model.select(3)
    kept = [list(X)[j] for j in small.selected_]
    assert small.calibration_.stale is True and model.calibration_.stale is False
    assert small.calibration_.weights == {
        name: model.calibration_.weights[name] for name in small.calibration_.weights
    }
    assert set(small.calibration_.weights) == set(kept)
    assert small.calibration_.offsets == model.calibration_.offsets
    told = model.explain(X).contributions[:, :, sorted(small.selected_)].sum(axis=2)
    prior = model.explain(X).prior + model.explain(X).offset
    np.testing.assert_allclose(small.predict_joint_log_proba(X), prior + told, rtol=1e-9, atol=1e-9)
    small.recalibrate(X, y)
    assert small.calibration_.stale is False


@every_kind
def test_so_do_those_of_a_matrix(kind):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 4)) + y[:, None] * [0.0, 2.0, 0.3, 1.0]
    for matrix in (X, sparse.csr_array(X)):
        model = NaiveBayes("gaussian", calibrate=kind).fit(matrix, y)
        small = model.select(2)
        assert small.selected_.tolist() == [1, 3] and small.calibration_.stale is True
        before = list(model.calibration_.weights.values())
        assert list(small.calibration_.weights.values()) == [before[1], before[3]]
        narrow = small.n_features_in_ == 2
        again = small.recalibrate(matrix[:, [1, 3]] if narrow else matrix, y)
        fresh = NaiveBayes("gaussian", calibrate=kind).fit(X[:, [1, 3]], y)
        np.testing.assert_allclose(numbers(again), numbers(fresh), atol=1e-5)


@every_kind
def test_a_class_that_comes_later_has_offset_0(kind):
    X, y = some_columns("x", "n", seed=12)
    more = {name: cells[:2] for name, cells in X.items()}, ["aa", "aa"]
    model, plain = (calibrated(k, X, y).partial_fit(*more) for k in (kind, None))
    assert model.classes_.tolist() == ["a", "aa", "b", "c"]
    assert model.calibration_.offsets.get("aa", 0.0) == 0.0
    expected = scores_by_hand(model, plain, X)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-10, atol=1e-10)


@every_kind
@every_case
def test_pickles_keep_the_numbers_and_clones_the_settings(kind, case):
    X, y, families = CASES[case]
    model = calibrated(kind, X, y, families=families)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(numbers(again), numbers(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.loo_score_ == model.loo_score_
    blank = clone(model)
    assert blank.calibrate == kind and not hasattr(blank, "loo_score_") and not hasattr(blank, "calibration_")
    np.testing.assert_array_equal(numbers(blank.fit(X, y)), numbers(model))


# Threads, engines, tables


@every_kind
@every_case
def test_engines_agree(kind, case):
    X, y, families = CASES[case]
    found = []
    for engine in engines.ENGINES:
        with engines.using(engine):
            model = calibrated(kind, X, y, families=families)
            found.append(np.r_[numbers(model), model.loo_score_.log_loss])
    np.testing.assert_allclose(*found, atol=1e-6)


@every_kind
def test_two_threads_find_what_one_finds(kind):
    X, y = table(n=6_000)
    words, _ = counts(n=6_000)
    X |= words
    families = FAMILIES | {WORDS: "multinomial"}
    found = [calibrated(kind, X, y, families=families, n_jobs=n) for n in (1, 2)]
    np.testing.assert_allclose(*map(numbers, found), atol=1e-6)
    np.testing.assert_allclose(*(model.predict_proba(X) for model in found), atol=1e-6)


@every_kind
def test_tables_of_all_libraries_and_labels_by_name_give_the_same_numbers(kind):
    X, y = some_columns("x", "n", "k", seed=13)
    expected = numbers(calibrated(kind, X, y))
    plain = {name: cells.tolist() for name, cells in X.items()} | {"label": y.tolist()}
    for frame in (pd.DataFrame(plain), pl.DataFrame(plain), plain):
        model = NaiveBayes({name: FAMILIES[name] for name in X}, calibrate=kind).fit(frame, "label")
        np.testing.assert_allclose(numbers(model), expected, atol=1e-6)
        assert model.recalibrate(frame, "label").calibration_.stale is False


@every_kind
def test_sparse_counts_are_calibrated_like_dense_ones(kind):
    words, y = counts(seed=9)
    X = np.column_stack(list(words.values()))
    dense, thin = (NaiveBayes("multinomial", calibrate=kind).fit(Z, y) for Z in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(numbers(thin), numbers(dense), atol=1e-6)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-6)


# Settings


def test_calibration_has_to_be_asked_for_by_its_name():
    X, y = table()
    with pytest.raises(ValueError, match="calibrate.*'temperature'"):
        NaiveBayes(calibrate="platt").fit(X, y)
    assert calibrated(None, X, y).calibration_ is None
    with pytest.raises(ValueError, match="nothing to calibrate"):
        calibrated(None, X, y).recalibrate(X, y)
    with pytest.raises(ValueError, match="nothing to calibrate"):
        sr.GaussianNB().fit([[0.0], [1.0]], [0, 1]).recalibrate([[0.0], [1.0]], [0, 1])
    with pytest.raises(NotFittedError):
        NaiveBayes(calibrate="columns").recalibrate(X, y)
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = NaiveBayes(calibrate="columns").calibration_


@every_kind
def test_a_model_that_was_not_calibrated_may_be_later(kind):
    X, y = table()
    model = calibrated(None, X, y)
    model.calibrate = kind
    assert model.calibration_ is None
    model.recalibrate(X, y)
    np.testing.assert_allclose(numbers(model), numbers(calibrated(kind, X, y)), atol=1e-6)


def test_partial_fit_calibrates_where_fit_would():
    X, y = table()
    model = NaiveBayes(FAMILIES, calibrate="columns").partial_fit(X, y)
    assert model.calibration_ == calibrated("columns", X, y).calibration_
    np.testing.assert_array_equal(model.predict_proba(X), calibrated("columns", X, y).predict_proba(X))


def test_calibrated_models_take_part_in_cross_validation():
    frame = load_heart_disease("pandas").frame
    X, y = frame.drop(columns="disease"), frame["disease"]
    losses = {
        kind: -cross_val_score(NaiveBayes(calibrate=kind), X, y, cv=5, scoring="neg_log_loss").mean()
        for kind in (None, *KINDS)
    }
    assert losses["temperature"] < losses[None] and losses["columns"] < losses[None]
    proba = cross_val_predict(NaiveBayes(calibrate="columns"), X, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    search = GridSearchCV(NaiveBayes(), {"calibrate": [None, *KINDS]}, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["calibrate"] in KINDS
    assert search.best_estimator_.calibration_.kind == search.best_params_["calibrate"]


def weights_of(n, n_classes, n_weights, outliers):
    rng = np.random.default_rng(n_weights)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    cells = rng.normal(size=(n, n_classes - 1, n_weights)) * rng.gamma(1.0, 1.0, n_weights)
    cells += 0.3 * (np.arange(1, n_classes) == y[:, None])[:, :, None] - 0.3 * (y == 0)[:, None, None]
    cells[: int(outliers * n)] *= 100.0
    prior = np.full((n, n_classes), -np.log(n_classes))
    return ColumnWeights((cells,), prior, y, np.ones(n), np.ones(n_classes, bool), 1)


@pytest.mark.parametrize("n, n_classes, n_weights", [(600, 2, 5), (600, 4, 60), (9000, 3, 4)])
@pytest.mark.parametrize("outliers", [0.0, 0.01])
def test_no_direction_lowers_the_loss_of_fitted_weights(n, n_classes, n_weights, outliers):
    weights = weights_of(n, n_classes, n_weights, outliers)
    v = weights.solve(GRID[0])
    w, d = v[:n_weights], v[n_weights:]
    scores = np.zeros((n, n_classes))
    scores[:, 1:] = weights.cells[0] @ w
    p = np.exp(scores + d - (scores + d).max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(n), weights.y] -= 1.0
    slope = np.einsum("nc,ncj->j", p[:, 1:], weights.cells[0])
    slope += 2.0 * (w - w.mean()) + 0.2 * (w.mean() - 1.0)
    size = np.abs(np.einsum("nc,ncj->ncj", p[:, 1:], weights.cells[0])).sum(axis=(0, 1)).max()
    assert (np.abs(slope[w > 0]) < 1e-5 * size).all() and (slope[w == 0] > -1e-5 * size).all()
    assert (np.abs(p.sum(axis=0) + 2e-4 * d) < 1e-3).all()


def test_hessians_of_some_of_the_rows_give_nearly_the_same_weights(monkeypatch):
    weights = weights_of(3000, 3, 40, 0.0)
    exact = weights.solve(GRID[0])
    monkeypatch.setattr(column_weights, "MOST_PRODUCTS", 3000 * 2 * 40 * 40 // 4)
    few = weights_of(3000, 3, 40, 0.0)
    assert few._step_of_hessian == 2 and not few._can_be_exact
    np.testing.assert_allclose(few.solve(GRID[0]), exact, atol=0.02)


def test_weights_of_one_are_no_weights():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = {"a": rng.normal(size=300) + y, "b": rng.choice(["u", "v"], 300), "c": rng.poisson(2 + y)}
    plain, weighted = sr.NaiveBayes().fit(X, y), sr.NaiveBayes().fit(X, y, sample_weight=np.ones(300))
    assert np.array_equal(plain.predict_proba(X), weighted.predict_proba(X))
    assert plain.loo_score_ == weighted.loo_score_
