"""Predictions of files: written batch by batch, and never by halves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
import sunrise as sr
from sunrise.streams import batches, files_arrow, files_text

RNG = np.random.default_rng(8)

READERS = {
    ".parquet": pd.read_parquet,
    ".arrow": lambda path: pyarrow.feather.read_table(path).to_pandas(),
    ".csv": pd.read_csv,
    ".csv.gz": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".jsonl": lambda path: pd.read_json(path, lines=True),
}


def make_table(n: int) -> pd.DataFrame:
    y = RNG.integers(0, 2, n)
    town = np.array(["u", "v", None], object)[RNG.integers(0, 3, n)]
    return pd.DataFrame({"x": RNG.normal(y, 1.0), "town": town, "kind": np.array(["no", "yes"], object)[y]})


@pytest.mark.parametrize("ending", READERS)
def test_predictions_of_files_are_those_of_the_rows(tmp_path, ending, monkeypatch):
    for module in (batches, files_arrow, files_text):
        monkeypatch.setattr(module, "BATCH", 300)
    table = make_table(1500)
    table.iloc[:900].to_csv(tmp_path / "a.csv", index=False)
    table.iloc[900:].drop(columns="kind").assign(kind=None).to_csv(tmp_path / "b.csv", index=False)
    model = sr.NaiveBayes().fit(table, "kind")
    paths, to = [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / f"out{ending}"
    rows = table.drop(columns="kind")
    assert model.predict(paths, to=to) == 1500
    found = READERS[ending](to)
    assert list(found) == ["kind"] and found["kind"].tolist() == model.predict(rows).tolist()
    assert model.predict_proba(str(tmp_path / "[ab].csv"), to=str(to)) == 1500
    found = READERS[ending](to)
    assert list(found) == ["kind", "no", "yes"]
    np.testing.assert_allclose(found[["no", "yes"]].to_numpy(), model.predict_proba(rows), rtol=1e-9)
    assert sorted(os.listdir(tmp_path)) == sorted(["a.csv", "b.csv", f"out{ending}"])


def test_predictions_of_other_sources(tmp_path):
    table = make_table(50)
    model = sr.NaiveBayes().fit(table, "kind")
    rows = table.drop(columns="kind")
    assert model.predict(iter([rows, rows]), to=tmp_path / "p.csv") == 100
    named = sr.NaiveBayes().fit(table.rename(columns={"kind": "yes"}), "yes")
    named.predict_proba([rows], to=tmp_path / "p.csv")
    assert list(pd.read_csv(tmp_path / "p.csv")) == ["predicted yes", "no", "yes"]


def test_errors_of_predictions(tmp_path):
    table = make_table(50)
    path = tmp_path / "a.csv"
    table.to_csv(path, index=False)
    model = sr.NaiveBayes().fit(table, "kind")
    for method in ("predict", "predict_proba"):
        with pytest.raises(
            ValueError, match=rf'Name a file for them: {method}\(X, to="predictions.parquet"\)'
        ):
            getattr(model, method)(path)
    with pytest.raises(ValueError, match="but X is a DataFrame"):
        model.predict(table, to=tmp_path / "p.csv")
    with pytest.raises(ValueError, match="no ending of a known format"):
        model.predict(path, to=tmp_path / "p.xls")
    with pytest.raises(ValueError, match="is compressed inside"):
        model.predict(path, to=tmp_path / "p.parquet.gz")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model.predict(path, to=tmp_path / "none" / "p.csv")
    assert sr.GaussianNB().fit(table[["x"]], table["kind"]).predict(path, to=tmp_path / "p.csv") == 50
    (tmp_path / "p.csv").write_text("old")
    path.write_text(path.read_text() + "1,2\n")
    with pytest.raises(ValueError, match="a.csv: line 52"):
        model.predict(path, to=tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == "old" and len(os.listdir(tmp_path)) == 2


_PREDICT = """
import sys
import sunrise as sr
from sunrise.streams import batches, files_arrow
batches.BATCH = files_arrow.BATCH = 100
model = sr.load(sys.argv[1])
print("begin", flush=True)
model.predict_proba([sys.argv[2]] * 30, to=sys.argv[3])
print("end", flush=True)
"""


@pytest.mark.slow
def test_an_interrupt_leaves_no_file(tmp_path):
    table = make_table(5000)
    table.to_parquet(tmp_path / "a.parquet")
    sr.NaiveBayes().fit(table, "kind").save(tmp_path / "m.sunrise")
    for ending in ("parquet", "csv", "jsonl"):
        (tmp_path / "out").mkdir()
        names = [str(tmp_path / name) for name in ("m.sunrise", "a.parquet", f"out/p.{ending}")]
        with subprocess.Popen(
            [sys.executable, "-c", _PREDICT, *names],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout.readline() == "begin\n"
            for _ in range(200):
                if os.listdir(tmp_path / "out"):  # the temporary file
                    break
                time.sleep(0.01)
            time.sleep(RNG.uniform(0.0, 0.2))
            process.send_signal(signal.SIGINT)
            output, error = process.communicate()
        assert "end" not in output and "KeyboardInterrupt" in error and process.returncode != 0
        assert os.listdir(tmp_path / "out") == []
        (tmp_path / "out").rmdir()


_MEMORY = """
import sys
import pyarrow as pa
import pyarrow.parquet as pq
import sunrise as sr

def peak():
    with open("/proc/self/status") as status:
        return next(int(row.split()[1]) * 1024 for row in status if row.startswith("VmHWM"))

path, kind = sys.argv[1:]
sr.NaiveBayes().fit({"x": [1.0, 2.0, 3.0, 4.0]}, [0, 1, 0, 1])  # imports
if kind == "read":
    texts = ["t0", "t1"]
    for batch in pq.ParquetFile(path, read_dictionary=texts).iter_batches(250_000):
        pass
else:
    sr.NaiveBayes().fit(path, "label")
print(peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs the peak size of a process")
def test_the_memory_of_a_fit_is_that_of_a_few_batches(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, path = 2_000_000, tmp_path / "a.parquet"
    y = RNG.integers(0, 2, n)
    columns = {f"x{j}": RNG.normal(y * j / 10, 1.0) for j in range(8)}
    words = [f"w{k}" for k in range(50)]
    columns |= {f"t{j}": pa.DictionaryArray.from_arrays(RNG.integers(0, 50, n), words) for j in range(2)}
    pq.write_table(pa.table({**columns, "label": y}), path, row_group_size=250_000)
    del columns
    commands = [[sys.executable, "-c", _MEMORY, str(path), kind] for kind in ("read", "fit")]
    peaks = [int(subprocess.run(c, capture_output=True, text=True, check=True).stdout) for c in commands]
    assert peaks[1] - peaks[0] < 200e6, [p / 1e6 for p in peaks]
