"""Rows without a label: EM is that of a few lines of NumPy, climbs, proves itself or leaves the model as it was."""

from __future__ import annotations

import datetime
import logging
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import sparse, stats
from sklearn.base import clone
from sunrise.inference import em

RNG = np.random.default_rng(5)


def bits(n=900, n_columns=80, n_classes=3, missing=0.1):
    """Rows of yes and no that fall into clusters, which are the classes."""
    theta = RNG.beta(9.0, 9.0, (n_classes, n_columns))
    y = RNG.integers(0, n_classes, n)
    X = (RNG.random((n, n_columns)) < theta[y]).astype(float)
    X[RNG.random(X.shape) < missing] = np.nan
    return X, y


def only(y, labelled):
    """Labels of the first rows alone."""
    return [label if k < labelled else None for k, label in enumerate(y.tolist())]


def climb(model, X, y, weight=1.0, sample_weight=None):
    """EM without its proof."""
    model = clone(model).set_params(unlabelled="em")
    settings = model._checked_settings()
    rows = model._read_rows(settings, X, y, sample_weight, fitting=True)
    schema, every = model._first_statistics(settings, rows)
    semi = em.SemiSupervised(settings, schema, every, rows.table, rows.accumulator)
    return semi._run_em(semi._labelled, semi._labelled_rows.weight, weight)


def frame(n=500, labelled=60):
    """A mixed table with missing cells, and its labels."""
    y = RNG.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "size": RNG.normal(2.0 * y, 1.0),
            "kind": np.where(RNG.random(n) < 0.7, np.array(["a", "b", "c"])[y], "d"),
            "count": RNG.poisson(1 + 3 * y),
            "yes": RNG.random(n) < 0.2 + 0.3 * y,
        }
    )
    table.loc[RNG.random(n) < 0.1, "size"] = np.nan
    table.loc[RNG.random(n) < 0.1, "kind"] = None
    return table, y, only(np.array(["x", "y", "z"])[y], labelled)


# The truth


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_bernoulli_is_a_few_lines_of_numpy(weight):
    X, y = bits(n_columns=150)
    labelled, alpha = 45, 0.7
    w = RNG.integers(1, 4, len(y)).astype(float)
    model = NaiveBayes(sr.Bernoulli(alpha), unlabelled="em", unlabelled_weight=weight)
    model.fit(X, only(y, labelled), w)
    steps = model.em_.steps
    assert model.em_.weight == weight and model.em_.converged == (steps < 10)

    seen, one, known = ~np.isnan(X), np.nan_to_num(X), np.arange(len(y)) < labelled
    truth = np.eye(3)[y] * known[:, None]
    p, values = truth, []
    for step in range(steps + 2):
        share = p * (w * np.where(known, 1.0, weight))[:, None]
        theta = (share.T @ one + alpha) / (share.T @ seen + 2 * alpha)
        prior = share.sum(axis=0) / share.sum()
        joint = np.log(prior) + one @ np.log(theta.T) + (seen - one) @ np.log1p(-theta.T)
        top = np.logaddexp.reduce(joint, axis=1)
        values.append(
            (w * known) @ joint[np.arange(len(y)), y]
            + weight * (w * ~known) @ top
            + alpha * (np.log(theta) + np.log1p(-theta)).sum()
        )
        if step <= steps:
            p = np.where(known[:, None], truth, np.exp(joint - top[:, None]))
    np.testing.assert_allclose(model.em_.log_likelihood, values[1 : steps + 1], rtol=1e-9)
    np.testing.assert_allclose(model.class_prior_, prior, rtol=1e-7)
    found = np.array([told["yes"] for told in model.parameters_.values()]).T
    np.testing.assert_allclose(found, theta, rtol=1e-6)
    assert model.score(X[~known], y[~known]) > NaiveBayes("bernoulli").fit(X[known], y[known]).score(
        X[~known], y[~known]
    )


def test_gaussian_is_scipys_likelihood():
    y = RNG.integers(0, 2, 400)
    X = RNG.normal(np.stack([2.5 * y, -1.5 * y], axis=1), 1.0)
    known = np.arange(len(y)) < 12
    end = climb(NaiveBayes("gaussian", estimate="mle"), X, only(y, 12))
    share = np.where(known[:, None], np.eye(2)[y], 0.0)
    for _ in range(11):
        prior, n = share.sum(axis=0) / share.sum(), share.sum(axis=0)[:, None]
        mean = share.T @ X / n
        var = np.stack([share[:, c] @ (X - mean[c]) ** 2 for c in range(2)]) / n
        joint = np.log(prior) + np.stack(
            [stats.norm.logpdf(X, mean[c], np.sqrt(var[c])).sum(axis=1) for c in range(2)], axis=1
        )
        top = np.logaddexp.reduce(joint, axis=1)
        value = joint[np.arange(len(y)), y][known].sum() + top[~known].sum()
        share = np.where(known[:, None], np.eye(2)[y], np.exp(joint - top[:, None]))
    assert end.trace[-1] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(end.p, share[~known], atol=1e-8)
    np.testing.assert_allclose(end.model.params[0].mean, mean, rtol=1e-8)
    np.testing.assert_allclose(end.model.params[0].var, var, rtol=1e-7)


def sizes(n):
    return np.abs(RNG.normal(1.0, 0.4, (n, 3)))


CASES = {
    "gaussian": lambda y: RNG.normal(y[:, None], 1.0, (len(y), 3)),
    "lognormal": lambda y: sizes(len(y)) * (1 + y[:, None]),
    "gamma": lambda y: sizes(len(y)) * (1 + y[:, None]),
    "exponential": lambda y: RNG.exponential(1.0 + 4.0 * y[:, None], (len(y), 3)),
    "beta": lambda y: RNG.beta(1 + 2 * y[:, None], 2.0, (len(y), 3)),
    "vonmises": lambda y: RNG.vonmises(y[:, None], 2.0, (len(y), 3)),
    "poisson": lambda y: RNG.poisson(1 + 2 * np.eye(3)[y]),
    "geometric": lambda y: RNG.geometric(1 / (1 + 3 * np.eye(3)[y])) - 1,
    "zero_inflated_poisson": lambda y: RNG.poisson(1 + 3 * np.eye(3)[y]) * (RNG.random((len(y), 3)) < 0.7),
    "bernoulli": lambda y: (RNG.random((len(y), 3)) < 0.2 + 0.6 * np.eye(3)[y]).astype(float),
    "multinomial": lambda y: RNG.poisson(1 + 2 * np.eye(3)[y]),
    "categorical": lambda y: (y[:, None] + RNG.integers(0, 2, (len(y), 3))) % 3,
}


@pytest.mark.parametrize("estimate", ["mean", "map", "mle"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_climbed_never_falls(name, estimate):
    y = RNG.integers(0, 3, 400)
    X = CASES[name](y).astype(float)
    if name != "multinomial":
        X[RNG.random(X.shape) < 0.1] = np.nan
    with np.errstate(all="raise", under="ignore", divide="ignore"):
        end = climb(NaiveBayes(name, estimate=estimate), X, only(y, 40), 0.5)
    assert end.is_likelihood and len(end.trace) > 2
    assert np.diff(end.trace).min() > -1e-9 * abs(end.trace[-1])


def test_a_mixed_table_is_climbed_too():
    table, _, labels = frame()
    end = climb(NaiveBayes({"count": "poisson"}), table, labels)
    assert end.is_likelihood and np.diff(end.trace).min() > 0
    assert len({part.family.name for part in end.model.parts}) == 4


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes("complement"),
        NaiveBayes("gaussian", estimate="predictive"),
        NaiveBayes("gaussian", class_weight="balanced"),
        NaiveBayes(sr.Gaussian(shared_variance=True)),
    ],
    ids=str,
)
def test_where_there_is_no_likelihood_em_says_so(model):
    y = RNG.integers(0, 3, 200)
    assert not climb(model, CASES["poisson"](y).astype(float), only(y, 40)).is_likelihood


# What is kept


def test_rows_count_once_and_by_their_weight():
    X, y = bits(missing=0.0)
    model = NaiveBayes("bernoulli", unlabelled="em", unlabelled_weight=0.3).fit(X, only(y, 45))
    assert model.stats_.rows.sum() == len(y)
    assert model.class_count_.sum() == pytest.approx(45 + 0.3 * (len(y) - 45))
    np.testing.assert_allclose(
        model.stats_.blocks[0].x.sum(axis=0), X[:45].sum(axis=0) + 0.3 * X[45:].sum(axis=0)
    )


def test_rows_of_weight_0_are_not_there():
    X, y = bits()
    w = (RNG.random(len(y)) < 0.8).astype(float)
    labels = np.array(only(y, 60), dtype=object)
    whole = NaiveBayes("bernoulli", unlabelled="em").fit(X, labels, w)
    part = NaiveBayes("bernoulli", unlabelled="em").fit(X[w > 0], labels[w > 0])
    assert whole.em_.weight > 0 and whole.em_.unlabelled == part.em_.unlabelled
    np.testing.assert_allclose(whole.predict_log_proba(X), part.predict_log_proba(X), rtol=1e-6, atol=1e-9)


def test_dense_and_sparse_are_the_same():
    X, y = bits(missing=0.0)
    labels = only(y, 45)
    dense = NaiveBayes("bernoulli", unlabelled="em").fit(X, labels)
    thin = NaiveBayes("bernoulli", unlabelled="em").fit(sparse.csr_array(X), labels)
    assert dense.em_.weight == thin.em_.weight > 0
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), atol=1e-9)


def test_a_model_can_go_on_learning():
    X, y = bits()
    model = NaiveBayes("bernoulli", unlabelled="em").fit(X[:600], only(y[:600], 45))
    before = model.class_count_.copy()
    assert model.em_.weight > 0
    with pytest.warns(
        sr.UnlabelledRowsWarning, match=r"555 rows without a label\. partial_fit adds.* stay as EM"
    ):
        model.partial_fit(X[600:], y[600:])
    with pytest.warns(sr.UnlabelledRowsWarning, match=r"forget removes.* Fit again to run EM"):
        model.forget(X[600:], y[600:])
    np.testing.assert_allclose(model.class_count_, before)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.em_ == model.em_ and (copy.predict(X) == model.predict(X)).all()


def test_updates_after_em_change_the_statistics_of_labelled_rows_only():
    X, y = bits(missing=0.0)
    model = NaiveBayes("bernoulli", unlabelled="em").fit(X[:600], only(y[:600], 45))
    other = NaiveBayes("bernoulli").fit(X[600:], y[600:])
    ones, weight = model.stats_.blocks[0].x.copy(), model.class_count_.copy()
    with pytest.warns(sr.UnlabelledRowsWarning, match="merge adds the statistics of the two models"):
        both = model + other
    with pytest.warns(sr.UnlabelledRowsWarning, match="merge adds the statistics of the two models"):
        other + model
    more = np.stack([X[600:][y[600:] == c].sum(axis=0) for c in range(3)])
    np.testing.assert_allclose(both.stats_.blocks[0].x, ones + more, rtol=1e-12)
    with pytest.warns(sr.UnlabelledRowsWarning):
        model.forget(X[:1], y[:1])
    np.testing.assert_allclose(model.class_count_, weight - np.eye(3)[y[0]])
    plain = NaiveBayes("bernoulli", unlabelled="em").fit(X[:600], y[:600])
    plain.partial_fit(X[600:], y[600:])  # no row without a label, no warning


# The proof


def test_where_the_classes_are_no_clusters_the_model_is_that_of_the_labelled_rows():
    n = 2000
    group, y = RNG.integers(0, 2, n), RNG.integers(0, 2, n)
    X = (RNG.random((n, 12)) < np.where(group[:, None] == 1, 0.9, 0.1)).astype(
        float
    )  # clusters, but no classes
    X[:, 0] = RNG.random(n) < np.where(y == 1, 0.8, 0.2)
    plain = NaiveBayes("bernoulli").fit(X[:60], y[:60])
    model = NaiveBayes("bernoulli", unlabelled="em").fit(X, only(y, 60))
    assert model.em_.weight == 0.0 and model.em_.steps == 0 and model.em_.scores[0.0] > 0.5
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)
    assert model.stats_.rows.sum() == 60
    for weight in (1.0, 0.1):  # a given weight is used without a gain, too
        model = NaiveBayes("bernoulli", unlabelled="em", unlabelled_weight=weight).fit(X, only(y, 60))
        end = climb(NaiveBayes("bernoulli"), X, only(y, 60), weight)
        assert model.em_.weight == weight and model.em_.log_likelihood == end.trace
        assert model.em_.scores[weight] <= model.em_.scores[0.0]
        assert model.class_count_.sum() == pytest.approx(60 + weight * (n - 60))


@pytest.mark.parametrize("calibrate", [None, "temperature", "columns"])
def test_a_given_weight_is_used_with_one_labelled_row_of_each_class(calibrate):
    X, y = RNG.normal(size=(200, 2)), np.arange(200) % 2
    model = NaiveBayes("gaussian", unlabelled="em", unlabelled_weight=0.2, calibrate=calibrate)
    model.fit(X, only(y, 2))
    assert model.em_.weight == 0.2 and model.em_.scores == {}
    assert model.class_count_.sum() == pytest.approx(2 + 0.2 * 198)
    table, _, labels = frame()
    model.set_params(families="auto").fit(table, labels)
    assert model.em_.weight == 0.2 and set(model.em_.scores) == {0.0, 0.2}


@pytest.mark.parametrize("calibrate", [None, "temperature", "columns"])
@pytest.mark.parametrize("unseen", ["reserve", "error"])
def test_a_table_that_falls_back_is_read_as_the_labelled_rows_are(calibrate, unseen):
    n = 300
    y = RNG.integers(0, 2, n)
    table = pd.DataFrame(
        {"x": RNG.normal(0, 1, n), "kind": RNG.choice(list("abcdefgh"), n), "few": [0.0, 1.0] * (n // 2)}
    )
    table.loc[40:, "few"] += 0.5  # no whole numbers: another family, had they a label
    table.loc[40:, "kind"] += "!"
    labels = only(y, 40)
    model = NaiveBayes(unlabelled="em", calibrate=calibrate, unseen=unseen).fit(table, labels)
    plain = NaiveBayes(calibrate=calibrate, unseen=unseen).fit(table[:40], y[:40])
    assert model.em_.weight == 0.0 and model.fixed_families_ == plain.fixed_families_
    np.testing.assert_allclose(model.predict_proba(table[:40]), plain.predict_proba(table[:40]), rtol=1e-6)


def test_one_labelled_row_of_each_class():
    X, y = bits(n=1500, n_columns=150)
    first = [int(np.flatnonzero(y == c)[0]) for c in range(3)]
    labels = np.full(len(y), None, dtype=object)
    labels[first] = y[first]
    model = NaiveBayes("bernoulli", unlabelled="em", calibrate="temperature").fit(X, labels)
    assert model.em_.scores == {} and model.em_.weight == 1.0
    assert model.score(X, y) > NaiveBayes("bernoulli").fit(X[first], y[first]).score(X, y) + 0.1
    assert set(model.calibration_.weights.values()) == {1.0}  # nothing to calibrate on


def test_with_every_label_it_is_plain_fitting():
    table, y, _ = frame()
    model, plain = NaiveBayes(unlabelled="em").fit(table, y), NaiveBayes().fit(table, y)
    assert not hasattr(model, "em_")
    assert (model.predict_proba(table) == plain.predict_proba(table)).all()
    model.fit(table, only(y, 100))
    assert hasattr(model, "em_")
    assert not hasattr(model.fit(table, y), "em_")


# Calibration


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
@pytest.mark.parametrize("kind", ["temperature", "columns"])
def test_probabilities_are_calibrated_on_labelled_rows_that_were_held_out(kind):
    X, y = bits(n=3000, n_columns=150)
    X = np.repeat(X, 3, axis=1)  # everything is said three times
    labels, loss = only(y, 60), {}
    for calibrate in (None, kind):
        model = NaiveBayes("bernoulli", unlabelled="em", calibrate=calibrate).fit(X, labels)
        assert model.em_.weight > 0
        loss[calibrate] = -model.predict_log_proba(X[60:])[np.arange(len(y) - 60), y[60:]].mean()
    assert model.loo_score_.rows == 60 and not model.calibration_.stale
    if kind == "temperature":  # 450 weights for 60 rows would be too many
        assert loss[kind] < loss[None]
        assert abs(model.loo_score_.log_loss - loss[kind]) < 0.15
    assert model.score(X, y) > 0.9


# Labels of every kind


NAMES = np.array(["x", "y", "z"])
KINDS = {
    "list": lambda y, n: only(NAMES[y], n),
    "list of mixed": lambda y, n: only(np.array([1, "b", "c"], object)[y], n),
    "pd.NA": lambda y, n: [pd.NA if label is None else label for label in only(NAMES[y], n)],
    "floats": lambda y, n: np.where(np.arange(len(y)) < n, y, np.nan),
    "objects": lambda y, n: np.array(only(y, n), object),
    "dates": lambda y, n: np.where(
        np.arange(len(y)) < n, (np.datetime64("2020-01-01") + y).astype("M8[D]"), np.datetime64("NaT")
    ),
    "pandas": lambda y, n: pd.Series(only(NAMES[y], n), index=np.arange(len(y))[::-1]),
    "pandas integers": lambda y, n: pd.Series(only(y, n), dtype="Int64"),
    "pandas booleans": lambda y, n: pd.Series(only(y > 0, n), dtype="boolean"),
    "pandas strings": lambda y, n: pd.Series(only(NAMES[y], n), dtype="string"),
    "pandas categories": lambda y, n: pd.Series(only(NAMES[y], n), dtype="category"),
    "polars": lambda y, n: pl.Series("label", only(NAMES[y], n)),
    "polars floats": lambda y, n: pl.Series("label", np.where(np.arange(len(y)) < n, y, np.nan)),
    "pyarrow": lambda y, n: pa.array(only(NAMES[y], n)),
    "pyarrow in pieces": lambda y, n: pa.chunked_array([only(NAMES[y], n)[:50], only(NAMES[y], n)[50:]]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_may_be_missing_in_any_form(kind):
    X, y = bits(n=400)
    plain = {"list of mixed": [1, "b", "c"], "pandas booleans": [False, True]}
    if kind in ("floats", "objects", "pandas integers", "polars floats"):
        plain[kind] = [0, 1, 2]
    if kind == "dates":
        plain[kind] = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
    table = pd.DataFrame(X.astype(object), columns=[f"c{j}" for j in range(X.shape[1])]).astype(float)
    model = NaiveBayes("bernoulli", unlabelled="em").fit(table, KINDS[kind](y, 60))
    assert model.classes_.tolist() == plain.get(kind, ["x", "y", "z"])
    assert (model.em_.labelled, model.em_.unlabelled) == (60, 340)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_labels_by_name_may_be_missing(make):
    table, _, labels = frame()
    plain = {
        name: column.astype(object).where(column.notna(), None).tolist() for name, column in table.items()
    }
    X = make(plain | {"label": labels})
    model = NaiveBayes(unlabelled="em").fit(X, "label")
    assert (model.em_.labelled, model.em_.unlabelled) == (60, 440)
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert len(model.predict(X)) == 500


# Errors, and what is said on the way


def test_errors_name_the_remedy():
    X, y = bits(n=60)
    labels = only(y, 30)
    with pytest.raises(ValueError, match='label in row 30 is missing.*unlabelled="em"'):
        NaiveBayes("bernoulli").fit(X, labels)
    with pytest.raises(ValueError, match="no row has a label"):
        NaiveBayes("bernoulli", unlabelled="em").fit(X, [None] * 60)
    with pytest.raises(ValueError, match="every labelled row has weight 0"):
        NaiveBayes("bernoulli", unlabelled="em").fit(X, labels, (np.arange(60) >= 30).astype(float))
    model = NaiveBayes("bernoulli", unlabelled="em").fit(X, labels)
    for learn in (model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="Only fit learns from rows without a label"):
            learn(X, labels)
    for wrong in (0.0, 1.5, "half"):
        with pytest.raises(ValueError, match="unlabelled_weight"):
            NaiveBayes(unlabelled="em", unlabelled_weight=wrong).fit(X, labels)
    with pytest.raises(ValueError, match="unlabelled"):
        NaiveBayes(unlabelled="yes").fit(X, labels)
    assert clone(model).get_params() == model.get_params()


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = bits(n=60)
    model = NaiveBayes("bernoulli", unlabelled="em").fit(X, only(y, 30))
    before = model.em_
    with pytest.raises(ValueError, match="no row has a label"):
        model.fit(X, [None] * 60)
    assert model.em_ == before


def test_steps_are_logged(caplog):
    X, y = bits(n=300)
    with caplog.at_level(logging.INFO, logger="sunrise"):
        NaiveBayes("bernoulli", unlabelled="em", unlabelled_weight=1.0).fit(X, only(y, 60))
    assert (
        "EM, weight 1, all rows, step 1: log-likelihood -" in caplog.text and "cross-validated" in caplog.text
    )
    assert "EM, weight 1, fold 2 of 5, step 1:" in caplog.text and "of 240 rows changed class" in caplog.text


@pytest.mark.parametrize("model", [NaiveBayes("bernoulli"), sr.TextNB()], ids=str)
def test_steps_are_printed_on_request(model, capsys):
    X, y = bits(n=300)
    if isinstance(model, sr.TextNB):
        X, y = documents(300)
    for verbose in (False, True):
        model.set_params(unlabelled="em", unlabelled_weight=1.0, verbose=verbose).fit(X, only(y, 60))
        printed = capsys.readouterr()
        assert printed.out == ""
        lines = printed.err.splitlines()
        assert len([line for line in lines if "all rows, step" in line]) == verbose * model.em_.steps
    assert any("cross-validated accuracy" in line for line in lines)


# Documents


WORDS = [[f"{topic}{k}" for k in range(60)] for topic in ("ball", "bank", "star")]


def documents(n=600):
    y = RNG.integers(0, 3, n)
    texts = [" ".join([*RNG.choice(WORDS[c], 6), *RNG.choice(["the", "and", "so"], 8)]) for c in y]
    return texts, y


@pytest.mark.parametrize(
    "settings",
    [{}, {"model": "multinomial", "total": 20.0}, {"model": "bernoulli"}, {"model": "dirichlet_multinomial"}],
)
def test_documents_without_a_label(settings):
    texts, y = documents()
    labels = only(NAMES[y], 30)
    texts[100], texts[101] = None, ""
    model, plain = (sr.TextNB(**settings, unlabelled=way) for way in ("em", "error"))
    model.fit(texts, labels)
    plain.fit(texts[:30], labels[:30])
    likely = settings.get("model") in ("multinomial", "bernoulli")
    assert model.em_.weight > 0 and model.em_.is_likelihood == likely
    right = [(m.predict(texts[102:]) == NAMES[y[102:]]).mean() for m in (plain, model)]
    assert right[1] >= max(right[0], 0.95)
    found = model.stats_.blocks[0]
    assert found.documents.sum() == 599 and found.documents_with_word.sum() == sum(
        len(set(t.split())) for t in texts if t
    )
    if settings:
        assert np.diff(model.em_.log_likelihood).min() > 0


def test_documents_of_constant_length():
    texts = ["one two two", "three", "one three three three", "", None]
    model = sr.TextNB(tf="count", length=0, total=20.0, calibrate=None).fit(texts, [0, 1, 1, 0, 0])
    words = model.stats_.blocks[0]
    np.testing.assert_allclose(words.sums.sum(axis=1), [20, 40])
    np.testing.assert_allclose(words.sums[:, words.words.tolist().index("three")], [0, 35])
    with pytest.raises(ValueError, match="total"):
        sr.TextNB(total=0).fit(texts, [0, 1, 1, 0, 0])
    with pytest.raises(ValueError, match="settings that have changed"):
        model.set_params(total=None).partial_fit(["one"], [0])
