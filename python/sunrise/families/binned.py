"""Binned family: numbers, counted by the bin that they fall into."""

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
from sunrise.families.smoothing import EvidenceSmoothed
from sunrise.forms.table import Table
from sunrise.numerics.bin_edges import METHODS, Cuts
from sunrise.numerics.conjugate import Dirichlet
from sunrise.numerics.evidence import CountsOfCounts
from sunrise.statistics.counts import Counts
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import LEVEL

#: Cells that the first data should have: per bin if the user sets the number of bins, in total if the data set it.
CELLS_PER_BIN, MIN_CELLS = 5, 50


@dataclass(frozen=True)
class Binned(EvidenceSmoothed, Candidate, Family):
    """Numbers of any distribution, by their bin: bin | c ~ Categorical(theta), theta ~ Dirichlet(alpha).

    The first data decide the edges; later rows, forgetting, merging and leave-one-out use the same edges. A cell on an
    edge belongs to the bin above it. The outermost bins are unbounded. All bins are possible, observed or not.

    Within a bin the density is the same for all classes, so only the probability of the bin matters for the class. For
    `score_samples` an inner bin is uniform; an outer bin is uniform over the range of the first data, and its density
    falls exponentially beyond this range, so that a value far outside has a low density.

    Parameters
    ----------
    edges : {"frequency", "width", "mdl", "proportional"} or array-like
        How the edges are chosen: "frequency" makes bins of equal weight, "width" bins of equal width, "mdl" the bins
        that separate the classes by minimum description length (Fayyad and Irani 1993), "proportional" about as many
        bins as rows in each bin (Yang and Webb 2009). Or the edges between bins, in increasing order.
    bins : int
        Maximum number of bins for "frequency" and "width"; the other rules choose the number themselves.
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
    #: The edges of every column, once the first data have decided them.
    cuts: tuple[Cuts, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha.levels is not None:
            raise ValueError(
                "alpha is given by level, and bins have no level names. Give one number for all bins."
            )
        if not isinstance(self.bins, Integral) or isinstance(self.bins, bool) or self.bins < 1:
            raise ValueError(f"bins is {self.bins!r}; it must be a whole number, 1 or more.")
        if not isinstance(self.edges, str):
            object.__setattr__(self, "edges", _check_edges(self.edges))
        elif self.edges not in METHODS:
            close = get_close_matches(self.edges, METHODS, n=1)
            hint = f" Is it {close[0]!r}?" if close else ""
            raise ValueError(
                f"edges is {self.edges!r}; it must be one of {', '.join(map(repr, METHODS))}, or an array of "
                f"edges.{hint}"
            )

    @property
    def support(self) -> Support:
        """Any finite number; the outermost bins are unbounded."""
        return REAL

    @property
    def description(self) -> str:
        """The name with the edges of the first column, or with the rule before the edges are known."""
        if not self.cuts:
            return f"{self.name} by {self.edges}" if isinstance(self.edges, str) else self.name
        edges = self.cuts[0].edges
        shown = ", ".join(f"{edge:.6g}" for edge in edges[:5]) + (", ..." if len(edges) > 5 else "")
        return f"{self.name} at {shown}" if edges else f"{self.name} without any edge"

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The edges, or the rule before the edges are known."""
        edges = tuple(cuts.edges for cuts in self.cuts)
        return self.name, edges or (self.edges, self.bins if self.edges in ("frequency", "width") else None)

    @property
    def has_few_cells(self) -> bool:
        """True if the first data had too few cells to choose edges reliably."""
        if not isinstance(self.edges, str):
            return False
        enough = CELLS_PER_BIN * self.bins if self.edges in ("frequency", "width") else MIN_CELLS
        return any(cuts.cells < enough for cuts in self.cuts)

    def select_columns(self, columns: list[int]) -> Self:
        """Return the family of some columns of its block, with their edges."""
        return super().select_columns(columns).with_settings(cuts=tuple(self.cuts[j] for j in columns))

    # Bins are the levels of a categorical family in which every level is known.

    @property
    def _categorical(self) -> Categorical:
        """The categorical family of the bins."""
        return Categorical(self.alpha, unseen="ignore", coded=True, estimate=self.estimate)

    def _counts_of_all_bins(self, stats: Counts) -> Counts:
        """Counts of all bins, 0 for bins that were never observed."""
        sizes = [cuts.n_bins for cuts in self.cuts]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        at = offsets[stats.column] + stats.codes
        rows, weight = (np.zeros((len(stats.rows), offsets[-1]), a.dtype) for a in (stats.rows, stats.weight))
        rows[:, at], weight[:, at] = stats.rows, stats.weight
        codes = np.concatenate([np.arange(size) for size in sizes])
        return Counts(offsets, codes, rows, weight)

    def params(self, stats: Counts, class_weight: Floats) -> CategoricalParams:
        """Log probabilities of the bins."""
        return self._categorical.params(self._counts_of_all_bins(stats), class_weight)

    def form(self, params: CategoricalParams) -> Table:
        """Return a look-up table of log probabilities by bin."""
        form = self._categorical.form(params)

        def names() -> list[str]:
            return [name for cuts in self.cuts for name in cuts.names]

        return Table(form.offsets, form.codes, form.sizes, form.values, names=names)

    def posterior_of(self, stats: Counts, j: int, class_weight: Floats) -> Dirichlet:
        """Dirichlet posterior of the bins of column j, in increasing order."""
        return self._categorical.posterior_of(self._counts_of_all_bins(stats), j, class_weight)

    def prior_of(self, stats: Counts, j: int) -> Dirichlet:
        """Dirichlet prior of the bins of column j: alpha for every bin."""
        return self._categorical.prior_of(self._counts_of_all_bins(stats), j)

    def log_evidence(self, stats: Counts, class_weight: Floats | None = None) -> Floats:
        """Log marginal likelihood of the bins (Dirichlet-multinomial)."""
        return self._categorical.log_evidence(self._counts_of_all_bins(stats), class_weight)

    def log_prior_density(self, stats: Counts, class_weight: Floats) -> float:
        """Log-likelihood of the pseudo-counts."""
        return self._categorical.log_prior_density(self._counts_of_all_bins(stats), class_weight)

    def counts_of_counts(self, stats: Counts) -> CountsOfCounts:
        """Counts of the bins; each class of a column is one draw."""
        return self._categorical.counts_of_counts(self._counts_of_all_bins(stats))

    def left_out(self, stats: Counts, params: Any, row_weight: Floats | None) -> CellsLeftOut:
        """Subtract each cell from the count of its bin."""
        return self._categorical.left_out(self._counts_of_all_bins(stats), params, row_weight)

    def log_base_measure(self, x: Floats) -> Floats:
        """Log density of the cells within their bins, see `Cuts.log_density_in_bin`."""
        columns = zip(self.cuts, x.T, strict=True)
        return np.stack([cuts.log_density_in_bin(cells) for cuts, cells in columns], axis=1)

    def outcomes(self, params: CategoricalParams) -> list[Floats]:
        """Log probabilities of the bins."""
        return self._categorical.outcomes(params)

    def sample_parameters(
        self, stats: Counts, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> CategoricalParams:
        """Draw the probabilities of the bins from their posterior."""
        return self._categorical.sample_parameters(self._counts_of_all_bins(stats), n, rng, class_weight)

    def sample(self, params: CategoricalParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Draw a bin, then a uniform number in it; the outermost bins end at the range of the first data."""
        drawn = self._categorical.sample(params, y, rng)
        x = np.empty_like(drawn)
        for j, cuts in enumerate(self.cuts):
            at, bounds = drawn[:, j].astype(np.intp), cuts.bounds
            x[:, j] = bounds[at] + rng.random(len(y)) * (bounds[at + 1] - bounds[at])
        return x

    def describe(self, params: CategoricalParams) -> list[dict[str, Floats]]:
        """Return the probability of every bin of every column, per class."""
        p, offsets = np.exp(params.log_level), params.counts.offsets
        return [
            {name: p[:, offsets[j] + k] for k, name in enumerate(cuts.names)}
            for j, cuts in enumerate(self.cuts)
        ]


def _check_edges(edges: Any) -> tuple[float, ...]:
    """Return edges given by the user as a tuple; raise unless they are finite and increasing."""
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
            f"edges holds {values[~np.isfinite(values)][0]:g}: an edge must be finite. Leave it out: "
            "the outermost bins are unbounded."
        )
    if (np.diff(values) <= 0).any():
        k = int(np.argmax(np.diff(values) <= 0))
        raise ValueError(f"edges must increase: {values[k + 1]:g} comes after {values[k]:g}.")
    return tuple(values.tolist())
