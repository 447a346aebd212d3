"""Leave-one-out removes many rows at once, and the result is that of removing each row by itself."""

from __future__ import annotations

import warnings
from unittest import mock

import numpy as np
import pytest
import sunrise as sr
from sunrise.inference.leave_one_out import LeaveOneOut

N, COLUMNS, CLASSES = 200, 5, 4


def counts(rng):
    return rng.poisson(1.5, (N, COLUMNS)).astype(float)


CELLS = {
    "gaussian": lambda rng: np.round(rng.normal(3.0, 2.0, (N, COLUMNS)), 3),
    "lognormal": lambda rng: np.round(rng.gamma(2.0, 2.0, (N, COLUMNS)), 3) + 0.1,
    "exponential": lambda rng: np.round(rng.gamma(1.0, 2.0, (N, COLUMNS)), 3),
    "gamma": lambda rng: np.round(rng.gamma(2.0, 2.0, (N, COLUMNS)), 3) + 0.1,
    "beta": lambda rng: np.round(rng.beta(2.0, 3.0, (N, COLUMNS)), 3) * 0.98 + 0.01,
    "vonmises": lambda rng: np.round(rng.vonmises(1.0, 1.0, (N, COLUMNS)), 3),
    "poisson": counts,
    "geometric": counts,
    "negative_binomial": lambda rng: rng.poisson(rng.gamma(0.7, 3.0, (N, COLUMNS))).astype(float),
    "zero_inflated_poisson": lambda rng: counts(rng) * (rng.random((N, COLUMNS)) < 0.7),
    "laplace": lambda rng: np.round(rng.laplace(3.0, 2.0, (N, COLUMNS)), 2),
    "bernoulli": lambda rng: rng.integers(0, 2, (N, COLUMNS)).astype(float),
    "multinomial": counts,
    "complement": counts,
    "odds": counts,
}
FAMILIES = {
    **{kind: kind for kind in CELLS},
    "gaussian-shared": sr.Gaussian(shared_variance=True),
    "gaussian-smoothed": sr.Gaussian(var_smoothing=1e-9),
    "gaussian-smoothed-shared": sr.Gaussian(var_smoothing=1e-9, shared_variance=True),
    "gaussian-laplace": sr.Gaussian(laplace=True),
    "exponential-flat": sr.Exponential(prior_shape=0.0),
    "multinomial-unsmoothed": sr.Multinomial(0.0),
    "multinomial-by-class": sr.Multinomial(np.arange(1.0, 1.0 + CLASSES * COLUMNS).reshape(CLASSES, COLUMNS)),
    "complement-normed": sr.Complement(norm=True),
    "complement-unsmoothed": sr.Complement(0.0),
}
every_family = pytest.mark.parametrize("kind", FAMILIES)


def drawn(kind, case):
    """Rows with missing cells, with classes of one and two rows, or with columns that a class never saw."""
    rng = np.random.default_rng(len(case))
    x, y = CELLS[kind.split("-")[0]](rng), rng.integers(0, CLASSES, N)
    if case == "tiny classes":
        y = rng.integers(0, CLASSES - 2, N)
        y[:2], y[2] = CLASSES - 2, CLASSES - 1
    if case in ("missing", "tiny classes"):
        x[rng.random(x.shape) < 0.2] = np.nan
    if case == "unseen":
        x[y == 0, 0] = x[y == 1, 1] = np.nan
    if case == "single cells":
        first = [int(np.flatnonzero(y == c)[0]) for c in range(CLASSES)]
        kept = x[first, 0].copy()
        x[:, 0] = np.nan
        x[first, 0] = kept
    return x, y


def has_no_maximum(kind, estimate, case):
    """True if a class has one cell in a column, and the likelihood of one cell has no maximum."""
    spread = ("gaussian", "lognormal", "gamma", "beta", "vonmises", "laplace")
    if kind == "gaussian-shared":
        return estimate == "mle" and case == "single cells"
    return estimate == "mle" and case in ("tiny classes", "single cells") and kind in spread


@every_family
@pytest.mark.parametrize("estimate", ["mean", "map", "mle", "predictive"])
@pytest.mark.parametrize("case", ["missing", "tiny classes", "unseen", "single cells"])
@pytest.mark.parametrize("weighted", [False, True])
def test_hardly_a_row_is_removed_by_itself_and_the_result_is_the_same(kind, estimate, case, weighted):
    x, y = drawn(kind, case)
    w = np.random.default_rng(5).choice([0.5, 1.0, 2.0], N) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sr.NaiveBayes(FAMILIES[kind], estimate=estimate, calibrate=None)
        if has_no_maximum(kind, estimate, case):
            with pytest.raises(ValueError, match="likelihood has no maximum"):
                model.fit(x, y, w)
            return
        model.fit(x, y, w)
        removed, refit = [], LeaveOneOut._refit_cells_and_impossible
        with mock.patch.object(
            LeaveOneOut,
            "_refit_cells_and_impossible",
            lambda self, i, k: removed.append(i) or refit(self, i, k),
        ):
            found = model.leave_one_out(x, y, w)
        assert len(set(removed)) <= 5
        # The truth: each row is subtracted from the statistics, and the block is estimated again.
        rows, whole = [], LeaveOneOut.log_proba

        def one_by_one(self):
            factors = {}
            rows.append(np.array([self._refit_row(i, factors) for i in range(0, N, 3)]))
            return whole(self)

        with mock.patch.object(LeaveOneOut, "log_proba", one_by_one):
            model.leave_one_out(x, y, w)
    np.testing.assert_allclose(found[::3], rows[0], rtol=1e-9, atol=1e-9)


def test_calibrated_columns_remove_hardly_a_row_by_itself():
    x, y = drawn("poisson", "unseen")
    removed, refit = [], LeaveOneOut._refit_cells_and_impossible
    with mock.patch.object(
        LeaveOneOut, "_refit_cells_and_impossible", lambda self, i, k: removed.append(i) or refit(self, i, k)
    ):
        model = sr.NaiveBayes("poisson", calibrate="columns").fit(x, y)
        model.leave_one_out(x, y)
    assert len(removed) <= 5
