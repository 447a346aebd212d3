"""Plots: the fitted distributions of the columns over their data. They need matplotlib, imported no sooner."""

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
from sunrise.families.readers import levels, numbers
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Part

#: Points of a curve, bins of a histogram; the most levels and whole numbers that are shown, and panels unasked.
POINTS, BINS, MOST_LEVELS, MOST_COUNTS, MOST_PANELS = 400, 25, 20, 60, 24


@dataclass(frozen=True)
class Panel:
    """What is drawn of one column; heights are classes x places."""

    name: str
    family: str
    #: Numbers, or names of levels.
    at: Any
    fitted: Floats
    #: Shares of the data, and where they lie: edges of their bins, or None at the same places.
    data: Floats
    edges: Floats | None = None

    @property
    def is_curve(self) -> bool:
        """Whether heights are densities, over numbers."""
        return self.edges is not None


class DensityDisplay:
    """The fitted distribution of every column and class, over the data: curves or steps over numbers, bars over levels.

    Make one with `from_estimator`. `figure_` and `axes_` are what was drawn last, `panels` the numbers of it.

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
        """Work out the distributions of a fitted model and draw them over rows X with labels y.

        Parameters
        ----------
        model : NaiveBayes
            A fitted model, or one of a single family.
        X, y
            Rows and their labels, as `fit` takes them.
        columns : list or None, default=None
            Names of the columns to draw; None is all that have a distribution of their own, or those 24 that tell most
            of the class.
        weighted : bool, default=False
            Multiply the distributions by the class prior, and those of the data by the share of their class.
        ax : Axes, array of Axes or None, default=None
            Where to draw.
        """
        model._require_fitted()
        fitted, names = model._model.uncalibrated, model._columns()
        who = type(model).__name__
        table, y, _ = separate_labels(who, X, frame_of(X), y)
        own, found = encode_labels(who, y, table.n_rows)
        place = labels.locate(fitted.classes, own)
        if (place < 0).any():
            raise ValueError(
                f"{own[place < 0].tolist()[0]!r} is none of the classes {fitted.classes.tolist()}."
            )
        codes, table = place[found].astype(np.int32), align(table, fitted.schema)
        drawn = []
        for k, at in _wanted(model, fitted, names, columns):
            panel = _panel(fitted, k, at, table, codes, names[fitted.parts[k].columns[at]])
            drawn.append(_weighed(panel, fitted, codes) if weighted else panel)
        return cls(drawn, fitted.classes, weighted).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels, on a new figure unless axes are given: one for each."""
        plt = _pyplot()
        n = len(self.panels)
        if ax is None:
            wide = min(n, 3 if n > 4 else 2)
            high = -(-n // wide)
            size = 3.9 * wide + 1.1, 2.75 * high
            self.figure_, axes = plt.subplots(high, wide, figsize=size, squeeze=False, layout="constrained")
        else:
            axes = np.atleast_1d(np.asarray(ax, dtype=object))
            if axes.size < n:
                raise ValueError(f"there are {n} columns to draw, and ax has room for {axes.size}.")
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
        told = [str(label) for label in self.classes.tolist()]
        few = {
            "handles": handles[:MOST_LEVELS],
            "labels": told[:MOST_LEVELS],
            "frameon": False,
            "fontsize": 9,
        }
        if ax is None:
            self.figure_.legend(loc="outside right upper", title="class", **few)
            what = "density or probability" + (" times class prior" if self.weighted else "")
            self.figure_.supylabel(what, fontsize=9)
        else:
            self.axes_[0].legend(**few)
        return self


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('sunrise.plots needs matplotlib: pip install "sunrise[plots]".') from None
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
    # A spike of one class must not make all others flat.
    tallest = np.nanmax(np.where(np.isfinite(panel.fitted), panel.fitted, 0.0), axis=1)
    room = 1.08 * max(panel.data.max(initial=0.0), min(tallest.max(), 4.0 * np.median(tallest)))
    axis.set_ylim(0.0, room if room > 0 else 1.0)
    axis.set_xlim(panel.edges[0], panel.edges[-1])


def _draw_bars(axis: Any, panel: Panel, colours: list[Any]) -> None:
    n_classes, n_places = panel.fitted.shape
    width = 0.84 / n_classes
    for c, colour in enumerate(colours):
        at = np.arange(n_places) + (c - (n_classes - 1) / 2) * width
        axis.bar(at, panel.data[c], width, color=colour, alpha=0.25, lw=0)
        axis.hlines(panel.fitted[c], at - width / 2, at + width / 2, color=colour, lw=2.2)
    told = [name if len(name) <= 14 else name[:13] + "…" for name in map(str, panel.at)]
    step = -(-n_places // 12) if all(isinstance(v, int) for v in panel.at) else 1
    tilted = step == 1 and sum(map(len, told)) > 34
    axis.set_xticks(
        np.arange(n_places)[::step],
        told[::step],
        rotation=35 if tilted else 0,
        ha="right" if tilted else "center",
    )


def _wanted(model: NaiveBayes, fitted: FittedModel, names: list[str], columns: Any) -> list[tuple[int, int]]:
    """The columns to draw, each by its block and its place there."""
    where = {names[j]: (k, i) for k, part in enumerate(fitted.parts) for i, j in enumerate(part.columns)}
    own = {
        name: (k, i)
        for name, (k, i) in where.items()
        if fitted.parts[k].family.generative
        and not fitted.parts[k].family.joint
        and bool(np.broadcast_to(fitted.params[k].known, len(fitted.parts[k].columns))[i])
    }
    if columns is not None:
        asked = [
            names[name] if isinstance(name, int | np.integer) and 0 <= name < len(names) else str(name)
            for name in ([columns] if isinstance(columns, str) else columns)
        ]
        if not asked:
            raise ValueError("columns is empty. Name at least one, or leave it out to draw all.")
        for name in asked:
            if name not in own:
                why = (
                    "has no distribution of its own in this model"
                    if name in names
                    else "is no column of this model"
                )
                raise ValueError(
                    f"column {name!r} {why}. To draw are: {', '.join(list(own)[:10]) or 'none'}."
                )
        return [own[name] for name in asked]
    if not own:
        raise ValueError("no column of this model has a distribution of its own: there is nothing to draw.")
    if len(own) > MOST_PANELS:
        bits = dict(zip(names, model.mutual_information().tolist(), strict=True))
        most = set(sorted(own, key=lambda name: -bits[name])[:MOST_PANELS])
        own = {name: place for name, place in own.items() if name in most}
    order = {name: k for k, name in enumerate(names)}
    return [own[name] for name in sorted(own, key=order.__getitem__)]


def _panel(fitted: FittedModel, k: int, at: int, table: Frame, codes: Codes, name: str) -> Panel:
    part, n_classes = fitted.parts[k], len(fitted.classes)
    family, column = part.family, table.read(part.columns[at])
    if not family.reader.is_numeric:
        cells = levels(column, getattr(family, "missing", None) == "level")
        return _levels(fitted, k, at, cells, codes, name)
    x = numbers(column, family).numbers()
    there = np.isfinite(x)
    x, y = x[there], codes[there]
    support = family.support
    x = support.read(x)
    binary = support.above is not None or (support.lowest, support.highest) == (0.0, 1.0)
    first, last = (0, 1) if binary else (int(x.min(initial=0)), int(x.max(initial=1)))
    if binary or (support.whole and last - first < MOST_COUNTS):
        places = np.arange(first, last + 1)
        shares = _shares(np.clip(x.astype(np.intp), first, last) - first, y, n_classes, len(places))
        heights = np.exp(_log_density(fitted, k, at, places.astype(float)))
        told: list[Any] = places.tolist()
        if support.above is not None:
            told = [f"up to {support.above:g}", f"above {support.above:g}"]
        elif binary and fitted.schema.choices[part.columns[at]].kind == "bool":
            told = ["no", "yes"]
        return Panel(name, family.name, told, heights, shares)
    low, high = _range(x, support.lowest, support.highest)
    edges = np.linspace(low, high, BINS + 1)
    shares = _shares(np.clip(np.searchsorted(edges, x, "right") - 1, 0, BINS - 1), y, n_classes, BINS)
    data = shares / np.diff(edges)
    if family.reader.learns:  # bins
        return _binned(fitted, k, at, name, data, edges)
    grid = np.linspace(low, high, POINTS)
    if support.whole:
        grid = np.unique(np.rint(grid))
    return Panel(name, family.name, grid, np.exp(_log_density(fitted, k, at, grid)), data, edges)


def _levels(fitted: FittedModel, k: int, at: int, cells: Any, codes: Codes, name: str) -> Panel:
    """The levels of a column in their order; of many those that are most frequent."""
    family: Any = fitted.parts[k].family
    told = family.describe(fitted.params[k])[at]
    shown = [level for level in told if level != "(unseen)"]
    if len(shown) > MOST_LEVELS:
        shown = sorted(shown, key=lambda level: -float(fitted.class_prior @ told[level]))[:MOST_LEVELS]
        shown.sort(key=natural)
    place = {level: i for i, level in enumerate(shown)}
    to = np.array([place.get(level, -1) for level in cells.names] + [-1])
    shares = _shares(to[cells.codes], codes, len(fitted.classes), len(shown), of=cells.codes >= 0)
    return Panel(name, family.name, shown, np.stack([told[level] for level in shown], axis=1), shares)


def _binned(fitted: FittedModel, k: int, at: int, name: str, data: Floats, edges: Floats) -> Panel:
    """Steps as high as the shares of the bins over their width; the outermost end where they are seen to."""
    family: Any = fitted.parts[k].family
    cuts, shares = family.cuts[at], np.stack(list(family.describe(fitted.params[k])[at].values()), axis=1)
    bounds = cuts.bounds
    bounds[0], bounds[-1] = min(bounds[0], edges[0]), max(bounds[-1], edges[-1])
    return Panel(name, family.name, bounds, shares / np.diff(bounds), data, edges)


def _log_density(fitted: FittedModel, k: int, at: int, x: Floats) -> Floats:
    """Log density of numbers in one column of a block, by the form of the block: classes x numbers."""
    part: Part = fitted.parts[k]
    family, columns = part.family, len(part.columns)
    cells = np.full((len(x), columns), np.nan)
    cells[:, at] = x
    with np.errstate(divide="ignore", invalid="ignore"):
        added = fitted.plain_forms[k].cells(family.support.views_of(cells))
        added = added.reshape(*added.shape[:2], columns, -1)[:, :, at].sum(axis=2)
        return np.asarray(added.T + family.log_base_measure(x[:, None])[:, 0])


def _range(x: Floats, lowest: float, highest: float) -> tuple[float, float]:
    """From the least number to the greatest and a little beyond, as far as there are any."""
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.5 * max(abs(low), 1.0)
    return max(low - margin, lowest), min(high + margin, highest)


def _shares(place: Positions, codes: Codes, n_classes: int, n_places: int, of: Any = None) -> Floats:
    """The share of every place among the cells of each class; places below 0 are not shown."""
    use = place >= 0
    counts = np.bincount(codes[use] * n_places + place[use], minlength=n_classes * n_places)
    total = np.bincount(codes if of is None else codes[of], minlength=n_classes)
    return counts.reshape(n_classes, n_places) / np.maximum(total, 1)[:, None]


def _weighed(panel: Panel, fitted: FittedModel, codes: Codes) -> Panel:
    """Heights times the class prior, those of the data times the share of their class."""
    share = np.bincount(codes, minlength=len(fitted.classes)) / max(len(codes), 1)
    heights = panel.fitted * fitted.class_prior[:, None]
    return Panel(panel.name, panel.family, panel.at, heights, panel.data * share[:, None], panel.edges)
