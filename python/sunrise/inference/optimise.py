"""Minimisation of smooth functions with bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sunrise._common.arrays import Floats, Mask

#: Limit on Newton steps, far above the number needed, and the number of variables above which L-BFGS is faster.
_MAX_STEPS, MAX_NEWTON_VARIABLES = 100, 1024
#: A gain that may be a rounding error.
_NOTHING = 1e-14
#: A Hessian costs as many gradients as there are variables, divided by this number.
_VARIABLES_PER_STEP = 8
#: With a smaller tolerance than the first number, the last step has a Hessian of its own and gains less than the second
#: number. Newton's error falls by its square, so the result is exact.
_ROUGH, _LAST_GAIN = 1e-9, 1e-7
#: A Newton step of which less than the first number can be taken is damped: the second number times the mean curvature
#: is added to all curvatures, then more by the third number each time. The last number ends a search without success.
_SHORT, _DAMPING, _MORE, _MOST_DAMPING = 0.1, 1e-2, 10.0, 1e12


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
    Where the function bends less than further on (a log loss of rows that are nearly sure), Newton steps lead much too
    far in some directions. A damped step is short in these directions only.

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
    damping = 0.0
    for _ in range(_MAX_STEPS):
        free = ((v > low) | (gradient < 0)) & ((v < high) | (gradient > 0))
        least_damping = _DAMPING * float(np.trace(used)) / len(v)
        step, size, was_refused = _damped_step(used, gradient, free, damping), 1.0, False
        while True:
            new = np.clip(v + size * step, low, high)
            new_value, new_gradient = objective(new)
            decrease = gradient @ (v - new)
            is_hopeless = size < 1e-9 or damping > _MOST_DAMPING * least_damping
            if new_value <= value - 1e-4 * decrease or is_hopeless:
                break
            was_refused = True
            # The minimum of a parabola through the values and the slope, at most half of the step.
            part = float(0.5 * decrease / (new_value - value + decrease))
            if part >= _SHORT:
                size *= min(part, 0.5)
            else:
                more = _MORE if part > 0.02 else _MORE * _MORE
                damping, size = max(more * damping, least_damping), 1.0
                step = _damped_step(used, gradient, free, damping)
        gain = value - new_value
        if size == 1.0 and gain >= 0.35 * decrease:
            damping = damping / _MORE if damping > least_damping / 100.0 else 0.0
        is_reliable = (
            size == 1.0 and damping == 0.0 and 0.35 * decrease <= gain <= 0.65 * decrease
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
        is_short = was_refused and not is_fresh and 8 * age >= oldest
        is_fresh = (has_converged and not is_rough) or is_short or age >= oldest
        age = 0 if is_fresh else age
        used = hessian(v) if is_fresh else _corrected(used, change, bend)
    return np.asarray(v)


def _damped_step(hessian: Floats, gradient: Floats, free: Mask, damping: float) -> Floats:
    """Return the Newton step of the free variables, with `damping` added to all curvatures."""
    step = np.zeros_like(gradient)
    own = hessian[np.ix_(free, free)]
    step[free] = -np.linalg.solve(own + damping * np.eye(len(own)), gradient[free])
    return step


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
