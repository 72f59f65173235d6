"""Follow a regular language: what may come next after every prefix of a string.

    1 0 0 1 0 0 0 1 -> 01$ 01$ 1$ 01$ 01$ 1$ - -
    a a b b -> ab ab ab a$  # language="d_4"
    1 0 0 0 -> yes yes yes no  # answer="every"
    1 0 0 0 -> no  # answer="last"

A symbol of the target names the letters that a member of the language can go on with and, by $,
that it can end; - says that no member begins like this. A length without members is an upper bound:
it draws strings of the longest shorter length that has some. A random string leaves a language of
few members after a few letters. The languages: tomita_1 to tomita_7, (aa)*, (aaaa)* and (abab)* as
aa_star, aaaa_star and abab_star, D_n as d_2, d_3, d_4 and d_12, aa*bb*cc*dd*ee* as aa_bb_cc_dd_ee,
{a,b}*d{b,c}* as ab_d_bc and {0,1,2}*02* as 012_02.

Papers: Bhattamishra et al. 2020 (https://arxiv.org/abs/2009.11264): "character prediction", a
vector with a bit for each letter. Huang et al. 2025 (https://arxiv.org/abs/2410.02140): the formal
languages, the set of letters as one symbol; its 17 languages are these.

Differs: both draw members alone (members=1.0). tomita_1, tomita_2 and the stars have one member a
length, so that length and place tell the whole answer; here half of the strings are none, and
aa_star and aaaa_star have a second letter, which no member has. Strings are uniform among those of
their length, where both papers' generators prefer some. The end is in every set; in their code some
languages have it instead of the letters, some not at all. In their code a 0 after an odd number of
ones in tomita_3 counts as impossible, which it is not, and a prefix of 012_02 that ends in 0 counts
as no member, which it is. Both read each answer off its own letter; here the answers follow the
whole string, and a decoder sees those before.
"""

import itertools
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._languages import LANGUAGES, Language
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Regular(Task):
    """The target has a symbol for each prefix, or one for the string.

    With probability `members` the string is a member of the language, else it is none; both uniform
    among the strings of its length.

    Args:
      language: one of those above.
      answer: "legal", what may come next after each prefix; "every", whether each prefix is a
        member; "last", whether the string is one.
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
    def _of(self) -> Language:
        return LANGUAGES[self.language]

    @property
    def _said(self) -> tuple[str, ...]:
        """What each state of the automaton has the target say."""
        if self.answer == "legal":
            return self._of.next()
        return tuple(
            "yes" if state in self._of.accepting else "no" for state in range(len(self._of.moves))
        )

    def _name(self, said: str) -> str:
        """The set of one letter alone is no letter."""
        return f"{{{said}}}" if said in tuple(self._of.letters) else said

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(len(self._of.letters), tuple(self._of.letters))

    @property
    def target_vocabulary(self) -> Vocabulary:
        """What is said stands behind the letters."""
        said = tuple(map(self._name, dict.fromkeys(self._said)))
        return Vocabulary(len(self._of.letters) + len(said), (*self._of.letters, *said))

    @property
    def min_length(self) -> int:
        return next(n for n in itertools.count(1) if _ways(self._of, True, n)[n, 0] > 0)

    def target_bound(self, length: int) -> int:
        return 1 if self.answer == "last" else length

    def sample(self, key, length, bound, data=None) -> Example:
        coin, letters = jax.random.split(key)
        ways = np.stack([_ways(self._of, member, bound) for member in (False, True)])
        exists = ways[:, :, 0] > 0  # strings of each length from the first state
        length = jnp.asarray(_member_lengths(self._of, bound))[length]
        member = (jax.random.uniform(coin) < self.members) | ~jnp.asarray(exists[0])[length]
        string, states = self._walk(
            letters, jnp.asarray(_choices(self._of, ways)), member.astype(int), length, bound
        )
        mask = jnp.arange(bound) < length
        names = tuple(dict.fromkeys(self._said))
        says = len(self._of.letters) + jnp.asarray([names.index(said) for said in self._said])
        target = jnp.where(mask, says[states], 0)
        target, said = (
            (target[length - 1][None], jnp.ones(1, bool))
            if self.answer == "last"
            else (target, mask)
        )
        return Example(
            jnp.where(mask, string, 0), mask, target, said, said, jnp.full(len(target), -1)
        )

    def _walk(self, key, choices, member, length, bound):
        """Letters and the states after them; [bound] each."""
        moves = jnp.asarray(self._of.moves)

        def step(state, drawn):
            left, uniform = drawn
            letter = (uniform >= choices[member, left, state]).sum()
            state = moves[state, letter]
            return state, (letter, state)

        left = jnp.maximum(length - jnp.arange(bound), 0)
        return jax.lax.scan(step, jnp.asarray(0), (left, jax.random.uniform(key, (bound,))))[1]

    def evaluation_lengths(self, length: int) -> range:
        longest = int(_member_lengths(self._of, length)[length])
        return range(longest, longest + 1)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        string = "".join(self._of.letters[symbol] for symbol in prompt)
        prefixes = [string[: i + 1] for i in range(len(string))]
        if self.answer == "legal":
            said = [self._of.next_after(prefix) for prefix in prefixes]
        else:
            said = ["yes" if self._of.member(prefix) else "no" for prefix in prefixes]
        said = said[-1:] if self.answer == "last" else said
        return np.array(self.target_vocabulary.symbols(" ".join(map(self._name, said))))


def _ways(language: Language, member: bool, bound: int) -> np.ndarray:
    """[length, state]: how many strings of a length lead to members (or not), up to a factor for
    each length.
    """
    moves = np.array(language.moves)
    ways = np.zeros((bound + 1, len(moves)))
    ways[0] = [(state in language.accepting) == member for state in range(len(moves))]
    for length in range(1, bound + 1):
        ways[length] = ways[length - 1][moves].sum(axis=1)
        ways[length] /= max(ways[length].max(), 1)  # they would outgrow a float
    return ways


def _member_lengths(language: Language, bound: int) -> np.ndarray:
    """[length]: the longest length up to it that has members."""
    exists = _ways(language, True, bound)[:, 0] > 0
    return np.maximum.accumulate(np.where(exists, np.arange(bound + 1), 0))


def _choices(language: Language, ways: np.ndarray) -> np.ndarray:
    """[.., letters left, state, letter - 1]: below which uniform number the letter or one before it
    is drawn.
    """
    towards = np.concatenate([ways[:, :1], ways[:, :-1]], axis=1)[:, :, np.array(language.moves)]
    total = towards.sum(axis=-1, keepdims=True)
    share = np.cumsum(towards, axis=-1) / np.where(total > 0, total, 1)
    return share[..., :-1].astype(np.float32)
