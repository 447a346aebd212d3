"""Bursty counts of a whole block: x | c ~ Dirichlet-compound multinomial (Polya), and DirichletMultinomialNB."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise import polya
from sunrise.alert import alert
from sunrise.arrays import Codes, Floats, Integers, Mask
from sunrise.derived import Fitted, Settings
from sunrise.estimator import COMMON_CONSTRAINTS
from sunrise.family import Cells, Complaint, Family
from sunrise.forms import Polya
from sunrise.given import given_parameters
from sunrise.single import OneFamily
from sunrise.special import log_rising
from sunrise.stats import Counts, RowCounts
from sunrise.support import WHOLE_COUNTS, Support
from sunrise.terms import COUNT

#: Whole counts; a family that takes others is named where they are refused.
BURSTY = replace(WHOLE_COUNTS, text=WHOLE_COUNTS.text + " (MultinomialNB takes any weights from 0)")


class NotConvergedWarning(UserWarning):
    """The likelihood of a Dirichlet-compound multinomial could still grow when the iterations ended.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.NotConvergedWarning)`.
    """


class Convergence(NamedTuple):
    """How the alphas of every class were found: rounds, the last relative change of their sum, whether that was enough.

    `boundary` is 1 where the sum of the alphas grew beyond all bounds (the counts are no burstier than a multinomial's)
    and -1 where it fell to 0 (no row has two different things); both are optima, found without rounds.
    """

    iterations: Integers
    change: Floats
    converged: Mask
    boundary: Integers


class DirichletMultinomialParams(NamedTuple):
    """What the urns hold, classes x columns; columns of which nothing was ever counted are not in the block."""

    alpha: Floats
    known: Mask


@dataclass(frozen=True)
class DirichletMultinomial(Family):
    """Counts that come in bursts: shares ~ Dirichlet(alpha) anew for each row, its counts ~ Multinomial(shares).

    A word that was said once is likely to be said again. The alphas are those of greatest likelihood, with a share
    `background` of them as in all classes together (none with estimate="mle"); they have no conjugate posterior, so
    every other estimate is the same. Leave-one-out takes a row out of the alphas of what it holds to first order, which
    makes it approximate. `alpha` may be given instead: classes x columns.
    """

    name = "dirichlet_multinomial"
    terms = (COUNT,)
    joint = True
    of_rows = True
    background: float = 0.1
    alpha: Any = None
    tol: float = 1e-12
    max_iter: int = 100
    #: What every class has of every column by the background, classes x columns, once the alphas are found.
    common: Floats | None = field(default=None, init=False, repr=False, compare=False)
    #: How the alphas were found, once they are.
    convergence: Convergence | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.background, Real) and 0.0 <= float(self.background) < 1.0):
            raise ValueError(
                f"background is {self.background!r}; it must be a share from 0 to below 1, such as 0.1."
            )
        if self.alpha is not None:
            alpha = np.atleast_2d(np.asarray(self.alpha, dtype=float))
            if not (np.isfinite(alpha) & (alpha >= 0)).all():
                raise ValueError("alpha must be finite and 0 or more, for each class and column.")
            object.__setattr__(self, "alpha", alpha)

    @property
    def support(self) -> Support:
        """Whole counts."""
        return BURSTY

    def complaint(self, stats: RowCounts) -> Complaint | None:
        """Refuse missing counts: what a row adds up to is then not known. A column without any count is no matter."""
        wrong = (stats.missing > 0) & stats.known
        if not wrong.any():
            return None
        j = int(np.argmax(wrong))
        return Complaint(
            j,
            f"has {stats.missing[j]} missing counts, and {self.name} cannot learn from rows without a total. Give 0 "
            "where nothing was counted, leave those rows or the column out, or use multinomial, which can.",
        )

    def thawed(self) -> Self:
        """The family without its alphas, unless they were given."""
        return self if self.common is None else self.changed(alpha=None, common=None, convergence=None)

    def frozen(self, stats: Counts) -> Self:
        """The family with its alphas: leave-one-out keeps them."""
        if self.alpha is not None:
            shape = len(stats.rows), stats.n_columns - 1
            return self.changed(alpha=np.broadcast_to(self.alpha, shape))
        found = polya.likeliest(stats, self.tol, self.max_iter)
        convergence, alpha = Convergence(*found[1:]), found.alpha
        share, common = 0.0 if self.estimate == "mle" else float(self.background), np.zeros(1)
        if share > 0.0 or not alpha.any(axis=1).all():
            pooled = polya.likeliest(stats.pooled(), self.tol, self.max_iter)
            own, alpha = alpha, polya.with_background(alpha, pooled.alpha, share)
            common = alpha - (1.0 - share) * own
        if not convergence.converged.all():
            alert(
                f"The alphas of {int((~convergence.converged).sum())} classes of {self.name} have not converged after "
                f"max_iter={self.max_iter} rounds: their sum still changed by {convergence.change.max():.1g} of "
                "itself. Raise max_iter, or tol.",
                NotConvergedWarning,
            )
        return self.changed(alpha=alpha, common=common, convergence=convergence)

    def params(self, stats: Counts, class_weight: Floats) -> DirichletMultinomialParams:
        """The alphas; worked out from the counts of counts unless they are known."""
        alpha = self.frozen(stats).alpha
        return DirichletMultinomialParams(alpha, alpha.any(axis=0))

    def pull(self, stats: Counts, class_weight: Floats) -> float:
        """The alphas are those of greatest likelihood, unless a background is mixed in."""
        return 0.0 if self.estimate == "mle" or self.background == 0.0 else float("nan")

    def log_evidence(self, stats: Counts, class_weight: Floats | None = None) -> Floats:
        """There is none in closed form."""
        return np.full((len(stats.rows), 1), np.nan)

    def left_out_rows(self, stats: Counts, rows: Cells, y: Codes, w: Floats) -> Floats:
        """The score under alphas that lose what the row has to say of them, to first order.

        Infinite for rows that were never there.
        """
        frozen, c = self.frozen(stats), y[rows.row]
        alpha = np.asarray(frozen.alpha)
        known = np.asarray(alpha.any(axis=0))[rows.column]
        length = rows.by_row(np.where(known, rows.x, 0.0))
        mine, total = alpha[c, rows.column], alpha.sum(axis=1)[y]
        if frozen.common is not None:
            common = np.broadcast_to(frozen.common, alpha.shape)
            own, change = frozen._changes(stats, alpha - common, rows, y, w)
            mine, total = mine + own, total + change
        found = rows.by_row(np.where(known, log_rising(mine, rows.x), 0.0))
        found -= np.where(total > 0, log_rising(np.where(total > 0, total, 1.0), length), 0.0)
        at = stats.places(rows.column, rows.x.astype(np.int64))
        there = at >= 0
        c, at, w = c[there], at[there], w[rows.row][there]
        there[there] = (stats.rows[c, at] > 0) & (stats.weight[c, at] >= (1.0 - 1e-9) * w)
        return np.where(rows.by_row(~there) > 0, np.inf, found)

    def _changes(self, stats: Counts, own: Floats, rows: Cells, y: Codes, w: Floats) -> tuple[Floats, Floats]:
        """How the class's own part of the alphas of a row's columns changes without the row, and their sum's.

        The likeliest alphas change so that the slopes of the likelihood stay 0, to first order; none falls below 0.
        """
        share = 0.0 if self.estimate == "mle" else float(self.background)
        fitted, c = own / (1.0 - share), y[rows.row]
        response = polya.Response.of(stats, fitted)
        before, bend = fitted[c, rows.column], response.bend[c, rows.column]
        lost = w[rows.row] * polya.slope(before, rows.x)
        lost = np.where(before > 0, lost, 0.0)
        gained = w * polya.slope(np.maximum(fitted.sum(axis=1), polya.LEAST)[y], rows.by_row(rows.x))
        inner = (response.stiffness > 0) & np.isfinite(response.total_bend)
        if self.convergence is not None:
            inner &= self.convergence.boundary == 0
        stiff = np.where(inner, response.stiffness, 1.0)[y]
        give = (1.0 / response.bend).sum(axis=1)[y]
        change = (gained * give - rows.by_row(lost / bend)) / stiff
        move = (response.total_bend[y] * change + gained)[rows.row] - lost
        move = np.maximum(np.where(inner[c], move, -lost) / bend, -before)
        change = np.where(inner[y], change, rows.by_row(move))
        change = np.maximum(change, -0.5 * fitted.sum(axis=1)[y])
        return (1.0 - share) * move, (1.0 - share) * change

    def form(self, params: DirichletMultinomialParams) -> Polya:
        """A Polya urn for each class."""
        return Polya(params.alpha, params.known)

    def log_carrier(self, x: Floats) -> Floats:
        """Log of the multinomial coefficient of the observed counts."""
        return np.asarray(gammaln(np.nansum(x, axis=1) + 1.0) - np.nansum(gammaln(x + 1.0), axis=1))

    def outcomes(self, params: DirichletMultinomialParams) -> Floats:
        """There are none: what is drawn next depends on what was drawn."""
        raise ValueError(
            f"the draws of {self.name} depend on each other, so no column has mutual information; use multinomial."
        )

    def sample(self, params: DirichletMultinomialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Rows of one count each: how many there are is not part of the model."""
        total = params.alpha.sum(axis=1, keepdims=True)
        theta = np.divide(params.alpha, total, out=np.zeros_like(params.alpha), where=total > 0)
        drawn = [rng.multinomial(1, theta[c]) * (total[c] > 0) for c in y]
        return np.array(drawn, dtype=float).reshape(len(y), theta.shape[1])

    def described(self, params: DirichletMultinomialParams) -> list[dict[str, Floats]]:
        """The alpha of each column."""
        return [{"alpha": alpha} for alpha in params.alpha.T]


class DirichletMultinomialNB(OneFamily):
    """Dirichlet-compound multinomial (Polya) naive Bayes: counts that come in bursts, such as words of documents.

    What a document has said once it is likely to say again: unlike under a multinomial, a second occurrence is much
    less of a surprise than the first. The alphas of a class are those of greatest likelihood; small sums of alphas are
    bursty, and towards infinity the model is a multinomial. Takes dense or sparse whole counts. Missing counts (NaN)
    are integrated out at predict; to fit, rows must be complete, but for columns that are missing altogether. Columns
    of which nothing was ever counted say nothing.

    `leave_one_out` is approximate: the alphas of what a row holds change by one round of their fixed point without it.

    Parameters
    ----------
    background : float, default=0.1
        The share of a class's alphas that is as in all classes together, so that nothing is impossible that any class
        has seen; 0 is maximum likelihood.
    alpha : array-like of shape (n_classes, n_features) or None, default=None
        Given alphas, in the order of `classes_`, instead of fitted ones.
    tol : float, default=1e-12
        The relative change of the sum of the alphas at which they are found.
    max_iter : int, default=100
        The most rounds to find them; about seven are needed.
    class_prior : array-like, dict, "fitted" or "uniform", default="fitted"
        Class probabilities in the order of `classes_`, or by label.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import DirichletMultinomialNB
    >>> rows = [[5, 0, 1], [0, 4, 2], [3, 3, 0], [1, 0, 6], [2, 2, 2], [3, 2, 2]]
    >>> model = DirichletMultinomialNB().fit(rows, ["bursty"] * 4 + ["even"] * 2)
    >>> model.predict([[6, 0, 0], [2, 3, 2]])
    array(['bursty', 'even'], dtype='<U6')
    """

    _takes = BURSTY

    _parameter_constraints: dict[str, Any] = {
        "background": [Interval(Real, 0, 1, closed="left")],
        "alpha": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        **COMMON_CONSTRAINTS,
    }

    alpha_ = Fitted(lambda self: self._fitted.params[0].alpha, "What each class holds of each column.")
    concentration_ = Fitted(
        lambda self: self._fitted.params[0].alpha.sum(axis=1),
        "The sum of each class's alphas: small where counts are bursty, 1e12 where they are a multinomial's.",
    )
    convergence_ = Fitted(
        lambda self: self._fitted.parts[0].family.convergence,
        "How the alphas were found, class by class; None where they were given.",
    )

    n_iter_ = Fitted(
        lambda self: int(np.max(getattr(self.convergence_, "iterations", 1), initial=1)),
        "The most rounds that the alphas of a class took.",
    )

    def __init__(
        self,
        *,
        background: float = 0.1,
        alpha: Any = None,
        tol: float = 1e-12,
        max_iter: int = 100,
        class_prior: Any = "fitted",
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.background = background
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = DirichletMultinomial(self.background, self.alpha, self.tol, self.max_iter)
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(
        cls,
        alpha: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
    ) -> Self:
        """Make a model from given alphas (classes x columns), without data. No rows stand behind it to be updated.

        >>> from sunrise import DirichletMultinomialNB
        >>> model = DirichletMultinomialNB.from_parameters([[0.1, 0.1], [10, 10]], classes=["bursty", "even"])
        >>> model.predict([[4, 0], [2, 2]])
        array(['bursty', 'even'], dtype='<U6')
        """
        given = given_parameters(classes, class_prior, None)
        table = given.matrix("alpha", alpha, lowest=0.0)
        if (empty := ~table.any(axis=1)).any():
            label = given.classes.tolist()[int(np.argmax(empty))]
            raise ValueError(
                f"alpha must be above 0 for some column in every class; for {label!r} it is all 0"
            )
        none = len(table), 0
        counts = RowCounts(
            np.zeros(table.shape[1] + 2, np.int64),
            np.empty(0, np.int64),
            np.empty(none, np.int64),
            np.empty(none),
        )
        return cls(alpha=table)._from_stats(given, (counts,), table.shape[1], feature_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # the checks feed it numbers that are no counts
        return tags

    def _refuse_fixed_parameters(self) -> None:
        if self.__dict__.get("_fixed"):
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"This {type(self).__name__} was made from given alphas. No rows stand behind them, so it cannot be "
            "updated, merged or asked for leave-one-out. Fit one to data."
        )
