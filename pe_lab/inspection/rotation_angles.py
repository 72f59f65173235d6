"""The angles by which a rotary encoding turns pairs of channels from one position to the next."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.inspection.untrained import UntrainedEncoding


def frequencies(encoding: UntrainedEncoding) -> Float[np.ndarray, "h p"] | None:
    """Angle of each pair in radians per position, by head, fastest first; None without rotation.

    The angles come from the eigenvalues of the map that the encoding applies, so that they do not
    depend on its layout. An encoding that is not a linear map of queries, such as PoPE, states
    its angles in an attribute `frequencies`.
    """
    if encoding.kind != "rotation" or encoding.length < 2:
        return None
    channels = encoding.width // encoding.num_heads
    rotation = encoding.encoding
    assert isinstance(rotation, AttentionEncoding)
    identity = jnp.eye(channels)[:, None, None]
    basis = jnp.broadcast_to(identity, (channels, 2, encoding.num_heads, channels))
    slots, lengths = jnp.arange(2)[None], jnp.asarray([encoding.length])
    # The length may set the angles, so the two positions are of an example of the full length.
    tokens = Tokens(encoding.positions_of(encoding.length)[:, :2], slots, lengths)

    def turned(factor: int) -> Float[np.ndarray, "e 2 h f"]:
        x = factor * basis
        return np.asarray(rotation.transform_qk(x, x, tokens, tokens)[0], np.float64)

    once, twice = turned(1), turned(2)
    # A linear map doubles with its input.
    if once.shape != basis.shape or not np.allclose(twice, 2 * once, atol=1e-5):
        declared = getattr(rotation, "frequencies", None)
        if declared is None:
            return None
        return np.sort(np.atleast_2d(np.asarray(declared, np.float64)))[:, ::-1]
    first, second = np.moveaxis(once, 2, 0)[:, :, 0], np.moveaxis(once, 2, 0)[:, :, 1]
    # The map from the first position to the second, whose eigenvalues are exp(±i w).
    eigenvalues = np.linalg.eigvals(np.linalg.solve(first, second))
    fastest_first = np.sort(np.abs(np.angle(eigenvalues)), axis=-1)[:, ::-1]
    return fastest_first[:, ::2]  # the two eigenvalues of a pair have opposite angles


def completes_period(frequencies: Float[np.ndarray, "p"], length: int) -> Bool[np.ndarray, "p"]:
    """Whether the period 2 pi / |w| of each pair fits into the length.

    Longer examples turn the other pairs to angles that do not occur in training. A pair that does
    not turn has no new angles and counts as complete.
    """
    w = np.abs(np.asarray(frequencies, np.float64))
    return (w * length >= 2 * math.pi) | (w == 0)
