"""Default priors, in the units of the column they are for."""

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
from sunrise.forms.pointwise import Pointwise
from sunrise.forms.removal import Removal
from sunrise.numerics.evidence import strongest
from sunrise.numerics.normal_inverse_gamma import NormalInverseGamma
from sunrise.statistics.base import per_row
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums


def given_normal(prior: Any) -> Any:
    """A prior of means and variances as it was given: four numbers m0, kappa0, a0 and b0, or arrays of them."""
    if prior is None:
        return None
    if isinstance(prior, str):
        return by_evidence(prior)
    known = isinstance(prior, NormalInverseGamma)
    listed = tuple(prior) if isinstance(prior, tuple | list | np.ndarray) else ()
    parts = (prior.m, prior.kappa, prior.a, prior.b) if known else listed
    if len(parts) != 4:
        raise ValueError(f"the prior of a mean and a variance is m0, kappa0, a0 and b0, not {prior!r}.")
    m, kappa, a, b = (np.asarray(part, dtype=float) for part in parts)
    fine = np.isfinite(m).all() and all((p > 0).all() and np.isfinite(p).all() for p in (kappa, a, b))
    # Of a column that never varied, a model's own prior says nothing; given back, it still does not.
    if not fine and not (known and (kappa == 0).all() and (b == 0).all()):
        raise ValueError(
            "the prior must be proper: m0 finite; kappa0, a0 and b0 above 0; "
            f"they are {m}, {kappa}, {a} and {b}."
        )
    return NormalInverseGamma(m, kappa, a, b)


def by_evidence(prior: str) -> str:
    """The one word that stands for a prior."""
    if prior != "evidence":
        raise ValueError(
            f'prior is {prior!r}; it must be numbers, or "evidence" to have its strength chosen.'
        )
    return prior


class NormalPrior:
    """What the families with a mean and a variance share: a normal-inverse-gamma prior, called `prior`.

    Unless given, it is centred on the column: m0 is its mean, s2 its variance within the classes (its whole variance
    S2 where that is 0), kappa0 = s2 / S2, a0 = 3/2 and b0 = s2 / 2. The posterior mean of a class variance is then
    about (SSE + s2) / (n + 1). All of it is derived from sums, so models merge exactly, and the units of the column
    cancel. With "evidence" kappa0 and b0 are multiplied by the strength s of greatest evidence, and a0 = 1 + s / 2.
    """

    prior: Any

    def resolve(self, stats: Moments, again: bool = False) -> Any:
        """The family with the numbers of its prior."""
        family: Any = self
        if isinstance(self.prior, NormalInverseGamma):
            return family
        if self.prior is None:
            return family.with_settings(prior=default_normal(stats))
        chosen = strongest(
            lambda s: float(
                family.with_settings(prior=default_normal(stats, s), estimate="mean")
                .log_evidence(stats)
                .sum()
            )
        )
        return family.with_settings(prior=default_normal(stats, chosen.value), chosen=chosen)

    @property
    def pools_unobserved(self) -> bool:
        """True if a class that never saw a column has the estimate of all classes, because there is no prior."""
        return self.estimate == "mle"  # type: ignore[attr-defined,no-any-return]

    def left_out(self, stats: Moments, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """Cells leave the mean and the variance of their class, in closed form where rows weigh the same."""
        family: Any = self
        form = None if row_weight is None else family.removal(stats, row_weight)
        return CellsLeftOut(
            lambda x, c, j, w: score_without_cells(family, stats, x, c, j, w),
            form,
            pools_unobserved=family.pools_unobserved,
        )

    def known(self, stats: Moments) -> Mask:
        """Columns that say anything: those that were observed, and have a prior."""
        shape = stats.x.shape[1:]
        has_prior = np.broadcast_to(self.prior.b > 0, (*np.shape(self.prior.b)[:-1], *shape))
        return np.asarray(has_prior.reshape(-1, *shape).any(axis=0) & (stats.observed > 0))

    def posterior(self, stats: Moments) -> NormalInverseGamma:
        """Normal-inverse-gamma of the mean and the variance."""
        updated = self.prior.updated(stats.observed_weight, stats.mean, stats.squared_error)
        return updated.broadcast_to(stats.x.shape)  # type: ignore[no-any-return]

    def log_prior_density(self, stats: Moments, class_weight: Floats) -> float:
        """A normal-inverse-gamma density at the estimate, with the power of the variance that makes it the mode."""
        family: Any = self
        params = family.params(stats, class_weight)
        if family.estimate == "mle" or params.posterior is not None or isinstance(self.prior, str | None):
            return 0.0 if family.estimate == "mle" else float("nan")
        power = self.prior.a + (1.5 if family.estimate == "map" else -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = self.prior.b + 0.5 * self.prior.kappa * (params.mean - self.prior.m) ** 2
            pulls = -power * np.log(params.var) - squares / params.var
        return float(np.where(params.known, pulls, 0.0).sum())

    def removal(self, stats: Moments, w: Floats) -> Removal | None:
        """The posterior's own way: kappa and a lose the weight of the cell, b its square."""
        estimate = self.estimate  # type: ignore[attr-defined]
        w, known = w[:, None], self.known(stats)
        if estimate == "predictive" or (np.broadcast_to(stats.rows, stats.x.shape)[:, known] < 2).any():
            return None
        if estimate == "mle":
            return own_removal(stats, w, 0.0)
        post = self.posterior(stats).each(lambda a: np.where(known, a, 2.0 + w))
        a = post.a - 0.5 * w
        if (a <= 1.0).any() or (post.kappa <= w).any():
            return None
        farther = post.kappa / (post.kappa - w)
        var = post.b / (a - 1.0 if estimate != "map" else a + 1.5)
        return Removal.of(post.m, var, farther, 0.5 * w * farther / post.b, known)

    def log_evidence(self, stats: Moments, class_weight: Floats | None = None) -> Floats:
        """Closed form; a column that says nothing adds nothing."""
        return np.where(self.known(stats), super().log_evidence(stats), 0.0)  # type: ignore[misc]

    def draw(self, stats: Moments, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means and variances drawn n times: n C x columns."""
        known = self.known(stats)
        posterior = self.posterior(stats).each(lambda a: np.where(known, a, 1.0))
        mean, var = posterior.sample(n, rng)
        return as_classes(mean), as_classes(var)


def own_removal(stats: Moments, w: Floats, epsilon: float, laplace: bool = False) -> Removal | None:
    """How cells are taken out of the sample's own means and variances; None where some would have none left."""
    known, seen = stats.observed > 0, np.broadcast_to(stats.observed_weight, stats.x.shape)
    if (np.broadcast_to(stats.rows, stats.x.shape)[:, known] < 3).any():  # one row that is left has no spread
        return None
    n, rest = np.where(known, seen, 2.0 + w), np.where(known, seen, 2.0 + w) - w
    farther, squares = n / rest, np.where(known, stats.squared_error, 1.0)
    var = (squares + 1.0) / (rest + 1.0) if laplace else squares / rest + epsilon
    if not (var > 0).all():
        return None
    return Removal.of(stats.mean, var, farther, w * farther / ((rest + laplace) * var), known)


def student(posterior: NormalInverseGamma, known: Mask) -> Pointwise:
    """The form of cells with their mean and variance integrated out."""
    sound = posterior.each(lambda a: np.where(known, a, 1.0))
    return Pointwise(lambda x: np.where(known, sound.log_predictive(x), 0.0))


def as_classes(draws: Floats) -> Floats:
    """Draws x classes x columns, with every draw of a class as a class of its own."""
    return draws.reshape(-1, *draws.shape[2:])


def default_normal(stats: Moments, strength: float = 1.0) -> NormalInverseGamma:
    """The prior of every column in its own units, see `NormalPrior`."""
    pooled = stats.pooled()
    overall = per_row(pooled.squared_error, pooled)
    within = per_row(stats.squared_error.sum(axis=0, keepdims=True), pooled)
    within = np.where(within > 0, within, overall)
    kappa = strength * within / np.where(overall > 0, overall, 1.0)
    a, b = np.full_like(kappa, 1.0 + 0.5 * strength), 0.5 * strength * within
    return NormalInverseGamma(pooled.mean[0], kappa[0], a[0], b[0])


class TwoNumbers:
    """What the families whose prior is two numbers share: it may be given as one, called `prior`, or chosen.

    `prior` is a distribution (a model's own `prior_[column]`, for one), or "evidence": the prior then has the mean of
    the column, and the strength of greatest evidence.
    """

    prior: Any
    #: What kind of distribution it is, and the names of its numbers.
    conjugate: ClassVar[Any]
    numbers: ClassVar[tuple[str, str]]

    def read_prior(self) -> None:
        """Check the prior, and take its numbers."""
        if isinstance(self.prior, str):
            by_evidence(self.prior)
        elif self.prior is not None:
            if not isinstance(self.prior, self.conjugate):
                raise ValueError(
                    f"the prior of {type(self).__name__} is a {self.conjugate.__name__} distribution (a model's own "
                    f'prior_[column], for one) or "evidence", not {self.prior!r}.'
                )
            for name, f in zip(self.numbers, fields(self.prior), strict=True):
                object.__setattr__(self, name, getattr(self.prior, f.name))
            object.__setattr__(self, "prior", None)
        check_priors(self, **{name: getattr(self, name) for name in self.numbers})

    @property
    def pools_unobserved(self) -> bool:
        """True if a class that never saw a column has the estimate of all classes together."""
        return True

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """A cell leaves the sums of its class."""
        family: Any = self
        return CellsLeftOut(
            lambda x, c, j, w: score_without_cells(family, stats, x, c, j, w),
            pools_unobserved=family.pools_unobserved,
        )

    def or_pooled(self, stats: Sums, of: Callable[[Sums], Any]) -> Any:
        """A distribution of the parameters, that of all classes together where a class saw nothing."""
        family: Any = self
        counts = stats.view(0, len(family.fit_support.views))
        seen = np.broadcast_to(counts.rows > 0, counts.x.shape)
        own, pooled = of(stats), of(stats.pooled())
        numbers = ((getattr(own, f.name), getattr(pooled, f.name)) for f in fields(own))
        return type(own)(*(np.where(seen, mine, together) for mine, together in numbers))

    @abstractmethod
    def scaled_prior(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """Both numbers, for a prior with the column's mean and this strength."""

    def resolve(self, stats: Sums, again: bool = False) -> Any:
        """The family with the numbers of its prior."""
        family: Any = self
        if self.prior is None:
            return family

        def under(strength: float) -> Any:
            both = self.scaled_prior(stats, strength)
            return family.with_settings(prior=None, **dict(zip(self.numbers, both, strict=True)))

        # A column of zeros would have a prior of nothing but zeros: it is not asked.
        telling = stats.view(0, len(family.fit_support.views)).pooled().x[0] > 0
        chosen = strongest(
            lambda s: float(under(s).with_settings(estimate="mean").log_evidence(stats)[:, telling].sum())
        )
        return under(chosen.value).with_settings(chosen=chosen)


class PooledRow:
    """What the families without a conjugate prior share: one more row, of the pooled mean terms, called `prior`."""

    prior: Any

    def check_row(self, n_terms: int) -> None:
        """Refuse a row that does not have a number for each term."""
        if isinstance(self.prior, str):
            raise ValueError(
                f"{type(self).__name__} has no evidence in closed form: its prior is a row of {n_terms} mean terms."
            )
        if self.prior is not None and len(self.prior) != n_terms:
            raise ValueError(f"the prior is a row of {n_terms} mean terms, not {self.prior!r}.")
        if self.prior is not None:
            row = tuple(np.asarray(term, dtype=float) for term in self.prior)
            object.__setattr__(self, "prior", row)

    def resolve(self, stats: Sums, again: bool = False) -> Any:
        """The family with the numbers of its row."""
        family: Any = self
        if self.prior is not None:
            return family
        n = len(family.fit_support.views)
        return family.with_settings(prior=tuple(stats.pooled().mean[0, k::n] for k in range(n)))

    def left_out(self, stats: Sums, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """A cell leaves the sums of its class; a class without cells has the pooled row, or all classes' estimate."""
        family: Any = self
        return CellsLeftOut(
            lambda x, c, j, w: score_without_cells(family, stats, x, c, j, w),
            pools_unobserved=family.estimate == "mle",
        )

    def row(self, stats: Sums) -> Sums:
        """The row, 1 x views."""
        shape = stats.x.shape[1] // len(self.prior)
        terms = np.stack([np.broadcast_to(term, shape) for term in self.prior], axis=1).reshape(1, -1)
        return Sums(np.ones((1, 1), np.int64), np.ones((1, 1)), terms, np.zeros_like(terms))

    def with_row(self, stats: Sums) -> Sums:
        """Statistics with the row added to every class; without it where the estimate has no prior."""
        row = self.row(stats)
        if self.estimate == "mle":  # type: ignore[attr-defined]
            # A class that saw nothing has all classes' terms.
            blind = np.broadcast_to(stats.rows == 0, stats.x.shape)
            x, seen = np.where(blind, row.x, stats.x), np.where(blind, 1.0, stats.observed_weight)
            return Sums(np.where(blind, 1, stats.rows), seen, x, stats.error)
        return Sums(stats.rows + 1, stats.observed_weight + 1.0, stats.x + row.x, stats.error)

    def log_prior_density(self, stats: Sums, class_weight: Floats) -> float:
        """The log-likelihood of the row under every class."""
        family: Any = self
        form = family.form(family.params(stats, class_weight))
        return 0.0 if family.estimate == "mle" else float(form.finite.cells(self.row(stats).x).sum())

    def share(self, joined: Sums) -> Floats:
        """The share of the row among the cells of every class and column."""
        n = len(self.prior)
        weight = np.broadcast_to(joined.observed_weight, joined.x.shape)[:, ::n]
        return np.zeros_like(weight) if self.estimate == "mle" else 1.0 / weight  # type: ignore[attr-defined]

    def prior_of(self, stats: Sums, j: int) -> tuple[float, ...]:
        """The mean terms of the row."""
        n = len(self.prior)
        return tuple(float(term) for term in self.row(stats).x[0, j * n : (j + 1) * n])


def rounding(pooled: Sums) -> Floats:
    """What adding up may have done to a mean, relative to its terms; 1 x views."""
    return np.broadcast_to(2.0**-52 * (64.0 + pooled.rows), pooled.x.shape)


def forgotten(pooled: Sums) -> Floats:
    """What forgetting rows may have done to a mean; 1 x views."""
    return per_row(np.zeros_like(pooled.x) if pooled.error is None else pooled.error, pooled)


def with_spread(gap: Floats, pooled: Floats, share: Floats, blur: Floats) -> tuple[Floats, Mask]:
    """Jensen's gap of every class as it is without rounding, and which columns have one.

    A gap is a concave function of the mean terms that is 0 for any one cell, so 0 to within `blur` where all are
    the same. With a row of the pooled terms among its cells, a class has at least that row's `share` of one.
    """
    spread = pooled > blur
    return np.where(spread, np.maximum(gap, np.maximum(pooled * share, blur * (share == 0.0))), blur), spread[
        0
    ]


def beyond(stats: Sums, gap: Floats) -> Mask:
    """Whether the first class has a gap that cells can have, or no cells at all."""
    n = stats.x.shape[1] // gap.shape[1]
    return np.asarray((gap[0] > -1e-9) | (np.broadcast_to(stats.rows, stats.x.shape)[0, ::n] == 0))


def same_cells(family: Any, stats: Sums, gap: Floats, blur: Floats) -> Problem | None:
    """Complain of the first class and column whose cells are all the same, where the estimate has no prior."""
    if family.estimate != "mle":
        return None
    n = stats.x.shape[1] // gap.shape[1]
    few = (np.broadcast_to(stats.rows, stats.x.shape)[:, ::n] > 0) & ~(gap > blur)
    return no_likelihood(family, few)


def no_likelihood(family: Any, few: Mask) -> Problem | None:
    """Complain of the first class and column that have too few different cells for a maximum of the likelihood."""
    if not few.any():
        return None
    c, j = (int(k) for k in np.argwhere(few)[0])
    text = (
        f"has fewer than two different values in one class, so no {family.name} has the maximum of the likelihood. "
        'Use another estimate, such as "mean", or leave the column out.'
    )
    return Problem(j, text, c)


#: Sums below this are taken for it, so that rates stay in the range of floats.
LEAST = 1e-290


def too_large(sums: Floats, why: str = "too large to be added", n_views: int = 1) -> Problem | None:
    """Complain of the first column whose sum leaves the range of floats."""
    fine = np.isfinite(sums).all(axis=0)
    if fine.all():
        return None
    text = f"holds numbers {why}. Rescale it: divide it by a power of ten."
    return Problem(int(np.argmin(fine)) // n_views, text)


def check_priors(family: Any, **priors: Any) -> None:
    """Refuse priors that are no numbers from 0; arrays have one for each column, or classes x columns."""
    for name, value in priors.items():
        if value is None:
            continue
        try:
            numbers = np.asarray(value if isinstance(value, Real) else list(value), dtype=float)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if not ((numbers >= 0.0) & (numbers < np.inf)).all():
            raise ValueError(
                f"{name} of {type(family).__name__} is {value!r}; it must be a number, 0 or more."
            )
        if numbers.ndim:
            object.__setattr__(family, name, numbers)
