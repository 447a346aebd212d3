"""Which family a numeric column gets if several may fit: the one that predicts the class best.

Families are compared by their one-column conditional score, sum_i log P(y_i | x_ij, all rows but i). It does not
depend on units or on the measure, so densities, bins and point masses can be compared. Columns are independent given
the class, so all columns are tried together, one family after the other, on a bounded sample of rows. A hash of the
rows' content draws the sample, so the order of rows does not matter.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.data.column import Column
from sunrise.data.frame import frame_of
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import FAMILIES
from sunrise.families.capabilities import Candidate
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.accumulate import Accumulator
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Choice, Schema
from sunrise.model.settings import Settings
from sunrise.selection.rules import profile_numbers

#: Rows that are scored, of each class at least; and columns of numbers beyond which all go by their types, because
#: trying takes some milliseconds for each.
ROWS, ROWS_OF_CLASS, MOST_COLUMNS = 2000, 20, 256
#: Classes beyond which all columns go by their types, too; and classes squared times columns beyond which families
#: that cost as much (kernel densities) take too long to be tried.
MOST_CLASSES, MOST_COST = 200, 50_000
#: A family that is worse by no more than this, in nats a row, and comes before the best one, is taken in its place.
CLOSE = 5e-4
#: Cells that are too few to choose by.
FEW_CELLS = 30


def choose_by_score(
    accumulator: Accumulator, columns: dict[int, Column], settings: Settings
) -> dict[int, Choice]:
    """The families of the numeric ones among these columns, with the scores of all candidates."""
    labelled = accumulator if accumulator.labels is None else accumulator.labelled
    n_classes = len(labelled.classes)
    profiles = {
        j: profile for j, column in columns.items() if (profile := _profile(accumulator, column)) is not None
    }
    families = _all_candidates()
    candidates = {j: _candidates(profile, families) for j, profile in profiles.items()}
    candidates = {j: own for j, own in candidates.items() if len(own) > 1}
    if not 0 < len(candidates) <= MOST_COLUMNS or not 2 <= n_classes <= MOST_CLASSES:
        return {}
    tried = list(candidates)
    own_columns = [columns[j] for j in tried]
    rows = sample_rows([column.numbers for column in own_columns], labelled.codes, labelled.weight, ROWS)
    sample = _Sample.of(labelled, own_columns, rows)
    costs = {family.name: n_classes**family.cost_power for family in families}
    affordable = {name for name, cost in costs.items() if cost == 1 or cost * len(tried) <= MOST_COST}
    pairs = [
        (family, at)
        for family in families
        if family.name in affordable
        for at, j in enumerate(tried)
        if family in candidates[j]
    ]
    scores: dict[int, dict[str, float]] = {j: {} for j in tried}
    for (family, at), score in zip(pairs, sample.scores(pairs, settings), strict=True):
        if np.isfinite(score):
            scores[tried[at]][family.name] = score
    return {j: _best(scores[j], profiles[j]) for j in tried if len(scores[j]) > 1}


def _all_candidates() -> list[Any]:
    """Default families that may be chosen by score, the simplest first."""
    families: list[Any] = [
        family for family in FAMILIES.values() if issubclass(family, Candidate) and family.trait is not None
    ]
    return [family() for family in sorted(families, key=lambda family: family.complexity)]


def _candidates(profile: ColumnProfile, families: list[Any]) -> list[Any]:
    """Candidates for a column with this profile. A family accepts every cell of a column with its trait."""
    traits = profile.traits
    return [family for family in families if family.trait in traits]


def _profile(accumulator: Accumulator, column: Column) -> ColumnProfile | None:
    """The profile of a numeric column; None if its family is not chosen by score."""
    if column.kind != "number" or column.problem:
        return None
    profile = profile_numbers(column, accumulator, lambda: (float("nan"),) * 2)
    if profile.distinct < 2 or (profile.numbering and profile.cells >= 50):
        return None
    integers = str(column.cells.dtype).lower().startswith(("int", "uint"))
    if integers and max(abs(profile.low), abs(profile.high)) >= 2**53:  # floats cannot tell these apart
        return None
    x = column.numbers() if accumulator.weight is None else column.numbers()[accumulator.weight > 0]
    # Profiling stops early once the type is known; which families are possible depends on every cell.
    return replace(profile, low=float(np.nanmin(x)), high=float(np.nanmax(x)))


def _best(scores: dict[str, float], profile: ColumnProfile) -> Choice:
    best = max(scores.values())
    name = next(name for name in scores if scores[name] >= best - CLOSE)
    others = sorted((other for other in scores if other != name), key=lambda other: -scores[other])
    reason = f"log loss {-scores[name]:.3f} alone, {others[0]} {-scores[others[0]]:.3f}"
    return Choice(FAMILIES[name](), reason, is_uninformed=profile.cells < FEW_CELLS, scores=scores)


@dataclass(frozen=True)
class _Sample:
    """Some rows of numeric columns."""

    x: Floats
    accumulator: Accumulator

    @classmethod
    def of(cls, accumulator: Accumulator, columns: list[Column], rows: Positions) -> _Sample:
        """Read some rows of these columns."""
        x = np.stack([column.numbers(rows) for column in columns], axis=1)
        weight = None if accumulator.weight is None else accumulator.weight[rows]
        return cls(x, replace(accumulator, codes=accumulator.codes[rows], weight=weight, sample=None))

    def scores(self, pairs: list[tuple[Any, int]], settings: Settings) -> list[float]:
        """Mean conditional score of every pair of a family and a column; NaN where the family has none.

        All pairs are scored as columns of one model. If that fails, the pairs are split until the failing ones are
        found.
        """
        if not pairs:
            return []
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._scores(pairs, settings)
        except ValueError:
            if len(pairs) == 1:
                return [float("nan")]
            half = len(pairs) // 2
            return self.scores(pairs[:half], settings) + self.scores(pairs[half:], settings)

    def _scores(self, pairs: list[tuple[Any, int]], settings: Settings) -> list[float]:
        table = frame_of(self.x[:, [at for _, at in pairs]])
        choices = [Choice(family, "candidate", block=family.name) for family, _ in pairs]
        choices = self.accumulator.learn(table.read_all(table.names), choices)
        schema = Schema(table.names, tuple(choices), is_named=False)
        stats = self.accumulator.table(table, schema, {})
        # Which family a column has does not depend on the class frequencies expected elsewhere.
        own = replace(settings, families=None, class_weight=None, class_prior="fitted")
        model = FittedModel(own, schema, stats, stats.classes)
        for part, block in zip(model.parts, stats.blocks, strict=True):
            if problem := part.family.find_problem(block):
                raise ValueError(problem.text)
        position = np.maximum(labels.locate(stats.classes, self.accumulator.classes), 0).astype(np.int32)
        batch, _ = encode_rows(table, model)
        codes = position[self.accumulator.codes]
        return LeaveOneOut(model, batch, codes, self.accumulator.weight).column_scores()


def sample_rows(columns: list[Any], codes: Codes, weight: Floats | None, most: int) -> Positions:
    """The places of rows to look at, chosen by what they hold: numbers, class and weight; some of every class."""
    there = np.arange(len(codes)) if weight is None else np.flatnonzero(weight > 0)
    if len(there) <= most:
        return there
    found = _mixed(np.zeros(len(there), np.uint64), codes[there].astype(np.float64))
    found = found if weight is None else _mixed(found, weight[there])
    for numbers in columns:
        found = _mixed(found, numbers(there))
    # Rows that are the same are numbered, so that one is as likely to be drawn as any other.
    order = np.argsort(found, kind="stable")
    first = np.flatnonzero(np.diff(found[order], prepend=found[order[:1]] ^ np.uint64(1)) != 0)
    times = np.empty(len(found))
    times[order] = np.arange(len(found)) - np.repeat(first, np.diff(np.append(first, len(found))))
    order = np.argsort(_mixed(found, times), kind="stable")
    kept = np.zeros(len(there), bool)
    kept[order[:most]] = True
    rank = np.empty(len(there), np.int64)
    of_class = codes[there][order]
    for c in np.unique(of_class):
        own = order[of_class == c]
        rank[own] = np.arange(len(own))
    return there[kept | (rank < ROWS_OF_CLASS)]


def _mixed(found: Any, x: Floats) -> Any:
    """Numbers for rows that depend on what they were and on x."""
    x = np.where(np.isnan(x), np.nan, x + 0.0)  # one NaN, one zero
    found = (found ^ x.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return found ^ (found >> np.uint64(29))
