"""Score of a whole fit, with all settings that the data choose, on documents that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels, Positions
from sunrise.data.frame import Frame
from sunrise.estimators.training_rows import TrainingRows
from sunrise.inference.folds import N_FOLDS, fold_of_rows
from sunrise.inference.scores import LooScore, score_of
from sunrise.inference.word_choice import MANY, MOST_JUDGED


def score_procedure(
    fit: Callable[[Frame, Labels, Floats | None], Any], rows: TrainingRows, hashes: Any
) -> LooScore:
    """Score documents by models that `fit` returns for the documents of the other folds.

    There are five folds with fewer than 5,000 documents, else two of 4,000 documents drawn from all. `hashes` of the
    documents make the folds. A document whose class has no document in the other folds is left out.
    """
    a = rows.accumulator
    some = np.arange(len(a.codes)) if a.weight is None else np.flatnonzero(a.weight > 0)
    n_folds, n = N_FOLDS if len(some) < MANY else 2, len(some)
    if n > MOST_JUDGED:
        some = np.sort(np.random.default_rng(0).choice(some, MOST_JUDGED, replace=False))
    y, weight = a.codes[some], None if a.weight is None else a.weight[some]
    fold = fold_of_rows(hashes[some], y, n_folds)
    log_p, prior = (np.full((len(some), len(a.classes)), -np.inf) for _ in range(2))
    is_scored = np.zeros(len(some), bool)
    for k in range(n_folds):
        rest, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if not len(own) or not len(rest):
            continue
        model = fit(
            _uncounted(rows.table, some[rest]),
            a.classes[y[rest]],
            None if weight is None else weight[rest],
        )
        at = labels.locate(a.classes, model.classes_)
        log_p[np.ix_(own, at)] = model.predict_log_proba(_uncounted(rows.table, some[own]))
        prior[np.ix_(own, at)] = model._model.log_class_prior
        is_scored[own] = np.isin(y[own], y[rest])
    method = f"{n_folds} folds" + (f" of {MOST_JUDGED:,} documents" if n > MOST_JUDGED else "")
    w = np.ones(len(some)) if weight is None else weight
    log_p, prior, y, w = log_p[is_scored], prior[is_scored], y[is_scored], w[is_scored]
    return score_of(log_p, prior, y, w, a.classes, int((~is_scored).sum()), method)


def _uncounted(table: Frame, rows: Positions) -> Frame:
    """Return some documents without the counts of their words, whose vocabulary is that of all documents."""
    part = table.select_rows(rows)
    part.read(0).keep_counts(None)
    return part
