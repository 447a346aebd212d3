"""Removal: the leave-one-out score of a Gaussian cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask


class Removal(NamedTuple):
    """Coefficients of the score of a cell under the Gaussian of its class, estimated without this cell.

    With u = (x - anchor)^2, the score is base - log(1 - q u) / 2 - p u / (1 - q u). The anchor is the mean with the
    cell, and 1 - q u is the factor by which the variance shrinks without the cell. Each part is classes x columns.
    """

    base: Floats
    anchor: Floats
    q: Floats
    p: Floats

    @classmethod
    def of(cls, mean: Floats, var: Floats, farther: Floats, q: Floats, known: Mask) -> Removal:
        """Return the coefficients.

        `var` is the variance without a cell that lies at the mean; `farther` is the factor by which the distance of a
        cell from the mean grows when the cell is removed.
        """
        base = -0.5 * np.log(2.0 * np.pi * var)
        p = 0.5 * farther * farther / var
        return cls(*(np.where(known, part, 0.0) for part in (base, mean, q, p)))

    def cells(self, x: Floats, y: Codes) -> Floats:
        """Return cell scores for the class of the row, rows x columns: 0 if missing, NaN if no variance remains."""
        base, anchor, q, p = (part[y] for part in self)
        d = np.where(np.isnan(x), anchor, x) - anchor
        shrinkage = 1.0 - q * d * d
        shrinkage = np.where(shrinkage > 1e-6, shrinkage, np.nan)  # smaller values have lost too many digits
        return np.where(np.isnan(x), 0.0, base - 0.5 * np.log(shrinkage) - p * d * d / shrinkage)
