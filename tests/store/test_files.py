"""Saving is atomic: a crash or a full disk leaves the old file whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import model_zoo
import numpy as np
import pytest
import sunrise as sr

pytestmark = pytest.mark.filterwarnings("ignore")

WRITER = """
import sys, warnings
import numpy as np
import sunrise as sr
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
models = [sr.KernelNB().fit(rng.normal(size=(20_000, 5)) + k, np.arange(20_000) % 2) for k in range(2)]
models[0].save(sys.argv[1])
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_file(tmp_path):
    path, rng = tmp_path / "m.sunrise", random.Random(0)
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"ready\n"
        for _ in range(5):  # the file is whole at every moment
            time.sleep(rng.random() * 0.03)
            assert sr.load(path).predict(np.zeros((1, 5))).shape == (1,)
        time.sleep(rng.random() * 0.03)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert sr.load(path).predict(np.zeros((1, 5))).shape == (1,)


FULL_DISK = """
import resource, signal, sys
import sunrise as sr
model = sr.load(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    model.save(sys.argv[1])
except OSError as error:
    print("refused", error.errno)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file sizes are limited on Unix only")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.sunrise"
    model, _ = model_zoo.one_of_each()["default"]()
    model.save(path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refused")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.sunrise"]


def test_a_file_is_replaced_while_another_model_reads_it(tmp_path):
    path = tmp_path / "m.sunrise"
    (a, rows), (b, _) = (model_zoo.one_of_each()[name]() for name in ("default", "class prior"))
    a.save(path)
    loaded = sr.load(path, mmap=True)  # a memory map of the old file
    b.save(path)
    assert np.array_equal(loaded.predict_proba(rows), a.predict_proba(rows))
    assert np.array_equal(sr.load(path).predict_proba(rows), b.predict_proba(rows))


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    model = model_zoo.one_of_each()["default"]()[0]
    with pytest.raises(FileNotFoundError, match="nowhere' does not exist. Create it"):
        model.save(tmp_path / "nowhere" / "m.sunrise")
    with pytest.raises(IsADirectoryError, match="is a folder. Add the name of a file"):
        model.save(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions and links")
def test_a_replaced_file_keeps_its_permissions_and_links(tmp_path):
    model, path, link = model_zoo.one_of_each()["default"]()[0], tmp_path / "m.sunrise", tmp_path / "latest"
    model.save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    before = path.stat().st_ino
    model.save(link)
    assert path.stat().st_mode & 0o777 == 0o600 and link.is_symlink() and path.stat().st_ino != before


def test_a_file_that_is_overwritten_does_not_disturb_a_loaded_model(tmp_path):
    path = tmp_path / "m.sunrise"
    model, rows = model_zoo.one_of_each()["TextNB odds"]()
    model.save(path)
    loaded = sr.load(path)
    path.write_bytes(b"short")
    assert np.array_equal(loaded.predict_proba(rows), model.predict_proba(rows))


def test_a_file_is_inspected_without_its_arrays(tmp_path):
    path = tmp_path / "m.sunrise"
    model = sr.NaiveBayes({"words": None}).fit(model_zoo.table(), model_zoo.Y)
    model.save(path)
    seen = sr.inspect(path)
    assert seen.estimator == "NaiveBayes" and seen.arguments == {"families": {"words": None}}
    assert seen.classes == dict(zip(*np.unique(model_zoo.Y, return_counts=True), strict=True))
    assert (
        seen.columns["words"] == (None, "left out by the user") and seen.columns["level"][0] == "categorical"
    )
    assert seen.n_bytes == path.stat().st_size and seen.kept_rows == 0 and seen.score == str(model.loo_score_)
    assert "90 rows, 6 columns, 3 classes, calibrated by columns" in str(seen)


def test_inspection_tells_which_training_data_a_file_holds(tmp_path):
    for name, kept, values in (("stream", 40, []), ("kernel", 0, [0, 1, 2])):
        model_zoo.one_of_each()[name]()[0].save(tmp_path / "m.sunrise")
        seen = sr.inspect(tmp_path / "m.sunrise")
        assert seen.kept_rows == kept and (not values or seen.kept_values == values)
        assert "training" in str(seen)
