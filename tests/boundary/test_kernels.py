"""Whatever Python passes to the kernels, they answer rightly or raise a plain error; they never panic."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sunrise import _native
from sunrise.engines import native
from sunrise.forms import Linear, Table

ROWS, COLUMNS, CLASSES = 5, 3, 3
REAL, COUNTS = (None, -math.inf, math.inf, False), (None, 0.0, math.inf, False)
BINARY = (0.0, -math.inf, math.inf, False)
GUARD = 7.0
FUZZ = settings(deadline=None, derandomize=True, database=None)

X = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]], dtype=np.float64)
Y = np.array([0, 1, 2, 1, 0], dtype=np.int32)
W = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
BEGIN = np.append(0, X.sum(axis=1).cumsum()).astype(np.int32)
CSR = X[X != 0], np.nonzero(X)[1].astype(np.int32), BEGIN, COLUMNS
WEIGHTS = np.arange(9.0).reshape(CLASSES, COLUMNS) / 8 - 0.5
PLAIN = Linear(base=WEIGHTS + 1, x=WEIGHTS)
ANCHORED = Linear(base=WEIGHTS, x=WEIGHTS + 1, x2=-1 - WEIGHTS, anchor=WEIGHTS / 2)
LEVELS = Table(
    offsets=np.array([0, 2, 3, 5]),
    codes=np.array([0, 1, 0, 1, 3]),
    sizes=np.array([2, 2, 4]),
    values=np.arange(33.0).reshape(11, CLASSES),
)
PRIOR = np.log([0.25, 0.25, 0.5])


def same(a, b):
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")


def score(*arguments):
    return _native.score(*arguments), arguments[3]


def normalise(*arguments):
    return _native.normalise(*arguments), arguments[0]


def scoring(kind, *block, shape=(CLASSES,), dtype=np.float64):
    """Makes arguments of `score`, whose room has a guard before and after it."""
    return lambda: [
        [(kind, block)],
        PRIOR,
        PRIOR,
        np.full((ROWS + 2, *shape), GUARD, dtype)[1:-1],
        "proba",
        2,
    ]


#: A kernel and what makes arguments it likes.
CALLS = {
    "encode_integers": (_native.encode_integers, lambda: [Y.astype(np.int64)]),
    "encode_column": (_native.encode_column, lambda: [X[:, 0].copy(), 2]),
    "replaced": (_native.replaced, lambda: [Y, np.array([5, 6, 7], np.int32)]),
    "summary": (_native.summary, lambda: [X[:, 0].copy(), W, 20]),
    "numbers_of": (_native.numbers_of, lambda: [X[:, 0].copy(), np.array([0, 3, 4])]),
    "sums_columns": (
        _native.sums_of,
        lambda: [[(X[:, 0].copy(), "x"), (X[:, 1].copy(), "cos x")], REAL, Y, W, CLASSES, 2],
    ),
    "moments_columns": (_native.moments_of, lambda: [[(X[:, 0] + 1, "log x")], COUNTS, Y, W, CLASSES, 2]),
    "counts_columns": (_native.counts_of, lambda: [[(Y, "level"), (Y, "level")], Y, W, CLASSES, 2]),
    "encode_strings": (_native.encode_strings, lambda: [np.frombuffer(b"aabbaacc", np.uint8), 2]),
    "totals": (_native.totals, lambda: [Y, W, CLASSES]),
    "sums_dense": (_native.sums_of, lambda: [X, COUNTS, Y, W, CLASSES, 2]),
    "sums_sparse": (_native.sums_of, lambda: [CSR, COUNTS, Y, W, CLASSES, 2]),
    "sums_sparse_binary": (_native.sums_of, lambda: [CSR, BINARY, Y, W, CLASSES, 2]),
    "moments_dense": (_native.moments_of, lambda: [X, REAL, Y, W, CLASSES, 2]),
    "moments_sparse": (_native.moments_of, lambda: [CSR, REAL, Y, W, CLASSES, 2]),
    "counts_dense": (_native.counts_of, lambda: [X, Y, W, CLASSES, 2]),
    "counts_integer": (_native.counts_of, lambda: [X.astype(np.int64), Y, W, CLASSES, 2]),
    "counts_sparse": (_native.counts_of, lambda: [CSR, Y, W, CLASSES, 2]),
    "score_dense": (score, scoring("dense", X, COUNTS, *native._dense(PLAIN))),
    "score_anchored": (score, scoring("dense", X, REAL, *native._dense(ANCHORED))),
    "score_columns": (
        score,
        scoring("dense", [(X[:, j].copy(), "x") for j in range(COLUMNS)], COUNTS, *native._dense(PLAIN)),
    ),
    "score_best": (score, scoring("dense", X, BINARY, *native._dense(PLAIN), shape=(), dtype=np.int64)),
    "score_sparse": (score, scoring("sparse", CSR, COUNTS, *native._sparse(PLAIN))),
    "score_sparse_anchored": (score, scoring("sparse", CSR, REAL, *native._sparse(ANCHORED))),
    "score_table": (score, scoring("table", X, *native._table(LEVELS))),
    "score_sparse_table": (score, scoring("table", CSR, *native._table(LEVELS))),
    "normalise": (normalise, lambda: [WEIGHTS.copy(), PRIOR, "log_proba"]),
}
every_call = pytest.mark.parametrize("kernel, arguments", CALLS.values(), ids=CALLS)
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
    return type(tree)(put(part, path[1:], new) if k == path[0] else part for k, part in enumerate(tree))


def with_cells(name, cells):
    kernel, arguments = CALLS[name]
    return kernel, put(arguments(), (0, 0, 1, 0) if kernel is score else (0,), cells)


@every_call
def test_layout_of_any_array_changes_no_bit_or_is_refused(kernel, arguments, layout, outcome):
    plain = kernel(*arguments())
    for path in branches(arguments()):
        if isinstance(part := at(arguments(), path), np.ndarray):
            result = outcome(kernel, *put(arguments(), path, layout(part)))
            assert result is None or same(result, plain), path


@readers
@pytest.mark.parametrize("dtype", list("?bhiqBHIQefdgFDOUSmV"))
def test_dtype_of_the_cells_changes_no_bit_or_is_refused(name, dtype, outcome):
    kernel, given = with_cells(name, X.astype(dtype))
    result = outcome(kernel, *given)
    assert result is None or same(result, kernel(*with_cells(name, X)[1]))


@readers
def test_bools_do_not_enter(name):
    # A byte of 2 is true to NumPy and undefined to Rust: Python hands over bytes instead.
    kernel, given = with_cells(name, X.astype(bool))
    with pytest.raises(TypeError):
        kernel(*given)
    with pytest.raises(TypeError):
        _native.encode_integers(np.array([True]))


@readers
def test_cells_may_repeat_by_a_stride_of_zero(name):
    for repeated in np.broadcast_to(X[:1], X.shape), np.broadcast_to(X[:, :1], X.shape):
        kernel, given = with_cells(name, repeated)
        assert same(kernel(*given), kernel(*with_cells(name, repeated.copy())[1]))


SHAPES = [(), (0,), (1,), (3,), (5,), (0, 0), (0, 3), (5, 0), (3, 3), (5, 3), (2, 2, 2)]
ODDITIES = [
    *(np.zeros(shape, dtype) for shape in SHAPES for dtype in [*"?biqBQefdgDOUV", ">f8", ">i4", "M8[s]"]),
    *("joint", "dense", "sparse", "table", "nonsense", "\ud800", b"", (), [], {}, object(), None, True, 0.5),
    # Memory for sizes between 1000 and 2**62 might be had, and would cost the tests too much.
    *(math.nan, math.inf, -1, 0, 1, 2, 4, 7, 1000, 2**62, 2**63, 2**64),
]
NUMBERS = [math.nan, math.inf, -math.inf, -1, 0.5, 3, 4, 2**31 - 1, 2**53, 2**62, 1e300, -(2**63)]


@every_call
def test_any_oddity_in_place_of_any_argument_is_taken_or_refused(kernel, arguments, outcome):
    for path in branches(arguments()):
        for oddity in ODDITIES:
            outcome(kernel, *put(arguments(), path, oddity))


@every_call
@settings(FUZZ, max_examples=150)
@given(data=st.data())
def test_several_oddities_at_once_are_taken_or_refused(kernel, arguments, outcome, data):
    odd = arguments()
    room = odd[3] if kernel is score else None
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
    outcome(kernel, *odd)
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
        kernel, given = with_cells(name, csr)
        if kernel is score:
            given[3] = np.empty((rows, CLASSES))
        else:
            given[-4:-2] = np.zeros(rows, np.int32), None
        result = outcome(kernel, *given)
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
    for view in x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]:
        room = np.empty((len(x), CLASSES))
        block = "table", (view, *native._table(LEVELS))
        counts = outcome(_native.counts_of, view, np.zeros(len(x), np.int32), None, 1, 1)
        notes = outcome(_native.score, [block], PRIOR, PRIOR, room, "joint", 1)
        if good:
            assert same(counts[1], [*np.unique(x)] * COLUMNS)
            assert np.allclose(room, LEVELS.cells(x.astype(float)).sum(axis=2) + PRIOR)
        else:
            assert counts is notes is None


@pytest.mark.parametrize("rows, columns, classes", [(0, 3, 2), (5, 0, 2), (0, 0, 2), (0, 3, 0), (0, 0, 0)])
def test_nothing_adds_up_to_nothing(rows, columns, classes):
    y, empty = np.zeros(rows, np.int32), np.zeros(rows + 1, np.int32)
    for x in np.zeros((rows, columns)), (np.zeros(0), empty[:0], empty, columns):
        assert same(_native.sums_of(x, REAL, y, None, classes, 1), (np.zeros(classes * columns), None))
        assert all(
            len(part) == classes * columns for part in _native.moments_of(x, REAL, y, None, classes, 1)
        )
        assert len(_native.counts_of(x, y, None, classes, 1)[0]) == columns + 1


@pytest.mark.parametrize(
    "y, w", [([0, 1, 2, 1, 3], None), ([0] * 4, None), ([0] * 6, None), ([0] * 5, [1.0])]
)
def test_labels_and_weights_that_do_not_fit_are_refused(y, w):
    y, w = np.array(y, np.int32), w and np.array(w)
    for cells in X, CSR:
        for kernel, *reading in (_native.sums_of, REAL), (_native.moments_of, REAL), (_native.counts_of,):
            with pytest.raises(ValueError, match=r"label code|weights"):
                kernel(cells, *reading, y, w, CLASSES, 1)
    # A negative code is no misfit: its row counts for nothing.
    assert same(_native.totals(np.array([-1, 0, -(2**31)], np.int32), None, 2), ([1, 0], [1.0, 0.0]))


def test_room_that_is_also_read_is_refused():
    for room in X, X[::-1], X.ravel().view(np.int64)[:ROWS]:
        with pytest.raises(TypeError):
            _native.score([("dense", (X, REAL, *native._dense(PLAIN)))], PRIOR, PRIOR, room, "joint", 1)


@pytest.mark.parametrize("classes", [1, 2, 4, 8])
@pytest.mark.parametrize("columns", [2**60, 2**62, 2**63, 2**64 - 1], ids=hex)
def test_sizes_beyond_all_memory_are_refused(columns, classes, outcome):
    # Products of such sizes may wrap around to a small one that seems to fit.
    wide = np.ones(1), np.array([5]), np.array([0, 1]), columns
    y, zeros = np.zeros(1, np.int32), np.zeros(classes)
    block = "sparse", (wide, REAL, zeros, zeros, None, np.empty((0, 4)), None, False)
    assert outcome(_native.sums_of, wide, REAL, y, None, classes, 1) is None
    assert outcome(_native.moments_of, wide, REAL, y, None, classes, 1) is None
    assert outcome(_native.counts_of, wide, y, None, classes, 1) is None
    assert outcome(_native.score, [block], zeros, zeros, np.empty((1, classes)), "joint", 1) is None


def test_memory_that_cannot_be_had_does_not_end_the_process(refused_without_memory):
    setting = """
from sunrise._native import *
x, y, one, real = np.broadcast_to(1.0, (1, 2**40)), np.zeros(1, np.int32), np.zeros(1), (None, -np.inf, np.inf, False)
blocks = [("dense", (x, real, one, None, None, None, None, False))]"""
    calls = [
        "totals(y, None, 2**31 - 1)",
        "sums_of(x, real, y, None, 1, 1)",
        "moments_of(x, real, y, None, 1, 1)",
        "counts_of(x, y, None, 1, 1)",
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
    for door in (_native.arrow_column, _native.arrow_table):
        with pytest.raises(TypeError, match="Arrow PyCapsule interface"):
            door(wrong)


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
