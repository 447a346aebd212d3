"""Plots of the fitted distribution of every column over its data. matplotlib is imported only when a plot is drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Labels
from sunrise.data.align import align
from sunrise.data.frame import frame_of
from sunrise.data.labels import encode_labels, separate_labels
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.model.fitted import FittedModel
from sunrise.plots.density_panels import MOST_LEVELS, Panel, panel_of, times_class_prior
from sunrise.plots.style import bare, colours, cut, pyplot, quiet

#: Number of panels on a page.
MOST_PANELS = 24


class DensityDisplay:
    """Plot of the fitted distribution of every column and class over a histogram of the data.

    Lines are the model, shading is the data. Densities of numbers are curves or steps, probabilities of levels and
    counts are bars. Positive numbers with a long tail have a logarithmic axis, on which the density is that of log10 x,
    so that areas are probabilities. Bins of whole numbers lie between them, and no bin or curve crosses a bound of the
    family. Use `from_estimator` to create a display.

    Attributes
    ----------
    panels : list of Panel
        The plotted numbers, one panel per column.
    n_columns, n_pages : int
        Number of columns that can be plotted, and of pages of 24 columns.
    figure_, axes_, ax_ : matplotlib Figure, array of Axes, the first of them
        The last figure and its axes.

    Examples
    --------

    >>> from sunrise import NaiveBayes
    >>> from sunrise.plots.densities import DensityDisplay
    >>> X, y = {"height": [1.62, 1.71, 1.93, 1.88], "hair": ["long", "long", "short", "long"]}, list("aabb")
    >>> display = DensityDisplay.from_estimator(NaiveBayes().fit(X, y), X, y)
    >>> [panel.family for panel in display.panels]
    ['gaussian', 'categorical']
    """

    figure_: Any
    axes_: Any
    ax_: Any

    def __init__(
        self, panels: list[Panel], classes: Labels, weighted: bool = False, n_columns: int | None = None
    ) -> None:
        self.panels, self.classes, self.weighted = panels, classes, weighted
        self.n_columns = len(panels) if n_columns is None else n_columns

    @property
    def n_pages(self) -> int:
        """Number of pages of all columns that can be plotted."""
        return -(-self.n_columns // MOST_PANELS)

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        X: Any,
        y: Any,
        *,
        columns: Any = None,
        page: int | None = None,
        weighted: bool = False,
        ax: Any = None,
    ) -> Self:
        """Plot the distributions of a fitted model over the rows X with labels y, and return the display.

        Parameters
        ----------
        model : NaiveBayes
            A fitted NaiveBayes or single-family estimator.
        X, y
            Rows and labels in the same form as for `fit`.
        columns : list or None, default=None
            Names or positions of the columns to plot. None plots all columns that have a distribution of their own, but
            at most the 24 columns with the largest mutual information with the class.
        page : int or None, default=None
            Plot 24 columns in the order of the table: page 0 has the first ones. `n_pages` is the number of pages.
        weighted : bool, default=False
            Multiply the fitted distributions by the class prior, and the histograms by the proportion of the class in
            y.
        ax : Axes, array of Axes or None, default=None
            Axes to draw on, one per column. None creates a figure.
        """
        model._require_fitted()
        uncalibrated, names = model._model.columns_alone.uncalibrated, model._columns()
        who = type(model).__name__
        table, y, _ = separate_labels(who, X, frame_of(X), y)
        y_classes, y_codes = encode_labels(who, y, table.n_rows)
        position = labels.locate(uncalibrated.classes, y_classes)
        if (position < 0).any():
            unknown = y_classes[position < 0].tolist()[0]
            raise ValueError(
                f"y has the label {unknown!r}, which is not one of the classes {uncalibrated.classes.tolist()}."
            )
        codes, table = position[y_codes].astype(np.int32), align(table, uncalibrated.schema, who)
        panels = []
        selected, n_columns = _selected_columns(model, uncalibrated, names, columns, page)
        for k, j in selected:
            panel = panel_of(uncalibrated, k, j, table, codes, names[uncalibrated.parts[k].columns[j]])
            panels.append(times_class_prior(panel, uncalibrated, codes) if weighted else panel)
        return cls(panels, uncalibrated.classes, weighted, n_columns).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels on a new figure, or on the given axes, one per panel."""
        plt = pyplot()
        n = len(self.panels)
        if ax is None:
            n_columns = min(n, 3 if n > 4 else 2)
            n_rows = -(-n // n_columns)
            size = 3.9 * n_columns + 1.1, 2.75 * n_rows
            self.figure_, axes = plt.subplots(
                n_rows, n_columns, figsize=size, squeeze=False, layout="constrained"
            )
        else:
            axes = np.atleast_1d(np.asarray(ax, dtype=object))
            if axes.size < n:
                raise ValueError(
                    f"ax has {axes.size} axes for {n} columns. Pass one for each column, or name fewer columns."
                )
            self.figure_ = axes.ravel()[0].figure
        self.axes_ = axes.ravel()[:n]
        self.ax_ = self.axes_[0]
        palette = colours(len(self.classes))
        for panel, axis in zip(self.panels, self.axes_, strict=True):
            (_draw_curves if panel.is_curve else _draw_bars)(axis, panel, palette)
            kind = f"{panel.family}, density of log10" if panel.log else panel.family
            axis.set_title(f"{quiet(cut(panel.name, 28))}  ({kind})", fontsize=10, loc="left")
            bare(axis)
            axis.tick_params(labelsize=8)
            axis.set_ylim(bottom=0.0)
        for axis in axes.ravel()[n:] if ax is None else ():
            axis.set_visible(False)
        handles = [plt.Line2D([], [], color=colour, lw=3) for colour in palette]
        class_names = [quiet(cut(str(label), 20)) for label in self.classes.tolist()]
        shading = plt.Rectangle((0, 0), 1, 1, color="#7f7f7f", alpha=0.3, lw=0)
        line = plt.Line2D([], [], color="#444444", lw=1.8)
        legend = {
            "handles": [*handles[:MOST_LEVELS], shading, line],
            "labels": [*class_names[:MOST_LEVELS], "shading: data", "line: model"],
            "frameon": False,
            "fontsize": 9,
        }
        if ax is None:
            self.figure_.legend(loc="outside right upper", title="class", **legend)
            y_label = "density or probability" + (" times class prior" if self.weighted else "")
            self.figure_.supylabel(y_label, fontsize=9)
            if n < self.n_columns:
                self.figure_.supxlabel(f"{n} of {self.n_columns} columns", fontsize=9)
        else:
            self.axes_[0].legend(**legend)
        return self


def _draw_curves(axis: Any, panel: Panel, palette: list[Any]) -> None:
    assert panel.edges is not None
    steps = len(panel.at) == panel.fitted.shape[1] + 1
    for colour, heights in zip(palette, panel.data, strict=True):
        axis.stairs(heights, panel.edges, fill=True, color=colour, alpha=0.18, lw=0)
    for colour, heights in zip(palette, panel.fitted, strict=True):
        if steps:
            axis.stairs(heights, panel.at, color=colour, lw=1.6, baseline=None)
        else:
            axis.plot(panel.at, heights, color=colour, lw=1.8)
    # Cut off a very narrow density, so that the other densities stay visible.
    tallest = np.nanmax(np.where(np.isfinite(panel.fitted), panel.fitted, 0.0), axis=1)
    highest_bin = panel.data.max(initial=0.0)
    limits = [tallest.max(), 4.0 * np.median(tallest), *([2.0 * highest_bin] if highest_bin > 0 else [])]
    top = 1.08 * max(highest_bin, min(limits))
    axis.set_ylim(0.0, top if top > 0 else 1.0)
    if panel.log:
        axis.set_xscale("log")
    axis.set_xlim(min(panel.edges[0], panel.at[0]), max(panel.edges[-1], panel.at[-1]))


def _draw_bars(axis: Any, panel: Panel, palette: list[Any]) -> None:
    n_classes, n_positions = panel.fitted.shape
    width = 0.84 / n_classes
    for c, colour in enumerate(palette):
        centre = np.arange(n_positions) + (c - (n_classes - 1) / 2) * width
        axis.bar(centre, panel.data[c], width, color=colour, alpha=0.25, lw=0)
        axis.hlines(panel.fitted[c], centre - width / 2, centre + width / 2, color=colour, lw=2.2)
    names = [quiet(cut(str(name), 14)) for name in panel.at]
    step = -(-n_positions // 12) if all(isinstance(v, int) for v in panel.at) else 1
    tilted = step == 1 and sum(map(len, names)) > 34
    axis.set_xticks(
        np.arange(n_positions)[::step],
        names[::step],
        rotation=35 if tilted else 0,
        ha="right" if tilted else "center",
    )


def _selected_columns(
    estimator: NaiveBayes, model: FittedModel, names: list[str], columns: Any, page: int | None
) -> tuple[list[tuple[int, int]], int]:
    """Return the columns to plot, as positions of block and column in the block, and how many could be plotted."""
    positions = {names[j]: (k, i) for k, part in enumerate(model.parts) for i, j in enumerate(part.columns)}
    available = {
        name: (k, i)
        for name, (k, i) in positions.items()
        if model.parts[k].family.generative
        and not model.parts[k].family.joint
        and bool(np.broadcast_to(model.params[k].known, len(model.parts[k].columns))[i])
    }
    if columns is not None:
        requested = [
            names[name] if isinstance(name, int | np.integer) and 0 <= name < len(names) else str(name)
            for name in ([columns] if isinstance(columns, str) else columns)
        ]
        if not requested:
            raise ValueError("columns is empty. Name at least one column, or pass None to plot all columns.")
        for name in requested:
            if name not in available:
                reason = (
                    "has no distribution of its own in this model"
                    if name in names
                    else "is not a column of this model"
                )
                raise ValueError(
                    f"column {name!r} {reason}. Columns to plot: {', '.join(list(available)[:10]) or 'none'}."
                )
        return [available[name] for name in requested], len(requested)
    if not available:
        raise ValueError(
            "no column of this model has a distribution of its own, so there is nothing to plot."
        )
    n = len(available)
    order = {name: k for k, name in enumerate(names)}
    if page is not None:
        n_pages = -(-n // MOST_PANELS)
        if not 0 <= page < n_pages:
            raise ValueError(f"page is {page}; the {n} columns have pages from 0 to {n_pages - 1}.")
        on_page = sorted(available, key=order.__getitem__)[page * MOST_PANELS : (page + 1) * MOST_PANELS]
        available = {name: available[name] for name in on_page}
    elif n > MOST_PANELS:
        bits = dict(zip(names, estimator.mutual_information().tolist(), strict=True))
        best = set(sorted(available, key=lambda name: -bits[name])[:MOST_PANELS])
        available = {name: position for name, position in available.items() if name in best}
    return [available[name] for name in sorted(available, key=order.__getitem__)], n
