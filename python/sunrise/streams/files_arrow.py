"""Parquet and Arrow IPC files, read by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sunrise._common.threads import threads
from sunrise.streams.batches import BATCH, Batches, Columns, FileFormat, require, with_labels

#: Names that pandas gives to an index without a name.
_INDEX = re.compile(r"__index_level_\d+__")


class Parquet(FileFormat):
    """Parquet files. Text is read as dictionaries, so that every level is decoded once."""

    def columns(self, path: str) -> Columns:
        """Return the names and kinds of the columns of a file."""
        with self._opened(path) as file:
            return kinds_of(file.schema_arrow)

    def batches(self, path: str, columns: Columns, wanted: Sequence[str], label: Any, skip: bool) -> Batches:
        """Read the wanted columns of a file."""
        n_rows = 1

        def read() -> Iterator[Any]:
            nonlocal n_rows
            pyarrow = require("pyarrow")
            texts = [name for name in wanted if columns[name] == "text"]
            with self._opened(path, texts) as file:
                n_rows = max(1, file.metadata.num_rows)
                found = file.iter_batches(BATCH, columns=list(wanted), use_threads=threads(None) > 1)
                for batch in found:
                    yield with_labels(pyarrow.Table.from_batches([batch]), label, skip, batches)

        batches = Batches(read(), lambda n: min(1.0, n / n_rows))
        return batches

    @contextmanager
    def _opened(self, path: str, texts: Sequence[str] = ()) -> Iterator[Any]:
        pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
        with named_errors(path, "Parquet"), parquet.ParquetFile(path, read_dictionary=list(texts)) as file:
            if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
                raise pyarrow.ArrowInvalid("two columns have the same name")
            yield file

    def type_remedy(self, name: str) -> str:
        """What a user can do about a column whose type differs between files."""
        return "Convert the column to one type in all files."


class ArrowIpc(FileFormat):
    """Arrow IPC files (Feather) and streams; streams may be compressed as a whole."""

    def columns(self, path: str) -> Columns:
        """Return the names and kinds of the columns of a file."""
        with self._opened(path) as reader:
            return kinds_of(reader.schema)

    def batches(self, path: str, columns: Columns, wanted: Sequence[str], label: Any, skip: bool) -> Batches:
        """Read the wanted columns of a file."""
        share = 0.0

        def read() -> Iterator[Any]:
            nonlocal share
            pyarrow = require("pyarrow")
            with self._opened(path) as reader:
                fields = [reader.schema.get_field_index(name) for name in wanted]
            with self._opened(path, fields) as reader:
                n = getattr(reader, "num_record_batches", None)
                found = reader if n is None else map(reader.get_batch, range(n))
                for k, batch in enumerate(found):
                    share = (k + 1) / n if n else 0.5
                    table = pyarrow.Table.from_batches([batch]).select(list(wanted))
                    yield with_labels(table, label, skip, batches)

        batches = Batches(read(), lambda n: share)
        return batches

    @contextmanager
    def _opened(self, path: str, fields: Sequence[int] | None = None) -> Iterator[Any]:
        pyarrow, ipc = require("pyarrow"), require("pyarrow.ipc")
        options = ipc.IpcReadOptions(included_fields=None if fields is None else list(fields))
        with named_errors(path, "Arrow IPC"):
            if path.endswith((".gz", ".zst")):
                with pyarrow.input_stream(path, compression="detect") as stream:
                    yield ipc.open_stream(stream, options=options)
                return
            with pyarrow.memory_map(path) as file:
                is_file = file.read(6) == b"ARROW1"
                file.seek(0)
                yield (ipc.open_file if is_file else ipc.open_stream)(file, options=options)

    def type_remedy(self, name: str) -> str:
        """What a user can do about a column whose type differs between files."""
        return "Convert the column to one type in all files."


@contextmanager
def named_errors(path: str, kind: str) -> Iterator[None]:
    """Let errors of pyarrow name the file."""
    pyarrow = require("pyarrow")
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(
            f"{path}: the file cannot be read as {kind}: {str(error).splitlines()[0]} Write the file again, or leave "
            "it out."
        ) from error


def kinds_of(schema: Any) -> Columns:
    """Return the names and kinds of the columns of an Arrow schema; the index of a pandas frame is no column."""
    return {field.name: _kind(field.type) for field in schema if not _INDEX.fullmatch(field.name)}


def _kind(dtype: Any) -> str:
    types = require("pyarrow.types")
    if types.is_dictionary(dtype):
        return _kind(dtype.value_type)
    if types.is_boolean(dtype):
        return "bool"
    if types.is_null(dtype):
        return "empty"
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    if types.is_string(dtype) or types.is_large_string(dtype) or str(dtype) == "string_view":
        return "text"
    if types.is_temporal(dtype):
        return "duration" if types.is_duration(dtype) else "dates"
    return "other"


def reader(format: str, types: dict[str, str], missing: tuple[str, ...]) -> FileFormat:
    """Return the reader of a format."""
    if types or missing != ("",):
        raise ValueError(
            f"types and missing are for CSV, TSV and JSON lines; a file in the format {format} has types. Leave the "
            "options out."
        )
    require("pyarrow")
    return Parquet() if format == "parquet" else ArrowIpc()
