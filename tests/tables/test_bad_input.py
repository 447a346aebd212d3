"""Bad, large and odd tables: the right answer, or one error that names the place and the remedy; never a hang."""

from __future__ import annotations

import os
import pickle
import time
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from scipy import sparse
from sunrise import GaussianNB, NaiveBayes

N = 40
RNG = np.random.default_rng(5)
X = {
    "size": RNG.normal(size=N),
    "town": RNG.choice(["u", "v", "w"], N).tolist(),
    "few": RNG.integers(0, 5, N),
}
Y = np.array(["a", "b"] * (N // 2))
LIBRARIES = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}

every_library = pytest.mark.parametrize("library", LIBRARIES)


@pytest.fixture(autouse=True)
def _in_time():
    """Nothing here may take long: in time of the processor, because other programs may be running."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 5.0


def refused(table, y=Y, *, match, error=ValueError, **settings):
    """A fit that is refused, and that leaves a fitted model and an unfitted one as they were."""
    with pytest.raises(error, match=match):
        NaiveBayes(**settings).fit(table, y)
    model = NaiveBayes(**settings)
    with pytest.raises(error):
        model.partial_fit(table, y)
    assert set(vars(model)) == set(model.get_params())
    model = NaiveBayes().fit(X, Y).set_params(**settings)
    before = pickle.dumps(model)
    with pytest.raises(error, match=match):
        model.fit(table, y)
    assert pickle.dumps(model) == before


# Cells.


@every_library
@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, N - 1])
def test_infinity_is_refused_at_fit_by_column_and_row(library, infinity, row):
    column = X["size"].copy()
    column[row] = infinity
    refused(
        LIBRARIES[library](X | {"size": column}), match=rf"infinity: {infinity} in column 'size', row {row}\b"
    )


@pytest.mark.parametrize(
    "families", ["auto", {"few": "gaussian"}, {"few": "poisson"}, {"few": "categorical"}]
)
def test_infinity_among_whole_numbers_is_refused_whatever_the_family(families):
    column = X["few"].astype(float)
    column[3] = np.inf
    refused(X | {"few": column}, families=families, match=r"inf in column 'few', row 3\b")


@every_library
@pytest.mark.parametrize("name", ["size", "few"])
def test_infinity_is_refused_at_predict_by_column_and_row(library, name):
    model = NaiveBayes().fit(X, Y)
    column = X[name].astype(float)
    column[7] = np.inf
    with pytest.raises(ValueError, match=rf"inf in column '{name}', row 7\b"):
        model.predict(LIBRARIES[library](X | {name: column}))


def test_infinity_in_an_array_is_refused_by_position():
    table = np.c_[X["size"], X["few"]]
    table[4, 0] = -np.inf
    refused(table, match=r"-inf in column 0, row 4\b")
    refused(sparse.csr_array(table), match=r"-inf in column 0, row 4\b")
    refused(table.astype(object), match=r"-inf in column 0, row 4\b")


@pytest.mark.parametrize(
    "cells, kinds",
    [
        ([1, "one"], "numbers.*1 in row 0.*strings.*'one' in row 1"),
        (["one", 2.5], "strings.*'one' in row 0.*numbers.*2.5 in row 1"),
        ([True, "yes"], "bools.*True in row 0.*strings"),
        ([True, 2], "bools.*True in row 0.*numbers.*2 in row 1"),
        ([None, 1, np.nan, "x"], "numbers.*1 in row 1.*strings.*'x' in row 3"),
    ],
)
def test_columns_that_mix_types_are_refused_with_examples(cells, kinds):
    column = np.array(cells * (N // len(cells)), dtype=object)
    for table in (X | {"odd": column}, pd.DataFrame({"odd": column})):
        refused(table, match=f"'odd' mixes {kinds}.*astype\\(str\\)")
    refused(column[:, None], match=f"column 0 mixes {kinds}")
    for family in ("gaussian", "poisson"):
        refused(X | {"odd": column}, match=f"'odd' mixes {kinds}", families={"odd": family})


def test_columns_that_mix_types_are_levels_where_that_is_asked_for():
    column = np.array([1, "1", 1.0, None, "one", 2] * 10, dtype=object)
    same = ["1", "1", "1", None, "one", "2"] * 10
    labels = ["a", "a", "b", "b", "b", "a"] * 10
    model = NaiveBayes({"odd": "categorical"}).fit({"odd": column}, labels)
    expected = NaiveBayes({"odd": "categorical"}).fit({"odd": same}, labels).predict_proba({"odd": same})
    np.testing.assert_array_equal(model.predict_proba({"odd": column}), expected)


def test_the_remedy_for_mixed_types_works():
    frame = pd.DataFrame({"odd": np.array([1, "one"] * (N // 2), dtype=object)}).astype(str)
    assert NaiveBayes().fit(frame, Y).score(frame, Y) == 1.0


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([[1, 2]] * N),
        pl.Series([{"p": 1}] * N),
        pl.Series([[1, 2]] * N, dtype=pl.Array(pl.Int64, 2)),
        pl.Series([b"x"] * N),
        pl.Series([object()] * N, dtype=pl.Object),
        pa.array([[1, 2]] * N),
        pa.array([{"p": 1}] * N),
        pa.array([b"x"] * N),
        pa.array([b"xy"] * N, pa.binary(2)),
        pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()),
        pd.Series([[1, 2]] * N),
        pd.Series([{"p": 1}] * N),
        pd.Series([b"x"] * N),
        pd.Series(pd.interval_range(0, N)),
        pd.Series([[1, 2]] * N, dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        [[1], [2, 3]] * (N // 2),
        [{"p": 1}] * N,
        [{1, 2}] * N,
        [1j] * N,
        np.full(N, 1j),
        np.full(N, 1, dtype=[("p", "i4")]),
        [object()] * N,
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{getattr(column, 'dtype', '')}",
)
def test_types_that_are_no_cells_are_refused_by_name(column):
    refused(X | {"odd": column}, match="'odd'", error=(TypeError, ValueError))
    with pytest.raises((TypeError, ValueError), match="'town'"):
        NaiveBayes().fit(X, Y).predict(X | {"town": column})


@pytest.mark.parametrize("name", ["Int128", "UInt128"])
def test_integers_too_wide_for_arrow_are_refused_by_name(name):
    if not hasattr(pl, name):
        pytest.skip(f"this polars has no {name}")
    dtype = getattr(pl, name)
    refused(
        pl.DataFrame({"wide": pl.Series(RNG.integers(0, 900, N)).cast(dtype)}),
        match="'wide'",
        error=(TypeError, ValueError),
    )


def test_a_column_of_lists_of_one_length_is_no_column():
    refused({"odd": [[1, 2]] * N}, match="'odd'", error=(TypeError, ValueError))
    refused({"odd": np.ones((N, 2))}, match=r"'odd'.*\(40, 2\)")


def test_strings_in_a_family_of_numbers_are_refused_with_an_example():
    for name in ("gaussian", "poisson", "bernoulli"):
        refused(
            X, families={"town": name}, match=rf"'town' holds text \('[uvw]' in row 0\).*{name} takes numbers"
        )


def test_strings_that_look_like_numbers_are_not_cast():
    table = {"n": [str(k % 30) for k in range(N)]}
    refused(table, families="gaussian", match=r"'n' holds text \('0' in row 0\)")
    with pytest.raises(ValueError, match="'size' holds text"):
        NaiveBayes().fit(X, Y).predict(X | {"size": ["1.5"] * N})


def test_fractions_among_counts_are_refused():
    refused(X, families={"size": "poisson"}, match=r"in column 'size', row \d+")


def test_nulls_in_a_column_of_text_are_no_text_where_numbers_belong():
    model = NaiveBayes().fit(X, Y)
    nothing = pl.DataFrame(X).with_columns(size=pl.lit(None, pl.String))
    plain = X | {"size": [None] * N}
    np.testing.assert_array_equal(model.predict_proba(nothing), model.predict_proba(plain))
    assert model.partial_fit(nothing, Y).class_count_.sum() == 2 * N


# Tables.


def test_duplicate_names_are_refused_by_name():
    x = X["size"]
    tables = [
        pd.DataFrame(np.c_[x, x, x], columns=["p", "q", "q"]),
        pa.table([x, x, x], names=["p", "q", "q"]),
        pa.record_batch([x, x, x], names=["p", "q", "q"]),
    ]
    for table in tables:
        refused(table, match="two columns are called 'q'")
    with pytest.raises(ValueError, match="two columns are called 'q'"):
        NaiveBayes().fit({"p": x, "q": np.flip(x)}, Y).predict(tables[0])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_labels_that_are_also_in_the_table_are_refused(make):
    table = make(X | {"answer": Y})
    refused(table, table["answer"], match=r"'answer' of X holds the labels.*Drop it, or pass y='answer'")
    assert NaiveBayes().fit(table, "answer").n_features_in_ == 3


def test_a_series_that_only_shares_its_name_with_a_column_is_welcome():
    table = pd.DataFrame(X | {"answer": Y})
    other = pd.Series(np.where(Y == "a", "p", "q"), name="town")
    assert NaiveBayes().fit(table.drop(columns="answer"), other).classes_.tolist() == ["p", "q"]


@pytest.mark.parametrize(
    "table",
    [
        np.empty((0, 3)),
        {"x": []},
        {"x": np.empty(0)},
        pd.DataFrame({"x": []}),
        pl.DataFrame({"x": []}, schema={"x": pl.Float64}),
        pl.DataFrame({"x": []}, schema={"x": pl.Categorical}),
        pa.table({"x": pa.array([], pa.string())}),
        pa.schema([("x", pa.int64())]).empty_table(),
        sparse.csr_array((0, 3)),
    ],
    ids=lambda table: f"{type(table).__module__.split('.')[0]}",
)
def test_a_table_without_rows_is_refused(table):
    refused(table, [], match="no rows|0 sample")


@pytest.mark.parametrize(
    "table",
    [
        np.empty((N, 0)),
        {},
        pd.DataFrame(index=range(N)),
        pl.DataFrame(),
        pa.table({}),
        sparse.csr_array((N, 0)),
    ],
    ids=lambda table: f"{type(table).__module__.split('.')[0]}",
)
def test_a_table_without_columns_is_refused(table):
    refused(table, match="0 feature")
    refused(table, [], match="0 feature|no rows|0 sample")


def test_a_table_of_labels_alone_is_refused():
    refused(pl.DataFrame({"answer": Y}), "answer", match="0 feature")


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]
)
@every_library
def test_no_rows_have_no_predictions(method, library):
    rows = LIBRARIES[library]({name: np.asarray(column)[:0] for name, column in X.items()})
    result = getattr(NaiveBayes().fit(X, Y), method)(rows)
    assert result.shape == ((0,) if method == "predict" else (0, 2))
    if library != "dict":
        assert len(getattr(NaiveBayes().fit(X, Y), method)(rows, as_frame=True)) == 0


@pytest.mark.parametrize(
    "table",
    [
        X["size"],
        X["size"].reshape(N, 1, 1),
        np.float64(3.0),
        None,
        X["size"].tolist(),
        pd.Series(X["size"], name="size"),
        pl.Series("size", X["size"]),
        pa.array(X["size"]),
        pa.chunked_array([X["size"]]),
    ],
    ids=lambda table: f"{type(table).__module__.split('.')[0]}-{type(table).__name__}",
)
def test_what_is_no_table_is_refused_with_a_remedy(table):
    match = "(?i)2D array|table of rows and columns|to_frame|frame|not a table"
    refused(table, match=match, error=(TypeError, ValueError))


@pytest.mark.parametrize("kind", [str, Path, os.fsencode])
@pytest.mark.parametrize(
    "name, read", [("a/data.csv", "read_csv"), ("data.PARQUET", "read_parquet"), ("data", "read_csv")]
)
def test_a_path_is_refused_with_the_function_that_reads_it(kind, name, read):
    path, text = kind(name), rf"X is the path or string '{name}'.*pandas.{read}\('{name}'\) or polars.{read}"
    fitted = NaiveBayes().fit(X, Y)
    if kind is os.fsencode:
        refused(path, "label", match=text)
        with pytest.raises(ValueError, match=text):
            fitted.predict(path)
    else:  # fit and predict read files
        refused(path, "label", match=f"'{name}', and there is no such file", error=FileNotFoundError)
        with pytest.raises(FileNotFoundError, match=f"'{name}', and there is no such file"):
            fitted.predict(path, to="out.csv")
    for use in (
        fitted.check,
        fitted.explain,
        GaussianNB().fit([[1.0], [2.0]], [0, 1]).predict,
    ):
        with pytest.raises(ValueError, match=text):
            use(path)
    with pytest.raises(ValueError, match=text):
        GaussianNB().fit(path, Y)


@pytest.mark.parametrize(
    "table, kind, remedy",
    [
        ({"a": 1.0, "b": 2.0}, "a record", r"pandas.DataFrame\(\[X\]\)"),
        ({"a": [1.0, 2.0], "b": [2.0, 1.0]}, "a dict of columns", r"pandas.DataFrame\(X\)"),
        ([{"a": 1.0, "b": 2.0}], "a list of records", r"pandas.DataFrame\(X\)"),
    ],
)
def test_single_families_take_no_dicts_and_say_so(table, kind, remedy):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    text = f"X is {kind}, and GaussianNB takes a matrix or a data frame. Pass {remedy}, or use NaiveBayes"
    model = GaussianNB().fit(frame, [0, 1])
    for use in (lambda: GaussianNB().fit(table, [0, 1]), lambda: model.predict(table)):
        with pytest.raises(ValueError, match=text):
            use()
    remedied = pd.DataFrame([table] if kind == "a record" else table)
    assert len(model.predict(remedied)) == len(remedied)


def test_a_lazy_frame_needs_the_name_of_its_label_column():
    refused(pl.LazyFrame(X), match=r"X comes in batches\. Pass the name of a column of X")


def test_a_lazy_frame_is_refused_with_the_remedy_where_the_whole_table_is_needed():
    with pytest.raises(TypeError, match=r"lazy.*collect\(\)"):
        GaussianNB().fit(pl.LazyFrame({"size": X["size"]}), Y)


def test_columns_of_different_lengths_are_refused():
    refused({"p": X["size"], "q": X["size"][:3]}, match=r"'p' has 40 rows, 'q' has 3")


@pytest.mark.parametrize("rows", [1, 2])
@every_library
def test_one_row_is_a_table(rows, library):
    table = LIBRARIES[library]({name: np.asarray(column)[:rows] for name, column in X.items()})
    model = NaiveBayes().fit(table, Y[:rows])
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)
    assert model.predict(table)[0] == "a"
    assert NaiveBayes(dict.fromkeys(["size"], "gaussian")).fit(table, Y[:rows]).predict(table)[0] == "a"


@every_library
def test_one_class_is_certain(library):
    table = LIBRARIES[library](X)
    model = NaiveBayes().fit(table, ["only"] * N)
    np.testing.assert_array_equal(model.predict_proba(table), np.ones((N, 1)))
    assert model.predict(table).tolist() == ["only"] * N


def test_where_every_column_is_left_out_the_prior_is_left():
    table = pl.DataFrame({"same": [1] * N, "nothing": pl.Series([None] * N, dtype=pl.String)})
    with pytest.warns(sr.NoColumnsWarning, match="all 2 columns are left out, for example 'same'"):
        model = NaiveBayes().fit(table, ["a"] * 30 + ["b"] * 10)
    np.testing.assert_allclose(model.predict_proba(table), [[0.75, 0.25]] * N)
    NaiveBayes(dict.fromkeys(table.columns)).fit(table, ["a", "b"] * 20)  # the user left them out: no warning
    assert model.partial_fit(table, ["b"] * N).class_prior_.tolist() == [30 / 80, 50 / 80]
    assert model.forget(table, ["b"] * N).class_prior_.tolist() == [0.75, 0.25]


# Labels and weights.


@pytest.mark.parametrize(
    "labels",
    [
        np.where(np.arange(N) == 3, np.nan, np.arange(N) % 2),
        [*Y[:3], None, *Y[4:]],
        pd.Series([*Y[:3], None, *Y[4:]]),
        pd.Series([0, 1, 0, None] * (N // 4), dtype="Int64"),
        pd.Series([True, False, True, None] * (N // 4), dtype="boolean"),
        pd.Series([*Y[:3], None, *Y[4:]], dtype="category"),
        pl.Series([*Y[:3], None, *Y[4:]]),
        pl.Series([0, 1, 0, None] * (N // 4)),
        pl.Series([*Y[:3], None, *Y[4:]], dtype=pl.Categorical),
        pa.array([*Y[:3], None, *Y[4:]]),
        np.array(["2020-01-01", "2020-01-02", "2020-01-01", "NaT"] * (N // 4), dtype="M8[D]"),
    ],
    ids=lambda labels: f"{type(labels).__module__.split('.')[0]}-{getattr(labels, 'dtype', '')}",
)
def test_a_missing_label_is_refused_by_row(labels):
    refused(X, labels, match="label in row 3 is missing.*Drop")
    for make in (pd.DataFrame, pl.DataFrame):
        if not isinstance(labels, pa.Array):
            refused(make(X | {"answer": labels}), "answer", match="label in row 3 is missing")


@pytest.mark.parametrize("labels", [[None] * N, pl.Series([None] * N), pa.nulls(N), pd.Series([None] * N)])
def test_labels_that_are_all_missing_are_refused_as_missing(labels):
    refused(X, labels, match="label in row 0 is missing")


@pytest.mark.parametrize("make", [np.array, list, pd.Series, pl.Series, pa.array])
def test_labels_must_be_one_for_every_row(make):
    for n in (0, 3, N - 1):
        refused(X, make(Y[:n].tolist()), match=rf"inconsistent numbers of samples: \[40, {n}\]")


def test_labels_that_are_none_or_of_another_shape_are_refused():
    refused(X, None, match="requires y")
    refused(X, "nowhere", match="'nowhere', but X has no column of this name")
    for table in (np.c_[X["size"]], sparse.csr_array(np.c_[X["few"]]), [[1.0]] * N):
        kind = type(table).__name__
        refused(
            table,
            "nowhere",
            match=rf"X \({kind}\) has no column names. Pass the labels themselves, or .* 'nowhere'",
        )
    refused(
        X, Path("labels.csv"), match=r"y is the path or string 'labels.csv'.*pandas.read_csv\('labels.csv'\)"
    )
    refused(sparse.csr_array(np.c_[X["size"]]), "nowhere", match="'nowhere'.*no column")
    refused(X, np.c_[Y, Y], match="1d array|shape")
    refused(X, pl.DataFrame({"p": Y, "q": Y}), match="label|shape|column")
    refused(X, [[1], [2]] * (N // 2), match="label|shape", error=(ValueError, Warning))


def test_measurements_are_no_labels():
    refused(X, X["size"], match="continuous")
    refused(X, pl.Series(X["size"]), match="continuous")
    refused(X, np.where(np.arange(N) == 5, np.inf, 1.0), match="infinity.*row 5")


def test_bad_weights_are_refused_with_the_remedy():
    cases = [
        (-np.ones(N), "row 0: -1.*forget"),
        (np.where(np.arange(N) == 5, -0.5, 1.0), "row 5: -0.5.*forget"),
        (np.zeros(N), "zero for every row"),
        (np.ones(N - 1), r"shape \(39,\), expected \(40,\)"),
        (np.ones((N, 1)), r"shape \(40, 1\)"),
        (np.full(N, np.nan), "NaN"),
        (np.full(N, np.inf), "infinity"),
    ]
    for weight, message in cases:
        model = NaiveBayes().fit(X, Y)
        before = pickle.dumps(model)
        for learn in (model.fit, model.partial_fit, model.forget):
            with pytest.raises(ValueError, match=message):
                learn(X, Y, sample_weight=weight)
        assert pickle.dumps(model) == before


# A failure changes nothing.


def test_a_piece_that_fails_leaves_the_model_as_it_was():
    model = NaiveBayes().fit(X, Y)
    before, expected = pickle.dumps(model), model.predict_proba(X)
    bad = [
        (X | {"size": ["x"] * N}, Y),
        (X | {"size": [np.inf] * N}, Y),
        (X | {"size": [date(2024, 1, 1)] * N}, Y),
        ({"size": X["size"]}, Y),
        (X | {"more": X["size"]}, Y),
        (X, Y[:3]),
        (np.c_[X["size"]], Y),
        (pl.LazyFrame(X), Y),
    ]
    for table, y in bad:
        for learn in (model.partial_fit, model.forget):
            with pytest.raises((TypeError, ValueError)):
                learn(table, y)
    for table, _ in bad[:5]:
        with pytest.raises((TypeError, ValueError)):
            model.predict(table)
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_predicting_before_fitting_says_so():
    for method in ("predict", "predict_proba", "check"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(NaiveBayes(), method)(X)


# Large.


LEVELS = 100_000


def many_levels():
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(LEVELS), rng.integers(0, LEVELS, LEVELS)]
    return codes, np.arange(len(codes)) % 2


@pytest.mark.parametrize(
    "kind", ["strings", "pandas", "objects", "polars categorical", "arrow dictionary", "integers"]
)
def test_a_hundred_thousand_levels(kind):
    codes, y = many_levels()
    names = np.array([f"level {k}" for k in range(LEVELS)], dtype=object)[codes]
    column = {
        "strings": lambda: pl.Series(names),
        "pandas": lambda: pd.Series(names, dtype="category"),
        "objects": lambda: names,
        "polars categorical": lambda: pl.Series(names, dtype=pl.Categorical),
        "arrow dictionary": lambda: pa.array(names, pa.string()).dictionary_encode(),
        "integers": lambda: codes,
    }[kind]()
    model = NaiveBayes("categorical", calibrate=None).fit({"it": column}, y)
    shown = codes[:1].tolist() if kind == "integers" else names[:1].tolist()
    own, other = ((y == c) & (codes == codes[0]) for c in (0, 1))
    odds = (1 + own.sum()) / (1 + other.sum())  # both classes have as many rows
    got = model.predict_proba({"it": shown})[0]
    np.testing.assert_allclose(got[0] / got[1], odds, rtol=1e-12)
    assert model.predict({"it": column[:1000]}).shape == (1000,)


def test_labels_of_five_thousand_classes():
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(5000), rng.integers(0, 5000, 45_000)]
    names = np.array([f"class {k}" for k in range(5000)], dtype=object)[codes]
    table = pl.DataFrame({"x": rng.normal(size=50_000), "t": rng.choice(["u", "v"], 50_000), "n": codes % 7})
    for y in (codes, names, pl.Series(names), pl.Series(names, dtype=pl.Categorical)):
        model = NaiveBayes().fit(table, y)
        assert len(model.classes_) == 5000
    shares = model.predict_proba(table[:200])
    assert shares.shape == (200, 5000)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    expected = np.bincount(codes, minlength=5000)[np.argsort([f"class {k}" for k in range(5000)])] / 50_000
    np.testing.assert_allclose(model.class_prior_, expected)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "strings", "one record"])
def test_ten_thousand_columns(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    wide = rng.normal(size=(60, 10_000)).astype(np.float32) + y[:, None]
    names = [f"c{j}" for j in range(10_000)]
    table = {
        "array": lambda: wide,
        "pandas": lambda: pd.DataFrame(wide, columns=names),
        "polars": lambda: pl.DataFrame(wide, schema=names),
        "strings": lambda: pl.DataFrame(wide > 0.5, schema=names).cast(pl.String),
        "one record": lambda: dict(zip(names, wide.T, strict=True)),
    }[kind]()
    model = NaiveBayes().fit(table, y)
    asked = {name: cells[0] for name, cells in table.items()} if kind == "one record" else table[:1]
    assert model.n_features_in_ == 10_000 and model.predict(asked) == [y[0]]
    assert np.isfinite(model.predict_log_proba(asked)).all()


def test_one_bad_cell_among_very_many_is_named():
    wide = np.zeros((20, 10_000)) + RNG.normal(size=(20, 1))
    wide[11, 9_876] = np.inf
    with pytest.raises(ValueError, match=r"inf in column 9876, row 11\b"):
        NaiveBayes().fit(wide, Y[:20])


def test_large_numbers_are_told_apart_and_very_large_ones_refused_by_name():
    big = 2**53 + np.arange(N) % 2 * 2
    model = NaiveBayes().fit({"big": big}, Y)
    assert model.score({"big": big}, Y) == 1.0
    huge = {"fine": X["size"], "huge": np.where(Y == "a", 1.5e300, -1.5e300) * (1 + X["size"] / 100)}
    refused(huge, match=r"'huge'.*too large", families="gaussian")


def test_integers_beyond_floats_are_different_levels():
    big = [2**63 - 1, 2**63 - 2] * (N // 2)
    model = NaiveBayes("categorical").fit({"id": np.array(big)}, Y)
    assert model.score({"id": np.array(big)}, Y) == 1.0
    texts = [str(k) for k in big]
    assert model.score({"id": texts}, Y) == 1.0


def test_large_integers_among_python_objects_are_different_levels_too():
    big = [2**63 + 1, 2**63 + 2, None, None] * (N // 4)
    model = NaiveBayes("categorical").fit({"id": big}, Y)
    assert model.check({"id": [str(big[0]), str(big[1]), str(2**63)]})["id"]["unseen"] == 1


def test_numbers_beyond_floats_are_refused_by_name():
    refused(X | {"odd": [10**400, 1] * (N // 2)}, match="'odd'", error=(ValueError, OverflowError))


def test_text_that_is_no_unicode_is_refused_by_name():
    raw = pa.array([b"\xff", b"a"] * (N // 2))
    broken = pa.Array.from_buffers(pa.string(), N, raw.buffers())
    refused(X | {"odd": broken}, match="'odd'", error=(ValueError, TypeError))
