"""Data of a command: files, folders, globs or standard input, opened as a source of rows."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sunrise.cli.documents import Documents, is_text
from sunrise.cli.messages import ALIASES
from sunrise.cli.options import Reading
from sunrise.data.errors import closest, listed
from sunrise.streams.batches import require
from sunrise.streams.files import COMPRESSED, FORMATS, FileSource, format_of
from sunrise.streams.source import Source

#: Data of at most this size, unpacked, are loaded into memory; larger ones are read in batches.
IN_MEMORY = 64e6
#: Estimated size of unpacked data, relative to that of the file.
_UNPACKED = {".gz": 5.0, ".zst": 5.0, ".parquet": 4.0, ".pq": 4.0}
#: Bytes that decide the format of data without a name, and whether they are text.
_HEAD = 1 << 16
#: First bytes of files.
_MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}


@dataclass(frozen=True)
class Rows:
    """Rows of a command."""

    source: Source
    #: Name of the data, for files that are written beside them; None for standard input.
    stem: str | None
    #: Estimated size of the unpacked data, in bytes.
    size: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.source.names or ()

    @property
    def is_small(self) -> bool:
        """True if the rows should be loaded into memory."""
        return self.size <= IN_MEMORY

    def require(self, name: str, option: str) -> str:
        """Return the name of a column; raise if it is not there, with a similar name."""
        if name in self.names:
            return name
        similar = closest(name, self.names)
        hint = f"Do you mean {similar!r}? " if similar is not None else ""
        if any(re.fullmatch(r"[-+]?\d+(\.\d+)?", column) for column in self.names):
            hint += "The first line must hold the names of the columns, and has numbers. "
        raise ValueError(
            f"{option}: there is no column {name!r}. {hint}The columns are {listed(self.names, 20)}."
        )

    def table(self, columns: Sequence[str] | None = None, label: str | None = None) -> Any:
        """Load rows into memory, as an Arrow table."""
        source = self.source.select(self.names if columns is None else columns, label)
        parts = [piece.table for piece in source.pieces()]
        if not parts:
            raise ValueError("The data have no rows.")
        return require("pyarrow").concat_tables(parts)


@contextmanager
def open_rows(
    data: Sequence[str],
    reading: Reading,
    types: Mapping[str, str] | None = None,
    label: str | None = None,
    is_table: bool = False,
) -> Iterator[Rows]:
    """Open the data of a command.

    `types` are those of the columns of a model, `label` is the name for the classes of texts. A table may have the
    name of a text file.
    """
    with tempfile.TemporaryDirectory(prefix="sunrise-") as folder:
        if "-" in data:
            if len(data) > 1:
                raise ValueError('"-" stands for standard input and cannot be read together with files.')
            path = _spooled(folder, reading.format)
            yield _opened([path], None, reading, types or {}, label, is_table)
        else:
            paths = [path for one in data for path in _found(one)]
            yield _opened(paths, _stem(paths[0]), reading, types or {}, label, is_table)


def _opened(
    paths: list[str],
    stem: str | None,
    reading: Reading,
    types: Mapping[str, str],
    label: str | None,
    is_table: bool,
) -> Rows:
    for path in paths:
        _refuse_unusable(path, reading.format)
    size = sum(_unpacked_size(path) for path in paths)
    if reading.format == "text" or (reading.format is None and not is_table and all(map(is_text, paths))):
        if reading.types or reading.missing or reading.skips_bad_rows:
            raise ValueError("--type, --missing and --skip-bad-rows are for tables. Leave them out.")
        return Rows(Documents(paths, *([label] if label else [])), stem, size)
    format = reading.format
    if format is None and any(format_of(path) is None and os.path.isfile(path) for path in paths):
        format = FORMATS[_sniffed(paths[0])]
    skips = "skip" if reading.skips_bad_rows else "error"
    missing = ("", *reading.missing)
    source = FileSource(paths, format, skips, dict(reading.types), missing)
    wanted = {name: kind for name, kind in types.items() if name in source.names}
    if wanted and source.format in ("csv", "tsv", "jsonl"):
        source = FileSource(paths, format, skips, wanted | dict(reading.types), missing)
    return Rows(source, stem, size)


def _found(path: str) -> list[str]:
    """Return the path, or the files of a glob."""
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path) and (found := sorted(glob.glob(path, recursive=True))):
        return found
    folder = os.path.dirname(path) or "."
    similar = closest(os.path.basename(path), os.listdir(folder)) if os.path.isdir(folder) else None
    hint = f" Do you mean {os.path.join(os.path.dirname(path), similar)!r}?" if similar else ""
    raise ValueError(f"{path}: there is no such file.{hint or ' Check the path.'}")


def _stem(path: str) -> str:
    """Return the path without the endings of its format and compression.

    >>> _stem("data/people.csv.gz"), _stem("reviews/")
    ('data/people', 'reviews')
    """
    path = path.rstrip("/" + os.sep)
    if os.path.isdir(path):
        return path
    for ending in COMPRESSED:
        path = path.removesuffix(ending)
    return os.path.splitext(path)[0]


def _unpacked_size(path: str) -> float:
    if os.path.isdir(path):
        inside = (os.path.join(at, name) for at, _, names in os.walk(path) for name in names)
        return sum(map(_unpacked_size, inside))
    return os.path.getsize(path) * _UNPACKED.get(os.path.splitext(path)[1].lower(), 1.0)


def _spooled(folder: str, format: str | None) -> str:
    """Copy standard input to a file, because it is read more than once; the name tells the format."""
    if sys.stdin.isatty():
        raise ValueError('"-" reads standard input, which is the keyboard. Pipe data into the command.')
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    ALIASES[path] = "standard input"
    if not os.path.getsize(path):
        raise ValueError("standard input is empty. Pipe data into the command.")
    packed = next((e for m, e in _MAGIC.items() if e in COMPRESSED and _first_bytes(path).startswith(m)), "")
    ending = {"text": ".txt"}.get(format or "", f".{format}") if format else _sniffed(path + packed, path)
    named = f"{path}{ending}{packed}"
    os.rename(path, named)
    ALIASES[named] = ALIASES.pop(path)
    return named


def _first_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_HEAD)


def _head(path: str, packed: str) -> bytes:
    """Return the first bytes of a file, unpacked."""
    if packed not in COMPRESSED:
        return _first_bytes(path)
    pyarrow = require("pyarrow")
    try:
        with pyarrow.input_stream(path, compression={".gz": "gzip", ".zst": "zstd"}[packed]) as stream:
            return bytes(stream.read(_HEAD))
    except OSError as error:
        raise ValueError(f"{path}: the file cannot be unpacked ({str(error).splitlines()[0]}).") from None


def _sniffed(name: str, path: str | None = None) -> str:
    """Return the ending of the format that the content has."""
    path = name if path is None else path
    head = _head(path, os.path.splitext(name)[1])
    for magic, ending in _MAGIC.items():
        if head.startswith(magic):
            if ending in COMPRESSED:
                raise ValueError(f"{path}: the file is compressed. Give it a name that ends in .csv{ending}.")
            return ending
    line = head.decode("utf-8", "replace").lstrip("\ufeff").partition("\n")[0]
    if line.startswith("{"):
        return ".jsonl"
    if line.startswith("["):
        raise ValueError(f"{path}: the file is one JSON array. Write one object per line (JSON lines).")
    return ".tsv" if "\t" in line and "," not in line else ".csv"


def _refuse_unusable(path: str, format: str | None) -> None:
    """Raise for empty files, and for binary files that have the name of a text file."""
    if os.path.isdir(path):
        return
    if not os.path.getsize(path):
        raise ValueError(f"{path}: the file is empty.")
    if (format or format_of(path)) in ("parquet", "arrow"):
        return
    head = _head(path, os.path.splitext(path)[1].lower())
    if not head.strip():
        raise ValueError(f"{path}: the file is empty.")
    if head.startswith(b"PK\x03\x04"):
        raise ValueError(f"{path}: the file is a spreadsheet or a zip archive. Save the table as CSV.")
    known = next((e for magic, e in _MAGIC.items() if head.startswith(magic)), None)
    if known is not None and format_of(path) is not None:
        raise ValueError(f"{path}: the content does not fit the name: it is {known[1:]}. Rename the file.")
    if known is None and b"\0" in head:
        wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
        kind = "is UTF-16 text" if wide else "is binary, not text"
        remedy = (
            f"Convert it: iconv -f utf-16 -t utf-8 {path}" if wide else "Pass a table, or name its --format"
        )
        raise ValueError(f"{path}: the file {kind}. {remedy}.")
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if known is None and error.start < len(head) - 4:
            raise ValueError(
                f"{path}: the file is not UTF-8 (byte 0x{head[error.start]:02x} in line "
                f"{head[: error.start].count(10) + 1}). Convert it: iconv -f latin1 -t utf-8 {path}."
            ) from None
