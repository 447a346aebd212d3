"""Choose the family of a numeric column by score: the candidate that predicts the class best.

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

#: Number of rows in the sample; least number of rows of each class; number of numeric columns beyond which families
#: are chosen by type, because scoring takes some milliseconds per column.
ROWS, ROWS_OF_CLASS, MOST_COLUMNS = 2000, 20, 256
#: Number of classes beyond which families are chosen by type; classes^2 x columns beyond which families with quadratic
#: cost in the classes (kernel densities) are not candidates.
MOST_CLASSES, MOST_COST = 200, 50_000
#: A simpler family is preferred if its score is at most this much (nats per row) below the best score.
CLOSE = 5e-4
#: With fewer cells than this, the choice is marked as uninformed.
FEW_CELLS = 30


def choose_by_score(
    accumulator: Accumulator, columns: dict[int, Column], settings: Settings
) -> dict[int, Choice]:
    """Return the choices for the numeric columns among these columns, with the scores of all candidates."""
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
    tried_columns = [columns[j] for j in tried]
    rows = sample_rows([column.numbers for column in tried_columns], labelled.codes, labelled.weight, ROWS)
    sample = _Sample.of(labelled, tried_columns, rows)
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
    """Return the families that can be chosen by score, with default settings, the simplest first."""
    families: list[Any] = [
        family for family in FAMILIES.values() if issubclass(family, Candidate) and family.trait is not None
    ]
    return [family() for family in sorted(families, key=lambda family: family.complexity)]


def _candidates(profile: ColumnProfile, families: list[Any]) -> list[Any]:
    """Candidates for a column with this profile. A family accepts every cell of a column with its trait."""
    traits = profile.traits
    return [family for family in families if family.trait in traits]


def _profile(accumulator: Accumulator, column: Column) -> ColumnProfile | None:
    """Return the profile of a numeric column; None if its family is not chosen by score."""
    if column.kind != "number" or column.problem:
        return None
    profile = profile_numbers(column, accumulator, lambda: (float("nan"),) * 2)
    if profile.distinct < 2 or (profile.numbering and profile.cells >= 50):
        return None
    integers = str(column.cells.dtype).lower().startswith(("int", "uint"))
    if (
        integers and max(abs(profile.low), abs(profile.high)) >= 2**53
    ):  # floats cannot distinguish these integers
        return None
    x = column.numbers() if accumulator.weight is None else column.numbers()[accumulator.weight > 0]
    # Profiling stops once the type is known, but the possible families depend on the range of all cells.
    return replace(profile, low=float(np.nanmin(x)), high=float(np.nanmax(x)))


def _best(scores: dict[str, float], profile: ColumnProfile) -> Choice:
    """Return the simplest family whose score is close to the best score."""
    best = max(scores.values())
    name = next(name for name in scores if scores[name] >= best - CLOSE)
    others = sorted((other for other in scores if other != name), key=lambda other: -scores[other])
    reason = f"log loss {-scores[name]:.3f} alone, {others[0]} {-scores[others[0]]:.3f}"
    return Choice(FAMILIES[name](), reason, is_uninformed=profile.cells < FEW_CELLS, scores=scores)


@dataclass(frozen=True)
class _Sample:
    """A sample of rows of numeric columns."""

    x: Floats
    accumulator: Accumulator

    @classmethod
    def of(cls, accumulator: Accumulator, columns: list[Column], rows: Positions) -> _Sample:
        """Return the sample of these rows and columns."""
        x = np.stack([column.numbers(rows) for column in columns], axis=1)
        weight = None if accumulator.weight is None else accumulator.weight[rows]
        return cls(x, replace(accumulator, codes=accumulator.codes[rows], weight=weight, sample=None))

    def scores(self, pairs: list[tuple[Any, int]], settings: Settings) -> list[float]:
        """Return the mean score of every (family, column) pair; NaN if the family cannot be fitted to the column.

        All pairs are columns of one model. If fitting fails, the pairs are split in halves to isolate the failing ones.
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
        # The choice must not depend on class weights or on a class prior for other data.
        neutral = replace(settings, families=None, class_weight=None, class_prior="fitted")
        model = FittedModel(neutral, schema, stats, stats.classes)
        for part, block in zip(model.parts, stats.blocks, strict=True):
            if problem := part.family.find_problem(block):
                raise ValueError(problem.text)
        position = np.maximum(labels.locate(stats.classes, self.accumulator.classes), 0).astype(np.int32)
        batch, _ = encode_rows(table, model)
        codes = position[self.accumulator.codes]
        return LeaveOneOut(model, batch, codes, self.accumulator.weight).column_scores()


def sample_rows(columns: list[Any], codes: Codes, weight: Floats | None, most: int) -> Positions:
    """Return the positions of a sample of rows, with a minimum number per class.

    A hash of the numbers, the class and the weight of a row decides, so that the order of the rows has no effect.
    """
    present = np.arange(len(codes)) if weight is None else np.flatnonzero(weight > 0)
    if len(present) <= most:
        return present
    hashes = _update_hash(np.zeros(len(present), np.uint64), codes[present].astype(np.float64))
    hashes = hashes if weight is None else _update_hash(hashes, weight[present])
    for numbers in columns:
        hashes = _update_hash(hashes, numbers(present))
    # Identical rows get a number each, which is hashed, too: each is drawn with the same probability.
    order = np.argsort(hashes, kind="stable")
    first = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order[:1]] ^ np.uint64(1)) != 0)
    copy_number = np.empty(len(hashes))
    copy_number[order] = np.arange(len(hashes)) - np.repeat(first, np.diff(np.append(first, len(hashes))))
    order = np.argsort(_update_hash(hashes, copy_number), kind="stable")
    kept = np.zeros(len(present), bool)
    kept[order[:most]] = True
    rank = np.empty(len(present), np.int64)
    of_class = codes[present][order]
    for c in np.unique(of_class):
        members = order[of_class == c]
        rank[members] = np.arange(len(members))
    return present[kept | (rank < ROWS_OF_CLASS)]


def _update_hash(hashes: Any, x: Floats) -> Any:
    """Return the hashes of the rows, updated with one number x per row."""
    x = np.where(np.isnan(x), np.nan, x + 0.0)  # one bit pattern for NaN, one for zero
    hashes = (hashes ^ x.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return hashes ^ (hashes >> np.uint64(29))
