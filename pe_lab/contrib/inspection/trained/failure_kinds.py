"""Kinds of wrong answers. Every wrong answer has exactly one: the first of KINDS that applies.

An answer is compared up to the length of the right one, including its end token. With few symbols,
three tokens also agree by chance.
"""

from collections.abc import Sequence

_AGREE = 3  # fewer tokens agree by chance
KINDS = {
    "stopped early": "all tokens are right, but the end token comes too early",
    "stopped late": "all tokens are right, but the end token does not follow them",
    "off by one place": (
        f"from the first error on, {_AGREE} or more tokens belong to the next or to the "
        "previous place"
    ),
    "left out a part": (
        f"from the first error on, {_AGREE} or more tokens, with the end token, are the last ones "
        "of the right answer"
    ),
    "looped": (
        f"at least half of the tokens after the first error, {_AGREE} or more, repeat earlier "
        "tokens in the same order, and more than twice as many as in the right answer"
    ),
    "wrong tokens and end": "none of the above, and the length is wrong",
    "wrong tokens": "none of the above, and the length is right",
}


def kind(answer: Sequence[int], right: Sequence[int], end: int | None) -> str | None:
    """The kind of a wrong answer; None for a right one.

    Args:
      answer: as many tokens as `right`, or up to the end token.
      end: the end token, which is the last of `right`; None without one.
    """
    answer, right = list(answer), list(right)
    if answer == right:
        return None
    tokens = _before_end(answer, end)
    right_tokens = _before_end(right, end)
    first = first_error(tokens, right_tokens)
    # The kinds are exclusive, so their order matters.
    if len(tokens) < len(right_tokens) and first == len(tokens):
        return "stopped early"
    if end is not None and first == len(right_tokens):
        return "stopped late"
    if _off_by_one(tokens, right_tokens, first):
        return "off by one place"
    rest = answer[first:]
    is_shorter = end in answer and len(answer) < len(right)
    if is_shorter and len(rest) >= _AGREE and rest == right[-len(rest) :]:
        return "left out a part"
    repeated = repeated_tokens(tokens)
    is_long = repeated >= max(_AGREE, (len(tokens) - first) / 2)
    if is_long and repeated > 2 * repeated_tokens(right_tokens):
        return "looped"
    if len(tokens) != len(right_tokens):
        return "wrong tokens and end"
    return "wrong tokens"


def first_error(answer: Sequence[int], right: Sequence[int]) -> int:
    """Index of the first token that differs or is missing; len(right) without one."""
    for i, token in enumerate(right):
        if i >= len(answer) or answer[i] != token:
            return i
    return len(right)


def repeated_tokens(tokens: Sequence[int]) -> int:
    """Number of last tokens that also occur earlier in the same order.

    The two occurrences may overlap, as in a b a b a.
    """
    common = [_common_end(tokens, stop) for stop in range(1, len(tokens))]
    return max(common, default=0)


def _common_end(tokens: Sequence[int], stop: int) -> int:
    """Length of the common ending of tokens[:stop] and all tokens."""
    for back in range(1, stop + 1):
        if tokens[stop - back] != tokens[-back]:
            return back - 1
    return stop


def _off_by_one(answer: list[int], right: list[int], first: int) -> bool:
    """Whether all tokens from the first error on are shifted by one place."""
    # The answer left out a token of the right one, or has one too many.
    if _agree(answer[first:], right[first + 1 :]):
        return True
    return _agree(answer[first + 1 :], right[first:])


def _agree(a: list[int], b: list[int]) -> bool:
    shorter, longer = sorted((a, b), key=len)
    common = len(shorter)
    has_prefix = longer[:common] == shorter
    return has_prefix and common >= _AGREE and len(longer) - common <= 1


def _before_end(tokens: list[int], end: int | None) -> list[int]:
    if end not in tokens:
        return tokens
    return tokens[: tokens.index(end)]
