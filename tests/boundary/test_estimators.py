"""The same numbers give the same probabilities however they come; broken input is refused, never a panic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sunrise import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

ESTIMATORS = [GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB]
every_estimator = pytest.mark.parametrize("Estimator", ESTIMATORS)

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (30, 5)).astype(np.float64)
Y = np.arange(30) % 3
W = RNG.integers(1, 4, 30).astype(np.float64)
BITS = np.minimum(X, 1)


def agree(Estimator, odd, plain=X):
    """Whether odd cells fit and predict as the plain ones do."""
    truth = Estimator().fit(plain, Y).predict_proba(plain)
    np.testing.assert_allclose(Estimator().fit(odd, Y).predict_proba(plain), truth, rtol=1e-12)
    np.testing.assert_allclose(Estimator().fit(plain, Y).predict_proba(odd), truth, rtol=1e-12)


@every_estimator
def test_layout_of_the_cells_changes_nothing(Estimator, layout):
    agree(Estimator, layout(X))
    agree(Estimator, layout(X.astype(np.float32)))
    agree(Estimator, layout(X.astype(np.int64)))


@every_estimator
def test_layout_of_labels_and_weights_changes_nothing(Estimator, layout):
    truth = Estimator().fit(X, Y, W).predict_proba(X)
    for labels in Y, Y.astype(np.int16), Y.astype(float), Y.astype("U3"), Y.astype("S3"):
        found = Estimator().fit(X, layout(labels), layout(W)).predict_proba(X)
        np.testing.assert_allclose(found, truth, rtol=1e-12)


@every_estimator
@pytest.mark.parametrize("dtype", list("?bhilqBHILQefdgO"))
def test_dtype_of_the_cells_changes_nothing(Estimator, dtype):
    agree(Estimator, BITS.astype(dtype), BITS)
    agree(Estimator, np.asfortranarray(BITS.astype(dtype)), BITS)


@every_estimator
def test_a_bool_of_any_byte_but_zero_is_true(Estimator):
    agree(Estimator, (BITS * 255).astype(np.uint8).view(bool), BITS)
    y = (Y > 0).astype(np.uint8) * np.arange(30, dtype=np.uint8)
    assert Estimator().fit(X, y.view(bool)).classes_.tolist() == [False, True]


@every_estimator
def test_lists_and_files_are_read(Estimator, tmp_path):
    agree(Estimator, X.tolist())
    agree(Estimator, tuple(map(tuple, X.astype(int).tolist())))
    on_disk = np.memmap(tmp_path / "cells", np.float64, "w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    agree(Estimator, on_disk)
    agree(Estimator, np.memmap(tmp_path / "cells", np.float64, "r", shape=X.shape))


def rows_reversed(matrix):
    """The same matrix with the cells of every row stored from last to first."""
    order = np.concatenate(
        [np.arange(b, a, -1) - 1 for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False)]
    )
    return sparse.csr_array((matrix.data[order], matrix.indices[order], matrix.indptr), shape=matrix.shape)


def in_two_parts(matrix):
    """The same matrix with every cell stored twice, as two that add up to it."""
    data = np.stack([matrix.data - 1, np.ones(len(matrix.data))], axis=1).ravel()
    return sparse.csr_array((data, np.repeat(matrix.indices, 2), 2 * matrix.indptr), shape=matrix.shape)


def with_parts(matrix, **parts):
    """The same matrix with other arrays inside, which SciPy does not look at again."""
    matrix = matrix.copy()
    for name, change in parts.items():
        setattr(matrix, name, change(getattr(matrix, name)))
    return matrix


def wide(a):
    return a.astype(np.int64)


def swapped(a):
    return a.astype(">i4")


SPARSE = {
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
    "wide_indices": lambda x: with_parts(sparse.csr_array(x), indices=wide, indptr=wide),
    "mixed_indices": lambda x: with_parts(sparse.csr_array(x), indptr=wide),
    "big_endian_indices": lambda x: with_parts(sparse.csr_array(x), indices=swapped, indptr=swapped),
    "unsorted": lambda x: rows_reversed(sparse.csr_array(x)),
    "repeated": lambda x: in_two_parts(sparse.csr_array(x)),
    "repeated_unsorted": lambda x: rows_reversed(in_two_parts(sparse.csr_array(x))),
    "zeros_stored": lambda x: sparse.csr_array((x.ravel(), np.tile(np.arange(5), 30), np.arange(0, 151, 5))),
    "room_to_spare": lambda x: with_parts(
        sparse.csr_array(x), data=lambda a: np.append(a, 7), indices=lambda a: np.append(a, 99)
    ),
}


@every_estimator
@pytest.mark.parametrize("form", SPARSE.values(), ids=SPARSE)
def test_sparse_form_changes_nothing(Estimator, form):
    matrix = form(X)
    assert (matrix.toarray() == X).all()
    agree(Estimator, matrix)
    agree(Estimator, matrix.astype(np.float32))
    agree(Estimator, matrix.astype(np.int64))


@every_estimator
@pytest.mark.parametrize("dtype", list("?bhqBHQfdg"))
def test_dtype_of_sparse_cells_changes_nothing(Estimator, dtype):
    agree(Estimator, sparse.csr_array(BITS).astype(dtype), BITS)


@every_estimator
@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
def test_layout_inside_a_sparse_matrix_changes_nothing(Estimator, part, layout):
    matrix = with_parts(sparse.csr_array(X), **{part: layout})
    assert (matrix.toarray() == X).all()
    agree(Estimator, matrix)


BROKEN = {
    "no_rows": (X[:0], Y[:0]),
    "no_columns": (X[:, :0], Y),
    "nothing": (X[:0, :0], Y[:0]),
    "one_row": (X[:1], Y[:1]),
    "one_class": (X, np.zeros(30)),
    "a_class_for_each_row": (X, np.arange(30)),
    "no_dimensions": (np.float64(3), Y),
    "one_dimension": (X[:, 0], Y),
    "three_dimensions": (X[None], Y),
    "words": (np.full(X.shape, "spam"), Y),
    "objects": (np.full(X.shape, object()), Y),
    "numbers_in_words": (X.astype("U3"), Y),
    "complex": (X.astype(complex), Y),
    "times": (X.astype("m8[s]"), Y),
    "records": (np.zeros((30, 5), "f8,i4"), Y),
    "ragged": ([[1, 2], [3]], [0, 1]),
    "all_missing": (X * np.nan, Y),
    "infinite": (np.full(X.shape, np.inf), Y),
    "negative": (-X, Y),
    "fractions": (X / 3, Y),
    "huge": (X * 1e150, Y),
    "huge_codes": (X.astype(np.int64) << 60, Y),
    "smallest_integer": (np.full(X.shape, -(2**63)), Y),
    "too_few_labels": (X, Y[:-1]),
    "too_many_labels": (X, np.append(Y, 0)),
    "no_labels": (X, None),
    "labels_in_two_dimensions": (X, X),
    "missing_labels": (X, np.where(Y, Y, np.nan)),
    "labels_of_no_width": (X, np.zeros(30, "U0")),
    "labels_at_the_ends": (X, np.where(Y, 2**63 - 1, -(2**63))),
    "unsigned_labels": (X, np.where(Y, 2**64 - 1, np.uint64(0))),
    "sparse_no_rows": (sparse.csr_array((0, 5)), Y[:0]),
    "sparse_no_columns": (sparse.csr_array((30, 0)), Y),
    "sparse_nothing_stored": (sparse.csr_array((30, 5)), Y),
    "sparse_complex": (sparse.csr_array(X.astype(complex)), Y),
}


@every_estimator
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken_input_is_refused_or_gives_probabilities(Estimator, broken, outcome):
    cells, labels = broken
    fitted = outcome(Estimator().fit, cells, labels)
    if fitted is not None:
        proba = outcome(fitted.predict_proba, cells)
        assert proba is None or np.allclose(proba.sum(axis=1), 1)
    proba = outcome(Estimator().fit(X, Y).predict_proba, cells)
    assert proba is None or np.allclose(proba.sum(axis=1), 1)


@every_estimator
def test_the_smallest_integer_is_no_level_and_no_count(Estimator, layout):
    cells = X.astype(np.int64)
    cells[3, 2] = -(2**63)
    if Estimator in (GaussianNB, BernoulliNB):
        agree(Estimator, layout(cells), cells.astype(float))
    else:
        with pytest.raises(ValueError, match=r"Negative values .* column 2, row 3"):
            Estimator().fit(layout(cells), Y)
        with pytest.raises(ValueError, match=r"Negative values .* column 2, row 3"):
            Estimator().fit(X, Y).predict(layout(cells))


@every_estimator
@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(
    part=st.sampled_from(["indices", "indptr"]),
    place=st.integers(0, 30),
    number=st.sampled_from([-(2**31), -1, 5, 6, 50, 1000, 2**31 - 1]),
    form=st.sampled_from(
        [sparse.csr_array, *(SPARSE[name] for name in ("wide_indices", "unsorted", "repeated"))]
    ),
)
def test_a_sparse_matrix_broken_after_it_was_made_is_refused(Estimator, outcome, part, place, number, form):
    matrix = form(X)
    broken = getattr(matrix, part).copy()
    whole = 0 <= broken[place] == number
    broken[place] = number
    before, after = broken[max(place - 1, 0)], broken[min(place + 1, len(broken) - 1)]
    whole |= part == "indptr" and 0 <= before <= number <= after <= len(matrix.data)
    setattr(matrix, part, broken)
    fitted = outcome(Estimator().fit, matrix, Y)
    proba = outcome(Estimator().fit(X, Y).predict_proba, matrix)
    assert whole or fitted is proba is None


@every_estimator
@pytest.mark.parametrize("number", [-(2**31), -1, 5, 2**31 - 1])
def test_a_column_that_is_not_there_is_said_to_be_what_is_wrong(Estimator, number):
    matrix = sparse.csr_array(X)
    matrix.indices[3] = number
    for call in (lambda: Estimator().fit(matrix, Y)), (lambda: Estimator().fit(X, Y).predict(matrix)):
        with pytest.raises(ValueError, match="sparse matrix is broken"):
            call()


@every_estimator
@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
def test_arrays_of_a_sparse_matrix_that_do_not_fit_are_refused(Estimator, part, outcome):
    for change in (lambda a: a[:-1]), (lambda a: a[:0]), (lambda a: a[None]):
        matrix = with_parts(sparse.csr_array(X), **{part: change})
        assert outcome(Estimator().fit, matrix, Y) is None
        assert outcome(Estimator().fit(X, Y).predict, matrix) is None


def test_a_table_too_wide_for_memory_does_not_end_the_process(refused_without_memory):
    setting = """
from scipy import sparse
from sunrise import *
x = sparse.csr_array((np.ones(2), ([0, 1], [5, 7])), shape=(2, 2**40))"""
    calls = [f"{Estimator.__name__}().fit(x, [0, 1])" for Estimator in ESTIMATORS]
    assert refused_without_memory(setting, calls) == calls
