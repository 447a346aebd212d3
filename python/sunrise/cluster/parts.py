"""Parts of a fit as bytes: statistics and samples of partitions, which add up to those of all rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

from sunrise.data.kept_rows import KeptRows
from sunrise.store.accumulator import Accumulator
from sunrise.store.container import unpack
from sunrise.store.errors import ModelFileError
from sunrise.store.state import open_parts, to_pieces
from sunrise.store.values import Writer
from sunrise.streams.sample import ContentSample

_SAMPLE = "sample"


def to_bytes(part: Accumulator | ContentSample) -> bytes:
    """Return the statistics or the sample of a partition as bytes."""
    if isinstance(part, Accumulator):
        return part.to_bytes()
    writer = Writer()
    parts = {
        "most": part.most,
        "n_seen": part.n_seen,
        "rows": writer.write(part.rows, "the sample"),
        "hashes": writer.write(part.hashes, "the sample"),
    }
    return b"".join(to_pieces(_SAMPLE, parts, writer))


def sample_from_bytes(data: bytes) -> ContentSample:
    """Return the sample that `to_bytes` has written."""
    spec, reader = open_parts(unpack(data), _SAMPLE)
    rows, hashes = reader.read(spec["rows"]), reader.read(spec["hashes"])
    if not isinstance(rows, KeptRows | None) or hashes.shape != (0 if rows is None else rows.n_rows,):
        raise ModelFileError("The sample of a partition is not valid.")
    return ContentSample.of(int(spec["most"]), rows, int(spec["n_seen"]), hashes)


def from_bytes(data: bytes, kind: str) -> Any:
    """Return the part of this kind ("statistics" or "sample") that `to_bytes` has written."""
    return sample_from_bytes(data) if kind == _SAMPLE else Accumulator.from_bytes(data)


def merged(parts: Iterable[bytes], kind: str) -> Any:
    """Return the sum of parts in their order; only two of them are unpacked at a time."""
    return reduce(add, (from_bytes(part, kind) for part in parts))
