"""The kernels in Rust; arrays in, arrays out. See crates/sunrise-py."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]

class ArrowColumn:
    kind: str
    dtype: str
    def __len__(self) -> int: ...
    def take(self, rows: list[int]) -> list[Any]: ...

Source = NDArray[Any] | ArrowColumn
Cells = NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int] | list[tuple[Source, str]]
Reading = tuple[float | None, float, float, bool]
Output = Literal["joint", "log_proba", "proba"]

GROUP: int

class KernelSums:
    def __init__(
        self, points: Floats, weight: Floats, offsets: Integers, widths: Floats, per_column: int, threads: int
    ) -> None: ...
    def log_sums(
        self,
        at: Integers,
        x: Floats,
        folds: tuple[bool, float, float, list[tuple[float, float]]],
        threads: int,
        taken: tuple[Floats, Floats] | None = None,
    ) -> Floats: ...

class Alphabet:
    def __init__(
        self, words: list[tuple[int, int]], spaces: list[int], lower: list[tuple[int, list[int]]]
    ) -> None: ...

class Words:
    def __init__(self, list: list[str]) -> None: ...
    def __len__(self) -> int: ...
    def words(self) -> NDArray[np.object_]: ...
    def find(self, word: str) -> int: ...

class TextCounter:
    def __init__(
        self,
        analyzer: str,
        ngrams: tuple[int, int],
        lowercase: bool,
        stop: list[str] | None,
        binary: bool,
        hash_bits: int | None,
        alphabet: Callable[[], Alphabet],
        prepare: Callable[[str], str],
        accents: bool,
    ) -> None: ...
    def count(
        self, texts: list[Any] | ArrowColumn, vocabulary: Words | None, threads: int
    ) -> tuple[Integers, Codes, Floats, Integers, NDArray[np.bool_], Words | None]: ...

class CellError(ValueError): ...
class NotCanonical(ValueError): ...

def arrow_column(object: Any) -> ArrowColumn: ...
def arrow_table(object: Any) -> list[tuple[str, ArrowColumn]]: ...
def summary(column: Source, w: Floats | None, most: int) -> tuple[float, float, float, bool, int, bool]: ...
def encode_column(column: Source, threads: int) -> tuple[Integers, Codes]: ...
def replaced(codes: Codes, to: Codes) -> Codes: ...
def encode_objects(objects: NDArray[np.object_]) -> tuple[Integers, Codes] | None: ...
def numbers_of(column: Source, rows: Integers) -> Floats: ...
def encode_integers(y: NDArray[Any]) -> tuple[Integers, Codes]: ...
def encode_strings(bytes: NDArray[np.uint8], width: int) -> tuple[Integers, Codes]: ...
def totals(y: Codes, w: Floats | None, classes: int) -> tuple[Integers, Floats]: ...
def sums_of(
    x: Cells, reading: Reading, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Floats, tuple[Integers, Floats] | None]: ...
def moments_of(
    x: Cells, reading: Reading, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Integers, Floats, Floats, Floats, Floats]: ...
def counts_of(
    x: Cells, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Integers, Integers, Integers, Floats]: ...
def stored_of(
    x: Cells, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Integers, Integers, Integers, Floats]: ...
def score(
    blocks: list[tuple[str, tuple[Any, ...]]],
    log_prior: Floats,
    fallback: Floats,
    room: Floats | Integers,
    output: Output,
    threads: int,
    own: tuple[Codes, Floats] | None = None,
) -> tuple[int, list[int]]: ...
def own(
    cells: Cells,
    reading: Reading,
    labels: Codes,
    constant: Floats,
    base: Floats,
    anchor: Floats,
    q: Floats,
    p: Floats,
    threads: int,
) -> Floats: ...
def loss(
    cells: Floats,
    prior: Floats,
    labels: Codes,
    weight: Floats,
    columns: Floats,
    offsets: Floats,
    threads: int,
) -> tuple[float, Floats, Floats]: ...
def curvature(
    cells: Floats,
    prior: Floats,
    labels: Codes,
    weight: Floats,
    columns: Floats,
    offsets: Floats,
    threads: int,
) -> Floats: ...
def scaled(
    counts: Floats,
    indices: Codes,
    indptr: Integers,
    factors: Floats | None,
    frequency: str,
    length: float,
    total: float | None,
    room: Floats,
    threads: int,
) -> None: ...
def documents_of(
    rows: Cells, y: Codes, w: Floats | None, classes: int, found: Integers, sums: Floats, threads: int
) -> None: ...
def odds(x: Floats, alpha: float, room: Floats, threads: int) -> None: ...
def odds_left_out(
    rows: Cells,
    y: Codes,
    w: Floats | None,
    x: Floats,
    alpha: float,
    odds: Floats,
    room: Floats,
    threads: int,
) -> Floats: ...
def normalise(scores: Floats, fallback: Floats, output: Output) -> int: ...
