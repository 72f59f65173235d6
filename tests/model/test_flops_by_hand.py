"""The operations of a forward pass agree with counts by hand."""

import jax.numpy as jnp
import pytest

from pe_lab.model.decode import start
from pe_lab.training.costs import forward_flops
from tests import models
from tests.model.small_inputs import V, source
from tests.models import VOCABULARIES, build


def flops(architecture, lengths, **changes):
    return forward_flops(
        models.settings(width=8, feedforward_width=32, **changes),
        VOCABULARIES[architecture],
        lengths,
    )


def test_flops_by_hand():
    """Two for each multiply-add: projections, feed-forward, attention's products, output."""
    d, f, n, m = 8, 32, 10, 7

    def block(length):
        return length * (4 * d * d + 2 * d * f + 2 * length * d)

    across = (
        n * 2 * d * d + m * 2 * d * d + 2 * n * m * d
    )  # queries and outputs, keys and values, products
    assert flops("decoder", {"decoder": n}, num_layers=1) == 2 * (block(n) + n * d * V)
    assert flops("decoder", {"decoder": n}, num_layers=2, num_loops=3) == 2 * (
        6 * block(n) + n * d * V
    )
    assert flops("encoder", {"encoder": n}, num_layers=3) == 2 * (3 * block(n) + n * d * V)
    assert flops("decoder", {"decoder": n}, num_layers=1, activation="swiglu") == 2 * (
        block(n) + n * d * f + n * d * V
    )
    plain = flops("decoder", {"decoder": n}, num_layers=2)
    for shift, num_shifts in (("keys", 1), ("values", 1), ("both", 2)):  # a gate for each head
        shifted = flops("decoder", {"decoder": n}, num_layers=2, num_heads=4, token_shift=shift)
        assert shifted - plain == 2 * (2 * n * num_shifts * d * 4)
    for gate, width in (("head", 4), ("element", d)):
        gated = flops("decoder", {"decoder": n}, num_layers=2, num_heads=4, output_gate=gate)
        assert gated - plain == 2 * (2 * n * width * d)
    both = {"encoder": m, "decoder": n}
    assert flops("encoder_decoder", both, num_layers=2) == 2 * (
        2 * (block(n) + block(m) + across) + n * d * V
    )
    keys_and_values = m * 2 * d * d  # of the encoder's output: once a layer, whatever the loops
    looped = 2 * (2 * 3 * (block(n) + block(m) + across) - 2 * 2 * keys_and_values + n * d * V)
    assert flops("encoder_decoder", both, num_layers=2, num_loops=3) == looped
    injected = flops("encoder_decoder", both, num_layers=2, num_loops=3, loop_injection="linear")
    assert injected - looped == 2 * 3 * (n + m) * 2 * d * d


@pytest.mark.full
def test_keys_of_an_encoders_output_are_made_once_a_layer():
    model = build(architecture="encoder_decoder", num_layers=2, num_loops=3)
    cache = start(model, (jnp.arange(5)[None, None],), 2, source())
    memory_keys = cache.memory.keys
    assert len(memory_keys) == 2
    assert len(cache.keys) == 6
