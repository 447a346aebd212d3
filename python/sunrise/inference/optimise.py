"""Minimisation of smooth functions with bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sunrise._common.arrays import Floats

#: Limit on Newton steps, far above the number needed, and the number of variables above which L-BFGS is faster.
_MAX_STEPS, MAX_NEWTON_VARIABLES = 100, 1024
#: A gain that may be a rounding error.
_NOTHING = 1e-14
#: A Hessian costs as many gradients as there are variables, divided by this number.
_VARIABLES_PER_STEP = 8
#: With a smaller tolerance than the first number, the last step has a Hessian of its own and gains less than the second
#: number. Newton's error falls by its square, so the result is exact.
_ROUGH, _LAST_GAIN = 1e-9, 1e-7


def minimise(
    objective: Callable[[Floats], tuple[float, Floats]],
    hessian: Callable[[Floats], Floats],
    start: Floats,
    bounds: tuple[Floats, Floats],
    tolerance: float,
    first_hessian: Floats | None = None,
) -> Floats:
    """Return the minimiser of a smooth function within bounds: projected Newton, or L-BFGS with many variables.

    `objective` returns the value and the gradient. Newton stops when the error is about tolerance * max(1, |value|).
    A Hessian costs as much as many gradients, so it is used again, corrected by the gradients of the last step (BFGS),
    for about as many steps as it costs. Newton may begin with `first_hessian`, the Hessian of a similar function.

    >>> square = lambda v: (float((v - 3.0) @ (v - 3.0)), 2.0 * (v - 3.0))
    >>> minimise(square, lambda v: 2.0 * np.eye(2), np.zeros(2), (np.zeros(2), np.array([1.0, 9.0])), 1e-12)
    array([1., 3.])
    """
    if len(start) > MAX_NEWTON_VARIABLES:
        return _lbfgs(objective, start, bounds)
    (low, high), v = bounds, start
    value, gradient = objective(v)
    is_fresh, used = first_hessian is None, hessian(v) if first_hessian is None else first_hessian
    is_rough, had_converged = tolerance > _ROUGH, False
    age, oldest = 0, max(2, len(start) // _VARIABLES_PER_STEP)
    for _ in range(_MAX_STEPS):
        free = ((v > low) | (gradient < 0)) & ((v < high) | (gradient > 0))
        step = np.zeros_like(v)
        step[free] = -np.linalg.solve(used[np.ix_(free, free)], gradient[free])
        size = 1.0
        while True:
            new = np.clip(v + size * step, low, high)
            new_value, new_gradient = objective(new)
            decrease = gradient @ (v - new)
            if new_value <= value - 1e-4 * decrease or size < 1e-9:
                break
            # The minimum of a parabola through the values and the slope, not too far from half of the step.
            size *= float(np.clip(0.5 * decrease / (new_value - value + decrease), 0.02, 0.5))
        gain = value - new_value
        is_reliable = (
            size == 1.0 and 0.35 * decrease <= gain <= 0.65 * decrease
        )  # a quadratic function gains half
        change, bend = new - v, new_gradient - gradient
        v, value, gradient = new, new_value, new_gradient
        has_converged = gain <= (tolerance if is_rough else _LAST_GAIN) * max(1.0, abs(value))
        is_sure = is_reliable or gain <= _NOTHING or (is_rough and had_converged)
        if has_converged and is_sure and (is_rough or is_fresh):
            break
        had_converged = has_converged
        age += 1
        # A new Hessian after a short step that had one of its own would give another short step.
        is_short = size < 1.0 and not is_fresh and 8 * age >= oldest
        is_fresh = (has_converged and not is_rough) or is_short or age >= oldest
        age = 0 if is_fresh else age
        used = hessian(v) if is_fresh else _corrected(used, change, bend)
    return np.asarray(v)


def _corrected(hessian: Floats, step: Floats, bend: Floats) -> Floats:
    """Return the Hessian with the least change after which the step has changed the gradient by `bend`."""
    promised = hessian @ step
    curvature, promised_curvature = float(step @ bend), float(step @ promised)
    if not curvature > 1e-3 * promised_curvature > 0.0:
        return hessian
    return np.asarray(
        hessian + np.outer(bend, bend / curvature) - np.outer(promised, promised / promised_curvature)
    )


def _lbfgs(
    objective: Callable[[Floats], tuple[float, Floats]], start: Floats, bounds: tuple[Floats, Floats]
) -> Floats:
    from scipy.optimize import minimize  # importing it takes as long as importing all of this package

    pairs = [
        (a if np.isfinite(a) else None, b if np.isfinite(b) else None) for a, b in zip(*bounds, strict=True)
    ]
    options = {"maxiter": 500, "ftol": 1e-10, "gtol": 1e-7}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=pairs, options=options)
    return np.asarray(result.x)
