"""Algebra of models: merge, +, - and decay. All of them are operations on statistics.

A row that was learned weighs less after every `decay`; `decay_factor_` is the product of all decays since fit. The
quotient of two values of it says how much a row has lost between two moments, so that `forget` can remove the rest.
"""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np

from sunrise._common import labels
from sunrise.data.align import align
from sunrise.data.frame import Frame
from sunrise.data.kept_rows import KeptRows
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.stream import StreamMixin, empty_table
from sunrise.estimators.training_rows import TrainingRows
from sunrise.model.compression import put_on_grids_of
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.waking import wake_with
from sunrise.statistics.base import NEGLIGIBLE, NeverSeenError
from sunrise.statistics.model import Stats

#: Below this, products of decays lose digits, because floats end.
_SMALLEST_FACTOR = 1e-290


class AlgebraMixin(StreamMixin):
    """merge, +, - and decay."""

    decay_factor_ = FittedAttribute(
        lambda self: self.__dict__.get("_decay", 1.0),
        "Product of all decays since fit: what a row of weight 1 from the first data weighs now. 1.0 before any decay.",
    )

    def merge(self, other: Self) -> Self:
        """Add the statistics of another model; the result is the same as `partial_fit` on its training rows.

        Weights that have been decayed in either model are added as they are. `decay_factor_` stays that of this model.

        >>> from sunrise import MultinomialNB
        >>> a, b = MultinomialNB().fit([[1, 0]], ["x"]), MultinomialNB().fit([[0, 1]], ["y"])
        >>> a.merge(b).feature_count_
        array([[1., 0.],
               [0., 1.]])
        """
        self._require_same_type(other, "merge", "into")
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            if "_model" not in self.__dict__:
                self.__dict__.update(other.__dict__ | self.get_params(deep=False))
                self._set_state(settings, *self._current_state(settings), other._announced)
                return self
            self._refuse_fixed_parameters()
            factor = self.decay_factor_
            if not self._merge_kept(settings, other):
                self._merge_statistics(settings, other)
            if self._is_decayed or other._is_decayed:
                self.__dict__["_decay"] = factor
            for model in (self, other):
                model._warn_after_em("merge adds the statistics of the two models")
        return self

    def __add__(self, other: Self) -> Self:
        """Merge two models into a new one with the left one's settings."""
        return self._copy().merge(other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Self:
        """Let sum() begin from its 0."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return type(self)(**self.get_params()).merge(self)

    def __sub__(self, other: Self) -> Self:
        """Return a new model without the statistics of another one, which must have been part of this one.

        The settings and the decay factor are those of the left model. The weights are subtracted as they are in both.

        >>> from sunrise import BernoulliNB
        >>> a, b = BernoulliNB().fit([[0], [1]], ["x", "y"]), BernoulliNB().fit([[1]], ["z"])
        >>> (a + b - b).class_count_
        array([1., 1.])
        """
        self._require_fitted()
        self._require_same_type(other, "subtract", "from")
        new: Self = self._copy()
        with new._unchanged_on_failure():
            new._subtract(other)
        return new

    def _subtract(self, other: Any) -> None:
        """Remove the statistics of another model from this one."""
        settings = self._checked_settings()
        state = self._current_state(settings)
        self._refuse_fixed_parameters()
        for model in (self, other):
            model._warn_after_em("- removes the statistics of the right model from the left one")
        theirs = other.__dict__.get("_kept")
        if theirs is not None:
            self._remove_rows(settings, state, self._kept_rows(settings, theirs))
        elif "_kept" in self.__dict__:
            raise ValueError(
                f"The left {type(self).__name__} keeps its {self._kept.n_rows} rows until there are enough to choose "
                "families by, and the right one has only statistics, which do not tell which rows to remove. "
                "Use forget with the rows."
            )
        else:
            try:
                self._remove_statistics(settings, other._model.schema, other.stats_, other._is_decayed)
            except NeverSeenError as error:
                decayed = " Decay the right model as the left one was decayed." if self._is_decayed else ""
                raise ValueError(
                    f"The right model cannot be subtracted: {error}. Subtract only models that were merged into the "
                    f"left one, or fitted to some of its rows.{decayed}"
                ) from None

    def decay(self, factor: float, prune: float | None = None) -> Self:
        """Multiply the weights of all rows so far by `factor`, so that later rows weigh more; returns the model itself.

        Parameters
        ----------
        factor : float in [0, 1]
            Rows keep this share of their weights. 0 removes all evidence: classes and columns stay, and until more
            rows come, predictions are the class prior (uniform, unless it is given).
        prune : float, default=None
            Levels of a column, words, and kept values of kernel and Laplace columns whose weight over all classes is
            below `prune` leave the model, as if their cells were missing, so that a stream of new levels needs bounded
            memory. A word weighs as many (decayed) documents as contain it. While a model keeps its first rows, it
            prunes nothing.

        >>> from sunrise import CategoricalNB
        >>> model = CategoricalNB().fit([[0], [1]], ["a", "b"]).decay(0.5)
        >>> model.class_count_, model.decay_factor_
        (array([0.5, 0.5]), 0.5)
        """
        self._require_fitted()
        if not isinstance(factor, Real) or not 0.0 <= float(factor) <= 1.0:
            raise ValueError(
                f"factor is {factor!r}; it must be a number from 0 to 1, the share of weight that stays."
            )
        if prune is not None and (not isinstance(prune, Real) or not 0.0 <= float(prune) < math.inf):
            raise ValueError(f"prune is {prune!r}; it must be a weight, 0 or more, or None.")
        factor = float(factor)
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            schema, stats = self._current_state(settings)
            self._refuse_fixed_parameters()
            kept, total = self.__dict__.get("_kept"), self.decay_factor_ * factor
            if factor < 1.0:
                stats = stats.decayed(factor)
                kept = None if kept is None else kept.decayed(factor, NEGLIGIBLE)
                self.__dict__["_decay"] = total
            if prune is not None and kept is None:
                stats = stats.pruned(float(prune))
            if factor == 1.0 and (prune is None or kept is not None):
                return self
            self._set_state(settings, schema, stats, self._announced)
            self.__dict__.pop("_kept", None)
            if kept is not None and kept.n_rows:  # without a row, the families stay
                self._kept = kept
        return self

    @property
    def _is_decayed(self) -> bool:
        """True if weights of this model, or of one that was merged into it, have been decayed."""
        return "_decay" in self.__dict__

    def _decay_since(self, since: float | None) -> float:
        """Return the share of their weights that rows have kept since the decay factor was `since`."""
        total = self.decay_factor_
        if total == 0.0:
            raise ValueError(
                f"The weights of this {type(self).__name__} have been decayed to 0, so it cannot tell rows of before "
                "and after. Fit again to forget rows."
            )
        if since is None:
            if total == 1.0:
                return 1.0
            raise ValueError(
                f"The weights of this {type(self).__name__} have been decayed (decay_factor_ is {total:g}). Pass "
                "since=, the value of decay_factor_ when the rows were learned: forget removes what is left of them."
            )
        if not isinstance(since, Real) or not 0.0 < float(since) < math.inf or total > float(since):
            raise ValueError(
                f"since is {since!r}; it must be decay_factor_ at the time when the rows were learned, a number of at "
                f"least {total:g}, its present value."
            )
        if total < _SMALLEST_FACTOR:
            raise ValueError(
                f"decay_factor_ is {total:g}, so small that the share of a row that is left cannot be computed. Fit "
                "again to forget rows."
            )
        return total / float(since)

    # Removing.

    def _remove_rows(self, settings: Settings, state: tuple[Schema, Stats], rows: TrainingRows) -> None:
        """Remove rows from the model; its schema and statistics so far are `state`."""
        schema, previous = state
        kept = None
        try:
            if "_kept" in self.__dict__:
                kept = self._forget_kept(settings, rows, schema)
            table = align(rows.table, schema, type(self).__name__)
            removed = rows.accumulator.table(table, schema)
            remaining = previous.subtract(removed, self._is_decayed or rows.accumulator.decay is not None)
        except NeverSeenError as error:
            pruned = " decay may have removed them." if self._is_decayed else ""
            raise ValueError(
                f"These rows cannot be forgotten: {error}. Forget only rows that were fitted, with cells whose levels "
                f"suppress() has removed as missing.{pruned}"
            ) from None
        self._set_remaining(settings, schema, remaining, kept)

    def _remove_statistics(
        self, settings: Settings, schema: Schema, removed: Stats, is_decayed: bool = False
    ) -> None:
        """Remove statistics with their own schema, in which other columns may sleep than in that of the model."""
        schema, stats, _, removed = self._align_statistics(settings, schema, removed)
        remaining = stats.subtract(removed, self._is_decayed or is_decayed)
        self._set_remaining(settings, schema, remaining, None)

    def _set_remaining(self, settings: Settings, schema: Schema, stats: Stats, kept: KeptRows | None) -> None:
        """Set the statistics after a removal; without a row, the model is not fitted."""
        if not stats.rows.any():
            self._set_unfitted()
            return
        announced = self._announced
        if announced is None and isinstance(settings.class_prior, dict):
            announced = self.classes_  # the given prior needs all of its classes
        self._set_state(settings, schema, stats, announced)
        if kept is not None:
            self._kept = kept
            if kept.is_due:
                self._renew(settings, kept, announced)

    # Merging.

    def _require_same_type(self, other: Any, what: str, where: str) -> None:
        """Raise unless the other model is fitted, of the same type, and has training statistics."""
        if type(other) is not type(self):
            raise TypeError(
                f"cannot {what} {type(other).__name__} {where} {type(self).__name__}; both must be of one type"
            )
        other._require_fitted()
        other._refuse_fixed_parameters()

    def _merge_kept(self, settings: Settings, other: Any) -> bool:
        """Merge if one of the models keeps rows, and return True; else return False.

        Rows are added one model to the other: to the one that has chosen its families, if there is one.
        """
        mine, theirs = self.__dict__.get("_kept"), other.__dict__.get("_kept")
        if mine is None and theirs is None:
            return False
        announced = self.__dict__.get("_announced")
        if mine is not None and theirs is None:  # the schema of the other model stays
            params = self.get_params(deep=False)
            self._set_unfitted()
            self.__dict__.update(other.__dict__ | params)
            theirs = mine
        if announced is not None:
            announced = labels.union(announced, other.stats_.classes)
        self._add_rows(settings, self._kept_rows(settings, theirs), announced)
        return True

    def _merge_statistics(self, settings: Settings, other: Any) -> None:
        """Add the statistics of another model. Its columns may be in another order."""
        schema, stats, kinds, others = self._align_statistics(settings, other._model.schema, other.stats_)
        announced = self._announced
        if announced is not None:
            announced = labels.union(announced, others.classes)
        schema = schema.with_levels_of(other._model.schema)
        self._set_woken_state(settings, schema, stats + others, kinds, announced)

    def _align_statistics(
        self, settings: Settings, other_schema: Schema, others: Stats
    ) -> tuple[Schema, Stats, Frame, Stats]:
        """Return schema and statistics of this model, and the types of columns and statistics of another model.

        The blocks of the two statistics correspond: columns that sleep in one of the models only are woken up.
        """
        schema, stats = self._current_state(settings)
        place = {name: k for k, name in enumerate(other_schema.names)}
        named = schema.is_named and other_schema.is_named
        order = [place.get(name, -1) if named else j for j, name in enumerate(schema.names)]
        if (schema.asleep and stats.asleep is None) or (other_schema.asleep and others.asleep is None):
            stats, others = (
                replace(stats, asleep=None),
                replace(others, asleep=None),
            )  # EM does not count these cells
        elif -1 not in order and len(order) == len(other_schema.names):
            theirs = [other_schema.choices[k] for k in order]
            pairs = list(zip(order, schema.choices, theirs, strict=True))
            # A column that sleeps in one model only gets the family of the other model.
            old = [j for j, choice in enumerate(schema.choices) if choice.family is not None]
            woken = {j: b for j, (_, a, b) in enumerate(pairs) if a.asleep and not b.asleep}
            self._calibrate_woken(list(woken), old)
            schema, stats = wake_with(settings, schema, stats, woken)
            other_schema, others = wake_with(
                settings, other_schema, others, {k: a for k, a, b in pairs if b.asleep and not a.asleep}
            )
            if others.asleep is not None:
                sleeping = [other_schema.asleep.index(order[j]) for j in schema.asleep]
                others = replace(others, asleep=others.asleep.select_columns(np.array(sleeping, np.intp)))
        if -1 not in order and len(order) == len(other_schema.names):
            schema, stats = put_on_grids_of(schema, stats, other_schema, order)
            back = np.argsort(order).tolist()
            other_schema, others = put_on_grids_of(other_schema, others, schema, back)
        # Interactions that only one of the models has counted leave; this model decides which are scored.
        theirs_ = {*other_schema.interactions, *other_schema.counted}
        scored = [own for own in schema.interactions if own in theirs_]
        schema, stats = schema.rescored(stats, scored, [own for own in schema.counted if own in theirs_])
        other_schema, others = other_schema.rescored(others, schema.interactions, schema.counted)
        others = schema.aligned(other_schema, others)
        kinds = empty_table(schema.names, [other_schema.choices[k] for k in order])
        return schema, stats, kinds, others
