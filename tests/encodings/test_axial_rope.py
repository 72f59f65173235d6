import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.axial_rope import AxialRoPE
from pe_lab.encodings.rope import RoPE
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (100.0, 10.0), "num_axes": (2, 4)}
GRID = [[x, y] for y in range(2) for x in range(3)]  # row by row, x first
UNEVEN = [[0, 0], [1, 7], [3, 2], [20, 63], [9, 40]]


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


@pytest.mark.parametrize("axis", [0, 1])
def test_a_shift_along_one_axis_changes_nothing_and_of_one_token_alone_does(axis):
    x = random(5, 8)
    shifted, one = np.array(UNEVEN), np.array(UNEVEN)
    shifted[:, axis] += 37
    one[0, axis] += 37
    np.testing.assert_allclose(products(x, shifted), products(x, UNEVEN), atol=1e-5)
    assert np.abs(products(x, one) - products(x, UNEVEN)).max() > 0.1


def test_axes_are_not_alike():
    x = random(5, 8)
    swapped = [[b, a] for a, b in UNEVEN]
    assert np.abs(products(x, swapped) - products(x, UNEVEN)).max() > 0.1


def test_each_axis_is_rope_of_its_share_of_the_channels():
    x = jax.random.normal(jax.random.key(0), (1, 5, 1, 8))
    tokens = codes.tokens(UNEVEN)
    found = AxialRoPE(head_dim=8).transform_qk(x, x, tokens, tokens)[0]
    for axis in range(2):
        own, half = codes.tokens([p[axis] for p in UNEVEN]), x[..., 4 * axis : 4 * axis + 4]
        expected = RoPE(head_dim=4, base=100.0).transform_qk(half, half, own, own)[0]
        np.testing.assert_allclose(found[..., 4 * axis : 4 * axis + 4], expected, atol=1e-6)


@pytest.mark.slow
def test_fractions_of_positions_have_angles():
    found = AxialRoPE(head_dim=8).angles(jnp.asarray([[[0.5, -0.25]]]))[0, 0]
    np.testing.assert_allclose(found, [0.5, 0.05, -0.25, -0.025], atol=1e-6)


@pytest.mark.parametrize("head_dim", [6, 10, 3])
def test_a_head_width_that_axes_cannot_share_is_refused(head_dim):
    with pytest.raises(
        ValueError,
        match=f"2 axes equally many pairs, so 2 . 2 must divide the head width {head_dim}",
    ):
        AxialRoPE(head_dim=head_dim)


def test_one_axis_is_refused():
    with pytest.raises(ValueError, match="two axes or more, got num_axes=1; of one, take RoPE"):
        AxialRoPE(head_dim=8, num_axes=1)
