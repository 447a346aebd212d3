"""Parameters as images: one picture per class of a model whose columns are the pixels of an image."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from sunrise._common.arrays import Floats, Labels
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.plots.style import cut, pyplot, quiet


class ParameterImagesDisplay:
    """Images of one parameter of every column, one image per class: the mean of a pixel, or the probability of ink.

    Pixels whose column the model does not use, for example because it is constant, are pale blue.

    Attributes
    ----------
    images : array of shape (classes, height, width)
        The parameter; NaN for columns that are not used.
    parameter : str
        Its name.
    axes_, figure_ : array of matplotlib Axes (one per class), and Figure
        The last drawing. `ax_` is the first of the axes.

    Examples
    --------

    >>> import numpy as np
    >>> import sunrise as sr
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((60, 6)) < 0.5, np.arange(60) % 2
    >>> display = sr.plots.ParameterImagesDisplay.from_estimator(sr.BernoulliNB().fit(X, y), (2, 3))
    >>> display.parameter, display.images.shape
    ('yes', (2, 2, 3))
    """

    axes_: Any
    ax_: Any
    figure_: Any

    def __init__(self, images: Floats, parameter: str, classes: Labels) -> None:
        self.images, self.parameter, self.classes = images, parameter, classes

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        shape: tuple[int, int] | None = None,
        *,
        parameter: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a parameter of all columns of a fitted model as images, and return the display.

        Parameters
        ----------
        model : NaiveBayes
            A fitted model whose columns are the pixels of an image, row by row.
        shape : (height, width) or None, default=None
            The shape of an image. None is a square.
        parameter : str or None, default=None
            Name of the parameter, a key of `parameters_[column]`. None is the first parameter that all used columns
            have: "mean" of a Gaussian, "yes" of a Bernoulli.
        ax : array of Axes or None, default=None
            One axes per class. None creates a figure.
        """
        parameters, names = model.parameters_, model._columns()
        described = [parameters.get(name, {}) for name in names]
        side = math.isqrt(len(names))
        height, width = (side, side) if shape is None else shape
        if height * width != len(names):
            wanted = f"shape {height} x {width}" if shape is not None else "a square image"
            raise ValueError(
                f"The model has {len(names)} columns, which do not fill {wanted}. Pass shape=(height, width)."
            )
        used = [set(own) for own in described if own]
        common = set.intersection(*used) if used else set()
        if parameter is None:
            first = next((own for own in described if own), {})
            parameter = next((name for name in first if name in common), None)
        if parameter is None or parameter not in common:
            raise ValueError(
                f"The columns have no common parameter {'' if parameter is None else repr(parameter) + ' '}to draw. "
                f"Common parameters: {', '.join(sorted(common)) or 'none'}."
            )
        images = np.full((len(names), len(model.classes_)), np.nan)
        for j, own in enumerate(described):
            if own:
                images[j] = own[parameter]
        return cls(images.T.reshape(-1, height, width), parameter, model.classes_).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the images on a new figure, or on the given axes, one per class."""
        plt, n = pyplot(), len(self.images)
        if ax is None:
            n_columns = min(n, 5)
            n_rows = -(-n // n_columns)
            ratio = self.images.shape[1] / self.images.shape[2]
            size = 1.35 * n_columns + 0.9, (1.35 * ratio + 0.3) * n_rows
            self.figure_, axes = plt.subplots(
                n_rows, n_columns, figsize=size, squeeze=False, layout="constrained"
            )
        else:
            axes = np.atleast_1d(np.asarray(ax, dtype=object))
            if axes.size < n:
                raise ValueError(f"ax has {axes.size} axes for {n} classes. Pass one for each class.")
            self.figure_ = axes.ravel()[0].figure
        everything = axes.ravel()
        self.axes_ = everything[:n]
        self.ax_ = everything[0]
        colours = plt.get_cmap("gray_r").with_extremes(bad="#d6e6f2")
        low, high = float(np.nanmin(self.images)), float(np.nanmax(self.images))
        if self.parameter == "yes":
            low, high = 0.0, 1.0
        for axis, image, label in zip(self.axes_, self.images, self.classes.tolist(), strict=True):
            drawn = axis.imshow(np.ma.masked_invalid(image), cmap=colours, vmin=low, vmax=high)
            axis.set_title(quiet(cut(str(label), 18)), fontsize=9)
            axis.set_xticks([])
            axis.set_yticks([])
        for axis in everything[n:] if ax is None else ():
            axis.set_visible(False)
        if ax is None:
            bar = self.figure_.colorbar(drawn, ax=axes, shrink=0.8, pad=0.02)
            bar.set_label("probability of yes" if self.parameter == "yes" else self.parameter, fontsize=8)
            bar.ax.tick_params(labelsize=7)
        return self
