"""The wheel and the source distribution: complete, and usable in a clean environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="Rust is not installed"),
]

SMOKE = """
import sunrise as sr
from sunrise.datasets import load_heart_disease
heart = load_heart_disease()
model = sr.NaiveBayes().fit(heart.data, heart.target)
assert model.score(heart.data, heart.target) > 0.8
assert sr.GaussianNB().fit([[1.0], [2.0]], ["a", "b"]).predict([[2.1]]).tolist() == ["b"]
assert sr.TextNB().fit(["red wine", "dark beer"], [0, 1]).predict(["wine"]).tolist() == [0]
print(sr.__file__)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the paths of the wheel and of the source distribution that `make wheel` builds.

    Workers of pytest-xdist share one build: two at a time would move each other's files.
    """
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    folder = (
        tmp_path_factory.getbasetemp().parent / "dist"
        if is_worker
        else tmp_path_factory.mktemp("dist") / "dist"
    )
    done = folder.with_name("dist-done")
    try:
        folder.mkdir()
    except FileExistsError:  # another worker builds, or has built
        for _ in range(1800):
            if done.exists():
                break
            time.sleep(1.0)
    else:
        try:
            subprocess.run(
                ["make", "wheel", f"DIST={folder}", f"PYTHON={sys.executable}"], cwd=ROOT, check=True
            )
        finally:
            done.touch()
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": source}


def test_the_wheel_holds_the_package_and_serves_every_python(built):
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = set(archive.namelist())
    package = ROOT / "python"
    kinds = "*.py", "*.csv", "*.pyi", "*.html", "*.css", "*.js", "py.typed"
    wanted = [path for kind in kinds for path in package.rglob(kind)]
    assert len(wanted) > 50
    assert {path.relative_to(package).as_posix() for path in wanted} <= names
    assert any(name.startswith("sunrise/_native.") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "-cp311-abi3-" in built["wheel"].name
    if sys.platform == "linux":
        assert "manylinux_2_17" in built["wheel"].name


def test_the_source_distribution_is_complete(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = [*(ROOT / "crates").rglob("*.rs"), *(ROOT / "crates").rglob("Cargo.toml")]
    sources += [path for kind in ("*.py", "*.csv", "py.typed") for path in (ROOT / "python").rglob(kind)]
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= names
    assert {"Cargo.toml", "Cargo.lock", "LICENSE", "README.md", "pyproject.toml"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc"))]


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_can_be_installed_and_used(built, kind, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    # What cargo compiles of the source distribution is kept, so that the next run compiles less.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env["CARGO_TARGET_DIR"] = str(ROOT / "target" / "sdist")

    def run(*command):
        return subprocess.run(
            [python, *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        ).stdout

    run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", built[kind])
    assert str(tmp_path) in run("-c", SMOKE)
    assert "accuracy 0.828" in run("-m", "sunrise.demo")
