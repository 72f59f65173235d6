"""What is known of a bias, and what of it a part of a batch reads."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.base import AttentionEncoding, Chain, Tokens
from pe_lab.encodings.fire import FIRE
from pe_lab.encodings.fox import FoX
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.sandwich import Sandwich
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.transformer import biases

T5 = T5Bias(width=8, num_heads=2, bidirectional=True, rngs=nnx.Rngs(0))
PAIRS = "a kernel that has another form for pairs"
ENCODINGS = {
    "a kernel": T5,
    "two kernels": Chain([ALiBi(num_heads=2), T5]),
    PAIRS: Chain([Sandwich(num_heads=2), RoPE(head_dim=4)]),
    "one for all pairs": FIRE(num_heads=2, rngs=nnx.Rngs(0)),
    "both": Chain([T5, FIRE(num_heads=2, rngs=nnx.Rngs(0))]),
}
ROUNDING = 0.25 * np.spacing(np.float32(64))  # of Sandwich, by pairs a quarter of a sum of 64 cosines less 64: that sum's last place


def tokens(number, *, arange=True, batch=1):
    positions = jnp.arange(number) if arange else jnp.arange(number) ** 2
    return Tokens(jnp.broadcast_to(positions, (batch, number)), jnp.arange(number)[None], None, None, arange)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(ENCODINGS)), st.integers(1, 9), st.integers(1, 9), st.booleans(), st.data())
def test_a_part_of_what_is_known_is_the_bias_of_fewer_tokens(name, queries, keys, arange, data):
    encoding, place = ENCODINGS[name], ((0,), 0)
    known = biases.whole(encoding, tokens(queries, arange=arange), tokens(keys, arange=arange))
    assert (known.ndim == 2) == (arange and "kernel" in name)
    fewer = [tokens(data.draw(st.integers(1, n)), arange=arange) for n in (queries, keys)]
    found = biases.Biases({place: known}).at(place, encoding, *fewer)
    np.testing.assert_allclose(found, encoding.bias(*fewer), rtol=1e-5, atol=ROUNDING if name == PAIRS else 1e-7)


@pytest.mark.parametrize(
    ("encoding", "batch"),
    [(RoPE(head_dim=4), 1), (AttentionEncoding(), 1), (T5, 3), (FoX(width=4, num_heads=2, rngs=nnx.Rngs(0)), 1)],
    ids=["no bias", "NoPE", "positions of each example", "a bias of features"],
)
def test_nothing_is_known_beforehand_of(encoding, batch):
    assert biases.whole(encoding, tokens(4, batch=batch), tokens(4, batch=batch)) is None
