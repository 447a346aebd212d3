"""What all plots share: the import of matplotlib, colours that colour-blind readers can tell apart, and axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats

#: Okabe and Ito's palette, darkest contrasts first; yellow is left out, it is too pale on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
#: Evidence for a class, evidence against it, and totals.
FOR, AGAINST, TOTAL = "#0072b2", "#d55e00", "#555555"
#: Lines behind the data.
FAINT = "#b8b8b8"


def pyplot() -> Any:
    """Return matplotlib.pyplot, imported at the first plot.

    >>> pyplot().__name__
    'matplotlib.pyplot'
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("sunrise.plots needs matplotlib: pip install matplotlib.") from None
    return plt


def colours(n: int) -> list[Any]:
    """Return n colours: the palette, or for more classes than it has, a scale of lightness."""
    if n <= len(PALETTE):
        return list(PALETTE[:n])
    scale = pyplot().get_cmap("viridis")
    return [scale(0.95 * k / (n - 1)) for k in range(n)]


def axes_of(ax: Any, width: float, height: float) -> tuple[Any, Any]:
    """Return the figure and the axes to draw on; a new figure of this size in inches if ax is None."""
    if ax is not None:
        return ax.figure, ax
    figure, axes = pyplot().subplots(figsize=(width, height), layout="constrained")
    return figure, axes


def bare(axes: Any, *sides: str) -> None:
    """Hide spines of axes: top and right, and the given ones."""
    axes.spines[["top", "right", *sides]].set_visible(False)


def name_bars(axes: Any, names: list[str]) -> None:
    """Write the names of horizontal bars beside them; the bars are at 0, 1, ..., from top to bottom."""
    axes.set_yticks(np.arange(len(names)), names, fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.4, -0.6)


def cut(text: str, width: int) -> str:
    """Return a text of at most so many characters.

    >>> cut("a long name", 8)
    'a long …'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def quiet(text: str) -> str:
    """Return a text in which matplotlib does not look for formulas between two dollar signs."""
    return text.replace("$", r"\$")


def nice_ticks(low: float, high: float, most: int, whole: bool = False) -> Floats:
    """Return at most about so many round numbers between two limits.

    >>> nice_ticks(0.1, 9.9, 5)
    array([2., 4., 6., 8.])
    """
    from matplotlib.ticker import MaxNLocator

    locator = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], integer=whole)
    ticks = np.asarray(locator.tick_values(low, high), dtype=float)
    return ticks[(ticks >= low) & (ticks <= high)]
