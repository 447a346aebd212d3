"""Where numbers are cut into bins: published edges, plain loops, and the laws of weights, units and order."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import log2
from time import process_time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sunrise.numerics.bin_edges import METHODS, Cuts, Tally, find_cuts, halfway

every_way = pytest.mark.parametrize("how", METHODS)


def edges(how, x, y=None, weight=None, bins=10):
    x = np.asarray(x, float)
    codes = np.zeros(len(x), np.int32) if y is None else np.asarray(y, np.int32)
    return find_cuts(how, x, codes, None if weight is None else np.asarray(weight, float), bins).edges


# Entropy and the length of a description


def bits(counts):
    n = sum(counts.values())
    return -sum(k / n * log2(k / n) for k in counts.values() if k)


def searched(rows):
    """Fayyad and Irani by the book: every cut between different cells is tried, one after another."""
    rows = sorted(rows)
    n, whole = len(rows), Counter(label for _, label in rows)
    left, right, tried = Counter(), Counter(whole), []
    for i in range(n - 1):
        left[rows[i][1]] += 1
        right[rows[i][1]] -= 1
        if rows[i][0] < rows[i + 1][0]:
            tried.append(((i + 1) / n * bits(left) + (n - i - 1) / n * bits(right), i))
    if not tried:
        return []
    least = min(entropy for entropy, _ in tried)
    entropy, i = next(cut for cut in tried if cut[0] <= least + 1e-10)
    below, above = Counter(c for _, c in rows[: i + 1]), Counter(c for _, c in rows[i + 1 :])
    spent = len(whole) * bits(whole) - len(below) * bits(below) - len(above) * bits(above)
    if bits(whole) - entropy <= (log2(n - 1) + log2(3 ** len(whole) - 2) - spent) / n:
        return []
    cut = (rows[i][0] + rows[i + 1][0]) / 2
    return [*searched(rows[: i + 1]), cut, *searched(rows[i + 1 :])]


def test_the_published_edges_of_iris():
    X, y = load_iris(return_X_y=True)
    published = [(5.55, 6.15), (2.95, 3.35), (2.45, 4.75), (0.8, 1.75)]
    for x, expected in zip(X.T, published, strict=True):
        np.testing.assert_allclose(edges("mdl", x, y), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "table",
    ["mlbench-Glass", "mlbench-Vehicle", "mlbench-PimaIndiansDiabetes2", "mlbench-Ionosphere", "mlbench-Vowel",
     "heart-cleveland", "credit-approval", "german-credit", "titanic"],
)  # fmt: skip
def test_real_columns_are_cut_as_plain_loops_cut_them(find_data, table):
    about = json.loads(find_data("tables/schema.json").read_text())[table]
    frame = pd.read_csv(find_data(f"tables/{about['file']}"), keep_default_na=False, na_values=[""])
    y = pd.factorize(frame[about["target"]])[0]
    numbers = [column["name"] for column in about["column_info"] if column["kind"] == "numeric"]
    assert numbers
    for name in numbers[:12]:
        x = frame[name].to_numpy(float)
        there = ~np.isnan(x)
        expected = searched(list(zip(x[there].tolist(), y[there].tolist(), strict=True)))
        np.testing.assert_allclose(edges("mdl", x, y), expected, rtol=1e-12, err_msg=name)


cells = st.lists(st.tuples(st.integers(-3, 6), st.integers(0, 2)), min_size=1, max_size=60)


@given(rows=cells)
def test_any_cells_are_cut_as_plain_loops_cut_them(rows):
    x, y = zip(*rows, strict=True)
    assert list(edges("mdl", x, y)) == searched(rows)


def test_a_column_that_tells_nothing_is_not_cut():
    rng = np.random.default_rng(0)
    assert edges("mdl", rng.normal(size=500), rng.integers(0, 3, 500)) == ()
    assert edges("mdl", np.arange(9.0), np.zeros(9)) == ()


@pytest.mark.parametrize("n_classes", [2, 10])
def test_cutting_fifty_thousand_rows_is_quick(n_classes):
    rng = np.random.default_rng(1)
    y = rng.integers(0, n_classes, 50_000).astype(np.int32)
    x = rng.normal(size=50_000) + 0.5 * y
    times = []
    for _ in range(5):
        start = process_time()
        assert len(find_cuts("mdl", x, y, None, 10).edges) > 3
        times.append(process_time() - start)
    assert min(times) < 0.15  # a third of it on a quiet machine


# Equal frequency, equal width, about as many bins as rows in each


def nearest(values, bins):
    """Of all cuts between different cells those nearest to the quantiles, in exact fractions; the lower of two."""
    times = sorted(Counter(values).items())
    up_to, total, cuts = 0, len(values), []
    for (below, k), (above, _) in pairwise(times):
        up_to += k
        cuts.append((Fraction(up_to, total), (below + above) / 2))
    found = {min(cuts, key=lambda cut: (abs(cut[0] - Fraction(k, bins)), cut[0]))[1] for k in range(1, bins)}
    return sorted(found)


@given(values=st.lists(st.integers(-4, 9), min_size=2, max_size=50), bins=st.integers(2, 12))
def test_bins_of_equal_frequency_are_cut_nearest_to_the_quantiles(values, bins):
    if len(set(values)) > 1:
        assert list(edges("frequency", values, bins=bins)) == nearest(values, bins)


def test_different_cells_are_cut_into_equal_parts():
    x = np.random.default_rng(2).permutation(100).astype(float)
    assert edges("frequency", x) == tuple(np.arange(10, 100, 10) - 0.5)
    assert edges("proportional", x) == edges("frequency", x)
    assert len(edges("proportional", np.arange(10_000.0))) == 99


def test_bins_of_equal_width():
    assert edges("width", [0.0, 3.0, 10.0], bins=5) == (2.0, 4.0, 6.0, 8.0)
    assert edges("width", np.arange(11) * 0.1) == pytest.approx(np.arange(1, 10) * 0.1)


# What holds of all of them


@every_way
@pytest.mark.parametrize("x", [[], [np.nan, np.nan], [2.5], [2.5, 2.5, np.nan]])
def test_nothing_to_cut(how, x):
    found = find_cuts(how, np.array(x, float), np.zeros(len(x), np.int32), None, 10)
    assert found.edges == () and found.names == ["any"] and found.n_bins == 1


@every_way
@given(rows=cells, seed=st.integers(0, 99), factor=st.sampled_from([1.0, 0.37, 1e-5, 1e9]))
def test_weights_are_rows_and_order_and_units_do_not_matter(how, rows, seed, factor):
    rng = np.random.default_rng(seed)
    x, y = (np.array(part) for part in zip(*rows, strict=True))
    w = rng.integers(0, 4, len(x))
    again = rng.permutation(np.repeat(np.arange(len(x)), w))
    one, two = (
        find_cuts(how, cells, codes.astype(np.int32), weight, 4)
        for cells, codes, weight in ((x * factor, y, w.astype(float)), (x[again] * 1.0, y[again], None))
    )
    np.testing.assert_array_equal(one.bins(x * factor), two.bins(x * 1.0))
    np.testing.assert_allclose(one.edges, np.array(two.edges) * factor)


@given(below=st.floats(allow_nan=False, allow_infinity=False), ulps=st.integers(1, 5), far=st.booleans())
def test_halfway_is_above_the_one_and_not_above_the_other(below, ulps, far):
    above = 1.7e308 if far else below
    for _ in range(0 if far else ulps):
        above = np.nextafter(above, np.inf)
    if below < above < np.inf:
        middle = float(halfway(np.array(below), np.array(above)))
        assert below < middle <= above


@given(
    x=st.lists(st.one_of(st.just(np.nan), st.integers(-3, 30).map(float)), max_size=30),
    inner=st.lists(st.integers(-2, 28), max_size=28, unique=True).map(sorted),
)
def test_a_cell_is_in_the_bin_above_as_many_edges_as_it_is_not_below(x, inner):
    found = Cuts(tuple(map(float, inner))).bins(np.array(x, float))
    assert found.tolist() == [-1 if np.isnan(v) else sum(v >= edge for edge in inner) for v in x]


def test_edges_that_look_alike_have_names_of_their_own():
    names = Cuts((1e8 + 0.25, 1e8 + 0.5)).names
    assert names == ["below 100000000.25", "100000000.25 to 100000000.5", "100000000.5 and more"]


@pytest.mark.parametrize(
    "cuts, expected",
    [
        (Cuts((1.0, 2.0), 0.0, 5.0), [0, 1, 2, 5]),
        (Cuts((1.0, 2.0), 1.0, 1.5), [0, 1, 2, 3]),
        (Cuts((1.0,), 4.0, 5.0), [-3, 1, 5]),
        (Cuts((7.0,), 4.0, 5.0), [4, 7, 10]),
        (Cuts((), 4.0, 5.0), [4, 5]),
        (Cuts((7.0,)), [7, 7, 7]),
        (Cuts((7.0, 8.0)), [6, 7, 8, 9]),
    ],
)
def test_bins_end_where_the_data_did_and_beyond_them_are_as_wide_as_their_neighbours(cuts, expected):
    assert cuts.bounds.tolist() == expected


def test_rows_without_a_class_say_nothing_of_it():
    x, y = np.tile(np.arange(20.0), 3), np.tile(np.arange(20) // 10, 3)
    more = np.append(x, np.arange(20.0)), np.append(y, np.full(20, -1))
    assert edges("mdl", *more) == edges("mdl", x, y) == (9.5,)
    assert len(edges("frequency", *more)) == 9


def test_rows_of_no_weight_are_not_there():
    tally = Tally.of(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.5, 0.0]))
    assert tally.values.tolist() == [1.0, 2.0] and tally.weight.tolist() == [1.0, 2.5]
