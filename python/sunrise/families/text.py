"""Text: the words of a document, weighed against how other classes use them, and the estimator TextNB."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise import labels
from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import log, times_log
from sunrise.data.batch import WordsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.derived import Settings
from sunrise.engines.array import PIECE
from sunrise.estimator import COMMON_CONSTRAINTS, UNLABELLED_CONSTRAINTS, NaiveBayes
from sunrise.families.bernoulli import Bernoulli
from sunrise.families.complement import others
from sunrise.families.multinomial import shares_without, taken_too_much
from sunrise.family import Cells, Family
from sunrise.forms import Linear
from sunrise.information import mutual_information
from sunrise.look import Look
from sunrise.score import row_factors
from sunrise.smoothing import Alpha, Smoothed
from sunrise.stats import Sums, Words
from sunrise.support import COUNTS, Support
from sunrise.terms import X
from sunrise.text.counter import Counted, WordCounter
from sunrise.text.vocabulary import Vocabulary


class TextParams(NamedTuple):
    """Weight of every word per class."""

    weights: Floats
    known: Mask


@dataclass(frozen=True)
class Text(Smoothed, Family):
    """Text: a document is the words it has.

    A document is scaled on its own (logarithms of counts, divided by a power of their length), so that class sums are
    exactly additive; the weight that rare words have is applied to the sums and to the document alike. Steps of
    Rennie et al. (2003), with the length before the inverse document frequency.

    Parameters
    ----------
    alpha : float
        Additive smoothing of the class sums.
    tf : {"log", "count", "binary"}
        What a word that stands in a document n times counts: log(1 + n), n or 1.
    length : float
        The power of the Euclidean length of a document that its words are divided by; 0 for none.
    total : float or None
        What the words of a document sum to once they are scaled; None leaves them as they are.
    idf : float
        The power of log(documents / documents with the word) that a word weighs; 0 for none.
    against_others : bool
        Score the shares of a class against those of all other classes; else the class's own alone, a multinomial.
    min_df, max_df : int or float
        Words in fewer or more documents say nothing: a number of documents, or a share of them as a float.
    max_features : int or None
        How many words say anything, those with most documents first.
    counter : WordCounter
        How words are found.
    """

    name = "text"
    terms = (X,)
    joint = True
    alone = True
    reads_text = True
    alpha: Any = 0.1
    tf: str = "log"
    length: float = 0.7
    idf: float = 0.5
    against_others: bool = True
    min_df: Any = 1
    max_df: Any = 1.0
    max_features: int | None = None
    counter: WordCounter = field(default_factory=WordCounter)
    total: float | None = field(default=None, kw_only=True)
    #: How much every word weighs, once that is known; 0 for words that say nothing.
    word_weight: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tf not in ("log", "count", "binary"):
            raise ValueError(f'tf is "log", "count" or "binary", not {self.tf!r}.')

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
    def generative(self) -> bool:  # type: ignore[override]
        """A share against others' is no distribution of the class; nor are logarithms of counts."""
        return False

    @property
    def wants_prior(self) -> bool:
        """Scores are log-odds of the words, which the prior belongs to."""
        return True

    @property
    def shared(self) -> bool:  # type: ignore[override]
        """Whether a document has part in the parameters of other classes than its own."""
        return self.against_others

    @property
    def support(self) -> Support:
        """Scaled counts."""
        return COUNTS

    @property
    def shape(self) -> tuple[Any, ...]:
        """What shaped the sums: how words are found and scaled."""
        return self.name, self.counter, self.tf, self.length, self.total

    def read(
        self, column: Column, vocabulary: Vocabulary | None, n_jobs: int | None
    ) -> tuple[WordsBlock, Counted]:
        """The documents of a column as scaled counts."""
        counted = column.words(self.counter, vocabulary, n_jobs)
        data = counted.data.astype(np.float64)
        if self.tf != "count":
            data = np.log1p(data) if self.tf == "log" else np.ones_like(data)
        if self.length:
            row = np.repeat(np.arange(counted.n_rows), np.diff(counted.indptr))
            square = np.bincount(row, data * data, counted.n_rows)
            data = data * np.where(square > 0, square, 1.0)[row] ** (-0.5 * self.length)
        if self.total is not None:
            row = np.repeat(np.arange(counted.n_rows), np.diff(counted.indptr))
            data = data * (self.total / np.bincount(row, data, counted.n_rows)[row])
        wide = np.int32 if len(data) < 2**31 else np.int64
        indices, indptr = (a.astype(wide, copy=False) for a in (counted.indices, counted.indptr))
        shape = counted.n_rows, counted.n_columns
        return WordsBlock(data, indices, indptr, shape, counted.lengths.astype(float)), counted

    def frozen(self, stats: Words) -> Self:
        """The family with the weights of the words."""
        if self.alpha.by_evidence:
            raise ValueError(
                "text has no evidence: its scaled counts are no distribution. Give alpha a number."
            )
        if self.word_weight is not None:
            return self
        found, n = stats.found.sum(axis=0), float(stats.documents.sum())
        low, high = (
            limit if isinstance(limit, Integral) else limit * n for limit in (self.min_df, self.max_df)
        )
        use = (found >= low) & (found <= high) & (found > 0)
        if self.max_features is not None and use.sum() > self.max_features:
            order = np.lexsort((np.arange(len(found)), -np.where(use, found, -1)))
            use[order[self.max_features :]] = False
        with np.errstate(divide="ignore"):
            rarity = np.log(n / np.maximum(found, 1))
        return self.changed(word_weight=np.where(use, rarity**self.idf if self.idf else 1.0, 0.0))

    def _sums(self, stats: Words) -> tuple[Floats, Mask]:
        """Class sums of the words that say anything, weighed; and which words these are."""
        weight = np.zeros(0) if self.word_weight is None else self.word_weight
        use = weight > 0
        return stats.sums[:, use] * weight[use], use

    def _log_shares(self, sums: Floats) -> Floats:
        alpha = 0.0 if self.estimate == "mle" else self.alpha.value
        total = np.maximum(sums.sum(axis=1, keepdims=True), 0.0) + alpha * sums.shape[1]
        return log(sums + alpha) - log(total)

    def params(self, stats: Words, class_weight: Floats) -> TextParams:
        """Log shares of the class, against those of all others."""
        sums, use = self._sums(stats)
        told = self._log_shares(sums)
        if self.against_others and len(sums) > 1:
            told = told - self._log_shares(others(sums))
        weights = np.zeros((len(sums), len(use)))
        weights[:, use] = told * (np.zeros(0) if self.word_weight is None else self.word_weight)[use]
        return TextParams(weights, np.array([bool(use.any())]))

    def form(self, params: TextParams) -> Linear:
        """A scaled count times the weight of its word."""
        return Linear(x=params.weights)

    def left_out_rows(self, stats: Words, rows: Cells, y: Codes, w: Floats) -> Floats | None:
        """A document leaves the sums of its class, and those of all others' others."""
        sums, use = self._sums(stats)
        weight = np.zeros(0) if self.word_weight is None else self.word_weight
        place = np.cumsum(use) - 1
        kept = use[rows.column]
        row, column = rows.row[kept], place[rows.column[kept]]
        x = rows.x[kept] * weight[rows.column[kept]]
        cells, taken = Cells(x, row, column, rows.n_rows), w[row] * x
        own = sums[y[row], column]
        bad = taken_too_much(own - taken, own, cells)
        mine = shares_without(self, sums, own - taken, cells, y)
        if not self.against_others:
            return np.where(bad, np.inf, mine)
        found = self._told(cells, self._log_shares(sums))
        found[np.arange(len(y)), y] = mine
        rest = others(sums)
        found -= self._told(cells, self._log_shares(rest)) + self._changes(cells, taken, y, rest)
        return np.where(bad[:, None], np.inf, found)

    @staticmethod
    def _told(cells: Cells, shares: Floats) -> Floats:
        """What documents add to the score of all classes by these shares, rows x classes."""
        matrix = sparse.csr_array((cells.x, (cells.row, cells.column)), (cells.n_rows, shares.shape[1]))
        return np.asarray(matrix @ shares.T)

    def _changes(self, cells: Cells, taken: Floats, y: Codes, rest: Floats) -> Floats:
        """How that changes without a document in the sums, but for its own class, which has no part in them."""
        alpha = 0.0 if self.estimate == "mle" else self.alpha.value
        table, total = rest.T + alpha, rest.sum(axis=1) + alpha * rest.shape[1]
        lost = cells.by_row(taken)
        step = max(1, PIECE // len(total))
        # A document may hold more than the rest of its own class has, which is not asked; and what is in no other class
        # leaves them nothing where there is no smoothing.
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.minimum(lost[:, None] / np.maximum(total, 1e-300), 1.0)
            change = -cells.by_row(cells.x)[:, None] * np.log1p(-share)
            for start in range(0, len(cells.x), step):
                some = slice(start, start + step)
                less = np.log1p(np.maximum(-taken[some, None] / table[cells.column[some]], -1.0))
                row = cells.row[some]
                first = np.flatnonzero(np.diff(row, prepend=-1))
                change[row[first]] += np.add.reduceat(cells.x[some, None] * less, first, axis=0)
        change[np.arange(len(y)), y] = 0.0
        return np.asarray(change)

    def pull(self, stats: Words, class_weight: Floats) -> float:
        """The pseudo-counts' own score, where words are scored as a multinomial's."""
        told = self._log_shares(self._sums(stats)[0])
        alpha = 0.0 if self.estimate == "mle" else self.alpha.value
        against = self.against_others and len(told) > 1
        return float("nan") if against else float(times_log(np.full_like(told, alpha), told).sum())

    def log_evidence(self, stats: Words, class_weight: Floats | None = None) -> Floats:
        """There is none: scaled counts are no distribution."""
        return np.full((len(stats.rows), 1), np.nan)

    def outcomes(self, params: TextParams) -> Floats:
        """There are none: scaled counts are no distribution."""
        raise ValueError("text is no distribution of its words, so it has no mutual information.")

    def sample(self, params: TextParams, y: Codes, rng: np.random.Generator) -> Floats:
        """There is nothing to draw from."""
        raise ValueError("text is no distribution of its words, so no documents can be drawn from it.")

    def described(self, params: TextParams) -> list[dict[str, Floats]]:
        """How many words speak for each class."""
        return [{"words for it": (params.weights > 0).sum(axis=1).astype(float)}]

    def feature_names(self, stats: Words, names: list[str]) -> list[str]:
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

    Takes a list, array, Series or Arrow column of strings; None is a missing document, which gets the class prior.
    Words may appear at any time in `partial_fit`, and models merge by word.

    Parameters
    ----------
    alpha, tf, length, total, idf, against_others, min_df, max_df, max_features
        See `sunrise.Text`.
    analyzer, ngram_range, lowercase, strip_accents, stop_words
        How words are found, as in scikit-learn's CountVectorizer.
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
        "alpha": [Interval(Real, 0, None, closed="left")],
        "tf": [StrOptions({"log", "count", "binary"})],
        "length": [Interval(Real, 0, None, closed="left")],
        "total": [Interval(Real, 0, None, closed="neither"), None],
        "idf": [Interval(Real, 0, None, closed="left")],
        "against_others": ["boolean"],
        "analyzer": [StrOptions({"word", "char", "char_wb"})],
        "ngram_range": [tuple],
        "lowercase": ["boolean"],
        "strip_accents": [StrOptions({"unicode", "ascii"}), None],
        "stop_words": [list, tuple, set, frozenset, None],
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
        *,
        alpha: float = 0.1,
        tf: str = "log",
        length: float = 0.7,
        total: float | None = None,
        idf: float = 0.5,
        against_others: bool = True,
        analyzer: str = "word",
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        strip_accents: str | None = None,
        stop_words: Iterable[str] | None = None,
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
        self.alpha = alpha
        self.tf = tf
        self.length = length
        self.total = total
        self.idf = idf
        self.against_others = against_others
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
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
        )
        family = Text(
            Alpha.given(self.alpha),
            self.tf,
            self.length,
            self.idf,
            self.against_others,
            self.min_df,
            self.max_df,
            self.max_features,
            counter,
            total=self.total,
        )
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs)

    def _open(self, X: Any, fitting: bool) -> Frame:
        """Documents as a table of one column."""
        if isinstance(X, str | bytes):
            raise ValueError("X is one string. Pass a list of documents, [X] for a single one.")
        if isinstance(X, dict) or len(getattr(X, "shape", (0,))) > 1:
            raise ValueError(
                "TextNB takes the documents themselves: a list, array or Series of strings. For a table of several "
                "columns use NaiveBayes, which takes text columns, too."
            )
        n = len(X)
        return Frame(("text",), n, lambda j: Column("text", "level", n, texts=X), is_named=False)

    def words(self, label: Any, top: int = 10, against: Any = None) -> list[WordEvidence]:
        """The words that speak most for a class, one occurrence of each; or for a class `against` another.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [found.word for found in model.words("ham", top=2)]
        ['noon', 'see']
        """
        self._require_fitted()
        weights = self._weights
        k = labels.place_of(label, self.classes_)
        told = (
            weights[k] if against is None else weights[k] - weights[labels.place_of(against, self.classes_)]
        )
        best = np.argsort(-told, kind="stable")[:top]
        return [self._evidence(int(j), float(told[j]), 1) for j in best if told[j] > 0]

    def explain_words(
        self, text: str, of: Any = None, against: Any = None, top: int | None = None
    ) -> list[WordEvidence]:
        """What every known word of a document adds to its best class against the next best, strongest first.

        `of` one class `against` another where these are named. The evidence of all words, the class prior and the
        offset of the calibration add up to the log-odds.

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
        counts = family.counter.count([text], fitted.vocabulary(0), 1).data
        ranked = np.argsort(-np.abs(told), kind="stable")[:top]
        return [self._evidence(int(block.indices[i]), float(told[i]), int(counts[i])) for i in ranked]

    def informative_words(self, top: int = 10) -> list[tuple[str, float]]:
        """The words whose presence in a document tells most of its class, with the bits they tell.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [word for word, bits in model.informative_words(top=3)]
        ['at', 'free', 'lunch']
        """
        self._require_fitted()
        stats: Words = self._fitted.blocks[0]
        present = Bernoulli(1.0)
        documents = np.broadcast_to(stats.documents[:, None], stats.found.shape)
        sums = Sums(documents, documents.astype(float), stats.found.astype(float))
        bits = mutual_information(
            present, present.params(sums, documents[:, 0].astype(float)), self._fitted.class_prior
        )
        best = np.argsort(-bits, kind="stable")[:top]
        return [(str(stats.words[j]), float(bits[j])) for j in best]

    @property
    def _weights(self) -> Floats:
        """Calibrated weights of the words, classes x words."""
        return np.asarray(cast(Linear, self._fitted.forms[0]).x)

    def _evidence(self, j: int, evidence: float, count: int) -> WordEvidence:
        stats: Words = self._fitted.blocks[0]
        documents = dict(zip(self.classes_.tolist(), stats.found[:, j].tolist(), strict=True))
        return WordEvidence(str(stats.words[j]), evidence, count, documents)
