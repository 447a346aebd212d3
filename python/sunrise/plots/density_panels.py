"""The numbers of density plots: the fitted distribution of a column at positions, and a histogram of its data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.data.frame import Frame
from sunrise.data.levels import natural
from sunrise.families.cells import numbers
from sunrise.families.readers import levels
from sunrise.model.choice import Part
from sunrise.model.fitted import FittedModel

#: Number of points of a curve, and of bins of a histogram.
POINTS, BINS = 400, 25
#: Largest number of levels, and of different whole numbers drawn as bars.
MOST_LEVELS, MOST_COUNTS = 20, 60
#: Positive numbers have a log axis if their 99 % quantile is so many times the median, and times the 1 % quantile.
LOG_FROM_MEDIAN, LOG_FROM_LOW = 8.0, 30.0


@dataclass(frozen=True)
class Panel:
    """The plot of one column. `fitted` and `data` are heights: classes x positions.

    With `log`, the axis is logarithmic and densities are those of log10 x, so that areas are probabilities.
    """

    name: str
    family: str
    #: Positions on the x axis: numbers, or names of levels.
    at: Any
    #: Density or probability of the fitted distribution at the positions.
    fitted: Floats
    #: Histogram of the data: densities in bins with these `edges`, or, without edges, proportions at the positions.
    data: Floats
    edges: Floats | None = None
    log: bool = False

    @property
    def is_curve(self) -> bool:
        """True for densities of numbers, False for probabilities of levels or counts."""
        return self.edges is not None


def panel_of(model: FittedModel, k: int, j: int, table: Frame, codes: Codes, name: str) -> Panel:
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
    log = asks_for_log_axis(x)
    edges = _edges(x, support.lowest, support.highest, log)
    n_bins = len(edges) - 1
    bins = np.clip(np.searchsorted(edges, x, "right") - 1, 0, n_bins - 1)
    widths = np.diff(np.log10(edges) if log else edges)
    data = _proportions(bins, y, n_classes, n_bins) / widths
    if family.reader.learns:  # the binned family: its density is a step function
        return _binned_panel(model, k, j, name, data, edges, log)
    grid = _grid(x, support.lowest, support.highest, log)
    if support.whole:
        grid = np.unique(np.rint(grid))
    fitted = np.exp(_log_density(model, k, j, grid))
    return Panel(name, family.name, grid, fitted * grid * np.log(10.0) if log else fitted, data, edges, log)


def asks_for_log_axis(x: Floats) -> bool:
    """True for positive numbers with a long upper tail.

    >>> asks_for_log_axis(np.exp(np.linspace(-3, 3, 50))), asks_for_log_axis(np.linspace(1, 9, 50))
    (True, False)
    """
    if len(x) == 0 or x.min() <= 0:
        return False
    low, middle, high = np.quantile(x, [0.01, 0.5, 0.99])
    return bool(high > LOG_FROM_MEDIAN * middle and high > LOG_FROM_LOW * low)


def _edges(x: Floats, lowest: float, highest: float, log: bool) -> Floats:
    """Return the edges of the histogram: from the smallest to the largest number, and never beyond a bound.

    Whole numbers have edges between them, so that every bin holds equally many.
    """
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
    whole = bool((x == np.rint(x)).all()) and high - low < 2.0**52
    if whole and log:
        starts = np.floor(np.geomspace(low, high, BINS + 1)[:-1])
        edges = np.append(np.unique(starts) - 0.5, high + 0.5)
    elif whole:
        step = -(-(high - low + 1) // BINS)
        edges = low - 0.5 + step * np.arange(-(-(high - low + 1) // step) + 1)
    elif low == high:
        half = 0.5 * max(abs(low), 1.0)
        edges = np.linspace(low - half, high + half, BINS + 1)
    else:
        edges = (np.geomspace if log else np.linspace)(low, high, BINS + 1)
    return np.unique(np.clip(edges, lowest, highest))


def _grid(x: Floats, lowest: float, highest: float, log: bool) -> Floats:
    """Return the positions of a curve: the range of x with a margin, within the support of the family."""
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
    if log:
        factor = (high / low) ** 0.06
        return np.geomspace(max(low / factor, lowest), min(high * factor, highest), POINTS)
    margin = 0.06 * (high - low) or 0.5 * max(abs(low), 1.0)
    return np.linspace(max(low - margin, lowest), min(high + margin, highest), POINTS)


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


def _binned_panel(
    model: FittedModel, k: int, j: int, name: str, data: Floats, edges: Floats, log: bool
) -> Panel:
    """Return the panel of a binned column: bin probability / bin width; the outer bins end at the plotted range."""
    family: Any = model.parts[k].family
    probabilities = np.stack(list(family.describe(model.params[k])[j].values()), axis=1)
    bounds = family.cuts[j].bounds
    bounds[0], bounds[-1] = min(bounds[0], edges[0]), max(bounds[-1], edges[-1])
    widths = np.diff(np.log10(bounds) if log else bounds)
    return Panel(name, family.name, bounds, probabilities / widths, data, edges, log)


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


def times_class_prior(panel: Panel, model: FittedModel, codes: Codes) -> Panel:
    """Multiply the fitted heights by the class prior, and the histogram by the proportion of each class in the data."""
    class_proportion = np.bincount(codes, minlength=len(model.classes)) / max(len(codes), 1)
    fitted, data = panel.fitted * model.class_prior[:, None], panel.data * class_proportion[:, None]
    return replace(panel, fitted=fitted, data=data)
