"""Methods of a generative model: class priors, decisions, densities, sampling, selection."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels, Positions
from sunrise._common.warnings import NoDensityWarning, alert
from sunrise.data import write
from sunrise.data.frame import is_single
from sunrise.engines import array
from sunrise.estimators.prediction import PredictionMixin
from sunrise.estimators.text_tables import ColumnBits
from sunrise.inference.decisions import decisions
from sunrise.inference.sampling import sample_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.numerics.special import log_sum_exp
from sunrise.selection.mutual_information import column_information, entropy_bits, most_informative
from sunrise.statistics.model import Stats


def _is_density(model: GenerativeMixin) -> bool:
    """True if the estimator can have a density of rows; scikit-learn tests this with hasattr."""
    return model._density


class GenerativeMixin(PredictionMixin):
    """Class priors, decisions, densities, sampling, mutual information and column selection."""

    families: Any

    #: False for estimators whose scores are not log densities of rows (complement naive Bayes).
    _density: ClassVar[bool] = True

    def with_class_prior(self, class_prior: Any) -> Self:
        """Return the same model with another class prior.

        `class_prior` is "uniform", probabilities in the order of `classes_`, or a dict from label to probability.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
        >>> model.with_class_prior({"a": 0.1, "b": 0.9}).class_prior_
        array([0.1, 0.9])
        """
        self._require_fitted()
        new: Self = self._copy()
        setting = "priors" if "priors" in self.get_params() else "class_prior"
        new.set_params(**{setting: class_prior})  # so that later updates keep the prior
        settings = replace(self._model.settings, class_prior=class_prior)
        new._set_state(settings, self._model.schema, self.stats_, self._announced)
        new._set_calibration(self._model.calibration)  # it does not depend on the prior
        return new

    def decide(self, X: Any, cost: Any = None, abstain: float | None = None) -> NDArray[Any]:
        """Return the decision with the smallest expected cost for every row.

        `cost` is a table (true classes x decided classes, in the order of `classes_`), or a dict from (true class,
        decided class) to a cost. Pairs that the dict does not contain cost 0 for a correct decision and 1 for an error.
        The decision is None for rows whose smallest expected cost is above `abstain`.

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
        """Return the log density log p(x) of every row, summed over the classes; missing cells are integrated out.

        A low density marks an outlier. Columns that the model does not use are not included. Text is included if its
        words have a distribution ("multinomial", "bernoulli" or "dirichlet_multinomial" with plain counts). Columns
        without a distribution (text scored by "odds", the default, or by "complement") are left out with a
        `NoDensityWarning`; it is an error if no column has a distribution. A row with a cell that the family of its
        column cannot have (a negative amount under a log-normal) has density 0, so its log is -inf; `predict` ignores
        this cell if the family was chosen automatically.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB.from_parameters([[0.0]], [[1.0]], classes=["only"])
        >>> model.score_samples([[0.0], [5.0]]).round(3)
        array([ -0.919, -13.419])
        """
        batch, _ = self._encode(X)
        model = self._model.uncalibrated.columns_alone
        batch = replace(batch, blocks=batch.blocks[: len(model.parts)])
        dense = [k for k, part in enumerate(model.parts) if part.family.generative]
        if len(dense) < len(model.parts):
            model = self._with_density(dense)
            batch = replace(batch, blocks=tuple(batch.blocks[k] for k in dense))
        joint = self._scored(batch, "joint", model)
        total = log_sum_exp(joint, axis=1)
        for part, params, block in zip(model.parts, model.params, batch.blocks, strict=True):
            reader = part.family.reader
            pieces = (
                np.where(params.known, reader.measured(block, rows), np.nan) for rows in array.pieces(block)
            )
            measures = (np.nansum(part.family.log_base_measure(x), axis=1) for x in pieces)
            total = total + np.concatenate([np.empty(0), *measures])
        impossible = None if batch.findings is None else batch.findings.impossible_rows
        return np.asarray(total if impossible is None else np.where(impossible, -np.inf, total))

    def _with_density(self, dense: list[int]) -> FittedModel:
        """Return the uncalibrated model of the blocks that have a density; warn of the others."""
        model, names = self._model.uncalibrated.columns_alone, self._columns()
        left_out = next(part for k, part in enumerate(model.parts) if k not in dense)
        name = left_out.family.name
        if not dense:
            raise ValueError(
                f"{name} is not a distribution of the cells, so the model has no density of rows."
            )
        alert(
            f"column {names[left_out.columns[0]]!r} has no density ({name} is not a distribution of the cells), so "
            'log p(x) is that of the other columns. To include text, score it by a distribution: Text("multinomial").',
            NoDensityWarning,
        )
        return model.select_blocks(dense)

    def sample(self, n: int = 1, y: Any = None, random_state: Any = None) -> tuple[Any, Labels]:
        """Draw n rows and their labels from the model; columns have the types of the training columns.

        `y` is one label for all rows, or one label per row; None draws the labels from the class prior. The rows are
        returned in a frame of the library that the model was fitted with, in a dict of columns if the model was not
        fitted to a frame, or in an array for single-family estimators. Columns that the model does not use and text
        columns (the model does not know the order of words) are missing cells. Numbers of a column of integers are
        rounded. The total of a row of counts (multinomial) is drawn from a Poisson distribution with the mean total of
        the class, because the model knows only the mean; a Dirichlet-multinomial draws the total of a training row. For
        a binary column with a threshold (`binarize`), a 1 is drawn as the threshold plus 1 and a 0 as the threshold.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short"] * 9, "n": [0.5, 2.5] * 9}, ["a", "b"] * 9)
        >>> rows, labels = model.sample(2, y="b", random_state=0)
        >>> rows["hair"], labels
        (['short', 'short'], array(['b', 'b'], dtype='<U1'))
        """
        self._require_fitted()
        rng = np.random.default_rng(random_state)
        model = self._model
        if y is None:
            codes = rng.choice(len(model.classes), n, p=model.class_prior).astype(np.int32)
        else:
            wanted = np.full(n, y) if is_single(y) else np.asarray(labels.as_array(y))
            if len(wanted) != n and n != 1:
                raise ValueError(f"y has {len(wanted)} labels for {n} rows; pass one label, or one per row.")
            codes = labels.locate(model.classes, wanted).astype(np.int32)
            if (codes < 0).any():
                unknown = wanted[codes < 0].tolist()[0]
                raise ValueError(f"{unknown!r} is not one of the classes {model.classes.tolist()}.")
        return self._as_table(sample_rows(model.columns_alone, codes, rng)), model.classes[codes]

    def _as_table(self, columns: dict[Any, Any]) -> Any:
        """Return sampled columns in the kind of table that the model was fitted to."""
        schema = self._model.schema
        if schema.library is None:
            return columns
        types = {name: choice.type for name, choice in zip(schema.names, schema.choices, strict=True)}
        return write.frame(
            schema.library, columns, types={k: own for k, own in types.items() if own is not None}
        )

    def mutual_information(self, *, per_row: bool = False) -> ColumnBits:
        """Return the mutual information of each column and the class in bits, computed from the fitted statistics.

        Columns that the model does not use have 0 bits. A text column has the bits of its most informative word (is the
        word in the document or not?), a lower bound on the bits of the document. In a multinomial block the variable of
        a column is whether one counted unit (token) belongs to the column; with `per_row` its bits are multiplied by
        the mean number of units of a row (at most the entropy of the class), so that all columns are comparable.

        The result is an array in the order of the columns that also knows their names: `bits["age"]`, `bits.by_name()`.

        >>> from sunrise import NaiveBayes
        >>> table = {"left": [0, 1, 0, 1], "right": [1, 1, 0, 0]}
        >>> bits = NaiveBayes("bernoulli", estimate="mle").fit(table, [0, 0, 1, 1]).mutual_information()
        >>> bits["right"], bits.tolist()
        (1.0, [0.0, 1.0])
        >>> bits
          column  bits
          right   1.000
          left    0.000
        """
        self._require_fitted()
        model = self._model.columns_alone
        bits = np.zeros(len(model.schema.names))
        for part, params, stats in zip(model.parts, model.point_params, model.blocks, strict=True):
            bits[list(part.columns)] = column_information(
                part.family, params, stats, model.class_prior, per_row
            )
        return ColumnBits.of(bits, self._columns())

    @property
    def feature_importances_(self) -> Floats:
        """Mutual information of each column and the class in bits per row, for scikit-learn's feature selection.

        It is `mutual_information(per_row=True)` as a plain array; the parts of a date (days, month, weekday) count
        together, with at most the entropy of the class, because scikit-learn selects columns of the table. Models
        without a distribution of their cells (complement naive Bayes) have no such attribute.

        >>> from sklearn.feature_selection import SelectFromModel
        >>> from sunrise import GaussianNB
        >>> X, y = [[0.0, 1.0], [1.0, 0.9], [0.1, 5.0], [1.1, 5.2]], ["a", "a", "b", "b"]
        >>> SelectFromModel(GaussianNB(), max_features=1).fit(X, y).get_support()
        array([False,  True])
        """
        self._fitted_model("feature_importances_")
        try:
            bits = np.asarray(self.mutual_information(per_row=True))
        except ValueError as error:  # hasattr expects AttributeError
            raise AttributeError(f"{type(self).__name__} has no feature_importances_: {error}") from None
        schema = self._model.schema
        if schema.rules is None or not schema.rules.dates:
            return bits
        total = dict.fromkeys(schema.inputs, 0.0)
        for name, own in zip(schema.names, bits.tolist(), strict=True):
            total[schema.rules.inputs([name])[0]] += own
        return np.minimum(list(total.values()), entropy_bits(self._model.class_prior))

    def select(self, k: int | None = None, *, min_bits: float | None = None) -> Self:
        """Return the model of the columns with the largest mutual information with the class; the data are not needed.

        The new model has `k` columns, or all columns with at least `min_bits` bits per row (see `mutual_information`
        with `per_row=True`). A model fitted to a frame still
        takes frames with all columns and ignores the removed ones. A model fitted to a matrix takes a matrix of the
        selected columns in their original order; `selected_` has their positions.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0, 1], [1, 1], [0, 0], [1, 0]], [0, 0, 1, 1]).select(1)
        >>> model.n_features_in_, model.selected_
        (1, array([1]))
        """
        bits = self.mutual_information(per_row=True)
        keep = most_informative(
            bits, k, min_bits, [j for part in self._model.schema.column_parts for j in part.columns]
        )
        new: Self = self._copy()
        new._restrict_to(keep, bits)
        new.__dict__["selected_"] = keep
        new.__dict__.pop("_kept", None)  # selecting decides which columns are used
        return new

    def _restrict_to(self, keep: Positions, bits: Floats) -> None:
        """Restrict this estimator to the columns in `keep`."""
        model, stats = self._model, self.stats_
        if model.schema.is_matrix and not model.schema.is_named and not model.schema.counted:
            schema, blocks = model.schema.select_columns(keep, stats.blocks)
            stats = replace(stats, blocks=blocks)
            self.__dict__["n_features_in_"] = len(keep)
            family = schema.parts[0].family
            self.families = family.reader.unlearned(family)  # the schema has the grids of the columns
        else:
            selected = set(keep.tolist())
            dropped = {
                j: f"left out: {bits[j]:.2g} bits"
                for j, choice in enumerate(model.schema.choices)
                if j not in selected and choice.family is not None
            }
            schema, stats = model.schema.without(dropped, stats)
            self.families = schema.families
        positions = keep if len(schema.names) == len(keep) else None
        self._set_columns(replace(model.settings, families=self.families), schema, stats, positions)

    def _set_columns(
        self, settings: Settings, schema: Schema, stats: Stats, keep: Positions | None = None
    ) -> None:
        """Set the statistics of fewer columns and keep the class prior.

        `keep` has the positions of the selected columns if the schema no longer contains the others.
        """
        prior = self._model.class_prior
        if keep is not None and (calibration := self._model.calibration) is not None:
            self._model = copy.copy(self._model)
            self._model.calibration = calibration.select_columns(keep)
        self._set_state(settings, schema, replace(stats, asleep=None), self._announced)
        if not np.array_equal(prior, self._model.class_prior):
            self._set_class_prior(prior)
