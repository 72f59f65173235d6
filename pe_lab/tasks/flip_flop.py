"""Remember the last bit that was written.

    w 1 -> [i 0 r] 1 [w 0 i 1 r] 0

Each instruction is followed by a bit: "w" writes it, "i" is to be ignored, and after "r" stands the
bit written last. The first instruction writes and the last one reads; the others are drawn
independently, "i" with probability p_ignore, "w" and "r" equally often; bits behind "w" and "i" are
uniform. The prompt is the first instruction, the target all others. Only the bits behind "r" are
asked, all else of the target is given. Chance is a half for each.

Papers: Liu et al. 2023 (https://arxiv.org/abs/2306.00946): "flip-flop language modeling", FFL(0.8),
256 instructions; tested on FFL(0.98), sparse, and FFL(0.1), dense.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary

_WRITE, _READ, _IGNORE = 2, 3, 4  # 0 and 1 are the bits


@dataclass(frozen=True)
class FlipFlop(Task):
    """The target is a sequence of instructions and bits, of which the bits that are read must be
    said.

    Args:
      p_ignore: the share of instructions to ignore, but for the first and the last.
    """

    p_ignore: float = 0.8

    length_name = "instructions"

    def __post_init__(self):
        if not 0 <= self.p_ignore <= 1:
            raise ValueError(f"FlipFlop's p_ignore is a probability, got {self.p_ignore}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(5, ("0", "1", "w", "r", "i"))

    @property
    def min_length(self) -> int:
        return 2

    @property
    def gives_tokens(self) -> bool:
        return True

    def prompt_bound(self, length: int) -> int:
        return 2

    def target_bound(self, length: int) -> int:
        return 2 * length - 2

    def sample(self, key, length, bound, data=None) -> Example:
        kind_key, bit_key = jax.random.split(key)
        place = jnp.arange(bound)
        draw = jax.random.uniform(kind_key, (bound,))
        kind = jnp.where(
            draw < self.p_ignore, _IGNORE, jnp.where(draw < (1 + self.p_ignore) / 2, _WRITE, _READ)
        )
        kind = jnp.select([place == 0, place == length - 1], [_WRITE, _READ], kind)
        bits = jax.random.randint(bit_key, (bound,), 0, 2)
        written = jax.lax.cummax(jnp.where(kind == _WRITE, place, 0))  # the last write up to here
        bits = jnp.where(kind == _READ, bits[written], bits)
        both = jnp.where(place[:, None] < length, jnp.stack([kind, bits], axis=1), 0)
        mask = jnp.arange(2 * bound - 2) < 2 * length - 2
        asked = jnp.stack([jnp.zeros(bound, bool), (kind == _READ) & (place < length)], axis=1)[
            1:
        ].reshape(-1)
        return Example(
            both[0],
            jnp.ones(2, bool),
            both[1:].reshape(-1),
            mask,
            asked,
            jnp.full(2 * bound - 2, -1),
            asked,
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return (len(prompt) + len(target)) // 2

    def oracle(self, prompt: np.ndarray, given: np.ndarray) -> np.ndarray:  # type: ignore[override]
        memory, sequence = -1, [*prompt.tolist(), *given.tolist()]
        for i in range(0, len(sequence), 2):
            if sequence[i] == _WRITE:
                memory = sequence[i + 1]
            elif sequence[i] == _READ:
                sequence[i + 1] = memory
        return np.array(sequence[2:])
