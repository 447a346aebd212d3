"""Predictions as a file, written to a temporary file that takes its name when it is complete, or as a stream."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Self

from sunrise.store.files import temporary_beside
from sunrise.streams.batches import require
from sunrise.streams.files import COMPRESSED, FORMATS, format_of

_CODECS = dict(zip(COMPRESSED, ("gzip", "zstd"), strict=True))


class Rows:
    """Rows that are written to an open stream in one of the formats."""

    def __init__(self, stream: Any, format: str) -> None:
        self._stream, self._format = stream, format
        self._writer: Any = None

    def write(self, cells: dict[str, Any]) -> None:
        """Add rows, given by columns: arrays of NumPy or of Arrow."""
        pyarrow = require("pyarrow")
        table = pyarrow.table({name: _arrow_cells(pyarrow, values) for name, values in cells.items()})
        if self._format == "jsonl":
            lines = (json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in table.to_pylist())
            self._stream.write("".join(lines).encode())
            return
        if self._writer is None:
            self._open(table.schema)
        self._writer.write_table(table)

    def _open(self, schema: Any) -> None:
        if self._format == "parquet":
            self._writer = require("pyarrow.parquet").ParquetWriter(self._stream, schema)
        elif self._format == "arrow":
            self._writer = require("pyarrow.ipc").new_file(self._stream, schema)
        else:
            csv = require("pyarrow.csv")
            options = csv.WriteOptions(
                delimiter="\t" if self._format == "tsv" else ",", quoting_style="needed"
            )
            self._writer = csv.CSVWriter(self._stream, schema, write_options=options)

    def close(self) -> None:
        """Write what ends a file; the stream stays open."""
        if self._writer is not None:
            self._writer.close()


def _arrow_cells(pyarrow: Any, values: Any) -> Any:
    if not hasattr(values, "dtype"):
        return values
    return pyarrow.array(values.tolist() if values.dtype.kind in "OU" else values)


class PredictionStream(Rows):
    """Predictions on standard output."""

    def __init__(self, format: str) -> None:
        super().__init__(sys.stdout.buffer, format)
        self._is_empty = True

    def __enter__(self) -> Self:
        return self

    def write(self, cells: dict[str, Any]) -> None:
        """Add rows, and pass them on at once."""
        super().write(cells)
        self._stream.flush()
        self._is_empty = False

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            if self._is_empty:
                raise ValueError(_NO_ROWS)
            self.close()
            self._stream.flush()


_NO_ROWS = "The source has no rows to predict. Pass at least one row."


class PredictionFile:
    """A file of predictions; if the body of the context raises, also by Ctrl-C, no file is left."""

    def __init__(self, path: Any) -> None:
        self._path = Path(os.fspath(path))
        self._format = format_of(str(self._path))
        self._codec = _CODECS.get(self._path.suffix.lower())
        if self._format is None:
            raise ValueError(
                f"to={str(path)!r} has no ending of a known format: {', '.join(FORMATS)}. Name the file, for example, "
                "predictions.parquet."
            )
        if self._codec is not None and self._format in ("parquet", "arrow"):
            raise ValueError(
                f"to={str(path)!r}: a file in the format {self._format} is compressed inside. Leave out the ending "
                f"{self._path.suffix}."
            )
        if not self._path.parent.is_dir():
            raise FileNotFoundError(
                f"to={str(path)!r}: the folder {str(self._path.parent)!r} does not exist."
            )
        require("pyarrow")
        self._temporary = temporary_beside(self._path)
        self._stream: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def write(self, cells: dict[str, Any]) -> None:
        """Add rows, given by columns."""
        if self._stream is None:
            self._stream = require("pyarrow").output_stream(str(self._temporary), compression=self._codec)
            self._writer = Rows(self._stream, str(self._format))
        self._writer.write(cells)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None and self._stream is None:
                raise ValueError(_NO_ROWS)
            for part in (self._writer, self._stream):
                if part is not None:
                    part.close()
            if kind is None:
                os.replace(self._temporary, self._path)
        finally:
            self._temporary.unlink(missing_ok=True)
