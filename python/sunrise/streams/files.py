"""Files as sources of batches: paths, globs, folders and lists of paths, in one of several formats.

A format is read by a module of its own: `files_arrow` (Parquet, Arrow IPC) or `files_text` (CSV, TSV, JSON lines).
"""

from __future__ import annotations

import copy
import glob
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from sunrise.data.errors import closest, listed
from sunrise.streams.batches import Columns, FileFormat, regroup
from sunrise.streams.source import FINDERS, Piece, Source

__all__ = ["read_files"]

#: Formats by the endings of file names, without the ending of a compression.
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
#: Endings of compressed files.
COMPRESSED = (".gz", ".zst")
#: The module that reads a format.
_READERS = {"parquet": "files_arrow", "arrow": "files_arrow"} | dict.fromkeys(
    ("csv", "tsv", "jsonl"), "files_text"
)
_BAD_ROWS = ("error", "skip")
_TYPES = ("number", "text", "bool")


def read_files(
    paths: Any,
    *,
    format: str | None = None,
    on_bad_rows: str = "error",
    types: dict[str, str] | None = None,
    missing: Sequence[str] = ("",),
    columns: Sequence[str] | None = None,
) -> FileSource:
    """Return files as a source of rows for `fit`, `partial_fit` and `predict`, with options for reading.

    Parameters
    ----------
    paths : str, path-like or list of them
        A file, a glob such as "data/*.parquet", a folder (all its files, also in folders inside it), or a list.
    format : {"parquet", "arrow", "csv", "tsv", "jsonl"} or None, default=None
        The format; None takes it from the endings of the names: .parquet, .arrow, .csv, .tsv, .jsonl, also with .gz or
        .zst.
    on_bad_rows : {"error", "skip"}, default="error"
        A row that cannot be read, or that has no label, is an error that names file and line; "skip" leaves it out and
        warns with the number of rows.
    types : dict or None, default=None
        Types of columns ("number", "text" or "bool") of CSV, TSV and JSON lines, where the first rows do not show them.
    missing : sequence of str, default=("",)
        Cells of CSV and TSV that mean missing.
    columns : sequence of str or None, default=None
        Names of the columns to read, with those of labels and weights; None for all.

    >>> import os, tempfile
    >>> import sunrise as sr
    >>> path = os.path.join(tempfile.mkdtemp(), "people.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("height,who\\n1.62,a\\n1.71,a\\n?,b\\n1.88,b\\n")
    >>> sr.NaiveBayes().fit(sr.read_files(path, missing=["?"]), y="who").class_count_
    array([2., 2.])
    """
    return FileSource(paths, format, on_bad_rows, types, missing, columns)


class FileSource(Source):
    """The rows of files that have the same columns."""

    def __init__(
        self,
        paths: Any,
        format: str | None = None,
        on_bad_rows: str = "error",
        types: dict[str, str] | None = None,
        missing: Sequence[str] = ("",),
        columns: Sequence[str] | None = None,
    ) -> None:
        if isinstance(missing, str):
            missing = (missing,)
        for name, kind in (types or {}).items():
            if kind not in _TYPES:
                raise ValueError(f"types[{name!r}] is {kind!r}; it must be one of {list(_TYPES)}.")
        self.paths = find_files(paths, format)
        self.format = format or format_of(self.paths[0])
        self._reader = _reader_of(self.format, dict(types or {}), tuple(missing))
        self.n_bytes = sum(os.path.getsize(path) for path in self.paths)
        self._label: Any = None
        self._wanted = None if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
        #: Number of rows that were skipped, by file.
        self.skipped: dict[str, int] = {}
        self._set_bad_rows(on_bad_rows)

    def _set_bad_rows(self, on_bad_rows: str) -> None:
        if on_bad_rows not in _BAD_ROWS:
            raise ValueError(f"on_bad_rows is {on_bad_rows!r}; it must be one of {list(_BAD_ROWS)}.")
        self.on_bad_rows = on_bad_rows

    def with_bad_rows(self, on_bad_rows: str) -> Self:
        """Return the source with another way to treat rows that cannot be read."""
        new = copy.copy(self)
        new._set_bad_rows(on_bad_rows)
        new.skipped = {}
        return new

    @cached_property
    def columns(self) -> list[Columns]:
        """The columns of every file; raise ValueError unless all files have the same ones."""
        all_columns = [self._reader.columns(path) for path in self.paths]
        whole, known = self._reader.unify(self.paths, all_columns), dict[str, str]()
        for path, columns in zip(self.paths, whole, strict=True):
            _refuse_other_names(path, columns, self.paths[0], whole[0])
            for name, kind in columns.items():
                if kind != "empty" and known.setdefault(name, kind) != kind:
                    first = next(p for p, own in zip(self.paths, whole, strict=True) if own[name] != "empty")
                    raise ValueError(
                        f"{path}: column {name!r} holds {_CELLS.get(kind, kind)}, but {_CELLS.get(known[name], kind)} "
                        f"in {first}. {self._reader.type_remedy(name)}"
                    )
        return [{name: known.get(name, "empty") for name in columns} for columns in whole]

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns, as in the first file."""
        names = tuple(self.columns[0])
        if self._wanted is None:
            return names
        if absent := [name for name in self._wanted if name not in names]:
            similar = closest(absent[0], names)
            hint = "" if similar is None else f" Do you mean {similar!r}?"
            raise ValueError(
                f"columns: the files have no column {absent[0]!r}.{hint} They have {listed(names)}."
            )
        return tuple(name for name in names if name in self._wanted)

    def select(self, columns: Sequence[Any], label: Any = None) -> Self:
        """Return a source that reads only these columns; `label` names the column of labels."""
        self.columns  # noqa: B018 - the copy shares what was read of the files
        new = copy.copy(self)
        new.__dict__["names"] = tuple(columns)
        new._label = label
        return new

    def pieces(self, after: tuple[int, int] | None = None) -> Iterator[Piece]:
        """Read the batches in order; only those after a place, if it is given."""
        first, done = (0, -1) if after is None else after
        if after is None:
            self.skipped.clear()
        n_bytes = sum(os.path.getsize(path) for path in self.paths[:first])
        for number in range(first, len(self.paths)):
            path, size = self.paths[number], os.path.getsize(self.paths[number])
            batches = self._reader.batches(
                path, self.columns[number], self.names, self._label, self.on_bad_rows == "skip"
            )
            n_rows = 0
            for k, table in enumerate(regroup(batches.tables)):
                start, n_rows = n_rows, n_rows + table.num_rows
                if number > first or k > done:
                    read = n_bytes + int(size * batches.share_read(n_rows))
                    yield Piece(table, path, start, read, (number, k))
            if batches.n_skipped:
                self.skipped[path] = batches.n_skipped
            n_bytes += size

    @property
    def fingerprint(self) -> list[list[Any]]:
        """Name, size and time of change of every file."""
        return [[path, (stat := os.stat(path)).st_size, stat.st_mtime_ns] for path in self.paths]

    @property
    def options(self) -> list[Any]:
        """The options for reading, for a checkpoint."""
        return [self.format, self.on_bad_rows, self._reader.options, list(self._wanted or [])]

    def __repr__(self) -> str:
        return f"{len(self.paths):,} files in the format {self.format}, {(self.n_bytes or 0) / 1e6:,.1f} MB"


_CELLS = {
    "number": "numbers",
    "text": "text",
    "bool": "booleans",
    "other": "cells that are not single values",
}


def _refuse_other_names(path: str, columns: Columns, first: str, expected: Columns) -> None:
    if columns.keys() == expected.keys():
        return
    absent = [name for name in expected if name not in columns]
    more = [name for name in columns if name not in expected]
    similar = closest(absent[0], more) if absent and more else None
    where = f"{path}: column {absent[0]!r} is missing" if absent else f"{path}: column {more[0]!r} is unknown"
    raise ValueError(
        f"{where}; {first} has the columns {listed(list(expected), 10)}. "
        + (f"Is {similar!r} meant to be {absent[0]!r}? " if similar is not None else "")
        + "All files must have the same columns, in any order."
    )


# Finding files.


def format_of(path: str) -> str | None:
    """Return the format of a file by the ending of its name; None if the ending is not known.

    >>> format_of("a/b.csv.gz"), format_of("b.parquet"), format_of("b.xlsx")
    ('csv', 'parquet', None)
    """
    name = os.path.basename(path).lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return FORMATS.get(os.path.splitext(name)[1])


def find_files(paths: Any, format: str | None = None) -> list[str]:
    """Return the files that paths, globs and folders stand for, which must have one format."""
    if format is not None and format not in _READERS:
        raise ValueError(f"format is {format!r}; it must be one of {list(_READERS)}, or None.")
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [path for one in given for path in _files_of(os.fspath(one), format)]
    if not found:
        raise FileNotFoundError("The list of files is empty. Pass at least one file.")
    if format is None:
        if unknown := [path for path in found if format_of(path) is None]:
            raise ValueError(
                f"{unknown[0]!r} has no ending of a known format: {', '.join(FORMATS)}, also with .gz or .zst. Rename "
                "the file, pass sunrise.read_files(paths, format=...), or read it with pandas or polars and pass the "
                "table."
            )
        first = {format_of(path): path for path in reversed(found)}
        if len(first) > 1:
            one, other = list(first.values())[:2]
            raise ValueError(
                f"The files have several formats: {one!r} and {other!r}. Pass files of one format, for example with a "
                "glob such as 'data/*.parquet'; use partial_fit for the others."
            )
    return found


def _files_of(path: str, format: str | None) -> list[str]:
    if os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        inside = [str(p) for p in Path(path).rglob("*") if p.is_file() and not _is_hidden(p, path)]
        files = sorted(p for p in inside if format is not None or format_of(p) is not None)
        if not files:
            raise FileNotFoundError(
                f"The folder {path!r} has no file of a known format: {', '.join(FORMATS)}, also with .gz or .zst."
            )
        return files
    if glob.has_magic(path):
        files = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not files:
            raise FileNotFoundError(f"No file matches {path!r}. The present folder is {os.getcwd()!r}.")
        return files
    raise FileNotFoundError(
        f"X is the path or string {path!r}, and there is no such file. The present folder is {os.getcwd()!r}."
    )


def _is_hidden(path: Path, folder: str) -> bool:
    """True for files such as .crc files and _SUCCESS, which are no data."""
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _reader_of(format: str | None, types: dict[str, str], missing: tuple[str, ...]) -> FileFormat:
    """Return the reader of a format."""
    module = import_module(f"sunrise.streams.{_READERS[str(format)]}")
    return module.reader(str(format), types, missing)  # type: ignore[no-any-return]


def find_file_source(X: Any) -> FileSource | None:
    """Return the source of a path, a glob, a folder or a list of paths; None for anything else."""
    if isinstance(X, str | os.PathLike):
        return FileSource(X)
    if isinstance(X, list | tuple) and X and all(isinstance(path, str | os.PathLike) for path in X):
        texts = [os.fspath(path) for path in X]
        if any(isinstance(path, os.PathLike) for path in X) or any(map(_looks_like_path, texts)):
            return FileSource(X)
    return None


def _looks_like_path(text: str) -> bool:
    return format_of(text) is not None or os.path.exists(text)


FINDERS.append(find_file_source)
