"""The transcripts of docs/two-commands.md: the commands run, and the numbers are still those of the page."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "two-commands.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)


def facts(text: str) -> dict[str, float]:
    """Return the numbers of a card that do not depend on the machine."""
    found = re.search(
        r"([\d,]+) rows, .*, (\d+) classes, (\d+) columns used, (\d+) left out.*\n"
        r"accuracy ([\d.]+), log loss ([\d.]+) on ([\d,]+) unseen rows .* alone ([\d.]+), ([\d.]+)",
        text,
    )
    names = (
        "rows",
        "classes",
        "columns",
        "left out",
        "accuracy",
        "loss",
        "scored",
        "prior accuracy",
        "prior loss",
    )
    return {name: float(value.replace(",", "")) for name, value in zip(names, found.groups(), strict=True)}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split()[3])
def test_two_commands_lead_to_a_report(cli, find_data, tmp_path, monkeypatch, block):
    monkeypatch.chdir(tmp_path)
    first, second = (shlex.split(line)[2:] for line in block.splitlines() if line.startswith("$ "))
    shutil.copy(find_data(f"tables/{first[1]}"), tmp_path)
    card = cli(*first)
    assert card.code == 0 and card.err == ""
    assert facts(card.out) == pytest.approx(facts(block), abs=0.015)
    for line in block.splitlines():
        if re.match(r"\w+ +\d\.\d{3}   \w", line):  # a column of the table
            assert line.split()[0] in card.out
    assert cli(*second).code == 0
    assert Path(second[1]).with_suffix(".html").read_text().startswith("<!doctype html>")


def test_the_page_shows_three_tables():
    assert len(BLOCKS) == 3
