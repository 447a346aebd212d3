"""Drift between two models: by how many bits every column has moved."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.estimators.compare import compared_columns
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.plots.style import FOR, axes_of, bare, cut, name_bars, quiet


class DriftDisplay:
    """Bars of the Jensen-Shannon divergence between the distributions of two models, by column: see `sunrise.compare`.

    0 bits are equal distributions; 1 bit is the most that is possible. Columns that cannot be compared have no bar;
    the text beside them says why.

    Attributes
    ----------
    columns, bits, remarks : list of str, array, list of str
        The bars, the largest first; NaN for columns that cannot be compared.
    ax_, figure_ : matplotlib Axes and Figure
        The last drawing.

    Examples
    --------

    >>> import sunrise as sr
    >>> january = sr.NaiveBayes("categorical").fit({"hair": ["long", "short"] * 9}, ["x", "y"] * 9)
    >>> february = sr.NaiveBayes("categorical").fit({"hair": ["long", "long"] * 9}, ["x", "y"] * 9)
    >>> display = sr.plots.DriftDisplay.from_estimators(january, february)
    >>> display.columns, display.bits.round(2)
    (['hair', '(class prior)'], array([0.27, 0.  ]))
    """

    ax_: Any
    figure_: Any

    def __init__(self, columns: list[str], bits: Floats, remarks: list[str], n_more: int = 0) -> None:
        self.columns, self.bits, self.remarks, self.n_more = columns, bits, remarks, n_more

    @classmethod
    def from_estimators(cls, a: NaiveBayes, b: NaiveBayes, *, top: int | None = 20, ax: Any = None) -> Self:
        """Draw how far the columns have moved from model `a` to model `b`, and return the display.

        `top` is the number of columns, the largest divergences first; None draws all. `ax` are axes to draw on; None
        creates a figure.
        """
        if top is not None and top < 1:
            raise ValueError(f"top is {top}; it must be 1 or more, or None for all columns.")
        rows = compared_columns(a, b)
        shown = rows[:top]
        bits = np.array([row.bits for row in shown], dtype=float)
        names, remarks = ([getattr(row, name) for row in shown] for name in ("column", "remark"))
        return cls(names, bits, remarks, len(rows) - len(shown)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars on new axes, or on the given ones."""
        n = len(self.columns)
        self.figure_, self.ax_ = _, axes = axes_of(ax, 6.4, 1.1 + 0.28 * n)
        bits = np.nan_to_num(self.bits)
        axes.barh(np.arange(n), bits, height=0.66, color=FOR)
        longest = max(float(bits.max(initial=0.0)), 1e-3)
        for k, (value, remark) in enumerate(zip(self.bits, self.remarks, strict=True)):
            text = f"{value:.3f}" if np.isfinite(value) else "not compared"
            text = f"{text}: {cut(remark, 40)}" if remark else text
            axes.text(bits[k] + 0.012 * longest, k, quiet(text), va="center", fontsize=7.5)
        name_bars(axes, [quiet(cut(name, 30)) for name in self.columns])
        axes.set_xlim(0.0, 1.3 * longest)
        more = f"; {self.n_more} more columns moved less" if self.n_more else ""
        axes.set_xlabel(f"divergence between the two models, bits{more}", fontsize=9)
        bare(axes)
        return self
