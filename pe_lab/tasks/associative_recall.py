"""Say for each key that comes again the value that stood behind it.

    k2 v3 k4 v1 -> [k4] v1 [_ _] [k2] v3  # num_symbols=12
    k2 v3 k4 v1 k2 v5 -> [k4] v1 [k2] v5  # num_symbols=12, variant="forgetting"
    a1 b2 v3 a1 b0 v0 -> [a1 b0] v0 [a1 b2] v3  # num_symbols=12, variant="compositional"

The prompt is the pairs, no key and no value twice. The target is the rest of the sequence, in slots
as wide as a pair: every key comes once more in a slot of its own and its value is asked there; all
else is given. variant="forgetting" writes half of the keys (rounded down) again, with other values,
and the last one counts. variant="compositional" has keys of two tokens from a grid of as many first
as second tokens, so that neither alone tells the value.

The length is the number of pairs, for that is what must be remembered; slots_per_pair decides how
many tokens that makes, 2 * (1 + slots_per_pair) a pair. A chance of 1 / pairs is left to who says
any of the values.

Papers: Arora et al. 2023 (Zoology, https://arxiv.org/abs/2312.04927): "multi-query associative
recall" (MQAR), 8192 symbols, the keys' slots from a power law over the slots. Its Figure 2 has 4 to
16 pairs in 64 to 256 tokens, 16 a pair (slots_per_pair=7), other slots filled with symbol 0
(random_filler=False); the authors' later configurations fill them at random, train on 4..64 pairs
and test on up to 256 pairs, 4 tokens a pair (slots_per_pair=1). "forgetting" and "compositional"
are in the authors' code (HazyResearch/zoology), not in the paper.

Differs: there a query is followed by a filler where here the value stands, after it has been asked.
Forgetting writes a fixed number of keys again there, 4 by default; here the share is fixed, at the
4 of 8 of that default. There compositional needs a square number of pairs; here others take so many
cells of the next larger grid.
"""

import functools
import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from pe_lab.tasks._permute import uncoupled
from pe_lab.tasks._recall import distinct
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class AssociativeRecall(Task):
    """The target is a sequence of slots; behind the keys that stand there the values of the prompt
    must be said.

    Args:
      num_symbols: the filler 0, keys, and values: half of the symbols. With keys of two tokens a
        third each.
      variant: plain, forgetting (keys are written again) or compositional (keys of two tokens).
      gaps: where the keys come again: slots drawn from a power law, uniformly, or "fixed", the
        order of the pairs at even distances, where counting finds the answers too.
      power: the a of the power law; slot i, from 1, is drawn in proportion to i ** (a - 1), none
        twice.
      slots_per_pair: slots of the target for each pair; every one of them has a key if it is 1.
      random_filler: what is no query is uniform on all symbols, keys and values included; otherwise
        symbol 0.
    """

    num_symbols: int = 8192
    variant: Literal["plain", "forgetting", "compositional"] = "plain"
    gaps: Literal["power_law", "uniform", "fixed"] = "power_law"
    power: float = 0.01
    slots_per_pair: int = 7
    random_filler: bool = True

    length_name = "pairs"

    def __post_init__(self):
        if self.num_symbols < 6:
            raise ValueError(
                f"AssociativeRecall needs six symbols or more, got num_symbols={self.num_symbols}."
            )
        if self.slots_per_pair < 1:
            raise ValueError(
                f"AssociativeRecall needs a slot or more for each pair, got "
                f"slots_per_pair={self.slots_per_pair}."
            )
        if self.power <= 0:
            raise ValueError(f"AssociativeRecall's power is above 0, got {self.power}.")

    @property
    def _width(self) -> int:
        """Tokens of a pair."""
        return 3 if self.variant == "compositional" else 2

    @property
    def _part(self) -> int:
        """Where the second kind of symbol begins; the first begins at 1, a third one at twice
        this.
        """
        return self.num_symbols // self._width

    @property
    def _values(self) -> int:
        """Where the values begin."""
        return (self._width - 1) * self._part

    @property
    def vocabulary(self) -> Vocabulary:
        return _named(self.num_symbols, self._part, self._width)

    @property
    def max_length(self) -> int | None:
        return min((self._part - 1) ** (self._width - 1), self.num_symbols - self._values)

    @property
    def gives_tokens(self) -> bool:
        return True

    def _entries(self, length):
        """What is written: the pairs, and half of them again."""
        return length + length // 2 if self.variant == "forgetting" else length

    def prompt_bound(self, length: int) -> int:
        return self._width * self._entries(length)

    def target_bound(self, length: int) -> int:
        return self._width * self.slots_per_pair * length

    def sample(self, key, length, bound, data=None) -> Example:
        key_key, value_key, again_key, slot_key, filler_key = jax.random.split(key, 5)
        keys = self._keys(key_key, length, bound)
        values = self._values + distinct(value_key, bound, self.num_symbols - self._values)
        source, entry_values, last = self._written(again_key, values, length, bound)
        width, pair = self._width, self._pair_of_slot(slot_key, length, bound)

        prompt = jnp.concatenate([keys[source], entry_values[:, None]], axis=1).reshape(-1)
        mask = jnp.arange(len(prompt)) < width * self._entries(length)

        query = jnp.concatenate([keys[pair], entry_values[last[pair]][:, None]], axis=1)
        filler = (
            jax.random.randint(filler_key, (query.size,), 0, self.num_symbols).reshape(query.shape)
            * self.random_filler
        )
        rest = jnp.where((pair >= 0)[:, None], query, filler).reshape(-1)
        said = jnp.arange(rest.size) < width * self.slots_per_pair * length
        asked = ((pair >= 0)[:, None] & (jnp.arange(width) == width - 1)[None]).reshape(-1)
        where = jnp.where(asked, jnp.repeat(width * last[pair] + width - 1, width), -1)
        return Example(
            jnp.where(mask, prompt, 0),
            mask,
            jnp.where(said, rest, 0),
            said,
            asked,
            where,
            asked,
            uncoupled(mask, said),
        )

    def _keys(self, key: Key[Array, ""], length: Int[Array, ""], bound: int) -> Int[Array, "n k"]:
        if self.variant != "compositional":
            return 1 + distinct(key, bound, self._part - 1)[:, None]
        cell_key, first_key, second_key = jax.random.split(key, 3)
        side = (jnp.arange(bound) ** 2 < length).sum()  # the least whose square is enough
        cells = distinct(cell_key, bound, side**2)
        largest = math.isqrt(bound - 1) + 1
        first = 1 + distinct(first_key, largest, self._part - 1)
        second = self._part + distinct(second_key, largest, self._part)
        return jnp.stack([first[cells // side], second[cells % side]], axis=1)

    def _written(
        self, key: Key[Array, ""], values: Int[Array, "n"], length: Int[Array, ""], bound: int
    ) -> tuple[Int[Array, "e"], Int[Array, "e"], Int[Array, "n"]]:
        """Of what is written, in order: the pair and the value; of each pair: where it was written
        last.
        """
        pairs = jnp.arange(bound)
        if self.variant != "forgetting":
            return pairs, values, pairs
        which_key, other_key = jax.random.split(key)
        order, choices = jnp.arange(max(bound // 2, 1)), self.num_symbols - self._values
        again = distinct(which_key, len(order), length)
        shift = jax.random.randint(
            other_key, again.shape, 1, choices
        )  # never back to its own value
        others = self._values + (values[again] - self._values + shift) % choices
        entry = jnp.arange(self._entries(bound))
        first, rewritten = entry < length, jnp.clip(entry - length, 0, len(order) - 1)
        source = jnp.where(first, entry, again[rewritten])
        entry_values = jnp.where(first, values[source], others[rewritten])
        last = pairs.at[jnp.where(order < length // 2, again, bound)].set(
            length + order, mode="drop"
        )
        return source, entry_values, last

    def _pair_of_slot(
        self, key: Key[Array, ""], length: Int[Array, ""], bound: int
    ) -> Int[Array, "s"]:
        """Of each slot the pair whose key stands there, or -1."""
        pairs, slots = jnp.arange(bound), jnp.arange(self.slots_per_pair * bound)
        if self.gaps == "fixed":
            return jnp.where(
                (slots % self.slots_per_pair == 0) & (slots < self.slots_per_pair * length),
                slots // self.slots_per_pair,
                -1,
            )
        # The largest of log p + Gumbel noise, in order, are draws from p without replacement.
        score = jax.random.gumbel(key, slots.shape)
        if self.gaps == "power_law":
            score += (self.power - 1) * jnp.log1p(slots.astype(score.dtype))
        slot = jax.lax.top_k(
            jnp.where(slots < self.slots_per_pair * length, score, -jnp.inf), bound
        )[1]
        return (
            jnp.full(slots.shape, -1)
            .at[jnp.where(pairs < length, slot, slots.size)]
            .set(pairs, mode="drop")
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        keys = prompt.reshape(-1, self._width)[:, :-1]
        return len(np.unique(keys, axis=0))

    def oracle(self, prompt: np.ndarray, given: np.ndarray) -> np.ndarray:  # type: ignore[override]
        width, entries, target = self._width, prompt.tolist(), given.tolist()
        book = {}
        for i in range(0, len(entries), width):
            *key, value = entries[i : i + width]
            book[tuple(key)] = value
        for i in range(0, len(target), width):
            *key, value = target[i : i + width]
            if value == -1:
                target[i + width - 1] = book[tuple(key)]
        return np.array(target)


@functools.lru_cache
def _named(num_symbols: int, part: int, width: int) -> Vocabulary:
    kinds = "kv" if width == 2 else "abv"
    return Vocabulary(
        num_symbols,
        (
            "_",
            *(
                f"{kinds[min(i // part, width - 1)]}{i - min(i // part, width - 1) * part}"
                for i in range(1, num_symbols)
            ),
        ),
    )
