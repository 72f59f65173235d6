"""English words of the corpora that code makes, the most frequent ones first."""

from typing import NamedTuple


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TOPICS = {
    "sea": _words("boat net sail harbor island storm anchor oar gull wave rope crab"),
    "farm": _words("field barn horse plow fence seed well hen rake orchard mill cart"),
    "town": _words("market bridge lamp tower street bell door roof window stair cellar gate"),
    "forest": _words("path oak stream cave bear owl fern hut axe clearing root nest"),
    "kitchen": _words("oven pot fork pie table spoon bowl cake soup cup plate jar"),
    "school": _words("book desk map pencil lesson clock chalk letter riddle globe ruler pen"),
    "palace": _words("throne crown garden guard carpet mirror sword key banner feast robe ring"),
    "mountain": _words("rock peak ridge goat tunnel glacier valley hawk fire pass tent cliff"),
}


class Verb(NamedTuple):
    """The present forms and the past form of a verb."""

    singular: str
    plural: str
    past: str


VERBS = (
    Verb("sees", "see", "saw"),
    Verb("finds", "find", "found"),
    Verb("likes", "like", "liked"),
    Verb("carries", "carry", "carried"),
    Verb("sells", "sell", "sold"),
    Verb("draws", "draw", "drew"),
    Verb("hides", "hide", "hid"),
    Verb("washes", "wash", "washed"),
    Verb("follows", "follow", "followed"),
    Verb("forgets", "forget", "forgot"),
    Verb("mends", "mend", "mended"),
    Verb("praises", "praise", "praised"),
    Verb("breaks", "break", "broke"),
    Verb("guards", "guard", "guarded"),
    Verb("borrows", "borrow", "borrowed"),
    Verb("counts", "count", "counted"),
)
ADJECTIVES = _words(
    "old small red new cold long dark green heavy strange broken quiet round golden empty bitter"
)
TRADES = _words(
    "baker sailor smith weaver doctor painter teacher farmer hunter singer "
    "tailor miller judge potter shepherd clerk"
)
NOUNS = tuple(noun for nouns in TOPICS.values() for noun in nouns)
