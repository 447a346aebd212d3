"""The commands on the page of the command line run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from sunrise.cli.app import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


def test_the_commands_of_the_page_run(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"python -c '(.*)'", PAGE)
    exec(code, {})
    blocks = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    commands = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    assert len(commands) >= 8
    for line in commands:
        left, pipe, right = line.partition(" | ")
        stdin = Path(left.removeprefix("cat ")).read_bytes() if pipe else None
        program, *arguments = shlex.split(right if pipe else left)
        assert program == "sunrise"
        done = cli(*arguments, stdin=stdin)
        assert done.code == 0, (line, done.err)
    assert Path("predictions.parquet").exists() and Path("small.sunrise").exists()


def test_the_page_describes_every_command_and_every_option_exists(cli):
    for name in COMMANDS:
        assert f"sunrise {name}" in PAGE, name
    known = "".join(cli(name, "--help").out for name in COMMANDS)
    for option in set(re.findall(r"--[a-z][a-z-]+", PAGE)):
        assert option in known, option
