"""Track a regular language: the legal next symbols after every prefix of a string.

    1 0 0 1 0 0 0 1 -> 01$ 01$ 1$ 01$ 01$ 1$ - -
    a a b b -> ab ab ab a$  # language="d_4"
    a a a a -> {a} a$ {a} a$  # language="aa_star"
    1 0 0 0 -> yes yes yes no  # answer="every"
    1 0 0 0 -> no  # answer="last"

A symbol of the target names the letters that can follow the prefix in a member of the language, and
$ if the member can end; - says that no member has this prefix. A set of one letter is written in
braces, because the letter is a symbol of its own. A length without members is an upper bound: the
string then has the longest shorter length with members. A random string leaves a language with few
members after a few letters. The languages: tomita_1 to tomita_7, (aa)*, (aaaa)* and (abab)* as
aa_star, aaaa_star and abab_star, D_n as d_2, d_3, d_4 and d_12, aa*bb*cc*dd*ee* as aa_bb_cc_dd_ee,
{a,b}*d{b,c}* as ab_d_bc and {0,1,2}*02* as 012_02.

Papers: Bhattamishra et al. 2020 (https://arxiv.org/abs/2009.11264): "character prediction", a
vector with a bit for each letter. Huang et al. 2025 (https://arxiv.org/abs/2410.02140): the formal
languages, the set of letters as one symbol; its 17 languages are these.

Differs: the papers draw members only (members=1.0). tomita_1, tomita_2 and the stars have one
member per length, so that length and index determine the answer; here half of the strings are not
members, and aa_star and aaaa_star have a second letter, which no member has. Strings are uniform
among the strings of their length; both papers' generators prefer some. Every set includes the end;
in their code some languages have the end instead of the letters, and some never. In their code a 0
after an odd number of ones in tomita_3 counts as impossible, which it is not, and a prefix of
012_02 that ends in 0 does not count as a member, which it is. Both predict each answer at its own
letter; here the answers follow the whole string, and a decoder sees the previous ones.
"""

import itertools
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pe_lab.contrib.papers.tasks._languages import LANGUAGES, Language
from pe_lab.tasks.base import (
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    Vocabulary,
    make_example,
    one_symbol_example,
)


@dataclass(frozen=True)
class Regular(Task):
    """The target has a symbol for each prefix, or one for the string.

    With probability `members` the string is a member of the language, else it is not. Both kinds
    are uniform among the strings of their length.

    Args:
      language: one of the names above.
      answer: "legal", the legal next symbols after each prefix; "every", whether each prefix is a
        member; "last", whether the string is a member.
      members: the share of members.
    """

    language: str = "tomita_4"
    answer: Literal["legal", "every", "last"] = "legal"
    members: float = 0.5

    def __post_init__(self):
        if self.language not in LANGUAGES:
            raise ValueError(
                f"Regular's language is one of {', '.join(LANGUAGES)}, got {self.language!r}."
            )
        if not 0 <= self.members <= 1:
            raise ValueError(f"Regular's members are a share of 0 to 1, got {self.members}.")

    @property
    def _language(self) -> Language:
        return LANGUAGES[self.language]

    @property
    def _labels(self) -> tuple[str, ...]:
        """The label of each state of the automaton."""
        language = self._language
        if self.answer == "legal":
            return language.legal_letters()
        labels = ["no"] * len(language.moves)
        for state in language.accepting:
            labels[state] = "yes"
        return tuple(labels)

    def _name(self, label: str) -> str:
        """Return the name of a label; the set of one letter needs another name than the letter."""
        is_letter = label in tuple(self._language.letters)
        return f"{{{label}}}" if is_letter else label

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*self._language.letters)

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The letters, then the labels."""
        labels = dict.fromkeys(self._labels)  # each once
        names = [self._name(label) for label in labels]
        return Vocabulary.of(*self._language.letters, *names)

    @property
    def min_length(self) -> int:
        for length in itertools.count(1):
            num_members = _num_strings(self._language, True, length)[length, 0]
            if num_members > 0:
                return length
        raise AssertionError("A language has members.")

    def target_bound(self, length: int) -> int:
        return 1 if self.answer == "last" else length

    def sample(self, key, length, bound, data=None) -> Example:
        member_key, letters_key = jax.random.split(key)
        language = self._language
        member_lengths = jnp.asarray(_member_lengths(language, bound))
        length = member_lengths[length]
        num_others = _num_strings(language, False, bound)
        num_members = _num_strings(language, True, bound)
        # Some lengths have no non-members, for example if every string is a member.
        has_others = jnp.asarray(num_others[:, 0] > 0)[length]
        is_member = (jax.random.uniform(member_key) < self.members) | ~has_others
        both_thresholds = _thresholds(language, np.stack([num_others, num_members]))
        thresholds = jnp.asarray(both_thresholds)[is_member.astype(int)]
        string, states = self._draw_string(letters_key, thresholds, length, bound)

        # Several states may have the same label; ids follow the first occurrences.
        labels = list(dict.fromkeys(self._labels))
        first_label = len(language.letters)
        label_ids = [first_label + labels.index(label) for label in self._labels]
        target = jnp.asarray(label_ids)[states]
        mask = jnp.arange(bound) < length
        if self.answer == "last":
            return one_symbol_example(string, mask, target[length - 1])
        return make_example(string, mask, target, mask)

    def _draw_string(
        self,
        key: RandomKey,
        thresholds: Float[Array, "l s a"],
        length: Scalar,
        bound: int,
    ) -> tuple[Ints, Ints]:
        """Draw the letters of a string, and return the states after them."""
        moves = jnp.asarray(self._language.moves)

        def step(state, inputs):
            left, uniform = inputs
            is_above = uniform >= thresholds[left, state]
            letter = is_above.sum()
            state = moves[state, letter]
            return state, (letter, state)

        left = jnp.maximum(length - jnp.arange(bound), 0)
        uniform = jax.random.uniform(key, (bound,))
        start = jnp.asarray(0)
        _, letters_and_states = jax.lax.scan(step, start, (left, uniform))
        return letters_and_states

    def evaluation_lengths(self, length: int) -> range:
        longest = int(_member_lengths(self._language, length)[length])
        return range(longest, longest + 1)


def _num_strings(language: Language, member: bool, bound: int) -> np.ndarray:
    """[length, state]: how many strings lead from a state to members (or to non-members).

    The numbers of each length have a common factor, so that they do not overflow.
    """
    moves = np.array(language.moves)
    num_states = len(moves)
    counts = np.zeros((bound + 1, num_states))
    is_accepting = np.isin(np.arange(num_states), language.accepting)
    counts[0] = is_accepting == member
    for length in range(1, bound + 1):
        shorter = counts[length - 1]
        count = shorter[moves].sum(axis=1)
        counts[length] = count / max(count.max(), 1)
    return counts


def _member_lengths(language: Language, bound: int) -> np.ndarray:
    """[length]: the longest length up to it that has members."""
    has_members = _num_strings(language, True, bound)[:, 0] > 0
    lengths = np.where(has_members, np.arange(bound + 1), 0)
    return np.maximum.accumulate(lengths)


def _thresholds(language: Language, counts: np.ndarray) -> np.ndarray:
    """[.., letters left, state, letter - 1]: cumulative probabilities of the next letter."""
    # After a letter, one letter less is left. Padding reads row 0, whose values are arbitrary.
    padding = counts[:, :1]
    remaining = np.concatenate([padding, counts[:, :-1]], axis=1)
    moves = np.array(language.moves)
    ways = remaining[:, :, moves]
    total = ways.sum(axis=-1, keepdims=True)
    safe_total = np.where(total > 0, total, 1)
    cumulative = np.cumsum(ways, axis=-1) / safe_total
    thresholds = cumulative[..., :-1]  # the last one is 1
    return thresholds.astype(np.float32)
