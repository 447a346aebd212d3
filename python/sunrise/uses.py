"""What a model of the rows can do beside predicting: priors, decisions, densities, samples, information."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from sunrise import labels
from sunrise.arrays import Floats, Labels, Positions
from sunrise.data import write
from sunrise.data.frame import is_single
from sunrise.decide import decisions
from sunrise.derived import Derived, Settings
from sunrise.draw import drawn
from sunrise.engines import array
from sunrise.information import most_telling, mutual_information
from sunrise.schema import Schema
from sunrise.stats import Stats


def _is_density(model: Uses) -> bool:
    """Whether the model may be one of the rows; scikit-learn asks by hasattr."""
    return model._density


class Uses(BaseEstimator):  # type: ignore[misc]
    """The uses of a fitted model beside prediction."""

    classes_: Labels
    stats_: Stats
    n_features_in_: int
    families: Any
    _fitted: Derived
    _announced: Labels | None

    #: Whether it may be a distribution of the rows (a complement never is).
    _density: ClassVar[bool] = True

    # What the estimator itself has to offer.
    _require_fitted: Any
    _copy: Any
    _become: Any
    _batch: Any
    _scored: Any
    _with_calibration: Any
    _set_class_prior: Any
    predict_proba: Any

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
        settings = replace(self._fitted.settings, class_prior=class_prior)
        new._become(settings, self._fitted.schema, self.stats_, self._announced)
        new._with_calibration(self._fitted.calibration)  # offsets stay: they would undo another prior
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
        batch, _ = self._batch(X)
        fitted = self._fitted.uncalibrated
        for part in fitted.parts:
            if not part.family.generative:
                raise ValueError(f"{part.family.name} is no distribution, so rows have no density under it.")
        joint = self._scored(batch, "joint", fitted)
        log_proba, _ = array.normalise(joint, fitted.log_class_prior, "log_proba")
        best = joint.argmax(axis=1)[:, None]
        total = np.take_along_axis(joint, best, axis=1)[:, 0]
        total = total - np.where(np.isneginf(total), 0.0, np.take_along_axis(log_proba, best, axis=1)[:, 0])
        for part, params, block in zip(fitted.parts, fitted.params, batch.blocks, strict=True):
            pieces = (np.where(params.known, block.numbers(rows), np.nan) for rows in array.pieces(block))
            total = total + np.concatenate([np.empty(0), *map(part.family.log_carrier, pieces)])
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
        fitted = self._fitted
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
        return self._drawn(drawn(fitted, codes, rng)), fitted.classes[codes]

    def _drawn(self, columns: dict[Any, Any]) -> Any:
        """Drawn rows as the kind of table the model was fitted to."""
        library = self._fitted.schema.library
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
        fitted = self._fitted
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
        keep = most_telling(bits, k, min_bits, [j for part in self._fitted.parts for j in part.columns])
        new: Self = self._copy()
        new._keep(keep, bits)
        new.__dict__["selected_"] = keep
        return new

    def _keep(self, keep: Positions, bits: Floats) -> None:
        """Become the model of these columns."""
        fitted, stats = self._fitted, self.stats_
        if fitted.schema.is_matrix and not fitted.schema.is_named:
            schema, blocks = fitted.schema.narrowed(keep, stats.blocks)
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
        prior = self._fitted.class_prior
        if keep is not None and (calibration := self._fitted.calibration) is not None:
            self._fitted = copy.copy(self._fitted)
            self._fitted.calibration = calibration.of(keep)
        self._become(settings, schema, replace(self.stats_, blocks=blocks), self._announced)
        if not np.array_equal(prior, self._fitted.class_prior):
            self._set_class_prior(prior)
