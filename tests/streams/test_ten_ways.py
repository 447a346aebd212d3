"""One table, many ways: every kind of input gives the statistics of the same rows, compared with exact fractions.

Native ways agree with the truth to 1e-12, sums that an engine of SQL adds up to 1e-11, also where the mean of a column
is 1e9 times its standard deviation. Counts of levels, values and words are identical.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import sunrise as sr
from spark_session import MARKS
from streams.lazy_tables import as_lazy
from sunrise.estimators import lazy_fit, partitioned_fit, source_fit
from sunrise.streams import batches, files_arrow, files_text
from sunrise.streams.expressions import are_available

# Ibis 12 uses methods that DuckDB 2 deprecates.
pytestmark = [*MARKS, pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")]

FAMILIES = {
    "far": "gaussian",
    "narrow": "gaussian",
    "near": "gaussian",
    "wait": "exponential",
    "amount": "lognormal",
    "events": "poisson",
    "flag": "bernoulli",
    "town": "categorical",
    "grade": "categorical",
    "rating": "kernel",
    "note": sr.Text("multinomial"),
}
NUMERIC = [name for name in FAMILIES if name not in ("town", "note")]
NATIVE, PUSHED = 1e-12, 1e-11


def make_table(n: int = 2100) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, n)
    columns = {
        "far": 1e9 + 3.0 * y + rng.normal(size=n),
        "narrow": 1.0 + 1e-9 * rng.normal(y, 1.0),
        "near": rng.normal(y, 1.0 + y),
        "wait": rng.exponential(1.0 + y),
        "amount": np.exp(rng.normal(0.3 * y, 1.0)),
        "events": rng.poisson(1.0 + y),
        "flag": rng.random(n) < 0.2 + 0.2 * y,
        "town": rng.choice(["Ulm", "Köln", 'O"Fallon', "it's"], n),
        "grade": rng.integers(-3, 4, n),
        "rating": rng.integers(0, 20, n) / 4,
        "note": rng.choice(["good tea", "bad tea tea", "coffee, black"], n),
    }
    table = pl.DataFrame({**columns, "answer": np.array(["no", "yes", "may be"])[y]})
    holes = [
        pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in columns
        if name != "far"
    ]
    return table.with_columns(holes)


TABLE = make_table()


def truth(table: pl.DataFrame) -> dict:
    """Statistics by column and class: numbers of cells with means and squared errors, or counts of values or words."""
    found: dict = defaultdict(dict)
    for label in sorted(set(table["answer"])):
        rows = table.filter(pl.col("answer") == label)
        for name, family in FAMILIES.items():
            cells = [x for x in rows[name].to_list() if x is not None]
            if name == "note":
                found[name][label] = Counter(word.strip(",") for text in cells for word in text.split())
            elif family == "kernel" or family == "categorical":
                found[name][label] = Counter(cells)
            else:
                exact = [Fraction(float(np.log(x)) if family == "lognormal" else x) for x in cells]
                mean = sum(exact) / len(exact)
                found[name][label] = len(exact), float(mean), float(sum((x - mean) ** 2 for x in exact))
    return found


def facts(model) -> dict:
    """The statistics of a model, in the form of `truth`."""
    found: dict = defaultdict(dict)
    schema, stats = model.schema_, model.stats_
    for part, block in zip(schema.parts, stats.blocks, strict=True):
        for at, j in enumerate(part.columns):
            name = NUMERIC[j] if isinstance(schema.names[j], int) else schema.names[j]
            for c, label in enumerate(stats.classes.tolist()):
                found[name][label] = _facts_of(name, block, at, c)
    return found


def _facts_of(name, block, at, c):
    family = FAMILIES[name]
    if name == "note":
        sums = dict(zip(block.words.tolist(), block.sums[c].tolist(), strict=True))
        return Counter({word: n for word, n in sums.items() if n})
    if family == "categorical":
        own = slice(block.offsets[at], block.offsets[at + 1])
        levels = [int(x) if name == "grade" else x for x in block.codes[own].tolist()]
        assert np.array_equal(block.rows[c, own], block.weight[c, own])
        return Counter({x: n for x, n in zip(levels, block.rows[c, own].tolist(), strict=True) if n})
    if family == "kernel":
        run = block.run(c, at)
        return Counter(dict(zip(run.x.tolist(), run.rows.tolist(), strict=True)))
    n = np.broadcast_to(block.rows, block.x.shape)[c, at]
    return int(n), block.mean[c, at], (block.squared_error[c, at] if hasattr(block, "anchor") else None)


def assert_facts(found: dict, expected: dict, rtol: float) -> None:
    assert set(found) <= set(expected)
    for name, by_class in found.items():
        assert set(by_class) == set(expected[name])
        for label, own in by_class.items():
            other = expected[name][label]
            if isinstance(own, Counter):
                assert own == other, name
                continue
            assert own[0] == other[0], name
            assert own[1] == pytest.approx(other[1], rel=rtol), name
            if own[2] is not None:
                assert own[2] == pytest.approx(other[2], rel=rtol), name


@pytest.fixture(scope="module")
def expected():
    return truth(TABLE)


@pytest.fixture
def small(monkeypatch):
    """Small batches and a small sample, so that a small table takes the way of a large one."""
    for module in (lazy_fit, partitioned_fit, source_fit):
        monkeypatch.setattr(module, "SAMPLED", 700)
    for module in (batches, files_arrow, files_text):
        monkeypatch.setattr(module, "BATCH", 400)


def plain(**settings):
    return sr.NaiveBayes(FAMILIES, calibrate=None, interactions=None, **settings)


def by_matrix(request):
    """NumPy has no names and one type: the numeric columns."""
    X = TABLE.select(pl.col(NUMERIC).cast(pl.Float64)).to_numpy()
    families = {j: FAMILIES[name] for j, name in enumerate(NUMERIC)}
    return sr.NaiveBayes(families, calibrate=None, interactions=None).fit(X, TABLE["answer"].to_numpy())


def by_parquet(request):
    folder = request.getfixturevalue("tmp_path")
    for k in range(3):
        TABLE[700 * k : 700 * (k + 1)].write_parquet(folder / f"{k}.parquet")
    return plain().fit(folder / "*.parquet", y="answer")


def by_csv(request):
    path = request.getfixturevalue("tmp_path") / "rows.csv.gz"
    TABLE.to_pandas().to_csv(path, index=False)
    return plain().fit(path, y="answer")


def by_shards(request):
    schema = plain().fit(TABLE, "answer").schema_
    cuts = np.sort(np.random.default_rng(3).integers(0, len(TABLE), 99)).tolist()
    shards = [
        sr.Accumulator(schema).update(TABLE[a:b], "answer")
        for a, b in zip([0, *cuts], [*cuts, len(TABLE)], strict=True)
        if a < b
    ]
    order = np.random.default_rng(4).permutation(len(shards))
    total = shards[order[0]]
    for k in order[1:]:
        total = total + shards[k]
    return total.model(plain())


def by_rows(request):
    model = plain()
    for k in range(len(TABLE)):
        model.partial_fit(TABLE[k : k + 1], "answer")
    return model


def by_spark(request):
    spark = request.getfixturevalue("spark")
    frame = spark.createDataFrame(TABLE.to_arrow()).repartition(5)
    return plain().fit(frame, y="answer")


def by_spark_sql(request):
    """Spark adds up the sums, and tasks the rest."""
    if not are_available():
        pytest.skip("narwhals is too old for push-down")
    spark = request.getfixturevalue("spark")
    frame = spark.createDataFrame(TABLE.to_arrow()).repartition(5)
    caplog = request.getfixturevalue("caplog")
    with caplog.at_level("INFO", "sunrise"):
        model = sr.spark.fit(plain(), frame, y="answer", push_down=True)
    assert "sums: 6, values: 0, batches: 5" in caplog.text
    return model


def lazily(engine, push_down):
    def fit(request):
        if push_down and not are_available():
            pytest.skip("narwhals is too old for push-down")
        source = sr.lazy(as_lazy(TABLE, engine, request), push_down=push_down, batch_rows=500)
        model = plain().fit(source, y="answer")
        assert (source.ways is not None) == push_down
        return model

    return fit


WAYS = {
    "numpy": (by_matrix, NATIVE),
    "pandas": (lambda request: plain().fit(TABLE.to_pandas(), "answer"), NATIVE),
    "polars": (lambda request: plain().fit(TABLE, "answer"), NATIVE),
    "parquet stream": (by_parquet, NATIVE),
    "csv stream": (by_csv, NATIVE),
    "100 shards": (by_shards, NATIVE),
    "row by row": (by_rows, NATIVE),
    "spark mapInArrow": (by_spark, NATIVE),
    "spark sql": (by_spark_sql, PUSHED),
    **{
        f"{engine}, {'push-down' if push_down else 'batches'}": (
            lazily(engine, push_down),
            PUSHED if push_down else NATIVE,
        )
        for engine in ("duckdb", "polars", "ibis on postgresql")
        for push_down in (True, False)
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_one_table(request, way, expected, small):
    fit, rtol = WAYS[way]
    model = fit(request)
    assert_facts(facts(model), expected, rtol)


def make_pairs(n: int = 3000) -> pl.DataFrame:
    """Draw rows whose label depends on two columns together, and on others alone."""
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 2, n), rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.9, a ^ b, rng.integers(0, 2, n))
    return pl.DataFrame(
        {
            "left": np.array(["u", "v"])[a],
            "right": np.array(["p", "q"])[b],
            "size": rng.gamma(2.0 + y),
            "shift": rng.normal(0.5 * y, 1.0),
            "count": rng.poisson(2.0 + y),
            "answer": np.array(["no", "yes"])[y],
        }
    )


PAIRS = make_pairs()


def _files(folder, rows, n, name):
    folder = folder / name
    folder.mkdir()
    for k in range(n):
        part = rows[len(rows) * k // n : len(rows) * (k + 1) // n]
        if name == "csv":
            part.write_csv(folder / f"{k}.csv")
        else:
            part.write_parquet(folder / f"{k}.parquet")
    return folder


def _choices(model):
    """Families by name, and pairs of columns."""
    schema = model.schema_
    families = {name: repr(family) for name, family in schema.families.items()}
    return families, sorted(sorted(pair.columns) for pair in schema.interactions)


@pytest.mark.parametrize("sampled", [False, True], ids=["all rows", "sample"])
def test_choices_do_not_depend_on_how_rows_are_cut(request, tmp_path, sampled):
    """Families and pairs of columns are the same: those of all rows, or of the rows with the smallest hashes."""
    if sampled:
        request.getfixturevalue("small")
    order = np.random.default_rng(5).permutation(len(PAIRS))
    shuffled = PAIRS[order].select(PAIRS.columns[::-1])
    sources = {
        "parquet": _files(tmp_path, PAIRS, 1, "parquet"),
        "csv": _files(tmp_path, shuffled, 7, "csv"),
        "frames": [shuffled[k : k + 250] for k in range(0, len(PAIRS), 250)],
        "lazy": sr.lazy(PAIRS.lazy(), push_down=False, batch_rows=300),
        "duckdb": sr.lazy(as_lazy(shuffled, "duckdb", request), push_down=False, batch_rows=700),
    }
    found = {name: _choices(sr.NaiveBayes().fit(source, y="answer")) for name, source in sources.items()}
    if not sampled:
        found["pandas"] = _choices(sr.NaiveBayes().fit(shuffled.to_pandas(), "answer"))
        found["pushed down"] = _choices(
            sr.NaiveBayes().fit(sr.lazy(PAIRS.lazy(), push_down=are_available()), y="answer")
        )
    families, pairs = found.pop("parquet")
    assert pairs == [["left", "right"]]
    for name, (own, own_pairs) in found.items():
        assert own == families, name
        assert own_pairs == pairs, name


@pytest.mark.parametrize("sampled", [False, True], ids=["all rows", "sample"])
def test_choices_of_partitions_are_those_of_files(request, tmp_path, spark, sampled):
    if sampled:
        request.getfixturevalue("small")
    frame = spark.createDataFrame(PAIRS.to_arrow()).repartition(4)
    on_cluster = sr.NaiveBayes().fit(frame, y="answer")
    of_files = sr.NaiveBayes().fit(_files(tmp_path, PAIRS, 3, "parquet"), y="answer")
    assert _choices(on_cluster) == _choices(of_files)
    assert on_cluster.class_count_.tolist() == of_files.class_count_.tolist()
