import jax
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.random_fourier import RandomFourier
from tests.encodings import codes

SENSITIVE = {"std": (0.1, 0.3), "draw": (0, 1), "num_axes": (1, 2)}
REFUSALS = [
    (dict(std=0.0), r"RandomFourier's std must be above 0 .*, got 0"),
    (dict(draw=-1, width=6), r"a draw of 0 or more .* got 1, -1 and 6"),
]


def built(**arguments):
    return RandomFourier(**{"width": 6, "rngs": codes.rngs(), **arguments})


@pytest.mark.slow
def test_the_code_is_the_sine_and_cosine_of_a_fixed_normal_draw():
    encoding = built()
    g = np.asarray(encoding.frequencies[0])
    for p in (0, 1, 7, 30, 10**6):
        wanted = np.concatenate([np.sin(2 * np.pi * g * p), np.cos(2 * np.pi * g * p)])
        np.testing.assert_allclose(codes.embed(encoding, [p])[0], wanted, atol=2e-6)


@pytest.mark.slow
def test_axes_add_their_angles():
    encoding = built(num_axes=2)
    g = np.asarray(encoding.frequencies)
    a = 2 * np.pi * (g[0] * 3 + g[1] * 5)
    np.testing.assert_allclose(
        codes.embed(encoding, [[3, 5]])[0], np.concatenate([np.sin(a), np.cos(a)]), atol=1e-5
    )


def test_the_draw_is_no_parameter():
    """Ports of Segment Anything train it by accident."""
    assert not jax.tree.leaves(nnx.state(built(), nnx.Param))


def test_the_draw_is_normal_with_its_spread_and_the_same_again():
    g = np.asarray(RandomFourier(width=8000, std=0.3, rngs=codes.rngs()).frequencies)
    np.testing.assert_allclose([g.std(), g.mean()], [0.3, 0.0], atol=0.02)
    assert RandomFourier(width=8000, std=0.3, rngs=codes.rngs(1)).frequencies == tuple(
        map(tuple, g.tolist())
    )


@pytest.mark.slow
def test_an_odd_width_ends_in_a_zero():
    code = codes.embed(built(width=7), [0, 3])
    assert code.shape == (2, 7)
    assert (code[:, 6] == 0).all()
