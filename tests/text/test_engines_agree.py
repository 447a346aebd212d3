"""The native engine gives the results of the array engine for the steps of a calibrated text model."""

import numpy as np
import pytest
from sunrise.data.blocks import SparseBlock
from sunrise.engines import array, native
from sunrise.statistics.sums import Product


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def documents(rng, n=400, words=90):
    cells = np.where(rng.random((n, words)) < 0.2, rng.integers(1, 5, (n, words)), 0).astype(float)
    cells[rng.integers(0, n, 5)] = 0.0
    row, column = np.nonzero(cells)
    indptr = np.searchsorted(row, np.arange(n + 1)).astype(np.int32)
    return SparseBlock(cells[row, column], column.astype(np.int32), indptr, cells.shape)


@pytest.mark.parametrize(
    "n_classes, n_plain, n_joint", [(2, 0, 1), (3, 1, 0), (7, 1, 2), (20, 0, 1), (40, 0, 1)]
)
@pytest.mark.parametrize("threads", [1, 3])
def test_losses_of_a_temperature(rng, n_classes, n_plain, n_joint, threads):
    n = 1100
    blocks = [rng.normal(0, 3, (n_classes - 1, n)) for _ in range(n_plain + n_joint)]
    lengths, prior = rng.uniform(0, 6, (n_joint, n)), np.log(rng.dirichlet(np.ones(n_classes), n).T)
    prior = np.ascontiguousarray(prior)
    y, weight = rng.integers(0, n_classes, n).astype(np.int32), rng.uniform(0.1, 2, n)
    parameters = -0.7, rng.normal(-0.3, 0.1, n_joint), rng.normal(0, 1, n_classes)
    arguments = [blocks, lengths, prior, y, weight, *parameters, threads]
    for found, expected in zip(
        native.temperature_loss(*arguments), array.temperature_loss(*arguments), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(
        native.temperature_curvature(*arguments),
        array.temperature_curvature(*arguments),
        rtol=1e-9,
        atol=1e-8,
    )
    np.testing.assert_array_equal(native.temperature_best(*arguments), array.temperature_best(*arguments))


def test_confident_rows_keep_the_digits_of_their_loss():
    blocks, prior = [np.array([[60.0, 900.0]])], np.zeros((2, 2))
    rows = blocks, np.zeros((0, 2)), prior, np.array([1, 1], np.int32), np.ones(2)
    value, slopes, _ = native.temperature_loss(*rows, 0.0, np.zeros(0), np.zeros(2), 1)
    assert value == pytest.approx(np.exp(-60.0), rel=1e-12)
    assert slopes[0] == pytest.approx(-60.0 * np.exp(-60.0), rel=1e-12)


@pytest.mark.parametrize("squared, power", [(True, 0.35), (False, 1.0)])
@pytest.mark.parametrize("threads", [1, 3])
def test_lengths_of_known_words(rng, squared, power, threads):
    block = documents(rng)
    known, whole = rng.random(block.shape[1]) < 0.7, rng.random(block.shape[0]) < 0.1
    found = native.stretch(block, known, whole, squared, power, threads)
    np.testing.assert_allclose(found, array.stretch(block, known, whole, squared, power, threads), rtol=1e-13)


@pytest.mark.parametrize("threads", [1, 3])
def test_cells_times_the_factors_of_their_words(rng, threads):
    block, factors = documents(rng), rng.random(90)
    expected = block.data * factors[block.indices]
    for engine in (native, array):
        np.testing.assert_array_equal(engine.weigh(block, factors, threads), expected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_classes", [1, 2, 5, 40])
@pytest.mark.parametrize("threads", [1, 3])
def test_log_odds_of_counts_with_factors(rng, n_classes, threads, order):
    block, factors = documents(rng), 2.0 ** rng.integers(-3, 3, 90)  # their products have no rounding errors
    y, w = rng.integers(0, n_classes, 400).astype(np.int32), np.where(rng.random(400) < 0.1, 0.0, 1.5)
    sums = np.stack([(block.numbers() * w[:, None])[y == c].sum(axis=0) for c in range(n_classes)])
    # The first column of the statistics of words is for all documents, so there are gaps between the rows.
    table = np.asarray(np.pad(sums / factors, ((0, 0), (1, 0))), order=order)[:, 1:]
    counts, whole = Product(table, factors), Product(sums, np.ones(90))
    log_odds = native.odds(counts, 0.2)
    np.testing.assert_array_equal(log_odds, native.odds(whole, 0.2))
    np.testing.assert_allclose(log_odds, array.odds(counts, 0.2), rtol=1e-11, atol=1e-12)
    bands = rng.integers(0, 3, 90).astype(np.uint8)
    rest = counts, 0.2, log_odds
    for found, expected in (
        (engine.odds_left_out(block, y, w, *rest, threads) for engine in (native, array)),
        (engine.odds_left_out_bands(block, y, w, *rest, bands, 2, threads) for engine in (native, array)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("threads", [1, 3])
def test_columns_of_words_with_weights(rng, threads):
    block = documents(rng)
    keep = rng.random(block.shape[1]) < 0.6
    place = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    rest = np.where(keep, rng.random(block.shape[1]), np.nan), rng.random(block.shape[0]), threads
    found, expected = native.move_columns(block, place, *rest), array.move_columns(block, place, *rest)
    assert found.shape == expected.shape and found.data.dtype == np.float32
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)
