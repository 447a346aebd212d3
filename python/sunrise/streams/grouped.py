"""A lazy table grouped by label: its classes, their numbers of rows and weights, and queries for sums per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats, Integers, Labels, Positions
from sunrise.data.errors import refuse_no_rows
from sunrise.data.frame import frame_of
from sunrise.data.labels import MissingLabelError, encode_labels, label_column
from sunrise.streams.expressions import number
from sunrise.streams.relation import Relation

#: Names of computed columns, unlike the name of any column of a user.
N_ROWS, WEIGHT, LOWEST = "sunrise: rows", "sunrise: weight", "sunrise: lowest weight"


class Grouped(NamedTuple):
    """A lazy table grouped by label; rows of weight 0 are left out.

    `label` and `weight` are the names of columns, `who` is the name of the estimator for error texts. `rows` and
    `total` are the number and the weight of the rows of every class, in the order of `classes`.
    """

    relation: Relation
    label: str
    weight: str | None
    who: str
    n_jobs: int | None
    classes: Labels
    rows: Integers
    total: Floats

    @property
    def columns_per_query(self) -> int:
        """Number of columns that one query sums: engines limit the number of columns of a result."""
        return 128

    @classmethod
    def of(cls, relation: Relation, label: str, weight: str | None, who: str, n_jobs: int | None) -> Grouped:
        """Group a lazy table by one query that counts the rows of every label.

        Raise ValueError if there are no rows, if a label is missing, or if a weight is missing, negative or infinite.
        """
        import narwhals.stable.v2 as nw

        by_label = relation.frame
        counts = [nw.len().alias(N_ROWS)]
        if weight is not None:
            w = number(weight, relation.types[weight], without_nan=False)
            by_label = relation.frame.select(nw.col(label), w.alias(WEIGHT))
            counts += [
                nw.col(WEIGHT).min().alias(LOWEST),
                nw.col(WEIGHT).sum().alias(WEIGHT),
                # A count of cells, because Spark does not add up booleans.
                nw.when(nw.col(WEIGHT) > 0).then(nw.col(WEIGHT)).count().alias("sunrise: positive"),
                nw.col(WEIGHT).count().alias("sunrise: present"),
            ]
        found = collected(by_label.group_by(label).agg(*counts))
        rows, total = _floats(found, N_ROWS), _floats(found, N_ROWS)
        if not len(rows):
            refuse_no_rows(who, len(relation.types) - 1 - (weight is not None))
        if weight is not None:
            total = _floats(found, WEIGHT)
            _check_weights(weight, rows, total, found)
            rows = _floats(found, "sunrise: positive")
        classes, position = _classes(who, found, label)
        rows, total = _placed(rows.astype(np.int64), position), _placed(total, position)
        return cls(relation, label, weight, who, n_jobs, classes, rows, total)._without_empty()

    def _without_empty(self) -> Grouped:
        """Leave out labels whose rows all have weight 0."""
        present = np.flatnonzero(self.rows)
        return self._replace(
            classes=self.classes[present], rows=self.rows[present], total=self.total[present]
        )

    @property
    def frame(self) -> Any:
        """The rows to fit, as a narwhals LazyFrame with all columns; rows of weight 0 are filtered out."""
        import narwhals.stable.v2 as nw

        return (
            self.relation.frame
            if self.weight is None
            else self.relation.frame.filter(nw.col(self.weight) > 0)
        )

    def weight_cells(self) -> Any:
        """Return the weights as an expression of floats, named WEIGHT."""
        name: Any = self.weight
        return number(name, self.relation.types[name], without_nan=False).alias(WEIGHT)

    def sums(self, frame: Any, expressions: Sequence[Any]) -> Any:
        """Compute aggregates per class; return arrays of one number per class, in the order of `classes`, by name.

        `frame` is a narwhals LazyFrame with the column of labels; `expressions` are narwhals aggregates with names.
        """
        found = collected(frame.group_by(self.label).agg(*expressions))
        names = [name for name in found.columns if name != self.label]
        classes, codes = _classes(self.who, found, self.label)
        position = labels.locate(self.classes, classes)[codes]
        if (position < 0).any() or len(position) < len(self.classes):
            raise RuntimeError("The labels of the lazy table have changed while it was read. Fit again.")
        return {name: _placed(_floats(found, name), position) for name in names}


def _check_weights(name: str, rows: Floats, total: Floats, found: Any) -> None:
    """Raise for weights that are missing, not finite, negative, or all 0."""
    where = f"sample_weight: column {name!r}"
    if (_floats(found, "sunrise: present") < rows).any() or not np.isfinite(total).all():
        raise ValueError(
            f"{where} holds nulls, infinity or NaN. Give every row a finite weight of 0 or more."
        )
    if (lowest := _floats(found, LOWEST).min()) < 0:
        raise ValueError(f"{where} is negative: {lowest:g}. A weight must be 0 or more.")
    if not total.any():
        raise ValueError(f"{where} is zero for every row: there is nothing to fit.")


def collected(frame: Any) -> Any:
    """Run the query of a narwhals LazyFrame and return its few rows as a narwhals DataFrame."""
    return frame.collect()


def _floats(found: Any, name: str) -> Floats:
    """Return a column of computed numbers; a null is NaN."""
    return np.array([np.nan if x is None else float(x) for x in found[name].to_list()], dtype=np.float64)


def _classes(who: str, found: Any, label: str) -> tuple[Labels, Any]:
    """Return the sorted classes, and the position of every row's label among them; raise if a label is missing."""
    native = found.select(label).to_native()
    try:
        return encode_labels(who, label_column(native, frame_of(native), label), len(found))
    except MissingLabelError:
        n_rows = sum(
            n for n, value in found.select(N_ROWS, label).iter_rows() if value is None or value != value
        )
        raise ValueError(
            f"column {label!r} of the labels has {n_rows:,} missing cells. Filter these rows, or fill in the labels."
        ) from None


def _placed(a: Any, position: Positions) -> Any:
    """Return an array with `a[k]` at `position[k]`."""
    placed = np.zeros_like(a)
    placed[position] = a
    return placed
