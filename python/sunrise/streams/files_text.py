"""CSV, TSV and JSON lines, read by DuckDB, also compressed with gzip or zstd.

The first rows of a file decide the types of its columns. Numbers are read as DOUBLE, because DuckDB rounds 1.5 in a
column of integers; dates are text, as the file has them.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from sunrise._common.threads import threads
from sunrise.streams.batches import BATCH, Batches, Columns, FileFormat, require, with_labels

#: Types of DuckDB by the kinds of columns. A column that was empty so far is text.
_SQL_TYPES = {"number": "DOUBLE", "bool": "BOOLEAN", "text": "VARCHAR", "empty": "VARCHAR"}
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_FLOATS = ("FLOAT", "DOUBLE", "DECIMAL", "REAL")
#: Delimiters that take the place of the comma if a header has no comma.
_DELIMITERS = ";\t|"
#: Bytes from which the length of a row is estimated.
_LOOK = 1 << 20


class TextFormat(FileFormat):
    """What CSV and JSON lines have in common."""

    def __init__(self, types: dict[str, str], missing: tuple[str, ...]) -> None:
        self._types, self._missing = types, missing
        #: Columns whose first rows are integers, by file: labels become integers again.
        self._whole: set[tuple[str, str]] = set()
        self.options = [types, list(missing)]

    def columns(self, path: str) -> Columns:
        """Return the names and kinds of the columns of a file, by its first rows."""
        if os.path.getsize(path) == 0:
            raise ValueError(f"{path}: the file is empty. Leave it out.")
        with closing(connect()) as connection:
            found = self._run(path, lambda: connection.sql(f"DESCRIBE {self._sniffed(path)}").fetchall())
        kinds = {}
        for name, dtype, *_ in found:
            kinds[name] = self._types.get(name) or _kind(dtype)
            if dtype.removeprefix("U") in _INTEGERS:
                self._whole.add((path, name))
        words = [name for name, dtype, *_ in found if dtype == "BOOLEAN" and name not in self._types]
        return kinds | dict.fromkeys(self._words_in_place_of_bools(path, words) if words else (), "text")

    def _words_in_place_of_bools(self, path: str, names: list[str]) -> list[str]:
        """Return the columns that DuckDB takes for booleans, but that have other words than true and false."""
        return []

    def unify(self, paths: list[str], columns: list[Columns]) -> list[Columns]:
        """Return the columns of all files: text without any cell in the first rows of a file is an empty column."""
        if unknown := [name for name in self._types if all(name not in own for own in columns)]:
            raise ValueError(f"types names a column {unknown[0]!r}, which the files do not have.")
        known = [dict(own) for own in columns]
        for path, own in zip(paths, known, strict=True):
            doubtful = [
                name
                for name, kind in own.items()
                if kind == "text" and any(other.get(name, kind) != kind for other in columns)
            ]
            if doubtful:
                counts = ", ".join(f"count({_quoted(name)})" for name in doubtful)
                query = f"SELECT {counts} FROM ({self._sniffed(path)} LIMIT 20480)"
                with closing(connect()) as connection:
                    found = self._run(path, connection.sql(query).fetchall)
                own.update((n, "empty") for n, count in zip(doubtful, found[0], strict=True) if not count)
        return known

    def batches(self, path: str, columns: Columns, wanted: Sequence[str], label: Any, skip: bool) -> Batches:
        """Read the wanted columns of a file."""
        for name in wanted:
            if columns[name] not in _SQL_TYPES:
                raise ValueError(
                    f"{path}: column {name!r} holds lists or records, not single values. Leave it out with "
                    f"families={{{name!r}: None}}."
                )
        row_bytes, size = _bytes_of_row(path), os.path.getsize(path)

        def read() -> Iterator[Any]:
            pyarrow = require("pyarrow")
            with closing(connect()) as connection:
                relation = self._run(path, lambda: connection.sql(self._query(path, columns, wanted, skip)))
                reader = self._run(path, lambda: _arrow_reader(relation))
                while (batch := self._run(path, lambda: next(reader, None))) is not None:
                    table = self._checked(pyarrow.Table.from_batches([batch]), batches, skip)
                    table = with_labels(table, label, skip, batches)
                    yield self._with_whole_labels(path, table, label)
                if skip:
                    batches.n_skipped += self._n_rejected(connection)

        batches = Batches(read(), lambda n: min(1.0, n * row_bytes / size))
        return batches

    @abstractmethod
    def _sniffed(self, path: str) -> str:
        """Return the query of all columns with the types that the first rows show."""

    @abstractmethod
    def _query(self, path: str, columns: Columns, wanted: Sequence[str], skip: bool) -> str:
        """Return the query of some columns with known types."""

    @abstractmethod
    def _describe_error(self, path: str, text: str) -> str:
        """Return the error of DuckDB in a few words, with the line if it is known."""

    def _checked(self, table: Any, batches: Batches, skip: bool) -> Any:
        """Return the rows that could be read."""
        return table

    def _n_rejected(self, connection: Any) -> int:
        """Return the number of rows that DuckDB has left out."""
        return 0

    def _with_whole_labels(self, path: str, table: Any, label: Any) -> Any:
        """Return a table whose labels are integers again, if the file has them as integers."""
        if label not in table.column_names or (path, label) not in self._whole:
            return table
        compute, cells = require("pyarrow.compute"), table[label]
        if str(cells.type) != "double" or not compute.all(compute.equal(cells, compute.floor(cells))).as_py():
            return table
        return table.set_column(table.column_names.index(label), label, cells.cast("int64"))

    def _run(self, path: str, call: Callable[[], Any]) -> Any:
        """Call DuckDB; an error names the file and the line."""
        duckdb = require("duckdb")
        try:
            return call()
        except (duckdb.Error, OSError, ValueError) as error:
            if isinstance(error, duckdb.InterruptException) or str(error).startswith("INTERRUPT"):
                raise KeyboardInterrupt from error
            raise ValueError(
                f'{path}: {self._describe_error(path, str(error))} Correct the file, or pass on_bad_rows="skip".'
            ) from error

    def type_remedy(self, name: str) -> str:
        """What a user can do about a column whose type differs between files."""
        return (
            f'Pass sunrise.read_files(paths, types={{{name!r}: "text"}}), or "number" with on_bad_rows="skip" to leave '
            "out the rows that have no number."
        )


class Csv(TextFormat):
    """CSV and TSV with a header line; quotes are doubled inside of quotes."""

    def __init__(self, types: dict[str, str], missing: tuple[str, ...], delimiter: str) -> None:
        super().__init__(types, missing)
        self._delimiter = delimiter
        self._of_file: dict[str, str] = {}

    def columns(self, path: str) -> Columns:
        """Return the names and kinds of the columns of a file, by its first rows."""
        found = super().columns(path)
        (only, *more) = found
        if not more and self._delimiter == ",":
            for other in _DELIMITERS:
                if other in only:
                    self._of_file[path] = other
                    return super().columns(path)
        return found

    def _options(self, path: str) -> str:
        delimiter = self._of_file.get(path, self._delimiter)
        missing = ", ".join(map(_text, self._missing))
        return f"{_text(path)}, header=true, delim={_text(delimiter)}, quote='\"', escape='\"', nullstr=[{missing}]"

    def _sniffed(self, path: str) -> str:
        return f"SELECT * FROM read_csv({self._options(path)}, ignore_errors=true)"

    def _words_in_place_of_bools(self, path: str, names: list[str]) -> list[str]:
        # "yes" and "t" are names of levels: predictions and explanations must show them as the file has them.
        tests = ", ".join(f"bool_and(lower(trim({_quoted(name)})) IN ('true', 'false'))" for name in names)
        rows = (
            f"SELECT * FROM read_csv({self._options(path)}, all_varchar=true, ignore_errors=true) LIMIT 20480"
        )
        with closing(connect()) as connection:
            (found,) = self._run(path, connection.sql(f"SELECT {tests} FROM ({rows})").fetchall)
        return [name for name, is_bool in zip(names, found, strict=True) if is_bool is False]

    def _query(self, path: str, columns: Columns, wanted: Sequence[str], skip: bool) -> str:
        types = ", ".join(f"{_text(name)}: '{_SQL_TYPES.get(k, 'VARCHAR')}'" for name, k in columns.items())
        return (
            f"SELECT {', '.join(map(_quoted, wanted))} FROM read_csv({self._options(path)}, auto_detect=false, "
            f"columns={{{types}}}, store_rejects={str(skip).lower()}, rejects_limit=0)"
        )

    def _n_rejected(self, connection: Any) -> int:
        return int(connection.sql("SELECT count(DISTINCT line) FROM reject_errors").fetchall()[0][0])

    def _describe_error(self, path: str, text: str) -> str:
        line = re.search(r"CSV Error on Line: (\d+)", text)
        own = re.search(r"Original Line: (.*)", text)
        cast = re.search(r'Error when converting column "(.*?)"\. Could not convert string "(.*?)"', text)
        reason = re.search(
            r"(Expected Number of Columns: .*|Value with unterminated quote.*|Invalid unicode.*)", text
        )
        if line is None:
            return f"the file cannot be read as CSV: {text.splitlines()[0]}"
        if cast is not None:
            why = f"column {cast[1]!r} holds {cast[2]!r}, which is not of the type of the column ({_type_of(text)})."
            why += f' For a column of text pass sunrise.read_files(paths, types={{{cast[1]!r}: "text"}}).'
        else:
            found = text.splitlines()[2] if reason is None else reason[0]
            why = f"{found.strip().rstrip('.')}."
        shown = "" if own is None else f" ({own[1].strip()[:80]!r})"
        return f"line {line[1]}{shown}: {why}"


def _type_of(text: str) -> str:
    found = re.search(r"to '(\w+)'", text)
    names = {"DOUBLE": "number", "BOOLEAN": "bool"}
    return names.get(found[1], found[1].lower()) if found else "number"


class JsonLines(TextFormat):
    """JSON lines: one object per line."""

    def _sniffed(self, path: str) -> str:
        options = "format='newline_delimited', ignore_errors=true"
        return f"SELECT * FROM read_json({_text(path)}, {options})"

    def _query(self, path: str, columns: Columns, wanted: Sequence[str], skip: bool) -> str:
        if not skip:
            types = ", ".join(f"{_text(name)}: '{_SQL_TYPES[columns[name]]}'" for name in wanted)
            return (
                f"SELECT {', '.join(map(_quoted, wanted))} FROM read_json({_text(path)}, "
                f"format='newline_delimited', columns={{{types}}})"
            )
        # DuckDB itself would turn bad cells and bad lines into missing cells.
        cells, bad = [], [f"{_JSON} IS NULL"]
        for name in wanted:
            cell, dtype = f"{_JSON}->>{_text(_path_of(name))}", _SQL_TYPES[columns[name]]
            cells.append(f"TRY_CAST({cell} AS {dtype}) AS {_quoted(name)}")
            if dtype != "VARCHAR":
                bad.append(f"({cell} IS NOT NULL AND TRY_CAST({cell} AS {dtype}) IS NULL)")
        rows = f"SELECT json AS {_JSON} FROM read_ndjson_objects({_text(path)}, ignore_errors=true)"
        return f"SELECT {', '.join(cells)}, ({' OR '.join(bad)}) AS {_quoted(_BAD)} FROM ({rows})"

    def _checked(self, table: Any, batches: Batches, skip: bool) -> Any:
        if not skip:
            return table
        bad = table[_BAD]
        kept = table.drop_columns([_BAD]).filter(require("pyarrow.compute").invert(bad))
        batches.n_skipped += table.num_rows - kept.num_rows
        return kept

    def _describe_error(self, path: str, text: str) -> str:
        found = re.search(r"in line (\d+): (.*)", text)
        if found is None:
            return f"the file cannot be read as JSON lines: {text.splitlines()[0]}"
        line, reason = int(found[1]), found[2].strip().rstrip(".")
        if "Malformed" in text:
            line, reason = _malformed_line(path, line), "the line is not one JSON object"
        return f"line {line}: {reason}."


_JSON, _BAD = '"$json"', "$bad"


def _malformed_line(path: str, near: int) -> int:
    """Return the number of the first line that is not JSON, near the one that DuckDB names, which may be the next."""
    import json

    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if number >= near - 1:
                try:
                    json.loads(line or b"null")
                except ValueError:
                    return number
            if number > near:
                break
    return near


def _opened(path: str) -> Any:
    """Open a file that may be compressed."""
    pyarrow = require("pyarrow")
    import io

    return io.BufferedReader(pyarrow.input_stream(path, compression="detect"))


def _bytes_of_row(path: str) -> float:
    """Return the mean number of bytes that a row takes on disk, by the first rows."""
    pyarrow = require("pyarrow")
    kind = {".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(path)[1].lower())
    with open(path, "rb") as raw:
        if kind is None:
            text = raw.read(_LOOK)
            used = len(text)
        else:
            with pyarrow.CompressedInputStream(raw, kind) as stream:
                text, used = stream.read(_LOOK), raw.tell()
    return used / max(1, text.count(b"\n"))


def _kind(dtype: str) -> str:
    """Return the kind of a column by its type in DuckDB."""
    plain = dtype.partition("(")[0].strip('"')
    if plain.endswith("[]") or plain in ("STRUCT", "MAP", "UNION"):
        return "other"
    if plain.removeprefix("U") in _INTEGERS or plain in _FLOATS:
        return "other" if dtype.endswith("]") else "number"
    if plain == "NULL":
        return "empty"
    return "bool" if plain == "BOOLEAN" else "text"


def _path_of(name: str) -> str:
    """Return the path of a key in an object."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'$."{escaped}"'


def _text(value: str) -> str:
    """Return a string as SQL."""
    return "'" + value.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    """Return the name of a column as SQL."""
    return '"' + name.replace('"', '""') + '"'


def connect() -> Any:
    """Return a new connection to an empty database in memory."""
    connection = require("duckdb").connect(config={"threads": threads(None)})
    connection.execute("SET enable_progress_bar = false")  # it would print to standard output
    return connection


def _arrow_reader(relation: Any) -> Iterator[Any]:
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return iter(read(BATCH))


def reader(format: str, types: dict[str, str], missing: tuple[str, ...]) -> FileFormat:
    """Return the reader of a format."""
    require("duckdb")
    if format == "jsonl":
        if missing != ("",):
            raise ValueError("missing= is for CSV and TSV; JSON lines have null. Leave it out.")
        return JsonLines(types, missing)
    return Csv(types, missing, "\t" if format == "tsv" else ",")
