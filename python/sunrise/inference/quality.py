"""Quality of predicted probabilities on labelled rows: confusion matrix, reliability and thresholds.

All of it is sums over rows, so the quality of several batches is the sum of their qualities.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise._common.stored import stored

#: Number of bins of the predicted probability: up to 20 classes, and with more classes.
BINS, BINS_OF_MANY_CLASSES, MANY_CLASSES = 100, 20, 20


class Reliability(NamedTuple):
    """Groups of rows with similar predicted probability: its mean, the observed frequency, the weight of the rows."""

    predicted: Floats
    observed: Floats
    weight: Floats


class Thresholds(NamedTuple):
    """Rows of a class that are found, and rows of other classes taken for it, if P(class) >= threshold decides."""

    threshold: Floats
    true_positives: Floats
    false_positives: Floats
    positives: float
    negatives: float


@stored("quality")
@dataclass(frozen=True, eq=False)
class Quality:
    """Accuracy, log loss, Brier score, confusion matrix and reliability of predictions for labelled rows.

    `confusion` is true class x predicted class, in weights of rows. `weight`, `positives` and `probability` are
    classes x bins of P(class): weight of the rows, weight of those that belong to the class, and sum of weight x
    P(class). `method` tells how rows were kept from the model (see `LooScore`); "new rows" are rows that were given to
    `evaluate`. `unknown` is the weight of rows whose label the model does not know: they count as wrong, and are in
    no other number.

    >>> p = np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]])
    >>> quality = Quality.of(p, np.array([0, 0, 1, 1]), np.ones(4), np.array(["a", "b"]))
    >>> quality.accuracy, quality.confusion.tolist()
    (0.75, [[2.0, 0.0], [1.0, 1.0]])
    >>> print(quality)
    accuracy 0.750, log loss 0.511, Brier score 0.175 on 4 new rows
    """

    rows: int
    confusion: Floats
    weight: Floats
    positives: Floats
    probability: Floats
    #: Sums of weight x log loss and weight x squared error over the rows.
    total_loss: float
    total_squared_error: float
    unknown: float = 0.0
    method: str = "new rows"
    classes: Labels = field(default_factory=lambda: np.array([]), metadata={"stored": False})

    def __post_init__(self) -> None:
        n, arrays = len(self.confusion), (self.weight, self.positives, self.probability)
        if self.confusion.shape != (n, n) or len({array.shape for array in arrays}) > 1:
            raise ValueError("the arrays of a quality do not have the same classes")
        if self.weight.ndim != 2 or len(self.weight) != n or self.weight.shape[1] == 0:
            raise ValueError("the bins of a quality do not have its classes")

    @classmethod
    def of(
        cls, log_p: Floats, y: Codes | Positions, weight: Floats, classes: Labels, method: str = "new rows"
    ) -> Self:
        """Return the quality of log-probabilities (rows x classes); a label with the code -1 is unknown."""
        n_rows, unknown = len(y), float(weight[y < 0].sum())
        if unknown or (y < 0).any():
            log_p, weight, y = log_p[y >= 0], weight[y >= 0], y[y >= 0]
        n = len(classes)
        bins = BINS if n <= MANY_CLASSES else BINS_OF_MANY_CLASSES
        p, everything = np.exp(log_p), np.arange(len(y))
        place = np.minimum((p * bins).astype(np.intp), bins - 1) + bins * np.arange(n)

        def by_bin(places: Any, weights: Floats) -> Floats:
            return np.asarray(np.bincount(places.ravel(), weights.ravel(), n * bins).reshape(n, bins), float)

        weights = np.broadcast_to(weight[:, None], p.shape)
        squares = (p * p).sum(axis=1) + 1.0 - 2.0 * p[everything, y]
        confusion = np.bincount(y * n + p.argmax(axis=1), weight, n * n).reshape(n, n).astype(float)
        of_label, own = log_p[everything, y], weight > 0  # a row of weight 0 may be impossible
        return cls(
            n_rows,
            confusion,
            by_bin(place, weights),
            by_bin(place[everything, y], weight),
            by_bin(place, weights * p),
            -float((weight[own] * of_label[own]).sum()),
            # As in scikit-learn, the Brier score of two classes is that of one of them.
            float((weight * squares).sum()) / (2 if n == 2 else 1),
            unknown,
            method,
            classes,
        )

    def __add__(self, other: Quality) -> Quality:
        if not isinstance(other, Quality):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        sums = (f.name for f in fields(self) if f.name not in ("method", "classes"))
        return replace(self, **{name: mine[name] + theirs[name] for name in sums})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quality):
            return NotImplemented
        return all(
            np.array_equal(vars(self)[f.name], vars(other)[f.name])
            for f in fields(self)
            if f.name != "classes"
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.3f}, log loss {self.log_loss:.3f}, Brier score {self.brier:.3f} on "
            f"{self.rows:,} {'new rows' if self.method == 'new rows' else f'unseen rows ({self.method})'}"
        )

    __repr__ = __str__

    @property
    def total(self) -> float:
        """Weight of the rows whose label is known."""
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows that are predicted correctly."""
        everything = self.total + self.unknown
        return float(np.trace(self.confusion)) / everything if everything else float("nan")

    @property
    def log_loss(self) -> float:
        """Mean of -log P(label) over the rows whose label is known, in nats."""
        return self.total_loss / self.total if self.total else float("nan")

    @property
    def brier(self) -> float:
        """Mean squared error of the probabilities, over the rows whose label is known."""
        return self.total_squared_error / self.total if self.total else float("nan")

    @property
    def edges(self) -> Floats:
        """Edges of the bins of the predicted probability."""
        return np.linspace(0.0, 1.0, self.weight.shape[1] + 1)

    def reliability(self, of: Any = None, groups: int = 10) -> Reliability:
        """Return the mean predicted probability and the observed frequency of a class in groups of similar rows.

        The groups have about equal weights. Without `of`, it is the second of two classes; of more classes, all are
        pooled: a row is then counted once for every class.
        """
        pooled = of is None and len(self.confusion) != 2
        return self._reliability(list(range(len(self.confusion))) if pooled else [self._code(of)], groups)

    def _reliability(self, codes: list[int], groups: int = 10) -> Reliability:
        weight, positives, probability = (
            a[codes].sum(axis=0) for a in (self.weight, self.positives, self.probability)
        )
        middle = np.cumsum(weight) - weight / 2
        group = np.minimum((middle / max(weight.sum(), 1e-300) * groups).astype(int), groups - 1)
        total, observed, predicted = (np.bincount(group, a, groups) for a in (weight, positives, probability))
        used = total > 0
        return Reliability(
            predicted[used] / total[used], observed[used] / total[used], np.asarray(total[used], float)
        )

    @property
    def calibration_error(self) -> float:
        """Mean difference of predicted and observed frequency over ten groups of rows, averaged over the classes."""
        if not self.total:
            return float("nan")
        groups = [self._reliability([code]) for code in range(len(self.confusion))]
        errors = [np.average(np.abs(g.predicted - g.observed), weights=g.weight) for g in groups]
        return float(np.mean(errors))

    def thresholds(self, of: Any = None) -> Thresholds:
        """Return the rows found and the false alarms for every threshold of P(class); `of` is the class.

        Without `of`, it is the second of two classes.
        """
        code = self._code(of)
        found, all_rows = self.positives[code], self.weight[code]

        def at_least(values: Floats) -> Floats:
            return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])

        true, false = at_least(found), at_least(np.maximum(all_rows - found, 0.0))
        return Thresholds(self.edges, true, false, float(true[0]), float(false[0]))

    def _code(self, of: Any) -> int:
        if of is not None:
            return labels.place_of(of, self.classes)
        if len(self.confusion) != 2:
            raise ValueError(f"The model has {len(self.confusion)} classes. Pass the class as `of`.")
        return 1
