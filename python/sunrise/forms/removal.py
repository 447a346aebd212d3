"""Removal: the score of a cell under a mean and a variance that lose the cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask


class Removal(NamedTuple):
    """What a cell adds to the score of its own class without itself: all but the squares u = (x - anchor)^2 is known.

    A mean and a variance that lose a cell give base - log(1 - q u) / 2 - p u / (1 - q u), where the anchor is the mean
    with the cell and 1 - q u is what is left of the variance; each part is classes x columns.
    """

    base: Floats
    anchor: Floats
    q: Floats
    p: Floats

    @classmethod
    def of(cls, mean: Floats, var: Floats, farther: Floats, q: Floats, known: Mask) -> Removal:
        """From the variance without the cell had it been at the mean, and how much farther off the cell then is."""
        base = -0.5 * np.log(2.0 * np.pi * var)
        p = 0.5 * farther * farther / var
        return cls(*(np.where(known, part, 0.0) for part in (base, mean, q, p)))

    def cells(self, x: Floats, y: Codes) -> Floats:
        """What the cells of rows of these classes add, rows x columns: 0 if missing, NaN if nothing would be left."""
        base, anchor, q, p = (part[y] for part in self)
        d = np.where(np.isnan(x), anchor, x) - anchor
        left = 1.0 - q * d * d
        left = np.where(left > 1e-6, left, np.nan)  # of less, too few digits are known
        return np.where(np.isnan(x), 0.0, base - 0.5 * np.log(left) - p * d * d / left)
