"""Every table people have is the same table: one model, whatever library, layout and order the columns come in."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from hypothesis import given
from hypothesis import strategies as st
from plain import NaiveBayes
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sunrise import Categorical, Multinomial, MultinomialNB, engines

N = 60


def _columns():
    rng = np.random.default_rng(3)

    def with_gaps(values, share):
        return [None if gone else value for value, gone in zip(values, rng.random(N) < share, strict=True)]

    return {
        "height": with_gaps(np.round(rng.normal(170, 9, N), 2).tolist(), 0.2),
        "floor": with_gaps(rng.integers(0, 6, N).tolist(), 0.2),
        "price": with_gaps(rng.integers(100, 9000, N).tolist(), 0.1),
        "smoker": with_gaps((rng.random(N) < 0.4).tolist(), 0.2),
        "town": with_gaps(rng.choice(["Øre", "Lund", "Kyoto", "La Paz", ""], N).tolist(), 0.2),
        "grade": with_gaps(rng.choice(["low", "mid", "high"], N).tolist(), 0.2),
    }


COLUMNS = _columns()
NAMES = list(COLUMNS)
Y = np.random.default_rng(4).choice(["no", "yes", "maybe"], N)
ROWS = [list(row) for row in zip(*COLUMNS.values(), strict=True)]
#: Rows that a table which is a slice of a larger one must not see.
JUNK = {
    "height": [1e6],
    "floor": [77],
    "price": [-5],
    "smoker": [True],
    "town": ["Nowhere"],
    "grade": ["low"],
}


class OnlyStream:
    """An object that has nothing but Arrow's stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    """An object that has nothing but Arrow's array."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def polars(**types):
    return pl.DataFrame(COLUMNS).cast(types)


def polars_chunked():
    frame = polars()
    chunked = pl.concat([frame[:7], frame[7:8], frame[8:41], frame[41:]], rechunk=False)
    assert chunked["height"].n_chunks() == 4
    return chunked


def polars_sliced():
    junk = pl.DataFrame(JUNK).cast(dict(polars().schema))
    return pl.concat([junk] * 5 + [polars()] + [junk] * 3, rechunk=True)[5 : 5 + N]


def arrow(**types):
    table = pa.table(COLUMNS)
    for name, dtype in types.items():
        j = table.column_names.index(name)
        column = table.column(j)
        if pa.types.is_decimal(dtype):
            cells = [None if x is None else Decimal(f"{x:.2f}") for x in COLUMNS[name]]
            column = pa.chunked_array([pa.array(cells, dtype)])
        elif dtype == pa.string_view():  # pyarrow before 25 crashes where it exports what a cast made
            column = pa.chunked_array([pa.array(COLUMNS[name], dtype)])
        table = table.set_column(j, name, column.cast(dtype))
    return table


def arrow_batch():
    return arrow().combine_chunks().to_batches()[0]


def arrow_sliced():
    junk = pa.table(JUNK)
    return pa.concat_tables([junk] * 3 + [arrow()] + [junk] * 2).combine_chunks().slice(3, N)


def pandas_numpy():
    return pd.DataFrame(COLUMNS)


def pandas_arrow():
    return arrow().to_pandas(types_mapper=pd.ArrowDtype)


def objects():
    return np.array(ROWS, dtype=object)


def strided():
    wide = np.full((2 * N, 2 * len(NAMES)), "junk", dtype=object)
    wide[::2, 1::2] = objects()
    return wide[::2, 1::2]


WORDS = pa.dictionary(pa.int8(), pa.string())
ENUM = pl.Enum(["low", "mid", "high"])

NAMED = {
    "pandas": pandas_numpy,
    "pandas nullable": lambda: pandas_numpy().convert_dtypes(),
    "pandas arrow": pandas_arrow,
    "pandas arrow dictionary": lambda: arrow(town=WORDS).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas category": lambda: pandas_numpy().astype({"town": "category", "grade": "category"}),
    "pandas object": lambda: pd.DataFrame(COLUMNS, dtype=object),
    "pandas index": lambda: pandas_numpy().set_index(np.arange(N)[::-1] * 10),
    "polars": polars,
    "polars categorical": lambda: polars(town=pl.Categorical, grade=pl.Categorical),
    "polars enum": lambda: polars(grade=ENUM),
    "polars small": lambda: polars(floor=pl.UInt8, price=pl.Int16),
    "polars decimal": lambda: polars(height=pl.Decimal(8, 2)),
    "polars chunked": polars_chunked,
    "polars chunked categorical": lambda: polars_chunked().cast({"town": pl.Categorical, "grade": ENUM}),
    "polars sliced": polars_sliced,
    "polars reversed": lambda: polars()[::-1][::-1],
    "arrow": arrow,
    "arrow chunked": lambda: pa.concat_tables([arrow().slice(0, 9), arrow().slice(9, 0), arrow().slice(9)]),
    "arrow dictionary": lambda: arrow(town=WORDS, grade=WORDS),
    "arrow large": lambda: arrow(town=pa.large_string(), grade=pa.large_string()),
    "arrow view": lambda: arrow(town=pa.string_view()),
    "arrow decimal": lambda: arrow(height=pa.decimal128(9, 2)),
    "arrow sliced": arrow_sliced,
    "arrow batch": arrow_batch,
    "stream": lambda: OnlyStream(arrow()),
    "stream of polars": lambda: OnlyStream(polars_chunked()),
    "array": lambda: OnlyArray(arrow_batch()),
    "array sliced": lambda: OnlyArray(arrow_sliced().combine_chunks().to_batches()[0]),
    "lists": lambda: COLUMNS,
    "tuples": lambda: {name: tuple(column) for name, column in COLUMNS.items()},
    "arrays": lambda: {name: pandas_numpy()[name].to_numpy() for name in NAMES},
    "series of all libraries": lambda: {
        "height": pd.Series(COLUMNS["height"], index=range(5, 5 + N)),
        "floor": pl.Series(COLUMNS["floor"]),
        "price": pa.chunked_array([COLUMNS["price"][:9], COLUMNS["price"][9:]]),
        "smoker": pa.array(COLUMNS["smoker"]),
        "town": pl.Series(COLUMNS["town"], dtype=pl.Categorical),
        "grade": pd.Series(COLUMNS["grade"], dtype="category"),
    },
}

UNNAMED = {
    "objects": objects,
    "objects fortran": lambda: np.asfortranarray(objects()),
    "objects strided": strided,
    "rows": lambda: ROWS,
    "rows as tuples": lambda: [tuple(row) for row in ROWS],
    "missing of every kind": lambda: np.array(
        [
            [[None, np.nan, pd.NA, pd.NaT][r % 4] if x is None else x for x in row]
            for r, row in enumerate(ROWS)
        ],
        dtype=object,
    ),
}

KINDS = NAMED | UNNAMED

every_kind = pytest.mark.parametrize("kind", KINDS)
every_named_kind = pytest.mark.parametrize("kind", NAMED)


def families(model):
    """The name of the family of every column, None where it is left out."""
    schema = model._model.schema
    chosen = (None if choice.family is None else choice.family.name for choice in schema.choices)
    return dict(zip(schema.names, chosen, strict=True))


@pytest.fixture(scope="module")
def model():
    """The model of the table as a dict of lists."""
    return NaiveBayes("auto-fast").fit(COLUMNS, Y)


@pytest.fixture(scope="module")
def expected(model):
    return model.predict_proba(COLUMNS)


@pytest.fixture(scope="module")
def calibrated():
    return sr.NaiveBayes("auto-fast").fit(COLUMNS, Y).predict_proba(COLUMNS)


def test_the_table_has_every_family_that_is_inferred(model):
    assert families(model) == {
        "height": "gaussian", "floor": "categorical", "price": "gaussian",
        "smoker": "bernoulli", "town": "categorical", "grade": "categorical",
    }  # fmt: skip


@every_kind
@pytest.mark.filterwarnings("ignore:.*columns are taken in their order")
def test_a_model_is_the_same_whatever_it_was_fitted_with_and_predicts_from(kind, calibrated):
    fitted = sr.NaiveBayes("auto-fast").fit(KINDS[kind](), Y)
    assert list(families(fitted).values())[1:3] == ["categorical", "gaussian"]
    for other in KINDS:
        np.testing.assert_allclose(
            fitted.predict_proba(KINDS[other]()), calibrated, rtol=0, atol=1e-10, err_msg=other
        )


@every_kind
def test_joint_scores_are_the_same_too(kind, model):
    fitted = NaiveBayes("auto-fast").fit(KINDS[kind](), Y)
    joint = fitted.predict_joint_log_proba(KINDS[kind]())
    np.testing.assert_allclose(joint, model.predict_joint_log_proba(COLUMNS), rtol=1e-12)


@every_kind
def test_both_engines_read_the_same_table(kind, model):
    with engines.using("array"):
        joint = NaiveBayes("auto-fast").fit(KINDS[kind](), Y).predict_joint_log_proba(KINDS[kind]())
    np.testing.assert_allclose(joint, model.predict_joint_log_proba(COLUMNS), rtol=1e-11)


@pytest.mark.parametrize("kind", ["polars chunked", "pandas category", "arrow batch", "stream", "lists"])
def test_contributions_of_the_columns_add_up_to_the_score(kind, model):
    told = model.explain(KINDS[kind]())
    total = told.contributions.sum(axis=2) + np.log(model.class_prior_)
    np.testing.assert_allclose(total, model.predict_joint_log_proba(COLUMNS), rtol=1e-12)


@every_named_kind
def test_columns_go_by_name(kind, model, expected):
    frame = NAMED[kind]()
    turned = NAMES[::-1]
    if isinstance(frame, dict):
        frame = {name: frame[name] for name in turned}
    elif isinstance(frame, OnlyStream):
        frame = OnlyStream(pa.table(frame).select(turned))
    elif isinstance(frame, OnlyArray):
        frame = OnlyArray(pa.table(pa.record_batch(frame)).select(turned).to_batches()[0])
    elif isinstance(frame, pa.Table | pa.RecordBatch):
        frame = frame.select(turned)
    else:
        frame = frame[turned]
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-12)
    again = NaiveBayes("auto-fast").fit(frame, Y).predict_proba(COLUMNS)
    np.testing.assert_allclose(again, expected, atol=1e-12)


def test_names_on_one_side_only_give_a_warning_that_says_so(model):
    with pytest.warns(UserWarning, match="the model has column names and X has none"):
        model.predict(ROWS)
    with pytest.warns(UserWarning, match="X has column names and the model has none"):
        NaiveBayes("auto-fast").fit(ROWS, Y).predict(COLUMNS)


def test_a_pandas_frame_whose_columns_are_numbered_is_as_good_as_an_array():
    X = np.random.default_rng(0).normal(size=(N, 2))
    fitted = NaiveBayes("auto-fast").fit(pd.DataFrame(X), Y)
    np.testing.assert_array_equal(fitted.predict_proba(X), NaiveBayes("auto-fast").fit(X, Y).predict_proba(X))


@pytest.mark.parametrize(
    "lay",
    [
        np.asfortranarray,
        lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda x: x[::-1][::-1],
        lambda x: x.astype(">f8"),
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.float16),
        lambda x: x.astype(object),
        lambda x: x.tolist(),
        lambda x: np.lib.stride_tricks.as_strided(x, x.shape, x.strides, writeable=False),
        lambda x: np.frombuffer(b"1" + x.tobytes(), offset=1).reshape(x.shape),
        pd.DataFrame,
        lambda x: pl.DataFrame(x).cast(pl.Float32),
        lambda x: pa.table({str(j): pa.array(x[:, j].astype(np.float16)) for j in range(x.shape[1])}),
    ],
)
def test_arrays_of_any_layout_hold_the_same_numbers(lay):
    x = np.random.default_rng(0).integers(-300, 300, (N, 3)) / 8.0
    x[::7, 1] = np.nan
    one, two = NaiveBayes("auto-fast").fit(x, Y), NaiveBayes("auto-fast").fit(lay(x), Y)
    np.testing.assert_allclose(
        two.predict_joint_log_proba(lay(x)), one.predict_joint_log_proba(x), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", "f4"])
def test_whole_numbers_of_any_type_are_the_same_numbers(dtype):
    x = np.random.default_rng(0).integers(0, 120, (N, 2))
    x[:, 1] %= 5
    plain, other = NaiveBayes("auto-fast").fit(x, Y), NaiveBayes("auto-fast").fit(x.astype(dtype), Y)
    assert families(plain) == families(other)
    np.testing.assert_array_equal(
        plain.predict_joint_log_proba(x), other.predict_joint_log_proba(x.astype(dtype))
    )


def test_masked_cells_of_a_masked_array_are_missing():
    x = np.random.default_rng(0).normal(size=(N, 2))
    gone = np.random.default_rng(1).random(x.shape) < 0.3
    masked, plain = np.ma.masked_array(x, gone), np.where(gone, np.nan, x)
    one, two = NaiveBayes("auto-fast").fit(masked, Y), NaiveBayes("auto-fast").fit(plain, Y)
    np.testing.assert_array_equal(one.predict_proba(masked), two.predict_proba(plain))


cells = st.one_of(st.none(), st.sampled_from(["a", "b", "", "ä", "a b"]))
numbers = st.one_of(st.none(), st.integers(-3, 30))


@pytest.mark.filterwarnings("ignore::sunrise.NoColumnsWarning")
@given(
    rows=st.lists(st.tuples(cells, numbers, st.one_of(st.none(), st.booleans())), min_size=1, max_size=12),
    cut=st.integers(0, 12),
)
def test_any_small_table_is_the_same_in_every_library(rows, cut):
    columns = {name: [row[j] for row in rows] for j, name in enumerate(["text", "number", "flag"])}
    y = [k % 2 for k in range(len(rows))]
    types = {"text": pl.String, "number": pl.Int64, "flag": pl.Boolean}
    frame = pl.DataFrame(columns, schema=types)
    chunked = pl.concat([frame[:cut], frame[cut:]], rechunk=False).cast({"text": pl.Categorical})
    tables = [columns, frame, chunked, frame.to_arrow(), pd.DataFrame(columns), frame.to_pandas()]
    fitted = [NaiveBayes("auto-fast").fit(table, y) for table in tables]
    expected = fitted[0].predict_joint_log_proba(columns)
    for model, table in zip(fitted, tables, strict=True):
        assert families(model) == families(fitted[0])
        np.testing.assert_allclose(model.predict_joint_log_proba(table), expected, rtol=1e-12)


# Types that are rare, or that hold nothing.


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([None] * N),
        pl.Series([None] * N, dtype=pl.String),
        pl.Series([None] * N, dtype=pl.Categorical),
        pl.Series([None] * N, dtype=ENUM),
        pl.Series([None] * N, dtype=pl.Enum([])),
        pl.Series([None] * N, dtype=pl.Float32),
        pa.nulls(N),
        pa.array([None] * N, pa.string()).dictionary_encode(),
        pa.chunked_array([pa.nulls(9, WORDS), pa.nulls(N - 9, WORDS)]),
        pd.Series([None] * N, dtype="category"),
        pd.Series([None] * N, dtype="Int64"),
        pd.Series([None] * N, dtype=pd.ArrowDtype(pa.null())),
        [None] * N,
        [float("nan")] * N,
    ],
)
def test_a_column_of_nothing_is_left_out_at_fit_and_missing_at_predict(column, model):
    X = {"height": COLUMNS["height"], "nothing": column}
    fitted = NaiveBayes("auto-fast").fit(X, Y)
    alone = (
        NaiveBayes("auto-fast")
        .fit({"height": COLUMNS["height"]}, Y)
        .predict_proba({"height": COLUMNS["height"]})
    )
    np.testing.assert_array_equal(fitted.predict_proba(X), alone)
    for name in ("height", "floor", "smoker", "town"):
        blank = COLUMNS | {name: column}
        without = COLUMNS | {name: [None] * N}
        np.testing.assert_array_equal(model.predict_proba(blank), model.predict_proba(without))


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pd.DataFrame, lambda columns: columns], ids=["polars", "pandas", "dict"]
)
def test_a_frame_with_a_column_of_nulls_is_as_without_it(make):
    X = {"height": COLUMNS["height"], "nothing": [None] * N}
    alone = NaiveBayes("auto-fast").fit({"height": COLUMNS["height"]}, Y)
    fitted = NaiveBayes("auto-fast").fit(make(X), Y)
    np.testing.assert_array_equal(
        fitted.predict_proba(make(X)), alone.predict_proba({"height": COLUMNS["height"]})
    )


@pytest.mark.parametrize("name, digits", [("decimal32", 9), ("decimal64", 9), ("decimal256", 50)])
def test_decimals_of_any_width_are_numbers(name, digits, expected):
    if not hasattr(pa, name):
        pytest.skip(f"this pyarrow has no {name}")
    table = arrow(height=getattr(pa, name)(digits, 2))
    np.testing.assert_allclose(
        NaiveBayes("auto-fast").fit(table, Y).predict_proba(table), expected, atol=1e-12
    )


@pytest.mark.parametrize(
    "name, make",
    [
        ("floor", pd.array),
        ("town", pd.array),
        ("town", pd.Index),
        ("grade", pd.Categorical),
        ("grade", pd.CategoricalIndex),
        ("height", pd.arrays.SparseArray),
    ],
)
def test_a_dict_may_hold_the_arrays_of_pandas(name, make, expected):
    table = COLUMNS | {name: make(COLUMNS[name])}
    np.testing.assert_allclose(
        NaiveBayes("auto-fast").fit(table, Y).predict_proba(table), expected, atol=1e-12
    )


def test_dictionaries_of_numbers_are_categories():
    codes = [1, 2, 2, None, 3, 1] * 10
    frame = pa.table({"code": pa.array(codes).dictionary_encode()})
    one = NaiveBayes("auto-fast").fit(frame, Y)
    two = NaiveBayes("auto-fast").fit({"code": pd.Series(codes, dtype="Int64").astype("category")}, Y)
    np.testing.assert_allclose(one.predict_proba(frame), two.predict_proba({"code": codes}), atol=1e-12)


def test_nulls_inside_a_dictionary_are_missing():
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1] * 15), pa.array(["u", None, "v"]))
    plain = ["u", None, "v", None] * 15
    one, two = NaiveBayes("auto-fast").fit({"w": words}, Y), NaiveBayes("auto-fast").fit({"w": plain}, Y)
    np.testing.assert_array_equal(one.predict_proba({"w": words}), two.predict_proba({"w": plain}))


def test_rows_that_are_null_as_a_whole_are_missing_in_every_column():
    gone = np.arange(N) % 3 == 0
    cells = [pa.array(COLUMNS[name]) for name in NAMES]
    batch = OnlyArray(pa.StructArray.from_arrays(cells, names=NAMES, mask=pa.array(gone)))
    plain = {
        name: [None if g else cell for cell, g in zip(COLUMNS[name], gone, strict=True)] for name in NAMES
    }
    one, two = NaiveBayes("auto-fast").fit(batch, Y), NaiveBayes("auto-fast").fit(plain, Y)
    np.testing.assert_allclose(one.predict_proba(batch), two.predict_proba(plain), atol=1e-12)


def test_a_stream_that_can_be_read_only_once_is_enough(expected):
    table = labelled("arrow")
    fitted = NaiveBayes("auto-fast").fit(table.to_reader(max_chunksize=7), "answer")
    np.testing.assert_allclose(fitted.predict_proba(table.to_reader(max_chunksize=11)), expected, atol=1e-12)
    assert fitted.score(table.to_reader(), "answer") == fitted.score(table, "answer")


SECONDS = np.random.default_rng(5).integers(1, 10**6, N)
DURATIONS = {
    "numpy seconds": SECONDS.astype("m8[s]"),
    "numpy nanoseconds": (SECONDS * 10**9).astype("m8[ns]"),
    "pandas": pd.Series(pd.to_timedelta(SECONDS, unit="s")),
    "pandas arrow": pd.Series(SECONDS * 1000, dtype=pd.ArrowDtype(pa.duration("ms"))),
    "polars": pl.Series(SECONDS * 10**6).cast(pl.Duration("us")),
    "polars ms": pl.Series(SECONDS * 10**3).cast(pl.Duration("ms")),
    "arrow": pa.array(SECONDS, pa.duration("s")),
    "python": [timedelta(seconds=int(s)) for s in SECONDS],
    "pandas objects": [pd.Timedelta(int(s), "s") for s in SECONDS],
}


@pytest.mark.parametrize("kind", DURATIONS)
def test_durations_are_numbers_of_seconds(kind):
    fitted, seconds = (
        NaiveBayes("auto-fast").fit({"t": DURATIONS[kind]}, Y),
        NaiveBayes("auto-fast").fit({"t": SECONDS}, Y),
    )
    expected = seconds.predict_joint_log_proba({"t": SECONDS})
    np.testing.assert_allclose(fitted.predict_joint_log_proba({"t": DURATIONS[kind]}), expected, rtol=1e-12)
    np.testing.assert_allclose(seconds.predict_joint_log_proba({"t": DURATIONS[kind]}), expected, rtol=1e-12)


def test_a_missing_duration_is_missing():
    some = SECONDS.astype("m8[s]").astype("m8[ms]")
    some[::4] = "NaT"
    as_numbers = np.where(np.isnat(some), np.nan, SECONDS)
    for kind in (some, pd.Series(some), pl.Series(some)):
        fitted = NaiveBayes("auto-fast").fit({"t": kind}, Y)
        expected = NaiveBayes("auto-fast").fit({"t": as_numbers}, Y).predict_proba({"t": as_numbers})
        np.testing.assert_allclose(fitted.predict_proba({"t": kind}), expected, atol=1e-12)


DAYS = [date(2024, 1, 1) + timedelta(days=k) for k in range(N)]
DATES = {
    "numpy": np.array(DAYS, dtype="M8[D]"),
    "pandas": pd.Series(pd.to_datetime(DAYS)),
    "pandas zoned": pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("Asia/Tokyo"),
    "pandas arrow": pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
    "pandas period": pd.Series(pd.period_range("2024-01", periods=N, freq="M")),
    "polars date": pl.Series(DAYS),
    "polars datetime": pl.Series([datetime(2024, 1, 1)] * N),
    "arrow": pa.array(DAYS),
    "python": DAYS,
}


@pytest.mark.parametrize("kind", DATES)
def test_a_date_is_no_number_of_a_given_family(kind):
    # Without a given family its parts are columns: tests/tables/test_dates.py.
    for families in ({"day": "gaussian"}, "gaussian", {"day": "categorical"}):
        with pytest.raises(ValueError, match=r"'day'.*dates.*time since.*month, weekday or hour"):
            NaiveBayes(families).fit({"height": COLUMNS["height"], "day": DATES[kind]}, Y)


# Labels.


LABELS = {
    "list": Y.tolist(),
    "tuple": tuple(Y.tolist()),
    "array": Y,
    "objects": Y.astype(object),
    "pandas": pd.Series(Y),
    "pandas other index": pd.Series(Y, index=np.arange(N)[::-1]),
    "pandas object": pd.Series(Y, dtype=object),
    "pandas string": pd.Series(Y, dtype="string"),
    "pandas category": pd.Series(Y, dtype="category"),
    "pandas arrow": pd.Series(Y, dtype=pd.ArrowDtype(pa.string())),
    "pandas index": pd.Index(Y),
    "polars": pl.Series(Y),
    "polars categorical": pl.Series(Y, dtype=pl.Categorical),
    "polars enum": pl.Series(Y, dtype=pl.Enum(["yes", "no", "maybe", "never"])),
    "arrow": pa.array(Y),
    "arrow chunked": pa.chunked_array([Y[:9], Y[9:]]),
    "arrow dictionary": pa.array(Y).dictionary_encode(),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_library_are_the_same_labels(kind, expected):
    fitted = NaiveBayes("auto-fast").fit(COLUMNS, LABELS[kind])
    assert fitted.classes_.tolist() == ["maybe", "no", "yes"]
    np.testing.assert_array_equal(fitted.predict_proba(COLUMNS), expected)
    assert fitted.score(COLUMNS, LABELS[kind]) == (fitted.predict(COLUMNS) == Y).mean()


CODES = np.random.default_rng(6).integers(0, 3, N)


@pytest.mark.parametrize(
    "labels, dtype",
    [
        (CODES.astype("i1"), "i1"),
        (CODES.astype("u8"), "u8"),
        (CODES.astype("f4"), "f4"),
        (CODES > 0, "?"),
        (CODES.tolist(), "i8"),
        ((CODES > 0).tolist(), "?"),
        (pd.Series(CODES, dtype="int16"), "i2"),
        (pd.Series(CODES, dtype="Int8"), "i1"),
        (pd.Series(CODES, dtype="Int64"), "i8"),
        (pd.Series(CODES > 0, dtype="boolean"), "?"),
        (pd.Series(CODES, dtype="int8[pyarrow]"), "i1"),
        (pd.Series(CODES > 0, dtype="bool[pyarrow]"), "?"),
        (pl.Series(CODES), "i8"),
        (pl.Series(CODES).cast(pl.Int8), "i1"),
        (pl.Series(CODES).cast(pl.UInt16), "u2"),
        (pl.Series(CODES > 0), "?"),
        (pa.array(CODES, pa.int32()), "i4"),
        (pa.array(CODES > 0), "?"),
    ],
    ids=lambda value: None if isinstance(value, str) else f"{type(value).__module__.split('.')[0]}",
)
def test_labels_keep_their_type(labels, dtype):
    fitted = NaiveBayes("auto-fast").fit(COLUMNS, labels)
    assert fitted.classes_.dtype == np.dtype(dtype)
    assert fitted.predict(COLUMNS).dtype == np.dtype(dtype)


@pytest.mark.parametrize(
    "make", [list, pl.Series, pa.array, pd.Series], ids=["list", "polars", "arrow", "pandas"]
)
def test_labels_may_be_dates(make):
    days = [date(2024, 1, 1 + k) for k in CODES]
    fitted = NaiveBayes("auto-fast").fit(COLUMNS, make(days))
    assert fitted.classes_.tolist() == sorted(set(days))


def labelled(kind):
    """The table with its labels in it."""
    if isinstance(table := NAMED[kind](), dict):
        return table | {"answer": Y}
    if isinstance(table, pd.DataFrame):
        return table.assign(answer=Y)
    if isinstance(table, pl.DataFrame):
        return table.with_columns(answer=pl.Series(Y))
    if isinstance(table, pa.RecordBatch):
        return table.add_column(2, "answer", pa.array(Y))
    if isinstance(table, OnlyStream):
        return OnlyStream(pa.table(table).add_column(2, "answer", pa.array(Y)))
    if isinstance(table, OnlyArray):
        return OnlyArray(pa.record_batch(table).add_column(2, "answer", pa.array(Y)))
    return table.add_column(2, "answer", pa.array(Y))


@every_named_kind
def test_labels_may_be_named_and_the_label_column_is_then_ignored(kind, expected):
    table = labelled(kind)
    fitted = NaiveBayes("auto-fast").fit(table, "answer")
    assert fitted.n_features_in_ == len(NAMES) and "answer" not in fitted.feature_names_in_
    np.testing.assert_allclose(fitted.predict_proba(table), expected, atol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(COLUMNS), expected, atol=1e-12)
    accuracy = (fitted.predict(COLUMNS) == Y).mean()
    assert fitted.score(table, "answer") == fitted.score(COLUMNS, Y) == accuracy
    twice = fitted.partial_fit(table, "answer")
    np.testing.assert_array_equal(twice.class_count_, 2 * np.unique(Y, return_counts=True)[1])
    once = twice.forget(table, "answer")
    np.testing.assert_allclose(once.predict_proba(table), expected, atol=1e-10)


def test_labels_may_be_named_after_a_fit_that_had_them_apart(expected):
    table = labelled("polars")
    fitted = NaiveBayes("auto-fast").fit(COLUMNS, Y)
    assert fitted.score(table, "answer") == fitted.score(COLUMNS, Y)
    assert fitted.partial_fit(table, "answer").forget(table, "answer").class_count_.sum() == N
    np.testing.assert_allclose(fitted.predict_proba(COLUMNS), expected, atol=1e-10)


def test_a_column_that_is_called_by_a_number_or_a_tuple_can_hold_the_labels():
    x = np.random.default_rng(0).normal(size=N)
    numbered = pd.DataFrame({0: x, 1: CODES})
    paired = pd.DataFrame({("a", "x"): x, ("a", "y"): CODES})
    for table, name in ((numbered, 1), (paired, ("a", "y"))):
        assert NaiveBayes("auto-fast").fit(table, name).classes_.tolist() == [0, 1, 2]


# What may differ between fit and predict.


@every_named_kind
def test_a_column_that_is_missing_at_predict_is_an_error_with_the_remedy(kind, model):
    frame = NAMED[kind]()
    if isinstance(frame, dict):
        frame = {name: frame[name] for name in NAMES if name != "town"}
    else:
        frame = pl.DataFrame(COLUMNS).drop("town")
    with pytest.raises(ValueError, match=r"'town' is missing.*[Aa]dd.*null"):
        model.predict(frame)
    filled = COLUMNS | {"town": [None] * N}
    assert model.predict_proba(filled).shape == (N, 3)


def test_an_unknown_column_is_an_error(model):
    with pytest.raises(ValueError, match=r"'moon' is unknown"):
        model.predict(polars().with_columns(moon=1))
    with pytest.raises(ValueError, match=r"'moon' is unknown"):
        NaiveBayes("auto-fast").fit(COLUMNS, Y).partial_fit(polars().with_columns(moon=1), Y)


def test_a_column_that_was_left_out_may_be_absent_at_predict():
    X = pd.DataFrame({"height": COLUMNS["height"], "constant": 1})
    fitted = NaiveBayes("auto-fast").fit(X, Y)
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.predict_proba(X[["height"]]))


def test_numbers_of_another_type_at_predict_are_the_same_numbers(model, expected):
    frame = polars().cast({"floor": pl.Float64, "price": pl.Float64, "smoker": pl.Int8})
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-12)
    written = polars().with_columns(pl.col("floor").cast(pl.String))
    np.testing.assert_allclose(model.predict_proba(written), expected, atol=1e-12)


def test_text_where_numbers_were_is_an_error_that_names_the_column(model):
    with pytest.raises(ValueError, match=r"'height' holds text \('tall' in row 1\).*numbers"):
        model.predict(COLUMNS | {"height": [None, "tall"] * (N // 2)})


# Results.


def test_results_are_arrays_for_every_kind(model):
    for kind in NAMED:
        table = NAMED[kind]()
        assert type(model.predict(table)) is np.ndarray and model.predict(table).dtype == Y.dtype
        for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
            values = getattr(model, method)(table)
            assert type(values) is np.ndarray and values.dtype == np.float64 and values.shape == (N, 3)


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table, "arrow batch": pa.Table}


@pytest.mark.parametrize("kind", FRAMES)
def test_results_come_as_a_frame_of_the_same_kind_if_asked(kind, expected):
    table = labelled(kind)
    fitted = NaiveBayes("auto-fast").fit(table, "answer")
    probabilities = fitted.predict_proba(table, as_frame=True)
    assert isinstance(probabilities, FRAMES[kind])
    assert list(getattr(probabilities, "column_names", None) or probabilities.columns) == [
        "maybe",
        "no",
        "yes",
    ]
    for k, name in enumerate(["maybe", "no", "yes"]):
        np.testing.assert_allclose(np.asarray(probabilities[name]), expected[:, k], atol=1e-12)
    for method in ("predict_log_proba", "predict_joint_log_proba"):
        framed, plain = getattr(fitted, method)(table, as_frame=True), getattr(fitted, method)(table)
        np.testing.assert_array_equal(np.asarray(framed["no"]), plain[:, 1])
    labels = fitted.predict(table, as_frame=True)
    assert isinstance(labels, FRAMES[kind])
    assert np.asarray(labels["answer"]).tolist() == fitted.predict(table).tolist()


def test_a_frame_of_labels_has_a_column_of_strings():
    for y in (Y, Y.astype(object), pl.Series(Y)):
        fitted = NaiveBayes("auto-fast").fit(COLUMNS, y)
        assert fitted.predict(polars(), as_frame=True).schema == {"class": pl.String}
        assert pa.types.is_string(fitted.predict(arrow(), as_frame=True).schema.field("class").type)
    numbers = NaiveBayes("auto-fast").fit(COLUMNS, CODES).predict(polars(), as_frame=True)
    assert numbers.schema == {"class": pl.Int64}


def test_a_frame_of_results_keeps_the_index_of_pandas(model):
    frame = pandas_numpy().set_index(pd.Index([f"row {k}" for k in range(N)], name="who"))
    for result in (model.predict(frame, as_frame=True), model.predict_proba(frame, as_frame=True)):
        pd.testing.assert_index_equal(result.index, frame.index)
    assert model.predict_proba(frame[3:5], as_frame=True).index.tolist() == ["row 3", "row 4"]


def test_classes_that_read_alike_stay_apart_in_a_frame():
    y = np.array([1, "1"] * (N // 2), dtype=object)
    framed = NaiveBayes("auto-fast").fit(pandas_numpy(), y).predict_proba(pandas_numpy(), as_frame=True)
    assert framed.shape == (N, 2)


def test_a_frame_cannot_be_had_of_what_is_none(model):
    for table in (COLUMNS, OnlyStream(arrow())):
        with pytest.raises(ValueError, match="but X is a"):
            model.predict(table, as_frame=True)


def test_one_record_may_be_a_dict(model, expected):
    for r in (0, 5, N - 1):
        record = {name: column[r] for name, column in COLUMNS.items()}
        np.testing.assert_allclose(model.predict_proba(record), expected[r : r + 1], atol=1e-12)
    assert model.predict({**record, "town": np.str_("Lund"), "height": np.float32(170)}).shape == (1,)


def test_a_dict_of_columns_and_single_values_is_refused_by_name(model):
    with pytest.raises(ValueError, match=r"'floor'"):
        model.predict(COLUMNS | {"floor": 3})


# Learning in pieces, from tables of different kinds.


def test_pieces_of_different_kinds_add_up_to_the_whole(expected):
    pieces = [
        (polars_chunked()[:13], Y[:13]),
        (pandas_numpy()[13:27], pd.Series(Y)[13:27]),
        (arrow_sliced().slice(27, 10), pa.array(Y[27:37])),
        ({name: column[37:] for name, column in COLUMNS.items()}, Y[37:].tolist()),
    ]
    chosen = families(NaiveBayes("auto-fast").fit(COLUMNS, Y))
    streamed, merged = NaiveBayes(chosen), None
    for X, y in pieces:
        streamed.partial_fit(X, y)
        part = NaiveBayes(chosen).fit(X, y)
        merged = part if merged is None else merged + part
    for whole in (streamed, merged):
        np.testing.assert_allclose(whole.predict_proba(polars()), expected, atol=1e-12)
    rest = streamed.forget(*pieces[1]).forget(*pieces[0])
    fresh = NaiveBayes(chosen).fit(arrow().slice(27), Y[27:])
    np.testing.assert_allclose(rest.predict_proba(COLUMNS), fresh.predict_proba(COLUMNS), atol=1e-10)


@pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")
@given(seed=st.integers(0, 999), cut=st.integers(1, N - 1), weighted=st.booleans())
def test_a_mixed_model_obeys_the_laws_of_statistics(seed, cut, weighted):
    rng = np.random.default_rng(seed)
    chosen = families(NaiveBayes("auto-fast").fit(COLUMNS, Y))
    turn = rng.permutation(N)
    frame, y = polars()[turn], Y[turn]
    w = rng.integers(0, 3, N) / 2 if weighted else np.ones(N)
    w[[0, -1]] = 1.5
    whole = NaiveBayes(chosen).fit(frame, y, sample_weight=w)
    one, two = (
        NaiveBayes(chosen).fit(frame[s], y[s], sample_weight=w[s]) for s in (slice(cut), slice(cut, N))
    )
    split = NaiveBayes(chosen).fit(frame[:cut], y[:cut], sample_weight=w[:cut])
    split.partial_fit(frame[cut:], y[cut:], sample_weight=w[cut:])
    expected = whole.predict_joint_log_proba(COLUMNS)
    for same in (one + two, two + one, split):
        assert same.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(same.predict_joint_log_proba(COLUMNS), expected, rtol=1e-11)
    split.forget(frame[cut:], y[cut:], sample_weight=w[cut:])
    assert split.classes_.tolist() == one.classes_.tolist()
    np.testing.assert_allclose(
        split.predict_joint_log_proba(COLUMNS), one.predict_joint_log_proba(COLUMNS), rtol=1e-8
    )


def test_models_of_the_same_columns_in_another_order_merge_by_name(expected):
    chosen = families(NaiveBayes("auto-fast").fit(COLUMNS, Y))
    one = NaiveBayes(chosen).fit(polars()[:30], Y[:30])
    two = NaiveBayes(chosen).fit(polars()[30:][NAMES[::-1]], Y[30:])
    np.testing.assert_allclose((one + two).predict_proba(COLUMNS), expected, atol=1e-12)


def test_models_of_other_columns_do_not_merge():
    one, two = NaiveBayes("auto-fast").fit(polars(), Y), NaiveBayes("auto-fast").fit(polars().drop("town"), Y)
    with pytest.raises(ValueError, match="town|different columns"):
        one.merge(two)


def test_models_of_other_families_do_not_merge_and_the_column_is_named():
    one = NaiveBayes("auto-fast").fit(COLUMNS, Y)
    two = NaiveBayes(one.fixed_families_ | {"price": "poisson"}).fit(COLUMNS, Y)
    with pytest.raises(ValueError, match="'price'.*gaussian.*poisson"):
        one.merge(two)


@pytest.mark.parametrize("make", [np.array, list, pd.Series, pl.Series, pa.array])
def test_weights_of_every_kind_are_repetitions(make):
    w = np.random.default_rng(1).integers(0, 4, N)
    repeated = polars()[np.repeat(np.arange(N), w)]
    chosen = families(NaiveBayes("auto-fast").fit(COLUMNS, Y))
    weighted = NaiveBayes(chosen).fit(polars(), Y, sample_weight=make(w))
    plain = NaiveBayes(chosen).fit(repeated, np.repeat(Y, w))
    np.testing.assert_allclose(weighted.predict_proba(COLUMNS), plain.predict_proba(COLUMNS), atol=1e-12)
    table = labelled("pandas")
    named = NaiveBayes(chosen).fit(table, "answer", sample_weight=make(w))
    np.testing.assert_array_equal(named.predict_proba(COLUMNS), weighted.predict_proba(COLUMNS))


# A sparse matrix is one block.


def test_a_sparse_matrix_is_one_block_of_one_family():
    counts = np.random.default_rng(0).poisson(1.0, (N, 5)).astype(float)
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        fitted = NaiveBayes("auto-fast").fit(make(counts), Y)
        assert [part.family.name for part in fitted._model.parts] == ["multinomial"]
        plain = MultinomialNB().fit(counts, Y)
        np.testing.assert_allclose(
            fitted.predict_proba(make(counts)), plain.predict_proba(counts), atol=1e-12
        )
        np.testing.assert_allclose(fitted.predict_proba(counts), plain.predict_proba(counts), atol=1e-12)
    assert (
        NaiveBayes("auto-fast").fit(sparse.csr_array(counts > 0), Y)._model.parts[0].family.name
        == "bernoulli"
    )
    assert (
        NaiveBayes("auto-fast").fit(sparse.csr_array(counts - 0.5), Y)._model.parts[0].family.name
        == "gaussian"
    )
    given = NaiveBayes(Multinomial(alpha=0.5)).fit(sparse.csr_array(counts), Y)
    np.testing.assert_allclose(
        given.predict_proba(counts), MultinomialNB(alpha=0.5).fit(counts, Y).predict_proba(counts), atol=1e-12
    )
    with pytest.raises(ValueError, match="one block"):
        NaiveBayes({0: "poisson"}).fit(sparse.csr_array(counts), Y)


def test_a_sparse_matrix_learns_in_pieces():
    counts = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (N, 5)))
    whole = NaiveBayes("auto-fast").fit(counts, Y)
    parts = NaiveBayes("auto-fast").partial_fit(counts[:20], Y[:20]).partial_fit(counts[20:], Y[20:])
    np.testing.assert_allclose(parts.predict_proba(counts), whole.predict_proba(counts), atol=1e-12)
    assert whole.score(counts, Y) == (whole.predict(counts) == Y).mean()
    assert set(whole.check(counts)) == {f"x{j}" for j in range(5)}


# A good citizen of scikit-learn.


def test_a_model_survives_pickling(model, expected):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(polars()), expected)
    more = again.partial_fit(pandas_numpy(), Y).forget(arrow(), Y)
    np.testing.assert_allclose(more.predict_proba(COLUMNS), expected, atol=1e-10)


def test_a_clone_has_the_settings_and_nothing_else(model):
    settings = {
        "families": {"town": Categorical(alpha=0.5), ("floor", "price"): "gaussian"},
        "unseen": "ignore",
    }
    original = NaiveBayes(**settings).fit(COLUMNS, Y)
    copied = clone(original)
    assert copied.get_params() == original.get_params() and not hasattr(copied, "classes_")
    np.testing.assert_array_equal(
        copied.fit(COLUMNS, Y).predict_proba(COLUMNS), original.predict_proba(COLUMNS)
    )


@pytest.mark.parametrize("kind", ["pandas", "pandas category", "polars", "polars categorical", "objects"])
def test_cross_validation_takes_frames(kind):
    scores = cross_val_score(NaiveBayes("auto-fast"), KINDS[kind](), Y, cv=3)
    assert scores.shape == (3,) and ((scores > 0.1) & (scores <= 1)).all()
    shares = cross_val_predict(NaiveBayes("auto-fast"), KINDS[kind](), Y, cv=3, method="predict_proba")
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_a_grid_search_tries_families_and_settings():
    grid = {"families": ["auto", {"price": "poisson"}, {"floor": None}], "unseen": ["reserve", "ignore"]}
    search = GridSearchCV(NaiveBayes("auto-fast"), grid, cv=3, error_score="raise").fit(polars(), Y)
    assert search.best_score_ > 0.1 and search.predict(polars()).shape == (N,)


def test_a_pipeline_ends_in_a_model():
    scale = make_column_transformer((StandardScaler(), ["height", "price"]), remainder="passthrough")
    scale.set_output(transform="pandas")
    pipe = make_pipeline(scale, NaiveBayes("auto-fast")).fit(pandas_numpy(), Y)
    plain = NaiveBayes("auto-fast").fit(COLUMNS, Y)  # units do not matter
    np.testing.assert_allclose(pipe.predict_proba(pandas_numpy()), plain.predict_proba(COLUMNS), atol=1e-9)


# Memory: numbers are read where they lie.

_MEASURE = """
import resource, sys
import numpy as np, polars as pl
from sunrise import NaiveBayes

def piece(n):
    rng = np.random.default_rng(n)
    columns = {f"f{k}": rng.random(n) for k in range(20)} | {f"i{k}": rng.integers(0, 10**6, n) for k in range(4)}
    words = pl.Series(["red", "green", "blue", None] * (n // 4))
    return pl.DataFrame(columns | ({"s": words} if sys.argv[2] == "words" else {}))

peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
y = np.arange(1_000_000, dtype=np.int8) % 3
if sys.argv[1] == "arrow":
    whole = lambda pieces: pl.concat(pieces, rechunk=False).to_arrow()
else:
    whole = lambda pieces: pl.concat(pieces, rechunk=False)
NaiveBayes("auto-fast", calibrate=None).fit(whole([piece(4000), piece(4000)]), y[:8000]).predict(whole([piece(4000)]))
frame = whole([piece(250_000) for _ in range(4)])
size = frame.nbytes if sys.argv[1] == "arrow" else frame.estimated_size()
before = peak()
NaiveBayes("auto-fast", calibrate=None).fit(frame, y)
print((peak() - before) / size, size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
@pytest.mark.parametrize("library, holds", [("polars", "numbers"), ("arrow", "numbers"), ("polars", "words")])
def test_fitting_a_large_chunked_frame_needs_little_memory_beside_it(library, holds):
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, library, holds],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    share, size = map(float, done.stdout.split())
    assert size > 190e6 and share < 0.1
