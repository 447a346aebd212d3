"""Words of text columns: the words of a class, the words of a document, and the words that say most about the class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats
from sunrise.data.blocks import Batch, WordsBlock
from sunrise.data.column import Column
from sunrise.estimators.base import Estimator
from sunrise.families.capabilities import Documents
from sunrise.families.text_reader import count_words, scaled_counts
from sunrise.inference.word_evidence import weights_of_one_word, word_scores
from sunrise.model.score import block_scores, row_factors
from sunrise.selection.mutual_information import word_information
from sunrise.text.counter import Counted


class WordEvidence(NamedTuple):
    """The contribution of one word to the log-odds of one class against another.

    `times` is the number of occurrences that `evidence` refers to; `documents` maps each class to the number of its
    training documents that contain the word. `learned` is the part of the evidence that weights of words have learned
    beyond the counts (calibrate="words"); the rest, `counted`, is said by the counts. `first` is the evidence that the
    first occurrence alone would have; the repeats of a word add less.
    """

    word: str
    evidence: float
    times: int
    documents: dict[Any, int]
    learned: float = 0.0
    first: float = 0.0

    @property
    def counted(self) -> float:
        """The part of the evidence that is said by the counts."""
        return self.evidence - self.learned


class InformativeWord(NamedTuple):
    """A word whose presence tells much about the class.

    `bits` is the mutual information between its presence and the class. `label` is the class that one occurrence speaks
    for most, by `evidence` in log-odds against all other classes; `learned` is the part of it that weights of words
    have learned beyond the counts. `documents` maps each class to the number of its documents that contain the word.
    """

    word: str
    bits: float
    label: Any
    evidence: float
    learned: float
    documents: dict[Any, int]


class WordsMixin(Estimator):
    """words, explain_words and informative_words, for the text columns of a model."""

    def words(
        self, label: Any, top: int = 10, against: Any = None, speaking: str = "for", column: Any = None
    ) -> list[WordEvidence]:
        """Return the `top` words with the strongest evidence for a class; with speaking="against", against the class.

        The evidence is that of one occurrence of the word, in log-odds of the class against all other classes (against
        the mean of their weights, for models other than "odds"), or against the one class given as `against`. In a
        Dirichlet-multinomial it is the first occurrence in a document; further ones weigh less. `column` is the name of
        the text column; a model with one text column does not need it.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [entry.word for entry in model.words("ham", top=2)]
        ['noon', 'see']
        """
        part = self._text_part(column)
        if speaking not in ("for", "against"):
            raise ValueError(f'speaking is {speaking!r}; it must be "for" or "against".')
        k = labels.place_of(label, self.classes_)

        def compared(weights: Floats) -> Floats:
            if against is not None:
                return np.asarray(weights[k] - weights[labels.place_of(against, self.classes_)])
            return self._against_all(part, weights, k)

        evidence = compared(weights_of_one_word(self._model.forms[part]))
        learned = None if (own := self._learned_weights(part)) is None else compared(own)
        strength = evidence if speaking == "for" else -evidence
        strongest = np.argsort(-strength, kind="stable")[:top]
        return [
            self._word_evidence(
                part, int(j), float(evidence[j]), 1, 0.0 if learned is None else float(learned[j]), 1.0
            )
            for j in strongest
            if strength[j] > 0
        ]

    def explain_words(
        self, text: str, of: Any = None, against: Any = None, top: int | None = None, column: Any = None
    ) -> list[WordEvidence]:
        """Return the evidence of every known word of a document for one class against another, strongest first.

        The classes are `of` and `against`; by default the most probable class and the next most probable one, given
        this document alone. The evidence of all words is the contribution of the text column to the log-odds of the two
        classes, as `explain` has it. With "bernoulli" words, absent words count, too: the last entry, with an empty
        word, is their total evidence. In a Dirichlet-multinomial the words of a document depend on each other: the part
        of the score that belongs to the document's length is shared among the words by their counts. `column` is the
        name of the text column; a model with one text column does not need it.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [(entry.word, entry.times) for entry in model.explain_words("free free lunch", of="spam", against="ham")]
        [('free', 2), ('lunch', 1)]
        """
        part = self._text_part(column)
        counted, block, form, factor, score = self._read_document(text, part)
        family: Any = self._model.parts[part].family
        positive, negative = self._two_classes(score, of, against)
        scores = word_scores(form, block, factor)
        evidence, absent = np.split(scores[positive] - scores[negative], [-1])
        learned = np.zeros(len(evidence))
        if (own := self._learned_weights(part)) is not None:
            learned = block.data * (own[positive] - own[negative])[block.indices] * factor
        first = _share_of_first(family.tf, counted.data)
        if form.kind != "linear":
            once = weights_of_one_word(form)[:, block.indices] * factor
            with np.errstate(divide="ignore", invalid="ignore"):
                first = np.where(evidence == 0, 1.0, (once[positive] - once[negative]) / evidence)
        strongest = np.argsort(-np.abs(evidence), kind="stable")[:top]
        entries = [
            self._word_evidence(
                part,
                int(block.indices[i]),
                float(evidence[i]),
                int(counted.data[i]),
                float(learned[i]),
                float(first[i]),
            )
            for i in strongest
        ]
        if getattr(form, "base", None) is not None:
            entries.append(WordEvidence("", float(absent[0]), 0, {}))
        return entries

    def _read_document(self, text: str, part: int) -> tuple[Counted, WordsBlock, Any, float, Floats]:
        """Return the counted and the scaled words of a document, the form, its factor, and the class scores."""
        if not isinstance(text, str):
            raise ValueError(f"text is of type {type(text).__name__}. Pass one document, a string.")
        model = self._model.select_blocks([part])
        family: Any = model.parts[0].family
        document = Column("text", "level", 1, texts=[text])
        counted = count_words(document, family, model.lookups[0], 1)
        block = scaled_counts(counted, family, 1)
        batch, form = Batch(1, (block,)), model.forms[0]
        factor = float(row_factors(model, batch).get(0, np.ones(1))[0])
        return counted, block, form, factor, model.log_prior + factor * block_scores(model, batch, 0, form)[0]

    def _compared_classes(self, text: str, of: Any, against: Any, column: Any) -> list[Any]:
        """Return the two classes that `explain_words` compares."""
        score = self._read_document(text, self._text_part(column))[-1]
        return self.classes_[list(self._two_classes(score, of, against))].tolist()  # type: ignore[no-any-return]

    def _two_classes(self, score: Floats, of: Any, against: Any) -> tuple[int, int]:
        """Return the positions of two classes: by default the one with the best score, and the next best."""
        order = np.argsort(-score, kind="stable").tolist()
        positive = order[0] if of is None else labels.place_of(of, self.classes_)
        if against is not None:
            return positive, labels.place_of(against, self.classes_)
        return positive, next((k for k in order if k != positive), positive)

    def informative_words(self, top: int = 10, column: Any = None, *, detail: bool = False) -> list[Any]:
        """Return the `top` words whose presence has the largest mutual information with the class, in bits.

        The result has pairs (word, bits); with `detail` it has `InformativeWord`, which also tell the class that a word
        speaks for, and how much of its evidence is said by the counts and how much was learned beyond them. `column` is
        the name of the text column; a model with one text column does not need it.

        >>> from sunrise import TextNB
        >>> texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
        >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
        >>> [word for word, bits in model.informative_words(top=3)]
        ['at', 'free', 'lunch']
        >>> [(word.word, word.label) for word in model.informative_words(top=3, detail=True)]
        [('at', 'ham'), ('free', 'spam'), ('lunch', 'ham')]
        """
        part = self._text_part(column)
        family: Any = self._model.parts[part].family
        stats = self._model.blocks[part]
        bits = word_information(family, stats, self._model.class_prior)
        best = np.argsort(-np.nan_to_num(bits, nan=-np.inf), kind="stable")
        best = best[: min(top, int((~np.isnan(bits)).sum()))]
        if not detail:
            return [(str(stats.words[j]), float(bits[j])) for j in best]
        weights = weights_of_one_word(self._model.forms[part])[:, best]
        own = self._learned_weights(part)
        learned = np.zeros_like(weights) if own is None else own[:, best]
        evidence, learned = (
            np.array([self._against_all(part, table, k) for k in range(len(table))])
            for table in (weights, learned)
        )
        entries = []
        for i, j in enumerate(best.tolist()):
            k = int(evidence[:, i].argmax())
            found = float(evidence[k, i]), float(learned[k, i])
            label = self.classes_[k : k + 1].tolist()[0]
            entries.append(
                InformativeWord(str(stats.words[j]), float(bits[j]), label, *found, self._documents(part, j))
            )
        return entries

    def _against_all(self, part: int, weights: Floats, k: int) -> Floats:
        """Return the weights of class k against those of all other classes: odds compare with them already."""
        family: Any = self._model.parts[part].family
        if family.model.name != "odds" and len(weights) > 1:
            return np.asarray(weights[k] - np.delete(weights, k, axis=0).mean(axis=0))
        return np.asarray(weights[k])

    def _shares_of_documents(self, words: list[str], column: Any) -> Floats:
        """Return the share of the documents of every class that contain a word: words x classes."""
        stats: Any = self._model.blocks[self._text_part(column)]
        position = {str(word): j for j, word in enumerate(stats.words)}
        counts = stats.documents_with_word[:, [position[word] for word in words]]
        return np.asarray((counts / np.maximum(stats.documents, 1)[:, None]).T)

    def _text_part(self, column: Any) -> int:
        """Return the position of the block of a text column; without a name, of the only text column."""
        self._require_fitted()
        names, parts = self._columns(), self._model.parts
        text = {names[p.columns[0]]: k for k, p in enumerate(parts) if isinstance(p.family, Documents)}
        if column is None and len(text) == 1:
            return next(iter(text.values()))
        if not text:
            raise ValueError(
                f'this {type(self).__name__} has no text column. Set the family of a column to "text".'
            )
        if column is None:
            raise ValueError(f"the model has {len(text)} text columns: name one of {list(text)} as column=.")
        if str(column) not in text:
            raise ValueError(f"column {column!r} is not a text column of the model. Use one of {list(text)}.")
        return text[str(column)]

    def _learned_weights(self, part: int) -> Floats | None:
        """Return the weights of one occurrence of each word that were learned beyond the counts, classes x words."""
        model = self._model
        if model.calibration is None or (words := model.calibration.words) is None or words.strength is None:
            return None
        family: Any = model.parts[part].family
        idf = np.nan_to_num(family.weight_to_apply)
        learned = words.learned_for(model.blocks[part], model.classes)
        return np.asarray(learned * idf * float(model.weights(part)[0]))

    def _word_evidence(
        self, part: int, j: int, evidence: float, count: int, learned: float, first: float
    ) -> WordEvidence:
        """Return the evidence of word j with its numbers of documents; `first` is the share of the first occurrence."""
        word = str(self._model.blocks[part].words[j])
        return WordEvidence(word, evidence, count, self._documents(part, j), learned, first * evidence)

    def _documents(self, part: int, j: int) -> dict[Any, int]:
        """Return the number of documents of every class that contain word j."""
        counts = self._model.blocks[part].documents_with_word[:, j]
        return dict(zip(self.classes_.tolist(), counts.tolist(), strict=True))


def _share_of_first(tf: str, counts: Floats) -> Floats:
    """Return the share of the first occurrence of words in the term frequency of all their occurrences.

    >>> _share_of_first("log", np.array([1.0, 3.0]))
    array([1. , 0.5])
    """
    if tf == "log":
        return np.asarray(np.log(2.0) / np.log1p(counts))
    return np.ones_like(counts) if tf == "binary" else 1.0 / counts
