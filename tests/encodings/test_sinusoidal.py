import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.sinusoidal import Sinusoidal
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (10000.0, 100.0), "layout": ("interleaved", "concat")}


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
def test_a_shift_is_the_reference_rotation():
    rotation = np.asarray(reference.entry("rotation_theorem_M_phi3_d8")["value"])
    c = codes.embed(sinusoidal(8), range(23)).astype(np.float64)
    np.testing.assert_allclose(c[:20] @ rotation.T, c[3:], atol=1e-5)


@pytest.mark.slow
def test_concat_is_a_permutation_and_tensor2tensor_is_not():
    a, b, c = (
        codes.embed(sinusoidal(8, layout=layout), range(9))
        for layout in ("interleaved", "concat", "tensor2tensor")
    )
    np.testing.assert_array_equal(a[:, [0, 2, 4, 6, 1, 3, 5, 7]], b)
    assert np.abs(np.sort(c, axis=1) - np.sort(a, axis=1)).max() > 0.01


@pytest.mark.slow
def test_squared_norm_is_half_the_width():
    np.testing.assert_allclose(
        (codes.embed(sinusoidal(32), range(50)) ** 2).sum(axis=1), np.full(50, 16), rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["concat", "tensor2tensor"])
def test_an_odd_width_ends_in_a_zero(layout):
    odd, even = (codes.embed(sinusoidal(width, layout=layout), [0, 1, 5]) for width in (7, 6))
    assert (odd[:, 6] == 0).all()
    assert (np.abs(odd[1:, :6]).max(axis=0) > 0).all()
    if layout == "tensor2tensor":  # whose frequencies depend on the number of pairs alone
        np.testing.assert_array_equal(odd[:, :6], even)


@pytest.mark.parametrize(
    ("layout", "width", "sentence"),
    [
        ("interleaved", 7, "'interleaved' has pairs of channels, so the width must be even, got 7"),
        ("concat", 1, "'concat' needs a width of 2 or more, got 1"),
        ("tensor2tensor", 3, "'tensor2tensor' needs a width of 4 or more, got 3"),
    ],
)
def test_a_width_without_the_documented_channels_is_refused(layout, width, sentence):
    with pytest.raises(ValueError, match=sentence):
        sinusoidal(width, layout=layout)
