"""The command line, called in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("duckdb", reason="the command line reads CSV with duckdb")


class Done(NamedTuple):
    """The end of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@pytest.fixture
def cli(capsys, monkeypatch) -> Callable[..., Done]:
    """Return a function that calls the command line with arguments and, if given, bytes as standard input."""
    from sunrise.cli.app import run

    def call(*arguments: object, stdin: bytes | None = None) -> Done:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def people(tmp_path):
    """A small table with numbers, levels, an identifier, missing cells and an easy target."""
    rows = ["id,age,hair,city"]
    for k in range(120):
        old = k % 2
        age = "" if k % 15 == 7 else str(30 + 20 * old + k % 9)
        rows.append(
            f"P{k:03d}x,{age},{['long', 'short'][(k // 2 + (k % 5 == 0)) % 2]},{['Ulm', 'Bonn'][old]}"
        )
    path = tmp_path / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
