"""Regular languages as automata.

The start state is 0. A dead state is one from which no accepting state can be reached.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Language:
    """A regular language.

    Attributes:
      letters: the alphabet.
      moves: for each state, the next state after each letter.
      accepting: the states after members.
    """

    letters: str
    moves: tuple[tuple[int, ...], ...]
    accepting: tuple[int, ...]

    def alive(self) -> tuple[bool, ...]:
        """Return whether an accepting state can be reached from each state."""
        reaching = set(self.accepting)
        # A path to an accepting state has fewer moves than there are states.
        for _ in self.moves:
            for state, next_states in enumerate(self.moves):
                if reaching & set(next_states):
                    reaching.add(state)
        states = range(len(self.moves))
        return tuple(state in reaching for state in states)

    def legal_letters(self) -> tuple[str, ...]:
        """Return the letters that can follow each state ($ if a member can end, - for none)."""
        alive = self.alive()
        labels = []
        for state, next_states in enumerate(self.moves):
            label = ""
            for letter, next_state in zip(self.letters, next_states, strict=True):
                if alive[next_state]:
                    label += letter
            if state in self.accepting:
                label += "$"
            labels.append(label or "-")
        return tuple(labels)


def _automaton(letters: str, moves: str, accepting: tuple[int, ...]) -> Language:
    """The language of an automaton; each word of `moves` has the next states after a state."""
    rows = []
    for word in moves.split():
        next_states = map(int, word)
        rows.append(tuple(next_states))
    return Language(letters, tuple(rows), accepting)


def _power(k: int) -> Language:
    """The language of a repeated n times, for all multiples n of k."""
    dead = k
    moves = []
    for state in range(k):
        next_state = (state + 1) % k
        moves.append((next_state, dead))
    moves.append((dead, dead))
    return Language("ab", tuple(moves), accepting=(0,))


def _nested(depth: int) -> Language:
    """The language of balanced brackets a and b up to a depth; the state is the depth."""
    dead = depth + 1
    moves = [(state + 1, state - 1) for state in range(depth + 1)]
    moves[0] = (1, dead)  # nothing to close
    moves.append((dead, dead))
    return Language("ab", tuple(moves), accepting=(0,))


LANGUAGES = {
    # Only ones.
    "tomita_1": _automaton("01", "10 11", accepting=(0,)),
    # Pairs of a one and a zero.
    "tomita_2": _automaton("01", "21 02 22", accepting=(0,)),
    # No member has an odd run of ones before an odd run of zeros. The state is 1 after an odd run
    # of ones, and 2 or 3 after an odd or even number of zeros that follow it.
    "tomita_3": _automaton("01", "01 20 34 21 44", accepting=(0, 1, 3)),
    # No three zeros in a row.
    "tomita_4": _automaton("01", "10 20 30 33", accepting=(0, 1, 2)),
    # An even number of zeros and of ones.
    "tomita_5": _automaton("01", "12 03 30 21", accepting=(0,)),
    # As many zeros as ones, modulo 3.
    "tomita_6": _automaton("01", "12 20 01", accepting=(0,)),
    # Zeros, ones, zeros, ones.
    "tomita_7": _automaton("01", "01 21 23 43 44", accepting=(0, 1, 2, 3)),
    # Even numbers, and multiples of four, of a; b is in no member.
    "aa_star": _power(2),
    "aaaa_star": _power(4),
    # Repetitions of abab.
    "abab_star": _automaton("ab", "14 42 34 40 44", accepting=(0,)),
    # Balanced brackets up to a depth.
    "d_2": _nested(2),
    "d_3": _nested(3),
    "d_4": _nested(4),
    "d_12": _nested(12),
    # Runs of a, b, c, d and e. State 6 is dead.
    "aa_bb_cc_dd_ee": _automaton(
        "abcde", "16666 12666 62366 66346 66645 66665 66666", accepting=(5,)
    ),
    # One d between a or b and b or c.
    "ab_d_bc": _automaton("abcd", "0021 2112 2222", accepting=(1,)),
    # A 0, then only twos, at the end.
    "012_02": _automaton("012", "100 101", accepting=(1,)),
}
