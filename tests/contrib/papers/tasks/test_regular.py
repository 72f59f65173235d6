import itertools
import re

import numpy as np
import pytest

from pe_lab.contrib.papers.tasks._languages import LANGUAGES
from pe_lab.contrib.papers.tasks.regular import Regular, _num_strings
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn, symbols

VARIANTS = [
    {},
    dict(language="d_3", members=1.0),
    dict(language="ab_d_bc", answer="every"),
    dict(language="aa_star", answer="last", members=0.0),
]


def matches(pattern):
    return lambda string: re.fullmatch(pattern, string) is not None


def lacks(pattern):
    return lambda string: re.search(pattern, string) is None


def nested(depth):
    def is_member(string):
        for _ in range(depth):
            string = string.replace("ab", "")
        return string == ""

    return is_member


# Language -> whether a string is a member, without the automaton, and strings of which at least
# one completes every string that can be completed.
PREDICATES = {
    "tomita_1": (matches("1*"), [""]),
    "tomita_2": (matches("(10)*"), ["", "0"]),
    "tomita_3": (lacks("(?<!1)1(11)*0(00)*(?!0)"), ["", "0"]),
    "tomita_4": (lacks("000"), [""]),
    "tomita_5": (lambda s: s.count("0") % 2 == s.count("1") % 2 == 0, ["", "0", "1", "01"]),
    "tomita_6": (lambda s: (s.count("0") - s.count("1")) % 3 == 0, ["", "0", "1"]),
    "tomita_7": (matches("0*1*0*1*"), [""]),
    "aa_star": (matches("(aa)*"), ["", "a"]),
    "aaaa_star": (matches("(aaaa)*"), ["", "a", "aa", "aaa"]),
    "abab_star": (matches("(abab)*"), ["", "bab", "ab", "b"]),
    "d_2": (nested(2), ["b" * i for i in range(3)]),
    "d_3": (nested(3), ["b" * i for i in range(4)]),
    "d_4": (nested(4), ["b" * i for i in range(5)]),
    "d_12": (nested(12), ["b" * i for i in range(13)]),
    "aa_bb_cc_dd_ee": (matches("a+b+c+d+e+"), ["abcde", "bcde", "cde", "de", "e", ""]),
    "ab_d_bc": (matches("[ab]*d[bc]*"), ["", "d"]),
    "012_02": (matches("[012]*02*"), ["", "0"]),
}


def legal_letters_after(name, string):
    """Return the label of `Language.legal_letters` after a string, without the automaton."""
    is_member, tails = PREDICATES[name]
    letters = ""
    for letter in LANGUAGES[name].letters:
        if any(is_member(string + letter + tail) for tail in tails):
            letters += letter
    end = "$" if is_member(string) else ""
    return letters + end or "-"


def oracle(task, prompt):
    is_member, _ = PREDICATES[task.language]
    string = "".join(LANGUAGES[task.language].letters[symbol] for symbol in prompt)
    prefixes = [string[: i + 1] for i in range(len(string))]
    if task.answer == "legal":
        labels = [legal_letters_after(task.language, prefix) for prefix in prefixes]
    else:
        labels = ["yes" if is_member(prefix) else "no" for prefix in prefixes]
    if task.answer == "last":
        labels = labels[-1:]
    return np.array(symbols(task.target_vocabulary, " ".join(map(task._name, labels))))


def strings(one, length, count):
    """What was drawn, and how often."""
    e = drawn(one, length, count)
    found = [
        "".join(one._language.letters[s] for s in row[mask])
        for row, mask in zip(e.prompt, e.prompt_mask, strict=True)
    ]
    return {string: found.count(string) for string in sorted(set(found))}


@pytest.mark.parametrize("name", LANGUAGES)
def test_an_automaton_says_of_every_string_what_the_definition_says(name):
    """Of all strings of up to 5 letters, 8 where there are two."""
    language = LANGUAGES[name]
    is_member, _ = PREDICATES[name]
    said = language.legal_letters()
    for length in range(9 if len(language.letters) == 2 else 6):
        for string in map("".join, itertools.product(language.letters, repeat=length)):
            state = 0
            for letter in string:
                state = language.moves[state][language.letters.index(letter)]
            assert (state in language.accepting) == is_member(string), string
            assert said[state] == legal_letters_after(name, string), string


def test_there_are_the_seventeen_languages_of_the_paper():
    assert len(LANGUAGES) == 17


@pytest.mark.parametrize(
    ("name", "member", "other"),
    [
        ("tomita_1", "11", "10"),
        ("tomita_2", "1010", "1001"),
        ("tomita_3", "110100", "10"),
        ("tomita_4", "1001", "0001"),
        ("tomita_5", "0101", "011"),
        ("tomita_6", "00001", "011"),
        ("tomita_7", "00110", "1010"),
        ("aa_star", "aa", "aaa"),
        ("aaaa_star", "aaaa", "aa"),
        ("abab_star", "abab", "ab"),
        ("d_2", "aabbab", "aaabbb"),
        ("d_12", "a" * 12 + "b" * 12, "a" * 13 + "b" * 13),
        ("aa_bb_cc_dd_ee", "abbcdde", "abcde" * 2),
        ("ab_d_bc", "abadcb", "abdad"),
        ("012_02", "21022", "2101"),
    ],
)
def test_a_string_that_is_a_member_and_one_that_is_not(name, member, other):
    is_member, _ = PREDICATES[name]
    assert is_member(member)
    assert not is_member(other)


def test_worked_examples():
    def said(string, **arguments):
        one = Regular(**arguments)
        return one.target_vocabulary.text(
            oracle(one, np.array(symbols(one.vocabulary, " ".join(string)))).tolist()
        )

    assert said("100", language="tomita_2") == "{0} 1$ -"
    assert said("ab", language="d_2") == "ab a$"
    assert said("abb", language="aa_bb_cc_dd_ee", answer="every") == "no no no"
    assert said("aa", language="aa_star", answer="last") == "yes"


@pytest.mark.slow
def test_members_and_others_are_uniform_among_their_length():
    """Of the strings of four bits, 13 are without 000 and 3 are with it.

    1300 draws: 100 of each of the 13, standard deviation 10; 433 of each of the 3, 17.
    """
    members = strings(Regular(members=1.0), 4, 1300)
    assert len(members) == 13
    assert max(abs(n - 100) for n in members.values()) < 44
    others = strings(Regular(members=0.0), 4, 1300)
    assert list(others) == ["0000", "0001", "1000"]
    assert max(abs(n - 1300 / 3) for n in others.values()) < 77


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "share"), [("tomita_4", 0.25), ("tomita_2", 0.5), ("d_12", 0.5)]
)
def test_members_are_the_share_that_they_shall_be(language, share):
    """1000 draws: standard deviation at most 16. A language may be rare among all strings."""
    e = drawn(Regular(language=language, answer="last", members=share), 30)
    yes = Regular(language=language, answer="last").target_vocabulary.names.index("yes")
    assert abs((e.target == yes).sum() - 1000 * share) < 72


@pytest.mark.slow
def test_a_length_without_members_is_the_next_shorter_that_has_some():
    assert list(strings(Regular(language="aaaa_star", members=1.0), 7, 3)) == ["aaaa"]
    assert {len(s) for s in strings(Regular(language="aaaa_star", members=0.0), 7, 20)} == {4}
    assert [
        Regular(language=name).min_length
        for name in ("tomita_1", "tomita_6", "d_2", "aa_bb_cc_dd_ee")
    ] == [1, 2, 2, 5]


@pytest.mark.slow
def test_a_length_without_other_strings_has_members_alone():
    assert len(strings(Regular(members=0.0), 2, 100)) == 4


@pytest.mark.slow
def test_the_longest_strings_are_counted_without_overflow():
    for name, member in itertools.product(LANGUAGES, (False, True)):
        ways = _num_strings(LANGUAGES[name], member, 2000)
        assert np.isfinite(ways).all()
        assert (ways[1500:].max(axis=1) > 0).all()


def test_sets_are_symbols_behind_the_letters():
    one = Regular(language="tomita_2")
    assert one.target_vocabulary.names == ("0", "1", "1$", "{0}", "-")
    assert Regular(answer="every").target_vocabulary.names == ("0", "1", "yes", "no")


@pytest.mark.slow
def test_its_chance_levels():
    """A half if one bit decides, three fourths for tomita_5, 1 if all strings are members."""
    for arguments, chance_level in (
        (dict(language="tomita_1"), 0.52),
        (dict(language="tomita_5"), 0.75),
        (dict(answer="last"), 0.5),
        (dict(language="tomita_2", members=1.0), 1),
    ):
        assert (
            abs(
                chance_levels(Regular(**arguments), (40,), 1000)[0]["token_accuracy"] - chance_level
            )
            < 0.05
        )


def test_other_languages_and_shares_are_refused():
    with pytest.raises(ValueError, match=r"one of tomita_1, .*012_02, got 'tomita_8'"):
        Regular(language="tomita_8")
    with pytest.raises(ValueError, match=r"a share of 0 to 1, got 1\.5"):
        Regular(members=1.5)
