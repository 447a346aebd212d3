"""Errors and warnings as one line on standard error, in the terms of the command line."""

from __future__ import annotations

import re
import sys
from typing import Any

#: Names that stand for temporary files in messages.
ALIASES: dict[str, str] = {}

#: Remedies of the library that have another name here.
_TERMS = (
    (r"or pass on_bad_rows=\"skip\"", "or leave such rows out with --skip-bad-rows"),
    (r"on_bad_rows=\"skip\"", "--skip-bad-rows"),
    (r"pass sunrise\.read_files\(paths, types=\{'(.*?)': \"(\w+)\"\}\)", r"pass --type '\1=\2'"),
    (r"pass sunrise\.read_files\(paths, format=\.\.\.\)", "pass --format"),
    (
        r"Drop the rows without a label, fill in the labels, or fit .* rows\.",
        "Fill in the label, or leave such rows out with --skip-bad-rows.",
    ),
    (r"families=\{'([^']*)': None\}", r"--drop '\1'"),
    (r"families=\{'([^']*)': \"(\w+)\"\}", r"--family '\1=\2'"),
    (r"NaiveBayes\(families=\.\.\.\)", "--family"),
    (r'calibrate="(\w+)"', r"--calibrate \1"),
    (r"sunrise\.read_files\(paths, missing=\[(.*?)\]\)", r"--missing \1"),
    (r"\s*Silence this with warnings\.filterwarnings\(.*?\)\.(?=\s|$)", ""),
)


def one_line(text: Any) -> str:
    """Return the text of an error or a warning as one line.

    >>> one_line('bad line 4. Correct the file, or pass on_bad_rows="skip".')
    'bad line 4. Correct the file, or leave such rows out with --skip-bad-rows.'
    """
    line = " ".join(str(text).split())
    for path, name in ALIASES.items():
        line = line.replace(repr(path), name).replace(path, name)
    for pattern, term in _TERMS:
        line = re.sub(pattern, term, line)
    return line.strip()


def say(kind: str, text: Any) -> None:
    """Print one line on standard error."""
    print(f"{kind}: {one_line(text)}", file=sys.stderr)


def show_warning(message: Any, *_: Any, **__: Any) -> None:
    """Print a warning of the library as one line: takes the place of `warnings.showwarning`."""
    say("warning", message)
