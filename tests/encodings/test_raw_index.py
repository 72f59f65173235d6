import jax.numpy as jnp
import numpy as np

from pe_lab.encodings.raw_index import RawIndex
from tests.encodings import codes

# A token's norm is multiplied by 63 or by 62, and normalization removes norms.
EXCUSED = [({"combine": "multiply"}, ("encoder",), "last_two_positions_differ", r"0.0009\d+")]
SENSITIVE: dict = {}


def test_code_is_the_position():
    np.testing.assert_array_equal(
        codes.embed(RawIndex(width=4, rngs=codes.rngs()), [0, 3, 1000]), [[0], [3], [1000]]
    )


def test_padded_it_moves_one_channel_only():
    lifted = RawIndex(width=4, lift="pad", rngs=codes.rngs()).scaled_embedding(
        jnp.asarray([[2, 5]])
    )
    np.testing.assert_array_equal(lifted[0], [[2, 0, 0, 0], [5, 0, 0, 0]])
