"""A pair of columns: its evidence beyond each column alone, as one heat map for every class."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from sunrise._common.arrays import Floats, Labels
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.numerics.bin_edges import Cuts
from sunrise.plots.style import cut, pyplot, quiet

#: Most levels of a column with a name on the axes.
MOST_NAMES = 30


class InteractionDisplay:
    """Heat maps of an interaction: how much a pair of values speaks for each class, beyond each value alone.

    Purple cells speak for the class, orange cells against it, in log-odds; the weight of the pair is included.

    Attributes
    ----------
    evidence : array of shape (levels of the first column, levels of the second column, classes)
        Weighted log lift of every pair of values.
    columns : tuple of str
        The two columns.
    levels : tuple of two lists of str
        Their levels or bins.
    axes_, figure_ : array of matplotlib Axes (one per class), and Figure
        The last drawing. `ax_` is the first of the axes.

    Examples
    --------

    >>> from sunrise import NaiveBayes
    >>> from sunrise.plots import InteractionDisplay
    >>> table = {"soil": ["sand", "sand", "clay", "clay"] * 9, "light": ["sun", "shade"] * 18}
    >>> thrives = ["yes", "no", "no", "yes"] * 9
    >>> model = NaiveBayes(interactions=[("soil", "light")]).fit(table, thrives)
    >>> display = InteractionDisplay.from_estimator(model)
    >>> display.levels
    (['clay', 'sand'], ['shade', 'sun'])
    >>> (display.evidence[1, 1] > 0).tolist()  # sand in the sun: for "yes", against "no"
    [False, True]
    """

    axes_: Any
    figure_: Any

    def __init__(
        self, evidence: Any, columns: tuple[str, str], levels: tuple[list[str], list[str]], classes: Labels
    ) -> None:
        self.evidence: Floats = np.asarray(evidence, dtype=float)
        self.columns, self.levels, self.classes = columns, levels, classes

    @property
    def ax_(self) -> Any:
        """The first of the axes."""
        return self.axes_[0]

    @classmethod
    def from_estimator(cls, model: NaiveBayes, pair: int | tuple[Any, Any] = 0, *, ax: Any = None) -> Self:
        """Draw an interaction of a fitted model, and return the display.

        Parameters
        ----------
        pair : int or tuple of two columns, default=0
            The position of the interaction in `interactions_`, or its columns.
        ax : sequence of Axes or None, default=None
            One for each class. None creates a figure.
        """
        known = model.interactions_
        if not known:
            raise ValueError(
                "The model has no interactions, so there is nothing to draw. Name pairs: "
                "NaiveBayes(interactions=[(column, column)])."
            )
        at = pair
        if not isinstance(pair, int):
            found = [k for k, own in enumerate(known) if set(own.columns) == set(pair)]
            if not found:
                raise ValueError(f"The model has no interaction of {pair!r}. It has {known}.")
            at = found[0]
        block = [block for block in model._description()["blocks"] if block["kind"] == "pair"][at]  # type: ignore[index]
        names = model._columns()
        first, second = (
            side["levels"] if "levels" in side else Cuts(tuple(side["edges"].tolist())).names
            for side in (block["first"], block["second"])
        )
        a, b = block["columns"]
        return cls(block["scores"], (names[a], names[b]), (first, second), model.classes_).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one heat map for every class on new axes, or on the given ones."""
        n = len(self.classes)
        if ax is None:
            wide = min(n, 4)
            high = math.ceil(n / wide)
            size = 1.2 + 2.6 * wide, 0.8 + 2.4 * high
            self.figure_, grid = pyplot().subplots(
                high, wide, figsize=size, squeeze=False, layout="constrained"
            )
            for unused in grid.ravel()[n:]:
                unused.set_visible(False)
            self.axes_ = grid.ravel()[:n]
        else:
            self.axes_ = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
            if len(self.axes_) < n:
                raise ValueError(
                    f"ax has {len(self.axes_)} axes, and there are {n} classes. Pass one for each."
                )
            self.figure_ = self.axes_[0].figure
        largest = float(np.abs(self.evidence).max()) or 1.0
        for c, axes in zip(range(n), self.axes_, strict=False):
            image = axes.imshow(
                self.evidence[:, :, c], cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto"
            )
            axes.set_title(quiet(cut(str(self.classes[c]), 24)), fontsize=10, loc="left")
            self._name_ticks(axes)
        self.figure_.colorbar(image, ax=list(self.axes_[:n]), shrink=0.8, label="evidence, log-odds")
        return self

    def _name_ticks(self, axes: Any) -> None:
        """Name the levels at both axes, unless there are many."""
        for k, axis in enumerate((axes.yaxis, axes.xaxis)):
            names = [quiet(cut(name, 14)) for name in self.levels[k]]
            step = -(-len(names) // MOST_NAMES)
            axis.set_ticks(np.arange(len(names))[::step], names[::step], fontsize=8)
            axis.set_label_text(quiet(cut(self.columns[k], 30)), fontsize=9)
        axes.tick_params(axis="x", rotation=45 if sum(map(len, self.levels[1])) > 24 else 0)
