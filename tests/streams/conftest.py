"""Fixtures of databases."""

from __future__ import annotations

import pytest
from postgres_server import programs, server


@pytest.fixture(scope="session")
def postgres():
    """A connection of Ibis to a temporary PostgreSQL server."""
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed: pip install 'ibis-framework[postgres]'")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ibis-framework[postgres]'")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with server(folder) as arguments:
        connection = ibis.postgres.connect(
            host=arguments["host"], user=arguments["user"], database=arguments["dbname"]
        )
        yield connection
        connection.disconnect()
