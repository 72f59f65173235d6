import pytest

from pe_lab.contrib.inspection.trained.failure_kinds import (
    KINDS,
    first_error,
    kind,
    repeated_tokens,
)

END = 0


def tokens(text):
    """Letters as numbers; a dot is the end."""
    return [END if letter == "." else ord(letter) for letter in text]


EXAMPLES = [  # in the order of KINDS
    ("stopped early", "abc.", "abcdefgh."),
    ("stopped early", ".", "abcdefgh."),
    ("stopped late", "abcdefghx", "abcdefgh."),
    ("stopped late", "abcdefgha", "abcdefgh."),
    ("off by one place", "acdefgh.", "abcdefgh."),
    ("off by one place", "aabcdefgh", "abcdefgh."),
    ("off by one place", "abxcdefgh", "abcdefgh."),
    ("left out a part", "abgh.", "abcdefgh."),
    ("left out a part", "fgh.", "abcdefgh."),
    ("looped", "abcxyxyxy", "abcdefgh."),
    ("looped", "abcdxxxxx", "abcdefgh."),
    ("looped", "abcdefabc", "abcdefgh."),  # back to where it began
    ("wrong tokens and end", "abxy.", "abcdefgh."),
    ("wrong tokens and end", "abh.", "abcdefgh."),  # two tokens agree by chance
    ("wrong tokens and end", "abcdefgab", "abcdefgh."),
    ("wrong tokens", "abcxefgh.", "abcdefgh."),
    ("wrong tokens", "abcdehgf.", "abcdefgh."),
]


@pytest.mark.parametrize(("what", "said", "right"), EXAMPLES)
def test_an_answer_fails_in_one_way(what, said, right):
    assert kind(tokens(said), tokens(right), END) == what


def test_every_kind_has_an_example_and_they_stand_in_its_order():
    assert list(dict.fromkeys(what for what, _, _ in EXAMPLES)) == list(KINDS)


def test_a_right_answer_has_no_kind():
    assert kind(tokens("abc."), tokens("abc."), END) is None
    assert kind(tokens("abc"), tokens("abc"), None) is None


@pytest.mark.parametrize(
    ("what", "said"),
    [("wrong tokens", "abcxefgh"), ("off by one place", "acdefghx"), ("looped", "abcxyxyx")],
)
def test_what_says_no_end_cannot_stop_early_or_late(what, said):
    assert kind(tokens(said), tokens("abcdefgh"), None) == what


def test_an_answer_that_repeats_itself_is_no_loop_where_the_right_one_does():
    assert kind(tokens("abababab."), tokens("abababax."), END) == "looped"
    assert kind(tokens("xbababab."), tokens("abababab."), END) == "wrong tokens"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("a", 0),
        ("ab", 0),
        ("aa", 1),
        ("aaaa", 3),
        ("ababa", 3),
        ("abcab", 2),
        ("abcxabd", 0),
    ],
)
def test_what_is_repeated_tokens_is_counted_from_the_end_and_may_overlap(text, count):
    assert repeated_tokens(tokens(text)) == count


def test_the_first_error_counts_from_zero_and_what_is_missing_is_one():
    assert [
        first_error(tokens(said), tokens("abc.")) for said in ("xbc.", "abx.", "ab.", "ab", "abc.")
    ] == [0, 2, 2, 2, 4]
