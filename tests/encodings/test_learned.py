import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.learned import Learned
from tests.encodings import codes

SENSITIVE = {"max_positions": (50, 64), "init_std": (0.02, 0.5)}
REFUSALS = [
    (dict(max_positions=0), "at least one position, got max_positions=0"),
]


def test_code_is_the_row():
    encoding = Learned(max_positions=5, width=4, rngs=codes.rngs())
    np.testing.assert_array_equal(
        codes.embed(encoding, [3, 0]), encoding.table[...][jnp.asarray([3, 0])]
    )


def test_positions_outside_the_table_are_nan():
    c = codes.embed(Learned(max_positions=5, width=4, rngs=codes.rngs()), [4, 5, -1, 100])
    assert np.isfinite(c[0]).all()
    assert np.isnan(c[1:]).all()


def test_its_start_has_the_given_spread():
    table = Learned(max_positions=4000, width=8, init_std=0.02, rngs=codes.rngs()).table[...]
    assert float(table.std()) == pytest.approx(0.02, rel=0.02)


def test_fractions_are_refused():
    with pytest.raises(TypeError, match="whole positions, got float32"):
        codes.embed(Learned(max_positions=5, width=4, rngs=codes.rngs()), [0.5])
