"""TextNB."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from os import PathLike
from typing import Any, NamedTuple, cast

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats
from sunrise.data.blocks import WordsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.estimators.constraints import COMMON, UNLABELLED, Interval, StrOptions
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.families.base import FAMILIES, Family
from sunrise.families.bernoulli import Bernoulli
from sunrise.families.smoothing import Alpha
from sunrise.families.text import MODELS, Text
from sunrise.families.text_reader import count_words
from sunrise.forms.linear import Linear
from sunrise.model.score import row_factors
from sunrise.model.settings import Settings
from sunrise.selection.mutual_information import mutual_information
from sunrise.statistics.sums import Sums
from sunrise.text.counter import WordCounter
from sunrise.text.texts import lines_of


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
        **UNLABELLED,
        **COMMON,
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
            self._words_family(),
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

    def _words_family(self) -> Family:
        """The family that scores the words."""
        settings: dict[str, Any] = {} if self.alpha is None else {"alpha": Alpha.given(self.alpha)}
        if self.norm:
            settings["norm"] = True
        if self.norm and self.model != "complement":
            raise ValueError(f'norm is for model="complement"; the model is {self.model!r}.')
        if self.alpha is not None and self.model == "dirichlet_multinomial":
            raise ValueError("dirichlet_multinomial finds its alphas from the data. Leave alpha out.")
        return FAMILIES[self.model](**settings)

    def _read_table(self, X: Any, fitting: bool) -> Frame:
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
        batch, _ = self._encode([text])
        fitted, block, family = (
            self._model,
            cast(WordsBlock, batch.blocks[0]),
            cast(Text, self._model.parts[0].family),
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
        counts = count_words(Column("text", "level", 1, texts=[text]), family, fitted.lookups[0], 1).data
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
        stats = self._model.blocks[0]
        if len(stats.words) == 0:
            return []
        present = Bernoulli(1.0)
        documents = np.broadcast_to(stats.documents[:, None], stats.found.shape)
        sums = Sums(documents, documents.astype(float), stats.found.astype(float))
        bits = mutual_information(
            present, present.params(sums, documents[:, 0].astype(float)), self._model.class_prior
        )
        used = ~np.isnan(cast(Text, self._model.parts[0].family).weight_to_apply)
        best = np.argsort(np.where(used, -bits, np.inf), kind="stable")[: min(top, int(used.sum()))]
        return [(str(stats.words[j]), float(bits[j])) for j in best]

    def _columns(self) -> list[str]:
        return ["text"]

    @property
    def _weights(self) -> Floats:
        """Calibrated weights of the words, classes x words."""
        if self._model.forms[0].kind != "linear":
            raise ValueError(f"{self.model} has no weights of single words. Use another model.")
        return np.asarray(cast(Linear, self._model.forms[0]).x)

    def _evidence(self, j: int, evidence: float, count: int) -> WordEvidence:
        stats: Any = self._model.blocks[0]
        documents = dict(zip(self.classes_.tolist(), stats.found[:, j].tolist(), strict=True))
        return WordEvidence(str(stats.words[j]), evidence, count, documents)
