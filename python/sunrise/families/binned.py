"""Bins: a column of numbers cut into bins, and counted there."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Integral
from typing import Any, Self

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate
from sunrise.families.categorical import Categorical, CategoricalParams
from sunrise.families.left_out import CellsLeftOut
from sunrise.families.readers import BINS
from sunrise.families.smoothing import Smoothed
from sunrise.forms.table import Table
from sunrise.numerics.bin_edges import METHODS, Cuts
from sunrise.numerics.conjugate import Dirichlet
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.statistics.counts import Counts
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import LEVEL

#: Cells that the first data should have for each bin that is asked for, or in all where the data say how many.
CELLS_A_BIN, LEAST_CELLS = 5, 50


@dataclass(frozen=True)
class Binned(Smoothed, Candidate, Family):
    """Numbers of any distribution, by the bin they fall into: bin | c ~ Categorical(theta), theta ~ Dirichlet(alpha).

    The first data decide the edges, once and for all: later rows, forgetting, merging and leave-one-out go by the same
    ones. A cell on an edge is above it; beyond the outermost edges are the outermost bins. All bins are possible, seen
    or not. Scores are of the bin, not a density within it: so is `score_samples`.

    Parameters
    ----------
    edges : {"frequency", "width", "mdl", "proportional"} or array-like
        How the edges are found: bins of equal weight; of equal width; where they tell most of the class, as many as pay
        for themselves (Fayyad and Irani 1993); about as many bins as rows in each (Yang and Webb 2009). Or the edges
        between bins themselves, in order.
    bins : int
        How many bins there are, at most, by frequency and by width; the others choose.
    alpha : float, array or "evidence"
        Additive smoothing of the bins.

    Examples
    --------
    >>> from sunrise import Binned, NaiveBayes
    >>> model = NaiveBayes(Binned([18, 65])).fit({"age": [3, 16, 40, 70, 81]}, ["a", "a", "b", "a", "b"])
    >>> model.parameters_["age"]["below 18"].round(2)
    array([0.5, 0.2])
    """

    name = "binned"
    terms = (LEVEL,)
    reader = BINS
    complexity = 70
    trait = "number"
    edges: Any = "frequency"
    bins: int = 10
    alpha: Any = 1.0
    #: The edges that were decided, of every column.
    cuts: tuple[Cuts, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha.levels is not None:
            raise ValueError("alpha by level is for categories; of bins give one number for all.")
        if not isinstance(self.bins, Integral) or isinstance(self.bins, bool) or self.bins < 1:
            raise ValueError(f"bins is {self.bins!r}; it must be a whole number, 1 or more.")
        if not isinstance(self.edges, str):
            object.__setattr__(self, "edges", _given(self.edges))
        elif self.edges not in METHODS:
            close = get_close_matches(self.edges, METHODS, n=1)
            hint = f" Is it {close[0]!r}?" if close else ""
            raise ValueError(
                f"edges is {self.edges!r}; it must be one of {', '.join(map(repr, METHODS))}, or the edges "
                f"themselves.{hint}"
            )

    @property
    def support(self) -> Support:
        """Any number; beyond the outermost edges are the outermost bins."""
        return REAL

    @property
    def description(self) -> str:
        """The family with the edges of its first column, once they are known."""
        if not self.cuts:
            return f"{self.name} by {self.edges}" if isinstance(self.edges, str) else self.name
        edges = self.cuts[0].edges
        shown = ", ".join(f"{edge:.6g}" for edge in edges[:5]) + (", ..." if len(edges) > 5 else "")
        return f"{self.name} at {shown}" if edges else f"{self.name} without any edge"

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The edges, or how they are to be found."""
        found = tuple(cuts.edges for cuts in self.cuts)
        return self.name, found or (self.edges, self.bins if self.edges in ("frequency", "width") else None)

    @property
    def has_few_cells(self) -> bool:
        """True if there were too few cells to find edges by."""
        if not isinstance(self.edges, str):
            return False
        enough = CELLS_A_BIN * self.bins if self.edges in ("frequency", "width") else LEAST_CELLS
        return any(cuts.cells < enough for cuts in self.cuts)

    def select_columns(self, columns: list[int]) -> Self:
        """The family of some columns of its block, with their edges."""
        return super().select_columns(columns).with_settings(cuts=tuple(self.cuts[j] for j in columns))

    # Bins are levels all of which are known.

    @property
    def _levels(self) -> Categorical:
        return Categorical(self.alpha, unseen="ignore", coded=True, estimate=self.estimate)

    def _counts(self, stats: Counts) -> Counts:
        """The counts of all bins, also of those that were never seen."""
        sizes = [cuts.n_bins for cuts in self.cuts]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        at = offsets[stats.column] + stats.codes
        rows, weight = (np.zeros((len(stats.rows), offsets[-1]), a.dtype) for a in (stats.rows, stats.weight))
        rows[:, at], weight[:, at] = stats.rows, stats.weight
        codes = np.concatenate([np.arange(size) for size in sizes])
        return Counts(offsets, codes, rows, weight)

    def params(self, stats: Counts, class_weight: Floats) -> CategoricalParams:
        """Log of the probabilities of the bins."""
        return self._levels.params(self._counts(stats), class_weight)

    def form(self, params: CategoricalParams) -> Table:
        """ColumnProfile the bin up."""
        form = self._levels.form(params)
        return Table(
            form.offsets, form.codes, form.sizes, form.values, names=[n for c in self.cuts for n in c.names]
        )

    def posterior_of(self, stats: Counts, j: int, class_weight: Floats) -> Dirichlet:
        """Of the bins in their order."""
        return self._levels.posterior_of(self._counts(stats), j, class_weight)

    def prior_of(self, stats: Counts, j: int) -> Dirichlet:
        """Alpha for every bin."""
        return self._levels.prior_of(self._counts(stats), j)

    def log_evidence(self, stats: Counts, class_weight: Floats | None = None) -> Floats:
        """Dirichlet-multinomial, of the bins."""
        return self._levels.log_evidence(self._counts(stats), class_weight)

    def log_prior_density(self, stats: Counts, class_weight: Floats) -> float:
        """The log-likelihood of the pseudo-counts."""
        return self._levels.log_prior_density(self._counts(stats), class_weight)

    def counts_of_counts(self, stats: Counts) -> CountsOfCounts:
        """Every class of a column is a draw of its bins."""
        return self._levels.counts_of_counts(self._counts(stats))

    def left_out(self, stats: Counts, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """That of levels, of all bins."""
        return self._levels.left_out(self._counts(stats), params, row_weight)

    def outcomes(self, params: CategoricalParams) -> list[Floats]:
        """The bins."""
        return self._levels.outcomes(params)

    def sample_parameters(
        self, stats: Counts, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> CategoricalParams:
        """Probabilities of the bins from their posterior."""
        return self._levels.sample_parameters(self._counts(stats), n, rng, class_weight)

    def sample(self, params: CategoricalParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Any cell of a bin is as good as another; the outermost end where the first data did."""
        places = self._levels.sample(params, y, rng)
        x = np.empty_like(places)
        for j, cuts in enumerate(self.cuts):
            at, bounds = places[:, j].astype(np.intp), cuts.bounds
            x[:, j] = bounds[at] + rng.random(len(y)) * (bounds[at + 1] - bounds[at])
        return x

    def describe(self, params: CategoricalParams) -> list[dict[str, Floats]]:
        """Probability of every bin."""
        p, offsets = np.exp(params.log_level), params.counts.offsets
        return [
            {name: p[:, offsets[j] + k] for k, name in enumerate(cuts.names)}
            for j, cuts in enumerate(self.cuts)
        ]


def _given(edges: Any) -> tuple[float, ...]:
    """Edges as they are given, checked."""
    try:
        values = np.asarray(edges, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"edges is {edges!r}; give numbers in order, or one of {', '.join(METHODS)}."
        ) from None
    if values.ndim != 1:
        raise ValueError(f"edges has shape {values.shape}; give the edges of one column, in order.")
    if not np.isfinite(values).all():
        raise ValueError(
            f"edges holds {values[~np.isfinite(values)][0]:g}: an edge is a finite number, and the "
            "outermost bins have no end."
        )
    if (np.diff(values) <= 0).any():
        k = int(np.argmax(np.diff(values) <= 0))
        raise ValueError(f"edges must increase: {values[k + 1]:g} comes after {values[k]:g}.")
    return tuple(values.tolist())
