"""Settings of `TextNB` that are "auto": `fit` chooses them, and every fold of `loo_score_` chooses them again."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Positions
from sunrise.data.frame import Frame
from sunrise.data.labels import encode_labels, encode_partial_labels
from sunrise.data.weights import weights
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.estimators.procedure_score import score_procedure
from sunrise.estimators.training_rows import TrainingRows
from sunrise.inference.folds import hashes_of_table
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.word_choice import unseen_losses
from sunrise.model.encode_rows import encode_rows
from sunrise.model.settings import Settings
from sunrise.selection.text_settings import (
    CANDIDATES,
    CHARACTERS,
    MOST_SCORED,
    calibrated_losses,
    choose_settings,
)
from sunrise.text.counter import WordCounter


class AutoSettings(NaiveBayes):
    """Chooses the settings of a text model that are "auto" by leave-one-out scores."""

    model: str
    analyzer: str

    @abstractmethod
    def _counter(self, ngram_range: Any) -> WordCounter:
        """Return a counter of n-grams for this `ngram_range`, (shortest, longest)."""

    @property
    def _auto(self) -> list[str]:
        """Names of the settings that the user set to "auto"."""
        return [name for name in CANDIDATES if isinstance(v := getattr(self, name), str) and v == "auto"]

    def _settings_for(self, X: Any, y: Any, sample_weight: Any) -> tuple[Settings, Any]:
        """Choose the "auto" settings; return all settings of the fit, and the documents as a table."""
        if not self._auto:
            return super()._settings_for(X, y, sample_weight)
        if isinstance(y, str):
            raise ValueError(
                'with "auto" settings documents are read several times: pass lists of documents and labels.'
            )
        table = self._read_table(X, fitting=True)  # read once: it keeps the counts of its words
        labelled = self._labelled(table, y, sample_weight)
        self.__dict__["_choice"] = choice = self._choose_settings(self._auto, *labelled)
        try:
            settings = self._checked_settings()
        finally:
            del self.__dict__["_choice"]
        if "ngram_range" in choice:
            table.read(0).keep_counts(self._counter(choice["ngram_range"]))
        return settings, table

    def _labelled(self, table: Frame, y: Any, sample_weight: Any) -> tuple[Frame, Any, Any]:
        """Return the documents with a label, their labels and their weights: the rows that choose settings."""
        if self.unlabelled != "em":
            return table, y, sample_weight
        classes, codes = encode_partial_labels(type(self).__name__, y, table.n_rows)
        rows = np.flatnonzero(codes >= 0)
        w = weights(sample_weight, table.n_rows)
        return table.select_rows(rows), classes[codes[rows]], None if w is None else w[rows]

    def _choose_settings(self, wanted: list[str], table: Frame, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Return the values of the `wanted` settings with the least log loss of unseen documents, by name.

        N-grams are chosen first, by models with all their calibration; the other settings by models with a temperature,
        which takes less time.
        """
        if "alpha" in wanted and self.model == "dirichlet_multinomial":
            raise ValueError("dirichlet_multinomial estimates its alphas from the data. Use alpha=None.")
        candidates = dict(CANDIDATES)
        if self.analyzer != "word":
            candidates["ngram_range"] = CHARACTERS
        classes, codes = encode_labels(type(self).__name__, y, table.n_rows)
        w = weights(sample_weight, table.n_rows)
        some = np.arange(table.n_rows)
        if len(some) > MOST_SCORED:
            some = np.sort(np.random.default_rng(0).choice(some, MOST_SCORED, replace=False))

        def left_out(settings: dict[str, Any], documents: Positions) -> LeaveOneOut:
            """Fit a candidate to all documents, and return some of them to be left out."""
            params = {**self.get_params(), **settings, "calibrate": None, "unlabelled": "error"}
            model = type(self)(**params).fit(table, y, sample_weight)
            batch, _ = encode_rows(table.select_rows(documents), model._model)
            weight = None if w is None else w[documents]
            return self._leave_one_out_rows(model._model, batch, classes, codes[documents], weight)

        def quick_losses(settings: dict[str, Any]) -> Floats:
            return calibrated_losses(left_out(settings, some))

        def losses(settings: dict[str, Any]) -> Floats:
            """Judge a model with the weights of its words, if it gets them: they learn much of what n-grams say."""
            rows = left_out(settings, np.arange(table.n_rows))
            hashes = hashes_of_table(table, rows.model.schema)
            if self._resolved_kind(rows, hashes) == "words":
                return unseen_losses(rows, hashes)
            return calibrated_losses(rows.select_rows(some))

        found = {name: candidates[name][0] for name in wanted}
        if "ngram_range" in wanted:
            # The counts of the second range include those of the first.
            table.read(0).count_words(self._counter(candidates["ngram_range"][1]), None, self.n_jobs)
            found |= choose_settings(["ngram_range"], candidates, lambda own: losses({**found, **own}))
        others = [name for name in wanted if name != "ngram_range"]
        return found | choose_settings(others, candidates, lambda own: quick_losses({**found, **own}))

    def _recalibrate(self, settings: Settings, rows: TrainingRows, find_pairs: bool = False) -> None:
        """Calibrate the model; with "auto" settings, compute `loo_score_` by folds that choose the settings again."""
        super()._recalibrate(settings, rows, find_pairs)
        if not self._auto or "loo_score_" not in self.__dict__ or "_is_of_fold" in self.__dict__:
            return
        if rows.accumulator.labels is not None or self.unlabelled == "em":
            return  # folds of labelled documents would know nothing of the others

        def fit_part(table: Frame, y: Any, w: Any) -> Any:
            params = {**self.get_params(), "unlabelled": "error"}
            if not isinstance(self.class_prior, str):  # probabilities of classes, some of which may be absent
                prior = self._model.class_prior[np.isin(self._model.classes, y)]
                params["class_prior"] = prior / prior.sum()
            model = type(self)(**params)
            model.__dict__["_is_of_fold"] = True
            return model.fit(table, y, w)

        hashes = hashes_of_table(rows.table, self._model.schema)
        self.__dict__["loo_score_"] = score_procedure(fit_part, rows, hashes)

    def _resolved(self, name: str) -> Any:
        """Return the value of the setting `name`; if the user set it to "auto", the value that fit chose.

        During the choice the value comes from the candidate under test, afterwards from the fitted model. Raise
        ValueError before any fit.
        """
        value = getattr(self, name)
        if not (isinstance(value, str) and value == "auto"):
            return value
        if (choice := self.__dict__.get("_choice")) is not None:
            return choice[name]
        if "_model" not in self.__dict__:
            raise ValueError(f'{name}="auto" is chosen by fit. Call fit before partial_fit, or give a value.')
        family: Any = self._model.schema.parts[0].family
        if name == "alpha":
            return family.model.alpha
        return family.counter.ngram_range if name == "ngram_range" else getattr(family, name)
