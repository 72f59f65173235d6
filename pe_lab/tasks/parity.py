"""Compute the parity of a string of bits.

    1 0 1 0 1 -> 1
    1 0 1 0 1 -> 1 1 0 0 1  # answer="every"
    1 0 1 0 1 -> 1 1 0 0 1  # answer="scratchpad"

The answer is one token, 0 for an even number of ones, so a constant guess is right in half of the
examples at every length (with ones="uniform" in more of them at even lengths, 60 % at 4). With the
parities of all prefixes as the target, each one follows from the previous one and a bit.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098): "parity_check", lengths 1..40 in
training. Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "parity", tested up to 16.
Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "parity" with ones="uniform", up to 50 in
training and 150 in testing. Arora et al. 2023 (https://arxiv.org/abs/2312.04927):
"cumulative_parity" of their code, answer="every". Cho et al. 2024
(https://arxiv.org/abs/2405.20671): "parity" and parity with scratchpad of their code, where the
scratchpad is the parities of all prefixes and the last one is the answer; lengths 1..20 in
training, up to 50 in testing.

Differs: the answers of Kazemnejad et al. are Yes and No, and of Huang et al. e and o; here the
answer is a bit. Arora et al. predict each parity at its own bit; here the parities follow the whole
string, and a decoder sees the previous ones.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp

from pe_lab.tasks._draws import skewed
from pe_lab.tasks.attributes import NUM_ONES
from pe_lab.tasks.base import Example, Task, Vocabulary, make_example, one_symbol_example


@dataclass(frozen=True)
class Parity(Task):
    """The target is one symbol: the number of ones in the prompt, modulo 2.

    With the parities of all prefixes as the target, "coupled" follows Cho et al.: a bit has the
    number of the parity of all bits before it, and the first bit has the number of the separator.

    Args:
      answer: "last", that symbol alone; "every", the parities of all prefixes, all scored;
        "scratchpad", the same target, of which the last parity is scored.
      ones: "independent", uniform bits; "uniform", a uniform number of ones on 0..length.
    """

    answer: Literal["last", "every", "scratchpad"] = "last"
    ones: Literal["independent", "uniform"] = "independent"

    length_name = "bits"
    attributes: ClassVar = {"num_ones": NUM_ONES}

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    @property
    def has_scratchpad(self) -> bool:
        return self.answer == "scratchpad"

    def target_bound(self, length: int) -> int:
        return 1 if self.answer == "last" else length

    def sample(self, key, length, bound, data=None) -> Example:
        index = jnp.arange(bound)
        mask = index < length
        if self.ones == "independent":
            bits = jax.random.randint(key, (bound,), 0, 2)
        else:
            bits = skewed(key, bound).astype(jnp.int32)
        bits = jnp.where(mask, bits, 0)
        if self.answer == "last":
            return one_symbol_example(bits, mask, bits.sum() % 2)
        # Bit i and parity i - 1, which precedes it in the computation, share the number i.
        bit_numbers = jnp.where(mask, index, 0)
        parity_numbers = jnp.where(mask, index + 1, 0)
        is_last = index == length - 1
        return make_example(
            bits,
            mask,
            jnp.cumsum(bits) % 2,
            mask,
            answer_mask=mask if self.answer == "every" else is_last,
            structure={"coupled": (bit_numbers, parity_numbers)},
        )
