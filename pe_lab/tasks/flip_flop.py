"""Recall the last bit that was written.

    w 1 -> [i 0 r] 1 [w 0 i 1 r] 0

A bit follows each instruction: "w" writes the bit, "i" ignores it, and "r" reads the bit that was
written last. The first instruction writes and the last one reads. The others are independent:
"i" with probability p_ignore, "w" and "r" equally often. Bits after "w" and "i" are uniform. The
prompt is the first instruction, the target all others. The model predicts the bits after "r" only;
the other target tokens are inputs. A constant guess is right for half of the bits.

Papers: Liu et al. 2023 (https://arxiv.org/abs/2306.00946): "flip-flop language modeling", FFL(0.8),
256 instructions; tested on FFL(0.98), sparse, and FFL(0.1), dense.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Attribute, Example, Ints, Scalar, Task, Vocabulary, make_example

_WRITE, _READ, _IGNORE = 2, 3, 4  # 0 and 1 are the bits


def _longest_distance(task: Task, example: Example) -> Scalar:
    sequence = jnp.concatenate([example.prompt, example.target])
    kind = sequence[::2]  # without the bits
    distance = jnp.arange(len(kind)) - _last_write(kind)
    distance = jnp.where(kind == _READ, distance, 0)
    return distance.max()


def _last_write(kind: Ints) -> Ints:
    """Return the index of the last "w" up to each instruction."""
    index = jnp.arange(len(kind))
    write_index = jnp.where(kind == _WRITE, index, 0)
    return jax.lax.cummax(write_index)


@dataclass(frozen=True)
class FlipFlop(Task):
    """The target is a sequence of instructions and bits; the model predicts the bits after "r".

    Args:
      p_ignore: the share of instructions to ignore, except the first one and the last one.
    """

    p_ignore: float = 0.8

    length_name = "instructions"
    attributes: ClassVar = {
        "longest_distance": Attribute(
            label="largest distance from a read to its write, in instructions",
            value=_longest_distance,
            largest=lambda task, n: n - 1,
        )
    }

    def __post_init__(self):
        if not 0 <= self.p_ignore <= 1:
            raise ValueError(f"FlipFlop's p_ignore is a probability, got {self.p_ignore}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of("0", "1", "w", "r", "i")

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
        index = jnp.arange(bound)
        uniform = jax.random.uniform(kind_key, (bound,))
        kind = jnp.select(
            [
                index == 0,
                index == length - 1,
                uniform < self.p_ignore,
                uniform < (1 + self.p_ignore) / 2,  # half of the rest
            ],
            [_WRITE, _READ, _IGNORE, _WRITE],
            _READ,
        )
        bits = jax.random.randint(bit_key, (bound,), 0, 2)
        written_bits = bits[_last_write(kind)]
        bits = jnp.where(kind == _READ, written_bits, bits)

        sequence = jnp.stack([kind, bits], axis=1)  # [instructions, 2]
        is_read = (kind == _READ) & (index < length)
        never = jnp.zeros(bound, bool)
        is_predicted = jnp.stack([never, is_read], axis=1)
        # The prompt is the first instruction and its bit, so the target starts at row 1.
        target = sequence[1:].reshape(-1)
        is_predicted = is_predicted[1:].reshape(-1)
        return make_example(
            sequence[0],
            jnp.ones(2, bool),
            target,
            jnp.arange(2 * bound - 2) < 2 * length - 2,
            answer_mask=is_predicted,
            asked_mask=is_predicted,
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return (len(prompt) + len(target)) // 2
