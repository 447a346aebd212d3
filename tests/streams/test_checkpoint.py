"""Checkpoints: a fit that is killed at any moment resumes, and the result has the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sunrise.store.files import write_atomically
from sunrise.streams import batches, checkpoint, files_arrow, files_text

RNG = np.random.default_rng(5)

_FIT = """
import sys
import sunrise as sr
from sunrise.estimators import source_fit
from sunrise.store.files import write_atomically
from sunrise.streams import batches, checkpoint, files_arrow, files_text
checkpoint.SECONDS = 0.0
source_fit.SAMPLED = 1000
for module in (batches, files_arrow, files_text):
    module.BATCH = 300
kind, folder, saved, out = sys.argv[1:]
families = {"x": "gaussian", "k": "poisson", "t": "categorical"} if kind == "one pass" else "auto"
model = sr.NaiveBayes(families, calibrate=None if kind == "one pass" else "auto")
print("begin", flush=True)
model.fit(folder, y="label", checkpoint=saved).save(out)
"""


def write_shards(folder, n_files: int = 3, n: int = 4000, ending: str = "parquet") -> None:
    for k in range(n_files):
        y = RNG.integers(0, 2, n)
        table = pd.DataFrame(
            {
                "x": RNG.normal(y / 3.0, 1.0),
                "k": RNG.poisson(2.0 + y),
                "t": np.array(["u", "v", "w"], object)[RNG.integers(0, 3, n)],
                "label": np.where(y, "yes", "no"),
            }
        )
        path = folder / f"part{k}.{ending}"
        if ending == "parquet":
            table.to_parquet(path)
        else:
            table.to_csv(path, index=False)


def start(kind: str, folder, saved, out) -> subprocess.Popen:
    command = [sys.executable, "-c", _FIT, kind, str(folder), str(saved), str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "kind, ending", [("one pass", "parquet"), ("two passes", "parquet"), ("two passes", "csv")]
)
@pytest.mark.slow
def test_a_killed_fit_resumes_with_the_same_bits(tmp_path, kind, ending):
    folder, saved = tmp_path / "data", tmp_path / "fit.checkpoint"
    folder.mkdir()
    write_shards(folder, ending=ending)
    began = time.monotonic()
    with start(kind, folder, saved, tmp_path / "whole.sunrise") as process:
        assert process.wait() == 0
    whole = time.monotonic() - began
    for _ in range(60):
        process = start(kind, folder, saved, tmp_path / "resumed.sunrise")
        process.stdout.readline()
        try:
            process.wait(RNG.uniform(0.1, 0.9) * whole)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.stdout.close()
        if process.wait() == 0:
            break
    else:
        pytest.fail("the fit made no progress")
    assert (tmp_path / "resumed.sunrise").read_bytes() == (tmp_path / "whole.sunrise").read_bytes()
    # A kill while the model is saved may leave a temporary file of the model, but none of the checkpoint.
    assert not [name for name in os.listdir(tmp_path) if saved.name in name]


def test_temporary_files_of_a_killed_save_are_removed(tmp_path):
    folder, saved = tmp_path / "data", tmp_path / "fit.checkpoint"
    folder.mkdir()
    write_shards(folder, n_files=1, n=100)

    def pieces():
        """Yield one piece; keep the temporary file under a second name, as a kill would leave it."""
        yield b"a piece"
        (temporary,) = set(tmp_path.iterdir()) - {folder}
        os.link(temporary, temporary.with_name(temporary.name.replace(".tmp", "0.tmp")))

    write_atomically(saved, pieces())
    saved.unlink()
    assert len(os.listdir(tmp_path)) == 2
    sr.NaiveBayes("auto-fast").fit(folder, y="label", checkpoint=saved)
    assert os.listdir(tmp_path) == ["data"]


class Stop(Exception):
    pass


@pytest.mark.parametrize("families", ["auto", {"x": "gaussian", "k": "poisson", "t": "categorical"}])
def test_a_fit_resumes_after_every_batch(tmp_path, families, monkeypatch):
    from sunrise.estimators import source_fit

    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(source_fit, "SAMPLED", 500)
    for module in (batches, files_arrow, files_text):
        monkeypatch.setattr(module, "BATCH", 200)
    folder = tmp_path / "data"
    folder.mkdir()
    write_shards(folder, n_files=2, n=700)
    settings = {"calibrate": None if isinstance(families, dict) else "auto"}
    whole = sr.NaiveBayes(families, **settings).fit(folder, y="label")
    saved = tmp_path / "fit.checkpoint"
    original, n_stops = checkpoint.Checkpoint.save, 0

    def save_twice_and_stop(self, state, saves=[0]):  # noqa: B006 - counts the calls
        # The first call of a resumed fit saves the state that it began with; the second one is one batch later.
        original(self, state)
        saves[0] += 1
        if saves[0] % 2 == 0:
            raise Stop

    monkeypatch.setattr(checkpoint.Checkpoint, "save", save_twice_and_stop)
    for _ in range(40):
        model = sr.NaiveBayes(families, **settings)
        try:
            model.fit(folder, y="label", checkpoint=saved)
            break
        except Stop:
            n_stops += 1
            assert saved.exists() and not hasattr(model, "classes_")
    assert n_stops >= 3 and not saved.exists()
    model.save(tmp_path / "a.sunrise")
    whole.save(tmp_path / "b.sunrise")
    assert (tmp_path / "a.sunrise").read_bytes() == (tmp_path / "b.sunrise").read_bytes()


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(batches, "BATCH", 200)
    folder, saved = tmp_path / "data", tmp_path / "fit.checkpoint"
    folder.mkdir()
    write_shards(folder, n_files=1, n=900)
    original = checkpoint.Checkpoint.save

    def save_and_stop(self, state):
        original(self, state)
        raise Stop

    monkeypatch.setattr(checkpoint.Checkpoint, "save", save_and_stop)
    with pytest.raises(Stop):
        sr.NaiveBayes().fit(folder, y="label", checkpoint=saved)
    with pytest.raises(ValueError, match="another fit: the arguments of the model"):
        sr.NaiveBayes(estimate="mle").fit(folder, y="label", checkpoint=saved)
    with pytest.raises(ValueError, match="another fit: the options for reading"):
        sr.NaiveBayes().fit(folder, y="label", checkpoint=saved, on_bad_rows="skip")
    write_shards(folder, n_files=1, n=901)
    with pytest.raises(
        ValueError, match="another fit: the files, their sizes or their times differ.*delete the file"
    ):
        sr.NaiveBayes().fit(folder, y="label", checkpoint=saved)
    saved.write_bytes(b"nonsense")
    with pytest.raises(sr.ModelFileError, match="fit.checkpoint"):
        sr.NaiveBayes().fit(folder, y="label", checkpoint=saved)


def test_a_checkpoint_needs_files():
    table = {"x": [1.0, 2.0], "label": ["a", "b"]}
    with pytest.raises(ValueError, match="checkpoint= are for files"):
        sr.NaiveBayes().fit(table, "label", checkpoint="c")
    with pytest.raises(ValueError, match="checkpoint= is for files"):
        sr.NaiveBayes().fit([pd.DataFrame(table)], "label", checkpoint="c")
