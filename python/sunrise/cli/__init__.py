"""The command line: `sunrise`. Needs the extra `cli` (click, rich, duckdb, pyarrow)."""

import sys


def main() -> None:
    """Run the command line, or say in one line what to install."""
    hint = "pip install click rich duckdb pyarrow"
    print(f"The command line needs more packages: {hint}", file=sys.stderr)
    sys.exit(1)
