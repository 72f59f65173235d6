"""Recall the value of each key that occurs again.

    k2 v3 k4 v1 -> [k4] v1 [_ _] [k2] v3  # num_symbols=12, num_slots=3
    k2 v3 k4 v1 k2 v5 -> [k4] v1 [k2] v5  # num_symbols=12, variant="forgetting", slots_per_pair=1
    a1 b2 v3 a1 b0 v0 -> [a1 b0] v0 [a1 b2] v3  # variant="compositional", slots_per_pair=1

The prompt is the pairs; all keys differ, and so do all values. The target is the rest of the
sequence, in slots as wide as a pair: every key occurs once more in a slot of its own, and the model
predicts its value; the other target tokens are inputs. variant="forgetting" writes half of the keys
(rounded down) again with other values, and the last value counts. variant="compositional" has keys
of two tokens from a grid of as many first as second tokens, so that neither token alone determines
the value.

The length is the number of pairs, which the model must remember. With slots_per_pair it determines
the number of tokens, 2 * (1 + slots_per_pair) per pair in the plain variant; with num_slots, which
replaces it, the target has the same number of tokens for every number of pairs. A model that
predicts an arbitrary value of the prompt is right for 1 / pairs of the answers.

Papers: Arora et al. 2023 (Zoology, https://arxiv.org/abs/2312.04927): "multi-query associative
recall" (MQAR), 8192 symbols, the keys' slots from a power law over the slots. Its Figure 2 has 4 to
16 pairs in 64 to 256 tokens, 16 per pair (slots_per_pair=7), other slots filled with symbol 0
(random_filler=False); the authors' later configurations fill them at random, train on 4..64 pairs
and test on up to 256 pairs, 4 tokens per pair (slots_per_pair=1). "forgetting" and "compositional"
are in the authors' code (HazyResearch/zoology), not in the paper.

Differs: there a filler follows a query; here the value follows, after its prediction. Their
forgetting writes a fixed number of keys again, by default 4 of 8; here the share is fixed at one
half. Their compositional variant needs a square number of pairs; here other numbers use some cells
of the next larger grid.
"""

import functools
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks._draws import distinct
from pe_lab.tasks._strings import uncoupled
from pe_lab.tasks.attributes import LONGEST_DISTANCE
from pe_lab.tasks.base import Example, Ints, RandomKey, Scalar, Task, Vocabulary, make_example


@dataclass(frozen=True)
class AssociativeRecall(Task):
    """The target is a sequence of slots; the model predicts the value after each repeated key.

    Args:
      num_symbols: the filler 0, keys, and values, which are half of the symbols; a third with keys
        of two tokens.
      variant: "plain"; "forgetting" (some keys are written again); "compositional" (keys of two
        tokens).
      gaps: the slots of the keys: from a "power_law", "uniform", or "fixed" (the order of the pairs
        at equal distances, where counting also finds the answers).
      power: the exponent a of the power law: slot i, from 1, has weight i ** (a - 1), without
        replacement.
      slots_per_pair: the number of target slots for each pair; with 1, every slot has a key.
      num_slots: the number of target slots for every number of pairs; None for slots_per_pair.
      random_filler: the other slots are uniform on all symbols; else they are symbol 0.
    """

    num_symbols: int = 8192
    variant: Literal["plain", "forgetting", "compositional"] = "plain"
    gaps: Literal["power_law", "uniform", "fixed"] = "power_law"
    power: float = 0.01
    slots_per_pair: int = 7
    random_filler: bool = True
    num_slots: int | None = None

    later_arguments = ("num_slots",)
    length_name = "pairs"
    attributes: ClassVar = {"longest_distance": LONGEST_DISTANCE}

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
        if self.num_slots is not None and (self.num_slots < 1 or self.gaps == "fixed"):
            raise ValueError(
                f"AssociativeRecall's num_slots is 1 or more, without gaps='fixed', got "
                f"{self.num_slots}."
            )
        if self.power <= 0:
            raise ValueError(f"AssociativeRecall's power is above 0, got {self.power}.")
        if self.gaps != "power_law" and self.power != type(self).power:
            raise ValueError(f"AssociativeRecall with gaps={self.gaps!r} takes no power.")

    @property
    def _width(self) -> int:
        """Tokens of a pair."""
        return 3 if self.variant == "compositional" else 2

    @property
    def _part(self) -> int:
        """The first symbol of the second kind; a third kind starts at twice this symbol."""
        return self.num_symbols // self._width

    @property
    def _values(self) -> int:
        """The first symbol of the values."""
        return (self._width - 1) * self._part

    @property
    def vocabulary(self) -> Vocabulary:
        return _vocabulary(self.num_symbols, self._part, self._width)

    @property
    def max_length(self) -> int | None:
        num_keys = (self._part - 1) ** (self._width - 1)
        most = min(num_keys, self._num_values)
        return most if self.num_slots is None else min(most, self.num_slots)

    @property
    def _num_values(self) -> int:
        return self.num_symbols - self._values

    @property
    def gives_tokens(self) -> bool:
        return True

    def _num_entries(self, length):
        """Return the number of pairs in the prompt, the rewritten ones included."""
        return length + length // 2 if self.variant == "forgetting" else length

    def prompt_bound(self, length: int) -> int:
        return self._width * self._num_entries(length)

    def target_bound(self, length: int) -> int:
        return self._width * self._slots(length)

    def _slots(self, length):
        """Return the number of target slots."""
        return self.slots_per_pair * length if self.num_slots is None else self.num_slots

    def sample(self, key, length, bound, data=None) -> Example:
        key_key, value_key, rewritten_key, slot_key, filler_key = jax.random.split(key, 5)
        width = self._width
        keys = self._draw_keys(key_key, length, bound)
        values = self._values + distinct(value_key, bound, self._num_values)
        pair_of_entry, entry_values, last_entry = self._draw_entries(
            rewritten_key, values, length, bound
        )
        entry_keys = keys[pair_of_entry]
        entries = jnp.concatenate([entry_keys, entry_values[:, None]], axis=1)  # [entries, width]
        prompt = entries.reshape(-1)
        prompt_length = width * self._num_entries(length)
        mask = jnp.arange(len(prompt)) < prompt_length

        pair = self._draw_pair_of_slot(slot_key, length, bound)
        # A slot without a key has pair -1, which indexes arbitrary values that are not used.
        is_query = (pair >= 0)[:, None]
        last = last_entry[pair]
        value = entry_values[last]
        query = jnp.concatenate([keys[pair], value[:, None]], axis=1)  # [slots, width]
        filler = jnp.zeros_like(query)
        if self.random_filler:
            filler = jax.random.randint(filler_key, (query.size,), 0, self.num_symbols)
            filler = filler.reshape(query.shape)
        slots = jnp.where(is_query, query, filler)
        target = slots.reshape(-1)
        target_length = width * self._slots(length)
        target_mask = jnp.arange(target.size) < target_length
        is_value = jnp.arange(width) == width - 1
        is_predicted = (is_query & is_value[None]).reshape(-1)
        # A value is the last token of its entry.
        source_of_value = width * last + width - 1
        source = jnp.repeat(source_of_value, width)
        return make_example(
            prompt,
            mask,
            target,
            target_mask,
            answer_mask=is_predicted,
            alignment=jnp.where(is_predicted, source, -1),
            asked_mask=is_predicted,
            structure=uncoupled(mask, target_mask),
        )

    def _draw_keys(self, key: RandomKey, length: Scalar, bound: int) -> Int[Array, "n k"]:
        if self.variant != "compositional":
            keys = 1 + distinct(key, bound, self._part - 1)
            return keys[:, None]
        cell_key, first_key, second_key = jax.random.split(key, 3)
        # The side of the smallest square grid with `length` cells. Only integers: a square root in
        # float32 may round to the wrong side.
        is_smaller = jnp.arange(bound) ** 2 < length
        side = is_smaller.sum()
        cells = distinct(cell_key, bound, side**2)
        longest_side = math.isqrt(bound - 1) + 1
        first_of_row = 1 + distinct(first_key, longest_side, self._part - 1)
        second_of_column = self._part + distinct(second_key, longest_side, self._part)
        first = first_of_row[cells // side]
        second = second_of_column[cells % side]
        return jnp.stack([first, second], axis=1)

    def _draw_entries(
        self, key: RandomKey, values: Ints, length: Scalar, bound: int
    ) -> tuple[Int[Array, "e"], Int[Array, "e"], Ints]:
        """Draw the pair and the value of each entry of the prompt, and each pair's last entry."""
        pairs = jnp.arange(bound)
        if self.variant != "forgetting":
            return pairs, values, pairs
        pair_key, value_key = jax.random.split(key)
        most = max(bound // 2, 1)
        index = jnp.arange(most)
        rewritten_pair = distinct(pair_key, most, length)
        # A shift of at least 1 never gives the old value.
        shift = jax.random.randint(value_key, (most,), 1, self._num_values)
        old_offset = values[rewritten_pair] - self._values
        new_offset = (old_offset + shift) % self._num_values
        new_values = self._values + new_offset

        entry = jnp.arange(self._num_entries(bound))
        is_first = entry < length
        again = jnp.clip(entry - length, 0, most - 1)
        pair_of_entry = jnp.where(is_first, entry, rewritten_pair[again])
        entry_values = jnp.where(is_first, values[pair_of_entry], new_values[again])
        # Pairs that are not rewritten go out of bounds, where mode="drop" ignores them.
        rewritten_pair = jnp.where(index < length // 2, rewritten_pair, bound)
        last_entry = pairs.at[rewritten_pair].set(length + index, mode="drop")
        return pair_of_entry, entry_values, last_entry

    def _draw_pair_of_slot(self, key: RandomKey, length: Scalar, bound: int) -> Int[Array, "s"]:
        """Draw the pair whose key each slot has, or -1."""
        slots = jnp.arange(self._slots(bound))
        is_slot = slots < self._slots(length)
        if self.gaps == "fixed":
            is_first = slots % self.slots_per_pair == 0
            pair = slots // self.slots_per_pair
            return jnp.where(is_slot & is_first, pair, -1)
        # The largest values of log p + Gumbel noise are draws from p without replacement.
        score = jax.random.gumbel(key, slots.shape)
        if self.gaps == "power_law":
            log_slot = jnp.log1p(slots.astype(score.dtype))
            score += (self.power - 1) * log_slot
        score = jnp.where(is_slot, score, -jnp.inf)
        _, slot = jax.lax.top_k(score, bound)
        pairs = jnp.arange(bound)
        slot = jnp.where(pairs < length, slot, slots.size)
        no_pair = jnp.full(slots.shape, -1)
        return no_pair.at[slot].set(pairs, mode="drop")

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        entries = prompt.reshape(-1, self._width)
        keys = entries[:, :-1]
        distinct_keys = np.unique(keys, axis=0)
        return len(distinct_keys)


@functools.lru_cache
def _vocabulary(num_symbols: int, part: int, width: int) -> Vocabulary:
    kinds = "kv" if width == 2 else "abv"
    names = ["_"]
    for symbol in range(1, num_symbols):
        kind = min(symbol // part, width - 1)
        number = symbol - kind * part
        names.append(f"{kinds[kind]}{number}")
    return Vocabulary.of(*names)
