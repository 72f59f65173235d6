"""Parity of a string of bits.

    1 0 1 0 1 -> 1
    1 0 1 0 1 -> 1 1 0 0 1  # answer="every"
    1 0 1 0 1 -> 1 1 0 0 1  # answer="scratchpad"

One answer token, 0 for an even number of ones, so chance is a half at every length. The parities of
all prefixes make it a task of one step at a time: each is the one before it, plus a bit.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098): "parity_check", lengths 1..40 in
training. Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "parity", tested up to 16.
Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "parity" with ones="uniform", up to 50 in
training and 150 in testing. Arora et al. 2023 (https://arxiv.org/abs/2312.04927):
"cumulative_parity" of their code, answer="every". Cho et al. 2024
(https://arxiv.org/abs/2405.20671): "parity" and parity with scratchpad of their code, where the
scratchpad is the parities of all prefixes and the last of them the answer; lengths 1..20 in
training, up to 50 in testing.

Differs: Kazemnejad et al. ask for Yes or No, Huang et al. for e or o; here the answer is a bit.
Arora et al. read each parity off its own bit; here the parities follow the whole string, and a
decoder sees those before.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._counting import skewed
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Parity(Task):
    """The target is one symbol: the number of ones in the prompt, modulo 2.

    With the parities of all prefixes as the target, "coupled" is Cho et al.'s: a bit shares its
    number with the parity of what stands before it, the first bit with the separator.

    Args:
      answer: "last", that symbol alone; "every", the parities of all prefixes, each scored;
        "scratchpad", the same target, of which the last is the answer.
      ones: "independent", each bit uniform; "uniform", the number of ones uniform on 0..length.
    """

    answer: Literal["last", "every", "scratchpad"] = "last"
    ones: Literal["independent", "uniform"] = "independent"

    length_name = "bits"

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    @property
    def has_scratchpad(self) -> bool:
        return self.answer == "scratchpad"

    def target_bound(self, length: int) -> int:
        return 1 if self.answer == "last" else length

    def sample(self, key, length, bound, data=None) -> Example:
        place = jnp.arange(bound)
        mask = place < length
        drawn = (
            jax.random.randint(key, (bound,), 0, 2)
            if self.ones == "independent"
            else skewed(key, bound).astype(jnp.int32)
        )
        bits = jnp.where(mask, drawn, 0)
        if self.answer == "last":
            one = jnp.ones(1, bool)
            return Example(bits, mask, bits.sum(keepdims=True) % 2, one, one, jnp.full(1, -1))
        parities = jnp.where(mask, jnp.cumsum(bits) % 2, 0)
        scored = mask if self.answer == "every" else place == length - 1
        coupled = (jnp.where(mask, place, 0), jnp.where(mask, place + 1, 0))
        return Example(
            bits, mask, parities, mask, scored, jnp.full(bound, -1), structure={"coupled": coupled}
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        parities = [sum(prompt[: i + 1]) % 2 for i in range(len(prompt))]
        return np.array(parities[-1:] if self.answer == "last" else parities)
