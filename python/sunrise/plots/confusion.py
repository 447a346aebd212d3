"""Confusion matrix: true classes against predicted classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise._common.arrays import Labels
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.inference.quality import Quality
from sunrise.plots.reliability import quality_of
from sunrise.plots.style import axes_of, cut, quiet

#: With more classes than this, the cells have no numbers.
MOST_NUMBERS = 20


class ConfusionMatrixDisplay:
    """Confusion matrix of a model: true classes in rows, predicted classes in columns.

    By default it counts training rows that were kept from the model (`quality_`), not rows that the model has seen.

    Attributes
    ----------
    confusion_matrix : array of shape (classes, classes)
        The numbers of the cells, normalised if asked for.
    display_labels : array
        The classes.
    ax_, figure_, im_, text_ : matplotlib Axes, Figure, AxesImage, and array of Text (None without numbers)
        The last drawing.

    Examples
    --------

    >>> from sunrise import NaiveBayes
    >>> from sunrise.datasets import load_heart_disease
    >>> from sunrise.plots import ConfusionMatrixDisplay
    >>> model = NaiveBayes().fit(load_heart_disease("pandas").frame, "disease")
    >>> ConfusionMatrixDisplay.from_estimator(model).confusion_matrix.astype(int)
    array([[141,  23],
           [ 28, 111]])
    """

    ax_: Any
    figure_: Any
    im_: Any
    text_: Any

    def __init__(self, confusion_matrix: Any, display_labels: Labels | None = None, title: str = "") -> None:
        self.confusion_matrix = np.asarray(confusion_matrix, dtype=float)
        n = len(self.confusion_matrix)
        self.display_labels = np.arange(n) if display_labels is None else np.asarray(display_labels)
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        normalize: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the confusion matrix of a fitted model, and return the display.

        Parameters
        ----------
        X, y, sample_weight
            New rows with labels, as for `score`. Without them, the matrix is that of `quality_`: training rows that
            were kept from the model.
        normalize : {"true", "pred", "all"} or None, default=None
            Divide by the sum of the row, of the column, or of all cells. None shows weights of rows.
        ax : Axes or None, default=None
            Axes to draw on. None creates a figure.
        """
        return cls.from_quality(quality_of(model, X, y, sample_weight), normalize=normalize, ax=ax)

    @classmethod
    def from_quality(cls, quality: Quality, *, normalize: str | None = None, ax: Any = None) -> Self:
        """Draw the confusion matrix of a `Quality`, which `evaluate` and `quality_` return."""
        sums = {"true": 1, "pred": 0, "all": None}
        cells = quality.confusion
        if normalize is not None:
            if normalize not in sums:
                raise ValueError(f'normalize is {normalize!r}; it must be "true", "pred", "all" or None.')
            total = cells.sum(axis=sums[normalize], keepdims=True)
            cells = np.divide(cells, total, out=np.zeros_like(cells), where=total > 0)
        rows = "new rows" if quality.method == "new rows" else "rows kept from the model"
        title = f"accuracy {quality.accuracy:.3f}, {quality.rows:,} {rows}"
        return cls(cells, quality.classes, title).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the matrix on new axes, or on the given ones."""
        n, cells = len(self.confusion_matrix), self.confusion_matrix
        size = float(np.clip(1.6 + 0.62 * n, 3.4, 9.0))
        self.figure_, self.ax_ = figure, axes = axes_of(ax, size + 0.4, size)
        top = cells.max(initial=0.0) or 1.0
        self.im_ = axes.imshow(cells, cmap="Blues", vmin=0.0, vmax=top)
        self.text_ = None
        if n <= MOST_NUMBERS:
            whole = bool((cells == np.rint(cells)).all())
            self.text_ = np.empty((n, n), dtype=object)
            for i, j in np.ndindex(n, n):
                text = f"{cells[i, j]:,.0f}" if whole else f"{cells[i, j]:.2f}"
                colour = "white" if cells[i, j] > 0.6 * top else "black" if cells[i, j] else "#767676"
                size_of_text = 10 if n <= 6 else 7
                self.text_[i, j] = axes.text(
                    j, i, text, ha="center", va="center", color=colour, fontsize=size_of_text
                )
        else:
            figure.colorbar(self.im_, ax=axes, shrink=0.8)
        step = -(-n // 40)
        names = [quiet(cut(str(label), 14)) for label in self.display_labels.tolist()][::step]
        tilted = sum(map(len, names)) > 9 * size
        axes.set_xticks(
            np.arange(n)[::step],
            names,
            fontsize=8,
            rotation=45 if tilted else 0,
            ha="right" if tilted else "center",
        )
        axes.set_yticks(np.arange(n)[::step], names, fontsize=8)
        axes.set_xlabel("predicted class", fontsize=9)
        axes.set_ylabel("true class", fontsize=9)
        if self.title:
            axes.set_title(self.title, fontsize=10, loc="left")
        return self
