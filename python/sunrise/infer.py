"""Which family a column gets where none is given: the rules, all in one place.

These are the rules of `families="auto-fast"`; with "auto", `sunrise.choose` tries several families for columns of
numbers, in the place of rules 5 to 7.

Rows count by their weight: those of weight 0 are not there. In this order:

1. a column without any cell, or whose cells are all equal, says nothing: it is left out;
2. strings that are long and rarely repeat (5 words and 40 characters on average, more than half of them
   different) are text;
3. strings of which 9 in 10 or more are different, in 20 rows or more, name the rows: left out; so are 50 or more
   whole numbers that are all different and numbered without large gaps;
4. yes and no (booleans): Bernoulli;
5. strings and categories, and whole numbers of which there are at most 20 different ones: categorical;
6. other whole numbers from 0 whose variance is .5 to 2 times their mean in every class: Poisson;
7. all other numbers: Gaussian.

Floats that are all whole count as whole numbers: an integer column with missing cells is a float column in pandas.
Rules 4 to 7 are each family's own `suits`. What was chosen stays: the first data seen decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise import _native
from sunrise.arrays import Floats
from sunrise.data.batch import Block
from sunrise.data.column import Column
from sunrise.family import FAMILIES
from sunrise.levels import natural
from sunrise.look import Look
from sunrise.schema import Choice, named_family
from sunrise.stats import Counts
from sunrise.terms import X

#: Whole numbers with more different values than this are no categories.
MOST_LEVELS = 20

#: In which order families are asked whether a column suits them.
ORDER = ("bernoulli", "categorical", "poisson", "gaussian")


def look_at_numbers(column: Column, weight: Floats | None, spread: Callable[[], tuple[float, float]]) -> Look:
    """Look over numbers; `spread` works out variance over mean within the classes, if it comes to that."""
    s = _native.summary(column.cells, weight, MOST_LEVELS)
    distinct = s.distinct
    if s.whole and max(abs(s.low), abs(s.high)) >= 2**53:  # floats do not tell these apart
        distinct = len(column.levels.names)
    return Look(column.kind, s.cells, distinct, s.low, s.high, s.whole, s.numbering, spread=spread)


def look_at_levels(counts: Counts) -> Look:
    """Look over the levels of a column that were counted, by name."""
    # Weights count, but a row that is there counts as one at least.
    cells = np.maximum(counts.weight.sum(axis=0), counts.rows.sum(axis=0))
    sizes = np.array([(len(name.split()), len(name)) for name in counts.codes], float).reshape(-1, 2)
    words, characters = (float(mean) for mean in cells @ sizes / max(cells.sum(), 1.0))
    numbers = sum(not natural(name)[0] for name in counts.codes)
    return Look("level", float(cells.sum()), len(cells), words=words, characters=characters, numbers=numbers)


def infer(column: Column, look: Look) -> Choice:
    """The family of a column, and why."""
    if look.cells == 0:
        return Choice(None, "left out: every cell is missing", is_uninformed=True)
    if look.distinct == 1:
        return Choice(None, "left out: every cell is the same", is_uninformed=True)
    if reason := FAMILIES["text"].suits(look):
        return Choice(FAMILIES["text"](), reason)
    if look.kind == "level" and look.cells >= 20 and look.distinct >= 0.9 * look.cells:
        return Choice(
            None, f"left out: a name for each row ({look.distinct} different ones{look.told_numbers})"
        )
    if look.numbering and look.cells >= 50:
        return Choice(None, f"left out: a number for each row ({look.low:.0f} to {look.high:.0f})")
    for name in ORDER:
        if reason := FAMILIES[name].suits(look):
            # Few whole numbers that hardly repeat may be measurements of which few were seen.
            few = look.kind == "number" and look.distinct <= MOST_LEVELS and look.distinct > look.cells / 2
            return Choice(FAMILIES[name](), reason, None, column.declared, is_uninformed=few)
    raise AssertionError(f"no family takes {look}")


def choice_of_matrix(families: Any, block: Block) -> Choice:
    """The one family of a sparse matrix, and why.

    Zeros and ones are Bernoulli; counts, which may be weighted (by inverse document frequency, for one), so any
    numbers from 0, are multinomial; other numbers are Gaussian.
    """
    if isinstance(families, dict):
        raise ValueError(
            "A sparse matrix is one block: give one family for all of it, not a dict. "
            "To mix families, pass the columns as a dense table."
        )
    if not (isinstance(families, str) and families in ("auto", "auto-fast")):
        return Choice(named_family(families), "given for all columns")
    cells = block.native((X,))[0]
    stored = cells[~np.isnan(cells)]
    if (stored < 0).any():
        return Choice(FAMILIES["gaussian"](), "a sparse matrix of numbers")
    if np.isin(stored, (0, 1)).all():
        return Choice(FAMILIES["bernoulli"](), "a sparse matrix of zeros and ones")
    return Choice(FAMILIES["multinomial"](), "a sparse matrix of counts")
