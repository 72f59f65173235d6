"""Find the content of a stack after pushes and pops.

    0 1 1 0 push1 pop pop -> 1 1 0 end 0 0 0 0
    1 1 0 pop pop pop pop -> end 0 0 0 0 0 0 0
    0 1 1 0 push1 pop pop -> 1 1 0 end  # padded=False

The prompt is a stack of bits from its bottom, then actions. The target is the resulting stack from
its top, then an end symbol. Popping an empty stack has no effect.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "stack_manipulation", lengths 1..40 in training. There the
target is padded with zeros to length + 1. Their loss counts all of it; their score ends with the
end symbol. A target without the zeros (padded=False) reveals the height of the stack to a model
that knows the target length.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from pe_lab.tasks.base import Bools, Example, Ints, Scalar, Task, Vocabulary, make_example

_END, _POP, _PUSH = 2, 3, 4  # _PUSH + bit pushes a bit


@dataclass(frozen=True)
class StackManipulation(Task):
    """The target is the final stack from its top, the end symbol, then zeros that are not scored.

    The height of the first stack is uniform on 1..length-1, bits and actions are uniform; length 1
    has one bit and no action. Bits of the first stack are aligned. Pushed bits are not: their
    actions are other symbols.

    Args:
      padded: the target has zeros up to length + 1.
    """

    padded: bool = True

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of("0", "1", "end", "pop", "push0", "push1")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of("0", "1", "end")

    @property
    def has_scratchpad(self) -> bool:
        """Whether the target has zeros, which are not part of the answer."""
        return self.padded

    def target_bound(self, length: int) -> int:
        return length + 1

    def sample(self, key, length, bound, data=None) -> Example:
        height_key, bits_key, actions_key = jax.random.split(key, 3)
        height_bound = jnp.maximum(length, 2)
        first_height = jax.random.randint(height_key, (), 1, height_bound)
        index = jnp.arange(bound)
        mask = index < length
        is_bit = index < first_height
        action = jax.random.randint(actions_key, (bound,), _POP, _PUSH + 2)
        bit = jax.random.randint(bits_key, (bound,), 0, 2)
        symbols = jnp.where(is_bit, bit, action)
        prompt = jnp.where(mask, symbols, 0)

        target, source, height = _final_stack(prompt, mask, is_bit)
        target_index = jnp.arange(bound + 1)
        target_length = length + 1 if self.padded else height + 1
        return make_example(
            prompt,
            mask,
            target,
            target_index < target_length,
            answer_mask=target_index <= height,
            alignment=jnp.where(source < first_height, source, -1),
        )

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """Return what the structure reveals: an aligned bit shows its height and later bits."""
        return "answer" if structure == "coupled" else None


def _final_stack(
    prompt: Ints, mask: Bools, is_bit: Bools
) -> tuple[Int[Array, "t"], Int[Array, "t"], Scalar]:
    """Return the final stack.

    Returns:
      The bits from the top and the end symbol; the prompt index of each bit, and the bound after
      them; the height.
    """
    bound = len(prompt)
    is_push = mask & (prompt != _POP)  # bits of the first stack are pushed, too
    is_pop = mask & (prompt == _POP)
    change = is_push.astype(int) - is_pop.astype(int)
    unclipped_height = jnp.cumsum(change)
    # Each pop of an empty stack raises the bottom by one.
    lowest = jax.lax.cummin(unclipped_height)
    height_after = unclipped_height - jnp.minimum(lowest, 0)
    # A bit stays if the height never falls below its own height.
    lowest_later = jax.lax.cummin(height_after, reverse=True)
    stays = is_push & (lowest_later >= height_after)
    height = stays.sum()

    # Bits that do not stay go out of bounds, where mode="drop" ignores them.
    from_top = jnp.where(stays, height - height_after, bound + 1)
    index = jnp.arange(bound)
    source = jnp.full(bound + 1, bound)
    source = source.at[from_top].set(index, mode="drop")
    in_stack = jnp.arange(bound + 1) < height
    source = jnp.where(in_stack, source, bound)
    bits = jnp.where(is_bit, prompt, prompt - _PUSH)
    bits_and_none = jnp.append(bits, 0)  # at the bound, the source of no bit
    target = jnp.where(in_stack, bits_and_none[source], 0)
    target = target.at[height].set(_END)
    return target, source, height
