"""Choice of the layers of `inference/word_weights.py`, and the fit of the chosen layers to all documents.

Bands overfit small collections, and learned weights overfit short and noisy texts. Cross-validation therefore decides
whether bands have factors, whether words have learned weights, and how strong the penalty on these is: for each fold, a
model and its layers are fitted to the documents outside the fold and predict the documents of the fold. The same
predictions give `loo_score_`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise._common.threads import limited_to, spread
from sunrise.data.blocks import Batch, Rows, WordsBlock
from sunrise.families.capabilities import Documents
from sunrise.inference.calibration import Calibrated
from sunrise.inference.folds import N_FOLDS, fold_of_rows
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.score_blocks import usable_rows
from sunrise.inference.scores import score_of
from sunrise.inference.word_weights import Held, Layers, Learner
from sunrise.model.calibration_weights import Calibration
from sunrise.model.fitted import FittedModel
from sunrise.model.word_weights import WordWeights
from sunrise.statistics.model import Stats

#: Penalty factors of |v|^2 / 2, times the mean squared length of the documents, from strong to weak. The search ends at
#: the first that does not improve, so weak factors cost time only where documents are easy to tell apart.
STRENGTHS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
#: In folds, the search for learned weights ends when a step gains less than this share of the loss without them.
ROUGH = 1e-4
#: Most documents on which bands and strength are chosen; with fewer than the second number there are five folds,
#: else two.
MOST_JUDGED, MANY = 4000, 5000
#: More flexible layers must be better by this number of standard errors.
CLEARLY = 0.5


def can_weight_words(model: FittedModel) -> bool:
    """True if a model has one text column whose score is a sum over words, so that words can have weights."""
    if len(model.parts) != 1 or not isinstance(model.parts[0].family, Documents):
        return False
    family = model.parts[0].family
    return family.reader.update_problem(family) is None and family.is_linear(model.params[0])


def calibrate_words(rows: LeaveOneOut, hashes: Any) -> Calibrated:
    """Calibrate a model of one text column on its training documents; `hashes` of the documents make the folds."""
    model, usable = rows.model, usable_rows(rows)
    left_out = int((rows.is_only_row_of_class & (rows.fitted_weight > 0)).sum())
    if len(usable) == 0 or len(model.classes) < 2 or not model.parts:
        return Calibrated(
            Calibration.none("words", len(model.schema.names), model.classes),
            rows.score(rows.log_proba()),
            model,
        )
    if len(usable) < rows.batch.n_rows:
        rows, hashes = rows.select_rows(usable), hashes[usable]
    chosen, strength, predictions = _choose(rows, hashes)
    learner = Learner(rows)
    layers = learner.fit_bands() if chosen else learner.plain
    if strength is not None:
        layers = learner.fit_words(layers, strength)
    at, log_p, method = predictions
    weight = np.ones(len(at)) if rows.weight is None else rows.weight[at]
    score = score_of(log_p, rows.log_class_prior(at), rows.y[at], weight, model.classes, left_out, method)
    objective, v, _ = learner._temperature
    calibration = objective.calibration(rows, v, None)
    learned, words = learner.learned_of(layers), learner.words
    if learned is None:
        learned, words = np.zeros((0, len(model.classes)), np.float32), words[:0]
    bands = layers.bands if chosen else np.ones(1)
    weights = WordWeights.of(learner.vocabulary, words, model.classes, learned, bands, strength)
    offsets = dict(zip(model.classes.tolist(), layers.offsets.tolist(), strict=True))
    return Calibrated(replace(calibration, kind="words", offsets=offsets, words=weights), score, model)


def unseen_losses(rows: LeaveOneOut, hashes: Any) -> Floats:
    """Return the log losses of the documents of all folds, each by weights that were fitted and chosen without it."""
    usable = usable_rows(rows)
    rows, hashes = rows.select_rows(usable), hashes[usable]
    _, _, (at, log_p, _) = _choose(rows, hashes)
    return np.asarray(-log_p[np.arange(len(at)), rows.y[at]])


def _choose(rows: LeaveOneOut, hashes: Any) -> tuple[bool, float | None, tuple[Positions, Floats, str]]:
    """Choose by cross-validation: factors of bands or not, and the strength of the penalty (None: no learned weights).

    The third result has the scored documents, their log-probabilities, and the name of the method for `loo_score_`. A
    document is predicted under the choice that is best for the other folds.
    """
    n = rows.batch.n_rows
    n_folds = N_FOLDS if n < MANY else 2
    some = np.arange(n)
    if n > MOST_JUDGED:
        some = np.sort(np.random.default_rng(0).choice(n, MOST_JUDGED, replace=False))
    fold = fold_of_rows(hashes[some], rows.y[some], n_folds)
    small = _fewer_words(rows.select_rows(some))
    block: Any = small.batch.blocks[0]
    n_threads = engines.threads(rows.model.n_jobs, len(block.data) * len(rows.model.classes))

    def hold(k: int) -> tuple[Positions, Held] | None:
        rest, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        learner = Learner(_fit_rows(small, rest, max(1, n_threads // n_folds)))
        if len(own) == 0 or len(usable_rows(learner.rows)) < len(rest):
            return None
        return some[own], Held(learner, block.select_rows(own), small.y[own])

    # Folds side by side keep cores busier than threads within a fold, whose steps are short.
    together = min(n_folds, n_threads)
    folds = [own for own in spread(hold, range(n_folds), together) if own is not None]
    at, held = [own for own, _ in folds], [own for _, own in folds]
    if not held:  # a class has only one document outside every fold
        return False, None, (np.arange(n), rows.log_proba(), "leave-one-out")
    everywhere = np.concatenate(at)
    trials = Trials(held, rows.y[everywhere], rows.fitted_weight[everywhere], together)
    use_bands, strength = trials.search()
    method = f"{len(held)} folds" + (f" of {MOST_JUDGED:,} documents" if n > MOST_JUDGED else "")
    return use_bands, strength, (everywhere, trials.log_proba(), method)


@dataclass
class Trials:
    """All choices that were tried, with their predictions for the documents of all folds (classes y, weights)."""

    held: list[Held]
    y: Codes
    weight: Floats
    #: Number of folds that are fitted at the same time.
    n_threads: int = 1

    def __post_init__(self) -> None:
        #: By choice (bands, strength): the layers of every fold, and the log-probabilities of all documents.
        self._tried: dict[tuple[bool, float | None], tuple[list[Layers], Floats]] = {}

    def _try(self, use_bands: bool, strength: float | None, start: list[Layers] | None = None) -> Floats:
        """Fit the layers of a choice in every fold, and return the loss of every document.

        `start` has layers of another choice, at whose learned weights the search starts.
        """
        starts: list[Layers | None] = [None] * len(self.held)
        if strength is not None:
            plain = self._tried[use_bands, None][0]
            before = plain if start is None else start
            starts = [a._replace(coefficients=b.coefficients) for a, b in zip(plain, before, strict=True)]

        def layers_of(fold: tuple[Held, Layers | None]) -> tuple[Layers, Floats]:
            return _fit_fold(*fold, use_bands, strength)

        fitted = spread(layers_of, zip(self.held, starts, strict=True), self.n_threads)
        log_p = np.concatenate([of_fold for _, of_fold in fitted])
        self._tried[use_bands, strength] = [layers for layers, _ in fitted], log_p
        return self._loss(log_p)

    def _loss(self, log_p: Floats) -> Floats:
        return np.asarray(-log_p[np.arange(len(self.y)), self.y])

    def search(self) -> tuple[bool, float | None]:
        """Return the choice with the least loss: factors of bands or not, and the strength of the penalty or None.

        First bands are chosen without learned weights. Then penalties are tried from strong to weak while they improve
        the loss. At the end the other choice of the bands is tried with the same penalty, and with weaker ones if it is
        better.
        """
        use_bands, strength, least = False, None, self._try(False, None)
        if self.held[0].learner.left.has_bands:
            loss = self._try(True, None)
            if _is_better(loss, least, self.weight):
                use_bands, least = True, loss
        strength, least = self._weaken(use_bands, None, least)
        if strength is not None and self.held[0].learner.left.has_bands:
            loss = self._try(not use_bands, strength, self._tried[use_bands, strength][0])
            if _is_better(loss, least, self.weight) or (
                use_bands and not _is_better(least, loss, self.weight)
            ):
                use_bands = not use_bands
                strength, least = self._weaken(use_bands, strength, loss)
        return use_bands, strength

    def _weaken(self, use_bands: bool, strength: float | None, least: Floats) -> tuple[float | None, Floats]:
        """Try weaker penalties than `strength` while they improve, and return the best strength with its losses.

        If there are no learned weights yet (None), the second strength is tried first: it usually helps. The strongest
        is tried only if the second does not help.
        """
        layers = None if strength is None else self._tried[use_bands, strength][0]
        for weaker in STRENGTHS[1:] if strength is None else STRENGTHS[STRENGTHS.index(strength) + 1 :]:
            loss = self._try(use_bands, weaker, layers)
            if not _is_better(loss, least, self.weight):
                break
            strength, least, layers = weaker, loss, self._tried[use_bands, weaker][0]
        if strength is None:
            loss = self._try(use_bands, STRENGTHS[0])
            if _is_better(loss, least, self.weight):
                strength, least = STRENGTHS[0], loss
        return strength, least

    def log_proba(self) -> Floats:
        """Return log-probabilities of all documents, each under the choice that is best for the other folds."""
        of_fold = np.repeat(np.arange(len(self.held)), [len(own.y) for own in self.held])
        tried = [log_p for _, log_p in self._tried.values()]
        losses, found = [self._loss(log_p) for log_p in tried], np.empty_like(tried[0])
        for k in range(len(self.held)):
            here, others = of_fold == k, (of_fold != k) | (len(self.held) == 1)
            means = [float(self.weight[others] @ loss[others]) for loss in losses]
            found[here] = tried[int(np.argmin(means))][here]
        return found


def _fit_fold(
    own: Held, start: Layers | None, use_bands: bool, strength: float | None
) -> tuple[Layers, Floats]:
    """Fit the layers of a choice outside a fold, and return them with the log-probabilities of its documents."""
    learner = own.learner
    with limited_to(learner.rows.model.n_jobs):
        if start is not None and strength is not None:
            layers = learner.fit_words(start, strength, ROUGH)
        else:
            layers = learner.fit_bands() if use_bands else learner.plain
        return layers, own.log_proba(layers)


def _is_better(new: Floats, old: Floats, weight: Floats) -> bool:
    """True if losses are lower than others by more than a part of the standard error."""
    gain = (old - new) * weight
    return bool(gain.sum() > CLEARLY * np.sqrt(((gain - gain.mean()) ** 2).sum()))


@dataclass(frozen=True)
class _Nameless:
    """Stands for the vocabulary of the models of folds, some words of another one, whose strings nobody reads."""

    whole: Any
    positions: Positions

    def n_items(self, analyzer: str) -> Any:
        """Number of words or characters of every n-gram."""
        return self.whole.n_items(analyzer)[self.positions]

    @property
    def words(self) -> Labels:
        """An empty string for every word."""
        return np.full(len(self.positions), "", dtype=object)


def _fewer_words(rows: LeaveOneOut) -> LeaveOneOut:
    """Return the rows without the columns of words that none of them contains."""
    block: Any = rows.batch.blocks[0]
    present = np.zeros(block.shape[1], bool)
    present[block.indices] = True
    place = (np.cumsum(present) - 1).astype(block.indices.dtype)
    shape = block.shape[0], int(present.sum())
    cells = block.data, place[block.indices], block.indptr, shape
    words = _Nameless(Learner(rows).vocabulary, np.flatnonzero(present))
    small = WordsBlock(*cells, block.n_words, block.missing, words)
    return LeaveOneOut(rows.model, Batch(rows.batch.n_rows, (small,)), rows.y, rows.weight)


def _fit_rows(rows: LeaveOneOut, some: Positions, n_jobs: int) -> LeaveOneOut:
    """Return some rows with a model of these rows only, which has its own number of threads."""
    model, y = rows.model, rows.y[some]
    weight = None if rows.weight is None else rows.weight[some]
    block: Any = rows.batch.blocks[0].select_rows(some)
    family, n = model.schema.parts[0].family, len(model.classes)
    settings = replace(model.settings, n_jobs=n_jobs)
    words = block.statistics(engines.current(), family.terms, family.fit_support, Rows(y, weight, n, n_jobs))
    w = np.ones(len(y)) if weight is None else weight
    stats = Stats(
        model.classes, np.bincount(y[w > 0], minlength=n), np.bincount(y, w, n).astype(float), (words,)
    )
    fitted = FittedModel(settings, model.schema, stats, model.classes)
    return LeaveOneOut(fitted, Batch(len(y), (block,)), y, weight)
