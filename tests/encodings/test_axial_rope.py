import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.axial_rope import AxialRoPE
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (100.0, 10.0), "num_axes": (2, 4)}
REFUSALS = [
    *(
        (dict(head_dim=width), f"so 2 . 2 must divide the head width {width}")
        for width in (6, 10, 3)
    ),
    (dict(num_axes=1), "two axes or more, got num_axes=1; of one, take RoPE"),
]
GRID = [[x, y] for y in range(2) for x in range(3)]  # row by row, x first


def products(x, positions, **arguments):
    """[L, L] of the queries and keys of one head, [2, L, Dh]."""
    tokens = codes.tokens(positions)
    q, k = AxialRoPE(head_dim=np.shape(x)[-1], **arguments).transform_qk(
        *(jnp.asarray(a, jnp.float32)[None, :, None] for a in x), tokens, tokens
    )
    return np.asarray(q[0, :, 0] @ k[0, :, 0].T)


def random(length, width):
    return np.random.default_rng(1).normal(size=(2, length, width))


def test_agrees_with_reference():
    found = AxialRoPE(head_dim=8).angles(jnp.asarray(GRID)[None])[0]
    reference.assert_agrees(found, "rope_axial2d_d8_3x2_theta100")


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "width"), [(2, 8), (3, 12), (4, 8)])
def test_equation_in_float64(axes, width):
    positions = np.random.default_rng(2).integers(0, 64, (5, axes))
    q, k = random(5, width)
    pairs = width // 2 // axes
    expected = np.zeros((5, 5))
    for i, m in enumerate(positions):
        for j, n in enumerate(positions):
            for axis in range(axes):
                for pair in range(pairs):
                    c = 2 * (axis * pairs + pair)
                    angle = (m[axis] - n[axis]) * 100.0 ** (-2 * axes * pair / width)
                    expected[i, j] += (
                        complex(*q[i, c : c + 2])
                        * np.exp(1j * angle)
                        * np.conj(complex(*k[j, c : c + 2]))
                    ).real
    np.testing.assert_allclose(
        products((q, k), positions.tolist(), num_axes=axes), expected, atol=1e-5
    )


@pytest.mark.slow
def test_fractions_of_positions_have_angles():
    found = AxialRoPE(head_dim=8).angles(jnp.asarray([[[0.5, -0.25]]]))[0, 0]
    np.testing.assert_allclose(found, [0.5, 0.05, -0.25, -0.025], atol=1e-6)
