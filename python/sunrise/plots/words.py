"""Words of a text column whose presence says most about the class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise._common.arrays import Floats, Labels
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.plots.style import axes_of, bare, colours, cut, name_bars, pyplot, quiet

#: With more classes than this, only the class in which a word is most common is named beside its bar.
MOST_CLASSES = 3


class InformativeWordsDisplay:
    """Bars of the mutual information between the presence of a word and the class, the most informative word first.

    The colour is that of the class in which the word is most common. The text beside a bar is the share of the training
    documents of a class that contain the word.

    Attributes
    ----------
    words, bits : list of str, array
        The bars.
    shares : array of shape (words, classes)
        Share of the training documents of every class that contain the word.
    classes : array
        The classes.
    ax_, figure_ : matplotlib Axes and Figure
        The last drawing.

    Examples
    --------

    >>> import sunrise as sr
    >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
    >>> model = sr.TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> display = sr.plots.InformativeWordsDisplay.from_estimator(model, top=3)
    >>> display.words, display.shares[:, 0]
    (['at', 'free', 'lunch'], array([1., 0., 1.]))
    """

    ax_: Any
    figure_: Any

    def __init__(self, words: list[str], bits: Floats, shares: Floats, classes: Labels) -> None:
        self.words, self.bits, self.shares, self.classes = words, bits, shares, classes

    @classmethod
    def from_estimator(cls, model: NaiveBayes, *, top: int = 20, column: Any = None, ax: Any = None) -> Self:
        """Draw the most informative words of a text column of a fitted model, and return the display.

        `top` is the number of words; `column` names the text column of a model with several. `ax` are axes to draw on;
        None creates a figure.
        """
        ranked = model.informative_words(top, column)
        shares = model._shares_of_documents([word for word, _ in ranked], column)
        bits = np.array([bits for _, bits in ranked])
        return cls([word for word, _ in ranked], bits, shares, model.classes_).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars on new axes, or on the given ones."""
        n, names = len(self.words), [quiet(cut(str(label), 16)) for label in self.classes.tolist()]
        self.figure_, self.ax_ = _, axes = axes_of(ax, 6.4, 1.1 + 0.26 * n)
        palette, best = colours(len(names)), self.shares.argmax(axis=1) if n else np.zeros(0, int)
        axes.barh(np.arange(n), self.bits, height=0.7, color=[palette[c] for c in best])
        longest = float(self.bits.max(initial=0.0)) or 1.0
        for k in range(n):
            told = range(len(names)) if len(names) <= MOST_CLASSES else [best[k]]
            text = ", ".join(f"{names[c]} {_percent(self.shares[k, c])}" for c in told)
            axes.text(self.bits[k] + 0.012 * longest, k, text, va="center", fontsize=7.5)
        name_bars(axes, [quiet(cut(word, 26)) for word in self.words])
        axes.set_xlim(0.0, 1.4 * longest)
        axes.set_xlabel("mutual information with the class, bits", fontsize=9)
        used = sorted(set(best.tolist()))
        handles = [pyplot().Rectangle((0, 0), 1, 1, color=palette[c]) for c in used]
        if used:
            axes.legend(
                handles,
                [names[c] for c in used],
                title="most common in",
                fontsize=8,
                title_fontsize=8,
                frameon=False,
                loc="lower right",
            )
        bare(axes)
        return self


def _percent(share: float) -> str:
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"
