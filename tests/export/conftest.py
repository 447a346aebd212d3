"""Fixtures of the engines that run exports."""

from __future__ import annotations

import pytest
from export.engines import Engine, sqlite_has_logarithms
from postgres_server import programs, server

TEXT_ENGINES = ["json", "onnx", "onnx float32"]
ENGINES = [*TEXT_ENGINES, "duckdb", "sqlite", "postgresql"]


@pytest.fixture(scope="session")
def postgres():
    psycopg = pytest.importorskip("psycopg")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with (
        server(folder) as arguments,
        psycopg.connect(**arguments, autocommit=True, prepare_threshold=None) as connection,
    ):
        yield connection


@pytest.fixture(params=ENGINES)
def engine(request):
    return make_engine(request)


@pytest.fixture(params=TEXT_ENGINES)
def text_engine(request):
    """An engine that can split text into words, or takes them split; SQL cannot."""
    return make_engine(request)


def make_engine(request):
    name = request.param
    if name == "postgresql":
        return Engine(name, request.getfixturevalue("postgres"))
    if name.startswith("onnx"):
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
    if name == "duckdb":
        pytest.importorskip("duckdb")
    if name == "sqlite" and not sqlite_has_logarithms():
        pytest.skip("this SQLite has no mathematical functions")
    return Engine(name)
