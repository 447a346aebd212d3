"""Plain text as a source of rows: a column `text`, and a column `class` if the classes are known.

A file has one document per line, and its name is the class: `sunrise fit ham.txt spam.txt`. In a folder every file is
one document, and the folder that holds the file is the class: `sunrise fit reviews/`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sunrise.streams.batches import require
from sunrise.streams.files import COMPRESSED, format_of
from sunrise.streams.source import Piece, Source

#: Names of the columns.
TEXT, CLASS = "text", "class"
#: Endings of plain text, and number of documents of a batch.
ENDINGS, BATCH = (".txt", ".text"), 20_000


def is_text(path: str) -> bool:
    """True for the name of a text file, or for a folder of folders without any table.

    >>> is_text("ham.txt.gz"), is_text("people.csv")
    (True, False)
    """
    if os.path.isdir(path):
        inside = [entry for entry in Path(path).rglob("*") if entry.is_file() and not _is_hidden(entry, path)]
        return bool(inside) and not any(format_of(str(entry)) for entry in inside)
    return _stem(path)[1].lower() in ENDINGS


class Documents(Source):
    """Documents of text files and folders."""

    def __init__(self, paths: list[str], name_of_class: str = CLASS) -> None:
        self._files: list[tuple[str, str, bool]] = []  # path, class, and if every line is a document
        for path in paths:
            if os.path.isdir(path):
                inside = sorted(entry for entry in Path(path).rglob("*") if entry.is_file())
                inside = [entry for entry in inside if not _is_hidden(entry, path)]
                self._files += [(str(entry), _class_of(entry, path), False) for entry in inside]
            else:
                self._files.append((path, _stem(path)[0], True))
        if not self._files:
            raise FileNotFoundError(f"{paths[0]}: the folder has no file.")
        self.n_bytes = sum(os.path.getsize(path) for path, *_ in self._files)
        self._label = name_of_class
        self.names = (TEXT, name_of_class)
        self.classes = sorted({label for _, label, _ in self._files})

    def pieces(self) -> Iterator[Piece]:
        """Read the documents in batches."""
        pyarrow = require("pyarrow")
        texts: list[str] = []
        labels: list[str] = []
        first = n_bytes = 0
        for path, label, by_line in self._files:
            for document in _lines(path) if by_line else [_whole(path)]:
                texts.append(document)
                labels.append(label)
                if len(texts) == BATCH:
                    yield Piece(pyarrow.table({TEXT: texts, self._label: labels}), path, first, n_bytes)
                    first += BATCH
                    texts, labels = [], []
            n_bytes += os.path.getsize(path)
        if texts:
            yield Piece(pyarrow.table({TEXT: texts, self._label: labels}), path, first, n_bytes)


def _lines(path: str) -> Iterator[str]:
    """Return the lines of a file that are not empty; only a line feed ends a line."""
    stream = io.BufferedReader(require("pyarrow").input_stream(path, compression="detect"))
    with io.TextIOWrapper(stream, "utf-8", newline="\n") as file:
        try:
            for line in file:
                if text := line.rstrip("\r\n"):
                    yield text
        except UnicodeDecodeError as error:
            raise _not_utf8(path, error) from None


def _whole(path: str) -> str:
    with require("pyarrow").input_stream(path, compression="detect") as stream:
        try:
            return str(stream.read().decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _not_utf8(path, error) from None


def _not_utf8(path: str, error: UnicodeDecodeError) -> ValueError:
    byte = error.object[error.start]
    return ValueError(
        f"{path}: the file is not UTF-8 (byte 0x{byte:02x}). Convert it: iconv -f latin1 -t utf-8 {path} > new.txt"
    )


def _stem(path: str) -> tuple[str, str]:
    name = os.path.basename(path)
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return os.path.splitext(name)


def _class_of(path: Path, folder: str) -> str:
    """Return the first folder of the path inside of the folder; the folder itself for its own files."""
    parts = path.relative_to(folder).parts
    return parts[0] if len(parts) > 1 else os.path.basename(os.path.abspath(folder))


def _is_hidden(path: Path, folder: Any) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
