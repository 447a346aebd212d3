"""TextNB: naive Bayes for documents given as strings."""

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
    """The contribution of one word to the log-odds of one class against another.

    `times` is the number of occurrences that `evidence` refers to; `documents` maps each class to the number of its
    training documents that contain the word.
    """

    word: str
    evidence: float
    times: int
    documents: dict[Any, int]


class TextNB(NaiveBayes):
    """Naive Bayes for documents: takes strings and returns calibrated probabilities.

    X is a list, array, Series or Arrow column of strings, or the `pathlib.Path` of a file with one document per line.
    None is a missing document, whose prediction is the class prior. New words may appear in any call of `partial_fit`,
    and `merge` matches words by name.

    Parameters
    ----------
    model : {"odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial"}, default="odds"
        Family that scores the words. "odds" compares the word probabilities of a class with those of all other classes.
        The model also sets the defaults of `tf`, `length` and `idf`: "log", 0.7 and 0.5 for "odds"; "binary", 0 and 0
        for "bernoulli"; "count", 0 and 0 (plain counts) for the other models.
    alpha : float, "evidence" or None, default=None
        Additive (Laplace) smoothing parameter. None is 0.1 for "odds" and 1 for the other models. "evidence" chooses
        the alpha with the largest marginal likelihood, for "multinomial" and "bernoulli" only. Must be None for
        "dirichlet_multinomial", which estimates its alphas.
    tf : {"log", "count", "binary"} or None, default=None
        Term frequency of a word that occurs n times in a document: log(1 + n), n or 1.
    length : float or None, default=None
        Divide the term frequencies of a document by this power of their Euclidean norm; 0 does not divide.
    idf : float or None, default=None
        Multiply by this power of the inverse document frequency log(documents / documents with the word); 0 does not
        multiply.
    total : float or None, default=None
        Scale the term frequencies of every document to this sum, instead of dividing by `length`.
    idf_first : bool, default=False
        Apply the inverse document frequency before the length, as in Rennie et al. (2003). The model can then not be
        updated or merged.
    min_df, max_df : int or float, default=1 and 1.0
        Ignore words that occur in fewer than `min_df` or in more than `max_df` documents: a number of documents (int),
        or a fraction of the documents (float).
    max_features : int or None, default=None
        Use only this many words: the ones with the highest document frequency.
    norm : bool, default=False
        For "complement" only: divide the weights of each class by their sum.
    analyzer, ngram_range, lowercase, strip_accents, stop_words
        Tokenisation, as in scikit-learn's CountVectorizer.
    hash_bits : int or None, default=None
        Store hashes of this many bits instead of words, which bounds the memory for streams with an unlimited
        vocabulary.
    class_prior : "fitted", "uniform", array-like or dict, default="fitted"
        Class probabilities: estimated from the data ("fitted"), equal ("uniform"), given in the order of `classes_`, or
        given as a dict from label to probability.
    calibrate : {"temperature", "columns"} or None, default="temperature"
        Calibrate the probabilities on leave-one-out scores of the training documents, with an exponent of the document
        length: see `sunrise.NaiveBayes`.
    unlabelled, unlabelled_weight, verbose
        Semi-supervised learning from documents without a label: see `sunrise.NaiveBayes`.
    class_weight : dict, "balanced" or None, default=None
        Class weights: the weight of a class multiplies the weights of its rows. "balanced" gives every class the same
        total weight.
    n_jobs : int or None, default=None
        Number of threads. None: the environment variable SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

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
        verbose: bool = False,
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
        self.verbose = verbose
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
        """Return the family that scores the words."""
        settings: dict[str, Any] = {} if self.alpha is None else {"alpha": Alpha.given(self.alpha)}
        if self.norm:
            settings["norm"] = True
        if self.norm and self.model != "complement":
            raise ValueError(f'norm=True needs model="complement"; the model is {self.model!r}.')
        if self.alpha is not None and self.model == "dirichlet_multinomial":
            raise ValueError("dirichlet_multinomial estimates its alphas from the data. Use alpha=None.")
        return FAMILIES[self.model](**settings)

    def _read_table(self, X: Any, fitting: bool) -> Frame:
        """Return the documents as a table with one column."""
        if isinstance(X, str | bytes):
            raise ValueError(
                "X is a single string. Pass a list of documents, [X] for one document, or the pathlib.Path of a file."
            )
        if isinstance(X, PathLike):
            X = lines_of(X)
        if isinstance(X, dict) or len(getattr(X, "shape", (0,))) > 1:
            raise ValueError(
                "TextNB takes a list, array or Series of strings, not a table. Pass the text column of the table; for "
                "several columns use NaiveBayes, which also takes text columns."
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
        """Return the `top` words with the strongest evidence for a class; with speaking="against", against the class.

        The evidence is that of one occurrence of the word, in log-odds of the class against all other classes (against
        the mean of their weights, for models other than "odds"), or against the one class given as `against`.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [entry.word for entry in model.words("ham", top=2)]
        ['noon', 'see']
        """
        self._require_fitted()
        if speaking not in ("for", "against"):
            raise ValueError(f'speaking is {speaking!r}; it must be "for" or "against".')
        weights = self._weights
        k = labels.place_of(label, self.classes_)
        evidence = weights[k]
        if against is not None:
            evidence = evidence - weights[labels.place_of(against, self.classes_)]
        elif self.model != "odds" and len(weights) > 1:
            evidence = evidence - np.delete(weights, k, axis=0).mean(axis=0)
        sign = 1.0 if speaking == "for" else -1.0
        strength = sign * evidence
        strongest = np.argsort(-strength, kind="stable")[:top]
        return [self._word_evidence(int(j), float(evidence[j]), 1) for j in strongest if strength[j] > 0]

    def explain_words(
        self, text: str, of: Any = None, against: Any = None, top: int | None = None
    ) -> list[WordEvidence]:
        """Return the evidence of every known word of a document for one class against another, strongest first.

        The classes are `of` and `against`; by default the most probable class and the next most probable one. The
        evidence of all words, the log-odds of the class prior and the offsets of the calibration sum to the log-odds of
        the two classes. With model="bernoulli", absent words count, too: the last entry, with an empty word, is their
        total evidence.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [(entry.word, entry.times) for entry in model.explain_words("free free lunch", of="spam", against="ham")]
        [('free', 2), ('lunch', 1)]
        """
        batch, _ = self._encode([text])
        model, block = self._model, cast(WordsBlock, batch.blocks[0])
        family = cast(Text, model.parts[0].family)
        if model.forms[0].kind != "linear":
            raise ValueError(
                f'{family.model.name} has no weights of single words. Use another model, such as "odds".'
            )
        score = self._scored(batch, "joint", model)[0]
        order = np.argsort(-score, kind="stable").tolist()
        positive = order[0] if of is None else labels.place_of(of, self.classes_)
        negative = (
            next((k for k in order if k != positive), positive)
            if against is None
            else labels.place_of(against, self.classes_)
        )
        factor = row_factors(model, batch).get(0, np.ones(1))[0]
        weights = self._weights
        evidence = block.data * (weights[positive] - weights[negative])[block.indices] * factor
        counts = count_words(Column("text", "level", 1, texts=[text]), family, model.lookups[0], 1).data
        strongest = np.argsort(-np.abs(evidence), kind="stable")[:top]
        entries = [
            self._word_evidence(int(block.indices[i]), float(evidence[i]), int(counts[i])) for i in strongest
        ]
        base = cast(Linear, model.forms[0]).base
        if base is not None:
            absent = float((base[positive] - base[negative]).sum() * factor)
            entries.append(WordEvidence("", absent, 0, {}))
        return entries

    def informative_words(self, top: int = 10) -> list[tuple[str, float]]:
        """Return the `top` words whose presence has the largest mutual information with the class, in bits.

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
        presence = Bernoulli(1.0)
        documents = np.broadcast_to(stats.documents[:, None], stats.documents_with_word.shape)
        sums = Sums(documents, documents.astype(float), stats.documents_with_word.astype(float))
        bits = mutual_information(
            presence, presence.params(sums, documents[:, 0].astype(float)), self._model.class_prior
        )
        used = ~np.isnan(cast(Text, self._model.parts[0].family).weight_to_apply)
        best = np.argsort(np.where(used, -bits, np.inf), kind="stable")[: min(top, int(used.sum()))]
        return [(str(stats.words[j]), float(bits[j])) for j in best]

    def _columns(self) -> list[str]:
        return ["text"]

    @property
    def _weights(self) -> Floats:
        """Calibrated weights of the words: classes x words."""
        if self._model.forms[0].kind != "linear":
            raise ValueError(
                f'{self.model} has no weights of single words. Use another model, such as "odds".'
            )
        return np.asarray(cast(Linear, self._model.forms[0]).x)

    def _word_evidence(self, j: int, evidence: float, count: int) -> WordEvidence:
        """Return the evidence of word j with its numbers of documents."""
        stats: Any = self._model.blocks[0]
        documents = dict(zip(self.classes_.tolist(), stats.documents_with_word[:, j].tolist(), strict=True))
        return WordEvidence(str(stats.words[j]), evidence, count, documents)
