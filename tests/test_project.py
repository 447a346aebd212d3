"""The files around the code: workflows, templates, citation, versions, and what make says without Rust."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import sunrise

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

SCHEMAS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.citation-file-format": "CITATION.cff",
}


@pytest.mark.skipif(
    importlib.util.find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed"
)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_of_the_hosting_site_are_valid(schema):
    files = sorted(map(str, ROOT.glob(SCHEMAS[schema])))
    assert files
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_call_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    called = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        called |= set(re.findall(r"make ([a-z-]+)", path.read_text()))
    assert {"test", "test-oldest", "test-slow", "wheel", "docs", "coverage"} <= called <= targets


def test_hints_to_install_work_after_the_line_of_the_readme():
    """The package is installed from a clone, so a hint names other packages, or the clone with one of its extras."""
    extras = PROJECT["optional-dependencies"]
    packages = {re.split(r"[<>=]", line)[0] for line in sum(extras.values(), PROJECT["dependencies"])}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.py")]
    hints = [hint for page in pages for hint in re.findall(r"pip install ([^`\n]+)", page.read_text())]
    assert len(hints) >= 4
    for hint in hints:
        for word in re.findall(r"[\w.\[\]-]+", hint.partition('")')[0]):
            word = word.removesuffix(".") or "."
            extra = re.fullmatch(r"\.\[(\w+)\]", word)
            assert word == "." or word in packages or (extra and extra[1] in extras), hint


def test_the_version_is_the_same_everywhere():
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited[1] == workspace["version"] == sunrise.__version__


def test_the_oldest_versions_are_those_of_the_package():
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "oldest.py"], capture_output=True, text=True, check=True
    )
    pinned = dict(line.split("==") for line in done.stdout.splitlines())
    for requirement in PROJECT["dependencies"]:
        name, floor = requirement.split(">=")
        assert pinned[name] == floor
    assert {"pandas", "polars", "pyarrow", "pytest"} <= set(pinned)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.skipif(os.name == "nt", reason="the path is built of links")
@pytest.mark.parametrize("target", ["demo", "test"])
def test_without_rust_make_says_what_to_install(target, tmp_path):
    for tool in ("make", "sh", "find", "uname", "test", "python3"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = subprocess.run(
        ["make", target, f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stderr.splitlines()
    assert done.returncode != 0 and len(said) == 1
    assert "Rust is not installed: get it from https://rustup.rs" in said[0]
    assert not (tmp_path / "venv").exists()


#: A Python that creates "environments" with copies of itself, and only says what it is asked to run.
STUB = """#!/bin/sh
case "$2" in
venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
*) echo "ran $2" ;;
esac
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.skipif(os.name == "nt", reason="the path is built of links")
def test_the_demo_says_what_it_is_doing_before_every_long_step(tmp_path):
    for tool in ("make", "sh", "find", "uname", "test", "mkdir", "cp", "touch"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    for tool in ("cargo", "python3"):
        (tmp_path / tool).write_text(STUB)
        (tmp_path / tool).chmod(0o755)
    command = ["make", "demo", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(
        command, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    said = [line for line in done.stdout.splitlines() if not line.startswith(str(tmp_path))]
    assert [line.split()[0] for line in said] == ["Creating", "Installing", "ran", "Fitting", "ran"]
    assert said[2] == "ran pip" and said[4] == "ran sunrise.demo"
