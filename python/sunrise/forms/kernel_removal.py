"""Leave-one-out scores under kernel densities: the kernel of a cell is removed from its own class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Positions
from sunrise._common.threads import threads
from sunrise.forms.kernel_density import Density
from sunrise.numerics.special import log
from sunrise.statistics.base import clear_residue
from sunrise.statistics.empirical import Values
from sunrise.statistics.grids import Lattice
from sunrise.statistics.support import REAL, Support


@dataclass(frozen=True, eq=False)
class KernelRemoval:
    """Scores of training cells under the density of their class without their own kernel.

    The pooled density of the column does not change. A class without other cells has the pooled density alone.
    """

    density: Density
    values: Values
    #: True if a class with cells is not mixed with the pooled density.
    is_pure: bool = False
    #: The weight of a row of each class; None where rows of one class have different weights.
    row_weight: Floats | None = None

    @property
    def is_native(self) -> bool:
        """True if Rust can remove the kernels of all cells of a block."""
        sums = self.density.sums
        has_lattices = all(grid is None or isinstance(grid, Lattice) for grid in sums.grids)
        return self.row_weight is not None and has_lattices and not sums.bounds.log

    def holds(self, cells: Any, support: Support, y: Codes, n_threads: int) -> bool:
        """Return True if these are all rows of the fit, in any order; each of them can then be left out."""
        return bool(self.density.native(0, n_threads).holds(cells, support, y, self.row_weight, n_threads))

    def scores(
        self, cells: Any, support: Support, y: Codes, weight: Floats, check: bool, n_threads: int
    ) -> Floats:
        """Return the scores of rows, the weighted sums over their columns.

        With `check`, the score of a row that was never fitted is NaN.
        """
        densities = self.density.native(len(y), n_threads)
        return np.asarray(densities.left_out(cells, support, y, self.row_weight, weight, check, n_threads))

    def cells(self, x: Floats, y: Codes, check: bool) -> Floats:
        """Return the scores of cells, rows x columns: 0 if missing; with `check`, NaN if the cell was never fitted."""
        n_threads = threads(None, 4 * x.size)
        densities, cells = self.density.native(len(y), n_threads), np.ascontiguousarray(x)
        scores = densities.left_out(cells, REAL, y, self.row_weight, None, check, n_threads)
        return np.asarray(scores).reshape(x.shape)

    def score(self, x: Floats, c: Codes, j: Positions, w: Floats) -> Floats:
        """Return the score of each cell x (class c, column j, weight w) for its own class; NaN if never fitted."""
        bounds = self.density.sums.bounds
        u = bounds.to_scale(x)
        points, weights, fitted = self.values.points_of_cells(self.density.sums.grids, x, c, j, w)
        own = self.density.sums.log_sums(c, j, u, (bounds.to_scale(points), weights))
        total = self.values.observed_weight[c, j]
        n = clear_residue(total - w, total)
        own = np.where(n > 0, own, -np.inf)
        prior = np.where(n > 0, 0.0, 1.0) if self.is_pure else np.ones(len(x))
        density = np.logaddexp(own, self.density.common(j, u) + log(prior)) - np.log(n + prior)
        return np.where(fitted, density, np.nan)
