"""A model that was saved and loaded predicts the same bits, whatever the model."""

from __future__ import annotations

import pickle
import subprocess
import sys

import model_zoo
import numpy as np
import pytest
import sunrise as sr
from sunrise.estimators import saving
from sunrise.estimators.base import FITTED_STATE

ONE_OF_EACH = model_zoo.one_of_each()
SETTINGS = model_zoo.settings()

pytestmark = pytest.mark.filterwarnings("ignore")  # small models have reasons to warn


def same(model, loaded, rows) -> None:
    assert np.array_equal(loaded.classes_, model.classes_) and loaded.classes_.dtype == model.classes_.dtype
    for predict in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        assert getattr(loaded, predict)(rows).tobytes() == getattr(model, predict)(rows).tobytes()
    assert repr(loaded) == repr(model)
    assert loaded.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_loaded_model_predicts_the_same_bits(name, tmp_path):
    model, rows = ONE_OF_EACH[name]()
    model.save(tmp_path / "m.sunrise")
    loaded = sr.load(tmp_path / "m.sunrise")
    same(model, loaded, rows)
    same(model, sr.load(tmp_path / "m.sunrise", mmap=True), rows)
    for name in ("loo_score_", "em_"):
        assert repr(getattr(loaded, name, None)) == repr(getattr(model, name, None))


#: Models of words that have no posterior mode, or no posterior to integrate over.
REFUSED = {
    "map": ("odds", "dirichlet_multinomial"),
    "predictive": ("odds", "complement", "dirichlet_multinomial"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_all_families_estimates_and_calibrations(name):
    *family, estimate, _ = name.split()
    if family[0] == "text" and family[1] in REFUSED.get(estimate, ()):
        with pytest.raises(
            ValueError, match=f"estimate of TextNB with the model '{family[1]}' is '{estimate}'"
        ):
            SETTINGS[name]()
        return
    model, rows = SETTINGS[name]()
    same(model, sr.load(b"".join(model._pieces())), rows)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_saving_twice_gives_the_same_file(name):
    data = b"".join(ONE_OF_EACH[name]()[0]._pieces())
    assert b"".join(sr.load(data)._pieces()) == data


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_loaded_model_is_pickled_and_copied(name):
    model, rows = ONE_OF_EACH[name]()
    loaded = sr.load(b"".join(model._pieces()))
    same(model, pickle.loads(pickle.dumps(loaded)), rows)
    same(model, pickle.loads(pickle.dumps(model)), rows)


def test_another_process_predicts_the_same_bits(tmp_path):
    names = list(ONE_OF_EACH)
    for k, name in enumerate(names):
        model, rows = ONE_OF_EACH[name]()
        model.save(tmp_path / f"{k}.sunrise")
        (tmp_path / f"{k}.bits").write_bytes(model.predict_proba(rows).tobytes())
        (tmp_path / f"{k}.rows").write_bytes(pickle.dumps(rows))
    script = f"""
import pickle, sys, warnings
from pathlib import Path
import sunrise as sr
from sunrise.estimators import saving
from sunrise.estimators.base import FITTED_STATE
warnings.simplefilter("ignore")
for k in range({len(names)}):
    path = Path(sys.argv[1])
    rows = pickle.loads((path / f"{{k}}.rows").read_bytes())
    bits = sr.load(path / f"{{k}}.sunrise").predict_proba(rows).tobytes()
    assert bits == (path / f"{{k}}.bits").read_bytes(), k
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)


def updatable(name: str) -> bool:
    return name not in ("given parameters", "em", "selected")


@pytest.mark.parametrize("name", [name for name in model_zoo.SPECIAL if updatable(name) and name != "sparse"])
def test_a_loaded_model_learns_on(name, tmp_path):
    model, rows = ONE_OF_EACH[name]()
    loaded = sr.load(model.save(tmp_path / "m.sunrise") and tmp_path / "m.sunrise")
    n = len(next(iter(rows.values()))) if isinstance(rows, dict) else len(rows)
    y = np.resize(model.classes_, n)
    for one in (model, loaded):
        one.partial_fit(rows, y)
    same(model, loaded, rows)
    for one in (model, loaded):
        one.forget(rows, y, since=one.decay_factor_)
    same(model, loaded, rows)
    same(model + model, loaded + loaded, rows)


def test_frames_come_back_in_their_types(tmp_path):
    import pandas as pd
    import polars as pl

    table = {k: v for k, v in model_zoo.table().items() if k != "words"}
    for frame in (
        pd.DataFrame(table),
        pl.DataFrame(table).with_columns(pl.col("level").cast(pl.Categorical)),
    ):
        model = sr.NaiveBayes().fit(frame, model_zoo.Y)
        model.save(tmp_path / "m.sunrise")
        drawn, again = (m.sample(9, random_state=1)[0] for m in (model, sr.load(tmp_path / "m.sunrise")))
        assert drawn.equals(again) and type(drawn) is type(again) is type(frame)


def test_labels_that_a_file_cannot_hold_are_refused():
    y = np.empty(90, dtype=object)
    y[:] = [("a", 1) if label == "no" else ("b", 2) for label in model_zoo.Y]
    model = sr.NaiveBayes().fit({"x": np.arange(90.0)}, y)
    with pytest.raises(TypeError, match=r"class label \('a', 1\) is of type tuple.*Convert them.*pickle"):
        model.save("nowhere.sunrise")


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps_come_back(zone):
    import pandas as pd

    days = pd.to_datetime(["2026-01-01", "2026-01-02T00:00:00.000000001"], format="ISO8601").tz_localize(zone)
    y = np.empty(90, dtype=object)
    y[:] = [days[int(label == "no")] for label in model_zoo.Y]
    model = sr.NaiveBayes().fit({"x": np.arange(90.0)}, y)
    loaded = sr.load(b"".join(model._pieces()))
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.predict({"x": [3.0]})[0] == model.predict({"x": [3.0]})[0]


def test_settings_that_a_file_cannot_hold_are_refused(tmp_path):
    class Own(str):
        pass

    model = sr.NaiveBayes({"words": None}).fit(model_zoo.table(), model_zoo.Y)
    model.class_weight = {"no": 3.0, Own("yes"): 1.0}
    with pytest.raises(
        TypeError, match="a key of class_weight= is of type Own, which a model file cannot hold"
    ):
        model.save(tmp_path / "m.sunrise")
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        sr.NaiveBayes().save(tmp_path / "m.sunrise")


@pytest.mark.parametrize("families", ["auto", {("count", "more"): "multinomial", "words": None}])
def test_skops_loads_a_model(families):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    rows = {**model_zoo.table(), "more": model_zoo.table()["count"]}
    model = sr.NaiveBayes(families).fit(rows, model_zoo.Y)
    data = skops.dumps(model)
    same(model, skops.loads(data, trusted=skops.get_untrusted_types(data=data)), rows)


def test_every_fitted_attribute_is_saved():
    """An attribute that fit sets must be stored, or be one that has its own part in the file."""
    own_parts = {"stats_", "classes_", "_model", "_given_schema"}
    assert set(saving._ATTRIBUTES) == set(FITTED_STATE) - own_parts


def test_a_pickle_holds_the_statistics_once():
    model = sr.TextNB(class_weight="balanced").fit(
        [f"w{k} w{k + 1}" for k in range(3000)], np.arange(3000) % 3
    )
    assert len(pickle.dumps(model)) < 1.2 * len(pickle.dumps(model.stats_))


def test_a_family_of_fixed_families_stays_lenient():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 3000)
    amounts = {"amount": rng.gamma(2.0 + 2 * y)}
    chosen = sr.NaiveBayes().fit(amounts, y).fixed_families_
    assert chosen["amount"].lenient
    model = sr.NaiveBayes(chosen, calibrate=None).fit(amounts, y)
    loaded = sr.load(b"".join(model._pieces()))
    assert loaded.families["amount"].lenient
    assert loaded.predict({"amount": [-1.0]}).shape == (1,)
    sent = sr.Accumulator.from_bytes(sr.Accumulator(model.schema_).to_bytes())
    assert sent.update({"amount": [0.0, 1.0]}, [0, 1]).stats.rows.tolist() == [1, 1]
