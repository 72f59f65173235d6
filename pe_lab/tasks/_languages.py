"""Regular languages, each as an automaton and as a predicate for the oracle.

The start state is 0. A dead state is one from which no accepting state can be reached.
"""

import dataclasses
import re
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Language:
    """A regular language.

    Attributes:
      letters: the alphabet.
      moves: for each state, the next state after each letter.
      accepting: the states after members.
      member: whether a string is a member, without the automaton.
      tails: strings of which at least one completes every string that can be completed.
    """

    letters: str
    moves: tuple[tuple[int, ...], ...]
    accepting: tuple[int, ...]
    member: Callable[[str], bool]
    tails: tuple[str, ...] = ("",)

    def alive(self) -> tuple[bool, ...]:
        """Return whether an accepting state can be reached from each state."""
        reaching = set(self.accepting)
        for _ in self.moves:
            reaching |= {state for state, row in enumerate(self.moves) if reaching & set(row)}
        return tuple(state in reaching for state in range(len(self.moves)))

    def legal_letters(self) -> tuple[str, ...]:
        """Return the letters that can follow each state ($ if a member can end, - for none)."""
        alive = self.alive()
        labels = []
        for state, row in enumerate(self.moves):
            pairs = zip(self.letters, row, strict=True)
            letters = "".join(letter for letter, next_state in pairs if alive[next_state])
            end = "$" if state in self.accepting else ""
            labels.append(letters + end or "-")
        return tuple(labels)

    def legal_letters_after(self, string: str) -> str:
        """Return the label of `legal_letters` after a string, without the automaton."""
        letters = ""
        for letter in self.letters:
            if any(self.member(string + letter + tail) for tail in self.tails):
                letters += letter
        end = "$" if self.member(string) else ""
        return letters + end or "-"


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda string: re.fullmatch(pattern, string) is not None


def _lacks(pattern: str) -> Callable[[str], bool]:
    return lambda string: re.search(pattern, string) is None


def _power(k: int) -> Language:
    """The language of a repeated n times, for all multiples n of k."""
    moves = tuple(((i + 1) % k, k) for i in range(k))
    tails = tuple("a" * i for i in range(k))
    return Language("ab", (*moves, (k, k)), (0,), _matches(f"({'a' * k})*"), tails)


def _nested(depth: int) -> Language:
    """The language of balanced brackets a and b up to a depth."""
    dead = depth + 1
    moves = tuple((i + 1, i - 1 if i else dead) for i in range(depth + 1))

    def member(string: str) -> bool:
        for _ in range(depth):
            string = string.replace("ab", "")
        return string == ""

    tails = tuple("b" * i for i in range(depth + 1))
    return Language("ab", (*moves, (dead, dead)), (0,), member, tails)


LANGUAGES = {
    # Only ones.
    "tomita_1": Language("01", ((1, 0), (1, 1)), (0,), _matches("1*")),
    # Pairs of a one and a zero.
    "tomita_2": Language("01", ((2, 1), (0, 2), (2, 2)), (0,), _matches("(10)*"), ("", "0")),
    # No member has an odd run of ones before an odd run of zeros. The state is 1 after an odd run
    # of ones, and 2 or 3 after an odd or even number of zeros that follow it.
    "tomita_3": Language(
        "01",
        ((0, 1), (2, 0), (3, 4), (2, 1), (4, 4)),
        (0, 1, 3),
        _lacks("(?<!1)1(11)*0(00)*(?!0)"),
        ("", "0"),
    ),
    # No three zeros in a row.
    "tomita_4": Language("01", ((1, 0), (2, 0), (3, 0), (3, 3)), (0, 1, 2), _lacks("000")),
    # An even number of zeros and of ones.
    "tomita_5": Language(
        "01",
        ((1, 2), (0, 3), (3, 0), (2, 1)),
        (0,),
        lambda s: s.count("0") % 2 == s.count("1") % 2 == 0,
        ("", "0", "1", "01"),
    ),
    # As many zeros as ones, modulo 3.
    "tomita_6": Language(
        "01",
        ((1, 2), (2, 0), (0, 1)),
        (0,),
        lambda s: (s.count("0") - s.count("1")) % 3 == 0,
        ("", "0", "1"),
    ),
    # Zeros, ones, zeros, ones.
    "tomita_7": Language(
        "01", ((0, 1), (2, 1), (2, 3), (4, 3), (4, 4)), (0, 1, 2, 3), _matches("0*1*0*1*")
    ),
    # Even numbers, and multiples of four, of a; b is in no member.
    "aa_star": _power(2),
    "aaaa_star": _power(4),
    # Repetitions of abab.
    "abab_star": Language(
        "ab",
        ((1, 4), (4, 2), (3, 4), (4, 0), (4, 4)),
        (0,),
        _matches("(abab)*"),
        ("", "bab", "ab", "b"),
    ),
    # Balanced brackets up to a depth.
    "d_2": _nested(2),
    "d_3": _nested(3),
    "d_4": _nested(4),
    "d_12": _nested(12),
    # Runs of a, b, c, d and e.
    "aa_bb_cc_dd_ee": Language(
        "abcde",
        (
            (1, 6, 6, 6, 6),
            (1, 2, 6, 6, 6),
            (6, 2, 3, 6, 6),
            (6, 6, 3, 4, 6),
            (6, 6, 6, 4, 5),
            (6, 6, 6, 6, 5),
            (6,) * 5,
        ),
        (5,),
        _matches("a+b+c+d+e+"),
        ("abcde", "bcde", "cde", "de", "e", ""),
    ),
    # One d between a or b and b or c.
    "ab_d_bc": Language(
        "abcd", ((0, 0, 2, 1), (2, 1, 1, 2), (2,) * 4), (1,), _matches("[ab]*d[bc]*"), ("", "d")
    ),
    # A 0, then only twos, at the end.
    "012_02": Language("012", ((1, 0, 0), (1, 0, 1)), (1,), _matches("[012]*02*"), ("", "0")),
}
