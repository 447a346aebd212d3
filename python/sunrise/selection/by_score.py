"""Choose the family of a numeric column by score: how well it predicts the class and describes the column.

Families are compared by their one-column conditional score, sum_i log P(y_i | x_ij, all rows but i). It does not
depend on units or on the measure, so densities, bins and point masses can be compared. Density and simplicity decide
between families that predict the class equally well, see `decide.py`. Columns are independent given the class, so all
families of all columns are tried together, as columns of one model, on a bounded sample of rows. A hash of the rows'
content draws the sample, so the order of rows does not matter.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sunrise import _native
from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise._common.threads import threads
from sunrise.data.blocks import ColumnsBlock
from sunrise.data.column import Column
from sunrise.data.frame import frame_of
from sunrise.data.profile import ColumnProfile
from sunrise.data.row_hash import mix, number_hashes
from sunrise.families.base import FAMILIES
from sunrise.families.capabilities import Candidate
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import Choice
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.decide import decide
from sunrise.selection.distinct import Cells, DistinctValues
from sunrise.selection.row_scores import RowScores, row_scores
from sunrise.selection.rules import FEWEST_IDENTIFIERS, profile_numbers
from sunrise.statistics.support import REAL
from sunrise.statistics.terms import X

#: Number of rows in the sample; most cells in the sample, so that many columns have fewer rows, but no fewer than the
#: third number; least number of rows of each class.
ROWS, CELLS, FEWEST_ROWS, ROWS_OF_CLASS = 2000, 1 << 16, 500, 20
#: Numbers of classes and of numeric columns beyond which families are chosen by type, because scoring takes some
#: milliseconds per column; classes^2 x cells beyond which families with quadratic cost in the classes (kernel
#: densities) are not candidates.
MOST_CLASSES, MOST_COLUMNS, MOST_COST = 200, 2048, 100_000_000
#: Families are chosen by type with fewer cells than this in a column, or with fewer than two classes with this many
#: rows.
FEWEST_CELLS, FEWEST_OF_CLASS = 30, 5
#: Share of distinct hashes above which the columns hashed so far tell the rows apart.
FEW_EQUAL = 0.95


def choose_by_score(
    accumulator: RowAccumulator,
    columns: dict[int, Column],
    settings: Settings,
    shortlists: dict[int, tuple[str, ...]] | None = None,
) -> dict[int, Choice]:
    """Return the choices for the numeric columns among these columns, with the scores of all candidates.

    Columns with too few cells to compare families have no choice. `shortlists` are names of candidates by column.
    """
    labelled = accumulator if accumulator.labels is None else accumulator.labelled
    n_classes = len(labelled.classes)
    if not 2 <= n_classes <= MOST_CLASSES or not _has_enough_rows(labelled):
        return {}
    profiles = {
        j: profile for j, column in columns.items() if (profile := _profile(accumulator, column)) is not None
    }
    profiles = _with_ranges(accumulator, columns, profiles)
    families = _all_candidates()
    candidates = {j: _candidates(profile, families) for j, profile in profiles.items()}
    for j, shortlist in (shortlists or {}).items():
        candidates[j] = [family for family in candidates.get(j, []) if family.name in shortlist]
    candidates = {j: own for j, own in candidates.items() if len(own) > 1}
    if not 0 < len(candidates) <= MOST_COLUMNS:
        return {}
    most = max(FEWEST_ROWS, min(ROWS, CELLS // len(candidates)))
    costs = {family.name: n_classes**family.cost_power for family in families}
    cells = most * len(candidates)
    affordable = {name for name, cost in costs.items() if cost == 1 or cost * cells <= MOST_COST}
    rows = sample_rows([columns[j].numbers for j in candidates], labelled.codes, labelled.weight, most)
    sample = _Sample.of(labelled, rows)
    x = {j: DistinctValues.of(columns[j].numbers(rows)) for j in candidates}
    names = {j: {family.name for family in own} for j, own in candidates.items()}
    choices: dict[int, Choice] = {}
    for is_few in (True, False):
        pairs = [
            Pair(family, j)
            for family in families
            if family.name in affordable
            for j, own in names.items()
            if x[j].is_few == is_few and family.name in own
        ]
        if pairs:
            choices |= _choices(pairs, sample.scores(pairs, x, settings))
    return choices


def _has_enough_rows(labelled: RowAccumulator) -> bool:
    """True if at least two classes have enough rows to compare families by."""
    rows = np.bincount(labelled.codes, _times(labelled.weight), 2)
    return int((rows >= FEWEST_OF_CLASS).sum()) >= 2


def _times(weight: Floats | None) -> Floats | None:
    """Return how often rows count: by their weight, but at least once if it is above 0."""
    return None if weight is None else np.maximum(weight, weight > 0)


def has_few_cells(accumulator: RowAccumulator, column: Column) -> bool:
    """True if a numeric column has too few cells to compare families by."""
    if column.kind != "number":
        return False
    labelled = accumulator if accumulator.labels is None else accumulator.labelled
    if not _has_enough_rows(labelled):
        return True
    observed, times = ~np.isnan(column.numbers()), _times(accumulator.weight)
    return float(observed.sum() if times is None else times[observed].sum()) < FEWEST_CELLS


class Pair(NamedTuple):
    """A candidate family of a column."""

    family: Any
    column: int


def _all_candidates() -> list[Any]:
    """Return the families that can be chosen by score, with default settings, the simplest first."""
    families: list[Any] = [
        family for family in FAMILIES.values() if issubclass(family, Candidate) and family.trait is not None
    ]
    return [family() for family in sorted(families, key=lambda family: family.complexity)]


def _candidates(profile: ColumnProfile, families: list[Any]) -> list[Any]:
    """Candidates for a column with this profile. A family accepts every cell of a column with its trait."""
    traits = profile.traits
    return [family for family in families if family.trait in traits]


def _profile(accumulator: RowAccumulator, column: Column) -> ColumnProfile | None:
    """Return the profile of a numeric column; None if its family is not chosen by score."""
    if column.kind != "number" or column.problem:
        return None
    profile = profile_numbers(column, accumulator, lambda: (float("nan"),) * 2)
    is_identifier = profile.numbering and profile.cells >= FEWEST_IDENTIFIERS
    if profile.distinct < 2 or profile.cells < FEWEST_CELLS or is_identifier:
        return None
    integers = str(column.cells.dtype).lower().startswith(("int", "uint"))
    if (
        integers and max(abs(profile.low), abs(profile.high)) >= 2**53
    ):  # floats cannot distinguish these integers
        return None
    return profile


def _with_ranges(
    accumulator: RowAccumulator, columns: dict[int, Column], profiles: dict[int, ColumnProfile]
) -> dict[int, ColumnProfile]:
    """Return the profiles with the ranges of all cells: profiling stops once the type of a column is known."""
    if not profiles:
        return {}
    block = ColumnsBlock(tuple(columns[j] for j in profiles), len(accumulator.codes))
    n_threads = threads(accumulator.n_jobs, block.shape[0] * block.shape[1])
    ranges = _native.column_ranges(block.native((X,)), REAL, accumulator.weight, n_threads)
    return {
        j: replace(profile, low=low, high=high)
        for (j, profile), low, high in zip(profiles.items(), *(own.tolist() for own in ranges), strict=True)
    }


def _choices(pairs: list[Pair], scores: RowScores) -> dict[int, Choice]:
    """Return the choices among the pairs of each column; none where fewer than two families can have the column."""
    total = scores.weight.sum(axis=0)
    means = (scores.weight * scores.of_class).sum(axis=0) / np.where(total > 0, total, np.nan)
    places: dict[int, list[int]] = {}
    for k in np.flatnonzero(np.isfinite(means)).tolist():
        places.setdefault(pairs[k].column, []).append(k)
    choices = {}
    for j, own in places.items():
        if len(own) < 2:
            continue
        names = [pairs[k].family.name for k in own]
        tables = scores.of_class[:, own], scores.of_cell[:, own]
        at, reason, plausible = decide(names, *tables, scores.of_prior, scores.weight[:, own[0]])
        by_name = dict(zip(names, means[own].tolist(), strict=True))
        shortlist = tuple(names[k] for k in np.flatnonzero(plausible | (np.arange(len(names)) == at)))
        choices[j] = Choice(FAMILIES[names[at]](), reason, scores=by_name, plausible=shortlist)
    return choices


@dataclass(frozen=True)
class _Columns:
    """Columns of a sample: their distinct values, their rows, and the cells to be scored."""

    values: dict[int, DistinctValues]
    rows: Cells
    cells: Cells

    @cached_property
    def position(self) -> dict[int, int]:
        """The position of every column."""
        return {j: at for at, j in enumerate(self.values)}


@dataclass(frozen=True)
class _Sample:
    """Classes and weights of a sample of rows."""

    accumulator: RowAccumulator

    @classmethod
    def of(cls, accumulator: RowAccumulator, rows: Positions) -> _Sample:
        """Return the sample of these rows."""
        weight = None if accumulator.weight is None else accumulator.weight[rows]
        return cls(replace(accumulator, codes=accumulator.codes[rows], weight=weight, sample=None))

    def scores(self, pairs: list[Pair], x: dict[int, DistinctValues], settings: Settings) -> RowScores:
        """Return the scores of every pair; NaN if the family cannot be fitted to the column."""
        columns = {j: x[j] for j in dict.fromkeys(pair.column for pair in pairs)}
        codes, weight = self.accumulator.codes, self.accumulator.weight
        rows = Cells(np.stack([column.cells for column in columns.values()], axis=1), codes, weight)
        is_few = all(column.is_few for column in columns.values())
        cells = Cells.distinct(list(columns.values()), codes, weight) if is_few else rows
        return self._scores(pairs, _Columns(columns, rows, cells), settings)

    def _scores(self, pairs: list[Pair], columns: _Columns, settings: Settings) -> RowScores:
        """Return the scores of pairs, which are columns of one model.

        If fitting fails, the pairs are split in halves to isolate the failing ones.
        """
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._scores_of_model(pairs, columns, settings)
        except ValueError:
            if len(pairs) == 1:
                nothing = np.full((len(columns.cells.x), 1), np.nan)
                return RowScores(nothing, nothing, nothing[:, 0], np.ones(nothing.shape))
            half = len(pairs) // 2
            parts = [self._scores(own, columns, settings) for own in (pairs[:half], pairs[half:])]
            prior = parts[0].of_prior if np.isfinite(parts[0].of_prior).all() else parts[1].of_prior
            of_class, of_cell, weight = (
                np.concatenate(both, axis=1) for both in ([p[k] for p in parts] for k in (0, 1, 3))
            )
            return RowScores(of_class, of_cell, prior, weight)

    def _scores_of_model(self, pairs: list[Pair], columns: _Columns, settings: Settings) -> RowScores:
        at = [columns.position[pair.column] for pair in pairs]
        table, cells = frame_of(columns.rows.x[:, at]), columns.cells.select(at)
        choices = [Choice(family, "candidate", block=family.name) for family, _ in pairs]
        choices = self.accumulator.learn(table.read_all(table.names), choices)
        schema = Schema(table.names, tuple(choices), is_named=False)
        stats = self.accumulator.table(table, schema, {})
        # The choice must not depend on class weights or on a class prior for other data.
        neutral = replace(settings, families=None, class_weight=None, class_prior="fitted")
        model = FittedModel(neutral, schema, stats, stats.classes)
        for part, block in zip(model.parts, stats.blocks, strict=True):
            if problem := part.family.find_problem(block):
                raise ValueError(problem.text)
        position = np.maximum(labels.locate(stats.classes, self.accumulator.classes), 0).astype(np.int32)
        batch, _ = encode_rows(table if cells.times is None else frame_of(cells.x), model)
        values = [columns.values[pair.column] for pair in pairs]
        return row_scores(LeaveOneOut(model, batch, position[cells.y], cells.weight), cells, values)


def sample_rows(columns: list[Any], codes: Codes, weight: Floats | None, most: int) -> Positions:
    """Return the positions of a sample of rows, with a minimum number per class.

    A hash of the numbers, the class and the weight of a row decides, so that the order of the rows has no effect. Only
    rows whose hash is small over the first columns, which tell most rows apart, are hashed over all columns.
    """
    present = np.arange(len(codes)) if weight is None else np.flatnonzero(weight > 0)
    if len(present) <= most:
        return present
    hashes = mix(codes[present].astype(np.uint64))
    hashes = hashes if weight is None else mix(hashes ^ number_hashes(weight[present]))
    everywhere = slice(None) if len(present) == len(codes) else present
    n_hashed, few = 0, present[:0]
    while len(few) < most and n_hashed < len(columns):
        hashes = mix(hashes ^ number_hashes(columns[n_hashed](everywhere)))
        n_hashed += 1
        few = _small_hashes(hashes, most)
    if len(few) < most:
        hashes = _tell_apart(hashes)
        few = _small_hashes(hashes, most, are_distinct=True)
    y = codes[present]
    scarce = np.bincount(y[few], minlength=y.max() + 1) < ROWS_OF_CLASS
    pool = np.union1d(few, np.flatnonzero(scarce[y])) if scarce.any() else few
    full = hashes[pool]
    for numbers in columns[n_hashed:]:
        full = mix(full ^ number_hashes(numbers(present[pool])))
    order = np.argsort(_tell_apart(full), kind="stable")
    is_few = np.isin(pool, few)[order]
    kept = is_few & (np.cumsum(is_few) <= most)
    rank = np.empty(len(pool), np.int64)
    of_class = y[pool][order]
    for c in np.unique(of_class):
        members = np.flatnonzero(of_class == c)
        rank[members] = np.arange(len(members))
    return np.sort(present[pool[order[kept | (rank < ROWS_OF_CLASS)]]])


def _small_hashes(hashes: Any, most: int, are_distinct: bool = False) -> Positions:
    """Return the positions of the smallest hashes, about twice `most`; none if many of them are equal."""
    share = 2.0 * most / len(hashes)
    small = np.arange(len(hashes)) if share >= 1.0 else np.flatnonzero(hashes < np.uint64(share * 2.0**64))
    n_distinct = len(small) if are_distinct else len(np.unique(hashes[small]))
    return small if n_distinct >= FEW_EQUAL * len(small) else small[:0]


def _tell_apart(hashes: Any) -> Any:
    """Return other hashes for equal ones: identical rows get a number each, so that each may be drawn by itself."""
    order = np.argsort(hashes, kind="stable")
    first = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order[:1]] ^ np.uint64(1)) != 0)
    copy_number = np.empty(len(hashes), np.uint64)
    copy_number[order] = np.arange(len(hashes)) - np.repeat(first, np.diff(np.append(first, len(hashes))))
    return mix(hashes ^ mix(copy_number))
