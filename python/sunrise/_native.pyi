"""Native functions in Rust: arrays in, arrays out. See crates/sunrise-py."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

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

class Reading(Protocol):
    """The attributes of a support that say how a cell is read."""

    @property
    def above(self) -> float | None: ...
    @property
    def lowest(self) -> float: ...
    @property
    def highest(self) -> float: ...
    @property
    def whole(self) -> bool: ...

Folds = tuple[bool, float, float, list[tuple[float, float]]]
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
        folds: Folds,
        threads: int,
        removed: tuple[Floats, Floats] | None = None,
    ) -> Floats: ...

class KernelDensities:
    def __init__(
        self,
        sums: KernelSums,
        folds: Folds,
        common: Floats,
        prior: Floats,
        total: Floats,
        log_width: Floats,
        step: Floats,
        classes: int,
    ) -> None: ...
    def prepare(self, rows: int, threads: int) -> None: ...
    def cells(self, cells: Cells, support: Reading, threads: int) -> Floats: ...
    def holds(self, cells: Cells, support: Reading, y: Codes, row_weight: Floats, threads: int) -> bool: ...
    def left_out(
        self,
        cells: Cells,
        support: Reading,
        y: Codes,
        row_weight: Floats,
        weight: Floats | None,
        check: bool,
        threads: int,
    ) -> Floats: ...

class Alphabet:
    def __init__(
        self, words: list[tuple[int, int]], spaces: list[int], lower: list[tuple[int, list[int]]]
    ) -> None: ...

class Words:
    def __init__(self, list: list[str]) -> None: ...
    def __len__(self) -> int: ...
    def words(self) -> NDArray[np.object_]: ...
    def n_items(self, words: bool) -> NDArray[np.uint32]: ...
    def select(self, keep: NDArray[np.bool_]) -> Words: ...
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
    ) -> TokenCounts: ...

class TokenCounts:
    indptr: Integers
    indices: Codes
    data: Floats
    lengths: Integers
    missing: NDArray[np.bool_]
    words: Words | None

class ColumnSummary:
    cells: float
    low: float
    high: float
    whole: bool
    distinct: int
    numbering: bool

class MomentSums:
    rows: Integers
    weight: Floats
    x: Floats
    x2: Floats
    anchor: Floats
    error: Floats

class LevelCounts:
    offsets: Integers
    codes: Integers
    rows: Integers
    weight: Floats

class DenseWeights:
    def __init__(
        self,
        constant: Floats,
        base: Floats | None = None,
        x: Floats | None = None,
        x2: Floats | None = None,
        anchor: Floats | None = None,
        composition: tuple[Floats, float, bool] | None = None,
    ) -> None: ...

class SparseWeights:
    def __init__(
        self,
        constant: Floats,
        residue: Floats,
        zero: Floats | None = None,
        x: Floats | None = None,
        about: list[Floats] | None = None,
        composition: tuple[Floats, float, bool] | None = None,
    ) -> None: ...

class LevelScores:
    def __init__(
        self,
        offsets: Integers,
        codes: Integers,
        sizes: Integers,
        values: Floats,
        classes: int,
        refuse_unseen: bool = False,
    ) -> None: ...

class PolyaWeights:
    def __init__(
        self,
        concentration: Floats,
        total: Floats,
        known: NDArray[np.bool_] | None = None,
        weight: float = 1.0,
        moderate: bool = False,
    ) -> None: ...

class KernelWeights:
    def __init__(self, densities: KernelDensities, weight: Floats) -> None: ...

class DistanceWeights:
    def __init__(self, curve: str, base: Floats, anchor: Floats, scale: Floats, power: Floats) -> None: ...

class StudentWeights:
    def __init__(
        self,
        centres: Floats,
        factors: Floats,
        constant: Floats,
        freedom: Floats,
        weight: float,
        share: float,
    ) -> None: ...

class FactorialWeights:
    def __init__(
        self,
        base: Floats,
        slope: Floats,
        shape: Floats,
        gap: Floats | None,
        weight: Floats,
        lows: Integers,
        sizes: Integers,
    ) -> None: ...

Weights = (
    DenseWeights
    | SparseWeights
    | LevelScores
    | PolyaWeights
    | KernelWeights
    | DistanceWeights
    | FactorialWeights
    | StudentWeights
)

class CellError(ValueError): ...
class NotCanonical(ValueError): ...

def arrow_column(object: Any) -> ArrowColumn: ...
def arrow_table(object: Any) -> list[tuple[str, ArrowColumn]]: ...
def summary(column: Source, w: Floats | None, most: int) -> ColumnSummary: ...
def encode_column(column: Source, threads: int) -> tuple[Integers, Codes]: ...
def on_lattices(
    x: Floats, rows: Integers, weight: Floats, offsets: Integers, steps: Floats, threads: int
) -> tuple[Integers, Floats, Integers, Floats]: ...
def few_values(x: Floats, most: int) -> tuple[Floats, Codes] | None: ...
def map_codes(codes: Codes, to: Codes) -> Codes: ...
def bins(x: Floats, edges: Floats) -> Codes: ...
def map_pairs(pairs: Sequence[tuple[Codes, Codes, Codes]], threads: int) -> list[Codes]: ...
def encode_objects(objects: NDArray[np.object_]) -> tuple[Integers, Codes] | None: ...
def take_numbers(column: Source, rows: Integers) -> Floats: ...
def encode_integers(y: NDArray[Any]) -> tuple[Integers, Codes]: ...
def encode_strings(bytes: NDArray[np.uint8], width: int) -> tuple[Integers, Codes]: ...
def class_totals(y: Codes, w: Floats | None, classes: int) -> tuple[Integers, Floats]: ...
def column_ranges(x: Cells, support: Reading, w: Floats | None, threads: int) -> tuple[Floats, Floats]: ...
def accumulate_sums(
    x: Cells, support: Reading, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Floats, tuple[Integers, Floats] | None]: ...
def accumulate_moments(
    x: Cells, support: Reading, y: Codes, w: Floats | None, classes: int, threads: int
) -> MomentSums: ...
def count_levels(x: Cells, y: Codes, w: Floats | None, classes: int, threads: int) -> LevelCounts: ...
def count_row_totals(x: Cells, y: Codes, w: Floats | None, classes: int, threads: int) -> LevelCounts: ...
def score(
    blocks: Sequence[tuple[Cells, Reading, Weights]],
    log_prior: Floats,
    fallback: Floats,
    out: Floats | Integers,
    output: Output,
    threads: int,
    own: tuple[Codes, Floats] | None = None,
) -> int: ...
def leave_one_out_scores(
    cells: Cells,
    support: Reading,
    labels: Codes,
    constant: Floats,
    base: Floats,
    anchor: Floats,
    q: Floats,
    p: Floats,
    threads: int,
) -> Floats: ...
def log_loss(
    cells: list[Floats],
    prior: Floats,
    labels: Codes,
    weight: Floats,
    column_weights: Floats,
    class_offsets: Floats,
    threads: int,
) -> tuple[float, Floats, Floats]: ...
def log_loss_hessian(
    cells: list[Floats],
    prior: Floats,
    labels: Codes,
    weight: Floats,
    column_weights: Floats,
    class_offsets: Floats,
    threads: int,
    step: int = 1,
) -> Floats: ...
def temperature_loss(
    blocks: list[Floats],
    lengths: Floats,
    prior: Floats,
    labels: Codes,
    weight: Floats,
    log_t: float,
    exponents: Floats,
    offsets: Floats,
    threads: int,
) -> tuple[float, Floats, Floats]: ...
def temperature_curvature(
    blocks: list[Floats],
    lengths: Floats,
    prior: Floats,
    labels: Codes,
    weight: Floats,
    log_t: float,
    exponents: Floats,
    offsets: Floats,
    threads: int,
) -> Floats: ...
def temperature_best(
    blocks: list[Floats],
    lengths: Floats,
    prior: Floats,
    labels: Codes,
    weight: Floats,
    log_t: float,
    exponents: Floats,
    offsets: Floats,
    threads: int,
) -> Codes: ...
def calibration_scores(
    cells: list[Floats],
    prior: Floats,
    labels: Codes,
    weight: Floats,
    column_weights: Floats,
    class_offsets: Floats,
    threads: int,
) -> Floats: ...
def row_losses(
    cells: list[Floats],
    prior: Floats,
    labels: Codes,
    weight: Floats,
    parameters: Sequence[Floats],
    threads: int,
) -> Floats: ...
def pair_slopes(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    weight: Floats,
    rows: Integers,
    probabilities: Floats,
    folds: Codes,
    pairs: Sequence[tuple[int, int]],
    n_folds: int,
    n_classes: int,
    threads: int,
) -> tuple[Floats, Floats]: ...
def pair_lifts(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    weight: Floats,
    rows: Integers,
    pairs: Sequence[tuple[int, int]],
    n_classes: int,
    threads: int,
) -> Floats: ...
def solve_positive(matrix: Floats, right: Floats) -> Floats | None: ...
def level_differences(
    columns: Sequence[Codes],
    entries: Sequence[Integers],
    values: Floats,
    own: Floats,
    labels: Codes,
    rows: Integers,
    out: Floats,
    first: int,
    threads: int,
) -> bool: ...
def accumulate_products(
    x: Floats, y: Codes, w: Floats | None, classes: int, threads: int
) -> tuple[Integers, Floats, Floats, Floats]: ...
def squared_distances(x: Floats, centres: Floats, factors: Floats, threads: int) -> Floats: ...
def distances_from_two(
    x: Floats, labels: Codes, centres: Floats, factors: Floats, threads: int
) -> Floats: ...
def hash_texts(texts: list[Any], missing: int, threads: int) -> NDArray[np.uint64]: ...
def scale_counts(
    counts: Floats,
    indices: Codes,
    indptr: Integers,
    factors: Floats | None,
    frequency: str,
    length: float,
    total: float | None,
    out: Floats,
    threads: int,
) -> None: ...
def stretch_counts(
    counts: Floats,
    indices: Codes,
    indptr: Integers,
    known: NDArray[np.bool_],
    whole: NDArray[np.bool_],
    squared: bool,
    power: float,
    threads: int,
) -> Floats: ...
def move_word_columns(
    counts: Floats,
    indices: Codes,
    indptr: Integers,
    place: Codes,
    of_word: Floats,
    of_document: Floats,
    threads: int,
) -> tuple[Integers, Codes, NDArray[np.float32]]: ...
def count_documents(
    rows: Cells, y: Codes, w: Floats | None, classes: int, documents: Integers, sums: Floats, threads: int
) -> None: ...
def log_odds(x: Floats, factors: Floats, alpha: float, out: Floats, threads: int) -> None: ...
def log_odds_left_out(
    rows: Cells,
    y: Codes,
    w: Floats | None,
    x: Floats,
    factors: Floats,
    alpha: float,
    log_odds: Floats,
    out: Floats,
    threads: int,
) -> Floats: ...
def log_odds_left_out_bands(
    rows: Cells,
    y: Codes,
    w: Floats | None,
    x: Floats,
    factors: Floats,
    alpha: float,
    log_odds: Floats,
    of_column: NDArray[np.uint8],
    count: int,
    out: Floats,
    threads: int,
) -> Floats: ...
def fit_word_weights(
    indptr: Integers,
    indices: Codes,
    data: NDArray[np.float32],
    offsets: Floats,
    y: Codes,
    weight: Floats,
    words: int,
    start: NDArray[np.float32],
    penalty: float,
    tolerance: float,
    steps: int,
    threads: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]: ...
def normalise(scores: Floats, fallback: Floats, output: Output) -> int: ...
