"""Joint columns: what two columns say together beyond what each says alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.families.base import Family
from sunrise.families.left_out import CellsLeftOut
from sunrise.families.pair_reader import PAIRS, Sides, split_pair
from sunrise.forms.table import Table
from sunrise.statistics.counts import Counts
from sunrise.statistics.support import LEVELS, Support
from sunrise.statistics.terms import LEVEL

#: Additive smoothing of the probabilities of single columns.
ALPHA = 1.0


class PairCounts(NamedTuple):
    """Counts of pairs of levels (a, b) in class c, with the counts of each level alone; arrays are broadcast."""

    both: Floats
    first: Floats
    second: Floats
    total: Floats
    #: Numbers of levels of the two columns.
    n_first: Any
    n_second: Any

    @property
    def strength(self) -> Any:
        """The number of rows that independence is worth: the degrees of freedom of the table."""
        return np.maximum((self.n_first - 1) * (self.n_second - 1), 1)

    def log_lift(self, removed: Any = 0.0) -> Floats:
        """Return log p(a, b | c) / (p(a | c) p(b | c)), drawn to 0, without `removed` rows of the pair.

        >>> independent = PairCounts(np.array(25.0), np.array(50.0), np.array(50.0), np.array(100.0), 2, 2)
        >>> float(independent.log_lift().round(3)), float(independent._replace(both=np.array(40.0)).log_lift().round(3))
        (0.0, 0.466)
        """
        m, total = self.strength, self.total - removed
        first = (self.first - removed + ALPHA) / (total + self.n_first * ALPHA)
        second = (self.second - removed + ALPHA) / (total + self.n_second * ALPHA)
        both = np.maximum(self.both - removed, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):  # pairs that were never fitted
            return np.asarray(np.log((both / (first * second) + m) / (np.maximum(total, 0.0) + m)))

    def log_lift_of_new_pairs(self) -> Floats:
        """Return the same for a pair that never occurred, though both levels did."""
        return np.asarray(np.log(self.strength / (self.total + self.strength)))


class JointParams(NamedTuple):
    """Log lift of every pair that occurred, classes x pairs of levels, and of all others, classes x columns."""

    counts: Counts
    by_pair: PairCounts
    log_lift: Floats
    log_other: Floats
    known: Mask


@dataclass(frozen=True)
class Joint(Family, registered=False):
    """Two columns together: the log lift of a pair of levels over independence given the class.

    With counts n_abc, n_ac and n_bc of the rows of class c that have both cells, and their number n_c,

        I_c(a, b) = log [(n_abc / (p_ac p_bc) + m) / (n_c + m)]
        p_ac = (n_ac + 1) / (n_c + K_a),  m = (K_a - 1)(K_b - 1)

    A missing cell and an unseen level add 0. The columns themselves stay in the model, so a pair adds only what they
    say beyond each alone. `pairs` names the two columns of every pair, with the edges of the bins of numbers.
    """

    name = "joint"
    terms = (LEVEL,)
    reader = PAIRS
    #: Lifts are ratios of probabilities, not probabilities of cells.
    generative: ClassVar[bool] = False
    pairs: tuple[Sides, ...] = ()

    @property
    def support(self) -> Support:
        """Codes of pairs."""
        return LEVELS

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The columns and the edges of their bins."""
        return self.name, self.pairs

    def select_columns(self, columns: list[int]) -> Self:
        """Return the family of some of the pairs."""
        return self.with_settings(pairs=tuple(self.pairs[j] for j in columns))

    def params(self, stats: Counts, class_weight: Floats) -> JointParams:
        """Log lifts of the pairs."""
        by_pair, column = _pair_counts(stats), stats.column
        total, sizes = stats.by_column(stats.weight), _sizes(by_pair, stats)
        of_column = PairCounts(np.zeros(1), np.zeros(1), np.zeros(1), total, *sizes)
        known = stats.by_column(stats.rows).sum(axis=0) > 0
        log_lift = np.where(known[column], by_pair.log_lift(), 0.0)
        return JointParams(stats, by_pair, log_lift, of_column.log_lift_of_new_pairs(), known)

    def form(self, params: JointParams) -> Table:
        """Return a look-up table of log lifts by pair of levels."""
        return _table(params.counts, params.log_lift, np.where(params.known, params.log_other, 0.0))

    def left_out(self, stats: Counts, params: JointParams, row_weight: Floats | None) -> CellsLeftOut:
        """Subtract the row from all counts of its class; a look-up table if rows of a class weigh the same."""
        form = None
        if row_weight is not None:
            log_lift = np.where(stats.rows > 0, params.by_pair.log_lift(row_weight[:, None]), np.nan)
            form = _table(stats, log_lift, np.full_like(params.log_other, np.nan))

        def score(x: Floats, c: Codes, j: Positions, w: Floats) -> Floats:
            at = stats.offsets[j] + np.minimum(
                x.astype(np.intp), np.maximum(np.diff(stats.offsets)[j] - 1, 0)
            )
            fitted = (x < np.diff(stats.offsets)[j]) & (stats.rows[c, at] > 0)
            counts = params.by_pair
            both, first, second, total = (a[c, at] for a in counts[:4])
            own = PairCounts(both, first, second, total, counts.n_first[at], counts.n_second[at])
            return np.where(fitted, own.log_lift(w), np.nan)

        return CellsLeftOut(score, form)

    def sample_parameters(
        self, stats: Counts, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> JointParams:
        """Return the log lifts n times: they are ratios, which have no posterior of their own here."""
        params = self.params(stats, class_weight)
        log_lift, log_other = (np.tile(a, (n, 1)) for a in (params.log_lift, params.log_other))
        return params._replace(log_lift=log_lift, log_other=log_other)

    def without_rare(self, stats: Counts, min_rows: int) -> Counts:
        """The statistics without pairs of levels that fewer rows have."""
        return stats.without_rare(min_rows)

    def level_names(self, stats: Counts) -> list[Any]:
        """The pairs of levels of every pair of columns."""
        return [[" and ".join(split_pair(name)) for name in stats.levels(j)] for j in range(stats.n_columns)]

    def describe(self, params: JointParams) -> list[dict[str, Floats]]:
        """Return the log lift of every pair of levels, per class."""
        counts = params.counts
        return [
            {
                " and ".join(split_pair(name)): params.log_lift[:, counts.offsets[j] + k]
                for k, name in enumerate(counts.levels(j).tolist())
            }
            for j in range(counts.n_columns)
        ]


def _pair_counts(stats: Counts) -> PairCounts:
    """Return the counts of pairs of levels, with those of each level alone, classes x pairs of levels."""
    pairs = [split_pair(name) for name in stats.codes.tolist()]
    column = stats.column
    marginals: list[Floats] = []
    sizes: list[Integers] = []
    for side in (0, 1):
        keys: dict[tuple[int, str], int] = {}
        at = np.array(
            [
                keys.setdefault((j, pair[side]), len(keys))
                for j, pair in zip(column.tolist(), pairs, strict=True)
            ],
            np.intp,
        )
        sums = np.array([np.bincount(at, weight, len(keys)) for weight in stats.weight], float)
        marginals.append(sums[:, at])
        n_levels = np.bincount(np.array([j for j, _ in keys], np.intp), minlength=stats.n_columns)
        sizes.append(n_levels[column])
    total = stats.by_column(stats.weight)[:, column]
    (first, second), (n_first, n_second) = marginals, sizes
    return PairCounts(stats.weight, first, second, total, n_first, n_second)


def _sizes(by_pair: PairCounts, stats: Counts) -> tuple[Integers, Integers]:
    """Return the numbers of levels of the two columns of every pair; 1 for a pair that never occurred."""
    first = np.minimum(stats.offsets[:-1], max(len(stats.codes) - 1, 0))
    empty = np.diff(stats.offsets) == 0
    if len(stats.codes) == 0:
        return np.ones(stats.n_columns, np.int64), np.ones(stats.n_columns, np.int64)
    return np.where(empty, 1, by_pair.n_first[first]), np.where(empty, 1, by_pair.n_second[first])


def _table(stats: Counts, values: Floats, other: Floats) -> Table:
    """Return a look-up table: one score per class for each pair of levels in the training rows.

    `other` scores a pair whose two levels are known but never occurred together. An unseen level scores 0.
    """
    column, n_columns = stats.column, stats.n_columns
    entries = np.zeros((len(stats.codes) + 2 * n_columns, len(values)))
    entries[np.arange(len(stats.codes)) + 2 * column] = values.T
    entries[stats.offsets[1:] + 2 * np.arange(n_columns)] = other.T
    positions = np.arange(len(stats.codes)) - stats.offsets[column]

    def names() -> list[str]:
        return [" and ".join(split_pair(name)) for name in stats.codes.tolist()]

    return Table(stats.offsets, positions, np.diff(stats.offsets) + 1, entries, names=names)
