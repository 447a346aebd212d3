"""Exports of fitted models: JSON, SQL and ONNX, each equal to `predict_proba`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sunrise.estimators.base import Estimator
from sunrise.export.description import Description, describe_model
from sunrise.export.json_text import to_json
from sunrise.export.onnx_inputs import onnx_inputs
from sunrise.export.onnx_model import to_onnx
from sunrise.export.sql_query import to_sql


class ExportMixin(Estimator):
    """to_json, to_sql and to_onnx."""

    def _description(self) -> Description:
        self._require_fitted()
        return describe_model(self._model, self._columns(), type(self).__name__)

    def to_json(self) -> str:
        """Return the scoring of the model as JSON: classes, prior, columns, and how each block scores its cells.

        docs/export.md documents the format. A program that follows it gets the probabilities of `predict_proba`.

        >>> import json
        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [3.0], [6.0], [8.0]], ["a", "a", "b", "b"])
        >>> exported = json.loads(model.to_json())
        >>> exported["classes"], exported["blocks"][0]["kind"], exported["blocks"][0]["anchor"]
        (['a', 'b'], 'linear', [[2.0], [7.0]])
        """
        return to_json(self._description())

    def to_sql(
        self, dialect: str = "duckdb", table: str | Sequence[str] = "data", *, keep: Sequence[str] = ()
    ) -> str:
        """Return one SELECT with the prediction and the (log-)probability of every class for the rows of a table.

        Parameters
        ----------
        dialect : {"duckdb", "postgresql", "sqlite"}, default="duckdb"
            The database. SQLite needs its mathematical functions (LN, EXP), which most builds have.
        table : str or sequence of str, default="data"
            The name of the table, or its parts: ("schema", "table"). It has the columns of the training table; those
            of an array are called x0, x1, ...
        keep : sequence of str, default=()
            Columns of the table to return beside the predictions, for example a key.

        NULL and NaN are missing cells. Cells that the family of a column excludes, for which `predict` may raise, count
        as missing, too. Text columns and unseen="error" cannot be written in SQL; the error names the columns.

        Rows come in the order in which the database reads the table. Labels of several types become text.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [3.0], [6.0], [8.0]], ["a", "a", "b", "b"])
        >>> query = model.to_sql("sqlite", table="visits", keep=["id"])
        >>> import sqlite3
        >>> visits = sqlite3.connect(":memory:")
        >>> _ = visits.execute("CREATE TABLE visits (id, x0)")
        >>> _ = visits.execute("INSERT INTO visits VALUES (1, 2.5), (2, NULL)")
        >>> [row[:2] for row in visits.execute(query)]
        [(1, 'a'), (2, 'a')]
        """
        return to_sql(self._description(), dialect, table, [keep] if isinstance(keep, str) else keep)

    def to_onnx(self, dtype: str = "float64", *, missing: str = "") -> Any:
        """Return the model as an ONNX ModelProto; its method `SerializeToString` gives the bytes of an .onnx file.

        Parameters
        ----------
        dtype : {"float64", "float32"}, default="float64"
            The type of number inputs and of the outputs. The graph computes in double precision.
        missing : str, default=""
            The string that marks a missing cell in columns of strings. NaN is a missing number.

        A model of a matrix has one input "X" (rows x columns). Other models have one input (rows x 1) for each column
        that they use: strings for levels, numbers for numbers and booleans (0 and 1). A text column has three inputs:
        "<column>.ids" (rows x distinct words: positions in the vocabulary of `to_json`, -1 for padding),
        "<column>.counts" (their counts, 0 for padding) and "<column>.length" (rows x 1: the number of all words of the
        document; NaN for a missing document). `onnx_inputs` makes these inputs from a table.

        The outputs are "label", "probabilities" and "log_probabilities". Needs the package onnx.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [3.0], [6.0], [8.0]], ["a", "a", "b", "b"])
        >>> [output.name for output in model.to_onnx().graph.output]
        ['label', 'probabilities', 'log_probabilities']
        """
        return to_onnx(self._description(), dtype, missing)

    def onnx_inputs(self, X: Any, dtype: str = "float64", *, missing: str = "") -> dict[str, Any]:
        """Return the inputs of the graph of `to_onnx`, called with the same arguments, for the rows of a table.

        >>> from sunrise import TextNB
        >>> model = TextNB().fit(["free prize now", "lunch at noon"], ["spam", "ham"])
        >>> inputs = model.onnx_inputs(["a prize, a prize"])
        >>> {name: array.tolist() for name, array in inputs.items()}
        {'text.ids': [[5]], 'text.counts': [[2.0]], 'text.length': [[2.0]]}
        """
        description = self._description()
        return onnx_inputs(self._model, description, self._read_table(X, fitting=False), dtype, missing)
