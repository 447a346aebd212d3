"""A sample of the rows of a source: those with the smallest hashes of their content.

The hash of a row depends on its label and on its cells by column name: numbers as float64, text as UTF-8, one mark for
missing cells. So the sample does not depend on the order of the rows, on the batches, or on the format of the source,
and the samples of two parts of the rows determine the sample of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Labels
from sunrise.data.frame import Frame
from sunrise.data.kept_rows import KeptRows
from sunrise.data.levels import name_of
from sunrise.data.row_hash import cell_hashes, mix, text_hash


def content_hashes(table: Frame, classes: Labels, codes: Codes) -> Any:
    """Return a hash of every row: of its label, and of its cells by column name.

    >>> from sunrise.data.frame import frame_of
    >>> y = np.array(["no", "yes"]), np.array([0, 1], np.int32)
    >>> one = content_hashes(frame_of({"a": [1, 2], "b": ["u", None]}), *y)
    >>> two = content_hashes(frame_of({"b": ["u", None], "a": [1.0, 2.0]}), *y)
    >>> bool((one == two).all())
    True
    """
    of_class = np.array([text_hash(name_of(label)) for label in classes.tolist()], np.uint64)
    total = mix(of_class)[codes]
    for j, name in enumerate(table.names):
        own = mix(np.array([text_hash(str(name))], np.uint64))
        total = total + mix(cell_hashes(table.raw(j)) ^ own)
    return mix(total)


@dataclass
class ContentSample:
    """Collects the rows with the smallest hashes, at most about `most` different ones.

    While there are no more rows than this, all rows are kept as they are. Then equal rows become one row with the sum
    of their weights.
    """

    most: int
    rows: KeptRows | None = None
    #: Number of rows that were added.
    n_seen: int = 0
    _hashes: Any = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)
    #: The largest hash that can still be sampled; None until `most` different rows are known, unless it is given.
    limit: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, most: int, rows: KeptRows | None, n_seen: int, hashes: Any) -> ContentSample:
        """Return the sample of `n_seen` rows that consists of these rows."""
        return cls(most, rows, n_seen, hashes)

    @property
    def hashes(self) -> Any:
        """The hashes of the sampled rows."""
        return self._hashes

    @property
    def is_complete(self) -> bool:
        """True if the sample consists of all rows that were added."""
        return self.n_seen <= self.most

    def add(self, table: Frame, label: Any, classes: Labels, codes: Codes, weight: Floats | None) -> None:
        """Add a batch of rows."""
        hashes = content_hashes(table, classes, codes)
        present = np.arange(len(codes)) if weight is None else np.flatnonzero(weight > 0)
        self.n_seen += len(present)
        if self.limit is not None:  # most rows are not among the smallest
            present = present[hashes[present] <= self.limit]
        if not len(present):
            return
        own = None if weight is None else weight[present]
        kept = KeptRows.of(table.select_rows(present), label, classes, codes[present], own)
        self.rows = kept if self.rows is None else self.rows + kept
        self._hashes = np.concatenate([self._hashes, hashes[present]])
        if len(self._hashes) > 2 * self.most:
            self._shrink()

    def __add__(self, other: ContentSample) -> ContentSample:
        """Return the sample of the rows of both samples."""
        rows = [own for own in (self.rows, other.rows) if own is not None]
        hashes = np.concatenate([self._hashes, other._hashes])
        both = rows[0] + rows[1] if len(rows) == 2 else next(iter(rows), None)
        total = ContentSample(self.most, both, self.n_seen + other.n_seen, hashes)
        if both is not None and not total.is_complete:
            total._shrink()
        return total

    def finish(self) -> KeptRows:
        """Return the sampled rows."""
        if self.rows is None:
            raise ValueError("The source has no rows with a positive weight.")
        if not self.is_complete:
            self._shrink()
        return self.rows

    def _shrink(self) -> None:
        """Keep the smallest hashes; equal rows become one row with the sum of their weights."""
        rows: Any = self.rows
        distinct, first, position = np.unique(self._hashes, return_index=True, return_inverse=True)
        weight = rows.whole.weight
        total = np.bincount(position, weight, len(distinct)).astype(float)
        keep = slice(0, self.most)
        selected = rows.select_rows(first[keep])
        (part,) = selected.parts
        self.rows = replace(selected, parts=(replace(part, weight=total[keep]),))
        self._hashes = distinct[keep]
        if len(self._hashes) == self.most:
            self.limit = self._hashes[-1]

    @property
    def state(self) -> dict[str, Any]:
        """The fields as values that a model file can hold."""
        limit = None if self.limit is None else int(self.limit)
        return {"rows": self.rows, "n_seen": self.n_seen, "hashes": self._hashes, "limit": limit}

    @classmethod
    def from_state(cls, most: int, state: dict[str, Any]) -> ContentSample:
        """Return the sample with these fields, as `state` gave them."""
        limit = None if state["limit"] is None else np.uint64(state["limit"])
        return cls(most, state["rows"], state["n_seen"], np.asarray(state["hashes"], np.uint64), limit)
