"""compress: weights on grids in place of training values, against sums of all kernels and against refits."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from plain import NaiveBayes
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sunrise import Kernel, KernelNB, Laplace
from sunrise.datasets import load_heart_disease

RNG = np.random.default_rng(11)
#: Bound on the change of probabilities of the tables below.
CLOSE = 0.01
twins_are_known = pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")


def skewed(n):
    """Values with a dense part, ties, gaps and far outliers, weights, and two classes."""
    x = np.concatenate(
        [RNG.gamma(2.0, 1.0, n), np.round(RNG.normal(5.0, 1.0, n)), RNG.exponential(40.0, n // 50)]
    )
    x = np.maximum(x, 1e-3)
    return x, (RNG.random(len(x)) < 0.4).astype(int), RNG.exponential(size=len(x))


def grid_of(model, j=0):
    """What compress has decided for a column."""
    return model._model.schema.choices[j].family.compressed[0]


def mean_of_kernels(values, weights, h, at, images=((1.0, 0.0),)):
    z = np.stack([(at[:, None] - sign * values - shift) / h for sign, shift in images])
    return np.exp(-0.5 * z * z).sum(axis=0) @ weights / (weights.sum() * h * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("rule", ["silverman", "loo", 0.05])
@pytest.mark.parametrize("bound", [None, 0.0])
def test_a_density_changes_by_less_than_the_stated_bound(rule, bound):
    x, y, w = skewed(3000)
    model = KernelNB(bandwidth=rule, lower=bound).fit(x[:, None], y, sample_weight=w)
    at = np.concatenate([RNG.choice(x, 500), np.linspace(-5.0 if bound is None else 0.0, 60.0, 2000)])
    h = model.bandwidth_
    model.compress()
    error = grid_of(model).error
    assert error <= (0.0026 if bound is None else 0.0052)
    assert f"{100 * error:.2g} %" in model.families_["x0"]["reason"]
    assert np.array_equal(model.bandwidth_, h)
    joint = np.exp(model.predict_joint_log_proba(at[:, None]) - np.log(model.class_prior_))
    images = ((1.0, 0.0),) if bound is None else ((1.0, 0.0), (-1.0, 0.0))
    kdes = [mean_of_kernels(x[y == c], w[y == c], h[c, 0], at, images) for c in (0, 1)]
    n = np.array([w[y == c].sum() for c in (0, 1)])
    pooled = (n * np.stack(kdes, axis=1)).sum(axis=1) / n.sum()
    for c in (0, 1):
        truth = (n[c] * kdes[c] + pooled) / (n[c] + 1)
        assert np.abs(joint[:, c] - truth).max() < error / (h[c, 0] * np.sqrt(2 * np.pi))


def test_the_bound_holds_for_single_values_anywhere_between_two_nodes():
    """The worst case: one kernel, whose value lies in the middle of two nodes, seen at its top."""
    for value in np.linspace(0.3, 0.4, 41):
        model = KernelNB(bandwidth=1.0, estimate="mle").fit([[value]], [0]).compress()
        at = np.linspace(-4.0, 5.0, 400)
        density = np.exp(model.score_samples(at[:, None]))
        worst = np.abs(density - stats.norm.pdf(at, value, 1.0)).max()
        assert worst <= grid_of(model).error * stats.norm.pdf(0.0)


@pytest.mark.parametrize(("n", "most"), [(20_000, 7_000), (3_000, 6_000)])
def test_large_grids_are_coarser_and_say_so(n, most):
    """20,000 values on 2,000 bandwidths get fewer nodes; 3,000 values far apart get two nodes each on any grid."""
    x = np.sort(RNG.random(n)) * (20_000.0 if n == 20_000 else 3e6)
    model = KernelNB(bandwidth=10.0).fit(x[:, None], np.zeros(n, int))
    at = RNG.choice(x, 500)
    truth = mean_of_kernels(x, np.ones(n), 10.0, at)
    model.compress()
    assert len(model.stats_.blocks[0].x) <= most
    error = grid_of(model).error
    assert (error > 0.003) == (n == 20_000)
    off = np.abs(np.exp(model.score_samples(at[:, None])) - truth).max()
    assert off <= error * stats.norm.pdf(0.0) / 10.0


@pytest.mark.parametrize(
    "settings", [{"lower": 0.0}, {"lower": -0.013, "upper": 500.0}, {"lower": 0.0, "boundary": "log"}]
)
def test_bounds_are_kept(settings):
    x, y, _ = skewed(2000)
    model = KernelNB(**settings).fit(x[:, None], y)
    at = np.sort(RNG.choice(x, 700))[:, None]
    before, density = model.predict_proba(at), model.score_samples(at)
    model.compress()
    assert np.abs(model.predict_proba(at) - before).max() < CLOSE
    np.testing.assert_allclose(model.score_samples(at), density, atol=0.05)
    nodes = model.stats_.blocks[0].x
    assert nodes.min() >= settings["lower"] and nodes.max() <= settings.get("upper", np.inf)
    if settings.get("boundary") == "log":
        assert nodes.min() > 0.0
    rest = KernelNB(**settings).fit(x[:, None], y).compress().forget(x[10:, None], y[10:])
    assert rest.class_count_.sum() == 10


@twins_are_known
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
    assert np.abs(model.predict_proba(X[test]) - before).max() < CLOSE


@twins_are_known
def test_a_compressed_model_of_adult_is_small(find_data):
    frame = pd.read_csv(find_data("tables/adult.csv.gz")).drop(columns="split")
    y = frame.pop("income")
    model = NaiveBayes().fit(frame, y)
    before, proba = len(pickle.dumps(model)), model.predict_proba(frame)
    model.compress()
    after = len(pickle.dumps(model))
    assert before > 3 * after
    assert after < 80_000
    assert np.abs(model.predict_proba(frame) - proba).max() < CLOSE


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
    reason = model.families_["reason"][0]
    assert "grid nodes" in reason and "apart" in reason and "% of the height of one kernel" in reason
    raw = {value.tobytes() for value in x[:, 0]}
    assert not raw & {value.tobytes() for value in model.stats_.blocks[0].x}
    again = pickle.dumps(model)
    assert pickle.dumps(model.compress()) == again  # a second time changes nothing


def same_statistics(a, b):
    for mine, theirs in zip(a.stats_.blocks, b.stats_.blocks, strict=True):
        for name in ("rows", "sizes", "x", "times"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))
        np.testing.assert_allclose(mine.weight, theirs.weight, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine.observed_weight, theirs.observed_weight, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "family", [Kernel(), Kernel(bandwidth=0.3), Kernel(shared_bandwidth=False), Kernel(lower=-9.0), Laplace()]
)
def test_the_laws_hold_after_compress(family, weighted):
    X, y = RNG.standard_t(3.0, size=(300, 2)), RNG.integers(0, 3, 300)
    X = np.maximum(X, -8.9)
    X[::7, 1] = np.nan
    w = RNG.exponential(size=300) if weighted else np.ones(300)
    first, rest = slice(0, 200), slice(200, 300)
    compressed = NaiveBayes(family).fit(X[first], y[first], w[first]).compress()
    fixed = compressed.fixed_families_
    whole = NaiveBayes(fixed).fit(X, y, w)  # every row at once, on the same grids
    streamed = pickle.loads(pickle.dumps(compressed)).partial_fit(X[rest], y[rest], sample_weight=w[rest])
    same_statistics(streamed, whole)
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    # Merging: another model on the same grids, and a model that still has its values, from both sides.
    on_grid = NaiveBayes(fixed).fit(X[rest], y[rest], w[rest])
    raw = NaiveBayes(family).fit(X[rest], y[rest], w[rest])
    for merged in (compressed + on_grid, compressed + raw, raw + compressed):
        same_statistics(merged, whole)
        np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert raw.stats_.blocks[0].x.size < X.size  # the other model did not change
    assert "training values" in raw.families_["x0"]["reason"]
    streamed.forget(X[rest], y[rest], w[rest])
    same_statistics(streamed, compressed)
    np.testing.assert_allclose(streamed.predict_proba(X), compressed.predict_proba(X), rtol=1e-8)
    with pytest.raises(ValueError, match="cannot be forgotten"):
        compressed.forget(X[rest], y[rest], w[rest])


def test_models_with_different_grids_are_not_merged():
    X, y = RNG.normal(size=(100, 1)), np.arange(100) % 2
    a, b = KernelNB().fit(X, y).compress(), KernelNB().fit(1000.0 * X, y).compress()
    with pytest.raises(ValueError, match=r"disagree on column 0.*nodes .* apart.*nodes .* apart"):
        a.merge(b)


@pytest.mark.parametrize(
    "family",
    [
        Kernel(),
        Laplace(),
        Kernel(0.5, lower=0.0),
        Kernel(0.5, upper=4.5),
        Kernel(0.3, lower=0.0, upper=4.5),
        Kernel(0.3, lower=-1.0, boundary="log"),
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_out_a_row_is_forgetting_it(family, weighted):
    """Given the grids, bandwidths and the pooled density, as leave-one-out keeps them."""
    X, y = np.abs(RNG.normal(size=(60, 2))), RNG.integers(0, 2, 60)
    X[::9, 0] = np.nan
    w = RNG.exponential(size=60) if weighted else np.ones(60)
    model = NaiveBayes(family).fit(X, y, w).compress()
    left_out = model.leave_one_out(X, y, w)
    priors = {j: model.prior_[f"x{j}"] for j in (0, 1)}
    fixed = {j: f.with_settings(prior=priors[j]) for j, f in model.fixed_families_.items()}
    for i in range(0, 60, 7):
        rest = NaiveBayes(fixed).fit(X, y, w).forget(X[[i]], y[[i]], w[[i]])
        np.testing.assert_allclose(left_out[i], rest.predict_log_proba(X[[i]])[0], rtol=1e-7, atol=1e-9)
    strange = X.copy()
    strange[3, 1] = 4.4
    with pytest.raises(ValueError, match="never fitted"):
        model.leave_one_out(strange, y, w)


def test_new_classes_and_far_values_find_a_place_on_the_grid():
    X, y = RNG.normal(size=(80, 2)), np.arange(80) % 2
    for shared in (True, False):
        model = KernelNB(shared_bandwidth=shared).fit(X, y).compress()
        model.partial_fit([[1e6, -1e6], [3.0, np.nan]], [2, 2])
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.predict([[1e6, -1e6]]).tolist() == [2]
        assert model.forget([[1e6, -1e6], [3.0, np.nan]], [2, 2]).classes_.tolist() == [0, 1]


def test_a_compressed_model_starts_anew_with_fit():
    X, y = load_breast_cancer(return_X_y=True)
    model = KernelNB().fit(X, y)
    assert model.compress() is model
    assert model.fit(X, y).partial_fit(X, y).class_count_.sum() == 2 * len(X)
    assert "training values" in model.families_["x0"]["reason"]


def test_models_without_training_values_do_not_change():
    heart = load_heart_disease("pandas")
    model = NaiveBayes("auto-fast").fit(heart.data, heart.target)
    before = pickle.dumps(model)
    assert model.compress() is model
    assert pickle.dumps(model) == before
    model.partial_fit(heart.data, heart.target)
    grid = KernelNB(grid=(0.0, 1.0, 50)).fit([[0.1], [0.2], [0.9]], [0, 0, 1]).compress()
    assert grid.partial_fit([[0.3]], [1]).class_count_.tolist() == [2.0, 2.0]


@twins_are_known
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

    def agree(a, b, bound=CLOSE):
        assert np.abs(a - b).max() < bound

    agree(model.predict_proba(frame), plain.predict_proba(frame))
    agree(model.mutual_information(), plain.mutual_information())
    agree(model.explain(frame[:9]).contributions, plain.explain(frame[:9]).contributions, 2e-2)
    for change in (lambda m: m.select(3), lambda m: m.with_class_prior("uniform"), pickle.dumps):
        a, b = change(model), change(plain)
        if isinstance(a, bytes):
            a, b = pickle.loads(a), pickle.loads(b)
        agree(a.predict_proba(frame), b.predict_proba(frame))
        a.partial_fit(frame[:50], y[:50])
        b.partial_fit(frame[:50], y[:50])
        agree(a.predict_proba(frame), b.predict_proba(frame), 0.03)  # bandwidths stay on a grid
    rows, _ = model.sample(4000, y=1, random_state=0)
    assert rows["a"].mean() == pytest.approx(X[y == 1, 0].mean(), rel=0.02)
    model.class_prior_ = [0.5, 0.5]
    assert model.compress().class_prior_.tolist() == [0.5, 0.5]


def test_selected_columns_of_a_matrix_keep_their_grids():
    X, y = load_breast_cancer(return_X_y=True)
    model = KernelNB().fit(X[:, :5], y).compress()
    small = model.select(2)
    kept = small.selected_
    assert [c.family.compressed[0].step for c in small._model.schema.choices] == [
        grid_of(model, j).step for j in kept
    ]
    small.partial_fit(X[:30][:, kept], y[:30])
    assert small.class_count_.sum() == len(X) + 30


def test_announced_classes_stay():
    x = RNG.normal(size=(60, 1))
    model = KernelNB().partial_fit(x, np.arange(60) % 2, classes=[0, 1, 2])
    before = model.predict_proba(x)
    model.compress()
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(model.predict_proba(x), before, atol=CLOSE)


def test_a_given_prior_loses_its_values_too():
    x, y = RNG.normal(size=(60, 1)), np.arange(60) % 2
    prior = NaiveBayes("kernel").fit(x, y).prior_["x0"]
    model = NaiveBayes(Kernel(prior=prior)).fit(x[:30], y[:30])
    before = model.predict_proba(x)
    model.compress()
    np.testing.assert_allclose(model.predict_proba(x), before, atol=CLOSE)
    model.families = "kernel"  # the constructor argument is the user's own
    data = pickle.dumps(model._model.schema)
    assert not any(value.tobytes() in data for value in x[:, 0])


def test_laplace_changes_by_less_than_the_stated_bound():
    X = RNG.standard_t(2.0, size=(500, 3))
    y, w = RNG.integers(0, 3, 500), RNG.exponential(size=500)
    model = NaiveBayes(Laplace(), class_weight="balanced").fit(X, y, sample_weight=w)
    before = model.parameters_
    model.compress()
    for j, (name, column) in enumerate(model.parameters_.items()):
        error = grid_of(model, j).error
        assert error <= before[name]["scale"].min() / 64
        assert np.abs(column["median"] - before[name]["median"]).max() <= error
        assert np.abs(column["scale"] - before[name]["scale"]).max() <= error
