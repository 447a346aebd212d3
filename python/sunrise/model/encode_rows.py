"""From a table to the cells that a fitted model scores: columns by name, levels by their positions in the fit."""

from __future__ import annotations

from typing import Any, Protocol

from sunrise.data.align import align
from sunrise.data.blocks import Batch
from sunrise.data.findings import Findings
from sunrise.data.frame import Frame
from sunrise.families.readers import Scoring, Unusable
from sunrise.forms.base import Form
from sunrise.model.choice import Part
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings


class Model(Protocol):
    """The part of a fitted model that reading rows needs."""

    settings: Settings
    schema: Schema
    parts: tuple[Part, ...]

    @property
    def forms(self) -> tuple[Form, ...]:
        """How the blocks score their cells."""

    @property
    def n_jobs(self) -> int | None:
        """Threads, as the user set them."""

    @property
    def lookups(self) -> tuple[Any, ...]:
        """Levels or words of the blocks, as their readers look them up."""


def encode_rows(table: Frame, model: Model, release: bool = False) -> tuple[Batch, Frame]:
    """Return one block of cells for every block of the model, and the table with the model's columns in order.

    With `release` encoded levels are dropped once they are read, which saves memory if the table is not read again.
    Cells that the model cannot use are noted in the batch; `batch.warn()` tells the user.
    """
    table = align(table, model.schema, model.settings.who)
    block = table.block if table.block is not None and model.schema.is_matrix else None
    if block is not None and not model.schema.lenient(model.parts[0]).any():
        return Batch(table.n_rows, (block,)), table
    blocks, findings = [], Findings()
    for k, part in enumerate(model.parts):
        own, who = model.schema.lenient(part), model.settings.who
        scoring = Scoring(part.columns, model.lookups[k], own, model.n_jobs, who, findings, release)
        blocks.append(part.family.reader.score_block(table, part.family, scoring))
    return Batch(table.n_rows, tuple(blocks), findings), table


def count_unusable(table: Frame, model: Model) -> dict[int, Unusable]:
    """Numbers of cells that the model cannot use, for every column that the model uses."""
    table, counts = align(table, model.schema, model.settings.who), {}
    for k, part in enumerate(model.parts):
        for at, j in enumerate(() if part.family.reader.derived else part.columns):
            column, family = table.read(j), part.family
            counts[j] = family.reader.count_unusable(column, family, model.forms[k], model.lookups[k], at)
    return dict(sorted(counts.items()))
