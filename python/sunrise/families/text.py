"""Text: the words of a document, counted, weighed, and scored by a family of counts; and the estimator TextNB."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral, Real
from os import PathLike
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise import _native, labels
from sunrise.arrays import Codes, Floats, Mask
from sunrise.data.batch import SparseBlock, WordsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.derived import Settings
from sunrise.estimator import COMMON_CONSTRAINTS, UNLABELLED_CONSTRAINTS, NaiveBayes
from sunrise.families.bernoulli import Bernoulli
from sunrise.family import FAMILIES, Cells, Complaint, Family
from sunrise.forms import Form, Linear
from sunrise.information import mutual_information
from sunrise.leave_out import sparse_own
from sunrise.look import Look
from sunrise.score import row_factors
from sunrise.smoothing import Alpha
from sunrise.stats import Sums
from sunrise.support import Support
from sunrise.terms import Term
from sunrise.text.counter import Counted, WordCounter, kept
from sunrise.text.hashed import named_by_hash
from sunrise.text.texts import lines_of
from sunrise.text.vocabulary import Vocabulary
from sunrise.threads import threads

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


@dataclass(frozen=True)
class Text(Family):
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
    alone = True
    reads_text = True
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
        if self.model.of_rows and (self.min_df, self.max_df, self.max_features) != (1, 1.0, None):
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
    def suits(cls, look: Look) -> str | None:
        """Long strings that rarely repeat."""
        if (
            look.kind == "level"
            and look.words >= 5
            and look.characters >= 40
            and look.distinct > look.cells / 2
        ):
            return f"text, {look.words:.0f} words in a cell"
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
    def wants_prior(self) -> bool:
        """Whether the scores are those of its class alone."""
        return bool(self.model.wants_prior)

    @property
    def shared(self) -> bool:  # type: ignore[override]
        """Whether a document has part in the parameters of other classes than its own."""
        return bool(self.model.shared)

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether sums of all documents are those of any parts of them."""
        return not self.idf_first

    @property
    def support(self) -> Support:
        """That of its model."""
        return cast(Support, self.model.support)

    @property
    def shape(self) -> tuple[Any, ...]:
        """What shaped the sums: how words are found and scaled."""
        return self.name, self.counter, self.tf, self.length, self.total, self.idf_first, self.model.terms

    @property
    def told(self) -> str:
        """The family with all that shaped its sums."""
        steps = f"tf={self.tf!r}, length={self.length}, total={self.total}, idf_first={self.idf_first}"
        return f"{self.name} by {self.model.name}, {steps}, {self.counter}"

    def settled(self, **model: Any) -> Self:
        """With the model's own settings, for the family of the words as well."""
        own = super().settled(**model)
        return own.changed(model=own.model.settled(**{**model, "estimate": own.estimate}))

    # Reading: from documents to scaled counts of words.

    def count(self, column: Column, vocabulary: Vocabulary | None, n_jobs: int | None) -> Counted:
        """The words of the documents of a column."""
        if column.texts is None and column.kind in ("number", "bool"):
            raise ValueError(
                f"column {column.name!r} holds {column.kind}s, no text. Choose another family, or make strings of them."
            )
        if self.counter.hash_bits is None:
            return cast(Counted, column.words(self.counter, vocabulary, n_jobs))
        return named_by_hash(column.words(self.counter, None, n_jobs), vocabulary)

    def scaled(self, counted: Counted, n_jobs: int | None) -> WordsBlock:
        """Counted documents as they are scored."""
        if self.idf_first:
            return self._scaled(counted, self.word_weight, n_jobs)
        key = counted, self.tf, self.length, self.total
        return cast(WordsBlock, kept(key, lambda: self._scaled(counted, None, n_jobs)))

    def first_scaled(self, counted: Counted, there: Mask, n_jobs: int | None) -> WordsBlock:
        """Documents as they are learned from; only those that are there decide how rare words are."""
        if not self.idf_first:
            return self.scaled(counted, n_jobs)
        row = np.repeat(there, counted.distinct)
        found = np.bincount(counted.indices[row], minlength=counted.n_columns)
        return self._scaled(counted, self._rarity(found, float(there.sum())), n_jobs)

    def _scaled(self, counted: Counted, weight: Floats | None, n_jobs: int | None) -> WordsBlock:
        how = (str(self.tf), float(self.length or 0.0), self.total)
        weight = None if weight is None else np.nan_to_num(weight)
        n_threads = threads(n_jobs, len(counted.data))
        data = counted.data
        if how != ("count", 0.0, None) or weight is not None:
            data = np.empty(len(counted.data))
            _native.scale_counts(counted.data, counted.indices, counted.indptr, weight, *how, data, n_threads)
        wide = np.int32 if len(data) < 2**31 else np.int64
        indices, indptr = (a.astype(wide, copy=False) for a in (counted.indices, counted.indptr))
        missing = counted.missing if counted.missing.any() else None
        shape = counted.n_rows, counted.n_columns
        return WordsBlock(data, indices, indptr, shape, counted.lengths.astype(float), missing)

    def complaint(self, stats: Any) -> Complaint | None:
        """What its model says of the words."""
        n_words = stats.found.shape[1]
        found = self.model.complaint(stats.as_counts(self.terms, np.ones(n_words))) if n_words else None
        return None if found is None else Complaint(0, f"has a word that {found.text}", found.of_class)

    # Statistics of the words that say anything, weighed, as those of a block of counts.

    def _rarity(self, found: Any, n: float) -> Floats:
        """What every word weighs that is in so many of n documents."""
        if self.model.of_rows:
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

    def thawed(self) -> Self:
        """The weights of the words stay."""
        return self.changed(model=self.model.thawed())

    def frozen(self, stats: Any) -> Self:
        """The family with the weights of the words, and whatever its model takes from them."""
        own = self
        if self.word_weight is None:
            found, n = stats.found.sum(axis=0), float(stats.documents.sum())
            own = self.changed(word_weight=self._rarity(found, n))
        if not own.model.asks_the_data or np.isnan(own._weight).all():
            return own
        return own.changed(model=own.model.frozen(own._counts(stats)))

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
        return cast(Form, form if params.use.all() else form.among(params.use))

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

    def left_out_scores(
        self, stats: Any, params: TextParams, block: Any, y: Codes, w: Floats, n_threads: int
    ) -> Floats | None:
        """As its model has it, of the words that say anything."""
        if params.words is None:
            return np.zeros((len(y), params.n_classes))
        counts, words = self._counts(stats), self._spoken(block)
        return cast("Floats | None", self.model.left_out_scores(counts, params.words, words, y, w, n_threads))

    def left_out_rows(self, stats: Any, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """As its model has it, of the words that say anything."""
        weight = self._weight
        use = ~np.isnan(weight)
        if not use.any():
            return np.zeros((rows.n_rows, len(stats.rows)) if self.shared else rows.n_rows)
        there, place = use[rows.column], np.cumsum(use) - 1
        column = rows.column[there]
        cells = Cells(rows.x[there] * weight[column], rows.row[there], place[column], rows.n_rows)
        counts = self._counts(stats)
        if self.model.joint:
            return cast("Floats | None", self.model.left_out_rows(counts, cells, y, w))
        return sparse_own(self.model, counts, cells, counts.x.shape[1], y, w)

    def pull(self, stats: Any, class_weight: Floats) -> float:
        """What the prior of its model adds."""
        if np.isnan(self._weight).all():
            return 0.0
        return float(self.model.pull(self._counts(stats), stats.weight[:, 0]))

    def log_evidence(self, stats: Any, class_weight: Floats | None = None) -> Floats:
        """Of the words as a distribution; NaN where weighed words are none."""
        if not self.generative or np.isnan(self._weight).all():
            return np.full((len(stats.rows), 1), np.nan)
        found = np.asarray(self.model.log_evidence(self._counts(stats)))
        return np.asarray(found.sum(axis=1, keepdims=True))

    def drawn(self, stats: Any, n: int, rng: np.random.Generator, class_weight: Floats) -> TextParams:
        """Parameters of the words from their posterior."""
        use = ~np.isnan(self._weight)
        words = self.model.drawn(self._counts(stats), n, rng, stats.weight[:, 0]) if use.any() else None
        return TextParams(words, use, np.array([bool(use.any())]), n * len(stats.rows))

    def log_carrier(self, x: Floats) -> Floats:
        """As its model has it."""
        return np.asarray(self.model.log_carrier(x))

    def outcomes(self, params: TextParams) -> Floats:
        """There are none of a whole document."""
        raise ValueError(
            "a document has no mutual information as a whole; TextNB.informative_words has that of its words."
        )

    def sample(self, params: TextParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Documents are not drawn: words without their order are none."""
        raise ValueError("no documents can be drawn: the model knows which words they have, not their order.")

    def described(self, params: TextParams) -> list[dict[str, Floats]]:
        """How many words there are."""
        told = np.full(params.n_classes, float(params.use.sum()))
        return [{"words": told}]

    def feature_names(self, stats: Any, names: list[str]) -> list[str]:
        """The words."""
        return [f"{names[0]}={word}" for word in stats.words]


class WordEvidence(NamedTuple):
    """What a word adds to the score of one class against another, how often it is there, and in how many documents."""

    word: str
    evidence: float
    times: int
    documents: dict[Any, int]


class TextNB(NaiveBayes):
    """Naive Bayes for documents, from raw strings to calibrated probabilities.

    Takes a list, array, Series or Arrow column of strings, or the path of a file of lines. None is a missing document,
    which gets the class prior.
    Words may appear at any time in `partial_fit`, and models merge by word.

    Parameters
    ----------
    model : {"odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial"}, default="odds"
        What scores the words. The others than odds are as their papers have them, on plain counts, unless more is said.
    alpha : float, "evidence" or None, default=None
        Additive smoothing of the counts of a class; None for 0.1 with odds, and 1 with the others.
    tf, length, idf, total, idf_first, min_df, max_df, max_features
        How words weigh: see `sunrise.Text`.
    norm : bool, default=False
        Of a complement: divide the weights of a class by their sum.
    analyzer, ngram_range, lowercase, strip_accents, stop_words
        How words are found, as in scikit-learn's CountVectorizer.
    hash_bits : int or None, default=None
        Keep hashes of so many bits in the place of words: memory is bounded, whatever words a stream has.
    class_prior : "fitted", "uniform", array-like or dict, default="fitted"
        Class probabilities: learned, equal, or given.
    calibrate : {"temperature", "columns"} or None, default="temperature"
        Make the probabilities honest on leave-one-out scores, with an exponent on the length of documents.
    unlabelled, unlabelled_weight
        Learn from documents without a label, too: see `sunrise.NaiveBayes`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import TextNB
    >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
    >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["a free lunch prize", "see you then"]).tolist()
    ['spam', 'ham']
    """

    _parameter_constraints: dict[str, Any] = {
        "model": [StrOptions(set(MODELS))],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"evidence"}), None],
        "tf": [StrOptions({"log", "count", "binary"}), None],
        "length": [Interval(Real, 0, None, closed="left"), None],
        "idf": [Interval(Real, 0, None, closed="left"), None],
        "total": [Interval(Real, 0, None, closed="neither"), None],
        "idf_first": ["boolean"],
        "norm": ["boolean"],
        "analyzer": [StrOptions({"word", "char", "char_wb"})],
        "ngram_range": [tuple],
        "lowercase": ["boolean"],
        "strip_accents": [StrOptions({"unicode", "ascii"}), None],
        "stop_words": [list, tuple, set, frozenset, None],
        "hash_bits": [Interval(Integral, 1, 31, closed="both"), None],
        "min_df": [Interval(Real, 0, None, closed="left")],
        "max_df": [Interval(Real, 0, None, closed="neither")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        "calibrate": [StrOptions({"temperature", "columns"}), None],
        **UNLABELLED_CONSTRAINTS,
        **COMMON_CONSTRAINTS,
    }

    def __init__(
        self,
        model: str = "odds",
        *,
        alpha: Any = None,
        tf: str | None = None,
        length: float | None = None,
        idf: float | None = None,
        total: float | None = None,
        idf_first: bool = False,
        norm: bool = False,
        analyzer: str = "word",
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        strip_accents: str | None = None,
        stop_words: Iterable[str] | None = None,
        hash_bits: int | None = None,
        min_df: Any = 1,
        max_df: Any = 1.0,
        max_features: int | None = None,
        class_prior: Any = "fitted",
        calibrate: str | None = "temperature",
        unlabelled: str = "error",
        unlabelled_weight: Any = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.tf = tf
        self.length = length
        self.idf = idf
        self.total = total
        self.idf_first = idf_first
        self.norm = norm
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.hash_bits = hash_bits
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.class_prior = class_prior
        self.calibrate = calibrate
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        counter = WordCounter(
            analyzer=self.analyzer,
            ngram_range=self.ngram_range,
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            stop_words=None if self.stop_words is None else frozenset(self.stop_words),
            hash_bits=self.hash_bits,
        )
        family = Text(
            self._model(),
            self.tf,
            self.length,
            self.idf,
            self.total,
            self.idf_first,
            self.min_df,
            self.max_df,
            self.max_features,
            counter,
        )
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs)

    def _model(self) -> Family:
        """The family that scores the words."""
        settings: dict[str, Any] = {} if self.alpha is None else {"alpha": Alpha.given(self.alpha)}
        if self.norm:
            settings["norm"] = True
        if self.norm and self.model != "complement":
            raise ValueError(f'norm is for model="complement"; the model is {self.model!r}.')
        if self.alpha is not None and self.model == "dirichlet_multinomial":
            raise ValueError("dirichlet_multinomial finds its alphas from the data. Leave alpha out.")
        return FAMILIES[self.model](**settings)

    def _open(self, X: Any, fitting: bool) -> Frame:
        """Documents as a table of one column."""
        if isinstance(X, str | bytes):
            raise ValueError(
                "X is one string. Pass a list of documents, [X] for a single one; or the pathlib.Path of a file."
            )
        if isinstance(X, PathLike):
            X = lines_of(X)
        if isinstance(X, dict) or len(getattr(X, "shape", (0,))) > 1:
            raise ValueError(
                "TextNB takes the documents themselves: a list, array or Series of strings. Of a frame, pass the "
                "column; for several columns use NaiveBayes, which takes text columns, too."
            )
        if not hasattr(X, "__len__"):
            if not hasattr(X, "__iter__"):
                raise ValueError(f"X is of type {type(X).__name__}. Pass a list of documents.")
            X = list(X)
        n = len(X)
        return Frame(("text",), n, lambda j: Column("text", "level", n, texts=X), is_named=False)

    def words(
        self, label: Any, top: int = 10, against: Any = None, speaking: str = "for"
    ) -> list[WordEvidence]:
        """The words that speak most for a class, one occurrence of each, or most "against" it where that is asked for.

        That is beside the other classes together (their mean where the model scores each class by itself), or beside
        the one that is named by `against`.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [found.word for found in model.words("ham", top=2)]
        ['noon', 'see']
        """
        self._require_fitted()
        if speaking not in ("for", "against"):
            raise ValueError(f'speaking is {speaking!r}; words speak "for" a class or "against" it.')
        weights = self._weights
        k = labels.place_of(label, self.classes_)
        told = weights[k]
        if against is not None:
            told = told - weights[labels.place_of(against, self.classes_)]
        elif self.model != "odds" and len(weights) > 1:
            told = told - np.delete(weights, k, axis=0).mean(axis=0)
        told = told if speaking == "for" else -told
        best = np.argsort(-told, kind="stable")[:top]
        sign = 1.0 if speaking == "for" else -1.0
        return [self._evidence(int(j), sign * float(told[j]), 1) for j in best if told[j] > 0]

    def explain_words(
        self, text: str, of: Any = None, against: Any = None, top: int | None = None
    ) -> list[WordEvidence]:
        """What every known word of a document adds to its best class against the next best, strongest first.

        `of` one class `against` another where these are named. The evidence of all words, the class prior and the
        offset of the calibration add up to the log-odds. A model of which words are there (Bernoulli) also has
        evidence of those that are not, which stands last, without a word.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [(found.word, found.times) for found in model.explain_words("free free lunch", of="spam", against="ham")]
        [('free', 2), ('lunch', 1)]
        """
        batch, _ = self._batch([text])
        fitted, block, family = (
            self._fitted,
            cast(WordsBlock, batch.blocks[0]),
            cast(Text, self._fitted.parts[0].family),
        )
        if fitted.forms[0].kind != "linear":
            raise ValueError(f"{family.model.name} has no weights of single words. Use another model.")
        score = self._scored(batch, "joint", fitted)[0]
        order = np.argsort(-score, kind="stable").tolist()
        plus = order[0] if of is None else labels.place_of(of, self.classes_)
        minus = (
            next((k for k in order if k != plus), plus)
            if against is None
            else labels.place_of(against, self.classes_)
        )
        factor = row_factors(fitted, batch).get(0, np.ones(1))[0]
        weights = self._weights
        told = block.data * (weights[plus] - weights[minus])[block.indices] * factor
        counts = family.count(Column("text", "level", 1, texts=[text]), fitted.vocabulary(0), 1).data
        ranked = np.argsort(-np.abs(told), kind="stable")[:top]
        found = [self._evidence(int(block.indices[i]), float(told[i]), int(counts[i])) for i in ranked]
        base = cast(Linear, fitted.forms[0]).base
        if base is not None:
            absent = float((base[plus] - base[minus]).sum() * factor)
            found.append(WordEvidence("", absent, 0, {}))
        return found

    def informative_words(self, top: int = 10) -> list[tuple[str, float]]:
        """The words whose presence in a document tells most of its class, with the bits they tell.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [word for word, bits in model.informative_words(top=3)]
        ['at', 'free', 'lunch']
        """
        self._require_fitted()
        stats = self._fitted.blocks[0]
        if len(stats.words) == 0:
            return []
        present = Bernoulli(1.0)
        documents = np.broadcast_to(stats.documents[:, None], stats.found.shape)
        sums = Sums(documents, documents.astype(float), stats.found.astype(float))
        bits = mutual_information(
            present, present.params(sums, documents[:, 0].astype(float)), self._fitted.class_prior
        )
        used = ~np.isnan(cast(Text, self._fitted.parts[0].family)._weight)
        best = np.argsort(np.where(used, -bits, np.inf), kind="stable")[: min(top, int(used.sum()))]
        return [(str(stats.words[j]), float(bits[j])) for j in best]

    def _columns(self) -> list[str]:
        return ["text"]

    @property
    def _weights(self) -> Floats:
        """Calibrated weights of the words, classes x words."""
        if self._fitted.forms[0].kind != "linear":
            raise ValueError(f"{self.model} has no weights of single words. Use another model.")
        return np.asarray(cast(Linear, self._fitted.forms[0]).x)

    def _evidence(self, j: int, evidence: float, count: int) -> WordEvidence:
        stats: Any = self._fitted.blocks[0]
        documents = dict(zip(self.classes_.tolist(), stats.found[:, j].tolist(), strict=True))
        return WordEvidence(str(stats.words[j]), evidence, count, documents)
