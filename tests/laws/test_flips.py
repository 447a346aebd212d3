"""Columns that are constant within classes, except for rare flips."""

from __future__ import annotations

import numpy as np
import pytest
import sunrise as sr

#: Families of numbers.
FAMILIES = ["gaussian", "lognormal", "laplace", "gamma", "beta", "vonmises", "exponential", "kernel"]


def flipped(n_rows, n_columns, rng):
    """Return a table whose columns repeat the class, 0.25 or 0.75, with 1 % flips; and the classes."""
    y = rng.integers(0, 2, n_rows)
    flips = rng.random((n_rows, n_columns)) < 0.01
    return np.where(y[:, None] ^ flips, 0.75, 0.25), y


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [3, 4, 6])
def test_every_row_can_be_left_out_and_forgotten(family, seed):
    X, y = flipped(400, 20, np.random.default_rng(seed))
    model = sr.NaiveBayes(family, calibrate=None).fit(X, y)
    assert np.isfinite(model.loo_score(X, y).log_loss)
    model.forget(X[:200], y[:200])
    rest = sr.NaiveBayes(family, calibrate=None).fit(X[200:], y[200:])
    assert model.predict_log_proba(X) == pytest.approx(rest.predict_log_proba(X), rel=1e-9, abs=1e-9)
