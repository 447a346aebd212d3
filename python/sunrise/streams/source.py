"""Sources: tables in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from sunrise.data.columns import library_of


class Piece(NamedTuple):
    """A batch of rows: a table that `frame_of` reads, and where it comes from."""

    table: Any
    #: Name of the file or kind of the source, for error texts.
    origin: str
    #: Number of rows of the source before this batch.
    first_row: int
    #: Bytes of the source that have been read with this batch, if known.
    n_bytes: int = 0
    #: Number of the file, and of the batch in the file.
    place: tuple[int, int] = (0, 0)


class Source(ABC):
    """A table in batches."""

    #: True if `pieces` can be called several times.
    repeats: bool = True
    #: Size in bytes, if known.
    n_bytes: int | None = None
    #: Names of the columns, if they are known before the batches are read.
    names: tuple[Any, ...] | None = None

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Read the batches, in order."""

    def select(self, columns: Sequence[Any], label: Any = None) -> Source:
        """Return a source that reads only these columns, if it can; `label` names the column of labels."""
        return self

    def close(self) -> None:
        """End the reading of batches that have not been read to the end, so that a connection is free again."""


class Frames(Source):
    """A list of frames, or a function that returns an iterator of frames."""

    def __init__(self, frames: Sequence[Any] | Callable[[], Iterator[Any]]) -> None:
        self._frames = frames

    def pieces(self) -> Iterator[Piece]:
        """Read the frames, in order."""
        return _numbered(self._frames() if callable(self._frames) else iter(self._frames), "batch")


class OnePass(Source):
    """An iterator of frames or a reader of Arrow batches, which can be read only once."""

    repeats = False

    def __init__(self, frames: Iterator[Any]) -> None:
        self._frames = frames

    def pieces(self) -> Iterator[Piece]:
        """Read the frames, in order."""
        return _numbered(self._frames, "batch")


def _numbered(frames: Iterator[Any], kind: str) -> Iterator[Piece]:
    first = 0
    for number, frame in enumerate(frames):
        yield Piece(frame, f"{kind} {number}", first)
        first += n_rows_of(frame)


def n_rows_of(frame: Any) -> int:
    """Return the number of rows of a frame of any library."""
    return int(frame.num_rows if hasattr(frame, "num_rows") else len(frame))


#: Functions that return the source of an argument, or None. Other modules append theirs.
FINDERS: list[Callable[[Any], Source | None]] = []
#: Modules that append a finder, by the package of the arguments that need it; imported with the first of these.
_LATE = {"pyspark": "sunrise.cluster.spark"}


def source_of(X: Any) -> Source | None:
    """Return the source that an argument stands for; None for a table in memory.

    >>> source_of([[1.0, 2.0]]) is None, type(source_of(iter([]))).__name__
    (True, 'OnePass')
    """
    if isinstance(X, Source):
        return X
    if (late := _LATE.get(type(X).__module__.partition(".")[0])) is not None:
        import_module(late)
    for find in FINDERS:
        if (source := find(X)) is not None:
            return source
    if hasattr(X, "read_next_batch"):  # pyarrow.RecordBatchReader
        return OnePass(iter(X))
    if hasattr(X, "__next__"):
        return OnePass(X)
    if isinstance(X, list | tuple) and X and all(_is_frame(frame) for frame in X):
        return Frames(X)
    return Frames(X) if callable(X) and not hasattr(X, "shape") and not isinstance(X, type) else None


def _is_frame(frame: Any) -> bool:
    return library_of(frame) is not None and hasattr(frame, "columns")
