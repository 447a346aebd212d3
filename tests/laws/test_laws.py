"""The laws of statistics, for every family, dense and sparse, on both engines.

fit == any split, order and merge; forget undoes; weight k == k repeats; weight 0 == no row; a missing column ==
the column dropped; dense == sparse; one row == the same row in a batch; same bits for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain import NaiveBayes
from scipy import sparse
from sunrise import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    DirichletMultinomialNB,
    GaussianNB,
    KernelNB,
    MultinomialNB,
    PoissonNB,
    engines,
)
from sunrise.families.base import FAMILIES
from sunrise.families.standard_reader import Scale
from sunrise.statistics.support import LEVELS

MODELS = {
    "gaussian": lambda: GaussianNB(var_smoothing=0.1),
    "gaussian-laplace": lambda: GaussianNB(laplace=True),
    "gaussian-shared": lambda: GaussianNB(var_smoothing=0.1, shared_variance=True),
    "bernoulli": BernoulliNB,
    "multinomial": MultinomialNB,
    "complement": ComplementNB,
    "complement-norm": lambda: ComplementNB(norm=True),
    "categorical": lambda: CategoricalNB(unseen="reserve"),
    "poisson": PoissonNB,
    "dirichlet_multinomial": DirichletMultinomialNB,
    "kernel": KernelNB,
    "kernel-silverman": lambda: KernelNB(bandwidth="silverman"),
    "kernel-reflect": lambda: KernelNB(lower=-20.0, upper=2e6),
    "kernel-log": lambda: KernelNB(lower=-20.0, boundary="log", bandwidth="scott"),
    "kernel-grid": lambda: KernelNB(grid=(-20.0, 20.0, 100)),
}
#: The same laws for every family as one block of a table; levels are then known by name.
TABLES = {
    f"table-{name}": lambda name=name: NaiveBayes(families=name)
    for name in FAMILIES
    if name != "text"  # numbers are none; it has tests of its own
}
# Laws hold given the schema, of which the edges of bins are a part.
TABLES["table-binned"] = lambda: NaiveBayes(families=FAMILIES["binned"]([-2.0, 0.05, 1.3]))
TABLES["table-correlated"] = lambda: NaiveBayes(families=FAMILIES["correlated"](scales=(Scale(0.3, 2.0),)))
TABLES["table-gaussian-shared"] = lambda: NaiveBayes(families=FAMILIES["gaussian"](shared_variance=True))
ALL = MODELS | TABLES

pytestmark = pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")

every_model = pytest.mark.parametrize("kind", ALL)
#: Models that take sparse rows.
every_sparse_model = pytest.mark.parametrize("kind", MODELS)
#: Tables of one family are not all at home in a sparse matrix: they are laid out densely only.
LAYOUTS = [(kind, layout) for kind in MODELS for layout in ("dense", "sparse")]
every_laid_out_model = pytest.mark.parametrize(
    "kind, layout", [*LAYOUTS, *((kind, "dense") for kind in TABLES)]
)
#: The native engine equals the array engine, which is tested for every model: so the laws on one engine are enough
#: for a quick run.
every_engine = pytest.mark.parametrize("engine", ["native", pytest.param("array", marks=pytest.mark.slow)])


@dataclass
class Data:
    """Rows that the family can take, some cells missing, with labels and whole weights."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray

    def __getitem__(self, rows):
        return Data(self.X[rows], self.y[rows], self.w[rows])

    def args(self, layout="dense"):
        return lay(self.X, layout), self.y


def lay(X, layout):
    return sparse.csr_array(X) if layout == "sparse" else X


def support(kind):
    """The cells a model takes."""
    if kind not in TABLES:
        return ALL[kind]()._support
    name = kind.split("-")[1]
    return LEVELS if name == "categorical" else FAMILIES[name]().support


def draw(kind, seed, n, columns, missing):
    rng = np.random.default_rng(seed)
    if "dirichlet_multinomial" in kind:  # it learns from the totals of complete rows
        missing = 0.0
    X = support(kind).draw(rng, (n, columns))
    X[rng.random(X.shape) < missing] = np.nan
    return Data(X, np.array(["a", "b", "c"])[rng.integers(0, 3, n)], rng.integers(0, 4, n).astype(float))


tables = st.tuples(st.integers(0, 10_000), st.integers(2, 14), st.integers(1, 5), st.sampled_from([0.0, 0.3]))


def assert_same(a, b, X, tolerance=1e-10):
    """Two models are the same if they say the same of any row, of training and of missing cells."""
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_allclose(a.class_count_, b.class_count_, rtol=1e-12)
    there = X[~np.isnan(X)]  # one of the cells in every column: a row that may never have been seen
    rows = np.vstack([X, np.full((1, X.shape[1]), np.nan), np.full((1, X.shape[1]), [*there, np.nan][0])])
    one, two = a.predict_joint_log_proba(rows), b.predict_joint_log_proba(rows)
    np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


@every_laid_out_model
@every_engine
@given(table=tables, cuts=st.lists(st.integers(0, 14), max_size=4), order=st.integers(0, 99))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_fit_equals_any_split_order_and_merge(kind, engine, layout, table, cuts, order):
    data = draw(kind, *table)
    n = len(data.y)
    with engines.using(engine):
        whole = ALL[kind]().fit(*data.args(layout))
        shuffled = data[np.random.default_rng(order).permutation(n)]
        ends = sorted({0, n, *(cut for cut in cuts if cut < n)})
        batches = [shuffled[slice(a, b)] for a, b in pairwise(ends)]
        streamed = reduce(lambda m, part: m.partial_fit(*part.args(layout)), batches, ALL[kind]())
        merged = reduce(lambda a, b: b + a, (ALL[kind]().fit(*part.args(layout)) for part in batches))
        assert_same(whole, streamed, data.X)
        assert_same(whole, merged, data.X)


@every_laid_out_model
@every_engine
@given(table=tables, more=tables)
@settings(max_examples=25)
def test_forget_undoes_partial_fit(kind, engine, layout, table, more):
    seed, n, _, missing = more
    data, extra = draw(kind, *table), draw(kind, seed, n, table[2], missing)
    with engines.using(engine):
        plain = ALL[kind]().fit(*data.args(layout))
        undone = (
            ALL[kind]().fit(*data.args(layout)).partial_fit(*extra.args(layout)).forget(*extra.args(layout))
        )
        assert_same(plain, undone, data.X, tolerance=1e-9)
        np.testing.assert_array_equal(plain.class_count_, undone.class_count_)


@every_model
@given(table=tables, weighted=st.booleans())
@settings(max_examples=25)
def test_rows_can_be_forgotten_one_at_a_time(kind, table, weighted):
    data = draw(kind, *table)
    w = data.w * 0.37 + 0.11 if weighted else np.ones(len(data.y))
    model = ALL[kind]().fit(data.X, data.y, sample_weight=w)
    for r in range(len(data.y) - 1):
        model.forget(data.X[r : r + 1], data.y[r : r + 1], sample_weight=w[r : r + 1])
    last = slice(len(data.y) - 1, None)
    alone = ALL[kind]().fit(data.X[last], data.y[last], sample_weight=w[last])
    if "gaussian" in kind and kind not in TABLES:  # one row has no density to compare at its own mean
        np.testing.assert_allclose(model.theta_, alone.theta_, atol=1e-12)
        np.testing.assert_allclose(model.var_, alone.var_, atol=1e-12)
    else:
        assert_same(model, alone, data.X)


def test_a_window_can_slide_without_noise_or_warning():
    rng = np.random.default_rng(0)
    for _ in range(10):
        rare = rng.random((200, 2)) < 0.05
        X = np.column_stack([rng.normal(size=200), rare[:, 0], 5 + rare[:, 1], rng.poisson(3, 200)])
        y = rng.integers(0, 2, 200)
        model = GaussianNB().fit(X, y)
        for r in range(180):
            model.forget(X[r : r + 1], y[r : r + 1])
        np.testing.assert_allclose(model.var_, GaussianNB().fit(X[180:], y[180:]).var_, rtol=1e-8, atol=1e-12)


@every_laid_out_model
@every_engine
@given(table=tables)
def test_a_whole_weight_is_that_many_rows(kind, engine, layout, table):
    data = draw(kind, *table)
    if not data.w.any():
        data.w[0] = 2.0
    repeated = data[np.repeat(np.arange(len(data.y)), data.w.astype(int))]
    with engines.using(engine):
        weighted = ALL[kind]().fit(*data.args(layout), sample_weight=data.w)
        assert_same(weighted, ALL[kind]().fit(*repeated.args(layout)), data.X)


@every_model
@every_engine
@given(table=tables, outlier=st.sampled_from([0.0, 7.0, 1e6]))
def test_a_row_of_weight_zero_is_no_row(kind, engine, table, outlier):
    data = draw(kind, *table)
    X = np.vstack([data.X, np.full((1, data.X.shape[1]), outlier)])
    y = np.append(data.y, "zero")
    w = np.append(np.ones(len(data.y)), 0.0)
    with engines.using(engine):
        assert_same(ALL[kind]().fit(X, y, sample_weight=w), ALL[kind]().fit(data.X, data.y), data.X)


@every_model
@every_engine
@given(table=tables)
def test_a_missing_column_is_a_dropped_column(kind, engine, table):
    data = draw(kind, *table)
    with engines.using(engine):
        gone = data.X.copy()
        gone[:, 0] = np.nan
        absent = ALL[kind]().fit(gone, data.y)
        # Correlated columns are fitted to complete rows, and none is left.
        if data.X.shape[1] == 1 or "correlated" in kind:
            np.testing.assert_allclose(
                absent.predict_joint_log_proba(data.X), absent.predict_joint_log_proba(gone)
            )
            return
        dropped = ALL[kind]().fit(data.X[:, 1:], data.y)
        expected = dropped.predict_joint_log_proba(data.X[:, 1:])
        np.testing.assert_allclose(absent.predict_joint_log_proba(gone), expected, rtol=1e-10, atol=1e-10)
        # The column says nothing even where it is there at predict.
        np.testing.assert_allclose(absent.predict_joint_log_proba(data.X), expected, rtol=1e-10, atol=1e-10)


@every_sparse_model
@every_engine
@given(table=tables)
def test_sparse_is_dense(kind, engine, table):
    data = draw(kind, *table)
    with engines.using(engine):
        dense, thin = ALL[kind]().fit(*data.args()), ALL[kind]().fit(*data.args("sparse"))
        assert_same(dense, thin, data.X)
        for output in ("predict_joint_log_proba", "predict_proba"):
            a, b = getattr(dense, output)(data.X), getattr(thin, output)(sparse.csc_array(data.X))
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@every_model
@given(table=tables)
def test_the_native_engine_is_the_array_engine(kind, table):
    data = draw(kind, *table)
    native = ALL[kind]().fit(data.X, data.y, sample_weight=data.w + 1)
    with engines.using("array"):
        array = ALL[kind]().fit(data.X, data.y, sample_weight=data.w + 1)
        scores = [getattr(array, name)(data.X) for name in ("predict_log_proba", "predict_proba", "predict")]
    assert_same(native, array, data.X)
    np.testing.assert_allclose(native.predict_log_proba(data.X), scores[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(native.predict_proba(data.X), scores[1], rtol=1e-10, atol=1e-300)
    # Where two classes are level up to rounding, either may be first.
    gap = np.diff(np.sort(scores[0], axis=1)[:, -2:], axis=1).ravel() if len(native.classes_) > 1 else 1.0
    clear = np.broadcast_to(gap > 1e-9, len(data.y))
    assert native.predict(data.X)[clear].tolist() == scores[2][clear].tolist()


@every_laid_out_model
@given(table=tables)
def test_a_row_alone_is_the_row_in_a_batch_bit_for_bit(kind, layout, table):
    data = draw(kind, *table)
    model = ALL[kind]().fit(*data.args(layout))
    batch = model.predict_log_proba(lay(data.X, layout))
    alone = [model.predict_log_proba(lay(data.X[r : r + 1], layout))[0] for r in range(len(data.y))]
    np.testing.assert_array_equal(batch, alone)


@every_laid_out_model
def test_any_number_of_threads_gives_the_same_bits(kind, layout):
    data = draw(kind, 1, 30_000, 7, 0.01)
    models = [ALL[kind]().set_params(n_jobs=n).fit(*data.args(layout), data.w + 1) for n in (1, 2, 5)]
    scores = [model.predict_log_proba(lay(data.X, layout)) for model in models]
    for other in scores[1:]:
        np.testing.assert_array_equal(scores[0], other)


@pytest.mark.long
@every_laid_out_model
@every_engine
def test_very_many_tables_are_split_merged_and_forgotten(kind, engine, layout, scaled):
    split, forget = (
        law.hypothesis.inner_test
        for law in (test_fit_equals_any_split_order_and_merge, test_forget_undoes_partial_fit)
    )
    rng = np.random.default_rng(1)
    for _ in range(scaled(5_000)):
        table, more = ((int(rng.integers(10**6)), int(rng.integers(2, 15)), 3, 0.3) for _ in range(2))
        cuts = rng.integers(0, 15, rng.integers(0, 5)).tolist()
        split(kind, engine, layout, table, cuts, order=int(rng.integers(100)))
        forget(kind, engine, layout, table, more)


@pytest.mark.parametrize("shared_variance", [False, True])
@every_engine
@given(
    seed=st.integers(0, 999), factor=st.sampled_from([1e-6, 0.37, 1e4]), shift=st.sampled_from([0.0, -3.0])
)
def test_units_do_not_matter_without_a_floor(shared_variance, engine, seed, factor, shift):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)), np.repeat([0, 1], 10)
    scaled = X.copy()
    scaled[:, 1] = X[:, 1] * factor + shift
    with engines.using(engine):
        a, b = (GaussianNB(var_smoothing=0.0, shared_variance=shared_variance).fit(Z, y) for Z in (X, scaled))
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(scaled), rtol=1e-6)
