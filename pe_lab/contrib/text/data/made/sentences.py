"""Sentences: 20,000 English sentences and their translations into an invented language.

Source and target have this structure:

- A dictionary translates nouns, adjectives and verbs. Articles have no translation.
- In the target a noun comes before its adjective, and a verb behind its object.
- Verbs agree with their subject in number. In the target, adjectives agree with their noun.
- A person may have a relative clause with "who", nested up to two deep. It separates a subject
  from its verb, and the target closes each clause with its verb.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pe_lab.contrib.text.data.made.draws import CorpusDraws
from pe_lab.contrib.text.data.made.words import ADJECTIVES, NOUNS, TRADES, VERBS

NUM_SENTENCES = 20_000
_MAX_DEPTH = 2  # of relative clauses
_WHO = "ke"
_PAST = "ra"
_PLURAL = "n"


class Pair(NamedTuple):
    """English words and their translation."""

    source: str
    target: str


def rows() -> Iterator[dict[str, bytes]]:
    """Yield the pairs in order, as "source" and "target"."""
    dictionary = _dictionary()
    for number in range(NUM_SENTENCES):
        pair = _Grammar(CorpusDraws(number), dictionary).sentence()
        yield {"source": pair.source.encode(), "target": pair.target.encode()}


def _dictionary() -> dict[str, str]:
    """Return the translations of all words; verbs are listed in the plural."""
    draws = CorpusDraws(0)
    verbs = [verb.plural for verb in VERBS]
    dictionary: dict[str, str] = {}
    for word in [*TRADES, *NOUNS, *ADJECTIVES, *verbs]:
        translation = draws.word(2)
        while translation in dictionary.values():  # two words never share one
            translation = draws.word(2)
        dictionary[word] = translation
    return dictionary


class _Grammar:
    """The rules of a sentence, with its random choices."""

    def __init__(self, draws: CorpusDraws, dictionary: dict[str, str]):
        self.draws = draws
        self.dictionary = dictionary

    def sentence(self) -> Pair:
        is_plural = self.draws.chance(0.5)
        subject = self.noun_phrase(TRADES, is_plural, depth=0)
        # At this depth the object of the sentence has no relative clause.
        predicate = self.predicate(is_plural, depth=_MAX_DEPTH)
        source = f"{subject.source} {predicate.source}"
        target = f"{subject.target} {predicate.target}"
        return Pair(source, target)

    def noun_phrase(self, nouns: Sequence[str], is_plural: bool, depth: int) -> Pair:
        """Return a noun, perhaps with an adjective and a relative clause.

        Args:
          depth: the number of relative clauses around it.
        """
        noun = self.draws.item(nouns)
        ending = _PLURAL if is_plural else ""
        source = f"{noun}s" if is_plural else noun
        target = self.dictionary[noun] + ending
        if self.draws.chance(0.4):
            adjective = self.draws.item(ADJECTIVES)
            source = f"{adjective} {source}"
            target += f" {self.dictionary[adjective]}{ending}"
        source = f"the {source}"
        if nouns is TRADES and depth < _MAX_DEPTH and self.draws.chance(0.5):
            clause = self.predicate(is_plural, depth + 1)
            source += f" who {clause.source}"
            target += f" {_WHO} {clause.target}"
        return Pair(source, target)

    def predicate(self, is_plural: bool, depth: int) -> Pair:
        """Return a verb and its object."""
        verb = self.draws.item(VERBS)
        ending = _PLURAL if is_plural else ""
        source = verb.plural if is_plural else verb.singular
        target = self.dictionary[verb.plural]
        if self.draws.chance(0.4):
            source = verb.past
            target += _PAST
        nouns = TRADES if self.draws.chance(0.4) else NOUNS
        object_is_plural = self.draws.chance(0.5)
        phrase = self.noun_phrase(nouns, object_is_plural, depth)
        source = f"{source} {phrase.source}"
        target = f"{phrase.target} {target}{ending}"
        return Pair(source, target)
