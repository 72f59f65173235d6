"""How an answer fails: exclusive kinds, tried in the order of KINDS, so that each failed example
has one.

An answer is looked at as far as the right one goes, its end token included: what would follow is
not asked for. Where symbols are few, three of them agree by chance as well.
"""

from collections.abc import Sequence

_AGREE = 3  # tokens: fewer agree by chance
KINDS = {
    "stopped early": "all right, but it ended before the answer did",
    "stopped late": "all right, but it did not end where the answer did",
    "off by one place": (
        f"from the first error on it says, {_AGREE} tokens or more, "
        "what belongs one place later, or one place before"
    ),
    "left out a part": (
        f"from the first error on it goes on as the answer ends, {_AGREE} tokens or more "
        "with the end"
    ),
    "looped": (
        f"half or more of what follows the first error, {_AGREE} tokens or more, it had said "
        "before in the same order, and more than twice as much as the right answer does so"
    ),
    "wrong tokens and end": "none of these, and it did not end where the answer does",
    "wrong tokens": "none of these, and it ended where the answer does",
}


def kind(said: Sequence[int], right: Sequence[int], end: int | None) -> str | None:
    """The kind of a failed answer; None if it is right.

    Args:
      said: as many tokens as `right` has, or up to its own end token.
      end: the end token, with which `right` ends; None where nothing says that an answer ends.
    """
    said, right = list(said), list(right)
    if said == right:
        return None
    told, answer = (_before(tokens, end) for tokens in (said, right))
    first = first_error(told, answer)
    if len(told) < len(answer) and first == len(told):
        return "stopped early"
    if end is not None and first == len(answer):
        return "stopped late"
    if _off_by_one(told, answer, first):
        return "off by one place"
    rest = said[first:]
    if (
        end in said
        and len(said) < len(right)
        and len(rest) >= _AGREE
        and rest == right[-len(rest) :]
    ):
        return "left out a part"
    if (again := said_again(told)) >= max(
        _AGREE, (len(told) - first) / 2
    ) and again > 2 * said_again(answer):
        return "looped"
    return "wrong tokens and end" if len(told) != len(answer) else "wrong tokens"


def first_error(said: Sequence[int], right: Sequence[int]) -> int:
    """The first place that differs, from 0; as many as there are tokens if none does."""
    return next(
        (i for i, token in enumerate(right) if i >= len(said) or said[i] != token), len(right)
    )


def said_again(tokens: Sequence[int]) -> int:
    """How many of the last tokens stand, in the same order, at an earlier place; the two may
    overlap, as in a b a b a.
    """
    count = len(tokens)

    def equal(earlier: int) -> int:
        """Of the tokens before a place, how many of the last are those at the end."""
        return next(
            (
                back - 1
                for back in range(1, earlier + 1)
                if tokens[earlier - back] != tokens[count - back]
            ),
            earlier,
        )

    return max((equal(earlier) for earlier in range(1, count)), default=0)


def _off_by_one(said: list[int], right: list[int], first: int) -> bool:
    """Whether all that is said from the first error on stands one place from where it belongs."""
    for mine, theirs in ((said[first:], right[first + 1 :]), (said[first + 1 :], right[first:])):
        both = min(len(mine), len(theirs))
        if both >= _AGREE and mine[:both] == theirs[:both] and abs(len(mine) - len(theirs)) <= 1:
            return True
    return False


def _before(tokens: list[int], end: int | None) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens
