"""Regular languages as automata, and by other means for the oracle.

State 0 is the first. The dead states are those from which no accepting one can be reached.
"""

import dataclasses
import re
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Language:
    """One language, twice.

    Attributes:
      letters: the alphabet.
      moves: for each state the next one by each letter.
      accepting: the states in which a string is a member.
      member: whether a string is one, by another way than the automaton.
      tails: some of them completes every string that can be completed.
    """

    letters: str
    moves: tuple[tuple[int, ...], ...]
    accepting: tuple[int, ...]
    member: Callable[[str], bool]
    tails: tuple[str, ...] = ("",)

    def alive(self) -> tuple[bool, ...]:
        """Of each state, whether a member can still come of it."""
        found = set(self.accepting)
        for _ in self.moves:
            found |= {state for state, row in enumerate(self.moves) if found & set(row)}
        return tuple(state in found for state in range(len(self.moves)))

    def next(self) -> tuple[str, ...]:
        """Of each state, the letters that a member can go on with, and $ where it can end; - for
        none.
        """
        alive = self.alive()
        return tuple(
            "".join(a for a, to in zip(self.letters, row, strict=True) if alive[to])
            + "$" * (state in self.accepting)
            or "-"
            for state, row in enumerate(self.moves)
        )

    def next_after(self, string: str) -> str:
        """The same of a string, without the automaton."""
        letters = "".join(
            a for a in self.letters if any(self.member(string + a + tail) for tail in self.tails)
        )
        return letters + "$" * self.member(string) or "-"


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda string: re.fullmatch(pattern, string) is not None


def _lacks(pattern: str) -> Callable[[str], bool]:
    return lambda string: re.search(pattern, string) is None


def _power(k: int) -> Language:
    """a to a multiple of k."""
    moves = tuple(((i + 1) % k, k) for i in range(k))
    return Language(
        "ab", (*moves, (k, k)), (0,), _matches(f"({'a' * k})*"), tuple("a" * i for i in range(k))
    )


def _nested(depth: int) -> Language:
    """Brackets a and b, never deeper than `depth`."""
    moves = tuple((i + 1, i - 1 if i else depth + 1) for i in range(depth + 1))

    def member(string: str) -> bool:
        for _ in range(depth):
            string = string.replace("ab", "")
        return string == ""

    dead = depth + 1
    return Language(
        "ab", (*moves, (dead, dead)), (0,), member, tuple("b" * i for i in range(depth + 1))
    )


LANGUAGES = {
    "tomita_1": Language("01", ((1, 0), (1, 1)), (0,), _matches("1*")),
    "tomita_2": Language("01", ((2, 1), (0, 2), (2, 2)), (0,), _matches("(10)*"), ("", "0")),
    # Odd ones, then odd zeros, are in no member: states 1 after odd ones, 2 and 3 after odd and
    # even zeros behind them.
    "tomita_3": Language(
        "01",
        ((0, 1), (2, 0), (3, 4), (2, 1), (4, 4)),
        (0, 1, 3),
        _lacks("(?<!1)1(11)*0(00)*(?!0)"),
        ("", "0"),
    ),
    "tomita_4": Language("01", ((1, 0), (2, 0), (3, 0), (3, 3)), (0, 1, 2), _lacks("000")),
    "tomita_5": Language(
        "01",
        ((1, 2), (0, 3), (3, 0), (2, 1)),
        (0,),
        lambda s: s.count("0") % 2 == s.count("1") % 2 == 0,
        ("", "0", "1", "01"),
    ),
    "tomita_6": Language(
        "01",
        ((1, 2), (2, 0), (0, 1)),
        (0,),
        lambda s: (s.count("0") - s.count("1")) % 3 == 0,
        ("", "0", "1"),
    ),
    "tomita_7": Language(
        "01", ((0, 1), (2, 1), (2, 3), (4, 3), (4, 4)), (0, 1, 2, 3), _matches("0*1*0*1*")
    ),
    "aa_star": _power(2),
    "aaaa_star": _power(4),
    "abab_star": Language(
        "ab",
        ((1, 4), (4, 2), (3, 4), (4, 0), (4, 4)),
        (0,),
        _matches("(abab)*"),
        ("", "bab", "ab", "b"),
    ),
    "d_2": _nested(2),
    "d_3": _nested(3),
    "d_4": _nested(4),
    "d_12": _nested(12),
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
    "ab_d_bc": Language(
        "abcd", ((0, 0, 2, 1), (2, 1, 1, 2), (2,) * 4), (1,), _matches("[ab]*d[bc]*"), ("", "d")
    ),
    "012_02": Language("012", ((1, 0, 0), (1, 0, 1)), (1,), _matches("[012]*02*"), ("", "0")),
}
