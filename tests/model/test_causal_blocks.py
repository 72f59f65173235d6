"""A decoder on a CPU computes long contexts in blocks of queries, with the same logits."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab import kernels
from pe_lab.kernels import attention_cpu
from tests import models

TOKENS, BLOCK = 11, 4
SEGMENTS = jnp.asarray([[0] * 5 + [1] * 6, [0] * 11])
MASK = models.prefix([11, 7], TOKENS)


@pytest.fixture
def blocks(monkeypatch):
    """The first query of each block that was computed."""
    starts = []
    block = attention_cpu._block

    def counted(*args):
        starts.append(args[-1])
        return block(*args)

    monkeypatch.setattr(attention_cpu, "_BLOCK", BLOCK)
    monkeypatch.setattr(attention_cpu, "_block", counted)
    return starts


def logits(chosen, *encodings, **changes):
    model = models.build(*encodings, kernels=chosen, **changes)
    params = models.moved(models.params(model))
    nnx.update(model, params)
    tokens = models.random_tokens(2, TOKENS)
    read = models.stream(tokens, mask=MASK, segments=SEGMENTS)
    sources = []
    if changes.get("architecture") == "encoder_decoder":
        sources = [models.stream(models.random_tokens(2, TOKENS, size=9))]
    out = models.run(model, read, *sources)
    return np.where(MASK[..., None], out, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encodings", "changes"),
    [
        (("rope",), {"sliding_window": 6}),
        (("alibi", "rope"), {}),
        (("t5_bias",), {"num_layers": 1}),
        (("fox",), {}),
        (("shaw",), {"architecture": "encoder_decoder"}),
    ],
    ids=str,
)
def test_logits_in_blocks_are_those_of_the_reference(encodings, changes, blocks):
    in_blocks = logits(kernels.choose("auto", "cpu"), *encodings, **changes)
    expected = logits(kernels.REFERENCE, *encodings, **changes)
    models.assert_close(in_blocks, expected)


@pytest.mark.slow
def test_a_decoder_computes_blocks_and_an_encoder_does_not(blocks):
    cpu = kernels.choose("auto", "cpu")
    logits(cpu, "rope", architecture="encoder")
    assert blocks == []
    logits(cpu, "rope", num_layers=2)
    assert blocks == [0, 4, 8] * 2
