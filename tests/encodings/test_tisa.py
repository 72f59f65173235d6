import jax.numpy as jnp
import numpy as np

from pe_lab.encodings.tisa import TISA
from tests.encodings import codes

SENSITIVE = {"num_kernels": (5, 2)}
REFUSALS = [
    (dict(num_kernels=0), r"one kernel or more, got num_kernels=0\.$"),
]
# Tisa(num_attention_heads=2, num_kernels=3) of ulmewennberg/tisa at a3027ca, model/tisa.py, with
# these parameters, by head: its matrix for 4 positions.
CENTERS = ((-1.0, 2.0, 0.5), (0.0, -3.0, 4.0))
AMPLITUDES = ((0.5, -1.0, 2.0), (1.5, 0.25, -0.75))
SHARPNESSES = ((0.1, -0.3, 0.7), (0.05, 0.2, -0.4))
REFERENCE = [
    [
        [0.84681, 0.469365, 0.334984, 0.203266],
        [1.830139, 0.84681, 0.469365, 0.334984],
        [1.273256, 1.830139, 0.84681, 0.469365],
        [-0.3827, 1.273256, 1.830139, 0.84681],
    ],
    [
        [1.539142, 1.432778, 1.206442, 0.878676],
        [1.540079, 1.539142, 1.432778, 1.206442],
        [1.416542, 1.540079, 1.539142, 1.432778],
        [1.078358, 1.416542, 1.540079, 1.539142],
    ],
]


def built(centers=CENTERS, amplitudes=AMPLITUDES, sharpnesses=SHARPNESSES):
    encoding = TISA(num_kernels=len(centers[0]), num_heads=len(centers), rngs=codes.rngs())
    encoding.centers[...] = jnp.asarray(centers)
    encoding.amplitudes[...] = jnp.asarray(amplitudes)
    encoding.sharpnesses[...] = jnp.asarray(sharpnesses)
    return encoding


def test_agrees_with_the_authors_code():
    """Entry (i, j) of their matrix is the score of i - j - 1; the paper's is that of j - i."""
    index = jnp.arange(4)
    found = built().of_offset(index[:, None] - index[None] - 1)
    np.testing.assert_allclose(found, REFERENCE, atol=1e-6)


def test_a_bump_worked_by_hand():
    """Two tokens before its center a bump of sharpness log 2 is a sixteenth of its amplitude."""
    encoding = built([[3.0]], [[8.0]], [[-np.log(2)]])
    np.testing.assert_allclose(encoding.of_offset(jnp.asarray([3, 1, 2]))[0], [8, 0.5, 4])


def test_far_from_all_centers_the_bias_is_zero():
    assert (np.asarray(built().of_offset(jnp.asarray([-(10**6), 10**6]))) == 0).all()


def test_it_starts_as_the_authors_code():
    """4000 heads of 5 kernels: the standard error of a mean is 0.7 % of its spread."""
    encoding = TISA(num_heads=4000, rngs=codes.rngs())
    for parameter, mean, std in (
        (encoding.centers, 0.0, 5.0),
        (encoding.amplitudes, 0.1, 0.01),
        (encoding.sharpnesses, 0.1, 0.01),
    ):
        values = np.asarray(parameter[...])
        assert values.shape == (4000, 5)
        np.testing.assert_allclose(values.mean(), mean, atol=0.04 * std)
        np.testing.assert_allclose(values.std(), std, rtol=0.03)
