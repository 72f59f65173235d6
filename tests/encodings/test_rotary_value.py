import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.rotary_value import RotaryValue
from tests.encodings import codes
from tests.marks import full

SENSITIVE = {
    "base": (10000.0, 100.0),
    "layout": ("interleaved", "half"),
    "fraction": (1.0, 0.5),
    "absolute": (False, True),
}
REFUSALS = [
    *(
        (
            dict(head_dim=width, fraction=part),
            f"{part} of the head width {width} must be an even number of channels",
        )
        for width, part in ((3, 1.0), (8, 0.4), (8, 1.5))
    ),
]
UNEVEN = [0, 1, 3, 9, 20]


def mixed(encoding, w, v, queries, keys):
    """[L, H, Dh] of weights [H, L, S] and values [S, H, Dh]."""
    return np.asarray(
        encoding.combine(
            jnp.asarray(w, jnp.float32)[None],
            jnp.asarray(v, jnp.float32)[None],
            codes.tokens(queries),
            codes.tokens(keys),
        )[0]
    )


@pytest.mark.slow
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("layout", ["half", full("interleaved")])
def test_values_turn_as_the_equation_says(layout, absolute):
    random = np.random.default_rng(0)
    w, v, queries = random.uniform(size=(2, 3, 5)), random.normal(size=(5, 2, 8)), [2, 9, 63]
    expected = np.zeros((3, 2, 8))
    for i, p in enumerate(queries):
        for j, at in enumerate(UNEVEN):
            for m in range(3):  # of the 6 channels that turn
                a, b = (2 * m, 2 * m + 1) if layout == "interleaved" else (m, m + 3)
                angle = (at if absolute else at - p) * 100.0 ** (-2 * m / 6)
                for h in range(2):
                    turned = complex(v[j, h, a], v[j, h, b]) * np.exp(1j * angle)
                    expected[i, h, a] += w[h, i, j] * turned.real
                    expected[i, h, b] += w[h, i, j] * turned.imag
            expected[i, :, 6:] += w[:, i, j, None] * v[j, :, 6:]
    encoding = RotaryValue(head_dim=8, base=100.0, layout=layout, fraction=0.75, absolute=absolute)
    np.testing.assert_allclose(mixed(encoding, w, v, queries, UNEVEN), expected, atol=1e-5)


@pytest.mark.slow
def test_worked_by_hand():
    """A quarter turn: the value one key on comes out turned by it, and the query's own as it is."""
    quarter = np.pi / 2
    encoding = RotaryValue(head_dim=2)
    v = np.array([[[1.0, 0.0]], [[1.0, 0.0]]])
    out = mixed(encoding, np.eye(2)[None, ::-1], v, [0.0, quarter], [0.0, quarter])
    np.testing.assert_allclose(out[:, 0], [[0, 1], [0, -1]], atol=1e-6)
    own = mixed(encoding, np.eye(2)[None], v, [0.0, quarter], [0.0, quarter])
    np.testing.assert_allclose(own, v, atol=1e-6)


@pytest.mark.slow
def test_logits_are_those_of_rope():
    x, tokens = jax.random.normal(jax.random.key(0), (1, 5, 2, 8)), codes.tokens(UNEVEN)
    for arguments in ({}, dict(base=100.0, layout="half", fraction=0.5)):
        pairs = zip(
            *(
                cls(head_dim=8, **arguments).transform_qk(x, x, tokens, tokens)
                for cls in (RotaryValue, RoPE)
            ),
            strict=True,
        )
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)
