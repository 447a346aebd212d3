"""The group of commands: finds a command by its name, runs it, and turns every error into a line and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from sunrise.cli.messages import say, show_warning

#: Exit codes: bad data, files or models; wrong use; Ctrl-C; the reader of a pipe has gone.
FAILED, USAGE, INTERRUPTED, PIPE = 1, 2, 130, 141

#: The commands: their modules, and what they do.
COMMANDS = {
    "fit": ("fit", "Fit a model to a table or to texts, and print its card."),
    "predict": ("predict", "Predict classes and probabilities of rows."),
    "evaluate": ("evaluate", "Score a model on labelled rows."),
    "explain": ("explain", "Show why rows are predicted as they are."),
    "report": ("report", "Write one HTML page about a model."),
    "inspect": ("inspect", "Show the card of a model file."),
    "compare": ("compare", "Show by how many bits each column differs between two models."),
    "merge": ("merge", "Add models of different rows."),
    "forget": ("forget", "Remove training rows from a model."),
    "export": ("export", "Write a model as SQL, ONNX or JSON."),
}


class Commands(click.Group):
    """Imports a command when it is called, so that --help does not wait for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"sunrise.cli.{COMMANDS[cmd_name][0]}").command
        command.name = cmd_name
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the arguments; an unknown one gets the most similar name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"Do you mean {similar[0]!r}?" if similar else f"Use one of: {', '.join(COMMANDS)}."
            ctx.fail(f"there is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a broken pipe is kept from click, which would exit with the code of an error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError as error:
            raise _ReaderHasGone from error


class _ReaderHasGone(Exception):
    pass


def _print_version(ctx: click.Context, _: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"sunrise {version('sunrise')}")
        ctx.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 success, 1 data or a model cannot be used, 2 wrong use, 130 Ctrl-C, 141 broken pipe.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
def sunrise() -> None:
    """Naive Bayes for tables and texts: fit, look, predict, update.

    DATA is a CSV, TSV, JSON lines, Parquet, Arrow or text file, also with .gz or .zst, or "-" for standard input.

    \b
      sunrise fit people.csv --target city     prints a model card, saves people.sunrise
      sunrise report people.sunrise            writes people.html, a page to look at and to share
      sunrise predict people.sunrise new.csv   writes classes and probabilities as CSV
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show_warning
            sunrise.main(arguments, prog_name="sunrise", standalone_mode=False)
        return 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "sunrise"
        say("error", f"{error.format_message()} See: {where} --help")
        return USAGE
    except click.ClickException as error:
        say("error", error.format_message())
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        say("error", "interrupted; no file was written")
        return INTERRUPTED
    except _ReaderHasGone:
        # Python flushes standard output at its end, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE
    except MemoryError:
        say("error", "the memory is not enough. Pass the data as a file and use --stream.")
        return FAILED
    except OSError as error:
        name = "" if error.filename is None else f"{os.fspath(error.filename)}: "
        say("error", f"{name}{error.strerror}" if error.strerror else error)
        return FAILED
    except (ValueError, TypeError, ImportError) as error:
        say("error", error)
        return FAILED
