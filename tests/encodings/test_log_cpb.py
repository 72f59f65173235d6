import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.log_cpb import LogCPB
from tests.encodings import codes

SENSITIVE = {"window": (8, 30), "hidden_width": (512, 4), "num_axes": (2, 1)}
REFUSALS = [
    (dict(window=1, hidden_width=6), "got window=1, hidden_width=6 and num_axes=2"),
]
# WindowAttention(dim=4, window_size=(3, 3), num_heads=2) of microsoft/Swin-Transformer at 055c506
# with the parameters of `set_parameters`: the bias of the first and of the last token.
REFERENCE = [
    [
        [9.841406, 9.346229, 8.983163, 9.283337, 8.397353, 8.030188, 8.988933, 8.092436, 7.729958],
        [
            11.317061,
            11.16944,
            10.764621,
            11.136606,
            10.940086,
            10.499971,
            10.631884,
            10.425179,
            9.841406,
        ],
    ],
    [
        [8.871528, 8.584139, 7.931518, 8.101019, 7.732539, 7.247023, 7.889167, 7.362793, 6.950538],
        [9.70351, 9.70351, 9.70351, 9.435156, 9.486388, 9.500023, 8.675269, 8.727861, 8.871528],
    ],
]


def set_parameters(encoding):
    """Exact numbers that a reader of another framework can write too."""
    axes, hidden = encoding.hidden.kernel.shape
    heads = encoding.output.kernel.shape[1]
    encoding.hidden.kernel[...] = jnp.asarray(codes.numbers(hidden, axes).T)
    encoding.hidden.bias[...] = jnp.asarray(codes.numbers(hidden))
    encoding.output.kernel[...] = jnp.asarray(codes.numbers(heads, hidden).T)
    return encoding


def built(**arguments):
    return LogCPB(**{"num_heads": 2, "hidden_width": 6, **arguments}, rngs=codes.rngs())


def tokens(positions):
    positions = jnp.asarray(positions)[None]
    return Tokens(positions, jnp.arange(positions.shape[1])[None])


def test_agrees_with_swin_v2():
    grid = [[row, column] for row in range(3) for column in range(3)]
    t = tokens(grid)
    found = set_parameters(built(window=3)).bias(t, t)[0]
    np.testing.assert_allclose(found[:, [0, 8]], REFERENCE, atol=1e-5)


def test_one_axis_worked_by_hand():
    """A window of 9 scales offsets by 1. The query is 3 behind: log2(1 + 3) / 3 is 2/3.

    The one hidden channel passes it on, and the output multiplies it by 6: sigmoid(4).
    """
    encoding = built(num_axes=1, window=9, hidden_width=1, num_heads=1)
    encoding.hidden.kernel[...] = jnp.ones((1, 1))
    encoding.output.kernel[...] = jnp.full((1, 1), 6.0)
    bias = np.asarray(encoding.bias(tokens([3]), tokens([0, 3, 6])))[0, 0, 0]
    np.testing.assert_allclose(bias, [16 / (1 + np.exp(-4)), 8, 8], rtol=1e-6)


def test_the_bias_starts_near_the_same_for_all_offsets():
    t = tokens([[0, 0], [3, 5], [7, 1]])
    bias = np.asarray(built(hidden_width=512).bias(t, t))
    assert abs(bias - 8).max() < 0.5
    assert bias.std() > 1e-3


def test_weights_start_normal_and_are_not_cut():
    """One in 22 is beyond two standard deviations, where another initializer would cut."""
    kernel = np.asarray(built(hidden_width=2048).hidden.kernel)
    assert kernel.std() == pytest.approx(0.02, rel=0.05)
    assert (abs(kernel) > 0.04).mean() == pytest.approx(0.0455, abs=0.01)
