"""Exposure: the share of longer examples that training at one length cannot show.

The positions L..2L-1 of an example of twice the length are new. They count as unseen if a
coordinate leaves its range, or if they read a parameter that no shorter example reaches.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from pe_lab.contrib.inspection import receptive_field, rotation_angles, table_statistics
from pe_lab.contrib.inspection.untrained import UntrainedEncoding


def exposure(
    encoding: UntrainedEncoding, E: Float[np.ndarray, "l c"], longest: int
) -> dict[str, float | int | None]:
    """Unseen shares by name; None where the scheme has no positions for twice the length.

    Args:
      E: the table of the encoding's length.
      longest: the length of the receptive field's example.
    """
    n = encoding.length
    limit = encoding.max_length
    outside = None
    numbers: dict[str, float | int | None] = {"coordinates out of range": None}
    if limit is None or 2 * n <= limit:
        beyond = encoding.table(2 * n)[n:]
        outside = table_statistics.unseen_coordinates(E, beyond)
        numbers["coordinates out of range"] = float(outside.mean())
    # For rotations, coordinates of random logits would say little about new angles.
    angles = rotation_angles.frequencies(encoding)
    if angles is not None:
        is_complete = rotation_angles.completes_period(angles.ravel(), n)
        complete = float(is_complete.mean())
        numbers["pairs that complete a period"] = complete
        numbers["unseen"] = 1 - complete
        return numbers
    numbers["unseen"] = None if outside is None else _unseen(encoding, outside)
    # Other kinds depend on the draws, so that a receptive field is not defined.
    if encoding.kind == "bias":
        logits = encoding.logits(longest)
        biases = logits[np.isfinite(logits)]
        numbers["largest bias"] = float(np.abs(biases).max())
        numbers["tokens of the receptive field"] = longest
        fields = receptive_field.receptive_field(logits)
        for head, field in enumerate(fields, start=1):
            numbers[f"99% of head {head} within"] = field
    return numbers


def _unseen(encoding: UntrainedEncoding, outside: Bool[np.ndarray, "l c"]) -> float:
    """Share of the new rows that are unseen; inside attention, their share of attention."""
    n = encoding.length
    unseen = outside.any(axis=1) | untrained_rows(encoding)
    if encoding.kind == "embedding":
        return float(unseen.mean())
    # An unseen distance matters as much as it is attended to.
    weights = receptive_field.attention(encoding.logits(2 * n))
    of_new = weights[:, n:]
    by_head = of_new[:, unseen].sum(axis=1)
    return float(by_head.mean())


def untrained_rows(encoding: UntrainedEncoding) -> Bool[np.ndarray, "l"]:
    """Which rows L..2L-1 depend on parameters that no example of length L trains.

    Parameters without a gradient at length L are replaced by others, and the rows are compared.
    """
    n = encoding.length
    draws = encoding.draws()

    def objective(params: PyTree) -> Float[Array, ""]:
        rows, _ = encoding.read(params, 0, draws, length=n)
        # Random weights, so that no gradient cancels.
        weights = np.random.default_rng(1).standard_normal(rows.shape)
        return (rows * jnp.asarray(weights, rows.dtype)).sum()

    leaves, tree = jax.tree.flatten(encoding.params)
    if not leaves:  # jax.grad needs parameters
        return np.zeros(n, bool)
    gradients = jax.tree.leaves(jax.grad(objective)(encoding.params))
    normal = np.random.default_rng(2).standard_normal
    replaced = []
    for leaf, gradient in zip(leaves, gradients, strict=True):
        noise = normal(leaf.shape).astype(np.float32)
        replaced.append(leaf + jnp.where(gradient == 0, noise, 0.0))
    before = encoding.table(2 * n)
    params = jax.tree.unflatten(tree, replaced)
    after = encoding.table(2 * n, params=params)
    # Rows without a number are NaN, which differs from itself.
    has_numbers = np.isfinite(before).all(axis=1)
    differs = (before != after).any(axis=1) & has_numbers
    # If the first rows change too, the zero gradients are a coincidence of the initial values.
    if differs[:n].any():
        return np.zeros(n, bool)
    return differs[n:]
