"""The command as a process: start, pipes, Ctrl-C, packages that are absent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-m", "sunrise.cli"]


def test_help_imports_nothing_heavy():
    # A count of modules, not a clock: a loaded machine does not change it.
    code = (
        "import sys\nfrom sunrise.cli.app import run\nassert run(['--help']) == 0\n"
        "assert run(['fit', '--help']) == 0\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "duckdb", "rich", "narwhals"}
    assert "Commands:" in done.stdout and "--target" in done.stdout


@pytest.mark.parametrize("absent", ["click", "rich", "duckdb"])
def test_without_a_package_one_line_says_what_to_install(absent):
    code = f"import sys\nsys.modules[{absent!r}] = None\nfrom sunrise.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"needs {absent}" in done.stderr and "pip install click rich duckdb pyarrow" in done.stderr


def test_wrong_use_and_version(cli):
    done = cli("fti")
    assert done.code == 2 and "Do you mean 'fit'?" in done.err and done.err.count("\n") == 1
    assert cli("fit", "--nothing").code == 2
    assert cli("--version").out.startswith("sunrise ")


@pytest.mark.skipif(os.name == "nt", reason="there is no signal for a broken pipe")
def test_a_reader_that_goes_away_ends_the_command_quietly(cli, people):
    path = people.with_name("many.csv")
    header, *rows = people.read_text().splitlines()
    path.write_text("\n".join([header, *(rows * 400)]) + "\n")  # more output than a pipe holds
    assert cli("fit", people, "-t", "city", "-q").code == 0
    command = [*COMMAND, "predict", str(people.with_suffix(".sunrise")), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b'"city"')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.skipif(os.name == "nt", reason="there is no signal for a broken pipe")
def test_a_card_that_nobody_reads_ends_the_command_quietly(people):
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as closed:
        command = [*COMMAND, "fit", str(people), "--target", "city"]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 141 and done.stderr == b""
    assert people.with_suffix(".sunrise").exists()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
def test_ctrl_c_leaves_no_half_file(tmp_path):
    """The data come through a pipe that stays open, so the fit cannot end before the signal."""
    target = tmp_path / "m.sunrise"
    target.write_bytes(b"old")
    command = [*COMMAND, "fit", "-", "--target", "y", "-o", str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"x,y\n" + b"1,a\n2,b\n" * 1000)
        process.stdin.flush()
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().strip() == b"error: interrupted; no file was written"
    assert target.read_bytes() == b"old" and os.listdir(tmp_path) == ["m.sunrise"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [("fit --ta", "--target"), ("ev", "evaluate"), ("fit people.csv --target ci", "city")],
)
def test_shell_completion_knows_commands_options_and_columns(people, words, expected):
    typed = f"sunrise {words}"
    own = {
        "_SUNRISE_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    code = "from sunrise.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | own,
        cwd=people.parent,
        check=False,
    )
    assert expected in done.stdout and done.stderr == ""
