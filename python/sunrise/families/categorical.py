"""Categories: x | c ~ Categorical(theta), theta ~ Dirichlet(alpha) per column, and the estimator CategoricalNB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.data.levels import natural
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate
from sunrise.families.left_out import CellsLeftOut
from sunrise.families.readers import LEVELS as READ_LEVELS
from sunrise.families.readers import NUMBERS
from sunrise.families.smoothing import Alpha, Smoothed
from sunrise.forms.table import Table
from sunrise.numerics.conjugate import Dirichlet
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.numerics.special import log, log_rising, times_log
from sunrise.statistics.base import without_dust
from sunrise.statistics.counts import Counts
from sunrise.statistics.support import LEVELS, Support
from sunrise.statistics.terms import LEVEL

#: The most cells a table of all codes may have when it is asked for as an attribute.
LARGEST_TABLE = 10_000_000


class CategoricalParams(NamedTuple):
    """Log probability of every level seen, of any other possible one, and of an unseen one."""

    counts: Counts
    sizes: Integers
    log_level: Floats
    log_other: Floats
    log_unseen: Floats
    known: Mask


@dataclass(frozen=True)
class Categorical(Smoothed, Candidate, Family):
    """Categories: x | c ~ Categorical(theta), theta ~ Dirichlet(alpha).

    Levels may be called anything; the possible ones are those seen in any class and those declared. With `coded`
    cells are codes 0, 1, 2, ... instead, and all below the largest are possible. `min_categories` is the least number
    of them. A level that is not among them is unseen: "ignore" leaves its factor out, "reserve" keeps the
    posterior mass of one more cell for it, "error" refuses it; None is the model's own setting. A missing cell is
    left out, or with missing="level" a level of its own.
    """

    name = "categorical"
    terms = (LEVEL,)
    complexity = 60
    trait = "few whole numbers"
    rule_order = 2
    alpha: Any = 1.0
    min_categories: Any = None
    unseen: str | None = None
    missing: str = "ignore"
    coded: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unseen not in (None, "ignore", "reserve", "error"):
            raise ValueError(f'unseen is "ignore", "reserve" or "error", not {self.unseen!r}')
        if self.missing not in ("ignore", "level"):
            raise ValueError(f'missing is "ignore" or "level", not {self.missing!r}')
        # Codes are read as they are, levels by name.
        object.__setattr__(self, "reader", NUMBERS if self.coded else READ_LEVELS)

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Strings and categories, and whole numbers of which there are few."""
        if profile.kind == "level":
            return f"{profile.distinct} categories{profile.numbers_text}"
        return (
            f"{profile.distinct} different whole numbers"
            if profile.whole and profile.distinct <= 20
            else None
        )

    @property
    def support(self) -> Support:
        """Level codes."""
        return LEVELS

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """Whether missing cells were counted shapes the statistics, too."""
        return *super().statistics_key, self.missing

    def check(self, n_columns: int, n_classes: int | None = None) -> None:
        """Refuse settings that do not fit the columns."""
        super().check(n_columns, n_classes)
        if self.min_categories is None:
            return
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (n_columns,):
            raise ValueError(
                f"'min_categories' should have shape ({n_columns},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )

    def _alphas(self, stats: Counts) -> tuple[Floats, Floats]:
        """The pseudo-counts of every level (classes or 1 x levels) and of any other cell of every column."""
        alpha = Alpha(0.0) if self.estimate == "mle" else self.alpha
        value = np.asarray(alpha.value, dtype=float)
        other = np.broadcast_to(
            value, (*value.shape[:-1], stats.n_columns) if value.ndim else stats.n_columns
        )
        other = other.reshape(-1, stats.n_columns)
        level = other[:, stats.column]
        if alpha.levels is not None:
            own = [alpha.levels.get(str(code), alpha.value) for code in stats.codes]
            level = np.array(own, dtype=float)[None, :]
        return level, other

    def _in_order(self, stats: Counts, j: int) -> list[int]:
        """The levels of a column in the order in which people have them."""
        levels = stats.levels(j)
        return sorted(range(len(levels)), key=lambda k: natural(str(levels[k])))

    def _dirichlet(self, stats: Counts, j: int, counts: Floats) -> Dirichlet:
        """Counts with their alphas, of the levels in their order, and of an unseen one where mass is reserved."""
        level, other = self._alphas(stats)
        first, order = stats.offsets[j], self._in_order(stats, j)
        cells = (
            counts[:, first : first + len(order)][:, order] + level[:, first : first + len(order)][:, order]
        )
        if self.unseen == "reserve":
            cells = np.concatenate([cells, np.broadcast_to(other[:, j : j + 1], (len(cells), 1))], axis=1)
        return Dirichlet(cells)

    def posterior_of(self, stats: Counts, j: int, class_weight: Floats) -> Dirichlet:
        """Of the levels in their order (those of `described`), and of an unseen one where mass is reserved for it."""
        return self._dirichlet(stats, j, stats.weight)

    def prior_of(self, stats: Counts, j: int) -> Dirichlet:
        """Alpha for every level, and for an unseen one where mass is reserved for it."""
        return self._dirichlet(stats, j, np.zeros_like(stats.weight)).common

    def _rest(self, stats: Counts) -> Integers:
        """How many cells of a column may be there that no row has shown: other codes, and an unseen level."""
        least = 0 if self.min_categories is None else np.asarray(self.min_categories)
        seen = np.diff(stats.offsets)
        possible = stats.top + 1 if self.coded else seen
        return np.asarray(np.maximum(possible, least) - seen + (self.unseen == "reserve"))

    def log_evidence(self, stats: Counts, class_weight: Floats | None = None) -> Floats:
        """Dirichlet-multinomial, from the counts of the levels."""
        level, other = self._alphas(stats)
        total = stats.by_column(level + np.zeros_like(stats.weight)) + other * self._rest(stats)
        if self.estimate == "mle":
            return np.full(total.shape, np.nan)
        empty = stats.by_column((level <= 0) + np.zeros_like(stats.rows)) > 0
        proper = ~(empty | ((other <= 0) & (self._rest(stats) > 0)))
        with np.errstate(invalid="ignore"):
            rises = stats.by_column(log_rising(level + np.zeros_like(stats.weight), stats.weight))
            found = rises - log_rising(total, stats.by_column(stats.weight))
        return np.where(proper, found, np.nan)

    def log_prior_density(self, stats: Counts, class_weight: Floats) -> float:
        """The log-likelihood of the pseudo-counts."""
        if self.estimate == "mle":
            return 0.0
        level, other = self._alphas(stats)
        above, params = 1.0 if self.estimate == "map" else 0.0, self.params(stats, class_weight)
        rest = times_log(self._rest(stats) * (other - above), params.log_other)
        return float(times_log(level - above, params.log_level).sum() + rest.sum())

    def counts_of_counts(self, stats: Counts) -> CountsOfCounts:
        """Every class of a column is a draw of its levels."""
        totals = stats.by_column(stats.weight)
        cells = np.broadcast_to(np.diff(stats.offsets) + self._rest(stats), totals.shape).astype(float)
        return CountsOfCounts(stats.weight[stats.weight > 0], totals.ravel(), cells.ravel())

    def params(self, stats: Counts, class_weight: Floats) -> CategoricalParams:
        """Log of the probabilities by the estimate, from the counts."""
        rest = self._rest(stats)
        sizes = np.asarray(np.diff(stats.offsets) + rest - (self.unseen == "reserve"), dtype=np.int64)
        level, other = self._alphas(stats)
        weight, column = stats.weight + level, stats.column
        other = np.broadcast_to(other, (len(stats.rows), stats.n_columns))
        if self.estimate == "map":
            # Where the density has no mode inside, it grows most towards the cells with most.
            most = np.maximum(stats.by_column(weight, np.maximum), np.where(rest > 0, other, 0.0))
            corner = weight == most[:, column], other == most
            weight, other = np.maximum(weight - 1.0, 0.0), np.maximum(other - 1.0, 0.0)
            outside = stats.by_column(weight) + other * rest == 0
            weight = np.where(outside[:, column], corner[0], weight)
            other = np.where(outside, corner[1], other)
        total = stats.by_column(weight) + other * rest
        # Where nothing is known at all, every cell has the same probability.
        blank = total == 0
        log_total = log(np.where(blank, np.maximum(sizes + (self.unseen == "reserve"), 1), total))
        log_level = log(np.where(blank[:, column], 1.0, weight)) - log_total[:, column]
        log_other = log(np.where(blank, 1.0, other)) - log_total
        log_unseen = log_other if self.unseen == "reserve" else np.zeros_like(log_other)
        known = stats.by_column(stats.rows).sum(axis=0) > 0
        return CategoricalParams(stats, sizes, log_level, log_other, log_unseen, known)

    def left_out(self, stats: Counts, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """Look up the share of a level with one cell less."""
        form = None if row_weight is None else self._form_without(stats, row_weight)
        return CellsLeftOut(lambda x, c, j, w: self._score_without(stats, x, c, j, w), form)

    def _score_without(self, stats: Counts, x: Floats, c: Codes, j: Positions, w: Floats) -> Floats:
        """Log share of the level of each cell without the cell; NaN where its class never had the level."""
        place, n = self.form(self.params(stats, np.ones(1))).level_positions(x, j), np.diff(stats.offsets)[j]
        if len(stats.codes) == 0:
            return np.full(len(x), np.nan)
        at = np.minimum(stats.offsets[j] + np.minimum(place, np.maximum(n - 1, 0)), len(stats.codes) - 1)
        return np.where(place < n, self._without(stats, c, at, j, w), np.nan)

    def _form_without(self, stats: Counts, w: Floats) -> Table:
        """The log shares of all levels, each with one cell less; `w` is the weight of a cell of each class."""
        params = self.params(stats, np.ones(1))
        every = np.arange(len(stats.codes))
        c = np.arange(len(stats.rows), dtype=np.int32)[:, None]
        nowhere = np.full_like(params.log_other, np.nan)
        log_level = self._without(stats, c, every[None], stats.column[None], w[:, None])
        return self.form(params._replace(log_level=log_level, log_other=nowhere, log_unseen=nowhere))

    def _without(self, stats: Counts, c: Codes, at: Positions, j: Positions, w: Floats) -> Floats:
        """Log of the shares of some levels of their columns, without a cell of weight w each."""
        level, other = self._alphas(stats)
        level, other = (np.broadcast_to(a, (len(stats.rows), a.shape[1])) for a in (level, other))
        above = 1.0 if self.estimate == "map" else 0.0

        def taken(cells: Floats) -> Floats:
            return np.maximum(cells - above, 0.0)

        rest, own, alpha = self._rest(stats), stats.weight[c, at], level[c, at]
        total = stats.by_column(taken(stats.weight + level)) + taken(other) * rest
        rows = stats.rows[c, at] - (w > 0)
        after = np.where(rows > 0, own - w, 0.0) + alpha
        left = taken(after)
        total_left = without_dust(total[c, j] - taken(own + alpha) + left, total[c, j])
        # A class that has nothing left of a column gives all of its cells the same share.
        blank = -np.log(np.maximum(np.diff(stats.offsets) + rest, 1))[j]
        cells = np.where(total_left > 0, log(left) - log(np.where(total_left > 0, total_left, 1.0)), blank)
        if above:
            outside = np.broadcast_to(total_left <= 0, cells.shape)
            numbers = [np.broadcast_to(a, cells.shape) for a in (c, at, j, after)]
            for where in zip(*np.nonzero(outside), strict=True):
                cells[where] = self._corner(stats, *(a[where] for a in numbers))
        held = (rows >= 0) & (own - w >= -1e-9 * own)
        return np.where(held, cells, np.nan)

    def _corner(self, stats: Counts, c: int, at: int, j: int, after: float) -> float:
        """Log of the share of a level once this is left of it, where the mode lies in the corner of those with most."""
        level, other = self._alphas(stats)
        here = slice(stats.offsets[j], stats.offsets[j + 1])
        cells = stats.weight[c, here] + level[min(c, len(level) - 1), here]
        cells[at - stats.offsets[j]] = after
        rest, more = self._rest(stats)[j], other[min(c, len(other) - 1), j]
        most = max(cells.max(), more if rest else 0.0)
        return float(-np.log((cells == most).sum() + rest * (more == most))) if after == most else -np.inf

    def form(self, params: CategoricalParams) -> Table:
        """ColumnProfile the level up."""
        counts = params.counts
        n_columns, n_levels, column = counts.n_columns, len(counts.codes), counts.column
        values = np.zeros((n_levels + 2 * n_columns, len(params.log_level)))
        values[np.arange(n_levels) + 2 * column] = np.where(params.known[column], params.log_level, 0.0).T
        after = counts.offsets[1:] + 2 * np.arange(n_columns)
        values[after] = np.where(params.known, params.log_other, 0.0).T
        values[after + 1] = np.where(params.known, params.log_unseen, 0.0).T
        # Levels that have names are known to the engines by their places.
        codes = np.arange(n_levels) - counts.offsets[column] if counts.is_named else counts.codes
        refuse = self.unseen == "error"
        return Table(
            counts.offsets, codes, params.sizes, values, refuse, [str(level) for level in counts.codes]
        )

    def outcomes(self, params: CategoricalParams) -> list[Floats]:
        """The levels, and together those that are possible but were never seen."""
        found, counts = [], params.counts
        seen = np.diff(counts.offsets)
        rest = (params.sizes - seen) + (self.unseen == "reserve")
        for j, (first, n) in enumerate(zip(counts.offsets, seen, strict=False)):
            others = params.log_other[:, j : j + 1] + log(rest[j])
            found.append(np.concatenate([params.log_level[:, first : first + n], others], axis=1))
        return found

    def sample_parameters(
        self, stats: Counts, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> CategoricalParams:
        """Probabilities from their posterior: gamma numbers, each divided by the sum of its column's."""
        level, other = self._alphas(stats)
        shape = n * len(stats.rows)
        cells = rng.gamma(np.tile(stats.weight + level, (n, 1)))
        rest = rng.gamma(np.tile(other * self._rest(stats) + np.zeros((len(stats.rows), 1)), (n, 1)))
        spread = Counts(stats.offsets, stats.codes, np.zeros((shape, 0), np.int64), cells)
        total = spread.by_column(cells) + rest
        log_level = log(cells) - log(total)[:, stats.column]
        log_other = log(rest / np.maximum(self._rest(stats), 1)) - log(total)
        point = self.params(stats, class_weight)
        log_unseen = log_other if self.unseen == "reserve" else np.zeros_like(log_other)
        return point._replace(log_level=log_level, log_other=log_other, log_unseen=log_unseen)

    def sample(self, params: CategoricalParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Levels by their codes, or by their places if they have names; only those that are known."""
        counts = params.counts
        x = np.full((len(y), counts.n_columns), np.nan)
        for j in np.flatnonzero(np.diff(counts.offsets)):
            levels = slice(counts.offsets[j], counts.offsets[j + 1])
            up_to = np.cumsum(np.exp(params.log_level[:, levels]), axis=1)
            place = (rng.random((len(y), 1)) * up_to[y, -1:] > up_to[y]).sum(axis=1)
            x[:, j] = place if counts.is_named else counts.codes[levels][place]
        return x

    def describe(self, params: CategoricalParams) -> list[dict[str, Floats]]:
        """Probability of each level."""
        shown, p = [], np.exp(params.log_level)
        for j in range(params.counts.n_columns):
            first = params.counts.offsets[j]
            levels = {str(level): p[:, first + k] for k, level in enumerate(params.counts.levels(j))}
            column = dict(sorted(levels.items(), key=lambda item: natural(item[0])))
            if self.unseen == "reserve":
                column["(unseen)"] = np.exp(params.log_unseen[:, j])
            shown.append(column)
        return shown


def every_code(params: CategoricalParams, seen: Floats, other: Floats) -> list[Floats]:
    """A table per column with a cell for every possible code, as scikit-learn has it."""
    counts, sizes = params.counts, params.sizes
    largest = int(sizes.max(initial=0))
    if largest * len(seen) > LARGEST_TABLE:
        raise ValueError(
            f"column {int(sizes.argmax())} has codes up to {largest - 1}: a table of them all would have "
            f"{largest * len(seen):,} cells. The model itself keeps only the codes it saw; to look at the "
            "tables, number the levels 0, 1, 2, ... without gaps."
        )
    tables = []
    for j, size in enumerate(sizes):
        levels = slice(counts.offsets[j], counts.offsets[j + 1])
        table = np.repeat(other[:, j : j + 1], size, axis=1)
        table[:, counts.codes[levels]] = seen[:, levels]
        tables.append(table)
    return tables
