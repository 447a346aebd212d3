"""Dates become days since a reference date, month and weekday, by a rule that the schema keeps."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from sunrise import NaiveBayes
from sunrise.data.dates import day_of_text

N = 300
RNG = np.random.default_rng(0)
Y = np.where(RNG.random(N) < 0.5, "a", "b")
DAYS = np.datetime64("2021-03-04") + RNG.integers(0, 800, N) + np.where(Y == "b", 200, 0)
GONE = np.arange(N) % 11 == 4
X = RNG.normal(size=N)
JOINED = pd.Series(DAYS.astype("M8[ns]")).mask(GONE)
TABLE = pd.DataFrame({"joined": JOINED, "x": X})
FIRST = JOINED.min()
#: The parts, computed by pandas.
TRUE = pd.DataFrame(
    {
        "joined.days": (JOINED - FIRST).dt.days.astype(float),
        "joined.month": JOINED.dt.month.astype("Int64").astype("string").astype(object).where(~GONE, None),
        "joined.weekday": JOINED.dt.day_name().str[:3].where(~GONE, None),
        "x": X,
    }
)

KINDS = {
    "pandas": TABLE,
    "time zone": TABLE.assign(joined=JOINED.dt.tz_localize("Europe/Berlin")),
    "period": TABLE.assign(joined=JOINED.dt.to_period("D")),
    "arrow in pandas": TABLE.astype({"joined": "timestamp[us][pyarrow]"}),
    "polars date": pl.from_pandas(TABLE).with_columns(pl.col("joined").cast(pl.Date)),
    "polars datetime": pl.from_pandas(TABLE).with_columns(
        pl.col("joined").dt.replace_time_zone("America/New_York")
    ),
    "pyarrow date": pa.table({"joined": pa.array(JOINED.dt.date.where(~GONE, None), pa.date32()), "x": X}),
    "pyarrow chunks": pa.concat_tables(
        [
            pa.Table.from_pandas(TABLE[:100], preserve_index=False),
            pa.Table.from_pandas(TABLE[100:], preserve_index=False),
        ]
    ),
    "dict of dates": {"joined": [None if pd.isna(d) else d.date() for d in JOINED], "x": X},
    "dict of numpy": {"joined": JOINED.to_numpy(), "x": X},
    "ISO text": TABLE.assign(joined=JOINED.dt.strftime("%Y-%m-%d")),
    "ISO text with a mark": TABLE.assign(joined=JOINED.dt.strftime("%Y-%m-%d").fillna("?")),
    "ISO text with times": TABLE.assign(joined=JOINED.dt.strftime("%Y-%m-%dT00:00:00Z")),
}


def names(model):
    return list(model.schema_.names)


@pytest.fixture(scope="module")
def model():
    return NaiveBayes().fit(TABLE, Y)


def test_the_parts_are_those_of_pandas(model):
    truth = NaiveBayes().fit(TRUE, Y)
    assert names(model) == ["joined.days", "joined.month", "joined.weekday", "x"]
    np.testing.assert_allclose(model.predict_proba(TABLE), truth.predict_proba(TRUE), atol=0.02)
    for part in ("joined.month", "joined.weekday"):
        observed = pd.crosstab(TRUE[part], Y, normalize="columns")
        for level in observed.index:
            np.testing.assert_allclose(model.parameters_[part][level], observed.loc[level], atol=0.03)
    assert f"days since {FIRST.date()}" in model.schema_.choices[0].reason
    assert model.families_["column"].tolist() == names(model)


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_dates_give_the_same_model(kind, model):
    table = KINDS[kind]
    own = NaiveBayes().fit(table, Y)
    assert names(own) == names(model) and own.schema_.rules.dates == model.schema_.rules.dates
    np.testing.assert_allclose(own.predict_proba(table), model.predict_proba(TABLE), rtol=1e-12)
    # Any kind can be predicted by a model of any other kind.
    np.testing.assert_allclose(model.predict_proba(table), model.predict_proba(TABLE), rtol=1e-12)
    assert ("written as text" in own.schema_.choices[0].reason) == kind.startswith("ISO")


def test_the_columns_of_the_table_are_those_that_scikit_learn_sees(model):
    assert model.n_features_in_ == 2 and model.feature_names_in_.tolist() == ["joined", "x"]
    assert model.feature_importances_.shape == (2,)
    bits = model.mutual_information()
    assert len(bits) == 4 and model.feature_importances_[0] == pytest.approx(sum(bits[:3]))
    assert sr.InformationSelector(k=1).fit(TABLE, Y).transform(TABLE).columns.tolist() == ["joined"]


def test_one_record_and_the_explanation_of_it(model):
    moments = [
        datetime.date(2022, 3, 15),
        datetime.datetime(2022, 3, 15),
        "2022-03-15",
        pd.Timestamp("2022-03-15"),
    ]
    first = model.predict_proba({"joined": moments[0], "x": 0.3})
    for moment in moments[1:]:
        np.testing.assert_array_equal(model.predict_proba({"joined": moment, "x": 0.3}), first)
    parts = {"joined.days": (datetime.date(2022, 3, 15) - FIRST.date()).days, "joined.month": "3", "x": 0.3}
    np.testing.assert_array_equal(model.predict_proba({**parts, "joined.weekday": "Tue"}), first)
    np.testing.assert_array_equal(
        model.predict_proba(pd.DataFrame([{**parts, "joined.weekday": "Tue"}])), first
    )
    text = model.explain({"joined": "2022-03-15", "x": 0.3}).text(0)
    assert "joined.month = 3" in text and "joined.weekday = Tue" in text
    missing = model.explain({"joined": None, "x": 0.3}).contributions[0]
    assert (missing[:, :3] == 0.0).all()


def test_bad_cells_are_refused_by_name(model):
    with pytest.raises(
        ValueError, match="column 'joined' holds 'soon' in row 0, but the model was fitted to dates"
    ):
        model.predict({"joined": "soon", "x": 0.0})
    with pytest.raises(ValueError, match="column 'joined' holds numbers, but the model was fitted to dates"):
        model.predict({"joined": 3.0, "x": 0.0})
    with pytest.raises(ValueError, match="'joined'"):
        model.predict({"x": 0.0})
    with pytest.raises(ValueError, match="'joined' holds dates, which become 'joined.month'"):
        NaiveBayes().fit(TABLE.assign(**{"joined.month": 1}), Y)
    with pytest.raises(ValueError, match="'at' holds dates or times"):
        NaiveBayes().fit({"at": [datetime.time(3, 4)] * N}, Y)


def test_the_user_has_the_last_word():
    left_out = NaiveBayes({"joined": None}).fit(TABLE, Y)
    assert names(left_out) == ["joined", "x"] and left_out.schema_.rules is None
    own = NaiveBayes({"joined.month": None, "joined.weekday": None, "joined.days": "gaussian"}).fit(TABLE, Y)
    assert [c.family and c.family.name for c in own.schema_.choices][:3] == ["gaussian", None, None]
    own.partial_fit(TABLE, Y)
    text = TABLE.assign(joined=JOINED.dt.strftime("%Y-%m"))
    assert NaiveBayes("auto-fast").fit(text, Y).schema_.rules is None  # a month is not a date
    levels = NaiveBayes({"joined": "categorical"}).fit(KINDS["ISO text"], Y)
    assert levels.schema_.rules is None and names(levels) == ["joined", "x"]
    fixed = NaiveBayes(NaiveBayes("auto-fast").fit(TABLE, Y).fixed_families_, calibrate=None).fit(TABLE, Y)
    assert names(fixed)[0] == "joined.days"
    with pytest.raises(ValueError, match=r"'joined\.year', which X does not have"):
        NaiveBayes({"joined.year": None}).fit(TABLE, Y)


def test_updates_files_and_pickles_keep_the_reference(tmp_path):
    settings = {"families": "auto-fast", "calibrate": None}
    whole = NaiveBayes(**settings).fit(TABLE, Y)
    half = NaiveBayes(**settings).fit(TABLE[:200], Y[:200])
    reference = half.schema_.rules.dates["joined"]
    half.partial_fit(TABLE[200:], Y[200:])
    assert half.schema_.rules.dates["joined"] == reference
    half.forget(TABLE[200:], Y[200:])
    np.testing.assert_allclose(
        half.predict_proba(TABLE), NaiveBayes(**settings).fit(TABLE[:200], Y[:200]).predict_proba(TABLE)
    )
    path = tmp_path / "m.sunrise"
    for twin in (sr.load(whole.save(path) and path), pickle.loads(pickle.dumps(whole))):
        assert twin.schema_.rules == whole.schema_.rules and twin.n_features_in_ == 2
        np.testing.assert_array_equal(twin.predict_proba(TABLE), whole.predict_proba(TABLE))
    worker = sr.Accumulator(whole.schema_).update(TABLE, Y)
    np.testing.assert_allclose(
        sr.Accumulator.from_bytes(worker.to_bytes()).model(NaiveBayes(**settings)).predict_proba(TABLE),
        whole.predict_proba(TABLE),
    )


def test_models_with_other_references_are_not_merged():
    is_late = (JOINED >= "2022-09-01").to_numpy()
    parts = ~is_late & ~GONE, is_late
    early, late = (NaiveBayes("auto-fast", calibrate=None).fit(TABLE[rows], Y[rows]) for rows in parts)
    with pytest.raises(ValueError, match=r"count the days of column 'joined' from .*empty_model"):
        early + late
    second = early.schema_.empty_model(NaiveBayes("auto-fast", calibrate=None))
    total = early + second.partial_fit(TABLE[is_late], Y[is_late])
    assert total.class_count_.sum() == (~GONE).sum()


def test_a_stream_decides_by_all_kept_rows():
    streamed = NaiveBayes()
    for start in range(0, N, 75):
        streamed.partial_fit(TABLE[start : start + 75], Y[start : start + 75])
    np.testing.assert_allclose(streamed.predict_proba(TABLE), NaiveBayes().fit(TABLE, Y).predict_proba(TABLE))
    again = pickle.loads(pickle.dumps(streamed))  # the kept rows hold dates
    again.partial_fit(TABLE[:150], Y[:150])
    assert again.class_count_.sum() == N + 150


@pytest.mark.parametrize("many", [False, True], ids=["one sample", "two passes"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_read_in_the_same_way(tmp_path, ending, many):
    pytest.importorskip("duckdb", reason="duckdb reads CSV files")
    frame = pd.concat([TABLE.assign(label=Y)] * (300 if many else 1), ignore_index=True)
    path = tmp_path / f"dates.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    settings = {"families": "auto-fast", "calibrate": None}
    model, truth = (NaiveBayes(**settings).fit(source, "label") for source in (path, frame))
    assert model.schema_.rules.dates == truth.schema_.rules.dates
    np.testing.assert_allclose(model.predict_proba(TABLE), truth.predict_proba(TABLE), rtol=1e-9)
    assert model.predict_proba(path, to=tmp_path / "p.csv") == len(frame)


def test_lazy_tables_are_read_in_batches():
    many = pl.concat([pl.from_pandas(TABLE.assign(label=Y))] * 200)
    settings = {"families": "auto-fast", "calibrate": None}
    lazy = NaiveBayes(**settings).fit(sr.lazy(many.lazy(), push_down=False), "label")
    np.testing.assert_allclose(
        lazy.predict_proba(TABLE), NaiveBayes(**settings).fit(many, "label").predict_proba(TABLE), rtol=1e-9
    )


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_queries_compute_the_parts(dialect, model, tmp_path):
    sqlite3 = pytest.importorskip("sqlite3")
    frame = TABLE.assign(joined=JOINED.dt.strftime("%Y-%m-%d") if dialect == "sqlite" else JOINED)
    query = model.to_sql(dialect=dialect, table="data")
    if dialect == "sqlite":
        with sqlite3.connect(tmp_path / "d.db") as connection:
            frame.to_sql("data", connection, index=False)
            scored = pd.read_sql(query, connection)
        connection.close()
    else:
        duckdb = pytest.importorskip("duckdb", reason="duckdb runs the query")
        connection = duckdb.connect()
        connection.register("data", frame)
        scored = connection.sql(query).df()
    np.testing.assert_allclose(scored["probability_b"], model.predict_proba(TABLE)[:, 1], atol=1e-6)
    assert '"reference"' in model.to_json()


def test_other_uses_of_a_model_with_dates(model):
    assert model.check(TABLE)["missing"].tolist() == [27, 27, 27, 0]
    rows, _ = model.sample(5, random_state=0)
    assert rows.columns.tolist() == names(model)
    assert set(rows["joined.weekday"]) <= {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
    smaller = model.select(1)
    assert smaller.predict(TABLE).shape == (N,)
    assert sr.cross_validate(NaiveBayes("auto-fast"), TABLE, Y, cv=3).quality.rows == N
    some = np.where(np.arange(N) % 5 == 0, None, Y)
    assert NaiveBayes(unlabelled="em").fit(TABLE, some).predict(TABLE).shape == (N,)
    window = sr.Window(NaiveBayes("auto-fast"), rows=150)
    for start in range(0, N, 100):
        window.partial_fit(TABLE[start : start + 100], Y[start : start + 100])
    assert window.predict(TABLE).shape == (N,)


def test_an_iso_text_is_a_date_only_if_it_is_one():
    assert day_of_text("1970-01-01T12:00:00.5+05:00") == pytest.approx(0.5 + 0.5 / 86400)
    for text in ("1970-02-31", "1970-1-1", "01.01.1970", "1970-01-01x", "19700101", ""):
        assert np.isnan(day_of_text(text))
