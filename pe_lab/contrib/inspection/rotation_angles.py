"""The angles by which a rotary encoding turns pairs of channels from one position to the next."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.encodings.base import AttentionEncoding, Tokens

_ATOL = 1e-3  # radians; rounded angles at far positions differ by less


def frequencies(encoding: UntrainedEncoding) -> Float[np.ndarray, "h p"] | None:
    """Angle of each pair in radians per position, by head, fastest first.

    It is None without a rotation, if the positions of the scheme are not evenly spaced, or if steps
    between other positions have other angles, as sums of rotations have.

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
    basis = jnp.broadcast_to(identity, (channels, 4, encoding.num_heads, channels))
    # The length may set the angles, so the positions are of an example of the full length.
    all_positions = encoding.positions_of(encoding.length)
    steps = np.diff(np.asarray(all_positions, np.float64), axis=1)
    if not np.allclose(steps, steps[:, :1]):
        return None  # there is no angle from each position to the next
    slots = jnp.asarray([[0, 1, encoding.length - 2, encoding.length - 1]])
    positions = all_positions[:, slots[0]]
    lengths = jnp.asarray([encoding.length])
    tokens = Tokens(positions, slots, lengths)

    def turned(factor: int) -> Float[np.ndarray, "e 4 h f"]:
        x = factor * basis
        q, _ = rotation.transform_qk(x, x, tokens, tokens)
        return np.asarray(q, np.float64)

    once = turned(1)
    twice = turned(2)
    # A linear map doubles with its input.
    if once.shape != basis.shape or not np.allclose(twice, 2 * once, atol=1e-5):
        declared = getattr(rotation, "frequencies", None)
        if declared is None:
            return None
        angles = np.atleast_2d(np.asarray(declared, np.float64))
        return np.sort(angles)[:, ::-1]
    by_head = np.moveaxis(once, 2, 0)
    angles = _angles(by_head[:, :, 0], by_head[:, :, 1])
    last = _angles(by_head[:, :, 2], by_head[:, :, 3])
    return angles if np.allclose(angles, last, atol=_ATOL) else None


def _angles(
    first: Float[np.ndarray, "h e f"], second: Float[np.ndarray, "h e f"]
) -> Float[np.ndarray, "h p"]:
    """Return the angles between the maps of two positions, by head, fastest first."""
    # The map from the first position to the second, whose eigenvalues are exp(±i w).
    step = np.linalg.solve(first, second)
    eigenvalues = np.linalg.eigvals(step)
    angles = np.abs(np.angle(eigenvalues))
    fastest_first = np.sort(angles, axis=-1)[:, ::-1]
    return fastest_first[:, ::2]  # the two eigenvalues of a pair have opposite angles


def completes_period(frequencies: Float[np.ndarray, "p"], length: int) -> Bool[np.ndarray, "p"]:
    """Whether the period 2 pi / |w| of each pair fits into the length.

    Longer examples turn the other pairs to angles that do not occur in training. A pair that does
    not turn has no new angles and counts as complete.
    """
    w = np.abs(np.asarray(frequencies, np.float64))
    angle = w * length
    return (angle >= 2 * math.pi) | (w == 0)
