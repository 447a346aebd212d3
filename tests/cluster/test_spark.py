"""Spark: a fit of partitions is the fit in memory, whatever the partitions, and also if a task dies."""

from __future__ import annotations

import os
import pickle
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import sunrise as sr
from spark_session import MARKS
from sunrise.streams.source import Frames

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

pytestmark = MARKS

FAMILIES = {
    "far": "gaussian",
    "amount": "gamma",
    "visits": "poisson",
    "member": "bernoulli",
    "colour": "categorical",
    "note": "text",
}


def given(**settings):
    return sr.NaiveBayes(FAMILIES, calibrate=None, **settings)


def parts_of(table, n):
    """The table in n contiguous parts of different sizes."""
    ends = (np.linspace(0, 1, n + 1) ** 1.5 * table.num_rows).astype(int).tolist()
    return [table.slice(a, b - a) for a, b in pairwise(ends)]


def frame_of_parts(spark, parts):
    """A DataFrame with these partitions: files that are not split."""
    from pyarrow import parquet

    folder = Path(tempfile.mkdtemp())
    for k, part in enumerate(parts):
        parquet.write_table(part, folder / f"part-{k:04}.parquet")
    spark.conf.set("spark.sql.files.openCostInBytes", 128 << 20)
    return spark.read.parquet(str(folder))


def same_statistics(a, b, table):
    """Counts are equal, sums and moments to 1e-12."""
    assert a.classes_.tolist() == b.classes_.tolist()
    assert np.array_equal(a.class_count_, b.class_count_)
    rows = table.drop_columns(["label", "weight"]).slice(0, 500)
    np.testing.assert_allclose(
        a.predict_joint_log_proba(rows), b.predict_joint_log_proba(rows), rtol=1e-12, atol=1e-10
    )


@pytest.mark.parametrize("n", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 40))])
def test_given_families_as_in_memory(spark, table, n):
    table = table.drop_columns(["weight"])
    frame = frame_of_parts(spark, parts_of(table, n))
    model = sr.spark.fit(given(), frame, y="label")
    memory = given().fit(table, "label")
    same_statistics(model, memory, table.append_column("weight", table["label"]))


def test_moments_far_from_zero_against_numpy(spark, table):
    frame = frame_of_parts(spark, parts_of(table, 5)).select("far", "label")
    model = sr.NaiveBayes("gaussian", calibrate=None).fit(frame, y="label")
    labels = table["label"].to_numpy()
    x = table["far"].to_numpy() - 1e9
    for k, label in enumerate(model.classes_):
        own = x[(labels == label) & ~np.isnan(x)]
        moments = model.stats_.blocks[0]
        assert moments.rows[k, -1] == len(own)
        np.testing.assert_allclose(
            moments.mean[k, 0] - 1e9, own.mean(), atol=3e-7
        )  # the spacing of floats at 1e9
        np.testing.assert_allclose(moments.squared_error[k, 0], len(own) * own.var(), rtol=1e-9)


def test_weights_as_in_memory(spark, table):
    frame = frame_of_parts(spark, parts_of(table, 4))
    model = sr.spark.fit(given(), frame, y="label", sample_weight="weight")
    weight = table["weight"].to_numpy()
    memory = given().fit(table.drop_columns(["weight"]), "label", weight)
    same_statistics(model, memory, table)


def test_few_rows_are_fitted_as_in_memory_with_families_and_calibration(spark, table):
    table = table.drop_columns(["weight"])
    frame = frame_of_parts(spark, parts_of(table, 3))
    model = sr.NaiveBayes().fit(frame, y="label")
    memory = sr.NaiveBayes().fit(table, "label")
    assert model.schema_.choices == memory.schema_.choices
    rows = table.drop_columns(["label"]).slice(0, 300)
    # The optimiser of the calibration magnifies the rounding of the sums.
    np.testing.assert_allclose(model.predict_proba(rows), memory.predict_proba(rows), rtol=1e-6, atol=1e-8)


def many_rows(table):
    """More rows than the sample, many of them equal, in a shuffled order."""
    rng = np.random.default_rng(1)
    rows = pa.concat_tables([table.drop_columns(["weight", "note"])] * 5)
    far = rng.normal(size=rows.num_rows) + rows["amount"].fill_null(1.0).to_numpy()
    far[::3] = 0.0
    rows = rows.set_column(0, "far", pa.array(far))
    return rows.take(rng.permutation(rows.num_rows))


@pytest.mark.slow
def test_automatic_families_do_not_depend_on_partitions(spark, table):
    table = many_rows(table)
    models = [
        sr.NaiveBayes().fit(frame_of_parts(spark, parts_of(rows, n)), y="label")
        for n, rows in [(2, table), (7, table.take(np.arange(table.num_rows)[::-1]))]
    ]
    batches = Frames([table.slice(at, 10_000) for at in range(0, table.num_rows, 10_000)])
    models.append(sr.NaiveBayes().fit(batches, y="label"))
    rows = table.drop_columns(["label"]).slice(0, 300)
    for other in models[1:]:
        assert other.schema_.choices == models[0].schema_.choices
        assert np.array_equal(other.class_count_, models[0].class_count_)
        np.testing.assert_allclose(
            other.predict_proba(rows), models[0].predict_proba(rows), rtol=1e-9, atol=1e-12
        )


def test_predictions_as_in_memory(spark, table):
    rows = table.append_column("id", pa.array(np.arange(table.num_rows)))
    model = sr.NaiveBayes().fit(table.drop_columns(["weight"]), "label")
    frame = frame_of_parts(spark, parts_of(rows, 3))
    result = sr.spark.predict(model, frame).toArrow().sort_by("id")
    cells = table.drop_columns(["weight", "label"])
    assert result.column_names == [*rows.column_names, "prediction", "probabilities"]
    assert result["prediction"].to_pylist() == model.predict(cells).tolist()
    np.testing.assert_allclose(
        np.array(result["probabilities"].to_pylist()), model.predict_proba(cells), rtol=1e-12
    )
    short = sr.spark.predict(model, frame.drop("label"), probabilities=False, prediction="class")
    assert short.columns[-1] == "class" and short.count() == table.num_rows


def test_predictions_as_lazy_frames_and_updates(spark, table):
    rows = table.drop_columns(["weight"]).append_column("id", pa.array(np.arange(table.num_rows)))
    frame = frame_of_parts(spark, parts_of(rows, 3))
    first, second = rows.slice(0, 5000), rows.slice(5000)
    model = given().partial_fit(frame_of_parts(spark, parts_of(first.drop_columns(["id"]), 2)), "label")
    model.partial_fit(frame_of_parts(spark, parts_of(second.drop_columns(["id"]), 2)), "label")
    memory = given().fit(rows.drop_columns(["id"]), "label")
    same_statistics(model, memory, table)
    cells = rows.drop_columns(["label", "id"])
    found = model.predict_proba(frame, as_frame=True).toArrow().sort_by("id")
    assert found.column_names == [*rows.column_names, "low", "mid", "top"]
    np.testing.assert_allclose(found["mid"], memory.predict_proba(cells)[:, 1], rtol=1e-9, atol=1e-12)
    classes = model.predict(frame, as_frame=True).toArrow().sort_by("id")
    assert classes["predicted label"].to_pylist() == memory.predict(cells).tolist()
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        given().partial_fit(frame.drop("id"), "label", classes=["low", "mid"])


@pytest.mark.parametrize("weight", [None, pytest.param("weight", marks=pytest.mark.slow)])
def test_sums_by_sql_as_by_tasks(spark, table, weight, caplog, monkeypatch):
    """Means and variances are those of the tasks; NaN and nulls are missing; no first row has the rare class."""
    from sunrise.cluster import spark_sums

    n = table.num_rows
    labels = np.where(np.arange(n) % 3001 == 3000, "rare", table["label"].to_numpy(zero_copy_only=False))
    holes = np.where(np.arange(n) % 19 == 0, np.nan, 1e-3 * np.arange(n))
    table = table.set_column(table.column_names.index("label"), "label", pa.array(labels))
    table = table.drop_columns(["note", "colour"]).append_column("holes", pa.array(holes))
    table = table if weight else table.drop_columns(["weight"])
    families = {"far": "gaussian", "amount": "gamma", "member": "bernoulli", "holes": "gaussian"}
    make = lambda: sr.NaiveBayes(families | {"visits": "geometric"}, calibrate=None)  # noqa: E731
    frame = frame_of_parts(spark, parts_of(table, 4))
    by_tasks = sr.spark.fit(make(), frame, "label", weight, push_down=False)
    assert spark_sums._expensive_step(frame.select("far")) is None
    assert spark_sums._expensive_step(frame.repartition(3)) is not None
    monkeypatch.setattr(spark_sums, "FEWEST_CELLS", 1000)
    with caplog.at_level("INFO", "sunrise"):
        by_sql = sr.spark.fit(make(), frame, "label", weight)
        again = sr.spark.fit(make(), frame, "label", weight)
    assert "sums: 5, values: 0, batches: 0" in caplog.text
    assert by_sql.class_count_.tolist() == by_tasks.class_count_.tolist()
    for a, b in zip(by_sql.stats_.blocks, by_tasks.stats_.blocks, strict=True):
        np.testing.assert_array_equal(*np.broadcast_arrays(a.rows, b.rows))
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-11)
        if hasattr(a, "anchor"):
            np.testing.assert_allclose(a.squared_error, b.squared_error, rtol=1e-11)
    assert b"".join(by_sql._pieces()) == b"".join(again._pieces())


def test_a_bad_cell_of_a_table_added_up_by_sql_is_named_by_its_partition(spark, table):
    frame = frame_of_parts(spark, parts_of(table.select(["far", "label"]), 3))
    with pytest.raises(ValueError, match="partition.*'far'"):
        sr.spark.fit(
            sr.NaiveBayes("exponential", calibrate=None), frame.selectExpr("-far as far", "label"), y="label"
        )
    with pytest.raises(ValueError, match="push_down is 'sometimes'"):
        sr.spark.fit(given(), frame, y="label", push_down="sometimes")


@pytest.mark.slow
def test_files_as_data_frames(spark, table, tmp_path):
    from pyarrow import parquet

    for k, part in enumerate(parts_of(table, 3)):
        parquet.write_table(part, tmp_path / f"part-{k}.parquet", row_group_size=1000)
    (tmp_path / "_SUCCESS").write_text("")
    memory = given().fit(table.drop_columns(["weight"]), "label", table["weight"].to_numpy())
    for paths, n_tasks in [(tmp_path, None), (sorted(tmp_path.glob("p*")), 2)]:
        model = sr.spark.fit_files(
            given(), paths, y="label", sample_weight="weight", n_tasks=n_tasks, spark=spark
        )
        same_statistics(model, memory, table)
    chosen = sr.spark.fit_files(sr.NaiveBayes(), tmp_path, y="label", sample_weight="weight")
    assert (
        chosen.schema_.choices
        == sr.NaiveBayes()
        .fit(table.drop_columns(["weight"]), "label", table["weight"].to_numpy())
        .schema_.choices
    )
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        sr.spark.fit_files(given(), tmp_path / "absent", y="label")


class DiesOnce:
    """Kills its worker the first time, unless `always`."""

    def __init__(self, mark, always=False):
        self.mark, self.always = str(mark), always

    def __call__(self, batches):
        for batch in batches:
            if self.always or not os.path.exists(self.mark):
                Path(self.mark).write_text("dead")
                os._exit(1)
            yield batch


@pytest.fixture
def by_value():
    """Send the classes of this file to the workers, which cannot import it."""
    import sys

    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.slow
def test_a_task_that_dies_once_changes_no_bit(spark, table, tmp_path, by_value):
    frame = frame_of_parts(spark, parts_of(table.drop_columns(["weight"]), 3))
    dying = frame.mapInArrow(DiesOnce(tmp_path / "mark"), frame.schema)
    models = [sr.spark.fit(given(), rows, y="label") for rows in (frame, dying)]
    assert (tmp_path / "mark").exists()
    assert b"".join(models[0]._pieces()) == b"".join(models[1]._pieces())


@pytest.mark.slow
def test_a_task_that_dies_for_good_is_one_error(spark, table, tmp_path, by_value):
    frame = frame_of_parts(spark, parts_of(table.drop_columns(["weight"]), 3))
    dying = frame.mapInArrow(DiesOnce(tmp_path / "mark", always=True), frame.schema)
    model = given()
    with pytest.raises(sr.ClusterError, match="Spark could not finish the job.*exited unexpectedly"):
        sr.spark.fit(model, dying, y="label")
    assert not hasattr(model, "classes_")
    fitted = given().fit(table.drop_columns(["weight"]), "label")
    before = pickle.dumps(fitted)
    with pytest.raises(sr.ClusterError):
        fitted.fit(dying, y="label")
    assert pickle.dumps(fitted) == before


@pytest.mark.slow
def test_errors_of_the_data_are_those_in_memory(spark, table):
    frame = frame_of_parts(spark, parts_of(table, 3)).drop("weight")
    with pytest.raises(
        ValueError, match="rows 0 to .* of partition .*'amount', row 0. A cell must be a whole count"
    ):
        sr.spark.fit(sr.NaiveBayes(FAMILIES | {"amount": "poisson"}, calibrate=None), frame, y="label")
    with pytest.raises(ValueError, match="Do you mean 'label'"):
        sr.spark.fit(given(), frame, y="labels")
    with pytest.raises(ValueError, match="sample_weight is 'mass', but X has no column"):
        sr.spark.fit(given(), frame, y="label", sample_weight="mass")
    with pytest.raises(TypeError, match="Use NaiveBayes"):
        sr.spark.fit(sr.GaussianNB(), frame, y="label")
    with pytest.raises(ValueError, match="no rows|0 sample"):
        sr.spark.fit(given(), frame.limit(0), y="label")
    with pytest.raises(ValueError, match="no rows|0 sample"):
        sr.NaiveBayes().fit(frame.limit(0), y="label")
    with pytest.raises(ValueError, match="label in row 0 is missing|'label' of the labels has 9,000 missing"):
        sr.spark.fit(given(), frame.selectExpr("* except (label)", "string(null) as label"), y="label")
    fitted = given().fit(table.drop_columns(["weight"]), "label")
    with pytest.raises(TypeError, match="Use sunrise.spark.predict"):
        fitted.predict(frame)
    with pytest.raises(ValueError, match="no column 'far', which the model needs"):
        sr.spark.predict(fitted, frame.drop("far"))
    with pytest.raises(ValueError, match="has a column 'label' already"):
        sr.spark.predict(fitted, frame, prediction="label")


@pytest.mark.slow
def test_a_chosen_family_stays_lenient_on_workers_and_in_fixed_families(spark):
    rng = np.random.default_rng(3)
    n = 2 << 15
    y = rng.integers(0, 2, n)
    rows = pa.table({"x": rng.gamma(2.0 + 2 * y), "label": y})
    few = rows.slice(0, 1)
    few = few.set_column(0, "x", pa.array([-1.0]))
    frame = frame_of_parts(spark, [rows.slice(0, n // 2), pa.concat_tables([rows.slice(n // 2), few])])
    with pytest.warns(sr.ImpossibleCellWarning, match="of partition"):
        model = sr.NaiveBayes().fit(frame, y="label")
    assert model.schema_.choices[0].family.name in ("gamma", "lognormal")
    assert model.class_count_.sum() == n + 1
    with pytest.warns(sr.ImpossibleCellWarning):
        again = sr.NaiveBayes(model.fixed_families_, calibrate=None).fit(frame, y="label")
    assert again.class_count_.sum() == n + 1
