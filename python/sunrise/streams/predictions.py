"""Predictions as a file: written to a temporary file, which takes its name when it is complete."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any, Self

from sunrise.streams.batches import require
from sunrise.streams.files import COMPRESSED, FORMATS, format_of

_CODECS = dict(zip(COMPRESSED, ("gzip", "zstd"), strict=True))


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
        self._temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.tmp")
        self._stream: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def write(self, cells: dict[str, Any]) -> None:
        """Add rows, given by columns."""
        pyarrow = require("pyarrow")
        columns = {
            name: pyarrow.array(values.tolist() if values.dtype.kind in "OU" else values)
            for name, values in cells.items()
        }
        table = pyarrow.table(columns)
        if self._stream is None:
            self._open(table.schema)
        if self._format == "jsonl":
            lines = (json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in table.to_pylist())
            self._stream.write("".join(lines).encode())
        else:
            self._writer.write_table(table)

    def _open(self, schema: Any) -> None:
        pyarrow = require("pyarrow")
        self._stream = pyarrow.output_stream(str(self._temporary), compression=self._codec)
        if self._format == "parquet":
            self._writer = require("pyarrow.parquet").ParquetWriter(self._stream, schema)
        elif self._format == "arrow":
            self._writer = require("pyarrow.ipc").new_file(self._stream, schema)
        elif self._format in ("csv", "tsv"):
            csv = require("pyarrow.csv")
            options = csv.WriteOptions(
                delimiter="\t" if self._format == "tsv" else ",", quoting_style="needed"
            )
            self._writer = csv.CSVWriter(self._stream, schema, write_options=options)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None and self._stream is None:
                raise ValueError("The source has no rows to predict. Pass at least one row.")
            for part in (self._writer, self._stream):
                if part is not None:
                    part.close()
            if kind is None:
                os.replace(self._temporary, self._path)
        finally:
            self._temporary.unlink(missing_ok=True)
