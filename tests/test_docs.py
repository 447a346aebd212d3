"""The code in the README and the docs runs."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from sunrise.selection import rules as infer

ROOT = Path(__file__).resolve().parents[1]
#: The pages in docs/examples need downloaded data: tests/test_examples.py.
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "examples"),
]


def name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in p.read_text()], ids=name)
def test_the_code_of_a_page_runs(page, capsys):
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), space)
    if page.name == "README.md":
        printed = capsys.readouterr().out
        assert printed
        assert textwrap.indent(printed, "    ") in page.read_text()


def test_the_demo_runs_and_says_why():
    done = subprocess.run([sys.executable, "-m", "sunrise.demo"], capture_output=True, text=True, check=True)
    assert "accuracy 0.828" in done.stdout
    assert "kernel" in done.stdout
    assert "rather than" in done.stdout
    assert "DIFFERENT" not in done.stdout
    assert done.stderr == ""


def test_the_rules_of_inference_are_told_as_they_are():
    rules = infer.__doc__[infer.__doc__.index("1. ") : infer.__doc__.index("Rules 4 to 7")]
    assert rules.strip() in (ROOT / "docs" / "tables.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
