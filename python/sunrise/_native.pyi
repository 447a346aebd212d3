"""The kernels in Rust; arrays in, arrays out. See crates/sunrise-py."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Cells = NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
Reading = tuple[float | None, float, float]
Output = Literal["joint", "log_proba", "proba"]

GROUP: int

class CellError(ValueError): ...
class NotCanonical(ValueError): ...

def encode_integers(y: NDArray[Any]) -> tuple[Integers, Codes]: ...
def encode_strings(bytes: NDArray[np.uint8], width: int) -> tuple[Integers, Codes]: ...
def totals(y: Codes, w: Floats | None, classes: int) -> tuple[Integers, Floats]: ...
def sums_of(
    x: Cells, reading: Reading, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Floats, tuple[Integers, Floats] | None]: ...
def moments_of(
    x: Cells, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Integers, Floats, Floats, Floats, Floats]: ...
def counts_of(
    x: Cells, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Integers, Integers, Integers, Floats]: ...
def score(
    blocks: list[tuple[str, tuple[Any, ...]]],
    log_prior: Floats,
    fallback: Floats,
    room: Floats | Integers,
    output: Output,
    threads: int,
) -> tuple[int, list[int]]: ...
def normalise(scores: Floats, fallback: Floats, output: Output) -> int: ...
