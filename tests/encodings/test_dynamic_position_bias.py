import numpy as np
import pytest

from pe_lab.encodings.dynamic_position_bias import DynamicPositionBias
from tests.encodings import codes

SENSITIVE = {"hidden_width": (None, 9), "depth": (2, 1), "logarithmic": (False, True)}
REFUSALS = [
    (dict(depth=0), "at least 1, got 4 and 0"),
]


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_agrees_with_the_equation_in_float64(logarithmic, depth):
    encoding = DynamicPositionBias(
        hidden_width=5,
        depth=depth,
        logarithmic=logarithmic,
        width=16,
        num_heads=3,
        rngs=codes.rngs(),
    )
    layers = [
        (np.asarray(layer.kernel, np.float64), np.asarray(layer.bias, np.float64) + 0.1)
        for layer in encoding.layers
    ]
    for layer in encoding.layers:
        layer.bias[...] += 0.1
    places = np.array([0, 1, 4, 30])
    found = encoding.bias(codes.tokens(places), codes.tokens(places))[0]
    for i, q in enumerate(places):
        for j, k in enumerate(places):
            x = np.array([np.sign(q - k) * np.log(1 + abs(q - k)) if logarithmic else float(q - k)])
            for n, (w, b) in enumerate(layers):
                x = x @ w + b
                x = x / (1 + np.exp(-x)) if n < depth else x
            np.testing.assert_allclose(found[:, i, j], x, atol=1e-4)


@pytest.mark.slow
def test_layers_are_initialized_as_in_pytorch():
    """Uniform within 1 / sqrt(fan_in): the largest of many draws is close to it."""
    sizes = dict(hidden_width=9, width=16, num_heads=4)
    encodings = [DynamicPositionBias(**sizes, rngs=codes.rngs(seed)) for seed in range(40)]
    for index, fan_in in enumerate((1, 9, 9)):
        layers = [encoding.layers[index] for encoding in encodings]
        for values in ([each.kernel[...] for each in layers], [each.bias[...] for each in layers]):
            largest = np.abs(np.stack(values)).max() * np.sqrt(fan_in)
            assert 0.97 < largest <= 1


def test_the_hidden_width_is_a_quarter_of_the_models():
    encoding = DynamicPositionBias(width=16, num_heads=2, rngs=codes.rngs())
    assert [layer.kernel.shape for layer in encoding.layers] == [(1, 4), (4, 4), (4, 2)]
