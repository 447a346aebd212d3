"""Windows over a stream: a model of the last rows, of the last batches, or of rows that fade."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from sunrise._common.arrays import Floats, Labels
from sunrise._common.versioned import VersionedMixin
from sunrise.data.align import align
from sunrise.data.kept_rows import KeptRows
from sunrise.estimators.training_rows import TrainingRows
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats

__all__ = ["Window"]


class _Summed(NamedTuple):
    """A batch in a window, as statistics under the schema of the model at that time."""

    schema: Schema
    stats: Stats


class Window(VersionedMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A model of the last rows of a stream, or one in which old rows fade.

    `partial_fit` adds a batch, and then removes what has left the window. The removal is exact, so that a window equals
    a fit on the rows that remain, given the families that were chosen. Set exactly one of `rows`, `batches` and
    `half_life`.

    Parameters
    ----------
    model : estimator of sunrise
        The model; it is cloned, and the fitted clone is `model_`.
    rows : int, default=None
        Number of rows in the window. The window keeps a copy of these rows.
    batches : int, default=None
        Number of batches in the window. The window keeps the statistics of each batch, and its rows only while the
        model keeps rows itself, until there are enough to choose families by.
    half_life : float, default=None
        Rows lose half of their weight when this number of further rows has come. Nothing is kept.
    prune : float, default=0.001
        With `half_life`: levels, words and kept values that weigh less leave the model, see `decay`.

    Attributes
    ----------
    model_ : estimator of sunrise
        The fitted model.
    classes_ : ndarray
        The class labels.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> import sunrise as sr
    >>> window = sr.Window(sr.GaussianNB(), rows=3)
    >>> for x in (1.0, 2.0, 6.0, 7.0):
    ...     window = window.partial_fit([[x]], ["only"])
    >>> window.model_.theta_, window.model_.class_count_
    (array([[5.]]), array([3.]))
    """

    model_: Any
    _batches: tuple[KeptRows | _Summed, ...]

    def __init__(
        self,
        model: Any,
        *,
        rows: int | None = None,
        batches: int | None = None,
        half_life: float | None = None,
        prune: float | None = 0.001,
    ) -> None:
        self.model = model
        self.rows = rows
        self.batches = batches
        self.half_life = half_life
        self.prune = prune

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Begin a new window with these rows."""
        self._check_settings()
        return self._add(clone(self.model), (), X, y, None, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows, and remove what leaves the window.

        The parameters are those of `partial_fit` of the model.
        """
        self._check_settings()
        if "model_" not in self.__dict__:
            return self._add(clone(self.model), (), X, y, classes, sample_weight)
        return self._add(self.model_._copy(), self._batches, X, y, classes, sample_weight)

    def _add(self, model: Any, batches: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Add a batch to a model, which is changed, and to the batches of the window so far."""
        with model._unchanged_on_failure():
            settings, rows, announced = model._read_batch(X, y, classes, sample_weight)
            if self.half_life is not None and hasattr(model, "classes_"):
                model.decay(2.0 ** (-rows.table.n_rows / float(self.half_life)), prune=self.prune)
            model._add_rows(settings, rows, announced)
            if self.rows is not None:
                batches = self._cut(model, settings, [*batches, model._keep(settings, rows)])
            elif self.batches is not None:
                batches = [*batches, _summed(model, settings, rows)]
                while len(batches) > int(self.batches):
                    _remove(model, settings, batches.pop(0))
        self.model_, self._batches = model, tuple(batches)
        return self

    def _cut(self, model: Any, settings: Settings, batches: list[KeptRows]) -> list[KeptRows]:
        """Remove the oldest rows from the model and from the batches, so that `rows` rows remain."""
        excess = sum(batch.n_rows for batch in batches) - int(self.rows or 0)
        while excess > 0:
            oldest, n = batches[0], min(excess, batches[0].n_rows)
            _remove(model, settings, oldest.select_rows(np.arange(n)))
            batches[:1] = [oldest.select_rows(np.arange(n, oldest.n_rows))] if n < oldest.n_rows else []
            excess -= n
        return batches

    def _check_settings(self) -> None:
        sizes = {name: getattr(self, name) for name in ("rows", "batches", "half_life")}
        given = {name: size for name, size in sizes.items() if size is not None}
        if len(given) != 1:
            raise ValueError(
                f"Window needs exactly one of rows=, batches= and half_life=; it has {len(given)} of them. "
                "Use rows= or batches= for a window that slides, half_life= for rows that fade."
            )
        ((name, size),) = given.items()
        kind, what = (Real, "a number") if name == "half_life" else (Integral, "a whole number")
        if not isinstance(size, kind) or isinstance(size, bool) or not 0 < float(size) < np.inf:
            raise ValueError(f"{name} is {size!r}; it must be {what} above 0.")
        if not hasattr(self.model, "_read_batch"):
            raise TypeError(
                f"model is of type {type(self.model).__name__}; a window needs an estimator of sunrise, because rows "
                "leave it by subtraction."
            )

    # The fitted model.

    def _fitted(self) -> Any:
        if "model_" not in self.__dict__:
            raise NotFittedError(
                "This Window instance is not fitted yet. Call 'partial_fit' or 'fit' before using this estimator."
            )
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    @property
    def classes_(self) -> Labels:
        """The class labels."""
        return self._of_model("classes_")  # type: ignore[no-any-return]

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self._of_model("n_features_in_")  # type: ignore[no-any-return]

    def _of_model(self, name: str) -> Any:
        if "model_" not in self.__dict__:
            raise AttributeError(f"Window has no {name} before it is fitted")
        return getattr(self.model_, name)

    def predict(self, X: Any, **options: Any) -> NDArray[Any]:
        """Return the most probable class of every row, as `predict` of the model does."""
        return self._fitted().predict(X, **options)  # type: ignore[no-any-return]

    def predict_proba(self, X: Any, **options: Any) -> Floats:
        """Return the probability of every class for every row, as `predict_proba` of the model does."""
        return self._fitted().predict_proba(X, **options)  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any, **options: Any) -> Floats:
        """Return the log probability of every class for every row, as `predict_log_proba` of the model does."""
        return self._fitted().predict_log_proba(X, **options)  # type: ignore[no-any-return]

    def predict_joint_log_proba(self, X: Any, **options: Any) -> Floats:
        """Return the joint log score of every class for every row, as the model does."""
        return self._fitted().predict_joint_log_proba(X, **options)  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the model on these rows; y may be the name of the label column."""
        return self._fitted().score(X, y, sample_weight)  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self.model)
        return replace(tags, input_tags=own.input_tags, classifier_tags=own.classifier_tags)


def _summed(model: Any, settings: Settings, rows: TrainingRows) -> KeptRows | _Summed:
    """Return a batch that was just added: its statistics, or its rows while the model keeps rows."""
    if "_kept" in model.__dict__:
        kept: KeptRows = model._keep(settings, rows)
        return kept
    schema = model._model.schema
    return _Summed(schema, rows.accumulator.table(align(rows.table, schema, type(model).__name__), schema))


def _remove(model: Any, settings: Settings, batch: KeptRows | _Summed) -> None:
    """Remove a batch from the model."""
    if isinstance(batch, _Summed):
        model._remove_statistics(settings, *batch)
    else:
        model._remove_rows(settings, model._current_state(settings), model._kept_rows(settings, batch))
