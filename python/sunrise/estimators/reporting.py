"""The live page of a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from sunrise.estimators.display import Summary
from sunrise.estimators.exporting import ExportMixin
from sunrise.store.files import write_atomically


class ReportMixin(ExportMixin):
    """report: one HTML page with the quality, the columns and a live nomogram of a model."""

    _summary: Callable[..., Summary]

    def report(self, path: Any, *, title: str | None = None) -> Self:
        """Write one HTML page about the model: overview, quality, columns, and a nomogram that answers at once.

        Open the page in any browser; it needs no network and no other file. Every value can be set or cleared (a
        cleared value is missing), and the page computes the probabilities of `predict_proba` from the JSON export of
        the model. docs/report.md describes the page.

        Parameters
        ----------
        path : str or path-like
            The file, usually with the suffix .html. An existing file is replaced in one step.
        title : str or None, default=None
            The heading of the page; None names the estimator.

        >>> import os, tempfile
        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"height": [1.62, 1.71, 1.93, 1.88]}, ["a", "a", "b", "b"])
        >>> path = os.path.join(tempfile.mkdtemp(), "people.html")
        >>> with open(model.report(path) and path, encoding="utf-8") as page:
        ...     page.read(15)
        '<!doctype html>'
        """
        # The page is needed by few programs, and reads its template from disk.
        from sunrise.report.facts import model_facts
        from sunrise.report.page import render_page

        self._require_fitted()
        model_json, name = self.to_json(), type(self).__name__
        summary = self._summary(0)
        facts = model_facts(self._model, self.__dict__.get("loo_score_"))
        facts["estimator"], facts["head"] = summary.title, summary.head
        page = render_page(model_json, facts, f"{name} model" if title is None else str(title))
        write_atomically(path, [page.encode()])
        return self
