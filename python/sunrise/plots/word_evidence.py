"""Evidence of words: the part that is said by their counts, and the part that was learned beyond them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.estimators.words import WordEvidence
from sunrise.inference.word_evidence import ABSENT
from sunrise.plots.style import PALETTE, TOTAL, axes_of, bare, cut, name_bars, quiet


class WordEvidenceDisplay:
    """Two bars for every word: its evidence by the counts, and its evidence learned beyond them; a dot is the sum.

    The words are the strongest of a class, or those of one document. A word that a document repeats has its number of
    occurrences behind its name, and a tick at the evidence that the first occurrence alone would have.

    Attributes
    ----------
    entries : list of WordEvidence
        The words, from top to bottom.
    of, against : str
        The class that the evidence speaks for, and the class that it speaks against.
    ax_, figure_ : matplotlib Axes and Figure
        The last drawing.

    Examples
    --------

    >>> from sunrise import TextNB
    >>> from sunrise.plots import WordEvidenceDisplay
    >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
    >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> display = WordEvidenceDisplay.from_document(model, "free free lunch", of="spam", against="ham")
    >>> [entry.word for entry in display.entries]
    ['free', 'lunch']
    """

    ax_: Any
    figure_: Any

    def __init__(self, entries: list[WordEvidence], of: str, against: str) -> None:
        self.entries, self.of, self.against = entries, of, against

    @classmethod
    def from_estimator(
        cls,
        model: NaiveBayes,
        label: Any,
        *,
        top: int = 15,
        against: Any = None,
        column: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the words with the strongest evidence for a class, as `model.words` returns them."""
        entries = model.words(label, top, against, column=column)
        other = "all other classes" if against is None else str(against)
        return cls(entries, str(label), other).plot(ax=ax)

    @classmethod
    def from_document(
        cls,
        model: NaiveBayes,
        text: str,
        *,
        top: int | None = 15,
        of: Any = None,
        against: Any = None,
        column: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the words of a document, as `model.explain_words` returns them; the best class against the next one."""
        if of is None or against is None:
            of, against = model._compared_classes(text, of, against, column)
        entries = model.explain_words(text, of, against, top, column)
        return cls(entries, str(of), str(against)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars on new axes, or on the given ones."""
        at = np.arange(len(self.entries))
        self.figure_, self.ax_ = _, axes = axes_of(ax, 6.8, 1.4 + 0.34 * len(at))
        counted = np.array([entry.counted for entry in self.entries])
        learned = np.array([entry.learned for entry in self.entries])
        axes.barh(at - 0.19, counted, height=0.36, color=PALETTE[0], label="said by counts")
        axes.barh(at + 0.19, learned, height=0.36, color=PALETTE[4], label="learned beyond counts")
        axes.plot(counted + learned, at, "o", color=TOTAL, ms=4.5, label="sum", clip_on=False)
        repeated = [k for k, entry in enumerate(self.entries) if entry.times > 1]
        if repeated:
            first = [self.entries[k].first for k in repeated]
            axes.plot(first, repeated, "|", color="black", ms=11, mew=1.4, label="first occurrence alone")
        axes.axvline(0.0, color="black", lw=0.8)
        name_bars(axes, [_name(entry) for entry in self.entries])
        of, against = (quiet(cut(name, 24)) for name in (self.of, self.against))
        axes.set_xlabel(f"evidence for {of} against {against}, log-odds", fontsize=9)
        axes.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
        bare(axes, "left")
        return self


def _name(entry: WordEvidence) -> str:
    """Return the name of a bar: the word, and how often the document has it."""
    name = quiet(cut(entry.word, 30)) or ABSENT
    return f"{name} \N{MULTIPLICATION SIGN}{entry.times}" if entry.times > 1 else name
