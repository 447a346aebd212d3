"""Sources: shards in any order, batches of any size, readers that can be read once, options and errors."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sunrise as sr
from sunrise.estimators import source_fit
from sunrise.streams import batches, files_arrow, files_text
from sunrise.streams.sample import ContentSample, content_hashes
from sunrise.streams.source import OnePass, source_of

RNG = np.random.default_rng(3)


def make_table(n: int = 4000) -> pd.DataFrame:
    y = RNG.integers(0, 2, n)
    return pd.DataFrame(
        {
            "x": RNG.normal(y / 2.0, 1.0),
            "k": RNG.poisson(2.0 + y),
            "t": np.array(["u", "v", None], object)[RNG.integers(0, 3, n)],
            "weight": RNG.integers(0, 3, n),
            "label": y,
        }
    )


@pytest.fixture
def small(monkeypatch):
    """Small batches and a small sample."""
    monkeypatch.setattr(source_fit, "SAMPLED", 1000)
    for module in (batches, files_arrow, files_text):
        monkeypatch.setattr(module, "BATCH", 300)


def scores(model, table):
    return model.predict_joint_log_proba(table[["x", "k", "t"]].head(100))


def names(model):
    return {
        n: choice.family.name for n, choice in zip(model.schema_.names, model.schema_.choices, strict=True)
    }


def test_shards_in_any_order_give_the_same_model(tmp_path, small):
    table, found = make_table(), []
    for run in range(3):
        rows = table.sample(frac=1.0, random_state=run)
        folder = tmp_path / str(run)
        folder.mkdir()
        cuts = np.sort(RNG.integers(0, len(rows), run + 1))
        paths = []
        for k, part in enumerate(np.split(np.arange(len(rows)), cuts)):
            shard = rows.iloc[part]
            shard = shard[list(RNG.permutation(shard.columns))]
            paths.append(folder / (f"{k}.parquet" if run < 2 else f"{k}.csv"))
            shard.to_parquet(paths[-1]) if run < 2 else shard.to_csv(paths[-1], index=False)
        paths = [paths[k] for k in RNG.permutation(len(paths))]
        found.append(sr.NaiveBayes().fit(paths, "label", "weight"))
    frames = [table.iloc[k : k + 1] for k in range(300)] + [table.iloc[300:]]
    found.append(sr.NaiveBayes().fit(lambda: iter(frames), "label", "weight"))
    found.append(sr.NaiveBayes().fit([pl.DataFrame(table)], "label", "weight"))
    for model in found:
        assert names(model) == names(found[0])
        assert np.array_equal(model.class_count_, table.groupby("label")["weight"].sum().to_numpy())
        order = [model.schema_.names.index(name) for name in ("x", "k", "t")]
        first = [found[0].schema_.names.index(name) for name in ("x", "k", "t")]
        a, b = model._model.calibration, found[0]._model.calibration
        np.testing.assert_allclose(a.weights[order], b.weights[first], rtol=1e-6)
        np.testing.assert_allclose(scores(model, table), scores(found[0], table), rtol=1e-6)


def test_one_pass_readers_take_their_first_rows_to_decide(small):
    table = pa.Table.from_pandas(make_table().drop(columns="weight"), preserve_index=False)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=250))
    assert isinstance(source_of(reader), OnePass)
    model = sr.NaiveBayes().fit(reader, "label")
    assert model.class_count_.sum() == 4000
    again = sr.NaiveBayes().fit(iter(table.to_batches(max_chunksize=250)), "label")
    assert np.array_equal(model.class_count_, again.class_count_)
    given = {"x": "gaussian", "k": "poisson", "t": "categorical"}
    one = sr.NaiveBayes(given, calibrate=None).fit(iter(table.to_batches(max_chunksize=250)), "label")
    whole = sr.NaiveBayes(given, calibrate=None).fit(table, "label")
    frame = table.to_pandas()
    np.testing.assert_allclose(scores(one, frame), scores(whole, frame), rtol=1e-12)


def test_the_sample_does_not_depend_on_order_or_duplicates():
    from sunrise.data.frame import frame_of

    table = pd.DataFrame({"a": RNG.integers(0, 200, 5000), "b": RNG.integers(0, 3, 5000)})
    y = np.zeros(5000, np.int32)
    whole = content_hashes(frame_of(table), np.array(["c"]), y)
    expected = np.unique(whole)[:100]
    for size in (7, 1000, 5000):
        rows, sample = RNG.permutation(5000), ContentSample(100)
        for start in range(0, 5000, size):
            part = frame_of(table.iloc[rows[start : start + size]])
            sample.add(part, "y", np.array(["c"]), np.zeros(part.n_rows, np.int32), None)
        kept = sample.finish()
        assert np.array_equal(np.sort(sample._hashes), expected)
        counts = {h: (whole == h).sum() for h in expected}
        found = content_hashes(kept.table, np.array(["c"]), np.zeros(100, np.int32))
        assert [counts[h] for h in found] == kept.whole.weight.tolist()


def test_partial_fit_adds_files(tmp_path, small):
    table = make_table().drop(columns="weight")
    table.iloc[:2500].to_parquet(tmp_path / "a.parquet")
    table.iloc[2500:].to_csv(tmp_path / "b.csv.gz", index=False)
    given = {"x": "gaussian", "k": "poisson", "t": "categorical"}
    model = sr.NaiveBayes(given, calibrate=None).fit(tmp_path / "a.parquet", "label")
    model.partial_fit(str(tmp_path / "b.csv.gz"), "label")
    whole = sr.NaiveBayes(given, calibrate=None).fit(table, "label")
    np.testing.assert_allclose(scores(model, table), scores(whole, table), rtol=1e-12)
    first = sr.NaiveBayes().partial_fit(str(tmp_path / "a.parquet"), "label", classes=[0, 1])
    assert first.class_count_.sum() == 2500
    before = first.class_count_.copy()
    table.assign(label="other").to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        first.partial_fit(tmp_path / "c.parquet", "label")
    assert np.array_equal(first.class_count_, before)


def test_columns_that_are_left_out_are_not_read(tmp_path, monkeypatch):
    table = make_table().drop(columns="weight").assign(note=[{"a": 1}] * 4000)
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), tmp_path / "a.parquet")
    read = []
    original = pq.ParquetFile.iter_batches

    def iter_batches(self, *args, columns=None, **more):
        read.append(sorted(columns))
        return original(self, *args, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    model = sr.NaiveBayes({"note": None, "t": None}).fit(tmp_path / "a.parquet", "label")
    assert read == [["k", "label", "x"]]
    assert model.feature_names_in_.tolist() == ["x", "k", "t", "note"]
    model.predict(tmp_path / "a.parquet", to=tmp_path / "p.parquet")
    assert read[-1] == ["k", "x"]
    with pytest.raises((ValueError, TypeError), match="'note'"):
        sr.NaiveBayes().fit(tmp_path / "a.parquet", "label")


# Errors.


def test_errors_name_the_file_and_the_remedy(tmp_path):
    table = make_table(100).drop(columns="weight")
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    table.to_csv(a, index=False)
    fit = sr.NaiveBayes().fit
    with pytest.raises(FileNotFoundError, match="no such file"):
        fit(tmp_path / "none.csv", "label")
    with pytest.raises(FileNotFoundError, match="No file matches"):
        fit(str(tmp_path / "*.parquet"), "label")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileNotFoundError, match="no file of a known format: .parquet"):
        fit(tmp_path / "folder", "label")
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match="a.xlsx.*has no ending of a known format.*format="):
        fit(tmp_path / "a.xlsx", "label")
    with pytest.raises(ValueError, match="format is 'xml'; it must be one of"):
        sr.read_files(a, format="xml")
    with pytest.raises(ValueError, match="y is 'labl'.*Do you mean 'label'"):
        fit(a, "labl")
    with pytest.raises(ValueError, match="y is of type list, and X comes in batches"):
        fit(a, [0] * 100)
    table.rename(columns={"x": "X"}).to_csv(b, index=False)
    with pytest.raises(ValueError, match="b.csv: column 'x' is missing.*Is 'X' meant to be 'x'"):
        fit([a, b], "label")
    table.assign(more=1).to_csv(b, index=False)
    with pytest.raises(ValueError, match="b.csv: column 'more' is unknown"):
        fit([a, b], "label")
    table.assign(x="text").to_csv(b, index=False)
    with pytest.raises(ValueError, match="b.csv: column 'x' holds text, but numbers in .*a.csv.*types="):
        fit([a, b], "label")
    table.to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="several formats"):
        fit([a, tmp_path / "c.parquet"], "label")
    (tmp_path / "d.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="d.parquet: the file cannot be read as Parquet"):
        fit(tmp_path / "d.parquet", "label")
    (tmp_path / "e.csv").write_bytes(b"")
    with pytest.raises(ValueError, match="e.csv: the file is empty"):
        fit(tmp_path / "e.csv", "label")
    with pytest.raises(ValueError, match="on_bad_rows is 'ignore'"):
        fit(a, "label", on_bad_rows="ignore")
    with pytest.raises(ValueError, match="types and missing are for CSV"):
        sr.read_files(tmp_path / "c.parquet", missing=["?"])
    with pytest.raises(ValueError, match='unlabelled="em"'):
        sr.NaiveBayes(unlabelled="em").fit(a, "label")
    with pytest.raises(
        ValueError, match="a.csv, in the batch from row 0 on: .*not fractions: .* in column 'x'"
    ):
        sr.NaiveBayes({"x": "poisson", "k": "poisson", "t": "categorical"}, calibrate=None).fit(a, "label")
    with pytest.raises(ValueError, match="in a sample of the rows.*not fractions"):
        sr.NaiveBayes({"x": "poisson"}).fit(a, "label")


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,label\n1,2\n")

    def no_library(name):
        raise ImportError(name)

    monkeypatch.setattr(batches, "import_module", no_library)
    with pytest.raises(ImportError, match="extra 'files' of sunrise.*pip install pyarrow duckdb"):
        sr.NaiveBayes().fit(tmp_path / "a.csv", "label")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz"])
@pytest.mark.parametrize("line", [2, 777, 40_000])
def test_a_bad_row_is_an_error_or_skipped(tmp_path, ending, line):
    sep = "\t" if ending == "tsv" else ","
    n, is_json = 45_000, "json" in ending
    good = json.dumps({"x": 1.5, "t": "u", "label": "a"}) if is_json else sep.join(("1.5", "u", "a"))
    rows = [
        good,
        good.replace("1.5", "2").replace("a", "b", 1) if not is_json else good.replace('"a"', '"b"'),
    ]
    lines = ([] if is_json else [sep.join(("x", "t", "label"))]) + [rows[k % 2] for k in range(n)]
    path = tmp_path / f"bad.{ending}"

    def put(text):
        lines_of_file = list(lines)
        lines_of_file[line - 1] = text
        data = ("\n".join(lines_of_file) + "\n").encode()
        path.write_bytes(gzip.compress(data, 1) if ending.endswith("gz") else data)

    broken = ['{"x": 1.5, "t": '] if is_json else [sep.join(("1.5", "u")), sep.join("123456")]
    if line > 20_480:  # the first rows decide the types
        broken.append(good.replace("1.5", '"?"' if is_json else "?"))
    for text in broken:
        put(text)
        with pytest.raises(ValueError, match=rf'bad\.{ending}: line {line}\b.*on_bad_rows="skip"'):
            sr.NaiveBayes().fit(path, "label")
        with pytest.warns(sr.SkippedRowsWarning, match="1 rows in 1 files .*: 1 in .*bad"):
            model = sr.NaiveBayes().fit(path, "label", on_bad_rows="skip")
        assert model.class_count_.sum() == n - 1
    if not is_json:
        return
    put(json.dumps({"x": 1.5, "t": "u", "label": None}))
    with pytest.raises(ValueError, match="bad.*the label in row .* is missing"):
        sr.NaiveBayes().fit(path, "label")
    with pytest.warns(sr.SkippedRowsWarning, match="1 rows"):
        model = sr.NaiveBayes().fit(sr.read_files(path, on_bad_rows="skip"), "label")
    assert model.class_count_.sum() == n - 1
    with pytest.raises(ValueError, match="would leave rows without a prediction"):
        model.predict(sr.read_files(path, on_bad_rows="skip"), to=tmp_path / "p.csv")


def test_fractions_late_in_a_column_of_integers_are_not_rounded(tmp_path):
    # DuckDB rounds 1.5 to 2 where it expects integers.
    n = 30_000
    cells = [str(1 + k // 2 % 2 * 2) for k in range(n)]  # 1, 1, 3, 3, ...
    cells[-1] = "1.5"
    path = tmp_path / "a.csv"
    path.write_text("x,label\n" + "".join(f"{x},{k % 2}\n" for k, x in enumerate(cells)))
    model = sr.NaiveBayes({"x": "gaussian"}, calibrate=None, estimate="mle").fit(path, "label")
    assert model.classes_.tolist() == [0, 1] and model.classes_.dtype.kind == "i"
    assert model.parameters_["x"]["mean"][1] == pytest.approx(2 - 1.5 / (n / 2), rel=1e-12)


def test_a_bad_line_about_an_interruption_is_a_bad_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,label\n" + "u,0\nv,1\n" * 50 + "Interrupted,1,2\n")
    with pytest.raises(ValueError, match="line 102"):
        sr.NaiveBayes().fit(path, "label")


def test_delimiters_types_and_missing_marks(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "zip;x;label\n" + "".join(f"{k % 5:05d};{k if k % 7 else '?'};{k % 2}\n" for k in range(700))
    )
    model = sr.NaiveBayes().fit(sr.read_files(path, missing=["?"], types={"zip": "text"}), "label")
    kinds = {
        name: choice.kind for name, choice in zip(model.schema_.names, model.schema_.choices, strict=True)
    }
    assert kinds == {"zip": "level", "x": "number"}
    with pytest.raises(ValueError, match="types names a column 'zap'"):
        sr.NaiveBayes().fit(sr.read_files(path, types={"zap": "text"}), "label")
    with pytest.raises(ValueError, match="it must be one of"):
        sr.read_files(path, types={"zip": "int"})


def test_a_shard_without_cells_of_a_column_fits_the_others(tmp_path):
    (tmp_path / "a.csv").write_text("x,t,label\n" + ",,0\n" * 50)
    (tmp_path / "b.csv").write_text("t,x,label\n" + "".join(f"u,{k},1\n" for k in range(50)))
    model = sr.NaiveBayes(calibrate=None).fit(tmp_path, "label")
    assert model.schema_.choices[0].kind == "number" and model.class_count_.tolist() == [50, 50]
