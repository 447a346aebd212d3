"""compress: few points in place of training values, against sums of all kernels."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from plain import NaiveBayes
from sklearn.datasets import load_breast_cancer
from sunrise import Kernel, KernelNB, Laplace
from sunrise.datasets import load_heart_disease
from sunrise.numerics.quadrature import gauss_nodes

RNG = np.random.default_rng(11)
#: The stated bound on the change of a density, in units of the height of a kernel.
BOUND = 1e-4


def skewed(n):
    """Values with a dense part, ties, gaps and far outliers, weights, and two classes."""
    x = np.concatenate(
        [RNG.gamma(2.0, 1.0, n), np.round(RNG.normal(5.0, 1.0, n)), RNG.exponential(40.0, n // 50)]
    )
    x = np.maximum(x, 1e-3)
    return x, (RNG.random(len(x)) < 0.4).astype(int), RNG.exponential(size=len(x))


def mean_of_kernels(values, weights, h, at):
    z = (at[:, None] - values) / h
    return np.exp(-0.5 * z * z) @ weights / (weights.sum() * h * np.sqrt(2 * np.pi))


def test_gauss_nodes_have_the_moments_of_the_values():
    x, w = np.sort(RNG.random(30)), RNG.exponential(size=30)
    nodes, weights = gauss_nodes(x, w, np.array([0, 18]), 4)
    for group, own in enumerate((slice(0, 18), slice(18, 30))):
        for power in range(8):
            assert (weights[group] * nodes[group] ** power).sum() == pytest.approx(
                w[own] @ x[own] ** power, rel=1e-9
            )
    assert (weights > 0).all()


@pytest.mark.parametrize("rule", ["silverman", "loo", 0.05])
def test_a_density_changes_by_less_than_the_stated_bound(rule):
    x, y, w = skewed(3000)
    model = KernelNB(bandwidth=rule).fit(x[:, None], y, sample_weight=w)
    at = np.concatenate([RNG.choice(x, 500), np.linspace(-5.0, 60.0, 2000)])
    h = model.bandwidth_
    model.compress()
    joint = np.exp(model.predict_joint_log_proba(at[:, None]) - np.log(model.class_prior_))
    kdes = [mean_of_kernels(x[y == c], w[y == c], h[c, 0], at) for c in (0, 1)]
    n = np.array([w[y == c].sum() for c in (0, 1)])
    pooled = (n * np.stack(kdes, axis=1)).sum(axis=1) / n.sum()
    for c in (0, 1):
        truth = (n[c] * kdes[c] + pooled) / (n[c] + 1)
        assert np.abs(joint[:, c] - truth).max() < BOUND / (h[c, 0] * np.sqrt(2 * np.pi))
    assert np.array_equal(model.bandwidth_, h)


@pytest.mark.parametrize(
    "settings", [{"lower": 0.0}, {"lower": 0.0, "upper": 500.0}, {"lower": 0.0, "boundary": "log"}]
)
def test_bounds_are_kept(settings):
    x, y, _ = skewed(2000)
    model = KernelNB(**settings).fit(x[:, None], y)
    at = np.sort(RNG.choice(x, 700))[:, None]
    before, density = model.predict_proba(at), model.score_samples(at)
    model.compress()
    assert np.abs(model.predict_proba(at) - before).max() < BOUND
    np.testing.assert_allclose(model.score_samples(at), density, atol=1e-3)
    if settings.get("boundary") == "reflect":
        assert model.stats_.blocks[0].x.min() >= 0.0


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
@pytest.mark.parametrize("name", ["spambase", "heart-cleveland", "credit-approval", "optdigits"])
def test_predictions_agree_on_real_tables(find_data, name):
    frame = pd.read_csv(find_data(f"tables/{name}.csv.gz"))
    numbers = frame.select_dtypes("number")
    target = frame.columns[-1] if frame.columns[-1] != "split" else frame.columns[-2]
    X, y = numbers.drop(columns=[target, "split"], errors="ignore"), frame[target].astype(str)
    test = np.arange(len(X)) % 3 == 0
    model = NaiveBayes("kernel").fit(X[~test], y[~test])
    before = model.predict_proba(X[test])
    model.compress()
    assert np.abs(model.predict_proba(X[test]) - before).max() < BOUND


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
def test_a_compressed_model_of_adult_is_small(find_data):
    frame = pd.read_csv(find_data("tables/adult.csv.gz")).drop(columns="split")
    y = frame.pop("income")
    model = NaiveBayes({"fnlwgt": "kernel", "capital_gain": "kernel", "age": "auto-fast"}).fit(frame, y)
    fast = len(pickle.dumps(NaiveBayes("auto-fast").fit(frame, y)))
    before, proba = len(pickle.dumps(model)), model.predict_proba(frame)
    after = len(pickle.dumps(model.compress()))
    assert before > 500_000
    assert after < fast + 15_000
    assert np.abs(model.predict_proba(frame) - proba).max() < BOUND


def test_families_say_what_is_kept():
    x = RNG.normal(size=(400, 3))
    y = np.arange(400) % 2
    families = {"a": "kernel", "b": Kernel(grid=(-9.0, 9.0, 100)), "c": "gaussian"}
    model = NaiveBayes(families).fit(pd.DataFrame(x, columns=list("abc")), y)
    reasons = dict(zip(model.families_["column"], model.families_["reason"], strict=True))
    assert reasons == {
        "a": "given; keeps 400 training values",
        "b": "given; keeps 101 grid nodes",
        "c": "given",
    }
    assert "keeps 400 training values" in str(model)
    model.compress()
    assert "points of a density" in model.families_["reason"][0]
    raw = {value.tobytes() for value in x[:, 0]}
    assert not raw & {value.tobytes() for value in model.stats_.blocks[0].x}


def test_a_compressed_model_cannot_be_updated_and_says_so():
    X, y = load_breast_cancer(return_X_y=True)
    model, other = KernelNB().fit(X, y), KernelNB().fit(X, y)
    assert model.compress() is model
    for update in (
        lambda: model.partial_fit(X, y),
        lambda: model.forget(X[:1], y[:1]),
        lambda: model.merge(other),
        lambda: other.merge(model),
        lambda: other + model,
        lambda: model.leave_one_out(X, y),
    ):
        with pytest.raises(
            ValueError, match=r"column 'x0' no longer has its training values.*before compress"
        ):
            update()
    with pytest.raises(ValueError, match=r"leave-one-out needs the training values.*not compressed"):
        model._model.parts[0].family.left_out(model.stats_.blocks[0], model._model.params[0], None)
    before = model.predict_proba(X)
    assert np.array_equal(model.compress().predict_proba(X), before)  # a second time changes nothing
    assert model.fit(X, y).partial_fit(X, y).class_count_.sum() == 2 * len(X)  # fit starts anew


def test_models_without_training_values_do_not_change():
    heart = load_heart_disease("pandas")
    model = NaiveBayes("auto-fast").fit(heart.data, heart.target)
    before = pickle.dumps(model)
    assert model.compress() is model
    assert pickle.dumps(model) == before
    model.partial_fit(heart.data, heart.target)
    grid = KernelNB(grid=(0.0, 1.0, 50)).fit([[0.1], [0.2], [0.9]], [0, 0, 1]).compress()
    assert grid.partial_fit([[0.3]], [1]).class_count_.tolist() == [2.0, 2.0]


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}, {"calibrate": "columns"}])
def test_other_abilities_work_after_compress(settings):
    X, y = load_breast_cancer(return_X_y=True)
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef"))
    families = {"a": "kernel", "b": "kernel", "c": Kernel(lower=0.0), "d": "gaussian"}
    plain, model = (NaiveBayes(families | {"e": "laplace"}, **settings).fit(frame, y) for _ in range(2))
    score = plain.__dict__.get("loo_score_")
    model.compress()
    assert model.__dict__.get("loo_score_") == score
    assert "stale" not in str(model)

    def agree(a, b, bound=BOUND):
        assert np.abs(a - b).max() < bound

    agree(model.predict_proba(frame), plain.predict_proba(frame))
    agree(model.mutual_information(), plain.mutual_information())
    agree(model.explain(frame[:9]).contributions, plain.explain(frame[:9]).contributions, 1e-2)
    for change in (lambda m: m.select(3), lambda m: m.with_class_prior("uniform"), pickle.dumps):
        a, b = change(model), change(plain)
        if isinstance(a, bytes):
            a, b = pickle.loads(a), pickle.loads(b)
        agree(a.predict_proba(frame), b.predict_proba(frame))
    rows, _ = model.sample(4000, y=1, random_state=0)
    assert rows["a"].mean() == pytest.approx(X[y == 1, 0].mean(), rel=0.02)
    model.class_prior_ = [0.5, 0.5]
    assert model.compress().class_prior_.tolist() == [0.5, 0.5]


def test_announced_classes_stay():
    x = RNG.normal(size=(60, 1))
    model = KernelNB().partial_fit(x, np.arange(60) % 2, classes=[0, 1, 2])
    before = model.predict_joint_log_proba(x)
    model.compress()
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(model.predict_joint_log_proba(x), before, atol=BOUND)


def test_laplace_keeps_its_parameters():
    X = np.round(RNG.standard_t(2.0, size=(500, 3)), 1)
    y, w = RNG.integers(0, 3, 500), RNG.exponential(size=500)
    model = NaiveBayes(Laplace(), class_weight="balanced").fit(X, y, sample_weight=w)
    before = model.parameters_
    model.compress()
    assert model.stats_.blocks[0].sizes.max() <= 5
    for name, column in model.parameters_.items():
        assert np.array_equal(column["median"], before[name]["median"])
        np.testing.assert_allclose(column["scale"], before[name]["scale"], rtol=1e-12)
