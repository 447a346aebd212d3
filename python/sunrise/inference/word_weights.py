"""Calibration of text by weights of words.

The model of words gives word j the weight R_jc for class c, from counts alone. This module corrects these weights in
three layers. Each layer is fitted to leave-one-out scores of the training documents, with the layers before it fixed:

1. Temperature: a factor t, an exponent g of the document length, and an offset d_c for every class.
2. Bands: words are grouped by the number of documents that contain them (1, 2-3, 4-7, ...). Each of the 12 groups has a
   factor w >= 0; a penalty keeps it close to 1.
3. Learned weights: a number v_jc for every word and class, added to the weight of the word. They are fitted by logistic
   regression, in which the scores of the first two layers are fixed offsets; a penalty keeps them close to 0. The
   penalty on the weight of an n-gram of k words is k^2 times that of a word, because its words have weights, too.

With x_j the scaled count and u_j the IDF weight of word j, the score of class c is

    log prior_c + d_c + f sum_j x_j u_j (w_band(j) R_jc + v_jc),   f = t (tokens + 1)^g
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.data.blocks import SparseBlock
from sunrise.families.documents_left_out import DocumentsLeftOut
from sunrise.families.left_out import Documents
from sunrise.inference.column_weights import OFFSET_PENALTY
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.optimise import Curvature, minimise
from sunrise.inference.score_blocks import log_frequencies, log_probabilities, score_unit, usable_rows
from sunrise.inference.temperature import Temperature
from sunrise.numerics.special import log

#: Penalty factor of (w_b - 1)^2.
BAND_PENALTY = 1.5
#: A step of the search for v gains at least this share of the loss without v.
TOLERANCE = 1e-5
#: Weights of bands are fitted to this number of documents, or scores (documents x classes x bands) if those are more.
BAND_ROWS, BAND_SCORES = 2048, 1 << 19


class Layers(NamedTuple):
    """The numbers of the three layers: factors of the bands (w), offsets of the classes (d), learned weights (v).

    `learned` is words x classes, for the positions in `Learner.words`; None if no weights are learned. It is the weight
    of an n-gram divided by `Learner.shares`. These numbers are a weighted sum of the training documents. `coefficients`
    (documents x classes, one column for two classes) are the weights of this sum, from which a search with another
    penalty starts.
    """

    bands: Floats
    offsets: Floats
    learned: NDArray[np.float32] | None = None
    coefficients: NDArray[np.float32] | None = None


def _sum_over_bands(scores: Floats, weights: Floats) -> Floats:
    """Add up scores (rows x bands x classes) over the bands, each times its weight; the result is rows x classes."""
    # Without BLAS, which would copy the scores and start threads of its own.
    return np.asarray(np.einsum("rbc,b->rc", scores, weights))


@dataclass
class Learner:
    """Fits the layers of one text model to leave-one-out scores of its training documents, `rows`."""

    rows: LeaveOneOut

    @cached_property
    def left(self) -> DocumentsLeftOut:
        """Computes the leave-one-out scores of the text column."""
        hook: Any = self.rows._hooks[0]
        return hook.documents  # type: ignore[no-any-return]

    @cached_property
    def n_threads(self) -> int:
        """Number of threads of the native functions: `n_jobs` of the model, or 1 if there is little to compute.

        The work is counted in cells: distinct words of every document, times classes.
        """
        block: Any = self.rows.batch.blocks[0]
        return engines.threads(self.rows.model.n_jobs, len(block.data) * len(self.rows.model.classes))

    @cached_property
    def _documents(self) -> Documents:
        """The training documents as scaled counts of words, with the band of every word."""
        block: Any = self.rows.batch.blocks[0]
        return self.left.documents(block, self.rows.fitted_weight, self.left.has_bands)

    @cached_property
    def _bands(self) -> Floats:
        """Leave-one-out scores of the training documents, one sum per band of words: rows x bands x classes."""
        rows = self.rows
        scores = self.left.band_scores(self._documents, rows.y, rows.fitted_weight, self.n_threads)
        if scores is None:
            raise ValueError(
                'calibrate="words" needs estimate="mean" with this model. Use calibrate="temperature".'
            )
        scores[rows.batch.missing_documents(0)] = 0.0
        if (is_refused := scores == np.inf).any():
            rows._refuse_rows(np.asarray(is_refused.any(axis=(1, 2))))
        rows._joint_cache[0] = _sum_over_bands(scores, np.ones(scores.shape[1]))
        return scores

    @cached_property
    def _temperature(self) -> tuple[Temperature, Floats, float]:
        """The first layer: its objective, its fitted parameters, and the factor of `score_unit`."""
        _ = self._bands  # the temperature reads their sums
        rows = self.rows
        use = np.arange(rows.batch.n_rows)
        most = Temperature.most_rows(rows)
        if len(use) > most:
            use = np.sort(np.random.default_rng(0).choice(use, most, replace=False))
        objective = Temperature.of(rows, use)
        return objective, objective.solve(), score_unit(rows, 0, usable_rows(rows))

    def factors(self, block: Any) -> Floats:
        """Return the factor f of every document of a block: t (tokens + 1)^g, see the module."""
        objective, v, unit = self._temperature
        return np.asarray(unit * np.exp(objective.log_t(v) + v[1] * np.log1p(block.lengths())))

    @cached_property
    def plain(self) -> Layers:
        """The first layer alone: all bands have the factor 1, and no weights are learned."""
        objective, v, _ = self._temperature
        return Layers(np.ones(self._bands.shape[1]), v[objective.n_weights :])

    @cached_property
    def _factors(self) -> Floats:
        """The factor f of every training document."""
        return self.factors(self.rows.batch.blocks[0])

    @cached_property
    def _prior(self) -> Floats:
        """Log frequencies of the classes, rows x classes."""
        return log_frequencies(self.rows, np.arange(self.rows.batch.n_rows))

    def fit_bands(self) -> Layers:
        """Return the first two layers: the temperature, and a factor for every band."""
        rows, n = self.rows, self.rows.batch.n_rows
        some, most = np.arange(n), max(BAND_ROWS, BAND_SCORES // self._bands[0].size)
        if n > most:
            some = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
        weight, total = rows.fitted_weight[some], float(rows.fitted_weight.sum())
        cells = self._bands[some] * self._factors[some, None, None]
        cells = np.ascontiguousarray((cells[:, :, 1:] - cells[:, :, :1]).transpose(0, 2, 1)).ravel()
        data = [cells], self._prior[some], rows.y[some], weight / weight.sum()
        n_bands, start = self._bands.shape[1], self.plain
        penalty = np.repeat([BAND_PENALTY, OFFSET_PENALTY], [n_bands, len(start.offsets)]) / total
        centre = np.repeat([1.0, 0.0], [n_bands, len(start.offsets)])

        def objective(p: Floats) -> tuple[float, Floats]:
            value, by_band, by_class = engines.current().loss(*data, p[:n_bands], p[n_bands:], self.n_threads)
            gradient = np.concatenate([by_band, by_class]) + 2.0 * penalty * (p - centre)
            return value + float(penalty @ (p - centre) ** 2), gradient

        def hessian(p: Floats) -> Floats:
            curvature = engines.current().curvature(*data, p[:n_bands], p[n_bands:], self.n_threads)
            return np.asarray(curvature + np.diag(2.0 * penalty))

        fixed = ~self._temperature[0].has_offset
        low = np.concatenate([np.zeros(n_bands), np.where(fixed, start.offsets, -np.inf)])
        high = np.concatenate([np.full(n_bands, np.inf), np.where(fixed, start.offsets, np.inf)])
        first = np.concatenate([start.bands, start.offsets])
        p = minimise(objective, Curvature(hessian), first, (low, high), 1e-6)
        return Layers(p[:n_bands], p[n_bands:])

    @cached_property
    def words(self) -> Positions:
        """Positions of the words that get learned weights: more than one document contains them."""
        return np.flatnonzero(self.left._is_used)

    @property
    def vocabulary(self) -> Any:
        """The vocabulary of the model."""
        known = self.rows.model.blocks[0].vocabulary
        return known if known is not None else getattr(self.rows.batch.blocks[0], "vocabulary", None)

    @cached_property
    def shares(self) -> Floats | None:
        """1 / the number of words of every n-gram in `words`; None if all are single words."""
        family: Any = self.rows.model.parts[0].family
        parts = family.parts_of_ngrams(self.vocabulary)
        return None if parts is None else 1.0 / parts[self.words]

    @cached_property
    def _z(self) -> SparseBlock:
        """The matrix of the training documents that is multiplied by the learned weights, see `_columns`."""
        return self._columns(self._documents, self._factors)

    @cached_property
    def _mean_square(self) -> float:
        """The mean squared length of the rows of `_z`."""
        weight, z = self.rows.fitted_weight, self._z
        squares = np.repeat(weight, np.diff(z.indptr)) * z.data.astype(np.float64) ** 2
        return float(squares.sum()) / float(weight.sum())

    def _columns(self, documents: Documents, factors: Floats) -> SparseBlock:
        """Return the matrix to multiply by `Layers.learned`: f x_j u_j share_j, documents x positions in `words`."""
        idf, place = self.left.family.weight_to_apply, np.full(documents.shape[1], -1, np.int32)
        if self.shares is not None:
            idf = idf.copy()
            idf[self.words] *= self.shares
        place[self.words] = np.arange(len(self.words), dtype=np.int32)
        place[np.isnan(idf)] = -1  # ignored words
        rest = idf, documents.stretch * factors, self.n_threads
        moved: SparseBlock = engines.current().move_columns(documents, place, *rest)
        return replace(moved, shape=(documents.shape[0], len(self.words)))

    def learned_of(self, layers: Layers) -> NDArray[np.float32] | None:
        """Return the learned weights of the words, words x classes; None if no weights are learned."""
        if layers.learned is None or self.shares is None:
            return layers.learned
        return layers.learned * self.shares[:, None].astype(np.float32)

    def fit_words(self, layers: Layers, strength: float, tolerance: float = TOLERANCE) -> Layers:
        """Return the layers with learned weights of words, fitted under a penalty with the factor `strength`.

        The search starts at the learned weights of `layers` if there are any, else at 0. A larger `strength` gives
        smaller weights.
        """
        rows, n_classes = self.rows, len(self.rows.model.classes)
        offsets = _sum_over_bands(self._bands, layers.bands) * self._factors[:, None]
        # A class without documents has the log-frequency -inf, and the search needs numbers.
        offsets += np.maximum(self._prior, -1e6)
        offsets += layers.offsets
        weight, z = rows.fitted_weight, self._z
        penalty = strength * self._mean_square
        width = 1 if n_classes == 2 else n_classes
        if penalty == 0.0:
            return layers._replace(learned=np.zeros((len(self.words), n_classes), np.float32))
        start = layers.coefficients
        if start is None:
            start = np.zeros((len(rows.y), width), np.float32)
        penalty /= 2.0 if n_classes == 2 else 1.0  # one column stands for v and -v
        rest = start, penalty, tolerance, self.n_threads
        v, coefficients = engines.current().word_weights(z, offsets, rows.y, weight, *rest)
        learned = np.float32(0.5) * np.concatenate([-v, v], axis=1) if n_classes == 2 else v
        return layers._replace(learned=learned, coefficients=coefficients)


@dataclass
class Held:
    """Documents that a learner was not fitted to, with their labels, to judge its layers."""

    learner: Learner
    block: Any
    y: Codes

    @cached_property
    def _documents(self) -> Documents:
        """The documents as scaled counts of words; one band for all words if the model has no bands."""
        left = self.learner.left
        documents = left.new_documents(self.block)
        if not left.has_bands:
            documents = replace(documents, bands=np.zeros_like(documents.bands), n_bands=1)
        return documents

    @cached_property
    def _bands(self) -> Floats:
        """Scores of the documents, one sum per band of words: rows x bands x classes."""
        nothing = np.zeros(len(self.y))
        scores = self.learner.left.band_scores(self._documents, self.y, nothing, self.learner.n_threads)
        if scores is None:
            raise ValueError("new documents have scores by all statistics")
        if self.block.missing is not None:
            scores[self.block.missing] = 0.0
        return scores

    @cached_property
    def _z(self) -> Any:
        """The sparse matrix that is multiplied by the learned weights."""
        return self.learner._columns(self._documents, self.learner.factors(self.block)).matrix

    def log_proba(self, layers: Layers) -> Floats:
        """Return the log-probabilities of the classes by these layers, rows x classes; the prior is by frequency."""
        model = self.learner.rows.model
        scores = _sum_over_bands(self._bands, layers.bands) * self.learner.factors(self.block)[:, None]
        if layers.learned is not None:
            scores += self._z @ layers.learned
        prior = log(model.stats.weight / model.stats.weight.sum()) if model.is_generative else 0.0
        return log_probabilities(np.maximum(scores + layers.offsets + prior, -1e300))
