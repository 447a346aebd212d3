"""Python's character tables for the native tokeniser.

Python and Rust may implement different versions of Unicode. Users expect Python's `str.lower` and the `\\w` of its
regular expressions, so the native code receives Python's tables.
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
    """Build the tables, about 50 ms; called for the first text that is not ASCII."""
    code_points = np.arange(sys.maxunicode + 1, dtype="<u4")
    all_characters = code_points.tobytes().decode("utf-32-le", "surrogatepass")
    return _native.Alphabet(
        [match.span() for match in re.finditer(r"\w+", all_characters)],
        [match.start() for match in re.finditer(r"\s", all_characters)],
        _lowercase_table(all_characters),
    )


def _lowercase_table(all_characters: str) -> list[tuple[int, list[int]]]:
    """Code points that `str.lower` changes, and the code points of the result."""
    # The lower case of capital sigma depends on its neighbours: Python itself lower-cases texts that contain one. The
    # dotted capital I is the only character whose lower case has two characters; without it, positions do not shift.
    single = all_characters.replace("\u03a3", ".").replace("\u0130", ".")
    lowered = single.lower()
    if len(lowered) == len(all_characters):
        before, after = (
            np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4") for text in (single, lowered)
        )
        changed = [*np.flatnonzero(before != after).tolist(), 0x130]
    else:  # later versions of Unicode may have more of these characters
        changed = list(range(len(all_characters)))
    return [(point, [ord(c) for c in all_characters[point].lower()]) for point in changed]


def normalise_text(text: str, lowercase: bool, strip_accents: str | None) -> str:
    """Lower-case a text and strip its accents, as scikit-learn does.

    >>> normalise_text("Élan vital", True, "unicode")
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
