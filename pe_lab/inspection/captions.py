"""What stands below a picture: how to read it, and what it shows of this encoding, with its
numbers.
"""

from collections.abc import Callable

from pe_lab.inspection.scorecard import PROPERTIES, Row
from pe_lab.inspection.untrained import DRAWS, SEQUENCES

_OF = {p.name: p for p in PROPERTIES}


def caption(row: Row) -> str:
    """One paragraph."""
    return _BY_KIND[row.kind](row)


def _code(row: Row) -> str:
    return (
        "Top left, the code: each row is what the model is told of one position, its numbers as "
        "colours. Top right, how alike "
        "every two positions are, by the product of their codes; below, the same against how far "
        "apart they stand: "
        f"{_decay(row)}. Bottom right, the codes of the first positions as points, each joined to "
        f"the next: {_steps(row)}. "
        f"{_unique(row)}"
    )


def _turn(row: Row) -> str:
    complete = row.numbers.get("pairs that complete a period")
    product = "product of a query with its own copy by distance, over all directions"
    if complete is None:
        return f"The {product}: {_decay(row)}."
    return (
        "Top left, queries and keys are pairs of numbers, points on circles, and from one "
        "position (dark) to the next (lighter) each "
        "pair turns by an angle of its own. Top right, what then counts between a query and a "
        "key: the cosine of the angle between "
        f"them, pair by pair. Bottom left, {complete:.0%} of the pairs come round within the "
        f"length; the others (grey) meet angles in "
        f"longer examples that shorter ones never showed. Bottom right, the {product}: "
        f"{_decay(row)}."
    )


def _bias(row: Row) -> str:
    fields = [
        f"{value:.0f}"
        for name, value in row.numbers.items()
        if name.startswith("99% of head") and value is not None
    ]
    tokens = row.numbers["tokens among which 99% is asked for"]
    adds = (
        "Left, what each head adds to the logit of a key by its distance: less means looked "
        "at less. Middle, how"
    )
    return (
        f"{adds if row.numbers['largest bias'] else 'It is a mask. Left, how'} each head would "
        f"share out its attention if all keys "
        "were alike, dark the most. Right, how much of that lies within a distance; the dashed "
        "line is the length. In an example "
        f"of {tokens:,} tokens, 99% lies within {', '.join(fields)} positions, head by head. "
        f"{_decay(row).capitalize()}."
    )


def _content(row: Row) -> str:
    return (
        f"Left, the logits at each distance of {DRAWS} random queries and keys of the first head, "
        f"a column a pair, less their "
        "mean. Right, a query that meets its own copy: where the mean over all directions is flat "
        "and the spread wide, the query "
        f"decides what a distance means. {_unique(row)} By its mean {_decay(row)}."
    )


def _none(row: Row) -> str:
    return (
        f"The scorecard says nothing of it: {row.reason}. The picture is of random tokens alone: "
        f"how much of its attention the "
        f"last of them gives to those before it, by distance, a mean over {SEQUENCES:,} "
        f"sequences. Of other tokens it would be "
        "another."
    )


def _decay(row: Row) -> str:
    share, stop = row.numbers["nearer is more similar"], row.numbers["decay stops at"]
    if share is None:
        return "every distance is the same"
    then = (
        ""
        if stop is None or share < 2 / 3
        else f", though it first rises again at distance {stop:.0f} (dotted)"
    )
    chance = (
        ""
        if _OF["decays"].verdict(row.numbers)
        else ", little more than chance, 50%"
        if share > 0.5
        else ", no more than chance, 50%"
    )
    return f"in {share:.0%} of comparisons the nearer of two is the one more alike{then}{chance}"


def _steps(row: Row) -> str:
    longest = row.numbers["largest step / random pair"]
    if longest is None:
        return "they are all one point"
    times = f"the longest step is {longest:.2f} times the distance of two positions at random"
    return f"they follow a curve, and {times}" if longest < 1 else f"they jump, and {times}"


def _unique(row: Row) -> str:
    count = row.numbers["colliding pairs"] or 0
    what = "positions" if row.kind == "code" else "distances"
    if not count:
        return f"No two {what} are the same to it."
    return f"{count:,.0f} {'pair' if count == 1 else 'pairs'} of {what} are the same to it."


_BY_KIND: dict[str | None, Callable[[Row], str]] = {
    "code": _code,
    "turn": _turn,
    "bias": _bias,
    "content": _content,
    None: _none,
}
