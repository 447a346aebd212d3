"""Reliability diagram: how often a class occurred among rows with similar predicted probability."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise._common.lazy import special
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.inference.quality import Quality
from sunrise.plots.style import FAINT, FOR, axes_of, bare, cut, quiet

#: The observed frequency of a group is inside its error bar with this probability.
LEVEL = 0.9


def quality_of(model: NaiveBayes, X: Any, y: Any, sample_weight: Any) -> Quality:
    """Return the quality of a model on given rows, or without rows that on training rows kept from the model."""
    if X is not None or y is not None:
        return model.evaluate(X, y, sample_weight)
    if (quality := model.quality_) is None:
        raise ValueError(
            "The model has no score of rows that it has not seen: calibrate is None, or it was updated after fit. Pass "
            "new rows as X and y, or fit it with the default calibrate."
        )
    return quality


class ReliabilityDisplay:
    """Reliability diagram of the predicted probability of a class.

    The rows are grouped by their predicted probability, in groups of about equal weight. A point compares the mean
    prediction of a group with the frequency of the class in it; reliable probabilities lie on the diagonal. The bars
    contain the true frequency with probability 90 % (Jeffreys interval). The grey steps show how the predictions are
    distributed. By default the rows are training rows that were kept from the model (`quality_`).

    Attributes
    ----------
    quality : Quality
        The sums over the rows.
    predicted, observed, weight, low, high : arrays
        Mean prediction, observed frequency, weight and error bar of each group. A diagram of all classes has no error
        bars, because a row is counted once for each class.
    ax_, figure_ : matplotlib Axes and Figure
        The last drawing.

    Examples
    --------

    >>> from sunrise import NaiveBayes
    >>> from sunrise.datasets import load_heart_disease
    >>> from sunrise.plots import ReliabilityDisplay
    >>> model = NaiveBayes().fit(load_heart_disease("pandas").frame, "disease")
    >>> display = ReliabilityDisplay.from_estimator(model, of="yes", groups=3)
    >>> display.predicted.round(2), display.observed.round(2)
    (array([0.06, 0.4 , 0.91]), array([0.07, 0.41, 0.91]))
    """

    ax_: Any
    figure_: Any

    def __init__(self, quality: Quality, of: Any = None, groups: int = 10) -> None:
        if not (isinstance(groups, int | np.integer) and groups > 0):
            raise ValueError(f"groups is {groups!r}; it must be a positive integer, for example 10.")
        self.quality, self.groups = quality, groups
        self.of = quality.classes[1] if of is None and len(quality.classes) == 2 else of
        self.predicted, self.observed, self.weight = quality.reliability(of, groups)
        self.low = self.high = np.full(len(self.weight), np.nan)
        if self.of is not None:
            # Weights that do not count rows are scaled, so that their sum is the number of rows.
            n = self.weight * quality.rows / max(quality.total + quality.unknown, 1e-300)
            a, b = self.observed * n + 0.5, (1.0 - self.observed) * n + 0.5
            tails = (1.0 - LEVEL) / 2
            self.low, self.high = special.betaincinv(a, b, tails), special.betaincinv(a, b, 1.0 - tails)

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        of: Any = None,
        groups: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the reliability diagram of a fitted model, and return the display.

        Parameters
        ----------
        X, y, sample_weight
            New rows with labels, as for `score`. Without them, the diagram shows `quality_`: training rows that were
            kept from the model.
        of : label or None, default=None
            The class. None is the second of two classes; of more classes, all are pooled.
        groups : int, default=10
            Number of groups of rows.
        ax : Axes or None, default=None
            Axes to draw on. None creates a figure.
        """
        return cls.from_quality(quality_of(model, X, y, sample_weight), of=of, groups=groups, ax=ax)

    @classmethod
    def from_quality(cls, quality: Quality, *, of: Any = None, groups: int = 10, ax: Any = None) -> Self:
        """Draw the reliability diagram of a `Quality`, which `evaluate` and `quality_` return."""
        return cls(quality, of, groups).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the diagram on new axes, or on the given ones."""
        figure, axes = axes_of(ax, 4.6, 4.6)
        edges, codes = self.quality.edges, slice(None)
        if self.of is not None:
            codes = slice(code := self.quality._code(self.of), code + 1)
        weight = self.quality.weight[codes].sum(axis=0)
        joined = max(1, len(weight) // 20)  # 20 steps are enough for the eye
        steps = weight.reshape(-1, joined).sum(axis=1)
        axes.stairs(
            0.2 * steps / max(steps.max(), 1e-300), edges[::joined], fill=True, color=FAINT, alpha=0.5, lw=0
        )
        axes.plot([0.0, 1.0], [0.0, 1.0], color="black", lw=0.9, ls=(0, (5, 4)))
        known = np.isfinite(self.low)
        if known.any():
            bars = np.stack([self.observed - self.low, self.high - self.observed])[:, known]
            axes.errorbar(
                self.predicted[known],
                self.observed[known],
                yerr=np.maximum(bars, 0.0),
                fmt="none",
                ecolor=FOR,
                lw=1.2,
            )
        axes.plot(self.predicted, self.observed, "o-", color=FOR, ms=5, lw=1.4)
        name = "all classes" if self.of is None else quiet(cut(str(self.of), 24))
        axes.set_xlabel(f"predicted probability ({name})", fontsize=9)
        axes.set_ylabel("observed frequency", fontsize=9)
        rows = "new rows" if self.quality.method == "new rows" else "rows kept from the model"
        axes.set_title(
            f"log loss {self.quality.log_loss:.3f}, {self.quality.rows:,} {rows}", fontsize=10, loc="left"
        )
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_aspect("equal")
        axes.text(0.0, 0.96, "grey: distribution of the predictions", fontsize=7.5, color="#555555")
        bare(axes)
        self.figure_, self.ax_ = figure, axes
        return self
