"""The code in the README and the docs runs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
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


#: A block of Python, and the block of its output if one follows: fenced, or indented by four spaces.
BLOCKS = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```|\n((?: {4}[^\n]*\n)+))?", flags=re.DOTALL)
WITH_CODE = [page for page in PAGES if "```python" in page.read_text()]


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page, capsys):
    space: dict[str, object] = {}
    for code, fenced, indented in BLOCKS.findall(page.read_text()):
        exec(compile(code, str(page), "exec"), space)
        printed = capsys.readouterr().out
        assert not fenced or printed == fenced
        assert not indented or printed == textwrap.dedent(indented)


def test_the_readme_shows_output():
    assert any(fenced for _, fenced, _ in BLOCKS.findall((ROOT / "README.md").read_text()))


def test_the_commands_of_the_readme_lead_from_a_table_to_a_report(tmp_path):
    rows = (ROOT / "python" / "sunrise" / "datasets" / "heart_disease.csv").read_text()
    (tmp_path / "data.csv").write_text(rows.replace("disease", "y", 1))
    commands = re.findall(r"^    sunrise ([^#\n]+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        arguments = [sys.executable, "-m", "sunrise.cli", *command.split()]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr == ""
    assert "chest_pain" in (tmp_path / "data.html").read_text()


def installed_by(text):
    """The packages of all lines `pip install ...` in a text, those of extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    packages = list(project["dependencies"])
    for line in re.findall(r"pip install ([^`\n]+)", text):
        packages += re.findall(r"(?<![\w.\[])[a-z][\w-]+(?![\w\]])", line)
        packages += [package for extra in re.findall(r"\.\[(\w+)\]", line) for package in extras[extra]]
    return {re.split(r"[<>=\[]", package)[0] for package in packages}


MODULES = {"sklearn": "scikit-learn"}


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_needs_what_its_install_line_or_that_of_the_readme_names(page):
    installed = installed_by((ROOT / "README.md").read_text() + page.read_text()) | {"sunrise"}
    for code, _, _ in BLOCKS.findall(page.read_text()):
        for node in ast.walk(ast.parse(code)):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in (m.split(".")[0] for m in modules):
                assert module in sys.stdlib_module_names or MODULES.get(module, module) in installed, module


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
