"""Shared parts of the tasks on strings and lists: drawing, copying and rearranging them.

Shape letters: N items, W tokens of an item.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import (
    Example,
    Ints,
    RandomKey,
    Structure,
    Task,
    Vocabulary,
    make_example,
)


@dataclass(frozen=True)
class StringTask(Task):
    """A task whose prompt is a random string.

    Args:
      num_symbols: the size of the alphabet.
      distinct: all symbols of a prompt differ, which limits its length to the alphabet's size.
    """

    num_symbols: int
    distinct: bool

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def max_length(self) -> int | None:
        return self.num_symbols if self.distinct else None

    def draw_string(self, key: RandomKey, bound: int) -> Ints:
        """Draw `bound` uniform symbols; the first ones do not depend on the bound."""
        if self.distinct:
            return random_order(key, self.num_symbols)[:bound]
        return jax.random.randint(key, (bound,), 0, self.num_symbols)


def check_num_symbols(task: Task, num_symbols: int) -> None:
    """Reject an alphabet of fewer than two symbols."""
    if num_symbols < 2:
        raise ValueError(
            f"{type(task).__name__} needs two symbols or more, got num_symbols={num_symbols}."
        )


def random_order(key: RandomKey, num_symbols: int) -> Ints:
    """Draw an order of all symbols."""
    uniform = jax.random.uniform(key, (num_symbols,))
    return jnp.argsort(uniform)


def rearranged(
    prompt: Int[Array, "p"],
    prompt_mask: Bool[Array, "p"],
    source: Int[Array, "t"],
    target_mask: Bool[Array, "t"],
    *,
    separator: int = 0,
    structure: Structure | None = None,
) -> Example:
    """Return the example whose target token t is prompt[source[t]], or the separator for -1."""
    source = jnp.where(target_mask, source, -1)
    symbols = jnp.take(prompt, jnp.maximum(source, 0))
    target = jnp.where(source >= 0, symbols, separator)
    return make_example(
        prompt,
        prompt_mask,
        target,
        target_mask,
        alignment=source,
        structure=structure,
    )


def uncoupled(prompt_mask: Bool[Array, "p"], target_mask: Bool[Array, "t"]) -> Structure:
    """Return a structure that hides the alignment from schemes that couple positions.

    It is for tasks in which the prompt's content decides where the answer is: if a target token
    shared a position with its prompt token, the position would reveal the answer. The tokens have
    the numbers of an example without alignment.
    """
    numbers = jnp.arange(1, len(prompt_mask) + 1)
    prompt_numbers = jnp.where(prompt_mask, numbers, 0)
    target_numbers = jnp.zeros(len(target_mask), numbers.dtype)
    return {"coupled": (prompt_numbers, target_numbers)}


def joined(
    items: Int[Array, "n w"], widths: Int[Array, "n"], size: int
) -> tuple[Int[Array, "s"], Bool[Array, "s"]]:
    """Concatenate items into `size` tokens and a mask, without the last token, a separator.

    Args:
      widths: the number of tokens of each item; items without tokens come last.
    """
    column = jnp.arange(items.shape[1])[None]
    ends = jnp.cumsum(widths)
    starts = ends - widths
    is_used = column < widths[:, None]
    # Unused columns go out of bounds, where mode="drop" ignores them.
    destination = jnp.where(is_used, starts[:, None] + column, size)
    tokens = jnp.zeros(size, items.dtype)
    tokens = tokens.at[destination].set(items, mode="drop")
    mask = jnp.arange(size) < ends[-1] - 1
    tokens = jnp.where(mask, tokens, 0)
    return tokens, mask
