"""Times of the command line, from the start of the process to its end: --help, and fits that print a card.

Python writes its bytecode to a temporary folder in a first run, as it does once for an installed package. Times are
minima of several runs, CPU times those of the same run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks import tables

#: Claims in seconds.
HELP, TITANIC = 0.15, 3.0
ROUNDS = 7


def timed(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the seconds and CPU seconds of a command."""
    before, start = os.times(), perf_counter()
    subprocess.run(
        [sys.executable, "-m", "sunrise.cli", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall, after = perf_counter() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def main(arguments: list[str]) -> int:
    """Print the times; return 1 if a claim is missed."""
    missed = 0
    print("| command | seconds | CPU seconds | claimed, at most |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        output = ["-o", str(folder / "model.sunrise")]
        commands = {
            "sunrise --help": (["--help"], HELP),
            "sunrise fit titanic.csv.gz --target Survived": (
                ["fit", str(tables.DATA / "titanic.csv.gz"), "--target", "Survived", *output],
                TITANIC,
            ),
            "sunrise fit adult.csv.gz --target income": (
                ["fit", str(tables.DATA / "adult.csv.gz"), "--target", "income", *output],
                None,
            ),
        }
        for shown, (command, claimed) in commands.items():
            timed(command, environment)
            wall, used = min(timed(command, environment) for _ in range(ROUNDS))
            limit = "" if claimed is None else f"{claimed:g}"
            print(f"| `{shown}` | {wall:.2f} | {used:.2f} | {limit} |", flush=True)
            missed += claimed is not None and wall > claimed
    return int(missed > 0)
