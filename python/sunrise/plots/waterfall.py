"""Waterfall of one row: the terms of the log-odds of two classes, one after the other, from the prior to the sum."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.inference.comparison import Comparison, probability_text
from sunrise.inference.explain import Explanation
from sunrise.plots.style import AGAINST, FAINT, FOR, TOTAL, axes_of, bare, cut, name_bars, quiet


class WaterfallDisplay:
    """Waterfall of the evidence for one class against another, for one row.

    Each bar is a term of the log-odds: the class prior, the calibration offset and the columns, the strongest first. A
    bar starts where the one above ends; the last bar is the sum, from which the probability follows. A line across the
    end of a bar is plus and minus one standard deviation of its evidence under the posterior of the parameters.

    Attributes
    ----------
    comparison : Comparison
        The two classes, their log-odds and all terms.
    labels, starts, ends, sds : list of str, arrays
        The bars, from top to bottom; the last bar is the sum.
    ax_, figure_ : matplotlib Axes and Figure
        The last drawing.

    Examples
    --------

    >>> from sunrise import NaiveBayes
    >>> from sunrise.plots import WaterfallDisplay
    >>> model = NaiveBayes("bernoulli").fit({"fever": [1, 1, 0, 0], "cough": [1, 0, 1, 0]}, list("aabb"))
    >>> display = WaterfallDisplay.from_estimator(model, {"fever": 1, "cough": 1})
    >>> display.labels, display.ends.round(2)
    (['class prior', 'fever = 1', 'cough = 1', 'log-odds'], array([0. , 1.1, 1.1, 1.1]))
    """

    ax_: Any
    figure_: Any

    def __init__(self, comparison: Comparison, top: int | None = 10) -> None:
        self.comparison, self.top = comparison, top
        terms = comparison.shown(top)
        # A value of probability 0 has infinite evidence; its bar is as long as the longest one.
        longest = max([1.0, *(abs(term.evidence) for term in terms)])
        sign = {None: 0.0, "against": 1.0, "of": -1.0}
        steps = np.array(
            [sign[term.excludes] * longest if term.excludes else term.evidence for term in terms]
        )
        ends = np.cumsum(steps)
        self.excluded = [term.excludes is not None for term in terms] + [not np.isfinite(comparison.log_odds)]
        total = comparison.log_odds if np.isfinite(comparison.log_odds) else float(ends[-1])
        self.labels = [*(term.label for term in terms), "log-odds"]
        self.starts = np.concatenate([[0.0], ends[:-1], [0.0]])
        self.ends = np.concatenate([ends, [total]])
        self.sds = np.array([*(term.sd for term in terms), comparison.sd])
        self.sds[self.excluded] = np.nan

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        X: Any,
        *,
        row: int = 0,
        top: int | None = 10,
        of: Any = None,
        against: Any = None,
        words: bool = True,
        ax: Any = None,
    ) -> Self:
        """Draw the waterfall of one row of X under a fitted model, and return the display."""
        settings: dict[str, Any] = {"row": row, "top": top, "of": of, "against": against, "words": words}
        return cls.from_explanation(model.explain(X), **settings, ax=ax)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        row: int = 0,
        top: int | None = 10,
        of: Any = None,
        against: Any = None,
        words: bool = True,
        ax: Any = None,
    ) -> Self:
        """Draw the waterfall of a row that `model.explain` has explained, and return the display.

        Parameters
        ----------
        row : int, default=0
            Position of the row.
        top : int or None, default=10
            Number of columns and words with a bar of their own; the others share one bar. None draws all.
        of, against : label or None, default=None
            The two classes. By default the best class against the second best.
        words : bool, default=True
            Draw each word of a text column; False draws one bar for the column.
        ax : Axes or None, default=None
            Axes to draw on. None creates a figure.
        """
        return cls(explanation.comparison(row, of, against, words), top).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the waterfall on new axes, or on the given ones."""
        n, why = len(self.labels), self.comparison
        figure, axes = axes_of(ax, 7.2, 1.3 + 0.32 * n)
        at, lengths = np.arange(n), self.ends - self.starts
        colour = [FOR if length >= 0 else AGAINST for length in lengths[:-1]] + [TOTAL]
        axes.barh(at, lengths, left=self.starts, height=0.66, color=colour)
        for k in range(n - 1):  # where the next bar starts; the sum ends where the last term does
            axes.plot([self.ends[k]] * 2, [k - 0.33, k + 1.33], color=FAINT, lw=0.8, zorder=0)
        known = np.isfinite(self.sds) & (self.sds > 0)
        if known.any():
            axes.errorbar(
                self.ends[known],
                at[known],
                xerr=self.sds[known],
                fmt="none",
                ecolor="black",
                lw=1.0,
                capsize=2.5,
            )
        axes.axvline(0.0, color="black", lw=0.8)
        spread = np.where(known, self.sds, 0.0)
        low = min(0.0, *self.starts, *(self.ends - spread))
        high = max(0.0, *self.starts, *(self.ends + spread))
        margin = 0.02 * (high - low or 1.0)
        for k in range(n):
            right = max(self.starts[k], self.ends[k] + spread[k])
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
            axes.text(right + margin, k, self._amount(k), va="center", fontsize=8, bbox=box, zorder=3)
        axes.set_xlim(low - 3 * margin, high + 9 * margin)
        name_bars(axes, [quiet(cut(label, 34)) for label in self.labels])
        axes.get_yticklabels()[-1].set_fontweight("bold")
        of, against = (quiet(cut(str(label), 24)) for label in (why.of, why.against))
        axes.set_xlabel(f"log-odds of {of} against {against}", fontsize=9)
        axes.set_title(f"P({of}) = {probability_text(why.probability)}", fontsize=11, loc="left")
        bare(axes, "left")
        self.figure_, self.ax_ = figure, axes
        return self

    def _amount(self, k: int) -> str:
        if self.excluded[k]:
            return "impossible otherwise" if self.ends[k] > self.starts[k] else "ruled out"
        return f"{self.ends[k] - self.starts[k]:+.2f}"
