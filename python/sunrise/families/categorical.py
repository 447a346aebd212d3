"""Categorical family: levels, with a Dirichlet prior on the probabilities of the levels of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.data.levels import natural
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate
from sunrise.families.left_out import CellsLeftOut
from sunrise.families.readers import LEVELS as READ_LEVELS
from sunrise.families.readers import NUMBERS
from sunrise.families.smoothing import Alpha, EvidenceSmoothed
from sunrise.forms.table import Table
from sunrise.numerics.conjugate import Dirichlet
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.numerics.special import log, log_rising, times_log
from sunrise.statistics.base import clear_residue
from sunrise.statistics.counts import Counts
from sunrise.statistics.support import LEVELS, Support
from sunrise.statistics.terms import LEVEL

#: Largest number of cells of a table of all codes, which fitted attributes return.
LARGEST_TABLE = 10_000_000


class CategoricalParams(NamedTuple):
    """Log probability of every observed level, of any other possible level, and of an unseen level."""

    counts: Counts
    sizes: Integers
    log_level: Floats
    log_other: Floats
    log_unseen: Floats
    known: Mask


@dataclass(frozen=True)
class Categorical(EvidenceSmoothed, Candidate, Family):
    """Categories: x | c ~ Categorical(theta), theta ~ Dirichlet(alpha).

    Levels have any names; a level is possible if any class has it or the data type declares it. With
    `coded` cells are codes 0, 1, 2, ..., and all codes up to the largest are possible. `min_categories` is the minimum
    number of possible levels. Any other level is unseen: unseen="ignore" skips the column, "reserve" gives unseen
    levels the same probability in every class, "error" raises; None uses the setting of the model. A missing cell is
    skipped; with missing="level" it counts as one more level.

    The reserved probability of a column with n observed cells (of all classes) and K possible levels is
    rho = alpha / (n + (K + 1) alpha); the K levels share the rest, 1 - rho, in each class. rho is a number that
    `resolve` takes from the data, and 0 for maximum likelihood.
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
    #: Probability of an unseen level in every column, once it is taken from the data.
    reserved: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unseen not in (None, "ignore", "reserve", "error"):
            raise ValueError(f'unseen is {self.unseen!r}; it must be "ignore", "reserve" or "error".')
        if self.missing not in ("ignore", "level"):
            raise ValueError(f'missing is {self.missing!r}; it must be "ignore" or "level".')
        # Codes are read as numbers, levels by name.
        object.__setattr__(self, "reader", NUMBERS if self.coded else READ_LEVELS)

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Reason for strings and categories, and for columns with few distinct whole numbers."""
        if profile.kind == "level":
            return f"{profile.distinct} categories{profile.numbers_text}"
        return f"{profile.distinct} different whole numbers" if profile.has_few_values else None

    @property
    def support(self) -> Support:
        """Level codes."""
        return LEVELS

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The settings that shape the statistics, among them whether missing cells are counted."""
        return *super().statistics_key, self.missing

    def check(self, n_columns: int, n_classes: int | None = None) -> None:
        """Raise if settings do not fit the number of columns."""
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

    def _pseudo_counts(self, stats: Counts) -> tuple[Floats, Floats]:
        """Pseudo-counts of every observed level (classes or 1 x levels) and of an unobserved level of every column."""
        alpha = Alpha(0.0) if self.estimate == "mle" else self.alpha
        value = np.asarray(alpha.value, dtype=float)
        other = np.broadcast_to(
            value, (*value.shape[:-1], stats.n_columns) if value.ndim else stats.n_columns
        )
        other = other.reshape(-1, stats.n_columns)
        level = other[:, stats.column]
        if alpha.levels is not None:
            by_level = [alpha.levels.get(str(code), alpha.value) for code in stats.codes]
            level = np.array(by_level, dtype=float)[None, :]
        return level, other

    def resolve(self, stats: Counts, again: bool = False) -> Self:
        """Return the family with alpha and the probability of an unseen level as numbers."""
        family = super().resolve(stats, again)
        if self.reserved is not None and again:
            return family
        return family.with_settings(reserved=family._unseen_probability(stats))

    def _unseen_probability(self, stats: Counts) -> Floats:
        """Probability of an unseen level, one number per column; 0 unless unseen="reserve"."""
        if self.unseen != "reserve":
            return np.zeros(stats.n_columns)
        level, other = (pseudo.mean(axis=0, keepdims=True) for pseudo in self._pseudo_counts(stats))
        n_cells = stats.by_column(stats.weight).sum(axis=0)
        known = n_cells + stats.by_column(level)[0] + other[0] * self._n_unobserved(stats)
        # A column without levels is not known, so that any number will do.
        reserved = np.divide(other[0], known + other[0], out=np.zeros(stats.n_columns), where=known > 0)
        return np.asarray(reserved)

    def _log_reserved(self, stats: Counts) -> tuple[Floats, Floats]:
        """Log probabilities, per column, that a level is unseen and that it is one of the possible levels."""
        reserved = self._unseen_probability(stats) if self.reserved is None else self.reserved
        return log(reserved), np.log1p(-reserved)

    def _display_order(self, stats: Counts, j: int) -> list[int]:
        """Positions of the levels of a column in natural order (numbers by value, text alphabetically)."""
        levels = stats.levels(j)
        return sorted(range(len(levels)), key=lambda k: natural(str(levels[k])))

    def _dirichlet(self, stats: Counts, j: int, counts: Floats) -> Dirichlet:
        """Dirichlet(counts + pseudo-counts) of the levels in natural order."""
        level, _ = self._pseudo_counts(stats)
        first, order = stats.offsets[j], self._display_order(stats, j)
        at = first + np.array(order, dtype=np.intp)
        return Dirichlet(counts[:, at] + level[:, at])

    def posterior_of(self, stats: Counts, j: int, class_weight: Floats) -> Dirichlet:
        """Posterior of the levels in the order of `describe`, given that a cell has one of them."""
        return self._dirichlet(stats, j, stats.weight)

    def prior_of(self, stats: Counts, j: int) -> Dirichlet:
        """Prior of the levels: alpha for each."""
        return self._dirichlet(stats, j, np.zeros_like(stats.weight)).common

    def _n_unobserved(self, stats: Counts) -> Integers:
        """Number of possible levels of every column that are not among the levels of the statistics: other codes."""
        least = 0 if self.min_categories is None else np.asarray(self.min_categories)
        observed = np.diff(stats.offsets)
        possible = stats.top + 1 if self.coded else observed
        return np.asarray(np.maximum(possible, least) - observed)

    def log_evidence(self, stats: Counts, class_weight: Floats | None = None) -> Floats:
        """Log marginal likelihood of the levels (Dirichlet-multinomial x (1 - rho) per cell); NaN if an alpha is 0."""
        level, other = self._pseudo_counts(stats)
        total = stats.by_column(level + np.zeros_like(stats.weight)) + other * self._n_unobserved(stats)
        if self.estimate == "mle":
            return np.full(total.shape, np.nan)
        empty = stats.by_column((level <= 0) + np.zeros_like(stats.rows)) > 0
        proper = ~(empty | ((other <= 0) & (self._n_unobserved(stats) > 0)))
        with np.errstate(invalid="ignore"):
            gains = stats.by_column(log_rising(level + np.zeros_like(stats.weight), stats.weight))
            n_cells = stats.by_column(stats.weight)
            evidence = gains - log_rising(total, n_cells) + n_cells * self._log_reserved(stats)[1]
        return np.where(proper, evidence, np.nan)

    def log_prior_density(self, stats: Counts, class_weight: Floats) -> float:
        """Log-likelihood of the pseudo-counts."""
        if self.estimate == "mle":
            return 0.0
        level, other = self._pseudo_counts(stats)
        above, params = 1.0 if self.estimate == "map" else 0.0, self.params(stats, class_weight)
        rest = times_log(self._n_unobserved(stats) * (other - above), params.log_other)
        return float(times_log(level - above, params.log_level).sum() + rest.sum())

    def counts_of_counts(self, stats: Counts) -> CountsOfCounts:
        """Counts of the levels; each class of a column is one draw."""
        totals = stats.by_column(stats.weight)
        cells = np.broadcast_to(np.diff(stats.offsets) + self._n_unobserved(stats), totals.shape).astype(
            float
        )
        return CountsOfCounts(stats.weight[stats.weight > 0], totals.ravel(), cells.ravel())

    def params(self, stats: Counts, class_weight: Floats) -> CategoricalParams:
        """Log probabilities of the levels."""
        rest = self._n_unobserved(stats)
        sizes = np.asarray(np.diff(stats.offsets) + rest, dtype=np.int64)
        log_unseen, log_possible = self._log_reserved(stats)
        level, other = self._pseudo_counts(stats)
        weight, column = stats.weight + level, stats.column
        other = np.broadcast_to(other, (len(stats.rows), stats.n_columns))
        if self.estimate == "map":
            # If all concentrations are at most 1, the mode is on the boundary: the largest ones share all mass.
            most = np.maximum(stats.by_column(weight, np.maximum), np.where(rest > 0, other, 0.0))
            is_largest = weight == most[:, column], other == most
            weight, other = np.maximum(weight - 1.0, 0.0), np.maximum(other - 1.0, 0.0)
            on_boundary = stats.by_column(weight) + other * rest == 0
            weight = np.where(on_boundary[:, column], is_largest[0], weight)
            other = np.where(on_boundary, is_largest[1], other)
        total = stats.by_column(weight) + other * rest
        # Without counts and pseudo-counts all levels have the same probability.
        empty = total == 0
        log_total = log(np.where(empty, np.maximum(sizes, 1), total)) - log_possible
        log_level = log(np.where(empty[:, column], 1.0, weight)) - log_total[:, column]
        log_other = log(np.where(empty, 1.0, other)) - log_total
        log_unseen = np.broadcast_to(log_unseen if self.unseen == "reserve" else 0.0, log_other.shape)
        known = stats.by_column(stats.rows).sum(axis=0) > 0
        return CategoricalParams(stats, sizes, log_level, log_other, log_unseen, known)

    def without_rare(self, stats: Counts, min_rows: int) -> Counts:
        """The statistics without levels that fewer rows have."""
        return stats.without_rare(min_rows)

    def level_names(self, stats: Counts) -> list[Any]:
        """The levels of every column."""
        return [stats.levels(j).tolist() for j in range(stats.n_columns)]

    def left_out(self, stats: Counts, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """Subtract each cell from the count of its level; a lookup table if rows of a class weigh the same."""
        form = None if row_weight is None else self._form_without(stats, row_weight)
        return CellsLeftOut(lambda x, c, j, w: self._score_without(stats, x, c, j, w), form)

    def _score_without(self, stats: Counts, x: Floats, c: Codes, j: Positions, w: Floats) -> Floats:
        """Log probability of the level of each cell without the cell; NaN if its class never had the level."""
        place, n = self.form(self.params(stats, np.ones(1))).level_positions(x, j), np.diff(stats.offsets)[j]
        if len(stats.codes) == 0:
            return np.full(len(x), np.nan)
        at = np.minimum(stats.offsets[j] + np.minimum(place, np.maximum(n - 1, 0)), len(stats.codes) - 1)
        return np.where(place < n, self._log_share_without(stats, c, at, j, w), np.nan)

    def _form_without(self, stats: Counts, w: Floats) -> Table:
        """Lookup table of log probabilities with one cell of the level removed; `w` is its weight, by class."""
        params = self.params(stats, np.ones(1))
        positions = np.arange(len(stats.codes))
        c = np.arange(len(stats.rows), dtype=np.int32)[:, None]
        no_score = np.full_like(params.log_other, np.nan)
        log_level = self._log_share_without(stats, c, positions[None], stats.column[None], w[:, None])
        return self.form(params._replace(log_level=log_level, log_other=no_score, log_unseen=no_score))

    def _log_share_without(self, stats: Counts, c: Codes, at: Positions, j: Positions, w: Floats) -> Floats:
        """Log probabilities of levels (class c, position `at`, column j) with one cell of weight w removed."""
        level, other = self._pseudo_counts(stats)
        level, other = (np.broadcast_to(a, (len(stats.rows), a.shape[1])) for a in (level, other))
        above = 1.0 if self.estimate == "map" else 0.0

        def mass(cells: Floats) -> Floats:
            return np.maximum(cells - above, 0.0)

        rest, own, alpha = self._n_unobserved(stats), stats.weight[c, at], level[c, at]
        total = stats.by_column(mass(stats.weight + level)) + mass(other) * rest
        rows = stats.rows[c, at] - (w > 0)
        after = np.where(rows > 0, own - w, 0.0) + alpha
        left = mass(after)
        total_left = clear_residue(total[c, j] - mass(own + alpha) + left, total[c, j])
        # Without remaining counts and pseudo-counts all levels have the same probability.
        uniform = -np.log(np.maximum(np.diff(stats.offsets) + rest, 1))[j]
        cells = np.where(total_left > 0, log(left) - log(np.where(total_left > 0, total_left, 1.0)), uniform)
        if above:
            on_boundary = np.broadcast_to(total_left <= 0, cells.shape)
            arguments = [np.broadcast_to(a, cells.shape) for a in (c, at, j, after)]
            for where in zip(*np.nonzero(on_boundary), strict=True):
                cells[where] = self._log_share_at_boundary(stats, *(a[where] for a in arguments))
        fitted = (rows >= 0) & (own - w >= -1e-9 * own)
        return np.where(fitted, cells + self._log_reserved(stats)[1][j], np.nan)

    def _log_share_at_boundary(self, stats: Counts, c: int, at: int, j: int, after: float) -> float:
        """Log probability of a level with concentration `after`, if the mode of the Dirichlet is on the boundary."""
        level, other = self._pseudo_counts(stats)
        levels = slice(stats.offsets[j], stats.offsets[j + 1])
        cells = stats.weight[c, levels] + level[min(c, len(level) - 1), levels]
        cells[at - stats.offsets[j]] = after
        rest, more = self._n_unobserved(stats)[j], other[min(c, len(other) - 1), j]
        most = max(cells.max(), more if rest else 0.0)
        return float(-np.log((cells == most).sum() + rest * (more == most))) if after == most else -np.inf

    def form(self, params: CategoricalParams) -> Table:
        """Return a look-up table of log probabilities by level."""
        counts = params.counts
        n_columns, n_levels, column = counts.n_columns, len(counts.codes), counts.column
        values = np.zeros((n_levels + 2 * n_columns, len(params.log_level)))
        values[np.arange(n_levels) + 2 * column] = np.where(params.known[column], params.log_level, 0.0).T
        after = counts.offsets[1:] + 2 * np.arange(n_columns)
        values[after] = np.where(params.known, params.log_other, 0.0).T
        values[after + 1] = np.where(params.known, params.log_unseen, 0.0).T
        # Engines know named levels by their positions.
        codes = np.arange(n_levels) - counts.offsets[column] if counts.is_named else counts.codes
        refuse = self.unseen == "error"

        def names() -> list[str]:
            return [str(level) for level in counts.codes]

        return Table(counts.offsets, codes, params.sizes, values, refuse, names)

    def outcomes(self, params: CategoricalParams) -> list[Floats]:
        """Log probabilities of the observed levels, of all other possible levels together, and of an unseen level."""
        columns, counts = [], params.counts
        n_observed = np.diff(counts.offsets)
        rest = params.sizes - n_observed
        for j, (first, n) in enumerate(zip(counts.offsets, n_observed, strict=False)):
            parts = [params.log_level[:, first : first + n], params.log_other[:, j : j + 1] + log(rest[j])]
            parts += [params.log_unseen[:, j : j + 1]] if self.unseen == "reserve" else []
            columns.append(np.concatenate(parts, axis=1))
        return columns

    def sample_parameters(
        self, stats: Counts, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> CategoricalParams:
        """Draw the probabilities from their Dirichlet posterior: gamma numbers, divided by the sum of the column."""
        level, other = self._pseudo_counts(stats)
        shape = n * len(stats.rows)
        cells = rng.gamma(np.tile(stats.weight + level, (n, 1)))
        rest = rng.gamma(np.tile(other * self._n_unobserved(stats) + np.zeros((len(stats.rows), 1)), (n, 1)))
        draws = Counts(stats.offsets, stats.codes, np.zeros((shape, 0), np.int64), cells)
        total = (draws.by_column(cells) + rest) / np.exp(self._log_reserved(stats)[1])
        log_level = log(cells) - log(total)[:, stats.column]
        log_other = log(rest / np.maximum(self._n_unobserved(stats), 1)) - log(total)
        point = self.params(stats, class_weight)
        log_unseen = np.tile(point.log_unseen, (n, 1))
        return point._replace(log_level=log_level, log_other=log_other, log_unseen=log_unseen)

    def sample(self, params: CategoricalParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw observed levels: their codes, or their positions if they have names."""
        counts = params.counts
        x = np.full((len(y), counts.n_columns), np.nan)
        for j in np.flatnonzero(np.diff(counts.offsets)):
            levels = slice(counts.offsets[j], counts.offsets[j + 1])
            up_to = np.cumsum(np.exp(params.log_level[:, levels]), axis=1)
            place = (rng.random((len(y), 1)) * up_to[y, -1:] > up_to[y]).sum(axis=1)
            x[:, j] = place if counts.is_named else counts.codes[levels][place]
        return x

    def describe(self, params: CategoricalParams) -> list[dict[str, Floats]]:
        """Return the probability of every level of every column, per class."""
        return self.describe_briefly(params, len(params.counts.codes))

    def describe_briefly(self, params: CategoricalParams, most: int) -> list[dict[str, Floats]]:
        """Probabilities of the levels; of a column with more levels than `most`, of the most probable ones."""
        columns, p, offsets = [], np.exp(params.log_level), params.counts.offsets
        for j in range(params.counts.n_columns):
            own, names = p[:, offsets[j] : offsets[j + 1]], params.counts.levels(j)
            shown = np.arange(len(names))
            if len(names) > most:
                shown = np.sort(np.argsort(-own.sum(axis=0), kind="stable")[:most])
            levels = {str(names[k]): own[:, k] for k in shown}
            column = dict(sorted(levels.items(), key=lambda item: natural(item[0])))
            if self.unseen == "reserve":
                column["(unseen)"] = np.exp(params.log_unseen[:, j])
            columns.append(column)
        return columns


def tables_of_all_codes(params: CategoricalParams, observed: Floats, other: Floats) -> list[Floats]:
    """One table per column, classes x all possible codes, as in scikit-learn."""
    counts, sizes = params.counts, params.sizes
    largest = int(sizes.max(initial=0))
    if largest * len(observed) > LARGEST_TABLE:
        raise ValueError(
            f"column {int(sizes.argmax())} has codes up to {largest - 1}: a table of all codes would have "
            f"{largest * len(observed):,} cells. The model keeps only the observed codes. To get the tables, "
            "number the levels 0, 1, 2, ... without gaps."
        )
    tables = []
    for j, size in enumerate(sizes):
        levels = slice(counts.offsets[j], counts.offsets[j + 1])
        table = np.repeat(other[:, j : j + 1], size, axis=1)
        table[:, counts.codes[levels]] = observed[:, levels]
        tables.append(table)
    return tables
