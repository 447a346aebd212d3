"""Ranges of numeric columns: where most cells of a model lie. Sliders and pictures of the page span them."""

from __future__ import annotations

import math

import numpy as np

from sunrise.model.fitted import FittedModel

#: Rows drawn for each class, at most so many cells of a block, and the share of draws cut off at either end.
ROWS, MOST_CELLS, TAIL = 200, 4_000_000, 0.005

#: A range whose ends have at least this ratio is logarithmic.
LOG_RATIO = 100.0


def column_ranges(model: FittedModel) -> dict[int, tuple[float, float]]:
    """Return the lowest and highest usual number of every numeric column, by its position.

    The ranges are those of rows drawn from the model, so every family has them, and no training row is needed.
    """
    rng, ranges = np.random.default_rng(0), {}
    n_classes = len(model.classes)
    for part, params in zip(model.parts, model.point_params, strict=True):
        family = part.family
        if not family.reader.is_numeric or family.reader.own_block:
            continue
        support, n_rows = family.support, max(20, min(ROWS, MOST_CELLS // (len(part.columns) * n_classes)))
        low, high = np.zeros(len(part.columns)), np.ones(len(part.columns))
        if support.above is None and (support.lowest, support.highest) != (0.0, 1.0):
            try:
                drawn = family.sample(params, np.repeat(np.arange(n_classes, dtype=np.int32), n_rows), rng)
                quantile = np.nanquantile if np.isnan(drawn).any() else np.quantile  # the latter is fast
                low, high = quantile(drawn, [TAIL, 1.0 - TAIL], axis=0)
            except ValueError:  # not a distribution of the cells, or a class without variance
                high = np.full(len(part.columns), 10.0)
        for at, j in enumerate(part.columns):
            ranges[j] = _rounded(float(low[at]), float(high[at]), support.lowest, support.highest)
    return ranges


def _rounded(low: float, high: float, lowest: float, highest: float) -> tuple[float, float]:
    """Return a range with round ends, which a person can read, within the numbers that the family accepts."""
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    if high <= low:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    if lowest >= 0.0 and low > 0.0 and high >= LOG_RATIO * low:
        down, up = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.floor(math.log10(high))
        return max(_digits(math.floor(low / down) * down), lowest), min(
            _digits(math.ceil(high / up) * up), highest
        )
    step = 10.0 ** math.floor(math.log10((high - low) / 20.0))
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    digits = max(0, -math.floor(math.log10(step)))
    return max(round(low, digits), lowest), min(round(high, digits), highest)


def _digits(x: float) -> float:
    return float(f"{x:.12g}")
