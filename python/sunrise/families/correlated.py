"""Correlated numbers: one multivariate Student-t for several columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise._common.threads import threads
from sunrise.families.base import Family, Problem
from sunrise.families.left_out import RowsLeftOut
from sunrise.families.standard_reader import STANDARDISED, Scale, for_columns
from sunrise.forms.quadratic import Quadratic, bounded, log_student
from sunrise.statistics.products import Products
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import PRODUCT

#: Number of rows that the overall mean is worth in the mean of a class.
MEAN_STRENGTH = 0.01


class CorrelatedParams(NamedTuple):
    """Means, scale matrices and degrees of freedom of the classes, of standardised columns."""

    #: Total weight of the mean of every class.
    strength: Floats
    mean: Floats
    #: Sums of squares and products about the mean, with those of the prior, classes x columns x columns.
    scatter: Floats
    freedom: Floats
    known: Mask
    #: Number of rows of each class without a missing cell.
    n_rows: Integers

    @property
    def scale(self) -> Floats:
        """Scale matrices of the Student-t."""
        factor = (self.strength + 1.0) / (self.strength * self.freedom)
        return np.asarray(self.scatter * factor[:, None, None])


@dataclass(frozen=True)
class Correlated(Family):
    """Columns that depend on each other within a class: x | c ~ multivariate Student-t.

    The density has its means and covariance matrices integrated out.

    The scale matrix of a class is drawn towards the matrix of all classes together with the strength of `pooled` rows,
    and towards independent columns with their total variances with the strength of `diagonal` rows. A large `pooled`
    gives linear discriminant analysis, 0 gives quadratic discriminant analysis with shrinkage. Rows with a missing cell
    are not fitted; new rows with missing cells are scored by the marginal density of the others.

    >>> import sunrise as sr
    >>> X = {"width": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "height": [1.1, 2.0, 2.9, 3.1, 2.0, 0.9]}
    >>> y = ["flat", "flat", "flat", "steep", "steep", "steep"]
    >>> model = sr.NaiveBayes({("width", "height"): sr.Correlated()}, calibrate=None).fit(X, y)
    >>> model.predict({"width": [1.5], "height": [1.4]}).tolist()
    ['flat']
    """

    name = "correlated"
    terms = (PRODUCT,)
    joint = True
    reader = STANDARDISED
    pooled: float = 10.0
    diagonal: float = 1.0
    #: Mean and standard deviation of every column, or one for all; the first data decide them.
    scales: tuple[Scale, ...] = field(default=(), repr=False)
    #: `pooled` per degree of freedom of the matrix of all classes, which the data decide.
    pooled_share: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (
            np.isfinite(self.pooled) and self.pooled >= 0 and np.isfinite(self.diagonal) and self.diagonal > 0
        ):
            raise ValueError(
                f"pooled is {self.pooled} and diagonal is {self.diagonal}; they are numbers of rows, and diagonal must "
                "be more than 0. Use pooled=10, diagonal=1."
            )

    @property
    def support(self) -> Support:
        """Real numbers."""
        return REAL

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """Name and scales of the columns: models can be merged only if both agree, because sums are in these units."""
        return self.name, self.scales

    def select_columns(self, columns: list[int]) -> Self:
        """Return the family of some of the columns."""
        scales = self.scales
        return self if len(scales) < 2 else self.with_settings(scales=tuple(scales[j] for j in columns))

    def resolve(self, stats: Products, again: bool = False) -> Self:
        """Return the family with `pooled_share` as a number; it stays the same when a row is left out."""
        if self.pooled_share is not None and not again:
            return self
        n_classes = int((stats.rows > 0).sum())
        degrees = max(float(stats.observed_weight.sum()) - n_classes, 1.0)
        return self.with_settings(pooled_share=self.pooled / degrees)

    def find_problem(self, stats: Products) -> Problem | None:
        """Return the first column whose sums of squares are not finite, with the remedy; None if there is none."""
        bad = ~np.isfinite(stats.squares.sum(axis=(0, 2)))
        if bad.any():
            text = "the squares of its numbers are too large; divide the column by a constant"
            return Problem(int(np.argmax(bad)), text)
        return None

    def params(self, stats: Products, class_weight: Floats) -> CorrelatedParams:
        """Means, scatter matrices and degrees of freedom of the classes."""
        n, share = stats.observed_weight[:, 0], self.pooled_share or 0.0
        strength = n + MEAN_STRENGTH
        mean = stats.x / strength[:, None]
        own = stats.squares - strength[:, None, None] * mean[:, :, None] * mean[:, None, :]
        scatter = own + share * own.sum(axis=0) + self.diagonal * np.eye(mean.shape[1])
        freedom = n + self.pooled + self.diagonal + 2.0
        return CorrelatedParams(strength, mean, scatter, freedom, stats.known, stats.rows[:, 0])

    def form(self, params: CorrelatedParams) -> Quadratic:
        """The multivariate Student-t per class; with weight 0 if no row of the fit was complete."""
        return Quadratic(params.mean, params.scale, params.freedom, float(params.known.any()))

    def left_out(self, stats: Products, params: CorrelatedParams, row_weight: Floats | None) -> RowsLeftOut:
        """Remove a row from the means and, by a change of rank one, from the scatter matrices of all classes."""
        form = self.form(params)

        def score_rows(x: Floats, class_weight: Floats, y: Codes, w: Floats) -> tuple[Floats, Floats]:
            n_threads = threads(None, x.size * len(params.mean))
            fitted = ~np.isnan(x).any(axis=1) & (w > 0)
            scores = np.empty((len(x), len(params.mean)))
            scores[fitted] = self._log_densities_without(params, x[fitted], y[fitted], w[fitted], n_threads)
            scores[~fitted] = form.log_densities(x[~fitted], n_threads)
            return bounded(scores, form.share), np.zeros_like(scores)

        return RowsLeftOut(lambda *_: None, all_classes=True, score_rows=score_rows, dense=True)

    def _log_densities_without(
        self, params: CorrelatedParams, x: Floats, y: Codes, w: Floats, n_threads: int
    ) -> Floats:
        """Return the log densities of complete rows, each without the row, rows x classes.

        With d = x - mean of the class of the row, every matrix loses a multiple of d d'.
        """
        n, n_classes, n_columns = len(x), *params.mean.shape
        factors = Quadratic(params.mean, params.scatter, params.freedom).factors
        cells, codes = np.ascontiguousarray(x), np.ascontiguousarray(y, np.int32)
        centres = params.mean.ravel(), factors.inverse.ravel()
        products = _native.distances_from_two(cells, codes, *centres, n_threads)
        # Inner products, with the inverse of each matrix, of x - its mean (q), of d (u), and of both.
        q, u, both = np.moveaxis(products.reshape(n, n_classes, 3), 2, 0)
        is_own = np.arange(n_classes) == y[:, None]
        rest = np.maximum(params.strength[y] - w, 1e-3 * MEAN_STRENGTH)
        grows = (params.strength[y] / rest)[:, None]  # x - the mean without x, over d
        lost = (w[:, None] * grows) * (is_own + (self.pooled_share or 0.0))
        left = np.maximum(1.0 - lost * u, 1e-12)
        distance = np.where(is_own, grows**2, 1.0) * (q + lost * both**2 / left)
        strength = np.where(is_own, rest[:, None], params.strength)
        freedom = np.where(is_own, (params.freedom[y] - w)[:, None], params.freedom)
        factor = (strength + 1.0) / (strength * freedom)
        log_determinant = factors.log_determinant + np.log(left) + n_columns * np.log(factor)
        return log_student(distance / factor, log_determinant, freedom, n_columns)

    def log_base_measure(self, x: Floats) -> Floats:
        """Return -log of the standard deviations, which makes densities of standardised cells those of the cells."""
        return np.where(np.isnan(x), 0.0, -np.log(for_columns(self.scales, x.shape[1])[1]))

    def sample(self, params: CorrelatedParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw rows of these classes from the Student-t."""
        lower = np.linalg.cholesky(params.scale)
        normal = rng.standard_normal((len(y), params.mean.shape[1]))
        stretch = np.sqrt(params.freedom[y] / rng.chisquare(params.freedom[y]))
        x = params.mean[y] + stretch[:, None] * np.einsum("ijk,ik->ij", lower[y], normal)
        centre, unit = for_columns(self.scales, x.shape[1])
        return np.asarray(centre + unit * x)

    def sample_parameters(
        self, stats: Products, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> CorrelatedParams:
        """Return the parameters n times: the density has its parameters integrated out already."""
        params = self.params(stats, class_weight)
        repeated = {
            name: np.tile(a, (n, *(1,) * (a.ndim - 1)))
            for name, a in params._asdict().items()
            if name != "known"
        }
        return params._replace(**repeated)

    def describe(self, params: CorrelatedParams) -> list[dict[str, Floats]]:
        """Return mean and standard deviation of every column, per class."""
        variance = params.scatter / params.freedom[:, None, None]
        scales = zip(*for_columns(self.scales, params.mean.shape[1]), strict=True)
        return [
            {"mean": centre + unit * params.mean[:, j], "sd": unit * np.sqrt(variance[:, j, j])}
            for j, (centre, unit) in enumerate(scales)
        ]
