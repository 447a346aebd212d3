"""Accumulators: statistics that workers add up are those of one fit."""

from __future__ import annotations

import subprocess
import sys

import model_zoo
import numpy as np
import pytest
import sunrise as sr
from sunrise.families.base import FAMILIES

pytestmark = pytest.mark.filterwarnings("ignore")

Y = model_zoo.Y
PARTS = [np.arange(90)[k::4] for k in range(4)]


def part_of(rows, part):
    if isinstance(rows, dict):
        return {name: [column[k] for k in part] for name, column in rows.items()}
    return [rows[k] for k in part] if isinstance(rows, list) else rows[part]


def same(a, b, rows):
    np.testing.assert_allclose(
        a.predict_joint_log_proba(rows), b.predict_joint_log_proba(rows), rtol=1e-10, atol=1e-10
    )


CASES = {family: lambda family=family: model_zoo.cells(family) for family in FAMILIES if family != "text"}


def distributed(schema, rows, y=Y, weight=None):
    """The sum of four accumulators, each sent as bytes."""
    total = 0
    for part in PARTS:
        own = None if weight is None else weight[part]
        sent = sr.Accumulator(schema).update(part_of(rows, part), y[part], own).to_bytes()
        total = total + sr.Accumulator.from_bytes(sent)
    return total


@pytest.mark.parametrize("family", CASES)
def test_workers_add_up_to_one_fit(family):
    rows = CASES[family]()
    weight = 1.0 + np.arange(90) % 3
    fitted = sr.NaiveBayes(family, calibrate=None).fit(rows, Y, weight)
    model = distributed(fitted.schema_, rows, weight=weight).model(sr.NaiveBayes(family, calibrate=None))
    assert np.array_equal(model.class_count_, fitted.class_count_)
    same(model, fitted, rows)


def test_a_table_with_columns_of_all_types():
    rows = model_zoo.table()
    fitted = sr.NaiveBayes(calibrate=None).fit(rows, Y)
    same(distributed(fitted.schema_, rows).model(sr.NaiveBayes(calibrate=None)), fitted, rows)


def test_texts():
    fitted = sr.TextNB(calibrate=None).fit(model_zoo.TEXTS, Y)
    model = distributed(fitted.schema_, model_zoo.TEXTS).model(sr.TextNB(calibrate=None))
    same(model, fitted, model_zoo.TEXTS)


def test_subtracting_undoes_an_update():
    rows = model_zoo.table()
    schema = sr.NaiveBayes().fit(rows, Y).schema_
    one, rest = sr.Accumulator(schema), sr.Accumulator(schema)
    one.update(part_of(rows, PARTS[0]), Y[PARTS[0]])
    others = np.concatenate(PARTS[1:])
    two = sr.Accumulator(schema).update(rows, Y) - rest.update(part_of(rows, others), Y[others])
    same(one.model(sr.NaiveBayes()), two.model(sr.NaiveBayes()), rows)
    with pytest.raises(ValueError, match="These rows cannot be subtracted"):
        two - rest


def test_a_model_without_rows_learns_under_its_schema():
    rows = model_zoo.table()
    fitted = sr.NaiveBayes(calibrate=None).fit(rows, Y)
    model = fitted.schema_.empty_model(sr.NaiveBayes(calibrate=None))
    with pytest.raises(Exception, match="not fitted"):
        model.predict(rows)
    for part in PARTS:
        model.partial_fit(part_of(rows, part), Y[part])
    same(model, fitted, rows)
    assert model.families_ is not None


def test_accumulators_of_different_schemas_are_refused():
    a = sr.NaiveBayes("gaussian").fit({"x": np.arange(90.0)}, Y).schema_
    b = sr.NaiveBayes("kernel").fit({"x": np.arange(90.0)}, Y).schema_
    c = sr.NaiveBayes("gaussian").fit({"z": np.arange(90.0)}, Y).schema_
    full = [
        sr.Accumulator(s).update({n: [1.0, 2.0]}, ["no", "yes"]) for s, n in ((a, "x"), (b, "x"), (c, "z"))
    ]
    with pytest.raises(ValueError, match="disagree on column 'x'"):
        full[0] + full[1]
    with pytest.raises(ValueError, match="different columns"):
        full[0] + full[2]
    with pytest.raises(TypeError, match="pass schema_ of a fitted model"):
        sr.Accumulator({"x": "gaussian"})


def test_bad_batches_leave_the_statistics_as_they_were():
    schema = sr.NaiveBayes().fit(model_zoo.table(), Y).schema_
    one = sr.Accumulator(schema).update(model_zoo.table(), Y)
    before = one.to_bytes()
    with pytest.raises(ValueError, match="count"):
        one.update({"number": [1.0]}, ["no"])
    with pytest.raises(ValueError, match="one label for every row"):
        one.update(model_zoo.table(), Y[:5])
    assert one.to_bytes() == before and "90 rows" in repr(one)


def test_bytes_of_a_model_are_not_statistics():
    with pytest.raises(sr.ModelFileError, match="holds a model"):
        sr.Accumulator.from_bytes(b"".join(sr.NaiveBayes().fit({"x": np.arange(90.0)}, Y)._pieces()))


WORKER = """
import sys, time
from sunrise import Accumulator
own = Accumulator.from_bytes(sys.stdin.buffer.read())
own.update({"number": [1.5, None], "level": ["left", "new"]}, ["no", "yes"])
sys.stdout.buffer.write(own.to_bytes())
heavy = {"scipy", "sklearn", "pandas", "polars"} & set(sys.modules)
print(heavy, time.process_time(), file=sys.stderr)
"""


def test_a_worker_starts_fast_and_imports_little():
    rows = {name: model_zoo.table()[name] for name in ("number", "level")}
    schema = sr.NaiveBayes().fit(rows, Y).schema_
    sent = sr.Accumulator(schema).update(rows, Y).to_bytes()
    seconds = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", WORKER], input=sent, capture_output=True, check=True)
        heavy, spent = done.stderr.decode().split(" ")
        assert heavy == "set()"
        seconds.append(float(spent))
    assert sr.Accumulator.from_bytes(done.stdout).stats.rows.sum() == 92
    assert min(seconds) < 0.8  # about 0.3 s on an idle machine, which benchmarks/store.py measures
