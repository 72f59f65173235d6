import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.shaw import Shaw
from pe_lab.transformer.attention import attend
from tests import reference
from tests.encodings import codes, laws

SENSITIVE = {"clip": (16, 3), "values": (False, True)}


@pytest.mark.parametrize("rows", [1, 2])
def test_agrees_with_reference_with_one_row_of_positions_and_with_many(rows):
    given, expected = (reference.entry("shaw_k2_L4_d4")[k] for k in ("inputs", "value"))
    encoding = Shaw(clip=2, values=True, head_dim=4, rngs=codes.rngs())
    encoding.key_table[...], encoding.value_table[...] = jnp.asarray(given["aK"]), jnp.asarray(given["aV"])
    q, k, v = (jnp.broadcast_to(jnp.asarray(given[n])[None, :, None], (rows, 4, 1, 4)) for n in "qkv")
    t = codes.tokens(range(4))
    t = t.__class__(jnp.broadcast_to(t.positions, (rows, 4)), t.slots)
    everywhere = jnp.ones((1, 1, 4, 4), bool)
    np.testing.assert_array_equal(encoding.index(t, t)[0], expected["index"])
    plain = jnp.einsum("blhe,bshe->bhls", q, k) / 2
    for r in range(rows):
        reference.assert_agrees(encoding.scores(plain, q, k, t, t, everywhere)[r, 0], "shaw_k2_L4_d4", expected["logits"])
        reference.assert_agrees(attend(encoding, q, k, v, t, t, everywhere)[r, :, 0], "shaw_k2_L4_d4", expected["out"])


def test_each_layer_has_tables_of_its_own():
    model = laws.Subject(laws.spec("shaw")).build()
    assert model.decoder.layer_encodings == ((0,), (1,))
    assert np.abs(model.attention_encodings[0].key_table[...] - model.attention_encodings[1].key_table[...]).max() > 0.01


def test_beyond_the_clip_distances_are_one():
    t = codes.tokens([0, 3, 50])
    assert Shaw(clip=2, head_dim=4, rngs=codes.rngs()).index(t, t)[0].tolist() == [[2, 4, 4], [0, 2, 4], [0, 0, 2]]


def test_no_clip_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        Shaw(clip=0, head_dim=4, rngs=codes.rngs())
