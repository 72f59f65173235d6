import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.grape_m import GRAPEM
from pe_lab.encodings.rope import RoPE
from pe_lab.model.transformer import Transformer
from pe_lab.runs.errors import UserError
from tests import models
from tests.encodings import codes

SENSITIVE = {
    "contextual": (False, True),
    "base": (10000.0, 100.0),
    "share_heads": (True, False),
    "log_scale": (None, 2.0),
}
REFUSALS = [
    (dict(head_dim=3), "the head width must be even, got 3"),
    (dict(log_scale=0.0), r"log_scale must be above 0 \(.*\), got 0\.$"),
]
# MSGRAPECommuting and the phase of MSGRAPEContextType1 of model-architectures/GRAPE at f5b539f with
# n_head=2, head_dim=4, log_freq_scale=16 (the contextual one has none), and the parameters of the
# tests: the queries `codes.numbers(1, 3, 2, 4)` of the last token, with the two halves of a head
# exchanged before and after, because the authors rotate the other way.
LEARNED = [[0.219647, 0.691218, -0.303941, -0.149055], [0.286922, -0.240575, 0.670019, 0.142298]]
PHASES = [0.0, 0.629775, 1.159038]
IN_CONTEXT = [[0.125105, 0.662025, -0.353516, -0.248442], [0.464089, -0.217204, 0.562025, 0.175919]]


def built(**arguments):
    return GRAPEM(width=8, num_heads=2, **{"head_dim": 4, **arguments}, rngs=codes.rngs())


def test_agrees_with_the_authors_code():
    encoding = built()
    encoding.log_frequencies[...] = jnp.asarray([[1.5, -20.0]])
    t, x = codes.tokens(range(3)), jnp.asarray(codes.numbers(1, 3, 2, 4))
    q, k = encoding.transform_qk(x, x, t, t)
    np.testing.assert_allclose(q[0, -1], LEARNED, atol=1e-6)
    np.testing.assert_array_equal(q, k)


def test_the_contextual_form_agrees_with_the_authors_code():
    encoding = built(contextual=True)
    encoding.log_frequencies[...] = jnp.asarray([[0.5, -1.0]])
    encoding.steps.kernel[...] = jnp.asarray(8 * codes.numbers(8, 1))
    encoding.steps.bias[...] = jnp.asarray([-2.0])
    steps = encoding.features(jnp.asarray(codes.numbers(1, 3, 8)), jnp.arange(3)[None])[1]
    np.testing.assert_allclose(np.cumsum(steps[0]) - steps[0], PHASES, atol=1e-6)
    t = dataclasses.replace(codes.tokens(range(3)), features=steps)
    x = jnp.asarray(codes.numbers(1, 3, 2, 4))
    q, _ = encoding.transform_qk(x, x, t, t)
    np.testing.assert_allclose(q[0, -1], IN_CONTEXT, atol=1e-6)


@pytest.mark.parametrize("share_heads", [True, False])
def test_it_starts_as_rope(share_heads):
    t = codes.tokens(range(20))
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, 20, 2, 4)), jnp.float32)
    mine = built(share_heads=share_heads).transform_qk(x, x, t, t)
    theirs = RoPE(layout="half", head_dim=4).transform_qk(x, x, t, t)
    np.testing.assert_allclose(mine[0], theirs[0], atol=1e-5)


def test_contextual_steps_start_at_the_sigmoid_of_a_sixteenth():
    """log(exp(0.001) - 1) is -6.907, and sigmoid(-6.907 / 16) is 0.3937."""
    steps = built(contextual=True).features(jnp.ones((1, 2, 8)), jnp.arange(2)[None])[1]
    np.testing.assert_allclose(steps, 0.3937, atol=1e-4)


@pytest.mark.parametrize(
    ("architecture", "stacks", "reason"),
    [
        ("encoder", ("encoder",), "bidirectional attention, which the encoder uses"),
        ("encoder_decoder", ("cross",), "between two streams"),
    ],
)
def test_the_contextual_form_is_refused_where_tokens_see_later_ones(architecture, stacks, reason):
    """Without `contextual` it is defined there."""
    plain = dict(name="grape_m", stacks=stacks)
    vocabularies, key = models.VOCABULARIES[architecture], jax.random.key(0)
    Transformer(models.settings(plain), vocabularies, key=key)
    contextual = models.settings({**plain, "contextual": True})
    with pytest.raises(
        UserError, match=rf"^grape_m with these arguments is not defined .*{reason}"
    ):
        Transformer(contextual, vocabularies, key=key)
