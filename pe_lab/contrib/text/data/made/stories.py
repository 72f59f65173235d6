"""Stories: 1,200 documents of English words, made by code, with structure at all distances.

A story has about 3,500 bytes. These parts of it follow from text that is far back:

- Names of people and places are invented for each story. They are introduced at the start and
  return at any distance, so that only a copy predicts them.
- Each person has a trade, a home and a thing. The introduction states them, and later sentences
  repeat them.
- Nouns come from two topics of eight.
- A refrain of seven random words returns word by word.
- Asides in three kinds of brackets hold several sentences, nested up to three deep. A bracket
  closes with the kind that opened last.
- The last paragraph names all people in the order of their introduction.

Everything else is drawn from fixed word lists, so that a short context suffices to model it.
The docs show the bits per byte of a count model against the length of its context.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pe_lab.contrib.text.data.made.draws import CorpusDraws
from pe_lab.contrib.text.data.made.words import ADJECTIVES, NOUNS, TOPICS, TRADES, VERBS

NUM_STORIES = 1_200
_BRACKETS = ("()", "[]", "{}")


@dataclass(frozen=True)
class Person:
    """A person of a story, and the facts about the person."""

    name: str
    trade: str
    home: str
    thing: str


@dataclass(frozen=True)
class Story:
    """The facts of one story.

    Attributes:
      topics: nouns, the most frequent one first.
    """

    people: list[Person]
    topics: list[str]
    refrain: str


def rows() -> Iterator[dict[str, bytes]]:
    """Yield the stories in order, as "text"."""
    for number in range(NUM_STORIES):
        yield {"text": _text(number).encode()}


def _text(number: int) -> str:
    draws = CorpusDraws(number)
    story = _facts(draws)
    paragraphs = [" ".join(_introduction(person) for person in story.people)]
    num_paragraphs = 5 + draws.below(5)
    for _ in range(num_paragraphs):
        num_sentences = 6 + draws.below(4)
        sentences = _sentences(draws, story, num_sentences, depth=0)
        paragraphs.append(" ".join([*sentences, story.refrain]))
    *names, last_name = [person.name for person in story.people]
    paragraphs.append(f"So ends the story of {', '.join(names)} and {last_name}.")
    return "\n".join(paragraphs) + "\n"


def _facts(draws: CorpusDraws) -> Story:
    topics = draws.items(list(TOPICS), 2)
    nouns = [noun for topic in topics for noun in TOPICS[topic]]
    people = []
    for trade in draws.items(TRADES, 3 + draws.below(3)):
        name = draws.word(3).capitalize()
        home = draws.word(3).capitalize()
        thing = f"{draws.item(ADJECTIVES)} {draws.item(NOUNS)}"
        people.append(Person(name, trade, home, thing))
    words = [*NOUNS, *ADJECTIVES]
    refrain = " ".join(draws.item(words) for _ in range(7))
    # The order of these lines is the order of the draws, which must not change.
    frequent_nouns = draws.items(nouns, 16)
    return Story(people, frequent_nouns, f"{refrain.capitalize()}!")


def _introduction(person: Person) -> str:
    article = "an" if person.thing[0] in "aeiou" else "a"
    job = f"is a {person.trade} from {person.home}"
    return f"{person.name} {job} and owns {article} {person.thing}."


def _sentences(draws: CorpusDraws, story: Story, count: int, depth: int) -> list[str]:
    """Return sentences and asides, which are sentences in brackets."""
    sentences = []
    for _ in range(count):
        if depth < len(_BRACKETS) and draws.chance(0.15):
            num_inner = 1 + draws.below(4)
            inner = " ".join(_sentences(draws, story, num_inner, depth + 1))
            brackets = draws.item(_BRACKETS)
            sentences.append(f"{brackets[0]}{inner}{brackets[1]}")
        else:
            sentences.append(_sentence(draws, story))
    return sentences


def _sentence(draws: CorpusDraws, story: Story) -> str:
    person = draws.frequent(story.people)
    other = draws.item(story.people)
    past = draws.frequent(VERBS).past
    noun = draws.frequent(story.topics)
    kind = draws.below(6)
    if kind == 0:
        return f"{person.name} the {person.trade} {past} the {noun}."
    if kind == 1:
        return f"Then {person.name} went home to {person.home} with the {noun}."
    if kind == 2:
        return f"{person.name} {past} the {person.thing} near the {noun}."
    if kind == 3:
        return f"In {other.home} the {draws.frequent(ADJECTIVES)} {noun} was the talk of the day."
    if kind == 4:
        return f"The {other.trade} asked {person.name} about the {noun}."
    other_noun = draws.frequent(story.topics)
    return f"The {draws.frequent(ADJECTIVES)} {noun} {past} the {other_noun}."
