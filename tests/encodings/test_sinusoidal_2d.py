import numpy as np

from pe_lab.encodings.sinusoidal_2d import Sinusoidal2D
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (10000.0, 10.0), "spacing": ("paper", "big_vision")}
REFUSALS = [
    (dict(width=6), "multiple of 4, got 6"),
]


def test_agrees_with_big_visions_row_major_grid_whose_first_axis_is_the_column():
    column_first = [[x, y] for y in range(2) for x in range(3)]
    encoding = Sinusoidal2D(spacing="big_vision", width=8, rngs=codes.rngs())
    reference.assert_agrees(codes.embed(encoding, column_first), "sincos2d_mocov3_h2_w3_d8")


def test_agrees_with_the_equation_in_float64():
    encoding = Sinusoidal2D(base=100.0, width=12, rngs=codes.rngs())
    w = 100.0 ** (-np.arange(3) / 3)
    for p in ([0, 0], [2, 5], [7, 1]):
        wanted = np.concatenate([f(w * x) for x in p for f in (np.sin, np.cos)])
        np.testing.assert_allclose(codes.embed(encoding, [p])[0], wanted, atol=1e-6)


def test_each_axis_has_its_own_half():
    code = codes.embed(Sinusoidal2D(width=8, rngs=codes.rngs()), [[1, 4], [1, 9], [3, 4]])
    np.testing.assert_array_equal(code[0, :4], code[1, :4])
    np.testing.assert_array_equal(code[0, 4:], code[2, 4:])
    assert np.abs(code[0] - code[1])[4:].max() > 0.1
