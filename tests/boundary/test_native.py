"""Any argument from Python gives the right answer or a plain error; no native function panics.

Every function and class of `_native` is called in `CALLS`, with arguments that are then replaced by odd ones.
"""

import inspect
import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sunrise import _native
from sunrise.engines import native_weights
from sunrise.forms.table import Table
from sunrise.statistics.moments import Moments
from sunrise.text.alphabet import alphabet, normalise_text


class Reading(NamedTuple):
    """The attributes of a support that native functions read, as a tuple so that each can be replaced."""

    above: float | None = None
    lowest: float = -math.inf
    highest: float = math.inf
    whole: bool = False


ROWS, COLUMNS, CLASSES = 5, 3, 3
REAL, COUNTS, BINARY = Reading(), Reading(lowest=0.0), Reading(above=0.0)
GUARD = 7.0
FUZZ = settings(deadline=None, derandomize=True, database=None)

X = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]], dtype=np.float64)
Y = np.array([0, 1, 2, 1, 0], dtype=np.int32)
W = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
BEGIN = np.append(0, X.sum(axis=1).cumsum()).astype(np.int32)
CSR = X[X != 0], np.nonzero(X)[1].astype(np.int32), BEGIN, COLUMNS
WEIGHTS = np.arange(9.0).reshape(CLASSES, COLUMNS) / 8 - 0.5
PRIOR = np.log([0.25, 0.25, 0.5])
#: A table of columns x classes, the classes padded to a group of four.
PADDED = np.ascontiguousarray(np.pad(WEIGHTS.T, ((0, 0), (0, 1))))
LEVELS = (
    np.array([0, 2, 3, 5]),
    np.array([0, 1, 0, 1, 3]),
    np.array([2, 2, 4]),
    np.pad(np.arange(33.0).reshape(11, CLASSES), ((0, 1), (0, 1))),
    CLASSES,
    False,
)
PLAIN = (WEIGHTS.sum(axis=1) + 3, WEIGHTS + 1, WEIGHTS, None, None, None)
ANCHORED = (WEIGHTS.sum(axis=1), WEIGHTS, WEIGHTS + 1, -1 - WEIGHTS, WEIGHTS / 2, None)
SPARSE = (WEIGHTS.sum(axis=1) + 3, np.zeros(CLASSES), PADDED + 1, PADDED, None, None)
SPARSE_ANCHORED = (
    PRIOR,
    np.zeros(CLASSES),
    PADDED,
    None,
    [PADDED, PADDED / 2, PADDED + 1, -1 - PADDED],
    None,
)
#: Parameters whose weights depend on the missing cells of a row, and cells with some missing.
COMPOSITION = (WEIGHTS - 2, 0.5, True)
SPARSE_COMPOSITION = (np.zeros(CLASSES), np.zeros(CLASSES), None, PADDED, None, COMPOSITION)
HOLES = np.where(np.arange(15).reshape(ROWS, COLUMNS) % 4 == 1, np.nan, X)
SPARSE_HOLES = np.where(np.arange(len(CSR[0])) % 3 == 1, np.nan, CSR[0]), *CSR[1:]
POLYA = (
    PADDED + 1.5,
    1.5 * 3 + WEIGHTS.sum(axis=1),
    np.array([True, False, True]),
    1.0,
    True,
)
DISTANCES = ("log square", WEIGHTS, WEIGHTS / 2, WEIGHTS + 1, -1 - WEIGHTS)
#: Centres, factors, log densities at the centres, degrees of freedom, weight and share.
STUDENTS = (WEIGHTS, np.tile(np.eye(3).ravel(), (3, 1)), np.zeros(3), np.full(3, 4.0), 0.5, 0.1)
FACTORIALS = (
    np.ascontiguousarray(WEIGHTS.T),
    np.ascontiguousarray(-1 - WEIGHTS.T),
    np.ascontiguousarray(WEIGHTS.T + 1),
    np.ascontiguousarray(WEIGHTS.T + 2),
    np.array([1.0, 0.0, 2.0]),
    np.array([0, 1, 0]),
    np.array([1, 4, 0]),
)
FOLDS = (False, 0.0, math.inf, [(1.0, 0.0), (-1.0, 0.0)])
#: Points, weights, offsets, bandwidths, sums of a column and threads: one sum for each class and column.
POINTS = (np.arange(18.0) % 2, np.ones(18), np.arange(0, 20, 2), np.full(9, 0.5), CLASSES, 2)
#: Bounds, shares in the common density, priors, totals, logs of the kernels' integrals, classes, rows and threads.
DENSITY = (
    FOLDS,
    np.full(9, 1 / 3),
    np.full(9, 0.1),
    np.full(9, 2.1),
    np.zeros(9),
    np.zeros(3),
    CLASSES,
    999,
    2,
)
TEXTS = ["a cat and a dog", None, "the dog É Σ", b"bytes", ""]
COUNTER = (
    "word",
    (1, 2),
    True,
    ["and"],
    False,
    None,
    alphabet,
    lambda text: normalise_text(text, True, "unicode"),
    True,
)
CALIBRATION = (
    [np.arange(10.0) / 9, np.arange(20.0) / 7],
    np.tile(PRIOR, (ROWS, 1)),
    Y,
    W,
    np.array([0.5, 1.0, 2.0]),
    np.zeros(CLASSES),
    2,
)
PARAMETERS = np.concatenate(CALIBRATION[4:6])


def same(a, b):
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a).__module__ == "sunrise._native":
        fields = [name for name in dir(a) if not name.startswith("_") and not callable(getattr(a, name))]
        return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in fields)
    if a is None or isinstance(a, str):
        return a == b
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")


def score(blocks, log_prior, fallback, out, output, threads, own=None):
    """Score blocks of (class of the weights, cells, reading, arguments of that class)."""
    made = [(cells, reading, weights(*arguments)) for weights, cells, reading, arguments in blocks]
    return _native.score(made, log_prior, fallback, out, output, threads, own), out


def densities(points, *rest):
    made = _native.KernelDensities(_native.KernelSums(*points), *rest[:-2])
    made.prepare(*rest[-2:])
    return made


def kernel_weights(points, parts, weight):
    return _native.KernelWeights(densities(points, *parts), weight)


def density_cells(points, parts, *arguments):
    return densities(points, *parts).cells(*arguments)


def density_left_out(points, parts, *arguments):
    return densities(points, *parts).left_out(*arguments)


def density_holds(points, parts, *arguments):
    return densities(points, *parts).holds(*arguments)


def made(name):
    """Make an object and return nothing: its arguments count only when it is used."""
    return lambda *arguments: type(getattr(_native, name)(*arguments)).__name__


def normalise(*arguments):
    return _native.normalise(*arguments), arguments[0]


def written(function, *places):
    """The arguments of a function that writes its results into some of them."""

    def call(*arguments):
        function(*arguments)
        return [arguments[place] for place in places]

    return call


def log_sums(points, *arguments):
    return _native.KernelSums(*points).log_sums(*arguments)


def count(settings, texts, words, threads):
    vocabulary = None if words is None else _native.Words(words)
    return _native.TextCounter(*settings).count(texts, vocabulary, threads)


def words(list_of_words, word):
    made = _native.Words(list_of_words)
    some = made.select(made.n_items(True) < 2)
    assert len(some) <= len(made)
    return len(made), made.words().tolist(), made.find(word)


def from_arrow(make):
    """What pyarrow makes of odd values is not tested here."""
    try:
        return make()
    except (pa.ArrowException, AttributeError, KeyError) as error:
        raise ValueError(error) from None


def arrow(values, rows):
    array = from_arrow(lambda: pa.chunked_array([pa.array(part) for part in values]))
    column = _native.arrow_column(array)
    return len(column), column.kind, column.dtype, column.take(rows)


def arrow_table(table):
    return [(name, len(column)) for name, column in _native.arrow_table(from_arrow(lambda: pa.table(table)))]


def scoring(weights, cells, reading, arguments, shape=(CLASSES,), dtype=np.float64):
    """Make arguments of `score`; its output has a guard before and after it."""
    return lambda: [
        [(weights, cells, reading, arguments)],
        PRIOR,
        PRIOR,
        np.full((ROWS + 2, *shape), GUARD, dtype)[1:-1],
        "proba",
        2,
    ]


def columns(*views):
    return [(X[:, 0] + 1, view) for view in views]


#: Two blocks of columns, one of them with a length, of three rows and two classes.
TEMPERATURE = (
    [np.array([[1.0, -2.0, 0.5]]), np.array([[0.1, 0.2, -0.3]])],
    np.array([[0.7, 1.5, 3.0]]),
    np.full((2, 3), -0.7),
    np.array([0, 1, 1], np.int32),
    np.ones(3),
    -0.5,
    np.array([-0.3]),
    np.array([0.1, -0.1]),
    2,
)

#: A function and what makes arguments it accepts.
CALLS = {
    "encode_integers": (_native.encode_integers, lambda: [Y.astype(np.int64)]),
    "encode_strings": (_native.encode_strings, lambda: [np.frombuffer(b"aabbaacc", np.uint8), 2]),
    "encode_column": (_native.encode_column, lambda: [X[:, 0].copy(), 2]),
    "encode_objects": (_native.encode_objects, lambda: [np.array(["a", None, "b", math.nan], object)]),
    "few_values": (_native.few_values, lambda: [np.array([1.0, np.nan, 1.0, 0.5]), 5]),
    "on_lattices": (
        _native.on_lattices,
        lambda: [
            np.array([0.25, 0.3, -1.0]),
            np.array([1, 2, 1]),
            np.array([1.0, 0.5, 2.0]),
            np.array([0, 2, 3]),
            np.array([0.25, 0.0]),
            2,
        ],
    ),
    "map_codes": (_native.map_codes, lambda: [Y, np.array([5, 6, 7], np.int32)]),
    "bins": (_native.bins, lambda: [X[:, 0].copy(), np.array([0.0, 1.0])]),
    "map_pairs": (_native.map_pairs, lambda: [[(Y, Y, np.zeros((9, 9), np.int32))], 2]),
    "summary": (_native.summary, lambda: [X[:, 0].copy(), W, 20]),
    "take_numbers": (_native.take_numbers, lambda: [X[:, 0].copy(), np.array([0, 3, 4])]),
    "ArrowColumn": (arrow, lambda: [[["a", None], ["b"]], [0, 2, 1]]),
    "ArrowColumn_numbers": (arrow, lambda: [[[1.5, None], [2.5]], [0, 2, 1]]),
    "arrow_table": (arrow_table, lambda: [{"x": [1, 2], "y": ["a", "b"]}]),
    "column_ranges": (_native.column_ranges, lambda: [X, REAL, W, 2]),
    "column_ranges_csr": (_native.column_ranges, lambda: [CSR, REAL, W, 2]),
    "class_totals": (_native.class_totals, lambda: [Y, W, CLASSES]),
    "sums_dense": (_native.accumulate_sums, lambda: [X, COUNTS, Y, W, CLASSES, 2]),
    "sums_sparse": (_native.accumulate_sums, lambda: [CSR, COUNTS, Y, W, CLASSES, 2]),
    "sums_sparse_binary": (_native.accumulate_sums, lambda: [CSR, BINARY, Y, W, CLASSES, 2]),
    "sums_columns": (
        _native.accumulate_sums,
        lambda: [columns("x", "cos x", "log x!", "sin x", "log(1 - x)"), REAL, Y, W, CLASSES, 2],
    ),
    "moments_dense": (_native.accumulate_moments, lambda: [X, REAL, Y, W, CLASSES, 2]),
    "moments_sparse": (_native.accumulate_moments, lambda: [CSR, REAL, Y, W, CLASSES, 2]),
    "moments_columns": (_native.accumulate_moments, lambda: [columns("log x"), COUNTS, Y, W, CLASSES, 2]),
    "counts_dense": (_native.count_levels, lambda: [X, Y, W, CLASSES, 2]),
    "counts_integer": (_native.count_levels, lambda: [X.astype(np.int64), Y, W, CLASSES, 2]),
    "counts_sparse": (_native.count_levels, lambda: [CSR, Y, W, CLASSES, 2]),
    "counts_columns": (_native.count_levels, lambda: [[(Y, "level"), (Y, "level")], Y, W, CLASSES, 2]),
    "row_totals_sparse": (_native.count_row_totals, lambda: [CSR, Y, W, CLASSES, 2]),
    "documents_sparse": (
        written(_native.count_documents, 4, 5),
        lambda: [CSR, Y, W, CLASSES, np.zeros((CLASSES, 4), np.int64), np.zeros((CLASSES, 4)), 2],
    ),
    "hash_texts": (_native.hash_texts, lambda: [["a", b"b", None, "\ud800é"], 7, 2]),
    "log_odds": (
        written(_native.log_odds, 3),
        lambda: [WEIGHTS + 1, np.ones(COLUMNS), 0.5, np.zeros((COLUMNS, 4)), 2],
    ),
    "log_odds_left_out_sparse": (
        _native.log_odds_left_out,
        lambda: [CSR, Y, W, WEIGHTS + 9, np.ones(COLUMNS), 0.5, PADDED, np.zeros((COLUMNS + 1, 8)), 2],
    ),
    "log_odds_left_out_bands": (
        _native.log_odds_left_out_bands,
        lambda: [
            CSR,
            Y,
            W,
            WEIGHTS + 9,
            np.ones(COLUMNS),
            0.5,
            PADDED,
            np.zeros(COLUMNS, np.uint8),
            2,
            np.zeros((COLUMNS + 1, 8)),
            2,
        ],
    ),
    "fit_word_weights": (
        _native.fit_word_weights,
        lambda: [
            CSR[2].astype(np.int64),
            CSR[1].astype(np.int32),
            CSR[0].astype(np.float32),
            np.zeros((len(Y), CLASSES)),
            np.abs(Y),
            np.ones(len(Y)),
            COLUMNS,
            np.zeros((len(Y), CLASSES), np.float32),
            0.5,
            1e-5,
            20,
            2,
        ],
    ),
    "DenseWeights": (made("DenseWeights"), lambda: [*ANCHORED]),
    "SparseWeights": (made("SparseWeights"), lambda: [*SPARSE_ANCHORED]),
    "LevelScores": (made("LevelScores"), lambda: [*LEVELS]),
    "PolyaWeights": (made("PolyaWeights"), lambda: [*POLYA]),
    "DistanceWeights": (made("DistanceWeights"), lambda: [*DISTANCES]),
    "FactorialWeights": (made("FactorialWeights"), lambda: [*FACTORIALS]),
    "StudentWeights": (made("StudentWeights"), lambda: [*STUDENTS]),
    "score_students": (score, scoring(_native.StudentWeights, X, REAL, STUDENTS)),
    "score_sparse_students": (score, scoring(_native.StudentWeights, CSR, REAL, STUDENTS)),
    "score_distances": (score, scoring(_native.DistanceWeights, X, REAL, DISTANCES)),
    "score_sparse_distances": (score, scoring(_native.DistanceWeights, CSR, REAL, DISTANCES)),
    "score_factorials": (score, scoring(_native.FactorialWeights, X, COUNTS, FACTORIALS)),
    "score_sparse_factorials": (score, scoring(_native.FactorialWeights, CSR, COUNTS, FACTORIALS)),
    "score_dense": (score, scoring(_native.DenseWeights, X, COUNTS, PLAIN)),
    "score_anchored": (score, scoring(_native.DenseWeights, X, REAL, ANCHORED)),
    "score_columns": (
        score,
        scoring(_native.DenseWeights, [(X[:, j].copy(), "x") for j in range(COLUMNS)], COUNTS, PLAIN),
    ),
    "score_best": (score, scoring(_native.DenseWeights, X, BINARY, PLAIN, shape=(), dtype=np.int64)),
    "score_composition": (
        score,
        scoring(
            _native.DenseWeights, HOLES, COUNTS, (np.zeros(CLASSES), None, WEIGHTS, None, None, COMPOSITION)
        ),
    ),
    "score_sparse_composition": (
        score,
        scoring(_native.SparseWeights, SPARSE_HOLES, COUNTS, SPARSE_COMPOSITION),
    ),
    "score_sparse": (score, scoring(_native.SparseWeights, CSR, COUNTS, SPARSE)),
    "score_sparse_anchored": (score, scoring(_native.SparseWeights, CSR, REAL, SPARSE_ANCHORED)),
    "score_table": (score, scoring(_native.LevelScores, X, REAL, LEVELS)),
    "score_sparse_table": (score, scoring(_native.LevelScores, CSR, REAL, LEVELS)),
    "score_polya": (score, scoring(_native.PolyaWeights, X, COUNTS, POLYA)),
    "score_sparse_polya": (score, scoring(_native.PolyaWeights, CSR, COUNTS, POLYA)),
    "score_kernel": (score, scoring(kernel_weights, X, COUNTS, (POINTS, DENSITY, np.ones(3)))),
    "normalise": (normalise, lambda: [WEIGHTS.copy(), PRIOR, "log_proba"]),
    "log_sums": (log_sums, lambda: [POINTS, np.array([0, 4, 8]), np.array([0.0, 1.0, 9.0]), FOLDS, 2]),
    "log_sums_removed": (
        log_sums,
        lambda: [
            POINTS,
            np.array([0, 4]),
            np.array([0.0, 1.0]),
            FOLDS,
            2,
            (np.array([0.0, 1.0] * 2), np.ones(4)),
        ],
    ),
    "density_cells": (density_cells, lambda: [POINTS, DENSITY, X, COUNTS, 2]),
    "density_left_out": (
        density_left_out,
        lambda: [POINTS, DENSITY, X, COUNTS, Y, np.ones(CLASSES), np.ones(COLUMNS), True, 2],
    ),
    "density_left_out_cells": (
        density_left_out,
        lambda: [POINTS, DENSITY, X, COUNTS, Y, np.ones(CLASSES), None, False, 2],
    ),
    "density_holds": (density_holds, lambda: [POINTS, DENSITY, X, COUNTS, Y, np.ones(CLASSES), 2]),
    "leave_one_out_scores": (
        _native.leave_one_out_scores,
        lambda: [X, REAL, Y, PRIOR, WEIGHTS, WEIGHTS, WEIGHTS / 9, WEIGHTS / 9, 2],
    ),
    "log_loss": (_native.log_loss, lambda: [*CALIBRATION]),
    "log_loss_hessian": (_native.log_loss_hessian, lambda: [*CALIBRATION, 1]),
    "temperature_loss": (_native.temperature_loss, lambda: [*TEMPERATURE]),
    "temperature_curvature": (_native.temperature_curvature, lambda: [*TEMPERATURE]),
    "temperature_best": (_native.temperature_best, lambda: [*TEMPERATURE]),
    "calibration_scores": (_native.calibration_scores, lambda: [*CALIBRATION]),
    "row_losses": (_native.row_losses, lambda: [*CALIBRATION[:4], [PARAMETERS, 2.0 * PARAMETERS], 2]),
    "pair_slopes": (
        _native.pair_slopes,
        lambda: [
            [np.array([0, 1, -1], np.int32), np.array([1, 0, 1], np.int32)],
            [2, 2],
            np.array([0, 1, 1], np.int32),
            np.ones(3),
            np.arange(3),
            np.full((3, 2), 0.5),
            np.zeros(3, np.int32),
            [(0, 1)],
            2,
            2,
            2,
        ],
    ),
    "pair_lifts": (
        _native.pair_lifts,
        lambda: [
            [np.array([0, 1, -1], np.int32), np.array([1, 0, 1], np.int32)],
            [2, 2],
            np.array([0, 1, 1], np.int32),
            np.ones(3),
            np.array([0, 2]),
            [(0, 1)],
            2,
            2,
        ],
    ),
    "solve_positive": (_native.solve_positive, lambda: [np.eye(3), np.ones(3)]),
    "level_differences": (
        _native.level_differences,
        lambda: [
            [np.array([0, 1, -1], np.int32)],
            [np.array([0, 1])],
            np.ones((2, 2)),
            np.zeros((2, 2)),
            np.array([0, 1, 1], np.int32),
            np.arange(3),
            np.zeros((3, 1, 2)),
            1,
            2,
        ],
    ),
    "accumulate_products": (
        _native.accumulate_products,
        lambda: [np.array([[1.0, 2.0], [np.nan, 0.0]]), np.array([0, 1], np.int32), np.ones(2), 2, 2],
    ),
    "squared_distances": (
        _native.squared_distances,
        lambda: [np.array([[1.0, 2.0], [3.0, 0.0]]), np.zeros(4), np.tile(np.eye(2).ravel(), 2), 2],
    ),
    "distances_from_two": (
        _native.distances_from_two,
        lambda: [
            np.array([[1.0, 2.0], [3.0, 0.0]]),
            np.array([0, 1], np.int32),
            np.zeros(4),
            np.tile(np.eye(2).ravel(), 2),
            2,
        ],
    ),
    "Alphabet": (made("Alphabet"), lambda: [[(97, 100)], [32], [(65, [97]), (66, [98, 99])]]),
    "Words": (words, lambda: [["a", "é", "\ud800", "a word beyond sixteen bytes"], "é"]),
    "count": (count, lambda: [COUNTER, TEXTS, None, 2]),
    "count_known": (count, lambda: [COUNTER, TEXTS, ["cat", "dog"], 2]),
    "count_arrow": (
        count,
        lambda: [COUNTER, _native.arrow_column(pa.array(["a dog", None, "Σ É"])), None, 2],
    ),
    "count_hashed": (count, lambda: [("char_wb", (1, 3), True, None, True, 8, *COUNTER[6:]), TEXTS, None, 2]),
    "scale_counts": (
        written(_native.scale_counts, 7),
        lambda: [CSR[0], CSR[1], CSR[2].astype(np.int64), PRIOR, "log", 1.0, 20.0, np.zeros(len(CSR[0])), 2],
    ),
    "stretch_counts": (
        _native.stretch_counts,
        lambda: [
            CSR[0],
            CSR[1],
            CSR[2].astype(np.int64),
            np.arange(COLUMNS) > 0,
            np.zeros(len(CSR[2]) - 1, bool),
            True,
            0.35,
            2,
        ],
    ),
    "move_word_columns": (
        _native.move_word_columns,
        lambda: [
            CSR[0],
            CSR[1],
            CSR[2].astype(np.int64),
            np.arange(-1, COLUMNS - 1, dtype=np.int32),
            np.ones(COLUMNS),
            np.ones(len(CSR[2]) - 1),
            2,
        ],
    ),
}
#: Names of `_native` that a call reaches through an object, or that are no functions.
REACHED = {
    "TextCounter": "count",
    "TokenCounts": "count",
    "KernelSums": "log_sums",
    "KernelWeights": "score_kernel",
    "KernelDensities": "density_cells",
    "MomentSums": "moments_dense",
    "LevelCounts": "counts_dense",
    "ColumnSummary": "summary",
    "arrow_column": "ArrowColumn",
    "count_documents": "documents_sparse",
    "count_levels": "counts_dense",
    "count_row_totals": "row_totals_sparse",
    "accumulate_sums": "sums_dense",
    "accumulate_moments": "moments_dense",
    "log_odds_left_out": "log_odds_left_out_sparse",
    "score": "score_dense",
    "CellError": None,
    "NotCanonical": None,
    "GROUP": None,
}
every_call = pytest.mark.parametrize("function, arguments", CALLS.values(), ids=CALLS)
readers = pytest.mark.parametrize("name", ["sums_dense", "moments_dense", "counts_dense", "score_dense"])


def branches(tree, path=()):
    """Paths to all parts of nested arguments."""
    for k, part in enumerate(tree):
        yield (*path, k)
        if isinstance(part, tuple | list):
            yield from branches(part, (*path, k))


def at(tree, path):
    return at(tree[path[0]], path[1:]) if path else tree


def put(tree, path, new):
    if not path:
        return new
    parts = [put(part, path[1:], new) if k == path[0] else part for k, part in enumerate(tree)]
    return Reading(*parts) if isinstance(tree, Reading) else type(tree)(parts)


def with_cells(name, cells):
    function, arguments = CALLS[name]
    return function, put(arguments(), (0, 0, 1) if function is score else (0,), cells)


def test_every_export_is_called():
    """A function, class or method that nobody fuzzes fails here: add it to CALLS."""
    exported = {name for name in dir(_native) if not name.startswith("_")}
    assert exported == CALLS.keys() & exported | REACHED.keys()
    assert not CALLS.keys() & REACHED.keys()
    assert {call for call in REACHED.values() if call} <= CALLS.keys()
    methods = {
        f"{name}.{method}"
        for name in exported
        if inspect.isclass(kind := getattr(_native, name)) and not issubclass(kind, Exception)
        for method in dir(kind)
        if not method.startswith("_") and callable(getattr(kind, method))
    }
    assert methods == {
        "ArrowColumn.take",
        "KernelDensities.cells",
        "KernelDensities.holds",
        "KernelDensities.left_out",
        "KernelDensities.prepare",
        "KernelSums.log_sums",
        "TextCounter.count",
        "Words.find",
        "Words.n_items",
        "Words.select",
        "Words.words",
    }


def test_calls_reach_the_functions_they_stand_for(monkeypatch):
    for name in sorted(name for name in dir(_native) if inspect.isbuiltin(getattr(_native, name))):
        call = REACHED.get(name, name)
        function, arguments = CALLS[call]
        reached = []
        real = getattr(_native, name)
        if function is real:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(_native, name, lambda *a, real=real, reached=reached: reached.append(1) or real(*a))
            if inspect.isfunction(function) and function.__closure__:  # bound before it was replaced
                assert any(cell.cell_contents is real for cell in function.__closure__), name
                continue
            function(*arguments())
        assert reached, name


@every_call
def test_layout_of_any_array_changes_no_bit_or_is_refused(function, arguments, layout, outcome):
    plain = function(*arguments())
    for path in branches(arguments()):
        if isinstance(part := at(arguments(), path), np.ndarray):
            result = outcome(function, *put(arguments(), path, layout(part)))
            assert result is None or same(result, plain), path


@readers
@pytest.mark.parametrize("dtype", list("?bhiqBHIQefdgFDOUSmV"))
def test_dtype_of_the_cells_changes_no_bit_or_is_refused(name, dtype, outcome):
    function, given = with_cells(name, X.astype(dtype))
    result = outcome(function, *given)
    assert result is None or same(result, function(*with_cells(name, X)[1]))


@readers
def test_bools_do_not_enter(name):
    # A byte of 2 is true to NumPy and undefined to Rust: Python hands over bytes instead.
    function, given = with_cells(name, X.astype(bool))
    with pytest.raises(TypeError):
        function(*given)
    with pytest.raises(TypeError):
        _native.encode_integers(np.array([True]))


@readers
def test_cells_may_repeat_by_a_stride_of_zero(name):
    for repeated in np.broadcast_to(X[:1], X.shape), np.broadcast_to(X[:, :1], X.shape):
        function, given = with_cells(name, repeated)
        assert same(function(*given), function(*with_cells(name, repeated.copy())[1]))


SHAPES = [(), (0,), (1,), (3,), (5,), (0, 0), (0, 3), (5, 0), (3, 3), (5, 3), (2, 2, 2)]
ODDITIES = [
    *(np.zeros(shape, dtype) for shape in SHAPES for dtype in [*"?biqBQefdgDOUV", ">f8", ">i4", "M8[s]"]),
    *("joint", "dense", "sparse", "table", "nonsense", "\ud800", b"", (), [], {}, object(), None, True, 0.5),
    # Memory for sizes between 1000 and 2**62 might be had, and would cost the tests too much.
    *(math.nan, math.inf, -1, 0, 1, 2, 4, 7, 1000, 2**62, 2**63, 2**64),
]
NUMBERS = [math.nan, math.inf, -math.inf, -1, 0.5, 3, 4, 2**31 - 1, 2**53, 2**62, 1e300, -(2**63)]


@every_call
def test_any_oddity_in_place_of_any_argument_is_taken_or_refused(function, arguments, outcome):
    for path in branches(arguments()):
        for oddity in ODDITIES:
            outcome(function, *put(arguments(), path, oddity))


@every_call
@settings(FUZZ, max_examples=150)
@given(data=st.data())
def test_several_oddities_at_once_are_taken_or_refused(function, arguments, outcome, data):
    odd = arguments()
    room = odd[3] if function is score else None
    for _ in range(3):
        path = data.draw(st.sampled_from([*branches(odd)]))
        new = at(odd, path)
        if isinstance(new, np.ndarray) and new.size and new.dtype.kind in "if":
            new = new.copy()
            with np.errstate(all="ignore"):
                number = np.float64(data.draw(st.sampled_from(NUMBERS))).astype(new.dtype)
            new.flat[data.draw(st.integers(0, new.size - 1))] = number
        else:
            new = data.draw(st.sampled_from(ODDITIES))
        odd = put(odd, path, new)
    outcome(function, *odd)
    assert room is None or (room.base[[0, -1]] == GUARD).all(), "written outside of the room"


ENDS = [2**31 - 1, -(2**31), -1]


@settings(FUZZ, max_examples=500)
@given(
    data=st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5, -1.0, math.nan, math.inf]), max_size=4),
    indices=st.lists(st.sampled_from([0, 0, 1, 1, 2, 2, 3, *ENDS]), max_size=4),
    indptr=st.lists(st.sampled_from([0, 0, 1, 2, 2, 3, 4, *ENDS]), max_size=4),
    monotone=st.booleans(),
    columns=st.sampled_from([1, COLUMNS]),
    dtypes=st.tuples(st.sampled_from("df"), st.sampled_from("iq"), st.sampled_from("iq")),
)
def test_broken_sparse_cells_are_refused(outcome, data, indices, indptr, monotone, columns, dtypes):
    indptr = sorted(indptr) if monotone else indptr
    csr = (*map(np.array, (data, indices, indptr), dtypes), columns)
    used = slice(indptr[0], indptr[-1]) if indptr else slice(0)
    sound = (
        dtypes[1] == dtypes[2]
        and indptr == sorted(indptr) != []
        and 0 <= used.start <= used.stop <= min(len(data), len(indices))
        and all(0 <= j < columns for j in indices[used])
    )
    rows = max(len(indptr) - 1, 0)
    for name in (name for name in CALLS if "sparse" in name):
        function, given = with_cells(name, csr)
        if function is score:
            given[3] = np.empty((rows, CLASSES))
        else:
            place = next(k for k, part in enumerate(given) if part is Y)
            given[place : place + 2] = np.zeros(rows, np.int32), None
        result = outcome(function, *given)
        assert sound or result is None, name
        if name == "sums_sparse" and result is not None:
            assert same(result[0][:columns], np.bincount(indices[used], np.nan_to_num(data[used]), columns))


LABELS = st.sampled_from([-(2**63), 1 - 2**63, -(2**31), -1, 0, 1, 2, 1023, 1024, 2**31, 2**62, 2**63 - 1])


@settings(FUZZ)
@given(st.lists(LABELS), st.sampled_from("qibBHI"))
def test_labels_at_the_ends_of_their_range_are_coded(labels, dtype):
    y = np.array(labels, np.int64).astype(dtype)
    assert same(_native.encode_integers(y), np.unique(y.astype(np.int64), return_inverse=True))


WHOLE = st.sampled_from([0, 1, 7, 8, 65535, 65536, 2**31, 2**53, 2**62, 2**63 - 1, -1, -(2**63)])
REALS = st.sampled_from([0.0, 1.0, 7.0, 65536.0, 2.0**53, 2.0**62, -1.0, 0.5, 1e300, math.inf, -math.inf])


@settings(FUZZ, max_examples=300)
@given(st.lists(WHOLE, min_size=1, max_size=3) | st.lists(REALS, min_size=1, max_size=3))
def test_levels_are_counted_and_looked_up_or_refused_whatever_the_layout(outcome, cells):
    x = np.repeat(np.array(cells)[:, None], COLUMNS, axis=1)
    good = all(0 <= c <= 2**53 and c % 1 == 0 for c in cells)
    table = Table(*LEVELS[:3], LEVELS[3][:-1, :CLASSES])
    for view in x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]:
        room = np.empty((len(x), CLASSES))
        block = view, REAL, native_weights.level_scores(table)
        counts = outcome(_native.count_levels, view, np.zeros(len(x), np.int32), None, 1, 1)
        notes = outcome(_native.score, [block], PRIOR, PRIOR, room, "joint", 1)
        if good:
            assert same(counts.codes, [*np.unique(x)] * COLUMNS)
            assert np.allclose(room, table.cells(x.astype(float)).sum(axis=2) + PRIOR)
        else:
            assert counts is notes is None


@pytest.mark.parametrize("rows, columns, classes", [(0, 3, 2), (5, 0, 2), (0, 0, 2), (0, 3, 0), (0, 0, 0)])
def test_nothing_adds_up_to_nothing(rows, columns, classes):
    y, empty = np.zeros(rows, np.int32), np.zeros(rows + 1, np.int32)
    for x in np.zeros((rows, columns)), (np.zeros(0), empty[:0], empty, columns):
        assert same(
            _native.accumulate_sums(x, REAL, y, None, classes, 1), (np.zeros(classes * columns), None)
        )
        m = _native.accumulate_moments(x, REAL, y, None, classes, 1)
        parts = m.rows, m.weight, m.x, m.x2, m.anchor, m.error
        assert {part.shape for part in parts} == {(classes, columns if classes else 0)}
        assert len(_native.count_levels(x, y, None, classes, 1).offsets) == columns + 1


@pytest.mark.parametrize("rows", [0, 7, 5000])
def test_the_rounding_error_of_moments_is_that_of_the_array_engine(rows):
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, 4)) * [1.0, 1e-200, 1e100, 1e300] + [1e9, 0.0, 0.0, 1e300]
    x[rng.random(x.shape) < 0.1] = np.nan
    y, w = rng.integers(0, CLASSES, rows).astype(np.int32), rng.integers(0, 3, rows) / 2
    for weight in None, w:
        m = _native.accumulate_moments(x, REAL, y, weight, CLASSES, 1)
        assert same(m.error, Moments.of(m.rows, m.weight, m.x, m.x2, m.anchor).error)


@pytest.mark.parametrize(
    "y, w", [([0, 1, 2, 1, 3], None), ([0] * 4, None), ([0] * 6, None), ([0] * 5, [1.0])]
)
def test_labels_and_weights_that_do_not_fit_are_refused(y, w):
    y, w = np.array(y, np.int32), w and np.array(w)
    for cells in X, CSR:
        for function, *reading in (
            (_native.accumulate_sums, REAL),
            (_native.accumulate_moments, REAL),
            (_native.count_levels,),
        ):
            with pytest.raises(ValueError, match=r"label code|weights"):
                function(cells, *reading, y, w, CLASSES, 1)
    # A negative code is no misfit: its row counts for nothing.
    assert same(_native.class_totals(np.array([-1, 0, -(2**31)], np.int32), None, 2), ([1, 0], [1.0, 0.0]))


def test_room_that_is_also_read_is_refused():
    for room in X, X[::-1], X.ravel().view(np.int64)[:ROWS]:
        with pytest.raises(TypeError):
            score([(_native.DenseWeights, X, REAL, PLAIN)], PRIOR, PRIOR, room, "joint", 1)


@pytest.mark.parametrize("classes", [1, 2, 4, 8])
@pytest.mark.parametrize("columns", [2**60, 2**62, 2**63, 2**64 - 1], ids=hex)
def test_sizes_beyond_all_memory_are_refused(columns, classes, outcome):
    # Products of such sizes may wrap around to a small one that seems to fit.
    wide = np.ones(1), np.array([5]), np.array([0, 1]), columns
    y, zeros = np.zeros(1, np.int32), np.zeros(classes)
    block = wide, REAL, _native.SparseWeights(zeros, zeros, x=np.empty((0, 4)))
    assert outcome(_native.accumulate_sums, wide, REAL, y, None, classes, 1) is None
    assert outcome(_native.accumulate_moments, wide, REAL, y, None, classes, 1) is None
    assert outcome(_native.count_levels, wide, y, None, classes, 1) is None
    assert outcome(_native.score, [block], zeros, zeros, np.empty((1, classes)), "joint", 1) is None


def test_memory_that_cannot_be_had_does_not_end_the_process(refused_without_memory):
    setting = """
from sunrise._native import *
from sunrise.statistics.support import REAL as real
x, y, one = np.broadcast_to(1.0, (1, 2**40)), np.zeros(1, np.int32), np.zeros(1)
blocks = [(x, real, DenseWeights(one))]"""
    calls = [
        "class_totals(y, None, 2**31 - 1)",
        "accumulate_sums(x, real, y, None, 1, 1)",
        "accumulate_moments(x, real, y, None, 1, 1)",
        "count_levels(x, y, None, 1, 1)",
        "score(blocks, one, one, np.empty((1, 1)), 'joint', 1)",
    ]
    assert refused_without_memory(setting, calls) == calls


def test_objects_are_encoded_if_all_are_strings_or_missing():
    objects = np.array(["a", None, "b", "a"], dtype=object)
    first, codes = _native.encode_objects(objects)
    assert (first.tolist(), codes.tolist()) == ([0, 2], [0, -1, 1, 0])
    assert _native.encode_objects(objects[::-2])[1].tolist() == [0, -1]
    for missing in (None, math.nan, np.float64("nan"), pd.NA, pd.NaT):
        objects[3] = missing
        assert _native.encode_objects(objects)[1].tolist() == [0, -1, 1, -1]
    for odd in (1, 0.5, math.inf, b"a", "\ud800", [], object()):
        objects[3] = odd
        assert _native.encode_objects(objects) is None
    for wrong in (np.zeros(3), "abc", None, np.empty((2, 2), dtype=object)):
        with pytest.raises(TypeError):
            _native.encode_objects(wrong)


@pytest.mark.parametrize("wrong", [None, 1, "x", object(), np.zeros(2), [1, 2]])
def test_what_is_no_arrow_data_is_refused(wrong):
    for read in (_native.arrow_column, _native.arrow_table):
        with pytest.raises(TypeError, match="Arrow PyCapsule interface"):
            read(wrong)


def test_capsules_of_another_kind_are_refused():
    class Liar:
        def __init__(self, answer):
            self.answer = answer

        def __arrow_c_stream__(self, requested_schema=None):
            return self.answer

    import datetime

    for answer in (None, 1, datetime.datetime_CAPI):
        with pytest.raises((TypeError, ValueError)):
            _native.arrow_column(Liar(answer))


def test_a_capsule_is_consumed_once():
    column, table = pa.array([1.5, None]), pa.table({"x": [1, 2]})

    class Again:
        """Gives the same capsules at every call."""

        def __init__(self, name, capsules):
            setattr(Again, name, lambda self, requested_schema=None: capsules)

    for name, capsules in (
        ("__arrow_c_array__", column.__arrow_c_array__()),
        ("__arrow_c_stream__", table.__arrow_c_stream__()),
    ):
        again = Again(name, capsules)
        assert _native.arrow_column(again) is not None
        for _ in range(2):
            with pytest.raises(ValueError, match="read before"):
                _native.arrow_column(again)


def test_weights_whose_arrays_were_changed_in_place_are_refused():
    changed = [array.copy() for array in PLAIN[:3]]
    weights = _native.DenseWeights(*changed)
    for array, attribute, value in (
        (changed[1], "shape", (9,)),
        (changed[2], "dtype", np.int64),
        (changed[0], "shape", (1, 3)),
    ):
        before = getattr(array, attribute)
        setattr(array, attribute, value)
        with pytest.raises(TypeError):
            _native.score([(X, COUNTS, weights)], PRIOR, PRIOR, np.empty((ROWS, CLASSES)), "joint", 1)
        setattr(array, attribute, before)
    assert _native.score([(X, COUNTS, weights)], PRIOR, PRIOR, np.empty((ROWS, CLASSES)), "joint", 1) == 0
