"""Shared parts of the copy and permutation tasks, whose target symbols are prompt symbols."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import Example, Structure, make_example


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
        prompt, prompt_mask, target, target_mask, alignment=source, structure=structure
    )


def uncoupled(prompt_mask: Bool[Array, "p"], target_mask: Bool[Array, "t"]) -> Structure:
    """Return a structure that hides the alignment from schemes that couple positions.

    It is for tasks in which the prompt's content decides where the answer is: if a target token
    shared a position with its prompt token, the position would reveal the answer. The tokens have
    the numbers of an example without alignment.
    """
    number = jnp.where(prompt_mask, jnp.arange(1, len(prompt_mask) + 1), 0)
    return {"coupled": (number, jnp.zeros(len(target_mask), number.dtype))}
