"""Files: every format gives the same model as the same rows in memory."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import sunrise as sr
from sunrise.streams import batches, files_arrow, files_text

RNG = np.random.default_rng(11)


TOWNS = np.array(["Ulm", "Bonn", 'a "quoted", one', "Zürich"], object)
GIVEN = {
    "height": "gaussian",
    "visits": "poisson",
    "town": "categorical",
    "member": "bernoulli",
    "amount": "gaussian",
}


def make_table(n: int = 3000) -> pd.DataFrame:
    """Return a mixed table with missing cells."""
    y = RNG.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "height": RNG.normal(170 + 5 * y, 7.0),
            "visits": RNG.poisson(2.0 + y).astype(float),
            "town": TOWNS[(RNG.random(n) * (2 + y / 2)).astype(int)],
            "member": RNG.random(n) < 0.2 + 0.2 * y,
            "amount": np.exp(RNG.normal(0.3 * y, 1.0)),
            "label": np.array(["red", "green", "blue"], object)[y],
        }
    )
    for name, share in (("height", 0.1), ("town", 0.05), ("amount", 0.02)):
        table.loc[RNG.random(n) < share, name] = None
    return table


def write(table: pd.DataFrame, path) -> None:
    """Write a table in the format of the file name."""
    name, arrow = path.name, pa.Table.from_pandas(table, preserve_index=False)
    compression = {"gz": "gzip", "zst": "zstd"}.get(name.rsplit(".", 1)[1])
    if name.endswith(".parquet"):
        pq.write_table(arrow, path, row_group_size=700)
        return
    if name.endswith(".feather"):
        pa.feather.write_feather(arrow, path, compression="zstd", chunksize=400)
        return
    with pa.OSFile(str(path), "wb") as raw:
        file = raw if compression is None else pa.CompressedOutputStream(raw, compression)
        if ".arrow" in name:
            maker = pa.ipc.new_stream if compression or name.endswith(".arrows") else pa.ipc.new_file
            with maker(file, arrow.schema) as writer:
                writer.write_table(arrow, max_chunksize=333)
        elif ".jsonl" in name:
            rows = (
                json.dumps({k: None if v != v else v for k, v in row.items()}) for row in arrow.to_pylist()
            )
            file.write(("\n".join(rows) + "\n").encode())
        else:
            text = table.to_csv(index=False, sep="\t" if ".tsv" in name else ",")
            file.write(text.encode())
        if compression is not None:
            file.close()


def families_of(model) -> list:
    return [
        (name, choice.family) for name, choice in zip(model.schema_.names, model.schema_.choices, strict=True)
    ]


def assert_same(one, other, X=None) -> None:
    """Two models have the same families, the same counts, and the same statistics to 1e-12."""
    assert [(n, None if f is None else f.name) for n, f in families_of(one)] == [
        (n, None if f is None else f.name) for n, f in families_of(other)
    ]
    assert one.classes_.tolist() == other.classes_.tolist()
    assert np.array_equal(one.class_count_, other.class_count_)
    if X is not None:
        np.testing.assert_allclose(
            one.predict_joint_log_proba(X), other.predict_joint_log_proba(X), rtol=1e-11, atol=1e-11
        )


NAMES = [
    "a.parquet",
    "a.feather",
    "a.arrow",
    "a.arrows",
    "a.arrows.gz",
    "a.arrows.zst",
    *(f"a.{kind}{ending}" for kind in ("csv", "tsv", "jsonl") for ending in ("", ".gz", ".zst")),
]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_model_of_the_rows_in_memory(tmp_path, name, monkeypatch):
    for module in (batches, files_arrow, files_text):
        monkeypatch.setattr(module, "BATCH", 512)
    table = make_table()
    write(table, tmp_path / name)
    model = sr.NaiveBayes().fit(str(tmp_path / name), y="label")
    expected = sr.NaiveBayes().fit(table, y="label")
    assert_same(model, expected, table.drop(columns="label").head(200))
    one_pass = sr.NaiveBayes(GIVEN, calibrate=None, estimate="mle").fit(tmp_path / name, y="label")
    expected = sr.NaiveBayes(GIVEN, calibrate=None, estimate="mle").fit(table, y="label")
    assert_same(one_pass, expected, table.drop(columns="label").head(200))
    # Sums in rational numbers.
    for label, rows in table.groupby("label"):
        cells = [Fraction(x) for x in rows["height"].dropna()]
        mean = sum(cells) / len(cells)
        sd = math.sqrt(sum((x - mean) ** 2 for x in cells) / len(cells))
        found = one_pass.parameters_["height"]
        k = one_pass.classes_.tolist().index(label)
        assert found["mean"][k] == pytest.approx(float(mean), rel=1e-12)
        assert found["sd"][k] == pytest.approx(sd, rel=1e-12)
        for town, n in rows["town"].value_counts().items():
            share = one_pass.parameters_["town"][town][k]
            assert share == pytest.approx(n / rows["town"].count(), rel=1e-12)


def test_words_that_stand_for_booleans_stay_words(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("a,b,c,y\n" + "yes,t,true,yes\nno,f,False,no\n,t,TRUE,no\n" * 9)
    assert sr.read_files(path).columns[0] == {"a": "text", "b": "text", "c": "bool", "y": "text"}
    model = sr.NaiveBayes().fit(path, y="y")
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.parameters_["a"]) >= {"yes", "no"}
