"""What this Python knows of characters, as tables for the native code.

Unicode grows with every version, and Rust's and Python's need not be the same. Whoever counts words in Python
expects Python's `str.lower` and the `\\w` of its regular expressions, so that is what the native code is told.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

import numpy as np

from sunrise import _native


@cache
def alphabet() -> _native.Alphabet:
    """The tables, made when a text that is not ASCII is first seen (some 50 ms)."""
    points = np.arange(sys.maxunicode + 1, dtype="<u4")
    everything = points.tobytes().decode("utf-32-le", "surrogatepass")
    return _native.Alphabet(
        [match.span() for match in re.finditer(r"\w+", everything)],
        [match.start() for match in re.finditer(r"\s", everything)],
        _lowered(everything),
    )


def _lowered(everything: str) -> list[tuple[int, list[int]]]:
    """Characters that lower-casing changes, and what they become."""
    # Capital sigma depends on its neighbours, and texts that hold one are lower-cased by Python itself. The dotted
    # capital I is the one that becomes two characters; without these, places stay what they are.
    single = everything.replace("\u03a3", ".").replace("\u0130", ".")
    lowered = single.lower()
    if len(lowered) == len(everything):
        before, after = (
            np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4") for text in (single, lowered)
        )
        changed = [*np.flatnonzero(before != after).tolist(), 0x130]
    else:  # a Unicode of the future
        changed = list(range(len(everything)))
    return [(place, [ord(c) for c in everything[place].lower()]) for place in changed]


def prepared(text: str, lowercase: bool, strip_accents: str | None) -> str:
    """A text in lower case and without accents, as scikit-learn does it.

    >>> prepared("Élan vital", True, "unicode")
    'elan vital'
    """
    if lowercase:
        text = text.lower()
    if strip_accents is None or text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text)
    if strip_accents == "ascii":
        return text.encode("ascii", "ignore").decode("ascii")
    return "".join([character for character in text if not unicodedata.combining(character)])
