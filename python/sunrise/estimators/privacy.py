"""Methods that remove single values from a model: compression of kept values, suppression of rare levels."""

from __future__ import annotations

from numbers import Integral
from typing import Self

import numpy as np

from sunrise._common.warnings import RareClassesWarning, alert
from sunrise.estimators.stream import StreamMixin
from sunrise.model.compression import choose_grids, put_on_grids
from sunrise.model.schema import Schema
from sunrise.model.suppression import without_rare_levels
from sunrise.statistics.model import Stats


class PrivacyMixin(StreamMixin):
    """compress and suppress."""

    def compress(self) -> Self:
        """Replace training values inside the model by weights on grids, and return the model itself.

        Kernel densities and Laplace columns keep all distinct training values; `families_` says how many. After
        `compress` each of these columns has a grid of its own: a value shares its weight between the two nodes around
        it. The bandwidths of kernel densities stay as they are. `families_` says how many nodes a column has, and how
        much the grid changes at most: a density by less than 0.3 % of the height of one kernel in most cases, a
        Laplace median by 1/64 of the scale. The grid is part of `fixed_families_`. Other columns keep sums and counts
        only, and are not changed.

        A compressed model is updated as before: `partial_fit`, `forget`, `merge` and leave-one-out put rows on the
        same grids. Models are merged if they have the same grids, or if one of them is not compressed. The first rows
        of a stream, which are kept until 1,000 rows decide the families, are dropped: the families are final then.

        Compression is not anonymisation: a node with one row shows where the value of that row lies, and levels and
        words stay; see `suppress`.

        >>> from sunrise import KernelNB
        >>> x = np.linspace(0.0, 1.0, 1000)[:, None]
        >>> model = KernelNB().fit(x, x[:, 0] > 0.5).compress()
        >>> model.families_["x0"]["reason"]
        'given for all columns; keeps the weights of 258 grid nodes, 0.00390625 apart (...)'
        >>> model.partial_fit([[0.25]], [True]).class_count_
        array([500., 501.])
        """
        self._require_fitted()
        with self._unchanged_on_failure():
            self._drop_kept_rows()
            if grids := choose_grids(self._model):
                self._replace_statistics(*put_on_grids(self._model.schema, self.stats_, grids))
        return self

    def suppress(self, min_rows: int) -> Self:
        """Remove levels and words that fewer than `min_rows` training rows have, and return the model itself.

        The rows of all classes count together. The model is then the same as if these cells had been missing, or these
        words unknown; the other cells of the rows and the class counts stay. At predict, a removed level is treated as
        `unseen` says. Declared levels (categories of pandas, Enum of polars) with fewer rows are removed, too, because
        they often come from the data. Bins, numbers and yes/no columns have no levels. The calibration becomes stale.
        `quality_`, which counts rows, is removed.

        Classes are not removed: a `RareClassesWarning` names those with fewer rows. Two exceptions to "as if": weights
        of words that depend on the length of a document, and the lengths of a Dirichlet-multinomial, still include the
        removed words. Rows that had a removed level can be forgotten only with that cell missing. A removed level that
        comes back in a later update is counted from then on: call `suppress` again before you share the model. The
        kept first rows of a stream are dropped as by `compress`.

        >>> from sunrise import NaiveBayes
        >>> table = {"town": ["Ulm", "Bonn", "Ulm", "Bonn", "Pisa"]}
        >>> model = NaiveBayes("categorical").fit(table, ["a", "b", "a", "b", "b"]).suppress(min_rows=2)
        >>> list(model.parameters_["town"])
        ['Bonn', 'Ulm', '(unseen)']
        """
        self._require_fitted()
        if not isinstance(min_rows, Integral) or isinstance(min_rows, bool) or min_rows < 1:
            raise ValueError(f"min_rows is {min_rows!r}; it must be a whole number, 1 or more.")
        if self.__dict__.get("_fixed"):  # given parameters, not of training rows
            return self
        with self._unchanged_on_failure():
            self._drop_kept_rows()
            schema, stats = without_rare_levels(self._model.schema, self.stats_, int(min_rows))
            if schema is not self._model.schema or stats is not self.stats_:
                prior = self._model.class_prior
                self._set_state(self._model.settings, schema, stats, self._announced)
                if not np.array_equal(prior, self._model.class_prior):
                    self._set_class_prior(prior)
            if (score := self.__dict__.get("loo_score_")) is not None:  # its quality counts single rows
                self.__dict__["loo_score_"] = score._replace(quality=None)
        rare = [
            label
            for label, n in zip(self.stats_.classes.tolist(), self.stats_.rows, strict=True)
            if n < min_rows
        ]
        if rare:
            alert(
                f"{len(rare)} classes have fewer than {min_rows} rows, for example {rare[0]!r}. suppress keeps "
                "classes, and the statistics of a class describe its rows. Merge rare classes before fit, or leave "
                "their rows out.",
                RareClassesWarning,
            )
        return self

    def _drop_kept_rows(self) -> None:
        """Make the choices of a stream final, as if it had reached its last kept row, and drop the kept rows."""
        if "_kept" in self.__dict__:
            settings = self._checked_settings()
            self._decide(settings, self._kept_rows(settings, self._kept), self._announced)

    def _replace_statistics(self, schema: Schema, stats: Stats) -> None:
        """Set statistics of the same rows; class prior, calibration and leave-one-out score stay."""
        model, score = self._model, self.__dict__.get("loo_score_")
        self._set_state(model.settings, schema, stats, self._announced)
        if not np.array_equal(model.class_prior, self._model.class_prior):
            self._set_class_prior(model.class_prior)
        if model.calibration is not None:
            self._set_calibration(model.calibration)
        if score is not None:
            self.__dict__["loo_score_"] = score
