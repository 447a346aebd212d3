"""The command line `sunrise`: one module for each command, imported when the command is called.

Needs the packages of the extra `cli`: click, rich, duckdb and pyarrow.
"""

import sys
from importlib.util import find_spec

_NEEDED = "click", "rich", "duckdb", "pyarrow"


def main() -> None:
    """Run the command line, or say in one line what to install."""
    if absent := [name for name in _NEEDED if find_spec(name) is None]:
        hint = "pip install click rich duckdb pyarrow"
        print(f"The command line needs {', '.join(absent)}. Install what is missing: {hint}", file=sys.stderr)
        sys.exit(1)
    from sunrise.cli.app import run

    sys.exit(run())
