"""Fitted attributes that describe the columns of a model, and the display of a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sunrise._common.arrays import Floats
from sunrise.data import write
from sunrise.estimators.base import Estimator
from sunrise.estimators.display import MOST_COLUMNS, Summary, format_parameters
from sunrise.estimators.text_tables import FamiliesByColumn, printed_families
from sunrise.families.base import Family
from sunrise.inference.posteriors import ByColumn, log_evidence_of
from sunrise.numerics.evidence import Evidence
from sunrise.statistics.model import Stats


class SummaryMixin(Estimator):
    """Fitted attributes that describe the columns, and the display of a fitted model."""

    stats_: Stats
    _columns: Callable[[], list[str]]

    @property
    def families_(self) -> Any:
        """The family of every column, the reason for the choice, its parameters, and the scores of the candidates.

        The score of a candidate family is the mean leave-one-out log probability of the class, given this column only.
        The value is a frame of the library that the model was fitted with, or a dict by column if it was not fitted to
        a frame. It prints as a table without the scores.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"]}, ["a", "b", "a"])
        >>> model.families_["hair"]["family"], model.families_["hair"]["reason"]
        ('categorical', '2 categories')
        """
        self._fitted_model("families_")
        columns, library = self._summary().columns, self._model.schema.library
        shown = [(c.name, c.family or "-", c.reason, format_parameters(c.parameters)) for c in columns]
        if library is None:
            return FamiliesByColumn(
                {
                    c.name: {
                        "family": c.family,
                        "reason": c.reason,
                        "parameters": c.parameters,
                        "scores": c.scores,
                    }
                    for c in columns
                },
                shown,
            )
        frame = write.frame(
            library,
            {
                "column": [c.name for c in columns],
                "family": [c.family for c in columns],
                "reason": [c.reason for c in columns],
                "parameters": [parameters for *_, parameters in shown],
                "scores": [
                    ", ".join(f"{name} {score:.4f}" for name, score in c.scores.items()) for c in columns
                ],
            },
        )
        return printed_families(frame, library)

    @property
    def fixed_families_(self) -> dict[Any, Family | None]:
        """The chosen families as a dict, to be passed to another model: `NaiveBayes(model.fixed_families_)`.

        Columns that form a block have a tuple as their key. The value None marks a column that the model does not use.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"], "day": [1, 1, 1]}, ["a", "b", "a"])
        >>> model.fixed_families_["day"] is None, model.fixed_families_["hair"].name
        (True, 'categorical')
        """
        self._fitted_model("fixed_families_")
        return self._model.schema.families

    @property
    def parameters_(self) -> dict[str, dict[str, Floats]]:
        """The parameters of every column, each an array with one number per class in the order of `classes_`.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"]}, ["a", "b", "a"])
        >>> model.parameters_["hair"]["long"]
        array([0.625     , 0.27777778])
        """
        self._fitted_model("parameters_")
        names = self._columns()
        parameters: dict[str, dict[str, Floats]] = {}
        model = self._model.columns_alone
        for part, described in zip(model.parts, model.descriptions, strict=True):
            parameters |= {names[j]: column for j, column in zip(part.columns, described, strict=True)}
        return parameters

    @property
    def prior_(self) -> ByColumn:
        """The prior distribution of the parameters of every column, given or chosen from the data.

        The prior of one model can be passed to another: `NaiveBayes({"x": sunrise.Gaussian(prior=model.prior_["x"])})`.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes("gaussian").fit({"x": [0.0, 2.0, 4.0, 6.0]}, [0, 0, 1, 1])
        >>> float(model.prior_["x"].m), float(model.prior_["x"].kappa)
        (3.0, 0.2)
        """
        self._fitted_model("prior_")
        return ByColumn(self._model.columns_alone, self._columns(), "prior")

    @property
    def posterior_(self) -> ByColumn:
        """The conjugate posterior distribution of the parameters of every column, with one entry per class.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes("bernoulli").fit({"heads": [1, 1, 0, 1]}, ["coin"] * 4)
        >>> coin = model.posterior_["heads"]
        >>> coin.mean.round(3), [float(end[0].round(3)) for end in coin.interval(0.9)]
        (array([0.667]), [0.343, 0.924])
        """
        self._fitted_model("posterior_")
        return ByColumn(self._model.columns_alone, self._columns(), "posterior")

    @property
    def log_evidence_(self) -> Evidence:
        """Log marginal likelihood: log probability of labels and cells with all parameters integrated out.

        The value is a float with two attributes. `columns` has one number per class for every column. `classes` is the
        part of the labels, under a uniform prior of the class probabilities; it is 0 if the class prior was given. The
        value is NaN if a column has no proper prior or no closed form. Use it to compare priors of the same family, not
        to compare families.

        >>> from fractions import Fraction
        >>> import numpy as np
        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes("bernoulli").fit({"heads": [1, 0, 0, 1, 1]}, ["coin"] * 5)
        >>> Fraction(float(np.exp(model.log_evidence_))).limit_denominator(100)
        Fraction(1, 60)
        """
        self._fitted_model("log_evidence_")
        model, names = self._model.columns_alone, self._columns()
        columns: dict[str | tuple[str, ...], Floats] = {}
        for part, block in zip(model.parts, model.blocks, strict=True):
            evidence = log_evidence_of(part.family, block, model.stats.weight)
            block_names = tuple(names[j] for j in part.columns)
            if part.family.joint:
                columns[block_names] = evidence[:, 0]
            else:
                columns |= dict(zip(block_names, evidence.T, strict=True))
        return Evidence(model.log_evidence_of_classes, columns)

    @property
    def chosen_(self) -> dict[Any, Any]:
        """Settings that the data chose: prior strengths by tuples of columns, weights of words by "words".

        Prior strengths are chosen by maximum marginal likelihood (`"evidence"`).

        `value` is the alpha, or the number of rows that the prior is worth. `at_boundary` is True if the marginal
        likelihood still increases towards 0 or infinity.

        >>> from sunrise import Bernoulli, NaiveBayes
        >>> cells = {"a": [1, 0, 0, 1, 1, 1], "b": [0, 0, 1, 0, 0, 0]}
        >>> model = NaiveBayes(Bernoulli("evidence")).fit(cells, list("xxxyyy"))
        >>> alpha, at_boundary = model.chosen_["a", "b"]
        >>> round(alpha, 3), at_boundary
        (1.0, False)

        With `calibrate="words"`, `bands` is True if bands of words by document frequency have a factor each, and
        `strength` is the factor of the penalty on the weights of single words, None without these weights.
        """
        self._fitted_model("chosen_")
        names = self._columns()
        chosen: dict[Any, Any] = {
            tuple(names[j] for j in part.columns): part.family.chosen
            for part in self._model.parts
            if part.family.chosen is not None
        }
        calibration = self._model.calibration
        if calibration is not None and calibration.words is not None:
            chosen["words"] = calibration.words.choice
        return chosen

    @property
    def convergence_(self) -> Any:
        """Convergence of iteratively estimated parameters, in a dict by tuples of columns.

        >>> from sunrise import NaiveBayes
        >>> counts = {"a": [5, 0, 3, 1], "b": [0, 4, 3, 0], "c": [1, 2, 0, 6]}
        >>> model = NaiveBayes("dirichlet_multinomial").fit(counts, ["x"] * 4)
        >>> model.convergence_["a", "b", "c"].converged
        array([ True])
        """
        self._fitted_model("convergence_")
        names = self._columns()
        return {
            tuple(names[j] for j in part.columns): convergence
            for part in self._model.parts
            if (convergence := getattr(part.family, "convergence", None)) is not None
        }

    def _summary(self, most: int | None = None) -> Summary:
        """Return the summary of all columns, or a brief one of the first columns."""
        kept, score = self.__dict__.get("_kept"), self.__dict__.get("loo_score_", "")
        n_kept = 0 if kept is None else kept.n_rows
        return Summary.of(super().__repr__(), self._columns(), self._model, self.stats_, score, n_kept, most)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the summary of a fitted model; before fit, the constructor call."""
        return (
            self._summary(MOST_COLUMNS).text()
            if "_model" in self.__dict__
            else str(super().__repr__(N_CHAR_MAX))
        )

    def _repr_html_inner(self) -> str:
        return (
            self._summary(MOST_COLUMNS).html()
            if "_model" in self.__dict__
            else str(super()._repr_html_inner())
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "_model" in self.__dict__ and "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
