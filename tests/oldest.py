"""Print the requirements of `make test-oldest`: every package at the lowest version that pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

#: Tools that check sources: their version has no influence on the tests.
TOOLS = {"mypy", "ruff", "check-jsonschema"}


def oldest(project: dict) -> dict[str, str]:
    """Return the floor of each package; a floor of the package itself goes before one of its tests."""
    floors: dict[str, str] = {}
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
        name, floor = re.match(r"([\w-]+(?:\[\w+\])?)>=([\d.]+)", requirement).groups()
        floors.setdefault(name, floor)
    return {name: floor for name, floor in floors.items() if name not in TOOLS}


if __name__ == "__main__":
    settings = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())
    for name, floor in oldest(settings["project"]).items():
        print(f"{name}=={floor}")
