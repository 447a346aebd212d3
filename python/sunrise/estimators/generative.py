"""What a model of the rows can do beside predicting: priors, decisions, densities, samples, information."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels, Positions
from sunrise.data import write
from sunrise.data.frame import is_single
from sunrise.engines import array
from sunrise.estimators.prediction import PredictionMixin
from sunrise.inference.decisions import decisions
from sunrise.inference.sampling import sample_rows
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.numerics.special import log_sum_exp
from sunrise.selection.mutual_information import most_informative, mutual_information


def _is_density(model: GenerativeMixin) -> bool:
    """Whether the model may be one of the rows; scikit-learn asks by hasattr."""
    return model._density


class GenerativeMixin(PredictionMixin):
    """Class priors, decisions, densities, samples and mutual information."""

    families: Any

    #: False if the model is never a distribution of the rows (a complement).
    _density: ClassVar[bool] = True

    def with_class_prior(self, class_prior: Any) -> Self:
        """The same model with another class prior: "uniform", probabilities in class order, or a dict by label.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
        >>> model.with_class_prior({"a": 0.1, "b": 0.9}).class_prior_
        array([0.1, 0.9])
        """
        self._require_fitted()
        new: Self = self._copy()
        setting = "priors" if "priors" in self.get_params() else "class_prior"
        new.set_params(**{setting: class_prior})  # so that it stays in later updates
        settings = replace(self._model.settings, class_prior=class_prior)
        new._set_state(settings, self._model.schema, self.stats_, self._announced)
        new._set_calibration(self._model.calibration)  # offsets stay: they would undo another prior
        return new

    def decide(self, X: Any, cost: Any = None, abstain: float | None = None) -> NDArray[Any]:
        """The decision of least expected cost for every row.

        `cost` is a table of true classes x decisions in the order of `classes_`, or a dict from (true class, decided
        class) to a cost; what is not said costs 0 where right and 1 where wrong. Rows whose least expected cost is
        above `abstain` are left undecided: None.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [3.0], [4.0]], ["well", "well", "sick", "sick"])
        >>> model.decide([[0.5], [1.9]], cost={("sick", "well"): 20.0}).tolist()
        ['well', 'sick']
        >>> model.decide([[0.5], [2.0]], abstain=0.1).tolist()
        ['well', None]
        """
        return decisions(self.predict_proba(X), self.classes_, cost, abstain)

    @available_if(_is_density)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Floats:
        """Log density of every row, log p(x), whatever its class; what is missing is integrated out.

        The lower, the stranger: an outlier score. Columns that the model leaves out are no part of it.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB.from_parameters([[0.0]], [[1.0]], classes=["only"])
        >>> model.score_samples([[0.0], [5.0]]).round(3)
        array([ -0.919, -13.419])
        """
        batch, _ = self._encode(X)
        fitted = self._model.uncalibrated
        for part in fitted.parts:
            if not part.family.generative:
                raise ValueError(
                    f"{part.family.name} is not a distribution of the cells, so rows have no density under it."
                )
        joint = self._scored(batch, "joint", fitted)
        total = log_sum_exp(joint, axis=1)
        for part, params, block in zip(fitted.parts, fitted.params, batch.blocks, strict=True):
            pieces = (np.where(params.known, block.numbers(rows), np.nan) for rows in array.pieces(block))
            measures = (np.nansum(part.family.log_base_measure(x), axis=1) for x in pieces)
            total = total + np.concatenate([np.empty(0), *measures])
        return np.asarray(total)

    def sample(self, n: int = 1, y: Any = None, random_state: Any = None) -> tuple[Any, Labels]:
        """Draw rows from the model, in the columns' own types, and their labels.

        `y` is the label of all rows, or one for each; else labels are drawn from the class prior. Rows come as the kind
        of table the model was fitted to (a dict of columns where that was no frame, an array for single-family
        estimators); columns that the model leaves out are missing. A multinomial block draws one count a row. Yes and
        no by a threshold (`binarize`) are drawn as 1 above it and as the threshold itself.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short"] * 9, "n": [0.5, 2.5] * 9}, ["a", "b"] * 9)
        >>> rows, labels = model.sample(2, y="b", random_state=0)
        >>> rows["hair"], labels
        (['short', 'short'], array(['b', 'b'], dtype='<U1'))
        """
        self._require_fitted()
        rng = np.random.default_rng(random_state)
        fitted = self._model
        if y is None:
            codes = rng.choice(len(fitted.classes), n, p=fitted.class_prior).astype(np.int32)
        else:
            wanted = np.full(n, y) if is_single(y) else np.asarray(labels.as_array(y))
            if len(wanted) != n and n != 1:
                raise ValueError(f"y holds {len(wanted)} labels for {n} rows.")
            codes = labels.locate(fitted.classes, wanted).astype(np.int32)
            if (codes < 0).any():
                strange = wanted[codes < 0].tolist()[0]
                raise ValueError(f"{strange!r} is not one of the classes {fitted.classes.tolist()}.")
        return self._as_table(sample_rows(fitted, codes, rng)), fitted.classes[codes]

    def _as_table(self, columns: dict[Any, Any]) -> Any:
        """Drawn rows as the kind of table the model was fitted to."""
        library = self._model.schema.library
        return columns if library is None else write.frame(library, columns)

    def mutual_information(self) -> Floats:
        """Bits that an observed cell of each column tells of the class, from the fitted statistics.

        Columns that are left out tell 0. Of counts that belong together (multinomial): whether one of the things
        counted is of that column.

        >>> from sunrise import BernoulliNB
        >>> BernoulliNB(alpha=0).fit([[0, 1], [1, 1], [0, 0], [1, 0]], [0, 0, 1, 1]).mutual_information()
        array([0., 1.])
        """
        self._require_fitted()
        fitted = self._model
        bits = np.zeros(self.n_features_in_)
        for part, params in zip(fitted.parts, fitted.point_params, strict=True):
            bits[list(part.columns)] = mutual_information(part.family, params, fitted.class_prior)
        return bits

    def select(self, k: int | None = None, *, min_bits: float | None = None) -> Self:
        """The model of the columns that tell most of the class, k of them or all with `min_bits`, without data.

        The smaller model of a frame takes the same frames: the other columns are left out. That of a matrix takes the
        columns that were kept, in their order; `selected_` has their positions.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0, 1], [1, 1], [0, 0], [1, 0]], [0, 0, 1, 1]).select(1)
        >>> model.n_features_in_, model.selected_
        (1, array([1]))
        """
        bits = self.mutual_information()
        keep = most_informative(bits, k, min_bits, [j for part in self._model.parts for j in part.columns])
        new: Self = self._copy()
        new._keep(keep, bits)
        new.__dict__["selected_"] = keep
        return new

    def _keep(self, keep: Positions, bits: Floats) -> None:
        """Become the model of these columns."""
        fitted, stats = self._model, self.stats_
        if fitted.schema.is_matrix and not fitted.schema.is_named:
            schema, blocks = fitted.schema.select_columns(keep, stats.blocks)
            self.__dict__["n_features_in_"] = len(keep)
            self.families = schema.parts[0].family
        else:
            kept = set(keep.tolist())
            dropped = {
                j: f"left out: {bits[j]:.2g} bits"
                for j, choice in enumerate(fitted.schema.choices)
                if j not in kept and choice.family is not None
            }
            schema, blocks = fitted.schema.without(dropped, stats.blocks)
            self.families = schema.families
        narrower = keep if len(schema.names) == len(keep) else None
        self._reduced(replace(fitted.settings, families=self.families), schema, blocks, narrower)

    def _reduced(
        self, settings: Settings, schema: Schema, blocks: tuple[Any, ...], keep: Positions | None = None
    ) -> None:
        """Take on fewer columns, those to `keep` where the others are gone, under the class prior that is."""
        prior = self._model.class_prior
        if keep is not None and (calibration := self._model.calibration) is not None:
            self._model = copy.copy(self._model)
            self._model.calibration = calibration.select_columns(keep)
        self._set_state(settings, schema, replace(self.stats_, blocks=blocks), self._announced)
        if not np.array_equal(prior, self._model.class_prior):
            self._set_class_prior(prior)
