"""Minimisation of smooth functions with bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Mask

#: Limit on Newton steps, far above the number needed, and the number of variables above which L-BFGS is faster.
_MAX_STEPS, MAX_NEWTON_VARIABLES = 100, 1024
#: A gain that may be a rounding error.
_NOTHING = 1e-14
#: A Hessian costs as many gradients as there are variables, divided by this number.
_VARIABLES_PER_STEP = 8
#: With a smaller tolerance than the first number, the last steps have an exact Hessian, which is computed when a step
#: gains less than the second number.
_ROUGH, _NEAR_GAIN = 1e-9, 1e-7
#: A Newton step of which less than the first number can be taken is damped: the second number times its largest
#: curvature so far is added to the curvature of every variable, then more by the third number each time. The last
#: number ends a search without success.
_SHORT, _DAMPING, _MORE, _MOST_DAMPING = 0.1, 1e-2, 10.0, 1e12


@dataclass(frozen=True)
class Curvature:
    """The Hessian of a function for `minimise`: where to begin, the usual one and the exact one.

    The usual one may be that of some of the rows, and then costs as much as a few gradients.
    """

    usual: Callable[[Floats], Floats]
    exact: Callable[[Floats], Floats] | None = None
    #: The Hessian of a similar function, or at another point, with which the search begins.
    first: Floats | None = None
    #: True if `first` is the exact Hessian at the start.
    first_is_exact: bool = False


def minimise(
    objective: Callable[[Floats], tuple[float, Floats]],
    curvature: Curvature,
    start: Floats,
    bounds: tuple[Floats, Floats],
    tolerance: float,
) -> Floats:
    """Return the minimiser of a smooth function within bounds: projected Newton, or L-BFGS with many variables.

    `objective` returns the value and the gradient. Newton stops if a step gains less than tolerance * max(1, |value|).
    A Hessian costs as much as several gradients, so it is used again, corrected by the gradients of the last step
    (BFGS), for about as many steps as it costs.
    Where the function bends less than further on (a log loss of rows that are nearly sure), Newton steps lead much too
    far in some directions. A damped step is short in these directions only. Damping is relative to the curvature of
    each variable, so that the units of one variable do not hold up the others.

    >>> square = lambda v: (float((v - 3.0) @ (v - 3.0)), 2.0 * (v - 3.0))
    >>> curvature = Curvature(lambda v: 2.0 * np.eye(2))
    >>> minimise(square, curvature, np.zeros(2), (np.zeros(2), np.array([1.0, 9.0])), 1e-12)
    array([1., 3.])
    """
    if len(start) > MAX_NEWTON_VARIABLES:
        return _lbfgs(objective, start, bounds)
    (low, high), v = bounds, start
    value, gradient = objective(v)
    used = curvature.usual(v) if curvature.first is None else curvature.first
    is_rough, usual_is_exact = tolerance > _ROUGH, curvature.exact is None
    #: Whether the Hessian, apart from corrections, is exact, and whether it is that of the present point.
    is_exact = curvature.first_is_exact or (usual_is_exact and curvature.first is None)
    is_own = curvature.first is None or curvature.first_is_exact
    was_small, age, oldest = False, 0, _steps_of_hessian(len(start), usual_is_exact)
    damping, scale = 0.0, np.diagonal(used)
    for _ in range(_MAX_STEPS):
        free = ((v > low) | (gradient < 0)) & ((v < high) | (gradient > 0))
        scale = np.maximum(scale, np.diagonal(used))
        step, size, was_refused = _damped_step(used, gradient, free, damping * scale), 1.0, False
        while True:
            new = np.clip(v + size * step, low, high)
            new_value, new_gradient = objective(new)
            decrease = gradient @ (v - new)
            is_hopeless = size < 1e-9 or damping > _MOST_DAMPING
            if new_value <= value - 1e-4 * decrease or is_hopeless:
                break
            was_refused = True
            # The minimum of a parabola through the values and the slope, at most half of the step.
            part = float(0.5 * decrease / (new_value - value + decrease))
            if part >= _SHORT:
                size *= min(part, 0.5)
            else:
                more = _MORE if part > 0.02 else _MORE * _MORE
                damping, size = max(more * damping, _DAMPING), 1.0
                step = _damped_step(used, gradient, free, damping * scale)
        gain = value - new_value
        if size == 1.0 and gain >= 0.35 * decrease:
            damping = damping / _MORE if damping > _DAMPING / 100.0 else 0.0
        is_reliable = (
            size == 1.0 and damping == 0.0 and 0.35 * decrease <= gain <= 0.65 * decrease
        )  # a quadratic function gains half
        change, bend = new - v, new_gradient - gradient
        v, value, gradient = new, new_value, new_gradient
        unit = max(1.0, abs(value))
        is_small = gain <= tolerance * unit
        is_sure = is_reliable or gain <= _NOTHING or (is_rough and was_small)
        if is_small and is_sure and (is_rough or is_exact or gain <= _NOTHING):
            break
        was_small = is_small
        age += 1
        needs_exact = not (is_rough or is_exact) and gain <= _NEAR_GAIN * unit
        # A new Hessian after a short step that had one of its own would give another short step.
        is_short = was_refused and not is_own and 8 * age >= oldest
        is_own = needs_exact or is_short or age >= oldest
        if not is_own:
            used = _corrected(used, change, bend)
            continue
        age, is_exact = 0, usual_is_exact or needs_exact
        used = curvature.exact(v) if needs_exact and curvature.exact is not None else curvature.usual(v)
    return np.asarray(v)


def _steps_of_hessian(n_variables: int, is_exact: bool) -> int:
    """Return the number of steps after which a Hessian is computed again: about as many as it costs."""
    return max(2, n_variables // _VARIABLES_PER_STEP) if is_exact else 4


def _damped_step(hessian: Floats, gradient: Floats, free: Mask, damping: Floats) -> Floats:
    """Return the Newton step of the free variables, with `damping` added to the curvature of each."""
    step = np.zeros_like(gradient)
    own = hessian[np.ix_(free, free)]
    own[np.diag_indices_from(own)] += damping[free]
    # Threads of a BLAS would wait beside those of this package, for longer than the equations take.
    solution = _native.solve_positive(own, gradient[free])
    step[free] = -(np.linalg.solve(own, gradient[free]) if solution is None else solution)
    return step


def _corrected(hessian: Floats, step: Floats, bend: Floats) -> Floats:
    """Return the Hessian with the least change after which the step has changed the gradient by `bend`."""
    promised = hessian @ step
    curvature, promised_curvature = float(step @ bend), float(step @ promised)
    if not curvature > 1e-3 * promised_curvature > 0.0:
        return hessian
    corrected = np.outer(bend, bend / curvature)
    corrected += hessian
    corrected -= np.outer(promised, promised / promised_curvature)
    return corrected


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
