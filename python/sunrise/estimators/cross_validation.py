"""Cross-validation: the score of a model on rows that it has not seen, with every choice made again in each fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone

from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise.data.frame import document_frame, frame_of
from sunrise.data.labels import encode_labels, encode_partial_labels, is_name, separate_labels
from sunrise.data.row_hash import row_hashes
from sunrise.data.rows import take, without_column
from sunrise.data.weights import weights
from sunrise.estimators.base import Estimator
from sunrise.estimators.text_tables import aligned, html_table
from sunrise.inference.folds import fold_of_rows
from sunrise.inference.quality import Quality
from sunrise.streams.source import source_of

__all__ = ["CrossValidation", "cross_validate"]

_SCORES = {"accuracy": "accuracy", "log loss": "log_loss", "Brier score": "brier"}


@dataclass(frozen=True)
class CrossValidation:
    """Scores of a model by folds.

    `folds` has the `Quality` of every fold, `priors` that of the class prior of its training rows. `families` has, for
    every fold, the family of each column that was chosen without the rows of the fold; it is empty for other models
    than those of this library.
    """

    title: str
    folds: tuple[Quality, ...]
    priors: tuple[Quality, ...] = field(repr=False)
    families: tuple[dict[str, str | None], ...] = field(default=(), repr=False)

    @property
    def accuracy(self) -> Floats:
        """Accuracy of every fold."""
        return np.array([fold.accuracy for fold in self.folds])

    @property
    def log_loss(self) -> Floats:
        """Log loss of every fold, in nats per row."""
        return np.array([fold.log_loss for fold in self.folds])

    @property
    def brier(self) -> Floats:
        """Brier score of every fold."""
        return np.array([fold.brier for fold in self.folds])

    @property
    def mean(self) -> dict[str, float]:
        """Mean of accuracy, log loss and Brier score over the folds."""
        return {name: float(np.mean(getattr(self, name))) for name in _SCORES.values()}

    @property
    def sd(self) -> dict[str, float]:
        """Standard deviation of accuracy, log loss and Brier score between the folds; NaN for one fold."""
        if len(self.folds) < 2:
            return dict.fromkeys(_SCORES.values(), float("nan"))
        return {name: float(np.std(getattr(self, name), ddof=1)) for name in _SCORES.values()}

    @property
    def quality(self) -> Quality:
        """Confusion matrix and reliability of the rows of all folds together."""
        return reduce(add, self.folds)

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [
            (str(k), f"{fold.rows:,}", *(f"{getattr(fold, name):.3f}" for name in _SCORES.values()))
            for k, fold in enumerate(self.folds, start=1)
        ]
        total = f"{sum(fold.rows for fold in self.folds):,}"
        rows.append(("mean", total, *(f"{value:.3f}" for value in self.mean.values())))
        if len(self.folds) > 1:
            rows.append(("sd", "", *(f"{value:.3f}" for value in self.sd.values())))
        prior = [np.mean([getattr(fold, name) for fold in self.priors]) for name in _SCORES.values()]
        return [*rows, ("class prior", "", *(f"{value:.3f}" for value in prior))]

    def _notes(self) -> list[str]:
        unknown = sum(fold.unknown for fold in self.folds)
        if not unknown:
            return []
        return [
            f"{unknown:g} rows belong to a class without training rows: they count as wrong and are not in the log loss"
        ]

    def __repr__(self) -> str:
        title = f"{self.title}, {len(self.folds)} folds, families and weights fitted again in each"
        lines = aligned([("fold", "rows", *_SCORES), *self._rows()], "<>>>>")
        return "\n".join([title, *lines, *("  " + note for note in self._notes())])

    def _repr_html_(self) -> str:
        return html_table(("fold", "rows", *_SCORES), self._rows(), "<>>>>", "; ".join(self._notes()))


def cross_validate(model: Any, X: Any, y: Any, *, cv: Any = 5, sample_weight: Any = None) -> CrossValidation:
    """Return accuracy, log loss and Brier score of a model on rows that it has not seen.

    Every fold is predicted by a clone of the model that is fitted to the other rows only: families, levels, priors and
    calibration are learned again, so no choice has seen the rows that judge it. The model itself does not change.

    Parameters
    ----------
    model : estimator
        A classifier of this library, fitted or not, or any other classifier with `fit` and `predict_proba`, to compare
        with on the same folds.
    X, y, sample_weight
        Rows, labels and weights as in `fit`; y may be the name of the label column. Rows without a label (with
        `unlabelled="em"`) are training rows of every fold.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds. Folds have the same shares of the classes and depend on the content of the rows, not on their
        order. Splitters of scikit-learn make other folds, for example `TimeSeriesSplit()` for rows in order of time.

    >>> import sunrise as sr
    >>> heart = sr.datasets.load_heart_disease("pandas").frame
    >>> scores = sr.cross_validate(sr.NaiveBayes(), heart, y="disease", cv=3)
    >>> scores
    NaiveBayes(), 3 folds, families and weights fitted again in each
      fold         rows  accuracy  log loss  Brier score
      1             101     0.802     0.415        0.136
      2             101     0.861     0.362        0.112
      3             101     0.802     0.376        0.119
      mean          303     0.822     0.384        0.122
      sd                    0.034     0.027        0.013
      class prior           0.541     0.690        0.248
    >>> round(scores.mean["accuracy"], 3), scores.quality.rows
    (0.822, 303)
    """
    if isinstance(X, str | PathLike) or source_of(X) is not None:
        raise TypeError(
            "cross_validate needs all rows in memory, and X is a source of batches. Read it into a data frame; or "
            "fit the model, whose loo_score_ is a score by folds, too."
        )
    who = type(model).__name__
    is_text = isinstance(model, Estimator) and model.__sklearn_tags__().input_tags.two_d_array is False
    table = document_frame(X) if is_text else frame_of(X)
    name = y if is_name(y, table) else None
    table, y, _ = separate_labels(who, X, table, y)
    if name is not None:
        X = without_column(X, name)
    encode = encode_partial_labels if getattr(model, "unlabelled", "error") == "em" else encode_labels
    classes, codes = encode(who, y, table.n_rows)
    weight = weights(sample_weight, table.n_rows)
    folds, priors, families = [], [], []
    for train, test in _splits(cv, table, codes):
        fitted = clone(model)
        own = {} if weight is None else {"sample_weight": weight[train]}
        fitted.fit(take(X, train), take(y, train), **own)
        of_test = np.ones(len(test)) if weight is None else weight[test]
        log_p, known = _log_proba(fitted, take(X, test), classes)
        truth = np.where(known[codes[test]], codes[test], -1)
        folds.append(Quality.of(log_p, truth, of_test, classes, "cross-validation"))
        prior = np.log(_shares(codes[train], None if weight is None else weight[train], len(classes)))
        priors.append(Quality.of(np.tile(prior, (len(test), 1)), truth, of_test, classes, "cross-validation"))
        if isinstance(fitted, Estimator):
            choices = fitted._model.schema.choices
            chosen = (None if choice.family is None else choice.family.name for choice in choices)
            families.append(dict(zip(fitted._columns(), chosen, strict=True)))
    return CrossValidation(repr(clone(model)), tuple(folds), tuple(priors), tuple(families))


def _splits(cv: Any, table: Any, codes: Codes) -> Iterator[tuple[Positions, Positions]]:
    """Return the positions of training and test rows of every fold; rows without a label are training rows."""
    labelled, unlabelled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        n_rows = len(labelled)
        if not 2 <= cv <= n_rows:
            raise ValueError(
                f"cv is {cv}; the number of folds must be from 2 to {n_rows}, the number of rows."
            )
        hashes = row_hashes(table, range(len(table.names)))[labelled]
        fold = fold_of_rows(hashes, codes[labelled], int(cv))
        pairs: Iterable[Any] = (
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(cv))
        )
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(np.zeros((len(labelled), 1)), codes[labelled])
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        pairs = cv
    else:
        raise TypeError(
            f"cv is {cv!r}; pass a number of folds, a splitter of scikit-learn, or pairs of positions."
        )
    for train, test in pairs:
        train, test = (labelled[np.asarray(part)] for part in (train, test))
        yield np.sort(np.concatenate([train, unlabelled])), test


def _log_proba(model: Any, X: Any, classes: Labels) -> tuple[Floats, Any]:
    """Return log probabilities of all classes, and which of the classes the model knows."""
    own = np.asarray(model.classes_)
    at = labels.locate(classes, own)
    if hasattr(model, "predict_log_proba"):
        own_log_p = np.asarray(model.predict_log_proba(X), float)
    else:
        with np.errstate(divide="ignore"):
            own_log_p = np.log(np.asarray(model.predict_proba(X), float))
    log_p = np.full((len(own_log_p), len(classes)), -np.inf)
    log_p[:, at] = own_log_p
    return log_p, np.isin(np.arange(len(classes)), at)


def _shares(codes: Codes, weight: Floats | None, n_classes: int) -> Floats:
    """Return the share of every class in training rows; a class without rows has a tiny one."""
    present = codes >= 0
    total = np.bincount(codes[present], None if weight is None else weight[present], n_classes)
    return np.asarray(np.maximum(total / total.sum(), 1e-300))
