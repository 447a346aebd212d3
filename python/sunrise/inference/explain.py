"""Explanations: the contribution of every column to the score of every class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels, Positions
from sunrise.data import write
from sunrise.data.blocks import Batch
from sunrise.data.frame import Frame
from sunrise.engines import array
from sunrise.inference.block_evidence import TOGETHER, evidence_of_columns
from sunrise.inference.comparison import Comparison, Term
from sunrise.inference.evidence_sd import EvidenceSd, evidence_sd
from sunrise.inference.word_evidence import ABSENT, word_scores
from sunrise.model.fitted import FittedModel
from sunrise.model.score import block_scores, row_factors, says_nothing
from sunrise.numerics.special import log_sum_exp

#: Libraries of frames, asked in this order if neither the rows nor the model came from one.
_LIBRARIES = ("pandas", "polars", "pyarrow")


class Explained(NamedTuple):
    """The model and the rows of an explanation, from which the uncertainty is computed when it is asked for."""

    model: FittedModel
    batch: Batch
    #: Library of data frames; None if unknown.
    library: Any
    #: False if the parameters were given without a number of rows, so that they have no posterior.
    has_posterior: bool


@dataclass(frozen=True)
class Explanation:
    """Contribution of every column to the joint log score of every class.

    `contributions` is rows x classes x columns. Its sum over the columns plus the log class prior `prior` (classes) and
    the class offsets of the calibration `offset` (rows x classes; 0 without calibration) is `score`.
    The difference between the contributions to two classes is the evidence of a column for one class against the
    other, in log-odds. `impossible` (rows x classes x columns) counts values of probability 0, which exclude a class;
    they occur only in a model without smoothing.

    `comparison` compares two classes for one row; `text`, `html`, `frame` and `plot` show it. The standard deviation
    of the evidence of a column is that under the posterior of the parameters: how much the evidence would change with
    other training rows of the same number. It comes from draws with a fixed seed, as those of `interval`.

    >>> from sunrise import NaiveBayes
    >>> model = NaiveBayes("bernoulli").fit({"fever": [1, 1, 0, 0], "cough": [1, 0, 1, 0]}, list("aabb"))
    >>> print(model.explain({"fever": 1, "cough": 1}).text(sd=True))
    a rather than b: log-odds +1.10 ± 1.67
        +0.00 ± 0.87  class prior
        +1.10 ± 1.21  fever = 1
        +0.00 ± 0.82  cough = 1
    """

    contributions: Floats
    impossible: Floats
    prior: Floats
    offset: Floats
    values: NDArray[Any]
    classes: Labels
    columns: list[str]
    source: Explained | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        batch: Batch,
        model: FittedModel,
        columns: list[str],
        table: Frame | None,
        record: list[Any] | None = None,
        library: Any = None,
        has_posterior: bool = True,
    ) -> Explanation:
        """Return the explanation of the rows of a batch.

        `table` holds the original cells, for display; `record` holds those of a single row instead. `library` is that
        of the frame that the rows came in.
        """
        shape = batch.n_rows, len(model.classes), len(columns)
        contributions, impossible = np.zeros(shape), np.zeros(shape)
        values = np.full((batch.n_rows, len(columns)), np.nan, dtype=object)
        factors = row_factors(model, batch)
        for k, (part, block, form) in enumerate(zip(model.parts, batch.blocks, model.forms, strict=True)):
            support, at = part.family.support, list(part.columns)
            if part.family.reader.own_block:  # a column of text has many features
                scores = block_scores(model, batch, k, form)
                contributions[:, :, at[0]] = scores * factors.get(k, np.ones(1))[:, None]
                continue
            x = array.read(block, support)
            cells = form.finite.cells(x)
            counts = np.zeros_like(cells) if form.impossible is None else form.impossible.cells(x)
            # A level of probability 0 has the score -inf. The score of a column is the sum over its views.
            views = *cells.shape[:2], len(at), len(support.views)
            impossible[:, :, at] = (counts + np.isneginf(cells)).reshape(views).sum(axis=3)
            contributions[:, :, at] = np.where(np.isneginf(cells), 0.0, cells).reshape(views).sum(axis=3)
            if k in factors:
                contributions[:, :, at] *= factors[k][:, None, None]
        n_columns = len(model.schema.names)
        if record is not None:
            values[0, :n_columns] = record
        elif table is not None:
            for j, column in enumerate(map(table.read, range(n_columns))):
                values[:, j] = [column.display_value(row) for row in range(batch.n_rows)]
        for k, (a, b) in enumerate(model.schema.positions_of_pairs):
            values[:, n_columns + k] = [_pair_text(*cells) for cells in values[:, [a, b]]]
        if model.schema.correlated is not None:
            values[:, -1] = TOGETHER
        prior, calibration = model.plain_log_prior, model.calibration
        offset = np.zeros(len(prior)) if calibration is None else calibration.offsets_of(model.classes)
        silent = says_nothing(contributions.sum(axis=2))  # these rows have the class prior
        offset = np.where(silent[:, None], 0.0, offset)
        library = model.schema.library if library is None else library
        source = Explained(model, replace(batch, findings=None), library, has_posterior)
        return cls(contributions, impossible, prior, offset, values, model.classes, columns, source)

    @property
    def score(self) -> Floats:
        """Joint log score, rows x classes; -inf for an excluded class."""
        base = self.prior + self.offset
        return array.forbid(base + self.contributions.sum(axis=2), self.impossible.sum(axis=2))

    def __repr__(self) -> str:
        n, classes, columns = self.contributions.shape
        return f"Explanation of {n} rows, {classes} classes, {columns} columns; text(row) describes one row"

    def _repr_html_(self) -> str:
        """Return the first row as HTML, for notebooks."""
        n = len(self.contributions)
        more = f"<p>{n - 1:,} more rows: html(row) shows one.</p>" if n > 1 else ""
        return self.html() + more if n else f"<p>{self!r}</p>"

    def comparison(self, row: int = 0, of: Any = None, against: Any = None, words: bool = True) -> Comparison:
        """Return the terms of the log-odds of class `of` against class `against` for a row.

        Without `of` and `against`, the best class is compared with the second best. The terms add up to the log-odds.
        With `words`, each word of a text column is a term; without, the column is one.
        """
        return self._compare(row, *self._pair(row, of, against), words)

    def text(
        self,
        row: int = 0,
        top: int | None = 8,
        of: Any = None,
        against: Any = None,
        sd: bool = False,
        words: bool = True,
    ) -> str:
        """Return a text that compares two classes for a row, column by column.

        Without `of` and `against`, the best class is compared with the second best; `top` columns and words are listed.
        With `sd`, every line has the standard deviation of the evidence; `words=False` has one line per text column.
        """
        if (reason := self._nothing_to_compare(row, of, against)) is not None:
            return reason
        return self._compare(row, *self._pair(row, of, against), words, sd).text(top, sd)

    def html(
        self, row: int = 0, top: int | None = 12, of: Any = None, against: Any = None, words: bool = True
    ) -> str:
        """Return the comparison of two classes for a row as HTML: a table with bars and standard deviations."""
        if (reason := self._nothing_to_compare(row, of, against)) is not None:
            return f"<p>{escape(reason)}</p>"
        return self.comparison(row, of, against, words).html(top)

    def frame(
        self,
        row: int | None = None,
        of: Any = None,
        against: Any = None,
        library: Any = None,
        words: bool = True,
    ) -> Any:
        """Return the terms of the log-odds as a frame: row, of, against, term, value, evidence, sd.

        `row` is one row, or None for all rows. The evidence of the terms of a row adds up to its log-odds; it is
        infinite for a value of probability 0. `library` is "pandas", "polars" or "pyarrow"; without it, the frame is
        of the library of the rows, of the training rows, or of the first one that is installed.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes("bernoulli").fit({"fever": [1, 1, 0, 0], "cough": [1, 0, 1, 0]}, list("aabb"))
        >>> model.explain({"fever": 1, "cough": 1}).frame(library="pandas")[["term", "evidence", "sd"]].round(2)
                    term  evidence    sd
        0  (class prior)       0.0  0.87
        1          fever       1.1  1.21
        2          cough       0.0  0.82
        """
        rows = range(len(self.contributions)) if row is None else [row]
        pairs = [self._pair(k, of, against) for k in rows]
        sds = self._sd(list(rows), pairs)
        columns: dict[str, list[Any]] = {name: [] for name in ("row", "of", "against")}
        columns |= {name: [] for name in ("term", "value", "evidence", "sd")}
        for i, (k, pair) in enumerate(zip(rows, pairs, strict=True)):
            comparison = self._compare(k, *pair, words, sds.of_row(i))
            own = comparison.columns()
            repeated = {"row": k, "of": comparison.of, "against": comparison.against}
            for name, value in repeated.items():
                columns[name] += [value] * len(comparison.terms)
            for name, values in own.items():
                columns[name] += values
        return write.frame(self._library() if library is None else library, columns)

    def plot(
        self,
        row: int = 0,
        top: int | None = 10,
        of: Any = None,
        against: Any = None,
        words: bool = True,
        ax: Any = None,
    ) -> Any:
        """Draw the comparison of two classes for a row as a waterfall; return a `sunrise.plots.WaterfallDisplay`."""
        display = import_module("sunrise.plots.waterfall").WaterfallDisplay
        return display.from_explanation(self, row=row, top=top, of=of, against=against, words=words, ax=ax)

    def _require_row(self, row: int) -> None:
        if not -len(self.contributions) <= row < len(self.contributions):
            raise IndexError(f"row {row} does not exist: {len(self.contributions)} rows were explained")

    def _nothing_to_compare(self, row: int, of: Any, against: Any) -> str | None:
        """Return why two classes cannot be compared for a row, or None."""
        self._require_row(row)
        if len(self.classes) == 1:
            return f"{self.classes[0]}: the only class"
        if of is None and against is None and self.score[row].max() == -np.inf:
            return "impossible under every class: the class prior decides"
        return None

    def _pair(self, row: int, of: Any, against: Any) -> tuple[int, int]:
        """Return the positions of the two classes to compare for a row."""
        if (reason := self._nothing_to_compare(row, of, against)) is not None:
            raise ValueError(f"row {row} has no two classes to compare: {reason}.")
        order = np.argsort(-self.score[row], kind="stable").tolist()
        second = None if against is None else labels.place_of(against, self.classes)
        best = next(k for k in order if k != second) if of is None else labels.place_of(of, self.classes)
        if second is None:
            second = next(k for k in order if k != best)
        return best, second

    def _sd(self, rows: list[int], pairs: list[tuple[int, int]]) -> EvidenceSd:
        """Return the standard deviations of the evidence of some rows, each for a pair of classes."""
        at: Positions = np.asarray(rows, dtype=np.intp) % max(len(self.contributions), 1)
        of, against = np.asarray(pairs, dtype=np.intp).reshape(-1, 2).T
        evidence = self.contributions[at, of] - self.contributions[at, against]
        if self.source is None or not self.source.has_posterior:
            return EvidenceSd.unknown(*evidence.shape)
        return evidence_sd(self.source.model, self.source.batch.select_rows(at), evidence, of, against)

    def _library(self) -> Any:
        if self.source is not None and self.source.library is not None:
            return self.source.library
        for name in _LIBRARIES:
            try:
                import_module(name)
            except ImportError:
                continue
            return name
        raise ImportError("frame() needs a library of data frames: pip install pandas.")

    def _words(self, row: int, j: int, best: int, second: int, sd: EvidenceSd) -> list[Term]:
        """Return the terms of the words of a text column; none if column j holds no text."""
        if self.source is None or not self.contributions[row, :, j].any():
            return []
        model = self.source.model
        for k, part in enumerate(model.parts):
            if part.columns[0] == j and part.family.reader.own_block:
                batch = self.source.batch.select_rows([row % len(self.contributions)])
                factor = float(row_factors(model, batch).get(k, np.ones(1))[0])
                document: Any = batch.blocks[k]
                scores = word_scores(model.forms[k], document, factor)
                evidence, names = scores[best] - scores[second], model.blocks[k].words
                sds = sd.words[k][0] if k in sd.words else np.full(len(evidence), np.nan)
                words = [*(str(names[i]) for i in document.indices), ABSENT]
                found = zip(words, evidence.tolist(), sds.tolist(), strict=True)
                return [
                    Term(f"{self.columns[j]}: {word}", "", own, spread)
                    for word, own, spread in found
                    if word != ABSENT or own != 0.0
                ]
        return []

    def _correlated(self, row: int, j: int, best: int, second: int) -> list[Term]:
        """Return the terms of the columns of a block that is scored together; none if summand j is no such block."""
        if self.source is None or (columns := self.source.model.schema.correlated) is None:
            return []
        model = self.source.model
        if j != model.schema.n_summands - 1 or not self.contributions[row, :, j].any():
            return []
        batch = self.source.batch.select_rows([row % len(self.contributions)])
        evidence = evidence_of_columns(model.forms[-1], batch.blocks[-1].numbers(), best, second).tolist()
        place = {name: at for at, name in enumerate(model.schema.names)}
        at = [place[name] for name in columns.columns]
        terms = [
            Term(self.columns[k], f"{_cell_text(self.values[row, k])}, given the others", own)
            for k, own in zip(at, evidence[:-1], strict=True)
            if own != 0.0
        ]
        return [*terms, Term(TOGETHER, "", evidence[-1])]

    def _compare(
        self, row: int, best: int, second: int, words: bool, sd: EvidenceSd | bool = True
    ) -> Comparison:
        """Return the comparison of two classes; `sd` is known already, or tells whether to compute it."""
        if isinstance(sd, bool):
            sd = self._sd([row], [(best, second)]) if sd else EvidenceSd.unknown(1, len(self.columns))
        score = self.score[row]
        evidence = self.contributions[row, best] - self.contributions[row, second]
        with np.errstate(invalid="ignore"):
            odds = float(score[best] - score[second])
        terms = [Term("class prior", None, float(self.prior[best] - self.prior[second]), float(sd.prior[0]))]
        if self.offset[row].any():
            offset = float(self.offset[row, best] - self.offset[row, second])
            terms.append(Term("calibration offset", None, offset))
        excess = self.impossible[row, second] - self.impossible[row, best]
        decisive = excess != 0  # the column excludes one of the two classes
        columns: list[Term] = []
        for j in range(len(self.columns)):
            if words and (
                own := self._words(row, j, best, second, sd) or self._correlated(row, j, best, second)
            ):
                columns += own
                continue
            text = _cell_text(self.values[row, j])
            if not decisive[j] and evidence[j] == 0 and text == "missing":
                continue  # missing cells without a contribution are not listed
            excluded = None if not decisive[j] else "against" if excess[j] > 0 else "of"
            spread = float(sd.columns[0, j])
            columns.append(Term(self.columns[j], text, float(evidence[j]), spread, excluded))
        terms += sorted(columns, key=lambda term: -np.inf if term.excludes else -abs(term.evidence))
        log_p = score - log_sum_exp(score[None])[0] if score.max() > -np.inf else self.prior
        p, both = float(np.exp(log_p[best])), self.classes[[best, second]].tolist()
        return Comparison(both[0], both[1], odds, float(sd.total[0]), p, tuple(terms))


def _pair_text(a: Any, b: Any) -> str | None:
    """Return two cells as text; None if one of them is missing."""
    texts = _cell_text(a), _cell_text(b)
    return None if "missing" in texts else f"{texts[0]} and {texts[1]}, beyond each alone"


def _cell_text(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)
