"""Class-conditional distributions of columns as numbers to draw: curves, steps, and dots of levels, counts or words."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Positions
from sunrise.families.capabilities import Documents, HasLevels
from sunrise.model.fitted import FittedModel
from sunrise.report.ranges import LOG_RATIO
from sunrise.selection.mutual_information import word_information

#: Points of a curve; levels, counts and words of a picture; classes, the most frequent ones.
POINTS, MOST_LEVELS, MOST_COUNTS, MOST_WORDS, MOST_CLASSES = 80, 16, 24, 24, 8

Picture = dict[str, Any]


def shown_classes(model: FittedModel) -> Positions:
    """Return the classes that pictures show: all, or the most frequent ones."""
    most_frequent = np.argsort(-model.class_prior, kind="stable")[:MOST_CLASSES]
    return np.sort(most_frequent)


def pictures(
    model: FittedModel, columns: set[int], ranges: dict[int, tuple[float, float]]
) -> dict[int, Picture]:
    """Return the pictures of these columns, by position; a column without a distribution of its own has none."""
    classes, drawn = shown_classes(model), dict[int, Picture]()
    for k, part in enumerate(model.parts):
        own = [at for at, j in enumerate(part.columns) if j in columns and model.params[k].known[at]]
        if own:
            block = _block_pictures(model, k, own, ranges)
            drawn |= {part.columns[at]: _of_classes(picture, classes) for at, picture in block.items()}
    return drawn


def _block_pictures(
    model: FittedModel, k: int, own: list[int], ranges: dict[int, tuple[float, float]]
) -> dict[int, Picture]:
    """Return the pictures of some columns of a block, by their places in the block; heights are classes x positions."""
    part, params = model.parts[k], model.params[k]
    family = part.family
    if isinstance(family, Documents):
        return {0: _words(family, model.blocks[k], model.class_prior)}
    if isinstance(family, HasLevels) and not family.reader.learns:
        return {at: _levels(family.describe_briefly(params, MOST_LEVELS)[at]) for at in own}
    if family.joint or not family.reader.is_numeric:
        return {at: _levels(family.describe(params)[at]) for at in own}
    if family.reader.learns:
        return {at: _steps(family, params, at, ranges[part.columns[at]]) for at in own}
    return _densities(model, k, own, ranges)


def _levels(probabilities: dict[str, Floats]) -> Picture:
    """Return the picture of levels, or of the parameters of a column in a block of counts."""
    shown = [name for name in probabilities if name != "(unseen)"]
    return {
        "kind": "dots",
        "at": shown,
        "heights": np.stack([probabilities[name] for name in shown], axis=1) if shown else None,
    }


def _steps(family: Any, params: Any, at: int, ends: tuple[float, float]) -> Picture:
    """Return the picture of few bins as dots; of many bins the density, probability divided by width."""
    described = family.describe(params)[at]
    if len(described) <= MOST_COUNTS:
        return _levels(described)
    probabilities = np.stack(list(described.values()), axis=1)
    bounds = np.array(family.cuts[at].bounds, float)
    bounds[0], bounds[-1] = min(ends[0], bounds[1]), max(ends[1], bounds[-2])
    width = np.maximum(np.diff(bounds), 1e-300)
    return {"kind": "steps", "at": bounds, "heights": probabilities / width}


def _words(family: Any, stats: Any, prior: Floats) -> Picture:
    """Return the picture of the words that tell most about the class: the share of documents that have them."""
    bits = np.nan_to_num(word_information(family, stats, prior), nan=-1.0)
    best = np.argsort(-bits, kind="stable")[:MOST_WORDS]
    share = np.exp(family.presence(stats)[1].log_one)
    return {"kind": "dots", "at": [str(stats.words[w]) for w in best], "heights": share[:, best]}


def _densities(
    model: FittedModel, k: int, own: list[int], ranges: dict[int, tuple[float, float]]
) -> dict[int, Picture]:
    """Return the pictures of numeric columns: densities on a grid, probabilities of few counts."""
    part = model.parts[k]
    family, grid = part.family, np.full((POINTS, len(part.columns)), np.nan)
    support, scales = family.support, {}
    yes_or_no = support.above is not None or (support.lowest, support.highest) == (0.0, 1.0)
    for at in own:
        low, high = ranges[part.columns[at]]
        scales[at] = "line"
        if yes_or_no or (support.whole and high - low <= MOST_COUNTS):
            values, scales[at] = np.arange(int(low), int(high) + 1, dtype=float), "dots"
        elif support.whole:
            values = np.unique(np.rint(np.linspace(low, high, POINTS)))
        elif low > 0.0 and high >= LOG_RATIO * low:
            values, scales[at] = np.geomspace(low, high, POINTS), "log"
        else:
            values = np.linspace(low, high, POINTS)
        values = values[(values >= support.lowest) & (values <= support.highest)]
        grid[: len(values), at] = values
    log_density = _log_density(model, k, grid, own)
    drawn = {}
    for place, at in enumerate(own):
        x = grid[:, at][~np.isnan(grid[:, at])]
        heights = np.exp(log_density[:, : len(x), place])
        if scales[at] == "dots":
            names = [f"{v:g}" for v in x]
            if support.above is not None:
                names = [f"up to {support.above:g}", f"above {support.above:g}"]
            elif yes_or_no:
                names = ["no", "yes"]
            drawn[at] = {"kind": "dots", "at": names, "heights": heights}
            continue
        # On a logarithmic axis the area below the curve is that of the density of log x.
        drawn[at] = {
            "kind": "curve",
            "at": x,
            "heights": heights * x if scales[at] == "log" else heights,
        } | ({"log": True} if scales[at] == "log" else {})
    return drawn


def _log_density(model: FittedModel, k: int, grid: Floats, own: list[int]) -> Floats:
    """Return the log densities of the cells of a grid (points x columns of the block): classes x points x `own`."""
    family, form, n_columns = model.parts[k].family, model.plain_forms[k], grid.shape[1]
    # Few points at a time: a block may have thousands of columns.
    step, pieces = max(1, 2_000_000 // max(1, n_columns * len(model.classes))), []
    with np.errstate(all="ignore"):
        for first in range(0, len(grid), step):
            x = grid[first : first + step]
            scores = form.cells(family.support.views_of(x))
            scores = scores.reshape(*scores.shape[:2], n_columns, -1)[:, :, own].sum(axis=3)
            pieces.append(scores + family.log_base_measure(x)[:, None, own])
    return np.moveaxis(np.concatenate(pieces), 1, 0)


def _of_classes(picture: Picture, classes: Positions) -> Picture:
    """Return a picture with the heights of these classes, as lists of numbers with four digits."""
    heights = picture["heights"]
    return picture | {
        "at": [v if isinstance(v, str) else float(f"{v:.6g}") for v in picture["at"]],
        "heights": []
        if heights is None
        else [[float(f"{v:.4g}") if np.isfinite(v) else None for v in own] for own in heights[classes]],
    }
