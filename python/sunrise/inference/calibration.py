"""Calibration: fit weights and offsets to leave-one-out scores, and judge them by folds.

Leave-one-out scores are honest for everything that was not chosen by them. Weights, their strengths and families are
chosen by them, so the score of a calibrated model comes from folds: every fold is scored by a model of the other rows,
whose choices were made on the other rows. The same folds choose the strengths of the penalty.

With many rows per weight, the weights without a fold are fitted to the leave-one-out scores of the full model instead,
which saves the models of the folds. With few rows that would be too optimistic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Labels, Mask, Positions
from sunrise.inference.column_weights import ROUGH_TOLERANCE, ColumnWeights
from sunrise.inference.folds import N_FOLDS
from sunrise.inference.held_out import HeldOut
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.score_blocks import log_probabilities, usable_rows
from sunrise.inference.scores import LooScore, score_of
from sunrise.inference.temperature import Temperature, Uncalibrated
from sunrise.model.calibration_weights import Calibration
from sunrise.model.fitted import FittedModel
from sunrise.model.interaction import Interaction

#: From this number of rows per weight on, weights are cross-fitted to the leave-one-out scores of the full model.
ROWS_PER_WEIGHT = 50

#: Positions in the grid of strengths of the default and its neighbours, which are tried first.
NEIGHBOURS = (0, 1, 3)

#: Standard errors within which a strength counts as good as the best.
CLOSE = 0.25
#: A fold with fewer rows than this cannot rule out strengths.
ENOUGH_ROWS = 100


class Paired(NamedTuple):
    """A model with interactions, and which of them each fold chooses."""

    model: FittedModel
    #: Leave-one-out scores of the interactions, see `ColumnWeights.cells`.
    cells: tuple[Floats, ...]
    #: Held-out rows, scored by the model.
    held_out: HeldOut | None
    #: Folds x interactions, the last row is of all rows; None if every fold may use all of them.
    allowed: Mask | None
    #: Parameters with which the fit of all weights may begin.
    start: Floats


#: Finds interactions, given the objective without them, its parameters, the rows in its order and their folds (None:
#: without folds). None if there are no interactions.
FindPairs = Callable[[ColumnWeights, Floats, Positions, Codes | None], Paired | None]


class Rest(NamedTuple):
    """The rows of the other folds (each to be left out), and the rows of a fold, scored by the model of the others."""

    rows: LeaveOneOut
    held_out: HeldOut
    find_pairs: FindPairs | None = None


#: Learns the rows outside a fold.
LearnRest = Callable[[int], Rest]

_OBJECTIVES: dict[str | None, Any] = {
    "columns": ColumnWeights,
    "temperature": Temperature,
    None: Uncalibrated,
}


class Calibrated(NamedTuple):
    """A calibration, and the score by folds of the calibrated model."""

    calibration: Calibration | None
    score: LooScore
    #: The model, with the interactions that were found.
    model: FittedModel
    #: The pairs of columns that a search for interactions has considered; None without a search.
    candidates: tuple[Interaction, ...] | None = None


def calibrate(
    rows: LeaveOneOut,
    kind: str | None,
    fold: Codes,
    learn_rest: LearnRest | None,
    find_pairs: FindPairs | None = None,
) -> Calibrated:
    """Calibrate a model on its training rows, and score it by folds; the calibration is None if `kind` is None.

    `fold` is the fold of every row. If `learn_rest` is None, the leave-one-out scores of the full model are used.
    """
    kind_of_objective = _OBJECTIVES[kind]
    model, usable = rows.model, usable_rows(rows)
    left_out = int((rows.is_only_row_of_class & (rows.fitted_weight > 0)).sum())
    use = _sample(usable, kind_of_objective.most_rows(rows))
    if len(use) == 0 or len(model.classes) < 2 or not model.parts:
        plain = Calibration.none(kind, model.schema.n_summands, model.classes) if kind else None
        return Calibrated(plain, rows.score(rows.log_proba()), model)
    if len(use) < len(usable):  # no other rows are scored
        rows, fold, use = rows.select_rows(use), fold[use], np.arange(len(use))
    use = use[np.argsort(fold[use], kind="stable")]
    objective = kind_of_objective.of(rows, use)
    start, paired = None, None
    if find_pairs is not None:
        start = objective.solve_nearly()
        paired = find_pairs(objective, start, use, fold[use])
    if paired is not None:
        model, start = paired.model, paired.start
        rows = replace(rows, model=model)
        objective = objective.with_interactions(paired.cells, paired.allowed)
    v, exact = objective.solve_nearly(start), None
    n_choices = max(objective.n_weights, sum(1 for choice in model.schema.choices if choice.scores))
    if learn_rest is None or len(use) >= ROWS_PER_WEIGHT * n_choices:
        trials, exact = _cross_fit(rows, use, objective, fold[use], v)
        method = "cross-fitted"
    else:
        trials = _learn_folds(objective, learn_rest, np.unique(fold[use]).tolist(), v)
        method = f"{N_FOLDS} folds"
    best, score = _judge(trials, model.classes, left_out, method)
    calibration = None
    if kind:
        calibration = objective.calibration(rows, objective.refine(best, v, exact), objective.grid[best])
    return Calibrated(calibration, score, model)


@dataclass(frozen=True)
class _Trial:
    """A fold, scored with the parameters of every strength that were fitted without the fold."""

    objective: Any
    #: Sample weights of the rows, and the parameters for every strength.
    weight: Floats
    parameters: list[Floats]
    #: Log class prior of the model, and that of the model without each row.
    log_prior: Floats
    log_prior_without: Floats
    #: The strengths that were tried; None if all were.
    wanted: Mask | None = None

    @cached_property
    def losses(self) -> Floats:
        """The log loss of every row under the class frequencies, strengths x rows."""
        losses = np.full((len(self.parameters), len(self.objective.y)), np.inf)
        tried = [k for k in range(len(losses)) if self.wanted is None or self.wanted[k]]
        # Strengths of wide tables have the same parameters.
        distinct = {id(self.parameters[k]): self.parameters[k] for k in tried}
        positions = {key: at for at, key in enumerate(distinct)}
        known = self.objective.row_losses(list(distinct.values()))
        losses[tried] = known[[positions[id(self.parameters[k])] for k in tried]]
        return losses

    def promising(self) -> Mask:
        """Return the mask of the strengths whose loss is at most two standard errors above the least, and the first.

        A fold of few rows cannot tell, and trying all strengths on few rows costs little.
        """
        losses = self.losses
        if losses.shape[1] < ENOUGH_ROWS:
            return np.asarray(np.isfinite(losses).all(axis=1))
        best = losses[losses.mean(axis=1).argmin()]
        excess = np.where(np.isfinite(losses), losses, best + 1e6) - best
        error = excess.std(axis=1) / np.sqrt(excess.shape[1])
        promising = np.asarray((excess.mean(axis=1) <= 2.0 * error) & np.isfinite(losses).all(axis=1))
        promising[0] = True
        return promising

    def log_proba(self, strength: int) -> Floats:
        """Return the predictions under the class prior of the model, rows x classes."""
        return log_probabilities(self.log_prior + self.objective.scores(self.parameters[strength]))


def _cross_fit(
    rows: LeaveOneOut, use: Positions, objective: Any, fold: Codes, v: Floats
) -> tuple[list[_Trial], Floats | None]:
    """Return trials on leave-one-out scores of the full model, and the Hessian of the loss at v, if it is known.

    The rows are sorted by fold. The strengths at the far ends of the grid are tried only if the default is not the best
    of its neighbours.
    """
    ends = np.searchsorted(fold, np.arange(N_FOLDS + 1))
    folds = [k for k, (a, b) in enumerate(pairwise(ends)) if b > a]
    parts = [slice(ends[k], ends[k + 1]) for k in folds]
    weight, prior, model = _sample_weight(rows, use), rows.log_class_prior(use), rows.model
    without = objective.without_parts(parts, folds, v)
    grid, trials = np.arange(len(objective.grid)), []
    known: dict[int, list[Floats]] = {}
    for wanted in (np.isin(grid, NEIGHBOURS), np.ones(len(grid), bool)):
        for k in np.flatnonzero(wanted).tolist():
            known[k] = known[k] if k in known else without.parameters(k)
        parameters = [[known.get(k, known[0])[at] for k in grid.tolist()] for at in range(len(parts))]
        trials = [
            _Trial(objective.select_rows(part), weight[part], own, model.log_prior, prior[part], wanted)
            for part, own in zip(parts, parameters, strict=True)
        ]
        if (
            wanted.all()
            or np.concatenate([trial.losses for trial in trials], axis=1).mean(axis=1).argmin() == 0
        ):
            break
    return trials, without.curvature


def _learn_folds(of_all: Any, learn_rest: LearnRest, folds: list[int], v: Floats) -> list[_Trial]:
    """Return trials with a model of the other rows for each fold; fits start from those of all rows.

    Strengths that are clearly worse in the first fold are not tried in the others, and the strengths at the far ends of
    the grid only if the default is not the best of its neighbours.
    """
    trials: list[_Trial] = []
    everything = np.ones(len(of_all.grid), bool)
    wanted = everything & np.isin(np.arange(len(everything)), NEIGHBOURS)
    for k in folds:
        rest, held_out, find_pairs = learn_rest(k)
        learn, use = usable_rows(rest), usable_rows(held_out)
        if not len(use) or not len(learn):
            continue
        objective, start = of_all.of(rest, learn, of_all), v
        if find_pairs is not None:
            # A copy, so that rows without interactions have the same results as without a search.
            columns_alone = replace(objective, _last_curvature=[])
            of_columns = columns_alone.solve(objective.grid[0], None, ROUGH_TOLERANCE)
            if (paired := find_pairs(objective, of_columns, learn, None)) is not None:
                objective = objective.with_interactions(paired.cells, paired.allowed)
                start = paired.start
                held_out = held_out if paired.held_out is None else paired.held_out
        held = of_all.of(held_out, use, objective)
        weight, prior = _sample_weight(held_out, use), held_out.log_class_prior(use)
        fitted = objective.solve_all(start, wanted)
        trial = _Trial(held, weight, fitted, held_out.model.log_prior, prior, wanted)
        if not trials:
            if trial.losses.mean(axis=1).argmin() != 0:
                trial = replace(trial, parameters=objective.solve_all(start, everything), wanted=everything)
            wanted = trial.promising()
        trials.append(trial)
    return [replace(trial, wanted=wanted) for trial in trials]


def _judge(trials: list[_Trial], classes: Labels, left_out: int, method: str) -> tuple[int, LooScore]:
    """Return the best strength, and the score of the model; no fold has a say in its own strength."""
    losses = [trial.losses for trial in trials]
    weights = [trial.objective.weight for trial in trials]
    predictions = []
    for k, trial in enumerate(trials):
        others = [i for i in range(len(trials)) if i != k] or [k]
        best = _best_strength([losses[i] for i in others], [weights[i] for i in others])
        predictions.append(trial.log_proba(best))
    y, weight = (
        np.concatenate(parts) for parts in zip(*((t.objective.y, t.weight) for t in trials), strict=True)
    )
    log_p, prior = np.concatenate(predictions), np.concatenate([t.log_prior_without for t in trials])
    score = score_of(log_p, prior, y, weight, classes, left_out, method)
    return _best_strength(losses, weights), score


def _best_strength(losses: list[Floats], weights: list[Floats]) -> int:
    """Return the strength of the least loss; the first one unless another is better by a standard error.

    Of strengths that are as good as the best, the last is taken, which shrinks the weights most.
    """
    loss, weight = np.concatenate(losses, axis=1), np.concatenate(weights)
    share = weight / weight.sum()
    means = (loss * share).sum(axis=1)
    best = int(np.argmin(means))
    if _excess(loss[0] - loss[best], share) <= 1.0:
        return 0
    tried = np.flatnonzero(np.isfinite(means)).tolist()
    return max(k for k in tried if k == best or _excess(loss[k] - loss[best], share) <= CLOSE)


def _excess(difference: Floats, share: Floats) -> float:
    """Return the mean of the differences in standard errors."""
    mean = float((difference * share).sum())
    error = float(np.sqrt((((difference - mean) * share) ** 2).sum()))
    return mean / error if error > 0 else 0.0


def _sample(use: Positions, most: int) -> Positions:
    """Return all rows, or a fixed uniform sample."""
    if len(use) <= max(1, most):
        return use
    return np.sort(np.random.default_rng(0).choice(use, max(1, most), replace=False))


def _sample_weight(rows: LeaveOneOut, use: Positions) -> Floats:
    return np.ones(len(use)) if rows.weight is None else rows.weight[use]
