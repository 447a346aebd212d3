"""Priors of the parameters, and the mixins of families that share a kind of prior.

Default priors are derived from the column, so that a change of its units does not change the model.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.families.base import Problem
from sunrise.families.left_out import CellsLeftOut, score_without_cells
from sunrise.forms.distance import Distance
from sunrise.forms.removal import Removal
from sunrise.numerics.evidence import strongest
from sunrise.numerics.normal_inverse_gamma import NormalInverseGamma
from sunrise.statistics.base import per_row
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums


def parse_normal_prior(prior: Any) -> Any:
    """Check a prior of mean and variance given by the user: numbers or arrays m0, kappa0, a0 and b0, or "evidence"."""
    if prior is None:
        return None
    if isinstance(prior, str):
        return check_evidence_keyword(prior)
    is_distribution = isinstance(prior, NormalInverseGamma)
    listed = tuple(prior) if isinstance(prior, tuple | list | np.ndarray) else ()
    parts = (prior.m, prior.kappa, prior.a, prior.b) if is_distribution else listed
    if len(parts) != 4:
        raise ValueError(
            f"the prior of a mean and a variance is {prior!r}; give four numbers m0, kappa0, a0, b0."
        )
    m, kappa, a, b = (np.asarray(part, dtype=float) for part in parts)
    proper = np.isfinite(m).all() and all((p > 0).all() and np.isfinite(p).all() for p in (kappa, a, b))
    # A fitted model has the prior kappa0 = b0 = 0 for a constant column; its prior_[column] must be accepted here.
    if not proper and not (is_distribution and (kappa == 0).all() and (b == 0).all()):
        raise ValueError(
            "the prior must be proper: m0 finite; kappa0, a0 and b0 above 0; "
            f"they are {m}, {kappa}, {a} and {b}."
        )
    return NormalInverseGamma(m, kappa, a, b)


def check_evidence_keyword(prior: str) -> str:
    """Return the prior if it is the keyword "evidence"; raise otherwise."""
    if prior != "evidence":
        raise ValueError(
            f'prior is {prior!r}; give numbers, or "evidence" to choose its strength by marginal likelihood.'
        )
    return prior


class NormalInverseGammaPrior:
    """Mixin of families with a mean and a variance: a normal-inverse-gamma prior, the setting `prior`.

    The default prior is centred on the column: m0 is the mean of the column, s2 its variance within the classes (the
    total variance S2 if s2 is 0), kappa0 = s2 / S2, a0 = 3/2 and b0 = s2 / 2. The posterior mean of a class variance
    is then about (SSE + s2) / (n + 1). The prior is derived from sums, so models merge exactly; the units of the
    column cancel. "evidence" multiplies kappa0 and b0 by the strength s that maximises the marginal likelihood, and
    sets a0 = 1 + s / 2.
    """

    prior: Any

    def resolve(self, stats: Moments, again: bool = False) -> Any:
        """Return the family with the parameters of its prior as numbers."""
        family: Any = self
        if isinstance(self.prior, NormalInverseGamma):
            return family
        if self.prior is None:
            return family.with_settings(prior=default_normal_prior(stats))
        chosen = strongest(
            lambda s: float(
                family.with_settings(prior=default_normal_prior(stats, s), estimate="mean")
                .log_evidence(stats)
                .sum()
            )
        )
        return family.with_settings(prior=default_normal_prior(stats, chosen.value), chosen=chosen)

    @property
    def pools_unobserved(self) -> bool:
        """True without a prior: a class without cells in a column then has the pooled estimate of all classes."""
        return self.estimate == "mle"  # type: ignore[attr-defined,no-any-return]

    def left_out(self, stats: Moments, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """Remove cells from the mean and the variance of their class, in closed form if all weights are equal."""
        family: Any = self
        form = None if row_weight is None else family.removal(stats, row_weight)
        return CellsLeftOut(
            lambda x, c, j, w: score_without_cells(family, stats, x, c, j, w),
            form,
            pools_unobserved=family.pools_unobserved,
        )

    def known_columns(self, stats: Moments) -> Mask:
        """Columns that were observed and have a proper prior; the others do not change the score."""
        shape = stats.x.shape[1:]
        has_prior = np.broadcast_to(self.prior.b > 0, (*np.shape(self.prior.b)[:-1], *shape))
        return np.asarray(has_prior.reshape(-1, *shape).any(axis=0) & (stats.observed > 0))

    def posterior(self, stats: Moments) -> NormalInverseGamma:
        """Normal-inverse-gamma posterior of the mean and the variance."""
        updated = self.prior.updated(stats.observed_weight, stats.mean, stats.squared_error)
        return updated.broadcast_to(stats.x.shape)  # type: ignore[no-any-return]

    def log_prior_density(self, stats: Moments, class_weight: Floats) -> float:
        """Log density, up to a constant, of the normal-inverse-gamma prior whose posterior mode is the estimate."""
        family: Any = self
        params = family.params(stats, class_weight)
        if family.estimate == "mle" or params.posterior is not None or isinstance(self.prior, str | None):
            return 0.0 if family.estimate == "mle" else float("nan")
        power = self.prior.a + (1.5 if family.estimate == "map" else -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = self.prior.b + 0.5 * self.prior.kappa * (params.mean - self.prior.m) ** 2
            log_density = -power * np.log(params.var) - squares / params.var
        return float(np.where(params.known, log_density, 0.0).sum())

    def removal(self, stats: Moments, w: Floats) -> Removal | None:
        """Closed-form leave-one-out: subtract the cell's weight from kappa and a, its square from b.

        None if a class has too few rows for the rest to have a variance.
        """
        estimate = self.estimate  # type: ignore[attr-defined]
        w, known = w[:, None], self.known_columns(stats)
        if estimate == "predictive" or (np.broadcast_to(stats.rows, stats.x.shape)[:, known] < 2).any():
            return None
        if estimate == "mle":
            return sample_moments_removal(stats, w, 0.0)
        post = self.posterior(stats).each(lambda a: np.where(known, a, 2.0 + w))
        a = post.a - 0.5 * w
        if (a <= 1.0).any() or (post.kappa <= w).any():
            return None
        stretch = post.kappa / (post.kappa - w)  # distance from the mean without the cell / with the cell
        var = post.b / (a - 1.0 if estimate != "map" else a + 1.5)
        return Removal.of(post.m, var, stretch, 0.5 * w * stretch / post.b, known)

    def log_evidence(self, stats: Moments, class_weight: Floats | None = None) -> Floats:
        """Log marginal likelihood in closed form; 0 for columns that are not known."""
        return np.where(self.known_columns(stats), super().log_evidence(stats), 0.0)  # type: ignore[misc]

    def sample_moments(self, stats: Moments, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw means and variances n times from their posterior: (n * classes) x columns each."""
        known = self.known_columns(stats)
        posterior = self.posterior(stats).each(lambda a: np.where(known, a, 1.0))
        mean, var = posterior.sample(n, rng)
        return stack_draws(mean), stack_draws(var)


def sample_moments_removal(
    stats: Moments, w: Floats, epsilon: float, laplace: bool = False
) -> Removal | None:
    """Closed-form leave-one-out for sample means and variances; None if a class has fewer than three rows.

    `epsilon` is added to every variance; with `laplace` the variance is (SSE + 1) / (n + 1).
    """
    known, weight = stats.observed > 0, np.broadcast_to(stats.observed_weight, stats.x.shape)
    # With fewer than three rows, at most one remains, which has no variance.
    if (np.broadcast_to(stats.rows, stats.x.shape)[:, known] < 3).any():
        return None
    n = np.where(known, weight, 2.0 + w)
    rest = n - w
    stretch, squares = n / rest, np.where(known, stats.squared_error, 1.0)
    var = (squares + 1.0) / (rest + 1.0) if laplace else squares / rest + epsilon
    if not (var > 0).all():
        return None
    return Removal.of(stats.mean, var, stretch, w * stretch / ((rest + laplace) * var), known)


def student_t_form(posterior: NormalInverseGamma, known: Mask) -> Distance:
    """Posterior predictive form (Student's t): mean and variance are integrated out."""
    proper = posterior.each(lambda a: np.where(known, a, 1.0))
    at_mean, width = proper.log_predictive(proper.m), proper.predictive_width
    return Distance.of_columns("log square", at_mean, proper.m, 1.0 / width, -(proper.a + 0.5), known)


def stack_draws(draws: Floats) -> Floats:
    """Reshape draws x classes x columns to (draws * classes) x columns."""
    return draws.reshape(-1, *draws.shape[2:])


def default_normal_prior(stats: Moments, strength: float = 1.0) -> NormalInverseGamma:
    """Default prior of every column, see `NormalInverseGammaPrior`; `strength` multiplies kappa0 and b0."""
    pooled = stats.pooled()
    overall = pooled.variance
    within = per_row(stats.squared_error.sum(axis=0, keepdims=True), pooled)
    within = np.where(within > 0, within, overall)
    kappa = strength * within / np.where(overall > 0, overall, 1.0)
    a, b = np.full_like(kappa, 1.0 + 0.5 * strength), 0.5 * strength * within
    return NormalInverseGamma(pooled.mean[0], kappa[0], a[0], b[0])


class TwoParameterPrior:
    """Mixin of families whose conjugate prior has two parameters, each a setting of the family.

    `prior` sets both: a distribution, for example `prior_[column]` of a fitted model, or "evidence". The prior is then
    centred on the mean of the column and has the strength that maximises the marginal likelihood.
    """

    prior: Any
    #: Class of the prior, and the settings that hold its two parameters.
    prior_distribution: ClassVar[Any]
    prior_settings: ClassVar[tuple[str, str]]

    def unpack_prior(self) -> None:
        """Check `prior` and copy its parameters into the settings."""
        if isinstance(self.prior, str):
            check_evidence_keyword(self.prior)
        elif self.prior is not None:
            if not isinstance(self.prior, self.prior_distribution):
                raise ValueError(
                    f"prior of {type(self).__name__} is {self.prior!r}; give a {self.prior_distribution.__name__} "
                    'distribution (for example prior_[column] of a fitted model) or "evidence".'
                )
            for name, f in zip(self.prior_settings, fields(self.prior), strict=True):
                object.__setattr__(self, name, getattr(self.prior, f.name))
            object.__setattr__(self, "prior", None)
        check_not_negative(self, **{name: getattr(self, name) for name in self.prior_settings})

    @property
    def pools_unobserved(self) -> bool:
        """True if a class without cells in a column has the pooled estimate of all classes."""
        return True

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """Subtract each cell from the sums of its class."""
        family: Any = self
        return CellsLeftOut(
            lambda x, c, j, w: score_without_cells(family, stats, x, c, j, w),
            pools_unobserved=family.pools_unobserved,
        )

    def pooled_where_unobserved(self, stats: Sums, of: Callable[[Sums], Any]) -> Any:
        """Return `of(stats)`, a distribution of the parameters; pooled over the classes where a class has no cells."""
        family: Any = self
        counts = stats.view(0, len(family.fit_support.views))
        observed = np.broadcast_to(counts.rows > 0, counts.x.shape)
        by_class, pooled = of(stats), of(stats.pooled())
        pairs = ((getattr(by_class, f.name), getattr(pooled, f.name)) for f in fields(by_class))
        return type(by_class)(*(np.where(observed, *pair) for pair in pairs))

    @abstractmethod
    def prior_of_strength(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """Both parameters of a prior with the mean of the column and this strength."""

    def resolve(self, stats: Sums, again: bool = False) -> Any:
        """Return the family with the parameters of its prior as numbers."""
        family: Any = self
        if self.prior is None:
            return family

        def with_strength(strength: float) -> Any:
            both = self.prior_of_strength(stats, strength)
            return family.with_settings(prior=None, **dict(zip(self.prior_settings, both, strict=True)))

        # The scaled prior of a column of zeros is degenerate, so these columns do not take part in the choice.
        nonzero = stats.view(0, len(family.fit_support.views)).pooled().x[0] > 0
        chosen = strongest(
            lambda s: float(
                with_strength(s).with_settings(estimate="mean").log_evidence(stats)[:, nonzero].sum()
            )
        )
        return with_strength(chosen.value).with_settings(chosen=chosen)


def missing_maximum_problem(family: Any, degenerate: Mask) -> Problem | None:
    """Report the first class and column whose likelihood has no maximum (marked in `degenerate`), or None."""
    if not degenerate.any():
        return None
    c, j = (int(k) for k in np.argwhere(degenerate)[0])
    text = (
        f"has fewer than two different values in one class, so the {family.name} likelihood has no maximum. "
        'Set estimate="mean", or drop the column.'
    )
    return Problem(j, text, c)


#: Smaller sums are replaced by this, so that rates stay in the range of floats.
SMALLEST_SUM = 1e-290


def overflow_problem(sums: Floats, why: str = "too large to be added", n_views: int = 1) -> Problem | None:
    """Report the first column whose sums overflow, or None."""
    finite = np.isfinite(sums)
    if np.count_nonzero(finite) == finite.size:
        return None
    text = f"holds numbers {why}. Divide the column by a power of ten."
    return Problem(int(np.argmin(finite.all(axis=0))) // n_views, text)


def check_not_negative(family: Any, **settings: Any) -> None:
    """Raise unless these settings are numbers or arrays, all finite and 0 or more; store arrays as NumPy arrays."""
    for name, value in settings.items():
        if value is None or (type(value) in (float, int) and 0.0 <= value < np.inf):
            continue
        try:
            numbers = np.asarray(value if isinstance(value, Real) else list(value), dtype=float)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if not ((numbers >= 0.0) & (numbers < np.inf)).all():
            raise ValueError(
                f"{name} of {type(family).__name__} is {value!r}; it must be a finite number, 0 or more."
            )
        if numbers.ndim:
            object.__setattr__(family, name, numbers)
