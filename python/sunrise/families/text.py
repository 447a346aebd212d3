"""Text family: the weighted word counts of a document, scored by a family of counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, cast

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import FAMILIES, Family, Problem
from sunrise.families.bernoulli import Bernoulli, BernoulliParams
from sunrise.families.capabilities import Candidate, HasEvidence
from sunrise.families.documents_left_out import DocumentsLeftOut
from sunrise.families.left_out import RowsLeftOut
from sunrise.families.smoothing import Alpha
from sunrise.families.text_reader import TEXT
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import Support
from sunrise.statistics.terms import Term
from sunrise.text.counter import WordCounter

#: The families that may score documents.
MODELS = ("odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial")


class Weighting(NamedTuple):
    """Weighting of words: term frequency, power of the document length, power of the inverse document frequency."""

    tf: str
    length: float
    idf: float


#: Plain counts, the default of the models without an entry in DEFAULT_WEIGHTING (as in their papers).
UNWEIGHTED = Weighting("count", 0.0, 0.0)
DEFAULT_WEIGHTING = {"odds": Weighting("log", 0.7, 0.5), "bernoulli": Weighting("binary", 0.0, 0.0)}


class TextParams(NamedTuple):
    """Parameters of the family that scores the words, and a mask of the words that it scores."""

    words: Any
    use: Mask
    known: Mask
    n_classes: int


def _needs_resolving(model: Family) -> bool:
    """False if all settings of a model are numbers already (a fixed alpha), so that `resolve` can be skipped."""
    alpha = getattr(model, "alpha", None)
    return not isinstance(alpha, Alpha) or alpha.by_evidence


@dataclass(frozen=True)
class Text(Candidate, Family):
    """Text: a document is a bag of words, scored by a family of counts.

    Each document is scaled by itself (log of the counts, divided by a power of their Euclidean length), so that class
    sums are exactly additive. The inverse document frequency is applied afterwards, to the class sums and to the
    scored document. Rennie et al. (2003) use the same steps, but the inverse document frequency before the length.

    Parameters
    ----------
    model : str or Family
        The family that scores the words: "odds" (shares of a class against shares of all others), "multinomial",
        "complement", "bernoulli" (presence of a word), or "dirichlet_multinomial" (over-dispersed counts).
    tf : {"log", "count", "binary"}
        Term frequency of a word that occurs n times in a document: log(1 + n), n or 1.
    length : float
        Divide a document by its Euclidean length to this power; 0 to switch off.
    idf : float
        Multiply a word by log(documents / documents with the word) to this power; 0 to switch off.
    total : float or None
        Scale the words of every document to this sum, instead of using `length`.
    idf_first : bool
        Apply the inverse document frequency before the length, as Rennie et al. do. The sums then depend on all
        documents together, so that the model can be neither updated nor merged.
    min_df, max_df : int or float
        Ignore words in fewer or more documents: a number of documents (int), or a share of them (float).
    max_features : int or None
        Use only this many words, those in most documents. `min_df`, `max_df`, `max_features` and `idf` count documents
        without their sample weights.
    counter : WordCounter
        How documents are split into words.

    `tf`, `length` and `idf` default to "log", 0.7 and 0.5 for odds, and to plain counts for the other models.
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
    #: Weight of every word, once it is known; NaN for ignored words.
    word_weight: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.model, str):
            if self.model not in MODELS:
                raise ValueError(
                    f"there is no model {self.model!r} for text. Use one of {', '.join(MODELS)}."
                )
            object.__setattr__(self, "model", FAMILIES[self.model]())
        if not isinstance(self.model, Family) or self.model.name not in MODELS:
            raise ValueError(
                f"{getattr(self.model, 'name', self.model)} cannot score words. Use one of {', '.join(MODELS)}."
            )
        weighting = DEFAULT_WEIGHTING.get(self.model.name, UNWEIGHTED)
        for name, default in weighting._asdict().items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        if self.tf not in ("log", "count", "binary"):
            raise ValueError(f'tf is {self.tf!r}; it must be "log", "count" or "binary".')
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
            raise ValueError("the counter sets min_df, max_df or max_features. Set them on Text instead.")
        self._check_model()

    def _check_model(self) -> None:
        """Raise if the model needs plain counts and the settings weight or prune words."""
        weighting = DEFAULT_WEIGHTING.get(self.model.name, UNWEIGHTED)
        weighted = (self.tf, self.length, self.idf) != weighting or self.total is not None
        if self.model.reader.whole_rows and (self.min_df, self.max_df, self.max_features) != (1, 1.0, None):
            raise ValueError(
                f"{self.model.name} needs all words of a document, so min_df, max_df and max_features do not work with "
                "it. Give stop_words, or use another model."
            )
        support = self.model.support
        if weighted and (support.whole or np.isfinite(support.highest)):
            raise ValueError(
                f"{self.model.name} needs counts of whole words. Leave out tf, length, idf and total, or use another "
                "model."
            )

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Reason for long strings that rarely repeat."""
        if (
            profile.kind == "level"
            and profile.words >= 4.5
            and profile.characters >= 25
            and profile.distinct > profile.cells / 2
        ):
            return f"text, {profile.words:.0f} words in a cell"
        return None

    @property
    def terms(self) -> tuple[Term, ...]:  # type: ignore[override]
        """The terms of the model of the words."""
        return cast(tuple[Term, ...], self.model.terms)

    @property
    def generative(self) -> bool:  # type: ignore[override]
        """True if the scores are log-probabilities; weighted counts have no distribution."""
        plain = (self.tf, self.length, self.idf) == DEFAULT_WEIGHTING.get(self.model.name, UNWEIGHTED)
        return bool(self.model.generative and plain and self.total is None)

    @property
    def uses_class_prior(self) -> bool:
        """True if the class prior is added to the score, as the model of the words decides."""
        return bool(self.model.uses_class_prior)

    @property
    def support(self) -> Support:
        """The support of the model of the words."""
        return cast(Support, self.model.support)

    @property
    def statistics_key(self) -> tuple[Any, ...]:
        """The settings that shape the sums: how words are split and scaled."""
        return self.name, self.counter, self.tf, self.length, self.total, self.idf_first, self.model.terms

    @property
    def description(self) -> str:
        """The family in words, with the settings that shape its sums."""
        settings = f"tf={self.tf!r}, length={self.length}, total={self.total}, idf_first={self.idf_first}"
        return f"{self.name} by {self.model.name}, {settings}, {self.counter}"

    def with_defaults(self, **model: Any) -> Self:
        """Return a copy whose unset settings, and those of the model of the words, come from the estimator."""
        new = super().with_defaults(**model)
        return new.with_settings(model=new.model.with_defaults(**{**model, "estimate": new.estimate}))

    def find_problem(self, stats: Any) -> Problem | None:
        """Report the problem that the model has with the counts of a word."""
        n_words = len(stats.document_frequency)
        problem = self.model.find_problem(stats.as_counts(self.terms, np.ones(n_words))) if n_words else None
        return None if problem is None else Problem(0, f"has a word that {problem.text}", problem.of_class)

    def parts_of_ngrams(self, vocabulary: Any) -> Integers | None:
        """Number of words of every n-gram of words; None for single words and for n-grams of characters."""
        if self.counter.analyzer != "word" or self.counter.ngram_range[1] == 1:
            return None
        return np.asarray(vocabulary.n_items("word"), np.int64)

    # Statistics of the weighted words that are not ignored, as those of a block of counts.

    def word_weights(self, documents: Any, n: float, rows: Any = None) -> Floats:
        """Weight of every word, given the number of documents (of n) that contain it; NaN for ignored words.

        If these numbers are decayed, `rows` has the whole numbers: a limit in documents is compared with them.
        """
        if self.model.reader.whole_rows:
            return np.ones(len(documents))
        rows, documents = documents if rows is None else rows, np.minimum(documents, n)  # decays are rounded
        low, high = (
            rows - limit if isinstance(limit, Integral) else documents - limit * n
            for limit in (self.min_df, self.max_df)
        )
        use = (low >= 0) & (high <= 0) & (documents > 0)
        if self.max_features is not None and use.sum() > self.max_features:
            order = np.lexsort((np.arange(len(documents)), -np.where(use, documents, -1)))
            use[order[self.max_features :]] = False
        if not self.idf:
            return np.where(use, 1.0, np.nan)
        ratio = np.divide(n, documents, out=np.ones(len(documents)), where=use)
        return np.where(use, np.log(ratio) ** self.idf, np.nan)

    def stays_used(self, stats: Any) -> Mask:
        """Mask of the words that `min_df` still admits without one of their documents."""
        limit = self.min_df
        if isinstance(limit, Integral):
            return np.asarray(stats.document_frequency - 1 >= limit)
        documents, n = stats.decayed_document_frequency, float(stats.decayed_documents.sum())
        return np.asarray(documents - 1.0 >= limit * (n - 1.0))

    def resolve(self, stats: Any, again: bool = False) -> Self:
        """Return the family with the weights of the words and the settings of its model as numbers."""
        new = self
        if self.word_weight is None:
            documents, n = stats.decayed_document_frequency, float(stats.decayed_documents.sum())
            weight = self.word_weights(documents, n, stats.document_frequency)
            new = self.with_settings(word_weight=weight)
        if np.isnan(new.weight_to_apply).all() or not _needs_resolving(new.model):
            return new
        model = new.model.resolve(new._counts(stats), again)
        return new.with_settings(model=model, chosen=model.chosen)

    @property
    def weight_to_apply(self) -> Floats:
        """Weights by which sums and documents are still to be multiplied; NaN for ignored words.

        1 with `idf_first`, because the weights are then part of the sums.
        """
        weight = np.zeros(0) if self.word_weight is None else self.word_weight
        return np.where(np.isnan(weight), np.nan, 1.0) if self.idf_first else weight

    def _counts(self, stats: Any) -> Any:
        """Statistics of the weighted words, as those of a block of counts."""
        return stats.as_counts(self.terms, self.weight_to_apply)

    def params(self, stats: Any, class_weight: Floats) -> TextParams:
        """Parameters of the model of the words; None if all words are ignored."""
        use = ~np.isnan(self.weight_to_apply)
        documents = stats.weight[:, 0]
        words = self.model.params(self._counts(stats), documents) if use.any() else None
        return TextParams(words, use, np.array([bool(use.any())]), len(documents))

    def form(self, params: TextParams) -> Form:
        """Return the form of the family that scores the words; ignored words score 0."""
        if params.words is None:
            return Linear(x=np.zeros((params.n_classes, len(params.use))))
        weight = self.weight_to_apply[params.use]
        form: Any = self.model.form(params.words)
        form = form if (weight == 1.0).all() else form.times(weight)
        return cast(Form, form if params.use.all() else form.embed_columns(params.use))

    def is_linear(self, params: TextParams) -> bool:
        """True if the score of a document is a sum over its words, each with a weight for every class."""
        return params.words is None or self.model.form(params.words).kind == "linear"

    def without_rare(self, stats: Any, min_rows: int) -> Any:
        """The statistics without words that fewer documents contain."""
        return stats.without_rare(min_rows)

    def level_names(self, stats: Any) -> list[Any]:
        """The words of the column."""
        return [stats.words.tolist()]

    # Leaving documents out.

    def left_out(self, stats: Any, params: TextParams, row_weight: Floats | None) -> RowsLeftOut:
        """Leave-one-out of the model of the words, as `predict` would read the document without having seen it."""
        if params.words is None:
            return RowsLeftOut(lambda block, y, w, n_threads: np.zeros(len(y)))
        counts = self._counts(stats)
        inner = self.model.left_out(counts, params.words, None)
        return DocumentsLeftOut(self, stats, params, inner, counts).hook

    def log_prior_density(self, stats: Any, class_weight: Floats) -> float:
        """Log prior density of the model of the words."""
        if np.isnan(self.weight_to_apply).all():
            return 0.0
        return float(self.model.log_prior_density(self._counts(stats), stats.weight[:, 0]))

    def log_evidence(self, stats: Any, class_weight: Floats | None = None) -> Floats:
        """Log marginal likelihood of the words, classes x 1; NaN for weighted words, which have no distribution."""
        if (
            not (self.generative and isinstance(self.model, HasEvidence))
            or np.isnan(self.weight_to_apply).all()
        ):
            return np.full((len(stats.rows), 1), np.nan)
        evidence = np.asarray(self.model.log_evidence(self._counts(stats)))
        return np.asarray(evidence.sum(axis=1, keepdims=True))

    def sample_parameters(
        self, stats: Any, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> TextParams:
        """Draw the parameters of the model of the words from their posterior."""
        use = ~np.isnan(self.weight_to_apply)
        words = (
            self.model.sample_parameters(self._counts(stats), n, rng, stats.weight[:, 0])
            if use.any()
            else None
        )
        return TextParams(words, use, np.array([bool(use.any())]), n * len(stats.rows))

    def log_base_measure(self, x: Floats) -> Floats:
        """The base measure of the model of the words."""
        return np.asarray(self.model.log_base_measure(x))

    def presence(self, stats: Any) -> tuple[Bernoulli, BernoulliParams, Mask]:
        """The presence of each word in a document: Bernoulli with Laplace smoothing, whatever scores the words."""
        family = Bernoulli(1.0, estimate="mean")
        rows, n = stats.documents_with_word, stats.decayed_documents[:, None]
        documents = np.broadcast_to(stats.documents[:, None], rows.shape)
        sums = Sums(documents, np.broadcast_to(n, rows.shape), stats.decayed_documents_with_word)
        return family, family.params(sums, n), ~np.isnan(self.weight_to_apply)

    def sample(self, params: TextParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Missing documents: the model knows which words documents have, not their order."""
        return np.full((len(y), 1), np.nan)

    def describe(self, params: TextParams) -> list[dict[str, Floats]]:
        """Return the number of words that the model scores."""
        return [{"words": np.full(params.n_classes, float(params.use.sum()))}]

    def feature_names(self, stats: Any, names: list[str]) -> list[str]:
        """Names of the form column=word."""
        return [f"{names[0]}={word}" for word in stats.words]
