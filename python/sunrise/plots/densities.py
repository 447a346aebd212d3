"""Plots of the fitted distribution of every column over its data. matplotlib is imported only when a plot is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise.data.align import align
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import encode_labels, separate_labels
from sunrise.data.levels import natural
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.families.cells import numbers
from sunrise.families.readers import levels
from sunrise.model.choice import Part
from sunrise.model.fitted import FittedModel

#: Number of points of a curve, and of bins of a histogram.
POINTS, BINS = 400, 25
#: Largest number of levels, of different whole numbers drawn as bars, and of panels if no columns are named.
MOST_LEVELS, MOST_COUNTS, MOST_PANELS = 20, 60, 24


@dataclass(frozen=True)
class Panel:
    """The plot of one column. `fitted` and `data` are heights: classes x positions."""

    name: str
    family: str
    #: Positions on the x axis: numbers, or names of levels.
    at: Any
    #: Density or probability of the fitted distribution at the positions.
    fitted: Floats
    #: Histogram of the data: densities in bins with these `edges`, or, without edges, proportions at the positions.
    data: Floats
    edges: Floats | None = None

    @property
    def is_curve(self) -> bool:
        """True for densities of numbers, False for probabilities of levels or counts."""
        return self.edges is not None


class DensityDisplay:
    """Plot of the fitted distribution of every column and class over a histogram of the data.

    Densities of numbers are curves or steps, probabilities of levels and counts are bars. Use `from_estimator` to
    create a display.

    Attributes
    ----------
    panels : list of Panel
        The plotted numbers, one panel per column.
    figure_, axes_ : matplotlib Figure, array of Axes
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

    def __init__(self, panels: list[Panel], classes: Labels, weighted: bool = False) -> None:
        self.panels, self.classes, self.weighted = panels, classes, weighted

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        X: Any,
        y: Any,
        *,
        columns: Any = None,
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
        weighted : bool, default=False
            Multiply the fitted distributions by the class prior, and the histograms by the proportion of the class in
            y.
        ax : Axes, array of Axes or None, default=None
            Axes to draw on, one per column. None creates a figure.
        """
        model._require_fitted()
        uncalibrated, names = model._model.uncalibrated, model._columns()
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
        for k, j in _selected_columns(model, uncalibrated, names, columns):
            panel = _panel(uncalibrated, k, j, table, codes, names[uncalibrated.parts[k].columns[j]])
            panels.append(_times_class_prior(panel, uncalibrated, codes) if weighted else panel)
        return cls(panels, uncalibrated.classes, weighted).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels on a new figure, or on the given axes, one per panel."""
        plt = _pyplot()
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
        colours = _colours(plt, len(self.classes))
        for panel, axis in zip(self.panels, self.axes_, strict=True):
            (_draw_curves if panel.is_curve else _draw_bars)(axis, panel, colours)
            axis.set_title(f"{panel.name}  ({panel.family})", fontsize=10, loc="left")
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=8)
            axis.set_ylim(bottom=0.0)
        for axis in axes.ravel()[n:] if ax is None else ():
            axis.set_visible(False)
        handles = [plt.Line2D([], [], color=colour, lw=2) for colour in colours]
        class_names = [str(label) for label in self.classes.tolist()]
        legend = {
            "handles": handles[:MOST_LEVELS],
            "labels": class_names[:MOST_LEVELS],
            "frameon": False,
            "fontsize": 9,
        }
        if ax is None:
            self.figure_.legend(loc="outside right upper", title="class", **legend)
            y_label = "density or probability" + (" times class prior" if self.weighted else "")
            self.figure_.supylabel(y_label, fontsize=9)
        else:
            self.axes_[0].legend(**legend)
        return self


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("sunrise.plots needs matplotlib: pip install matplotlib.") from None
    return plt


def _colours(plt: Any, n: int) -> list[Any]:
    if n <= 10:
        return [plt.get_cmap("tab10")(k) for k in range(n)]
    return [plt.get_cmap("viridis")(k / (n - 1)) for k in range(n)]


def _draw_curves(axis: Any, panel: Panel, colours: list[Any]) -> None:
    assert panel.edges is not None
    steps = len(panel.at) == panel.fitted.shape[1] + 1
    for colour, heights in zip(colours, panel.data, strict=True):
        axis.stairs(heights, panel.edges, fill=True, color=colour, alpha=0.18, lw=0)
    for colour, heights in zip(colours, panel.fitted, strict=True):
        if steps:
            axis.stairs(heights, panel.at, color=colour, lw=1.6, baseline=None)
        else:
            axis.plot(panel.at, heights, color=colour, lw=1.8)
    # Cut off a very narrow density, so that the densities of the other classes stay visible.
    tallest = np.nanmax(np.where(np.isfinite(panel.fitted), panel.fitted, 0.0), axis=1)
    top = 1.08 * max(panel.data.max(initial=0.0), min(tallest.max(), 4.0 * np.median(tallest)))
    axis.set_ylim(0.0, top if top > 0 else 1.0)
    axis.set_xlim(panel.edges[0], panel.edges[-1])


def _draw_bars(axis: Any, panel: Panel, colours: list[Any]) -> None:
    n_classes, n_positions = panel.fitted.shape
    width = 0.84 / n_classes
    for c, colour in enumerate(colours):
        centre = np.arange(n_positions) + (c - (n_classes - 1) / 2) * width
        axis.bar(centre, panel.data[c], width, color=colour, alpha=0.25, lw=0)
        axis.hlines(panel.fitted[c], centre - width / 2, centre + width / 2, color=colour, lw=2.2)
    names = [name if len(name) <= 14 else name[:13] + "…" for name in map(str, panel.at)]
    step = -(-n_positions // 12) if all(isinstance(v, int) for v in panel.at) else 1
    tilted = step == 1 and sum(map(len, names)) > 34
    axis.set_xticks(
        np.arange(n_positions)[::step],
        names[::step],
        rotation=35 if tilted else 0,
        ha="right" if tilted else "center",
    )


def _selected_columns(
    estimator: NaiveBayes, model: FittedModel, names: list[str], columns: Any
) -> list[tuple[int, int]]:
    """Return the columns to plot, each as the position of its block and its position in the block."""
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
        return [available[name] for name in requested]
    if not available:
        raise ValueError(
            "no column of this model has a distribution of its own, so there is nothing to plot."
        )
    if len(available) > MOST_PANELS:
        bits = dict(zip(names, estimator.mutual_information().tolist(), strict=True))
        best = set(sorted(available, key=lambda name: -bits[name])[:MOST_PANELS])
        available = {name: position for name, position in available.items() if name in best}
    order = {name: k for k, name in enumerate(names)}
    return [available[name] for name in sorted(available, key=order.__getitem__)]


def _panel(model: FittedModel, k: int, j: int, table: Frame, codes: Codes, name: str) -> Panel:
    """Return the panel of column j of block k."""
    part, n_classes = model.parts[k], len(model.classes)
    family, column = part.family, table.read(part.columns[j])
    if not family.reader.is_numeric:
        cells = levels(column, getattr(family, "missing", None) == "level", None, type(family).__name__)
        return _level_panel(model, k, j, cells, codes, name)
    x = numbers(column, family).numbers()
    observed = np.isfinite(x)
    x, y = x[observed], codes[observed]
    support = family.support
    x = support.read(x)
    binary = support.above is not None or (support.lowest, support.highest) == (0.0, 1.0)
    first, last = (0, 1) if binary else (int(x.min(initial=0)), int(x.max(initial=1)))
    if binary or (support.whole and last - first < MOST_COUNTS):
        values = np.arange(first, last + 1)
        proportions = _proportions(np.clip(x.astype(np.intp), first, last) - first, y, n_classes, len(values))
        heights = np.exp(_log_density(model, k, j, values.astype(float)))
        value_names: list[Any] = values.tolist()
        if support.above is not None:
            value_names = [f"up to {support.above:g}", f"above {support.above:g}"]
        elif binary and model.schema.choices[part.columns[j]].kind == "bool":
            value_names = ["no", "yes"]
        return Panel(name, family.name, value_names, heights, proportions)
    low, high = _range(x, support.lowest, support.highest)
    edges = np.linspace(low, high, BINS + 1)
    bins = np.clip(np.searchsorted(edges, x, "right") - 1, 0, BINS - 1)
    data = _proportions(bins, y, n_classes, BINS) / np.diff(edges)
    if family.reader.learns:  # the binned family: its density is a step function
        return _binned_panel(model, k, j, name, data, edges)
    grid = np.linspace(low, high, POINTS)
    if support.whole:
        grid = np.unique(np.rint(grid))
    return Panel(name, family.name, grid, np.exp(_log_density(model, k, j, grid)), data, edges)


def _level_panel(model: FittedModel, k: int, j: int, cells: Any, codes: Codes, name: str) -> Panel:
    """Return the panel of a column of levels in their natural order; of many levels, the most probable ones."""
    family: Any = model.parts[k].family
    probabilities = family.describe(model.params[k])[j]
    shown = [level for level in probabilities if level != "(unseen)"]
    if len(shown) > MOST_LEVELS:
        shown.sort(key=lambda level: -float(model.class_prior @ probabilities[level]))
        shown = sorted(shown[:MOST_LEVELS], key=natural)
    positions = {level: i for i, level in enumerate(shown)}
    # The last entry is the position of missing cells, whose code is -1.
    position_of_code = np.array([positions.get(level, -1) for level in cells.names] + [-1])
    data = _proportions(
        position_of_code[cells.codes], codes, len(model.classes), len(shown), counted=cells.codes >= 0
    )
    heights = np.stack([probabilities[level] for level in shown], axis=1)
    return Panel(name, family.name, shown, heights, data)


def _binned_panel(model: FittedModel, k: int, j: int, name: str, data: Floats, edges: Floats) -> Panel:
    """Return the panel of a binned column: bin probability / bin width; the outer bins end at the plotted range."""
    family: Any = model.parts[k].family
    probabilities = np.stack(list(family.describe(model.params[k])[j].values()), axis=1)
    bounds = family.cuts[j].bounds
    bounds[0], bounds[-1] = min(bounds[0], edges[0]), max(bounds[-1], edges[-1])
    return Panel(name, family.name, bounds, probabilities / np.diff(bounds), data, edges)


def _log_density(model: FittedModel, k: int, j: int, x: Floats) -> Floats:
    """Return the log density of column j of block k at the numbers x: classes x numbers."""
    part: Part = model.parts[k]
    family, n_columns = part.family, len(part.columns)
    cells = np.full((len(x), n_columns), np.nan)
    cells[:, j] = x
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = model.plain_forms[k].cells(family.support.views_of(cells))
        scores = scores.reshape(*scores.shape[:2], n_columns, -1)[:, :, j].sum(axis=2)
        return np.asarray(scores.T + family.log_base_measure(x[:, None])[:, 0])


def _range(x: Floats, lowest: float, highest: float) -> tuple[float, float]:
    """Return the range of x with a margin, within the support of the family."""
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.5 * max(abs(low), 1.0)
    return max(low - margin, lowest), min(high + margin, highest)


def _proportions(
    position: Positions, codes: Codes, n_classes: int, n_positions: int, counted: Any = None
) -> Floats:
    """Return the proportion of cells at every position, by class; cells at positions below 0 are not shown.

    The proportions refer to all cells of the class, or to the `counted` ones.
    """
    shown = position >= 0
    counts = np.bincount(codes[shown] * n_positions + position[shown], minlength=n_classes * n_positions)
    total = np.bincount(codes if counted is None else codes[counted], minlength=n_classes)
    return counts.reshape(n_classes, n_positions) / np.maximum(total, 1)[:, None]


def _times_class_prior(panel: Panel, model: FittedModel, codes: Codes) -> Panel:
    """Multiply the fitted heights by the class prior, and the histogram by the proportion of each class in the data."""
    class_proportion = np.bincount(codes, minlength=len(model.classes)) / max(len(codes), 1)
    heights = panel.fitted * model.class_prior[:, None]
    return Panel(
        panel.name, panel.family, panel.at, heights, panel.data * class_proportion[:, None], panel.edges
    )
