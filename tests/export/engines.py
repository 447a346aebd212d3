"""The engines that run exports: each takes a model and a table, and returns the probabilities and the labels.

The tests and `python -m benchmarks export` use them.
"""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
from export.json_scores import JsonModel


def plain(X):
    """A table as a frame of Python objects, None where missing; columns of an array are x0, x1, ..."""
    frame = (
        X
        if isinstance(X, pd.DataFrame)
        else pd.DataFrame(X, columns=[f"x{j}" for j in range(np.shape(X)[1])])
    )
    return frame.astype(object).where(frame.notna(), None)


class Engine:
    """Runs the export of a model on a table."""

    def __init__(self, name, connection=None):
        self.name, self.connection = name, connection

    @property
    def is_sql(self):
        return self.name in ("duckdb", "sqlite", "postgresql")

    @property
    def tolerance(self):
        return 1e-5 if self.name == "onnx float32" else 1e-9

    def __call__(self, model, X):
        if self.name == "json":
            scores = JsonModel(model.to_json())
            p = np.array(scores.predict_proba(plain(X).to_dict("records")))
            return p, np.array(scores.spec["classes"], dtype=object)[p.argmax(axis=1)]
        if self.name.startswith("onnx"):
            return self.onnx(model, X)
        frame = plain(X)
        frame.insert(0, "row number", range(len(frame)))
        query = model.to_sql(self.name, table='my "data"', keep=["row number"])
        names, rows = getattr(self, self.name)(frame, X, query)
        found = pd.DataFrame(rows, columns=names).sort_values("row number")
        own = [name for name in names if name.startswith("probability_")]
        logs = found[[f"log_{name}" for name in own]].to_numpy(float)
        p = found[own].to_numpy(float)
        assert np.allclose(np.exp(logs), p, rtol=0, atol=1e-9)
        assert len(p) == len(frame)
        return p, found["prediction"].to_numpy(object)

    def onnx(self, model, X):
        import onnxruntime

        dtype = "float32" if "float32" in self.name else "float64"
        session = onnxruntime.InferenceSession(model.to_onnx(dtype).SerializeToString())
        label, p, logs = session.run(None, model.onnx_inputs(X, dtype))
        assert np.allclose(np.exp(logs), p, rtol=0, atol=1e-6)
        return p, label

    def types(self, frame, X, text, number, boolean):
        """SQL types of the columns of a table."""
        kinds = {}
        for name in frame.columns:
            values = [value for value in frame[name] if value is not None]
            if values and all(isinstance(value, bool | np.bool_) for value in values):
                kinds[name] = boolean
            else:
                kinds[name] = text if any(isinstance(value, str) for value in values) else number
        return kinds

    def duckdb(self, frame, X, query):
        import duckdb

        connection = duckdb.connect()
        self.fill(connection, frame, self.types(frame, X, "VARCHAR", "DOUBLE", "BOOLEAN"), "?")
        done = connection.execute(query)
        return [column[0] for column in done.description], done.fetchall()

    def sqlite(self, frame, X, query):
        connection = sqlite3.connect(":memory:")
        self.fill(connection, frame, self.types(frame, X, "TEXT", "REAL", "INTEGER"), "?")
        done = connection.execute(query)
        return [column[0] for column in done.description], done.fetchall()

    def postgresql(self, frame, X, query):
        with self.connection.cursor() as cursor:
            cursor.execute('DROP TABLE IF EXISTS "my ""data"""')
            self.fill(cursor, frame, self.types(frame, X, "text", "double precision", "boolean"), "%s")
            cursor.execute(query)
            return [column[0] for column in cursor.description], cursor.fetchall()

    def fill(self, connection, frame, types, mark):
        columns = ", ".join('"' + str(name).replace('"', '""') + f'" {types[name]}' for name in frame.columns)
        connection.execute(f'CREATE TABLE "my ""data""" ({columns})')
        rows = [
            [value.item() if isinstance(value, np.generic) else value for value in row]
            for row in frame.itertuples(index=False)
        ]
        rows = [
            [
                float(v) if types[n] in ("DOUBLE", "REAL", "double precision") and v is not None else v
                for v, n in zip(row, frame.columns, strict=True)
            ]
            for row in rows
        ]
        marks = ", ".join([mark] * len(frame.columns))
        connection.executemany(f'INSERT INTO "my ""data""" VALUES ({marks})', rows)


def sqlite_has_logarithms():
    """True if this build of SQLite has mathematical functions."""
    try:
        sqlite3.connect(":memory:").execute("SELECT LN(2.0)")
    except sqlite3.OperationalError:
        return False
    return True
