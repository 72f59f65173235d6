"""What copy and permute tasks share: a target of which each symbol stands somewhere in the
prompt.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import Example


def rearranged(
    prompt: Int[Array, "p"],
    prompt_mask: Bool[Array, "p"],
    source: Int[Array, "t"],
    target_mask: Bool[Array, "t"],
    *,
    separator: int = 0,
    structure: dict[str, Any] | None = None,
) -> Example:
    """Target place t says what stands at source[t] of the prompt; where that is -1, the
    separator.
    """
    prompt, source = jnp.where(prompt_mask, prompt, 0), jnp.where(target_mask, source, -1)
    said = jnp.where(source >= 0, jnp.take(prompt, jnp.maximum(source, 0)), separator)
    return Example(
        prompt,
        prompt_mask,
        jnp.where(target_mask, said, 0),
        target_mask,
        target_mask,
        source,
        structure=structure or {},
    )


def uncoupled(prompt_mask: Bool[Array, "p"], target_mask: Bool[Array, "t"]) -> dict[str, Any]:
    """Structure that keeps the alignment from schemes that couple positions.

    For tasks where the place of the answer depends on what the prompt says: a target token that
    shared a position with the token it comes from would be told where to look. Tokens are numbered
    as where there is no alignment.
    """
    number = jnp.where(prompt_mask, jnp.arange(1, len(prompt_mask) + 1), 0)
    return {"coupled": (number, jnp.zeros(len(target_mask), number.dtype))}
