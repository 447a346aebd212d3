"""Marks among numbers: "?", "NA", "-" and "" are missing cells, in fit and in everything after it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from sunrise import NaiveBayes

N = 240
RNG = np.random.default_rng(5)
Y = np.where(np.arange(N) % 2 == 0, "a", "b")
X = RNG.normal(size=N).round(3) + (Y == "b")
GONE = np.arange(N) % 7 == 3
TRUE = {"x": np.where(GONE, np.nan, X), "kind": np.where(np.arange(N) % 3 == 0, "u", "v").tolist()}


def marked(mark="?"):
    return {"x": [mark if gone else f"{x}" for x, gone in zip(X, GONE, strict=True)], "kind": TRUE["kind"]}


TABLES = {
    "dict": lambda t: t,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "array": lambda t: np.array(list(zip(*t.values(), strict=True)), dtype=object),
}


@pytest.mark.parametrize("library", TABLES)
@pytest.mark.parametrize("mark", ["?", "NA", "-", "", " n/a "])
def test_a_marked_column_is_the_column_of_numbers(mark, library):
    make = TABLES[library]
    table = marked(mark)
    model, truth = NaiveBayes().fit(make(table), Y), NaiveBayes().fit(make(TRUE), Y)
    np.testing.assert_array_equal(model.predict_proba(make(table)), truth.predict_proba(make(TRUE)))
    assert [c.family.name for c in model.schema_.choices] == [c.family.name for c in truth.schema_.choices]
    said = f"; {mark!r} in {GONE.sum()} cells is missing"
    assert model.schema_.choices[0].reason == truth.schema_.choices[0].reason + said
    assert model.schema_.rules.marks == {0 if library == "array" else "x": (mark,)}
    assert truth.schema_.rules is None


def test_objects_that_mix_numbers_and_marks():
    cells = [("?" if gone else x) for x, gone in zip(X.tolist(), GONE, strict=True)]
    model = NaiveBayes().fit({"x": cells, "kind": TRUE["kind"]}, Y)
    assert model.predict_proba({"x": cells[:9], "kind": TRUE["kind"][:9]}).tolist() == (
        NaiveBayes().fit(TRUE, Y).predict_proba({k: v[:9] for k, v in TRUE.items()}).tolist()
    )
    with pytest.raises(ValueError, match="mixes strings"):
        NaiveBayes().fit({"x": ["high", *cells[1:]]}, Y)


def test_several_marks_are_named():
    table = marked()
    table["x"] = [("NA" if k % 2 else cell) if cell == "?" else cell for k, cell in enumerate(table["x"])]
    model = NaiveBayes().fit(table, Y)
    assert f"in {GONE.sum()} cells are missing" in model.families_["x"]["reason"]
    assert set(model.schema_.rules.marks["x"]) == {"?", "NA"}
    assert model.check(table)["x"]["missing"] == GONE.sum()


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([f"0{k % 90 + 1000}" if k % 9 else "?" for k in range(N)], "leading zeros are codes"),
        (["1" if k % 2 else "?" for k in range(N)], "one number may be a code"),
        ([str(k % 40) for k in range(N)], "no mark: the user may mean names"),
        ([str(k % 40) if k % 9 else "high" for k in range(N)], "a word may mean something"),
    ],
)
def test_these_columns_stay_text(cells, why):
    model = NaiveBayes().fit({"x": cells}, Y)
    assert model.schema_.rules is None and model.schema_.choices[0].kind == "level", why


def test_the_user_has_the_last_word():
    levels = NaiveBayes({"x": "categorical"}).fit(marked(), Y)
    assert levels.schema_.rules is None and "?" in levels.parameters_["x"]
    given = NaiveBayes({"x": "gaussian"}).fit(marked(), Y)
    np.testing.assert_allclose(
        given.parameters_["x"]["mean"], NaiveBayes({"x": "gaussian"}).fit(TRUE, Y).parameters_["x"]["mean"]
    )
    left_out = NaiveBayes({"x": None}).fit(marked(), Y)
    assert left_out.schema_.rules is None
    declared = pd.DataFrame(marked()).astype({"x": "category"})
    assert NaiveBayes().fit(declared, Y).schema_.choices[0].family.name in ("categorical", "text")


def test_single_records_numbers_and_other_marks():
    model, truth = NaiveBayes().fit(marked(), Y), NaiveBayes().fit(TRUE, Y)
    for cell, number in (
        ("?", None),
        ("0.25", 0.25),
        (0.25, 0.25),
        (None, None),
        ("NA", None),
        (np.nan, None),
    ):
        np.testing.assert_array_equal(
            model.predict_proba({"x": cell, "kind": "u"}), truth.predict_proba({"x": number, "kind": "u"})
        )
    assert model.explain({"x": "?", "kind": "u"}).contributions[0, :, 0].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"column 'x' holds 'high' in row 1, but .*'\?' stood for missing"):
        model.predict({"x": ["0.5", "high"], "kind": ["u", "u"]})


def test_updates_files_and_pickles_keep_the_marks(tmp_path):
    table, frame = marked(), pd.DataFrame({**marked(), "label": Y})
    half = NaiveBayes("auto-fast", calibrate=None).fit({k: v[:120] for k, v in table.items()}, Y[:120])
    whole = half.partial_fit({k: v[120:] for k, v in table.items()}, Y[120:])
    truth = NaiveBayes("auto-fast", calibrate=None).fit(TRUE, Y)
    np.testing.assert_allclose(whole.predict_proba(table), truth.predict_proba(TRUE))
    whole.forget({k: v[120:] for k, v in table.items()}, Y[120:])
    first = NaiveBayes("auto-fast", calibrate=None).fit({k: v[:120] for k, v in table.items()}, Y[:120])
    np.testing.assert_allclose(whole.predict_proba(table), first.predict_proba(table))
    model = NaiveBayes().fit(frame, "label")
    for twin in (
        sr.load(model.save(tmp_path / "m.sunrise") and tmp_path / "m.sunrise"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert twin.schema_.rules == model.schema_.rules
        np.testing.assert_array_equal(twin.predict_proba(frame), model.predict_proba(frame))
    worker = sr.Accumulator(model.schema_).update(frame, "label")
    again = sr.Accumulator.from_bytes(worker.to_bytes()).model(NaiveBayes(calibrate=None))
    np.testing.assert_array_equal(
        again.predict_proba(frame),
        NaiveBayes(model.fixed_families_, calibrate=None).fit(frame, "label").predict_proba(frame),
    )


def test_a_stream_decides_by_all_kept_rows():
    table = marked()
    streamed = NaiveBayes()
    for start in range(0, N, 60):
        batch = slice(start, start + 60)
        streamed.partial_fit({k: v[batch] for k, v in table.items()}, Y[batch])
    fitted = NaiveBayes().fit(table, Y)
    np.testing.assert_array_equal(streamed.predict_proba(table), fitted.predict_proba(table))
    # A word late in the stream: the column was text all along.
    late = {"x": [*table["x"][:60], "high"], "kind": table["kind"][:61]}
    streamed = NaiveBayes("auto-fast").partial_fit({k: v[:60] for k, v in late.items()}, Y[:60])
    assert streamed.schema_.choices[0].kind == "number"
    streamed.partial_fit({k: v[60:] for k, v in late.items()}, Y[60:61])
    assert streamed.schema_.rules is None and streamed.schema_.choices[0].kind == "level"


@pytest.mark.parametrize("many", [False, True], ids=["one sample", "two passes"])
def test_files_are_read_in_the_same_way(tmp_path, many):
    pytest.importorskip("duckdb", reason="duckdb reads CSV files")
    times = 400 if many else 1
    frame = pd.concat([pd.DataFrame({**marked(), "label": Y})] * times)
    frame.to_csv(tmp_path / "marked.csv", index=False)
    # The answers of `missing=` are those of the marks.
    named = sr.read_files(tmp_path / "marked.csv", missing=["?"])
    model = NaiveBayes("auto-fast", calibrate=None).fit(tmp_path / "marked.csv", "label")
    truth = NaiveBayes("auto-fast", calibrate=None).fit(named, "label")
    np.testing.assert_allclose(model.predict_proba(marked()), truth.predict_proba(TRUE), rtol=1e-9)
    assert "'?' in" in model.schema_.choices[0].reason
    model.predict_proba(tmp_path / "marked.csv", to=tmp_path / "p.csv")
    assert len(pd.read_csv(tmp_path / "p.csv")) == N * times


def test_scores_by_folds_and_semi_supervised_fits_read_the_marks():
    rows = pd.DataFrame(marked())
    model = NaiveBayes().fit(rows, Y)
    assert model.loo_score_.accuracy == NaiveBayes().fit(pd.DataFrame(TRUE), Y).loo_score_.accuracy
    some = np.where(np.arange(N) % 5 == 0, None, Y)
    em = NaiveBayes(unlabelled="em").fit(rows, some)
    np.testing.assert_array_equal(
        em.predict_proba(rows),
        NaiveBayes(unlabelled="em").fit(pd.DataFrame(TRUE), some).predict_proba(pd.DataFrame(TRUE)),
    )
    scores = sr.cross_validate(NaiveBayes("auto-fast"), rows, Y, cv=3)
    truth = sr.cross_validate(NaiveBayes("auto-fast"), pd.DataFrame(TRUE), Y, cv=3)
    assert scores.mean["accuracy"] == pytest.approx(truth.mean["accuracy"], abs=0.05)


def test_exports_read_the_marks():
    duckdb = pytest.importorskip("duckdb", reason="duckdb runs the query")
    frame = pd.DataFrame({**marked(), "label": Y})
    frame.loc[0, "x"] = " NA "
    model = NaiveBayes().fit(frame, "label")
    connection = duckdb.connect()
    connection.register("data", frame)
    scored = connection.sql(model.to_sql(dialect="duckdb", table="data", keep=["kind"])).df()
    np.testing.assert_allclose(scored["probability_b"], model.predict_proba(frame)[:, 1], atol=1e-6)
    assert scored["kind"].tolist() == TRUE["kind"]
    derived = model.to_json()
    assert '"derived"' in derived and '"?"' in derived
    assert '"derived"' not in NaiveBayes().fit(TRUE, Y).to_json()


def test_lazy_tables_read_the_marks_in_batches():
    frame = pl.DataFrame({**marked(), "label": Y})
    many = pl.concat([frame] * 300)
    model = NaiveBayes("auto-fast", calibrate=None).fit(sr.lazy(many.lazy(), push_down=True), "label")
    truth = NaiveBayes("auto-fast", calibrate=None).fit(many, "label")
    np.testing.assert_allclose(model.predict_proba(frame), truth.predict_proba(frame), rtol=1e-9)
