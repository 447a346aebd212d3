"""Text: the words of a document, counted, weighed, and scored by a family of counts; and the estimator TextNB."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, cast

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.blocks import SparseBlock
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import FAMILIES, Family, Problem
from sunrise.families.capabilities import Candidate, HasEvidence
from sunrise.families.left_out import Cells, RowsLeftOut, score_sparse_rows
from sunrise.families.smoothing import Alpha
from sunrise.families.text_reader import TEXT
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.statistics.support import Support
from sunrise.statistics.terms import Term
from sunrise.text.counter import WordCounter

#: The families that may score documents.
MODELS = ("odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial")


class Steps(NamedTuple):
    """How words are weighed: term frequency, power of the length, power of the inverse document frequency."""

    tf: str
    length: float
    idf: float


#: How words are weighed where nothing is said: named models are what their papers say, on plain counts.
PLAIN = Steps("count", 0.0, 0.0)
STEPS = {"odds": Steps("log", 0.7, 0.5), "bernoulli": Steps("binary", 0.0, 0.0)}


class TextParams(NamedTuple):
    """The parameters of the family that scores the words, and which words those are."""

    words: Any
    use: Mask
    known: Mask
    #: How many classes there are.
    n_classes: int


def _takes_from_data(model: Family) -> bool:
    """False if all settings of a model are numbers already: a fixed alpha needs no look at the sums."""
    alpha = getattr(model, "alpha", None)
    return not isinstance(alpha, Alpha) or alpha.by_evidence


@dataclass(frozen=True)
class Text(Candidate, Family):
    """Text: a document is the words it has, scored by a family of counts.

    A document is scaled on its own (logarithms of counts, divided by a power of their length), so that class sums are
    exactly additive; the weight that rare words have is applied to the sums and to the document alike. These are steps
    of Rennie et al. (2003), with the length before the inverse document frequency.

    Parameters
    ----------
    model : str or Family
        What scores the words: "odds" (the shares of a class against those of all others), "multinomial",
        "complement", "bernoulli" (whether a word is there), or "dirichlet_multinomial" (words come in bursts).
    tf : {"log", "count", "binary"}
        What a word that stands in a document n times counts: log(1 + n), n or 1.
    length : float
        The power of the Euclidean length of a document that its words are divided by; 0 for none.
    idf : float
        The power of log(documents / documents with the word) that a word weighs; 0 for none.
    total : float or None
        What the words of every document are scaled to sum up to, in the place of `length`.
    idf_first : bool
        Weigh words before the length is taken, as Rennie et al. do. The sums then depend on all documents together, so
        that such a model can be neither updated nor merged.
    min_df, max_df : int or float
        Words in fewer or more documents say nothing: a number of documents, or a share of them as a float.
    max_features : int or None
        How many words say anything, those with most documents first. These, and `idf`, count documents, whatever
        they weigh.
    counter : WordCounter
        How words are found.

    What is not given of `tf`, `length` and `idf` is "log", 0.7 and 0.5 for odds, and plain counts for the other models.
    """

    name = "text"
    joint = True
    reader = TEXT
    complexity = 100
    rule_order = 0
    model: Any = "odds"
    tf: str | None = None
    length: float | None = None
    idf: float | None = None
    total: float | None = None
    idf_first: bool = False
    min_df: Any = 1
    max_df: Any = 1.0
    max_features: int | None = None
    counter: WordCounter = field(default_factory=WordCounter)
    #: How much every word weighs, once that is known; NaN for words that are left out.
    word_weight: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.model, str):
            if self.model not in MODELS:
                raise ValueError(
                    f"there is no model {self.model!r} for text. There are: {', '.join(MODELS)}."
                )
            object.__setattr__(self, "model", FAMILIES[self.model]())
        if not isinstance(self.model, Family) or self.model.name not in MODELS:
            raise ValueError(
                f"{getattr(self.model, 'name', self.model)} cannot score words. What can: {', '.join(MODELS)}."
            )
        steps = STEPS.get(self.model.name, PLAIN)
        for name, usual in steps._asdict().items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)
        if self.tf not in ("log", "count", "binary"):
            raise ValueError(f'tf is "log", "count" or "binary", not {self.tf!r}.')
        for name in ("length", "idf", "min_df", "max_df"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not float(value) >= 0:
                raise ValueError(f"{name} is {value!r}; it must be a number, 0 or more.")
        for name in ("total", "max_features"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and float(value) > 0):
                raise ValueError(f"{name} is {value!r}; it must be more than 0, or None.")
        if not isinstance(self.counter, WordCounter):
            raise ValueError(f"counter is {self.counter!r}; it must be a sunrise.text.WordCounter.")
        if self.counter.prunes:
            raise ValueError(
                "words are left out by min_df, max_df and max_features of Text, not of its counter."
            )
        self._refuse_weights()

    def _refuse_weights(self) -> None:
        """Some models are of whole words, which have no weight."""
        steps = STEPS.get(self.model.name, PLAIN)
        weighed = (self.tf, self.length, self.idf) != steps or self.total is not None
        if self.model.reader.whole_rows and (self.min_df, self.max_df, self.max_features) != (1, 1.0, None):
            raise ValueError(
                f"{self.model.name} knows the lengths of documents of all their words together, so min_df, max_df and "
                "max_features are not for it. Give stop_words, or use another model."
            )
        support = self.model.support
        if weighed and (support.whole or np.isfinite(support.highest)):
            raise ValueError(
                f"{self.model.name} is of whole words. Leave out tf, length, idf and total, or use another model."
            )

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Long strings that rarely repeat."""
        if (
            profile.kind == "level"
            and profile.words >= 5
            and profile.characters >= 40
            and profile.distinct > profile.cells / 2
        ):
            return f"text, {profile.words:.0f} words in a cell"
        return None

    @property
    def terms(self) -> tuple[Term, ...]:  # type: ignore[override]
        """Those of its model."""
        return cast(tuple[Term, ...], self.model.terms)

    @property
    def generative(self) -> bool:  # type: ignore[override]
        """Whether it is a distribution of words: weighed ones have none."""
        plain = (self.tf, self.length, self.idf) == STEPS.get(self.model.name, PLAIN)
        return bool(self.model.generative and plain and self.total is None)

    @property
    def uses_class_prior(self) -> bool:
        """Whether the scores are those of its class alone."""
        return bool(self.model.uses_class_prior)

    @property
    def support(self) -> Support:
        """That of its model."""
        return cast(Support, self.model.support)

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """What shaped the sums: how words are found and scaled."""
        return self.name, self.counter, self.tf, self.length, self.total, self.idf_first, self.model.terms

    @property
    def description(self) -> str:
        """The family with all that shaped its sums."""
        steps = f"tf={self.tf!r}, length={self.length}, total={self.total}, idf_first={self.idf_first}"
        return f"{self.name} by {self.model.name}, {steps}, {self.counter}"

    def with_defaults(self, **model: Any) -> Self:
        """With the model's own settings, for the family of the words as well."""
        own = super().with_defaults(**model)
        return own.with_settings(model=own.model.with_defaults(**{**model, "estimate": own.estimate}))

    def find_problem(self, stats: Any) -> Problem | None:
        """What its model says of the words."""
        n_words = stats.found.shape[1]
        found = self.model.find_problem(stats.as_counts(self.terms, np.ones(n_words))) if n_words else None
        return None if found is None else Problem(0, f"has a word that {found.text}", found.of_class)

    # Statistics of the words that say anything, weighed, as those of a block of counts.

    def rarity(self, found: Any, n: float) -> Floats:
        """What every word weighs that is in so many of n documents."""
        if self.model.reader.whole_rows:
            return np.ones(len(found))
        low, high = (
            limit if isinstance(limit, Integral) else limit * n for limit in (self.min_df, self.max_df)
        )
        use = (found >= low) & (found <= high) & (found > 0)
        if self.max_features is not None and use.sum() > self.max_features:
            order = np.lexsort((np.arange(len(found)), -np.where(use, found, -1)))
            use[order[self.max_features :]] = False
        if not self.idf:
            return np.where(use, 1.0, np.nan)
        return np.where(use, np.log(n / np.maximum(found, 1)) ** self.idf, np.nan)

    def resolve(self, stats: Any, again: bool = False) -> Self:
        """The family with the weights of the words, and everything that its model takes from them."""
        own = self
        if self.word_weight is None:
            documents, n = stats.found.sum(axis=0), float(stats.documents.sum())
            own = self.with_settings(word_weight=self.rarity(documents, n))
        if np.isnan(own._weight).all() or not _takes_from_data(own.model):
            return own
        return own.with_settings(model=own.model.resolve(own._counts(stats), again))

    @property
    def _weight(self) -> Floats:
        """What sums and documents are still to be multiplied by; NaN for words that are left out."""
        weight = np.zeros(0) if self.word_weight is None else self.word_weight
        return np.where(np.isnan(weight), np.nan, 1.0) if self.idf_first else weight

    def _counts(self, stats: Any) -> Any:
        return stats.as_counts(self.terms, self._weight)

    def params(self, stats: Any, class_weight: Floats) -> TextParams:
        """The parameters of the words."""
        use = ~np.isnan(self._weight)
        documents = stats.weight[:, 0]
        # Without a single word there is nothing to say.
        words = self.model.params(self._counts(stats), documents) if use.any() else None
        return TextParams(words, use, np.array([bool(use.any())]), len(documents))

    def form(self, params: TextParams) -> Form:
        """How the words that say anything score, among all words."""
        if params.words is None:
            return Linear(x=np.zeros((params.n_classes, len(params.use))))
        weight = self._weight[params.use]
        form: Any = self.model.form(params.words)
        form = form if (weight == 1.0).all() else form.times(weight)
        return cast(Form, form if params.use.all() else form.embed_columns(params.use))

    # Leaving documents out.

    def _spoken(self, block: SparseBlock) -> SparseBlock:
        """The words of documents that are not left out, weighed."""
        weight = self._weight
        use = ~np.isnan(weight)
        if (weight == 1.0).all():
            return block
        weighed = SparseBlock(block.data * weight[block.indices], block.indices, block.indptr, block.shape)
        if use.all():
            return weighed
        matrix = weighed.matrix[:, use]
        return SparseBlock(matrix.data, matrix.indices, matrix.indptr, matrix.shape)

    def left_out(self, stats: Any, params: TextParams, row_weight: Floats | None) -> RowsLeftOut:
        """That of the model of the words, for the weighed words of the documents."""
        if params.words is None:
            return RowsLeftOut(lambda block, y, w, n_threads: np.zeros(len(y)))
        counts = self._counts(stats)
        inner = self.model.left_out(counts, params.words, None)
        if isinstance(inner, RowsLeftOut):
            return RowsLeftOut(
                lambda block, y, w, n_threads: inner.score(self._spoken(block), y, w, n_threads),
                inner.all_classes,
            )

        def score(block: SparseBlock, y: Codes, w: Floats, n_threads: int) -> Floats:
            rows = Cells.stored(self._spoken(block))
            return score_sparse_rows(inner.score, self.support.read, rows, counts.x.shape[1], y, w)

        return RowsLeftOut(score)

    def log_prior_density(self, stats: Any, class_weight: Floats) -> float:
        """What the prior of its model adds."""
        if np.isnan(self._weight).all():
            return 0.0
        return float(self.model.log_prior_density(self._counts(stats), stats.weight[:, 0]))

    def log_evidence(self, stats: Any, class_weight: Floats | None = None) -> Floats:
        """Of the words as a distribution; NaN where weighed words are none."""
        if not (self.generative and isinstance(self.model, HasEvidence)) or np.isnan(self._weight).all():
            return np.full((len(stats.rows), 1), np.nan)
        found = np.asarray(self.model.log_evidence(self._counts(stats)))
        return np.asarray(found.sum(axis=1, keepdims=True))

    def sample_parameters(
        self, stats: Any, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> TextParams:
        """Parameters of the words from their posterior."""
        use = ~np.isnan(self._weight)
        words = (
            self.model.sample_parameters(self._counts(stats), n, rng, stats.weight[:, 0])
            if use.any()
            else None
        )
        return TextParams(words, use, np.array([bool(use.any())]), n * len(stats.rows))

    def log_base_measure(self, x: Floats) -> Floats:
        """That of the model of the words."""
        return np.asarray(self.model.log_base_measure(x))

    def outcomes(self, params: TextParams) -> Floats:
        """There are none of a whole document."""
        raise ValueError(
            "a document has no mutual information as a whole; TextNB.informative_words has that of its words."
        )

    def sample(self, params: TextParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Documents are not drawn: words without their order are none."""
        raise ValueError("no documents can be drawn: the model knows which words they have, not their order.")

    def describe(self, params: TextParams) -> list[dict[str, Floats]]:
        """How many words there are."""
        told = np.full(params.n_classes, float(params.use.sum()))
        return [{"words": told}]

    def feature_names(self, stats: Any, names: list[str]) -> list[str]:
        """The words."""
        return [f"{names[0]}={word}" for word in stats.words]
