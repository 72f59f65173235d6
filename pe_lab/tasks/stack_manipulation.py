"""What a stack holds after pushes and pops.

    0 1 1 0 push1 pop pop -> 1 1 0 end 0 0 0 0
    1 1 0 pop pop pop pop -> end 0 0 0 0 0 0 0
    0 1 1 0 push1 pop pop -> 1 1 0 end  # padded=False

The prompt is a stack of bits, its bottom first, then actions; the target is the stack after them,
its top first, then an end. Popping an empty stack does nothing.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "stack_manipulation", lengths 1..40 in training. There the
target is filled with zeros to length + 1; the loss counts all of it, the score what stands up to
the end. A target that ends there (padded=False) tells a model that is given the target's length how
high the stack is.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary

_END, _POP, _PUSH = 2, 3, 4  # _PUSH and the next push 0 and 1


@dataclass(frozen=True)
class StackManipulation(Task):
    """The target is the last stack from its top, then the end, then zeros to length + 1; the zeros
    are not scored.

    The height of the first stack is uniform on 1..length-1, bits and actions are uniform; at length
    1 there is one bit and no action. A bit of the first stack is aligned to itself, a pushed one to
    nothing: its action is another symbol.

    Args:
      padded: with the zeros.
    """

    padded: bool = True

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(6, ("0", "1", "end", "pop", "push0", "push1"))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(3, ("0", "1", "end"))

    @property
    def has_scratchpad(self) -> bool:
        """The zeros must be said and are not the answer."""
        return self.padded

    def target_bound(self, length: int) -> int:
        return length + 1

    def sample(self, key, length, bound, data=None) -> Example:
        heights, bits, actions = jax.random.split(key, 3)
        first = jax.random.randint(heights, (), 1, jnp.maximum(length, 2))
        place = jnp.arange(bound)
        mask = place < length
        action = jax.random.randint(actions, (bound,), _POP, _PUSH + 2)
        prompt = jnp.where(
            mask, jnp.where(place < first, jax.random.randint(bits, (bound,), 0, 2), action), 0
        )
        target, source, height = _last_stack(prompt, mask, place < first)
        said = jnp.arange(bound + 1)
        there = said < (length + 1 if self.padded else height + 1)
        return Example(
            prompt, mask, target, there, said <= height, jnp.where(source < first, source, -1)
        )

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """The number of a bit tells its height in the stack, and so the bits that follow it."""
        return "answer" if structure == "coupled" else None

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        stack: list[int] = []
        for word in self.vocabulary.text(prompt.tolist()).split():
            if word != "pop":
                stack.append(int(word[-1]))
            elif stack:
                stack.pop()
        zeros = [0] * (len(prompt) - len(stack)) if self.padded else []
        return np.array([*stack[::-1], _END, *zeros])


def _last_stack(prompt, mask, bits):
    """What stands on the stack from its top, then the end; the place of each in the prompt, behind
    it the bound; the height.
    """
    bound = len(prompt)
    pushed = mask & (prompt != _POP)
    step = jnp.where(pushed, 1, jnp.where(mask, -1, 0))
    free = jnp.cumsum(step)
    after = free - jnp.minimum(jax.lax.cummin(free), 0)  # a pop of nothing lifts the floor
    stays = pushed & (jax.lax.cummin(after, reverse=True) >= after)
    height = stays.sum()
    from_top = jnp.where(stays, height - after, bound)
    source = jnp.full(bound + 1, bound).at[from_top].set(jnp.arange(bound), mode="drop")
    source = jnp.where(jnp.arange(bound + 1) < height, source, bound)
    bit = jnp.where(bits, prompt, prompt - _PUSH)
    target = jnp.where(source < bound, jnp.append(bit, 0)[source], 0)
    return target.at[height].set(_END), source, height
