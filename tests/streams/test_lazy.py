"""Lazy tables as input: the same model from every kind of table, predictions, and clear errors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import sunrise as sr
from streams.lazy_tables import ENGINES, as_lazy, make_table
from sunrise.data.frame import frame_of
from sunrise.estimators import lazy_fit
from sunrise.streams import lazy as lazy_module
from sunrise.streams.expressions import are_available

# Ibis 12 uses methods that DuckDB 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

TABLE = make_table(2500).select("near", "amount", "events", "town", "flag", "grade", "answer")
X = TABLE.drop("answer")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_small_lazy_table_gives_the_model_of_the_table_in_memory(request, engine):
    """All rows are in the sample, so families and calibration agree, too."""
    expected = sr.NaiveBayes().fit(TABLE, "answer")
    model = sr.NaiveBayes().fit(as_lazy(TABLE, engine, request), y="answer")
    assert repr(model.schema_.families) == repr(expected.schema_.families)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_table_in_all_ways(request, engine, monkeypatch):
    monkeypatch.setattr(lazy_fit, "SAMPLED", 800)
    families = {
        "near": "gaussian",
        "amount": "lognormal",
        "events": "poisson",
        "town": "categorical",
        "flag": "bernoulli",
        "grade": "categorical",
    }
    expected = sr.NaiveBayes(families, calibrate=None).fit(TABLE.to_pandas(), "answer")
    table = as_lazy(TABLE, engine, request)
    for push_down in (are_available(), False):
        model = sr.NaiveBayes(families, calibrate=None).fit(sr.lazy(table, push_down=push_down), y="answer")
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_of_lazy_tables_are_computed_in_batches(request, engine, monkeypatch):
    monkeypatch.setattr(lazy_module, "BATCH_ROWS", 700)
    model = sr.NaiveBayes().fit(TABLE, "answer")
    table = as_lazy(TABLE.with_columns(row=np.arange(len(TABLE))), engine, request)
    if engine.startswith("ibis"):  # SQL leaves the order open
        table = table.order_by("row")
    table = table.project("* exclude row") if engine == "duckdb" else table.drop("row")
    features = table.project("* exclude answer") if engine == "duckdb" else table.drop("answer")
    np.testing.assert_array_equal(model.predict(features), model.predict(X))
    np.testing.assert_array_equal(model.predict_proba(features), model.predict_proba(X))
    assert model.score(table, "answer") == pytest.approx(model.score(TABLE, "answer"), abs=1e-12)


def test_accuracy_with_weights_from_a_column():
    w = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(TABLE))
    model = sr.NaiveBayes().fit(TABLE, "answer")
    source = sr.lazy(TABLE.with_columns(w=w).lazy(), batch_rows=300)
    expected = model.score(TABLE, "answer", sample_weight=w)
    assert model.score(source, "answer", sample_weight="w") == pytest.approx(expected, abs=1e-12)


def test_predictions_of_a_polars_lazy_frame_are_lazy():
    model = sr.NaiveBayes().fit(TABLE, "answer")
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        expected = getattr(model, method)(X, as_frame=True)
        found = getattr(model, method)(X.lazy(), as_frame=True)
        assert isinstance(found, pl.LazyFrame) and found.collect_schema() == expected.schema
        assert found.collect().equals(expected) and found.collect(engine="streaming").equals(expected)
    both = pl.concat([X.lazy(), model.predict_proba(X.lazy(), as_frame=True)], how="horizontal")
    assert both.collect().columns == [*X.columns, "may be", "no", "yes"]


@pytest.mark.parametrize("engine", ["duckdb", "ibis on duckdb", "ibis on postgresql"])
def test_predictions_of_other_lazy_tables_are_lazy_tables_of_their_kind(request, engine):
    model = sr.NaiveBayes().fit(TABLE, "answer")
    keyed = TABLE.with_columns(row=np.arange(len(TABLE)))
    table = as_lazy(keyed, engine, request)

    def rows_of(found):
        assert type(found) is type(table)
        arrow = found.to_arrow_table() if engine == "duckdb" else found.to_pyarrow()
        return pl.from_arrow(arrow).sort("row")

    probabilities, logs = (
        getattr(model, name)(table, as_frame=True) for name in ("predict_proba", "predict_log_proba")
    )
    classes = model.predict(table, as_frame=True)
    for found, expected in ((probabilities, model.predict_proba(X)), (logs, model.predict_log_proba(X))):
        rows = rows_of(found)
        assert rows.columns == [*keyed.columns, "may be", "no", "yes"]
        np.testing.assert_allclose(rows.select("may be", "no", "yes"), expected, rtol=1e-9, atol=1e-9)
    assert rows_of(classes)["predicted answer"].to_list() == model.predict(X).tolist()
    # The first result is computed again, after other tables were predicted.
    np.testing.assert_allclose(rows_of(probabilities)["no"], model.predict_proba(X)[:, 1], atol=1e-9)


def test_predictions_that_an_engine_cannot_compute_name_the_remedy(request):
    model = sr.NaiveBayes().fit(TABLE, "answer")
    table = as_lazy(TABLE, "duckdb", request)
    with pytest.raises(TypeError, match="joint scores of a DuckDBPyRelation"):
        model.predict_joint_log_proba(table, as_frame=True)
    with pytest.raises(ValueError, match="X has a column 'yes', which is also the name"):
        model.predict_proba(table.project("*, 1 as yes"), as_frame=True)
    text = make_table(300).select("note", "answer")
    words = sr.NaiveBayes({"note": "text"}, calibrate=None).fit(text, "answer")
    with pytest.raises(ValueError, match="SQL cannot split text into words"):
        words.predict_proba(as_lazy(text, "duckdb", request), as_frame=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_method_loads_a_lazy_table_whole(request, engine):
    table = as_lazy(TABLE, engine, request)
    with pytest.raises(TypeError, match="X is lazy .* pass X"):
        frame_of(table)
    with pytest.raises(TypeError, match="X is lazy"):
        sr.GaussianNB().fit(table, TABLE["answer"])
    with pytest.raises(TypeError, match="X is lazy"):
        sr.NaiveBayes().fit(TABLE, "answer").explain(table)


def test_a_reader_is_not_loaded_whole_either():
    reader = TABLE.to_arrow().to_reader()
    with pytest.raises(TypeError, match=r"X is lazy \(RecordBatchReader\).*read_all\(\)"):
        frame_of(reader)


@pytest.mark.parametrize("push_down", ["auto", False])
def test_names_that_are_not_columns(push_down):
    for y, weight, match in (
        ("answr", None, "Do you mean 'answer'"),
        ("answer", "neer", "Do you mean 'near'"),
    ):
        with pytest.raises(ValueError, match=match):
            sr.NaiveBayes().fit(sr.lazy(TABLE.lazy(), push_down=push_down), y=y, sample_weight=weight)
    with pytest.raises(ValueError, match="Pass the name of a column"):
        sr.NaiveBayes().fit(TABLE.lazy(), y=TABLE["answer"])
    with pytest.raises(TypeError, match="not a lazy table"):
        sr.lazy(TABLE)


@pytest.mark.parametrize("push_down", ["auto", False])
def test_a_failure_changes_nothing_and_leaves_the_connection_usable(request, push_down):
    table = as_lazy(TABLE.with_columns(bad=pl.lit("03:04").str.to_time("%H:%M")), "duckdb", request)
    model = sr.NaiveBayes().fit(TABLE, "answer")
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="'bad' holds dates"):
        model.fit(sr.lazy(table, push_down=push_down, batch_rows=500), y="answer")
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert table.aggregate("count(*)").fetchall() == [(len(TABLE),)]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_the_sample_does_not_depend_on_the_order_of_the_rows(request, engine, monkeypatch):
    monkeypatch.setattr(lazy_fit, "SAMPLED", 300)
    tables = TABLE, TABLE.reverse()
    models = [
        sr.NaiveBayes().fit(sr.lazy(as_lazy(table, engine, request), push_down=are_available()), y="answer")
        for table in tables
    ]
    assert repr(models[0].schema_.families) == repr(models[1].schema_.families)
    np.testing.assert_allclose(*(model.predict_proba(X) for model in models), rtol=1e-9)


def test_a_class_that_the_sample_misses_is_calibrated_as_the_others(monkeypatch):
    monkeypatch.setattr(lazy_fit, "SAMPLED", 200)
    rare = pl.Series(np.where(np.arange(len(TABLE)) == 7, "rare", TABLE["answer"].to_numpy()))
    table = TABLE.with_columns(answer=rare)
    for push_down in (are_available(), False):
        model = sr.NaiveBayes().fit(sr.lazy(table.lazy(), push_down=push_down), y="answer")
        assert "rare" in model.classes_.tolist()
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
