"""Nomogram: a scale of evidence for every column, whose sum gives the probability; a calculator on paper."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.inference.comparison import probability_text
from sunrise.plots.nomogram_scales import Scale, scales_of
from sunrise.plots.style import AGAINST, FAINT, FOR, axes_of, cut, nice_ticks, quiet

#: Labels of the scale of probabilities.
PROBABILITIES = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.05,
    *np.arange(0.1, 0.95, 0.1).round(1),
    0.95,
    0.98,
    0.99,
    0.995,
    0.999,
)
#: Width of a character in a label, as a share of the width of the axes.
_CHARACTER = 0.0115


class NomogramDisplay:
    """Nomogram of one class against another.

    Every column has a scale: find its value, and read its points on the scale at the top. Add the points of all
    columns; the two scales at the bottom turn the sum into the probability of the class. A missing value has 0 points.
    The points are log-odds, scaled so that the strongest evidence has 100 points. The class prior and the offset of the
    calibration are part of the bottom scales. A column of numbers whose evidence rises and falls is drawn as a curve,
    with its values from bottom to top. A text column shows single words.

    In a model of more than two classes, the probability is that of the class `of` among the two classes.

    Attributes
    ----------
    scales : list of Scale
        Values and evidence of every column, the longest scale first.
    intercept : float
        Log-odds of the two classes if all values are missing.
    points_per_unit : float
        Points of 1 log-odds: 1 if `scale="log-odds"`.
    row, row_values : dict or None
        Evidence of every column, in log-odds, and its value, of the marked row.
    ax_, figure_ : matplotlib Axes and Figure
        The last drawing.

    Examples
    --------

    >>> import sunrise as sr
    >>> parameters = {"shipping": ("bernoulli", {"yes": [0.4, 0.8]}), "perceptron": ("bernoulli", {"yes": [0.1, 0.01]})}
    >>> model = sr.NaiveBayes.from_parameters(parameters, classes=["not-spam", "spam"], class_prior=[0.25, 0.75])
    >>> display = sr.plots.NomogramDisplay.from_estimator(model, of="spam")
    >>> display.scales[0].name, display.scales[0].values, display.scales[0].evidence.round(2)
    ('perceptron', ['no', 'yes'], array([ 0.1, -2.3]))
    >>> total = sum(scale.at("yes") for scale in display.scales)
    >>> round(display.probability(total), 3)
    0.375
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        scales: list[Scale],
        intercept: float,
        of: Any,
        against: Any,
        *,
        scale: str = "points",
        row: dict[str, float] | None = None,
        row_values: dict[str, Any] | None = None,
        n_more: int = 0,
    ) -> None:
        if scale not in ("points", "log-odds"):
            raise ValueError(f'scale is {scale!r}; it must be "points" or "log-odds".')
        self.scales, self.intercept, self.of, self.against = scales, intercept, of, against
        self.scale, self.row, self.row_values, self.n_more = scale, row, row_values, n_more
        strongest = max((float(np.abs(own.evidence).max(initial=0.0)) for own in scales), default=0.0)
        self.points_per_unit = 1.0 if scale == "log-odds" else 100.0 / (strongest or 1.0)

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        *,
        of: Any = None,
        against: Any = None,
        row: Any = None,
        top: int | None = 12,
        scale: str = "points",
        ax: Any = None,
    ) -> Self:
        """Draw the nomogram of a fitted model, and return the display.

        Parameters
        ----------
        of, against : label or None, default=None
            The two classes. By default the second class against the first one.
        row : one row or None, default=None
            A row to mark on all scales: a dict, or a table with one row.
        top : int or None, default=12
            Number of columns, the longest scales first; None draws all. Columns that are left out have 0 points, but a
            marked row counts them.
        scale : {"points", "log-odds"}, default="points"
            Unit of the scales.
        ax : Axes or None, default=None
            Axes to draw on. None creates a figure.
        """
        model._require_fitted()
        if top is not None and top < 1:
            raise ValueError(f"top is {top}; it must be 1 or more, or None for all columns.")
        classes = model.classes_
        if len(classes) < 2:
            raise ValueError("The model has one class, so there are no log-odds to draw.")
        second = None if against is None else labels.place_of(against, classes)
        first = (1 if second != 1 else 0) if of is None else labels.place_of(of, classes)
        if second is None:
            second = 0 if first != 0 else 1
        if first == second:
            raise ValueError(f"of and against are both {of!r}. Pass two different classes.")
        scales = sorted(scales_of(model, first, second), key=lambda own: -own.span)
        if not scales:
            raise ValueError(
                "No column of the model has a scale: it uses no column, or their evidence does not add up."
            )
        log_prior, marked, values = model._model.log_prior, None, None
        if row is not None:
            why = model.explain(row)
            if len(why.contributions) != 1:
                raise ValueError(f"row has {len(why.contributions)} rows. Pass one row.")
            evidence = why.contributions[0, first] - why.contributions[0, second]
            marked = dict(zip(why.columns, evidence.tolist(), strict=True))
            values = dict(zip(why.columns, why.values[0].tolist(), strict=True))
        of, against = classes[[first, second]].tolist()
        intercept, n = float(log_prior[first] - log_prior[second]), len(scales)
        shown = scales[:top]
        settings: dict[str, Any] = {
            "scale": scale,
            "row": marked,
            "row_values": values,
            "n_more": n - len(shown),
        }
        return cls(shown, intercept, of, against, **settings).plot(ax=ax)

    def probability(self, total: float) -> float:
        """Return the probability of the class for a sum of evidence, in log-odds."""
        return float(1.0 / (1.0 + np.exp(-(self.intercept + total))))

    def plot(self, ax: Any = None) -> Self:
        """Draw the nomogram on new axes, or on the given ones."""
        n = len(self.scales)
        self.figure_, self.ax_ = _, axes = axes_of(ax, 7.6, 1.9 + 0.52 * (n + 3))
        ends = [0.0, *(e for own in self.scales for e in (own.evidence.min(), own.evidence.max()))]
        low, high = min(ends), max(ends)
        margin = 0.04 * (high - low or 1.0)
        low, high = low - margin, high + margin
        self._low, self._high = low, high
        unit = self.points_per_unit
        ticks = nice_ticks(low * unit, high * unit, 9) / unit
        self._line(0, ticks, [f"{tick * unit:g}" for tick in ticks], (low, high))
        for k, own in enumerate(self.scales, start=1):
            self._draw_scale(k, own)
        axes.plot([0.0, 0.0], [0, n + 0.5], color=FAINT, lw=0.8, ls=(0, (4, 3)), zorder=0)
        self._draw_total(n + 1)
        names = [quiet(cut(own.name, 26)) for own in self.scales]
        unit_name = "points" if self.scale == "points" else "log-odds"
        of = quiet(cut(str(self.of), 20))
        axes.set_yticks(np.arange(n + 3), [unit_name, *names, f"total {unit_name}", f"P({of})"], fontsize=9)
        for k in (0, n + 1, n + 2):
            axes.get_yticklabels()[k].set_fontweight("bold")
        axes.tick_params(axis="y", length=0)
        axes.set_xticks([])
        axes.spines[:].set_visible(False)
        axes.set_xlim(low, high)
        axes.set_ylim(n + 2.7, -0.6)
        more = "" if not self.n_more else f"; {self.n_more} shorter scale{'s' * (self.n_more > 1)} not shown"
        axes.set_title(f"{of} against {quiet(cut(str(self.against), 20))}{more}", fontsize=10, loc="left")
        return self

    def _line(
        self, y: float, ticks: Any, names: list[str], ends: tuple[float, float], above: bool = False
    ) -> None:
        """Draw a scale: a line, its ticks, and labels below, on a second level or nowhere if there is no room."""
        axes, width = self.ax_, self._high - self._low
        axes.plot(ends, [y, y], color="black", lw=1.0)
        axes.vlines(ticks, y - 0.09, y + 0.09, color="black", lw=0.9)
        levels = [(0.14, "top")] if not above else [(0.14, "top"), (-0.14, "bottom"), (0.36, "top")]
        right = [-np.inf] * len(levels)
        for k in np.argsort(ticks, kind="stable"):
            half = _CHARACTER * width * max(len(names[k]), 1) / 2
            for level, (shift, side) in enumerate(levels):
                if ticks[k] - half > right[level]:
                    right[level] = ticks[k] + half + 0.006 * width
                    axes.text(ticks[k], y + shift, quiet(names[k]), ha="center", va=side, fontsize=7.5)
                    break

    def _draw_scale(self, k: int, own: Scale) -> None:
        ends = float(own.evidence.min(initial=np.inf)), float(own.evidence.max(initial=-np.inf))
        if not own.is_numeric:
            self._line(k, own.evidence, [cut(str(value), 18) for value in own.values], ends, above=True)
        else:
            ticks = nice_ticks(own.values[0], own.values[-1], 6, own.whole)
            at = np.interp(ticks, own.values, own.evidence)
            if own.is_monotone:
                self._line(k, at, [f"{tick:g}" for tick in ticks], ends, above=True)
            else:
                self._draw_curve(k, own, ticks, at)
        evidence = 0.0 if self.row is None else self.row.get(own.column, 0.0)
        if evidence != 0.0:
            place: float = k
            if own.is_numeric and not own.is_monotone and self.row_values is not None:
                value = float(self.row_values[own.column])
                place = _height(k, own, np.clip(value, own.values[0], own.values[-1]))
            self._mark(evidence, place, evidence)

    def _draw_curve(self, k: int, own: Scale, ticks: Floats, at: Floats) -> None:
        """Draw evidence that rises and falls: to the right by evidence, upwards by value."""
        axes = self.ax_
        axes.plot(own.evidence, _height(k, own, own.values), color="black", lw=1.0)
        axes.plot(at, _height(k, own, ticks), "o", color="black", ms=2.2)
        step = 0.008 * (self._high - self._low)
        for x, tick in zip(at, ticks, strict=True):
            axes.text(x + step, _height(k, own, tick), f"{tick:g}", va="center", fontsize=6.5)

    def _draw_total(self, k: int) -> None:
        """Draw the scale of the sum and, below it, that of the probability."""
        sums = [sum(float(pick(own.evidence)) for own in self.scales) for pick in (np.min, np.max)]
        marked = [] if self.row is None else [sum(self.row.values())]
        # Beyond P = 0.001 and 0.999 there is nothing to read. A document may have any number of words.
        most = 7.0
        if any(own.is_text for own in self.scales):
            sums = [-np.inf, np.inf]
        low = min([max(sums[0], -most - self.intercept), *marked, -0.5 - self.intercept, 0.0])
        high = max([min(sums[1], most - self.intercept), *marked, 0.5 - self.intercept, 0.0])

        def place(total: Any) -> Any:
            inner = 0.02 * (self._high - self._low)
            width = self._high - self._low - 2 * inner
            return self._low + inner + width * (np.asarray(total) - low) / (high - low)

        unit = self.points_per_unit
        ticks = nice_ticks(low * unit, high * unit, 9)
        ends = float(place(low)), float(place(high))
        self._line(k, place(ticks / unit), [f"{tick:g}" for tick in ticks], ends)
        p = np.array(PROBABILITIES)
        totals = np.log(p / (1 - p)) - self.intercept
        inside = (totals >= low) & (totals <= high)
        self._line(k + 1, place(totals[inside]), [f"{x:g}" for x in p[inside]], ends)
        if marked:
            at = float(place(marked[0]))
            self._mark(at, k, marked[0])
            self._mark(at, k + 1, marked[0] + self.intercept)
            axes, text = self.ax_, f"P = {probability_text(self.probability(marked[0]))}"
            axes.plot([at, at], [k, k + 1], color=FAINT, lw=0.8, zorder=0)
            axes.text(at, k + 0.82, text, ha="center", va="bottom", fontsize=8, fontweight="bold")

    def _mark(self, x: float, y: float, evidence: float) -> None:
        self.ax_.plot([x], [y], "o", color=FOR if evidence >= 0 else AGAINST, ms=7, zorder=4, clip_on=False)


def _height(k: int, own: Scale, x: Any) -> Any:
    """Return the place of a value on the curve of scale k: the smallest at the bottom."""
    return k + 0.32 - 0.64 * (x - own.values[0]) / (float(own.values[-1] - own.values[0]) or 1.0)
