"""From raw texts to sparse counts of their words."""

from sunrise.text.counter import Counted, WordCounter
from sunrise.text.vocabulary import Vocabulary

__all__ = ["Counted", "Vocabulary", "WordCounter"]
