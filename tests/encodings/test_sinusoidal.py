import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.sinusoidal import Sinusoidal
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (10000.0, 100.0), "layout": ("interleaved", "concat")}
REFUSALS = [
    (dict(width=7), "'interleaved' has pairs of channels, so the width must be even, got 7"),
    (dict(width=1, layout="concat"), "'concat' needs a width of 2 or more, got 1"),
    (dict(width=3, layout="tensor2tensor"), "'tensor2tensor' needs a width of 4 or more, got 3"),
]


def sinusoidal(width, **arguments):
    return Sinusoidal(width=width, rngs=codes.rngs(), **arguments)


@pytest.mark.parametrize(
    ("entry", "width", "layout"),
    [
        ("sinusoidal_paper_d4", 4, "interleaved"),
        ("sinusoidal_paper_d8", 8, "interleaved"),
        ("sinusoidal_concat_d8", 8, "concat"),
        ("sinusoidal_negative_d8_concat", 8, "concat"),
        ("sinusoidal_t2t_d8", 8, "tensor2tensor"),
        ("sinusoidal_t2t_d7_odd", 7, "tensor2tensor"),
    ],
)
def test_agrees_with_reference(entry, width, layout):
    positions = [p for p in reference.entry(entry)["inputs"]["positions"] if p <= 1000]
    value = reference.entry(entry)["value"][: len(positions)]
    tolerance = (
        1e-6 if max(positions) < 100 else 1e-4
    )  # float32 angles: relative precision 6e-8 at position 1000
    np.testing.assert_allclose(
        codes.embed(sinusoidal(width, layout=layout), positions), value, atol=tolerance
    )


def test_scaled_sinusoid_agrees_with_x_transformers():
    encoding = sinusoidal(8, layout="concat", scale=8**-0.5, learn_scale=True)
    reference.assert_agrees(
        encoding.scaled_embedding(jnp.arange(4)[None])[0], "sinusoidal_xtransformers_d8"
    )
    assert float(encoding.scale[...]) == pytest.approx(8**-0.5)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["concat", "tensor2tensor"])
def test_an_odd_width_ends_in_a_zero(layout):
    odd, even = (codes.embed(sinusoidal(width, layout=layout), [0, 1, 5]) for width in (7, 6))
    assert (odd[:, 6] == 0).all()
    assert (np.abs(odd[1:, :6]).max(axis=0) > 0).all()
    if layout == "tensor2tensor":  # whose frequencies depend on the number of pairs alone
        np.testing.assert_array_equal(odd[:, :6], even)
