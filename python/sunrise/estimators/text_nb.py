"""TextNB: naive Bayes for documents given as strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any

from sunrise.data.errors import listed
from sunrise.data.frame import Frame, document_frame
from sunrise.estimators.auto_settings import AutoSettings
from sunrise.estimators.constraints import COMMON, OWN, UNLABELLED, Interval, StrOptions, check_estimate
from sunrise.families.base import ESTIMATES, FAMILIES, Family
from sunrise.families.smoothing import Alpha
from sunrise.families.text import MODELS, Text
from sunrise.model.settings import Settings
from sunrise.text.counter import WordCounter
from sunrise.text.texts import lines_of

#: Estimates of the models that do not have all of them.
_ESTIMATES = {
    "odds": ("mean", "mle"),
    "complement": ("mean", "map", "mle"),
    "dirichlet_multinomial": ("mean", "mle"),
}


class TextNB(AutoSettings):
    """Naive Bayes for documents: takes strings and returns calibrated probabilities.

    X is a list, array, Series or Arrow column of strings, or the `pathlib.Path` of a file with one document per line.
    If y is the name of a column, X is files or another source of rows with one column of text (see `fit`).
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
        Tokenisation, as in scikit-learn's CountVectorizer. `ngram_range`, `tf`, `length`, `idf` and `alpha` may be
        "auto": `fit` chooses them by predictions of up to 4,000 unseen documents (`ngram_range` among (1, 1), (1, 2)
        and (1, 3); with characters among (1, 3), (1, 4) and (1, 5)), and `chosen_` shows them.
    hash_bits : int or None, default=None
        Store hashes of this many bits instead of words, which bounds the memory for streams with an unlimited
        vocabulary.
    class_prior : "fitted", "uniform", array-like or dict, default="fitted"
        Class probabilities: estimated from the data ("fitted"), equal ("uniform"), given in the order of `classes_`, or
        given as a dict from label to probability.
    estimate : {"mean", "map", "mle", "predictive"}, default="mean"
        Estimate of the word probabilities: posterior mean, posterior mode, maximum likelihood (alpha 0), or no point
        estimate: "predictive" integrates the probabilities out, which needs plain counts. "multinomial" and "bernoulli"
        have all four, "complement" has no "predictive", "odds" and "dirichlet_multinomial" have "mean" and "mle" only.
    calibrate : {"auto", "words", "temperature", "columns"} or None, default="auto"
        Calibrate the probabilities on leave-one-out scores of the training documents. "temperature" has one factor and
        an exponent of the document length. "words" adds factors for bands of words by document frequency, and a weight
        of every word and class that corrects what the counts get wrong; folds choose which of these the data support,
        see `chosen_`. "auto" is "words" ("temperature" for "dirichlet_multinomial", estimate="predictive" and
        `idf_first`), or None with few documents: see `sunrise.NaiveBayes`.
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

    _reads_sources = False  # without a name as y, a path is a file of lines, and an iterator has documents

    _parameter_constraints: dict[str, Any] = {
        "model": [StrOptions(set(MODELS))],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"evidence", "auto"}), None],
        "tf": [StrOptions({"log", "count", "binary", "auto"}), None],
        "length": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"}), None],
        "idf": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"}), None],
        "total": [Interval(Real, 0, None, closed="neither"), None],
        "idf_first": ["boolean"],
        "norm": ["boolean"],
        "analyzer": [StrOptions({"word", "char", "char_wb"})],
        "ngram_range": [tuple, StrOptions({"auto"})],
        "lowercase": ["boolean"],
        "strip_accents": [StrOptions({"unicode", "ascii"}), None],
        "stop_words": [list, tuple, set, frozenset, None],
        "hash_bits": [Interval(Integral, 1, 31, closed="both"), None],
        "min_df": [Interval(Real, 0, None, closed="left")],
        "max_df": [Interval(Real, 0, None, closed="neither")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        "estimate": OWN["estimate"],
        "calibrate": [StrOptions({"auto", "temperature", "columns", "words"}), None],
        **UNLABELLED,
        **COMMON,
    }

    def __init__(
        self,
        model: str = "odds",
        *,
        alpha: Any = None,
        tf: str | None = None,
        length: Any = None,
        idf: Any = None,
        total: float | None = None,
        idf_first: bool = False,
        norm: bool = False,
        analyzer: str = "word",
        ngram_range: Any = (1, 1),
        lowercase: bool = True,
        strip_accents: str | None = None,
        stop_words: Iterable[str] | None = None,
        hash_bits: int | None = None,
        min_df: Any = 1,
        max_df: Any = 1.0,
        max_features: int | None = None,
        class_prior: Any = "fitted",
        estimate: str = "mean",
        calibrate: str | None = "auto",
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
        self.estimate = estimate
        self.calibrate = calibrate
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight
        self.class_weight = class_weight
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def chosen_(self) -> dict[Any, Any]:
        """Settings that the data chose: `ngram_range`, `tf`, `length`, `idf` and `alpha` with "auto", and "words".

        With `calibrate="words"`, "words" has `bands` (True if bands of words by document frequency have a factor each)
        and `strength`, the factor of the penalty on the weights of single words, None without these weights. With
        `alpha="evidence"`, the key ("text",) has the alpha.
        """
        chosen = super().chosen_
        for name in self._auto:
            value = self._resolved(name)
            chosen[name] = value.value if isinstance(value, Alpha) else value
        return chosen

    def _counter(self, ngram_range: Any) -> WordCounter:
        """Return a counter of n-grams for this `ngram_range`, (shortest, longest)."""
        return WordCounter(
            analyzer=self.analyzer,
            ngram_range=ngram_range,
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            stop_words=None if self.stop_words is None else frozenset(self.stop_words),
            hash_bits=self.hash_bits,
        )

    def _settings(self) -> Settings:
        counter = self._counter(self._resolved("ngram_range"))
        family = Text(
            self._words_family(),
            self._resolved("tf"),
            self._resolved("length"),
            self._resolved("idf"),
            self.total,
            self.idf_first,
            self.min_df,
            self.max_df,
            self.max_features,
            counter,
        )
        if self.estimate == "predictive" and not family.generative:
            raise ValueError(
                'estimate="predictive" integrates over the probabilities of whole words. Leave out tf, length, idf and '
                "total, or use another estimate."
            )
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs, estimate=self.estimate)

    def _words_family(self) -> Family:
        """Return the family that scores the words."""
        check_estimate(
            f"TextNB with the model {self.model!r}", self.estimate, _ESTIMATES.get(self.model, ESTIMATES)
        )
        alpha = self._resolved("alpha")
        settings: dict[str, Any] = {} if alpha is None else {"alpha": Alpha.given(alpha)}
        if self.norm:
            settings["norm"] = True
        if self.norm and self.model != "complement":
            raise ValueError(f'norm=True needs model="complement"; the model is {self.model!r}.')
        if alpha is not None and self.model == "dirichlet_multinomial":
            raise ValueError("dirichlet_multinomial estimates its alphas from the data. Use alpha=None.")
        return FAMILIES[self.model](**settings)

    def _read_table(self, X: Any, fitting: bool) -> Frame:
        """Return the documents as a table with one column."""
        if isinstance(X, Frame):  # a batch of a source, or documents that have been read
            return X
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
        return document_frame(X)

    def _feature_reader(self, fitting: bool) -> Callable[[Frame], Frame]:
        """Return a function that takes a batch of a file or lazy table and returns its column of text.

        The first batch decides which column that is, see `_only_text`.
        """
        found: list[Any] = []

        def read(table: Frame) -> Frame:
            if not found:
                found.append(_only_text(table))
            column = table.raw(table.names.index(found[0]))
            return Frame(("text",), table.n_rows, lambda j: replace(column, name="text"), is_named=False)

        return read

    def sample(self, n: int = 1, y: Any = None, random_state: Any = None) -> Any:
        """Raise ValueError: the model knows which words documents have, not their order."""
        raise ValueError("no documents can be drawn: the model knows which words they have, not their order.")

    def _columns(self) -> list[str]:
        return ["text"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False  # a list of documents, not a matrix
        tags.input_tags.sparse = False
        tags.input_tags.categorical = False
        return tags


def _only_text(table: Frame) -> Any:
    """Return the name of the column that holds the documents: the only column, or the only one of strings.

    Raise ValueError if no column, or more than one, holds strings.
    """
    names = list(table.names)
    texts = [name for j, name in enumerate(names) if table.raw(j).kind in ("level", "mixed")]
    if len(names) == 1 or len(texts) == 1:
        return names[0] if len(names) == 1 else texts[0]
    found = "no column of text" if not texts else f"{len(texts)} columns of text ({listed(texts)})"
    raise ValueError(
        f"X has {found}, and TextNB reads one. Name the columns to read, with that of the labels: "
        "sunrise.read_files(paths, columns=[...]); or use NaiveBayes for all of them."
    )
