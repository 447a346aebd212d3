"""Checkpoints: the state of an unfinished fit to files, so that a new call goes on where a killed process stopped.

A checkpoint is a file in the layout of a model file. It holds the fingerprint of the fit (files with sizes and times,
settings, columns), the place of the last batch that was added, and either the sample of the first pass or schema and
statistics of the second one. Batches are added in the same order after a resumption, so the result has the same bits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any

from sunrise.store.container import unpack
from sunrise.store.errors import ModelFileError
from sunrise.store.files import read_bytes, remove_temporary, write_atomically
from sunrise.store.state import open_parts, read_schema, read_stats, to_pieces, write_schema, write_stats
from sunrise.store.values import CannotSaveError, Reader, Writer

#: Seconds between two checkpoints.
SECONDS = 30.0


@dataclass
class State:
    """The state of a fit after some batches: a sample, or a schema with its statistics."""

    #: Place of the last batch that was added in the present pass.
    place: tuple[int, int] | None = None
    #: Number of rows that were read in the present pass.
    n_rows: int = 0
    #: The sample of the first pass as values; None in the second pass.
    sample: dict[str, Any] | None = None
    schema: Any = None
    stats: Any = None
    calibration: Any = None
    score: float | None = None
    #: Number of skipped rows by file.
    skipped: dict[str, int] = field(default_factory=dict)


class Checkpoint:
    """The file of a checkpoint; without a path nothing is written."""

    def __init__(self, path: Any, fingerprint: Callable[[], dict[str, Any]]) -> None:
        self.path = None if path is None else Path(os.fspath(path))
        self._written = monotonic()
        self._fingerprint: dict[str, Any] = {} if self.path is None else fingerprint()

    @property
    def is_due(self) -> bool:
        """True if a checkpoint has to be written now."""
        return self.path is not None and monotonic() - self._written >= SECONDS

    def save(self, state: State) -> None:
        """Replace the file by one with this state."""
        writer = Writer()
        values = {
            name: writer.write(getattr(state, name), name)
            for name in ("n_rows", "sample", "calibration", "score", "skipped")
        }
        parts = {
            "fingerprint": self._fingerprint,
            "place": state.place,
            "values": values,
            "schema": None if state.schema is None else write_schema(state.schema, writer),
            "stats": None if state.stats is None else write_stats(state.stats, writer),
        }
        write_atomically(self.path, to_pieces("checkpoint", parts, writer))
        self._written = monotonic()

    def load(self) -> State:
        """Return the state of an earlier call with the same fingerprint; an empty state without a file."""
        if self.path is None or not self.path.exists():
            return State()
        remove_temporary(self.path)
        try:
            # A copy: statistics must not refer to a file that is replaced.
            parts, reader = open_parts(unpack(bytes(read_bytes(self.path))), "checkpoint")
            self._refuse_other_fit(parts["fingerprint"])
            return _read_state(parts, reader)
        except ModelFileError as error:
            raise ModelFileError(f"checkpoint {str(self.path)!r}: {error} Or delete the file.") from None

    def _refuse_other_fit(self, found: dict[str, Any]) -> None:
        for what, own in self._fingerprint.items():
            if found.get(what) != own:
                raise ValueError(
                    f"The checkpoint {str(self.path)!r} belongs to another fit: {what} differ. Pass another path, or "
                    "delete the file to begin anew."
                )

    def remove(self) -> None:
        """Delete the file after a fit that has succeeded."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            remove_temporary(self.path)


def _read_state(parts: dict[str, Any], reader: Reader) -> State:
    values = {name: reader.read(value) for name, value in parts["values"].items()}
    state = State(place=None if parts["place"] is None else tuple(parts["place"]), **values)
    if parts["schema"] is not None:
        state.schema = read_schema(parts["schema"], reader)
        state.stats = read_stats(parts["stats"], reader, state.schema) if parts["stats"] else None
    return state


def digest_of(value: Any, what: str) -> str:
    """Return a digest of a value that a model file can hold; raise TypeError for other values."""
    writer = Writer()
    try:
        text = json.dumps(writer.write(value, what))
    except CannotSaveError as error:
        raise TypeError(
            f"checkpoint= needs arguments that a model file can hold: {error.place} is of type "
            f"{type(error.value).__name__}. Use plain values and families of this library, or fit without checkpoint=."
        ) from None
    digest = blake2b(text.encode(), digest_size=16)
    for name in sorted(writer.arrays):
        digest.update(writer.arrays[name].tobytes())
    return digest.hexdigest()
