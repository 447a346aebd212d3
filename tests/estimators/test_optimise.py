"""The minimiser of the calibration, compared with general optimisers of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sunrise.inference.optimise import Curvature, minimise

FREE, NOT_NEGATIVE = (-np.inf, np.inf), (0.0, np.inf)


def logistic_loss(seed, noise, n=400, d=6):
    """Return the mean log loss of a logistic regression with gradient, its Hessian, and the number of calls of both.

    Little noise makes nearly all rows sure, where the loss is nearly flat in some directions and steep in others.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(1.0, 30.0, d)
    sign = np.where(X @ rng.uniform(-0.2, 1.0, d) + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    X, calls, ridge = X * sign[:, None], [0, 0], 1e-4

    def objective(v):
        calls[0] += 1
        p = expit(-X @ v)
        return np.logaddexp(0.0, -X @ v).mean() + 0.5 * ridge * v @ v, -X.T @ p / n + ridge * v

    def hessian(v):
        calls[1] += 1
        p = expit(-X @ v)
        return (X.T * (p * (1.0 - p))) @ X / n + ridge * np.eye(d)

    return objective, hessian, calls


@pytest.mark.parametrize("bounds", [FREE, NOT_NEGATIVE])
@pytest.mark.parametrize("noise", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("start", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_that_of_a_general_optimiser_from_any_start(seed, start, noise, bounds):
    objective, hessian, calls = logistic_loss(seed, noise)
    limits = tuple(np.full(6, bound) for bound in bounds)
    v = minimise(objective, Curvature(hessian), np.full(6, start), limits, 1e-12)
    assert calls[0] + calls[1] <= 60
    truth = minimize(objective, v, jac=True, method="L-BFGS-B", bounds=[bounds] * 6, options={"ftol": 1e-15})
    other = minimize(objective, np.zeros(6), jac=True, method="L-BFGS-B", bounds=[bounds] * 6)
    assert objective(v)[0] <= min(truth.fun, other.fun) + 1e-11
    assert (v >= limits[0]).all()


@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_variable_with_tiny_units_does_not_hold_up_the_others(seed, noise):
    objective, hessian, calls = logistic_loss(seed, noise)
    units = np.array([1e9, 1.0, 1.0, 1.0, 1.0, 1.0])

    def rescaled(v):
        value, gradient = objective(v * units)
        return value, gradient * units

    limits, start = (np.zeros(6), np.full(6, np.inf)), np.full(6, 3.0)
    own = minimise(objective, Curvature(hessian), start, limits, 1e-12)
    calls[:] = [0, 0]
    curvature = Curvature(lambda v: hessian(v * units) * np.outer(units, units))
    v = minimise(rescaled, curvature, start / units, limits, 1e-12)
    assert calls[0] + calls[1] <= 60
    assert objective(v * units)[0] == pytest.approx(objective(own)[0], abs=1e-9)
