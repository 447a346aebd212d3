"""Rules that choose the family of a column by its type.

`families="auto-fast"` uses these rules for every column. With "auto", `sunrise.selection.by_score` compares several
families for numeric columns with at least 30 cells, in place of rules 5 to 7.

Rows count by their weight; rows of weight 0 are ignored. The first rule that applies decides:

1. A column in which all values are missing or all values are equal is left out.
2. Strings with at least 4.5 words and 25 characters on average, more than half of them distinct, are text.
3. Row identifiers are left out: strings in at least 20 rows of which at least 90 % are distinct, and at least 50
   whole numbers that are all distinct, if they fill half of their range, or if as many measurements with the same
   distribution would have at least 10 repeats. Distinct whole numbers with wider gaps may be measurements and are kept.
4. Booleans are Bernoulli.
5. Other strings, categories, and whole numbers are categorical; whole numbers only if they have at most 20 distinct
   values, each in four rows on average, or two distinct values.
6. Other whole numbers from 0 are Poisson if their variance is 0.5 to 2 times their mean in every class.
7. All other numbers are Gaussian.

A float column with only whole numbers counts as whole numbers, because pandas stores an integer column with missing
values as floats.
Rules 4 to 7 are implemented by `reason_by_type` of the families. The first data decide, and later data do not change
the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats
from sunrise.data.blocks import ColumnsBlock, LevelsBlock, SparseBlock
from sunrise.data.column import Column
from sunrise.data.errors import refuse_cell
from sunrise.data.levels import is_number
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import FAMILIES
from sunrise.families.capabilities import Candidate
from sunrise.families.readers import plain_levels
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import Choice
from sunrise.statistics.base import per_row
from sunrise.statistics.moments import Moments
from sunrise.statistics.support import LEVELS, REAL
from sunrise.statistics.terms import LEVEL, X2, X

#: Whole numbers with more distinct values than this are not categories.
MOST_LEVELS = 20
#: Most level names beside numbers that may stand for missing values, such as "?" and "NA".
MOST_TOKENS = 3
#: Fewest whole numbers that may be identifiers, and the expected number of repeats from which on it is no chance that
#: none repeats (then the probability of this is exp(-10)).
FEWEST_IDENTIFIERS, EXPECTED_REPEATS = 50, 10.0
#: Number of cells that are searched for repeats before all cells are.
_FIRST_CELLS = 4096
#: Rows whose levels are counted at a time.
_PIECE = 1 << 16


def choose_by_type(j: int, column: Column, accumulator: RowAccumulator) -> tuple[Choice, Any]:
    """The family of a column by its type, and its statistics if profiling the column has computed them."""
    if column.problem:
        raise ValueError(column.problem)
    if column.kind in ("number", "bool"):
        moments: list[Moments] = []

        def dispersion() -> tuple[float, float]:
            block = ColumnsBlock((column,), column.n_rows)
            moments.append(accumulator.accumulate(block, (X, X2), REAL, [column.name]))
            n_classes = len(accumulator.classes if accumulator.labels is None else accumulator.labels)
            return _dispersion(moments[0].select_classes(np.arange(n_classes)))

        choice = choice_by_type(column, profile_numbers(column, accumulator, dispersion))
        uses_moments = choice.family is not None and choice.family.terms == (X, X2)
        return choice, moments[0] if moments and uses_moments else None
    choice = choice_by_type(column, profile_levels(column, accumulator))
    counts = None
    if accumulator.releases_levels and (choice.family is None or choice.family.terms == (LEVEL,)):
        if choice.family is not None:
            names, codes = plain_levels(column, accumulator.n_jobs, accumulator.who)
            if accumulator.sample is not None:
                accumulator.sample.note_levels(j, codes)
            counts = accumulator.accumulate(LevelsBlock((codes,), (names,)), (LEVEL,), LEVELS, [column.name])
        column.release_levels()
    return choice, counts


def choice_by_type(column: Column, profile: ColumnProfile) -> Choice:
    """The family of a column with this profile, and why."""
    if profile.cells == 0:
        return Choice(None, "left out: every cell is missing so far", is_uninformed=True)
    if profile.distinct == 1:
        return Choice(None, "left out: every cell is the same so far", is_uninformed=True)
    families = _by_rule()
    if (text := families[0]).rule_order == 0 and (reason := text.reason_by_type(profile)):
        return Choice(text(), reason)
    if profile.kind == "level" and profile.cells >= 20 and profile.distinct >= 0.9 * profile.cells:
        name = f"left out: a name for each row ({profile.distinct} different ones{profile.numbers_text})"
        return Choice(None, name)
    if profile.numbering and profile.cells >= FEWEST_IDENTIFIERS:
        return Choice(None, f"left out: a number for each row ({profile.low:.0f} to {profile.high:.0f})")
    for family in families:
        if reason := family.reason_by_type(profile):
            # Few whole numbers that hardly repeat may be measurements, only a few of which were observed.
            few = profile.kind == "number" and profile.distinct <= MOST_LEVELS
            return Choice(
                family(),
                reason,
                None,
                column.declared,
                is_uninformed=few and profile.distinct > profile.cells / 2,
            )
    raise AssertionError(f"no family takes {profile}")


def choose_for_sparse(block: SparseBlock) -> Choice:
    """The one family of a sparse matrix, and why: zeros and ones, counts, or any numbers."""
    stored = block.data[~np.isnan(block.data)]
    low = min(0.0, float(stored.min(initial=0.0)))
    profile = ColumnProfile("sparse", len(stored), 0, low=low, is_binary=bool(np.isin(stored, (0, 1)).all()))
    family, reason = next((f, reason) for f in _by_rule() if (reason := f.reason_by_type(profile)))
    return Choice(family(), reason)


def _by_rule() -> list[Any]:
    """Families that the rules by type may choose, in the order in which they are asked."""
    families: list[Any] = [family for family in FAMILIES.values() if issubclass(family, Candidate)]
    return sorted(
        (family for family in families if family.rule_order is not None), key=lambda family: family.rule_order
    )


def profile_numbers(
    column: Column, accumulator: RowAccumulator, dispersion: Callable[[], tuple[float, float]]
) -> ColumnProfile:
    """Profile a numeric column; `dispersion` computes variance over mean within the classes when it is needed."""
    try:
        s = _native.summary(column.cells, accumulator.weight, MOST_LEVELS)
    except _native.CellError as error:
        refuse_cell(accumulator.who, [column.name], error.args, REAL)
    distinct = s.distinct
    if s.whole and max(abs(s.low), abs(s.high)) >= 2**53:  # floats cannot tell these apart
        distinct = len(column.levels.names)
    numbering = s.numbering
    if s.whole and distinct > MOST_LEVELS and not numbering and max(abs(s.low), abs(s.high)) < 2**53:
        # A range that is too wide for repeats is common for measurements: nothing follows from it.
        is_narrow = 2.0 * EXPECTED_REPEATS * (s.high - s.low) < s.cells * s.cells
        numbering = is_narrow and _are_identifiers(column, accumulator.weight)
    return ColumnProfile(
        column.kind, s.cells, distinct, s.low, s.high, s.whole, numbering, compute_dispersion=dispersion
    )


def _are_identifiers(column: Column, weight: Floats | None) -> bool:
    """True if whole numbers are all distinct, although as many draws from their distribution would repeat.

    The expected number of repeats is summed over groups of neighbouring values, in which m draws from a range of w
    whole numbers have m (m - 1) / (2 w) pairs of equal values.
    """
    x = column.numbers()
    if weight is not None:
        if (weight > 1).any():  # a row of weight 2 is two rows with the same value
            return False
        x = x[weight > 0]
    for some in (x[:_FIRST_CELLS], x):
        values = np.sort(some[~np.isnan(some)])
        if (np.diff(values) == 0).any():
            return False
    size = max(2, int(np.sqrt(len(values))))
    ends = np.append(np.arange(0, len(values), size), len(values))
    m = np.diff(ends)
    width = values[ends[1:] - 1] - values[ends[:-1]] + 1.0
    return float((m * (m - 1) / (2.0 * width)).sum()) >= EXPECTED_REPEATS


def profile_levels(column: Column, accumulator: RowAccumulator) -> ColumnProfile:
    """Profile a column of levels."""
    names, codes = plain_levels(column, accumulator.n_jobs, accumulator.who)
    weight = accumulator.weight
    rows, weights = np.zeros(len(names)), np.zeros(len(names))
    for start in range(0, len(codes), _PIECE):  # in pieces, because bincount makes wide copies
        here = codes[start : start + _PIECE] + 1  # 0 is missing
        if weight is None:
            rows += np.bincount(here, minlength=len(names) + 1)[1:]
            continue
        row_weight = weight[start : start + _PIECE]
        rows += np.bincount(here[row_weight > 0], minlength=len(names) + 1)[1:]
        weights += np.bincount(here, row_weight, len(names) + 1)[1:]
    # Rows count by weight, but a present row counts as at least one.
    cells = np.maximum(weights, rows)
    present = np.flatnonzero(rows)
    levels, cells = names[present].tolist(), cells[present]
    sizes = np.array([(len(name.split()), len(name)) for name in levels], float).reshape(-1, 2)
    words, characters = (float(mean) for mean in cells @ sizes / max(cells.sum(), 1.0))
    other = np.array([not is_number(name) for name in levels], bool)
    n_other, token_cells = int(other.sum()), float(cells[other].sum())
    n_numbers = len(levels) - n_other
    has_tokens = 0 < n_other <= MOST_TOKENS and n_numbers >= MOST_TOKENS and token_cells < 0.5 * cells.sum()
    tokens = tuple(name for name, is_token in zip(levels, other, strict=True) if is_token and has_tokens)
    return ColumnProfile(
        "level",
        float(cells.sum()),
        len(levels),
        words=words,
        characters=characters,
        numbers=n_numbers,
        tokens=tokens,
        token_cells=token_cells,
    )


def _dispersion(moments: Moments) -> tuple[float, float]:
    """Least and greatest ratio of variance to mean among the classes: about 1 for counts. One cell has no variance."""
    usable = ((moments.observed_weight > 1) | (moments.rows > 1)) & (moments.mean > 0)
    ratio = (per_row(moments.squared_error, moments)[usable] / moments.mean[usable]).tolist()
    return min(ratio, default=np.inf), max(ratio, default=np.inf)
