"""Samples of partitions: their sum is the sample of all rows, however the rows are shared out."""

from __future__ import annotations

import numpy as np
import pytest
from sunrise.cluster.parts import merged, to_bytes
from sunrise.cluster.row_groups import AddUpFiles, packed, row_groups, shared_out
from sunrise.cluster.spark_jobs import draw_sample
from sunrise.cluster.tasks import AddUp, Columns, Merge, Result
from sunrise.data.frame import frame_of
from sunrise.data.labels import encode_labels
from sunrise.store.errors import ModelFileError
from sunrise.streams.sample import ContentSample, content_hashes

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
RNG = np.random.default_rng(11)
MOST = 50


def rows_of(n, distinct):
    """A table of n rows, of which `distinct` differ."""
    kind = RNG.integers(0, distinct, n)
    words = np.array([f"word {k % 7}" for k in range(distinct)])
    return pa.table({"x": kind / 8.0, "word": words[kind], "label": np.where(kind % 3 == 0, "a", "b")})


def truth(table):
    """The smallest hashes of different rows and the numbers of these rows, by brute force."""
    cells = frame_of(table.drop_columns(["label"]))
    hashes = content_hashes(cells, *encode_labels("test", table["label"], table.num_rows))
    distinct, counts = np.unique(hashes, return_counts=True)
    return distinct[:MOST], counts[:MOST]


def parts_of(table, n, order):
    table = table.take(order)
    ends = np.sort(RNG.integers(0, table.num_rows, n - 1)).tolist()
    return [table.slice(a, b - a) for a, b in zip([0, *ends], [*ends, table.num_rows], strict=True)]


def run_on(parts):
    """A function that adds up parts as a cluster does, with a merge of neighbours."""

    def run(task):
        rows = [task.of(k, part.to_batches(100)) for k, part in enumerate(parts)]
        (batch,) = Merge("sample")([pa.Table.from_batches([row.batch for row in rows])])
        (row,) = Result.rows(batch)
        return None if row.part is None else merged([row.part], "sample")

    return run


@pytest.mark.parametrize("distinct", [3, 40, 2000])
def test_the_sample_does_not_depend_on_partitions(distinct):
    table = rows_of(4000, distinct)
    hashes, counts = truth(table)
    for n in (1, 2, 9):
        parts = parts_of(table, n, RNG.permutation(table.num_rows))
        # 4,000 rows are more than 8 x 50: the tasks draw with a limit first, which 3 different rows do not fill.
        sample = draw_sample(MOST, Columns("label", None), table.num_rows, run_on(parts))
        rows = sample.finish()
        assert sample.n_seen == 4000 and not sample.is_complete
        assert np.array_equal(sample.hashes, hashes)
        assert np.array_equal(rows.whole.weight, counts)


def test_few_rows_are_all_kept_in_their_order():
    table = rows_of(40, 5)
    sample = draw_sample(MOST, Columns("label", None), 40, run_on(parts_of(table, 4, np.arange(40))))
    assert sample.is_complete
    assert sample.finish().table.read(0).numbers().tolist() == table["x"].to_pylist()


def test_batches_of_a_source_in_any_order():
    table = rows_of(1000, 60)
    hashes, counts = truth(table)
    for order in (np.arange(1000), np.argsort(table["x"].to_numpy())):
        sample = ContentSample(MOST)
        for at in range(0, 1000, 30):
            batch = table.take(order[at : at + 30])
            cells = frame_of(batch.drop_columns(["label"]))
            sample.add(cells, "label", *encode_labels("test", batch["label"], batch.num_rows), None)
        assert np.array_equal(sample.finish().whole.weight, counts)
        assert np.array_equal(sample.hashes, hashes)


def test_weights_of_equal_rows_add_up_and_batches_of_weight_0_are_skipped():
    table = rows_of(600, 20).append_column("weight", pa.array(np.arange(600) // 150 % 2 * 1.5))
    sample = run_on([table.slice(0, 300), table.slice(300)])(AddUp(Columns("label", "weight"), most=MOST))
    assert sample.n_seen == 300 and sample.finish().whole.weight.sum() == 450.0


def test_damaged_samples_are_refused():
    table = rows_of(30, 5)
    data = to_bytes(run_on([table])(AddUp(Columns("label", None), most=MOST)))
    with pytest.raises(ModelFileError):
        merged([data[:-8]], "sample")


def test_row_groups_are_read_by_their_tasks(tmp_path):
    from pyarrow import parquet

    table = rows_of(1000, 300)
    for k in range(3):
        parquet.write_table(table.slice(k * 400, 400), tmp_path / f"{k}.parquet", row_group_size=90)
    groups = row_groups(sorted(str(path) for path in tmp_path.iterdir()))
    assert sum(group.n_rows for group in groups) == 1000
    for n in (1, 4, None):
        tasks = shared_out(groups, n)
        assert [group for task in tasks for group in task] == groups
        assert len(tasks) == (n or len(groups))
        read = AddUpFiles(AddUp(Columns("label", None), most=MOST), packed(tasks), None)
        rows = list(read([pa.table({"id": np.arange(len(tasks))})]))
        sample = merged([part for row in rows for part in row["part"].to_pylist()], "sample")
        assert np.array_equal(sample.hashes, truth(table)[0])
