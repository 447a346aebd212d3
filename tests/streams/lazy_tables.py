"""One table with columns of all kinds, as a lazy table of every engine."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

FAMILIES = {
    "far": "gaussian",
    "near": "gaussian",
    "amount": "lognormal",
    "duration": "gamma",
    "wait": "exponential",
    "share": "beta",
    "events": "poisson",
    "tries": "geometric",
    "visits": "negative_binomial",
    "claims": "zero_inflated_poisson",
    "flag": "bernoulli",
    "town": "categorical",
    "grade": "categorical",
    "level": "categorical",
    "height": "binned",
    "rating": "kernel",
    "noise": "laplace",
    "angle": "vonmises",
    ("red", "blue"): "multinomial",
    "note": "text",
}
#: How push-down adds up each column.
WAYS = {
    **dict.fromkeys(["far", "near", "amount", "duration", "wait", "tries", "visits"], "sums"),
    **dict.fromkeys(["flag", "angle", "red", "blue"], "sums"),
    **dict.fromkeys(["events", "claims", "town", "grade", "level", "rating", "height"], "values"),
    **dict.fromkeys(["share", "noise", "note"], "batches"),
}
_NUMBERS = itertools.count()
ENGINES = ["polars", "duckdb", "ibis on duckdb", "ibis on postgresql"]


def make_table(n: int = 3000, seed: int = 0) -> pl.DataFrame:
    """Draw a table with missing cells: nulls everywhere, and NaN in `near` and `amount`."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    columns = {
        "far": 1e9 + 1e3 * y + rng.normal(size=n),
        "near": rng.normal(y, 1.0 + y),
        "amount": np.exp(rng.normal(0.3 * y, 1.0)),
        "duration": rng.gamma(2.0 + y, 3.0),
        "wait": rng.exponential(1.0 + y),
        "share": rng.beta(2.0 + y, 3.0),
        "events": rng.poisson(1.0 + y),
        "tries": rng.geometric(0.3, n) - 1,
        "visits": rng.negative_binomial(2, 0.3, n).astype(float),
        "claims": rng.poisson(1.0 + y) * rng.integers(0, 2, n),
        "flag": rng.random(n) < 0.2 + 0.2 * y,
        "town": rng.choice(["Ulm", "Köln", 'O"Fallon', "it's", ""], n),
        "grade": rng.integers(-3, 4, n),
        "level": rng.integers(0, 5, n) / 2,
        "height": rng.normal(size=n),
        "rating": rng.integers(0, 20, n) / 4,
        "noise": rng.laplace(size=n),
        "angle": rng.vonmises(1.0, 2.0, n),
        "red": rng.poisson(3.0, n),
        "blue": rng.poisson(2.0 + y),
        "note": rng.choice(["good tea", "bad tea tea", "coffee"], n),
        "w": rng.choice([0.0, 0.5, 1.0, 2.25], n),
    }
    table = pl.DataFrame({**columns, "answer": np.array(["no", "yes", "may be"])[y]})
    holes = [
        pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in columns
        if name not in ("w", "far", "red")
    ]
    nan = [
        pl.when(pl.Series(rng.random(n) < 0.1)).then(float("nan")).otherwise(pl.col(name)).alias(name)
        for name in ("near", "amount")
    ]
    return table.with_columns(holes).with_columns(nan)


def as_lazy(table: pl.DataFrame, engine: str, request: pytest.FixtureRequest):
    """Return a table as a lazy table of an engine."""
    if engine == "polars":
        return table.lazy()
    if engine == "ibis on postgresql":
        connection = request.getfixturevalue("postgres")
        return connection.create_table(f"people {next(_NUMBERS)}", table.to_arrow(), temp=True)
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")
    connection = duckdb.connect()
    connection.register("given", table.to_arrow())
    connection.execute("create table people as select * from given")
    if engine == "duckdb":
        return connection.table("people")
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed: pip install 'ibis-framework[duckdb]'")
    return ibis.duckdb.from_connection(connection).table("people")
