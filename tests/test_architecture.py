"""The rules of the house, kept by reading the sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sunrise
from sunrise.family import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "sunrise"

#: Who may import whom: a room imports only from rooms above it in this list, or from its own.
ROOMS = [
    (
        "leaves",
        {
            "_native",
            "alert",
            "bursts",
            "arrays",
            "bandwidth",
            "density",
            "terms",
            "support",
            "labels",
            "stats",
            "moments",
            "conjugate",
            "edges",
            "evidence",
            "forms",
            "smoothing",
            "family",
            "given",
            "calibration",
            "information",
            "levels",
            "look",
            "polya",
            "priors",
            "schema",
            "special",
            "threads",
            "values",
        },
    ),
    (
        "data",
        {
            "data.align",
            "data.batch",
            "data.column",
            "data.frame",
            "data.read",
            "data.write",
            "infer",
            "present",
            "class_prior",
            "duplicates",
            "text",
            "text.alphabet",
            "text.counter",
            "text.hashed",
            "text.texts",
            "text.vocabulary",
        },
    ),
    ("engines", {"engines.array", "engines.array_words", "engines.native", "engines"}),
    ("engine users", {"observe"}),
    (
        "estimator",
        {
            "calibrate",
            "choose",
            "decide",
            "derived",
            "draw",
            "em",
            "explain",
            "honest",
            "interval",
            "leave_out",
            "linear",
            "posterior",
            "score",
            "estimator",
            "single",
            "summary",
            "uses",
        },
    ),
    ("families", {f"families.{name}" for name in FAMILIES}),
    ("front", {"", "datasets", "demo", "plots", "select"}),
]
RANK = {module: rank for rank, (_, modules) in enumerate(ROOMS) for module in modules}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, whether whole or a name of theirs."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sunrise":
            inside = node.module.removeprefix("sunrise").removeprefix(".")
            for alias in node.names:
                whole = f"{inside}.{alias.name}".removeprefix(".")
                found.add(whole if whole in RANK else inside)
    return found


FILES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or module_name(path) in RANK
)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_rooms_import_upwards_only(path):
    mine = module_name(path)
    assert mine in RANK, f"say in which room {mine} lives"
    for other in imports(path):
        assert RANK[other] <= RANK[mine], f"{mine} imports {other}"


def without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def test_engines_and_data_know_no_family():
    for path in [*PACKAGE.glob("engines/*.py"), *PACKAGE.glob("data/*.py"), PACKAGE / "estimator.py"]:
        code = ast.unparse(without_docstrings(ast.parse(path.read_text())))
        for family in FAMILIES.values():
            assert f"families.{family.name}" not in code
            assert not re.search(rf"\b{family.__name__}\b", code)


def test_every_family_is_one_file_registered_and_exported():
    files = {path.stem for path in (PACKAGE / "families").glob("*.py")} - {"__init__"}
    assert files == set(FAMILIES)
    for family in FAMILIES.values():
        assert getattr(sunrise, family.__name__) is family and family.__name__ in sunrise.__all__
    assert (PACKAGE / "families" / "__init__.py").read_text() == ""


def test_there_is_one_fit_and_one_log_sum_exp():
    methods = [
        (path.name, node.name)
        for path in PACKAGE.rglob("*.py")
        if path.name != "select.py"  # a selector fits a model, it is none
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    for name in ("fit", "partial_fit", "forget", "merge", "predict", "predict_proba", "to_linear", "explain"):
        assert [m for m in methods if m[1] == name] == [("estimator.py", name)]
    uses = [
        p.name for p in PACKAGE.rglob("*.py") if re.search(r"log1p\((np\.exp|rest)|logsumexp", p.read_text())
    ]
    assert uses == ["array.py"]  # the readable twin of the one in Rust


def test_the_array_engine_stays_readable():
    code = ast.unparse(without_docstrings(ast.parse((PACKAGE / "engines" / "array.py").read_text())))
    assert sum(bool(line.strip()) for line in code.splitlines()) < 150


def test_native_code_is_safe_but_for_the_arrow_door():
    assert "#![forbid(unsafe_code)]" in (ROOT / "crates/sunrise-core/src/lib.rs").read_text()
    assert "#![deny(unsafe_code)]" in (ROOT / "crates/sunrise-py/src/lib.rs").read_text()
    unsafe = {p.name for p in (ROOT / "crates").rglob("*.rs") if "allow(unsafe_code)" in p.read_text()}
    assert unsafe == {"import.rs"}


def test_importing_is_quick():
    # Best of several, because a busy machine only ever adds time.
    code = (
        "import sklearn.base, time; t = time.perf_counter(); import sunrise; print(time.perf_counter() - t)"
    )
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(4)
    ]
    assert min(times) < 0.2
