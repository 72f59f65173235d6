"""Agreement with the current versions of other libraries from PyPI; opt-in, `make test-peers`.

The reference values test the same functions at fixed inputs. Here inputs are random and settings
many. A peer's known errors are tested with the encoding itself, not here.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.cope import CoPE
from pe_lab.encodings.deberta import DeBERTa
from pe_lab.encodings.dynamic_position_bias import DynamicPositionBias
from pe_lab.encodings.fox import FoX
from pe_lab.encodings.log_cpb import LogCPB
from pe_lab.encodings.ops import uniform_linear
from pe_lab.encodings.pope import PoPE
from pe_lab.encodings.relative_logits import RelativeLogits
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.sinusoidal import Sinusoidal
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.encodings.xpos import XPos
from tests.encodings import codes

pytestmark = pytest.mark.peers
LENGTH, HEADS, HEAD_DIM = 23, 3, 16
DRAW = np.random.default_rng(0)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def theirs(torch):
    """x-transformers' module of classes."""
    pytest.importorskip("x_transformers")
    from x_transformers import x_transformers

    with torch.no_grad():
        yield x_transformers


def heads_first(x):
    return np.moveaxis(np.asarray(x), 1, 2)


def random(*shape):
    return DRAW.standard_normal(shape).astype(np.float32)


def close(ours, theirs, tolerance=2e-5):
    theirs = theirs.detach().numpy() if hasattr(theirs, "detach") else np.asarray(theirs)
    np.testing.assert_allclose(np.asarray(ours), theirs, atol=tolerance, rtol=tolerance)


PLACES = codes.tokens(range(LENGTH))
PAST = np.tril(np.ones((LENGTH, LENGTH)))


def scores(encoding, q, k):
    """q·k as it enters the logits, times sqrt(Dh)."""
    a, b = encoding.transform_qk(jnp.asarray(q), jnp.asarray(k), PLACES, PLACES)
    return np.einsum("blhe,bshe->bhls", a, b)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (16, 20), (64, 1000)])
def test_t5s_buckets_are_those_of_transformers(torch, bidirectional, buckets, distance):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    offsets = np.arange(-3000, 3000)
    ours = T5Bias(
        num_buckets=buckets,
        max_distance=distance,
        width=4,
        num_heads=1,
        bidirectional=bidirectional,
        rngs=codes.rngs(),
    )
    found = t5.T5Attention._relative_position_bucket(
        torch.tensor(offsets), bidirectional, buckets, distance
    )
    close(ours.bucket(jnp.asarray(offsets)), found, 0)


SCALINGS = {
    "linear": (dict(rope_type="linear", factor=3.0), dict(scaling="linear", factor=3.0)),
    "yarn": (
        dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=512),
        dict(scaling="yarn", factor=8.0, trained_length=512),
    ),
    "llama3": (
        dict(
            rope_type="llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=1024,
        ),
        dict(scaling="llama3", factor=8.0, trained_length=1024),
    ),
}


@pytest.mark.parametrize("head_dim", [8, 64, 128])
@pytest.mark.parametrize("base", [1e4, 5e5])
@pytest.mark.parametrize("name", SCALINGS)
def test_scaled_frequencies_are_those_of_transformers(torch, name, base, head_dim):
    transformers = pytest.importorskip("transformers")
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    theirs, ours = SCALINGS[name]
    config = transformers.LlamaConfig(
        hidden_size=head_dim,
        num_attention_heads=1,
        max_position_embeddings=4096,
        rope_parameters={**theirs, "rope_theta": base},
    )
    frequencies, amplitude = ROPE_INIT_FUNCTIONS[name](config, "cpu")
    encoding = RoPE(base=base, head_dim=head_dim, **ours)
    np.testing.assert_allclose(encoding.frequencies, frequencies.numpy(), rtol=2e-6)
    assert encoding.amplitude == pytest.approx(amplitude)


def test_half_layout_turns_as_llama_in_transformers(torch):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    q, k = random(2, LENGTH, HEADS, HEAD_DIM), random(2, LENGTH, HEADS, HEAD_DIM)
    angle = np.outer(np.arange(LENGTH), 10000.0 ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM))
    cos, sin = (
        torch.tensor(np.tile(f(angle), 2)[None], dtype=torch.float32) for f in (np.cos, np.sin)
    )
    theirs = llama.apply_rotary_pos_emb(
        torch.tensor(heads_first(q)), torch.tensor(heads_first(k)), cos, sin
    )
    ours = RoPE(layout="half", head_dim=HEAD_DIM).transform_qk(
        jnp.asarray(q), jnp.asarray(k), PLACES, PLACES
    )
    for mine, other in zip(ours, theirs, strict=True):
        close(heads_first(mine), other)


@pytest.mark.parametrize(("size", "longest"), [(256, 512), (32, 128)])
def test_debertas_log_buckets_are_those_of_transformers(torch, size, longest):
    """Up to the longest distance that the table has; what is beyond is clipped on both sides."""
    deberta = pytest.importorskip("transformers.models.deberta_v2.modeling_deberta_v2")
    distances = np.arange(1 - longest, longest)
    ours = DeBERTa(
        max_distance=longest, buckets=size, width=8, num_heads=1, head_dim=8, rngs=codes.rngs()
    )
    found = (
        deberta.make_log_bucket_position(torch.tensor(distances), size, longest).numpy().astype(int)
    )
    close(ours.row(jnp.asarray(distances)), np.clip(found + size, 0, 2 * size - 1), 0)


def test_relative_logits_are_those_of_inkling_in_transformers(torch):
    inkling = pytest.importorskip("transformers.models.inkling.modeling_inkling")
    encoding = RelativeLogits(extent=9, width=12, num_heads=HEADS, rngs=codes.rngs())
    x = random(2, LENGTH, 12)
    features = encoding.features(jnp.asarray(x), PLACES.positions)[0]
    theirs = inkling.InklingRelativeLogits(features.shape[-1], 9)
    theirs.proj.data = torch.tensor(np.array(encoding.profiles[...]))
    at = torch.arange(LENGTH)
    Q = PLACES.__class__(PLACES.positions, PLACES.slots, features=features)
    bias = codes.content_bias(encoding, Q, PLACES, HEADS)
    close(bias, theirs(torch.tensor(np.array(features)), at, at))


@pytest.mark.parametrize("heads", range(1, 21))
def test_alibi_is_that_of_x_transformers_for_any_number_of_heads(theirs, heads):
    close(
        ALiBi(num_heads=heads).bias(PLACES, PLACES)[0],
        theirs.AlibiPositionalBias(heads)(LENGTH, LENGTH).reshape(heads, LENGTH, LENGTH),
    )


def test_sinusoids_in_concat_layout_are_those_of_x_transformers(theirs):
    ours = codes.embed(Sinusoidal(layout="concat", width=12, rngs=codes.rngs()), range(LENGTH))
    x = theirs.torch.zeros(1, LENGTH, 12)
    close(ours * 12**-0.5, theirs.ScaledSinusoidalEmbedding(12)(x))


def test_interleaved_layout_turns_as_in_x_transformers(theirs):
    q = random(2, LENGTH, HEADS, HEAD_DIM)
    frequencies, scale = theirs.RotaryEmbedding(HEAD_DIM)(theirs.torch.arange(LENGTH))
    found = theirs.apply_rotary_pos_emb(theirs.torch.tensor(heads_first(q)), frequencies, scale)
    close(heads_first(RoPE(head_dim=HEAD_DIM).rotate(jnp.asarray(q), PLACES)), found)


def test_xpos_scores_are_those_of_x_transformers(theirs):
    q, k = random(1, LENGTH, HEADS, HEAD_DIM), random(1, LENGTH, HEADS, HEAD_DIM)
    frequencies, scale = theirs.RotaryEmbedding(HEAD_DIM, use_xpos=True)(
        theirs.torch.arange(LENGTH)
    )
    tq, tk = (theirs.torch.tensor(heads_first(x)) for x in (q, k))
    found = (
        theirs.apply_rotary_pos_emb(tq, frequencies, scale)
        @ theirs.apply_rotary_pos_emb(tk, frequencies, scale**-1).mT
    )
    close(scores(XPos(head_dim=HEAD_DIM), q, k) * PAST, found.numpy() * PAST, 1e-4)


def test_pope_scores_are_those_of_x_transformers(theirs):
    encoding = PoPE(num_heads=HEADS, head_dim=HEAD_DIM, start="uniform", rngs=codes.rngs())
    q, k = random(1, LENGTH, HEADS, HEAD_DIM), random(1, LENGTH, HEADS, HEAD_DIM)
    polar = theirs.PolarEmbedding(HEAD_DIM, HEADS)
    polar.learned_bias.data = theirs.torch.tensor(np.array(encoding.delta[...]))[:, None]
    frequencies, bias = polar(theirs.torch.arange(LENGTH))
    tq, tk = (theirs.torch.tensor(heads_first(x)) for x in (q, k))
    found = (
        theirs.apply_polar_pos_emb(tq, frequencies[:, None])
        @ theirs.apply_polar_pos_emb(tk, frequencies[:, None] + bias).mT
    )
    close(scores(encoding, q, k), found, 1e-4)


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_dynamic_position_bias_with_weights_of_x_transformers_is_theirs(theirs, depth, logarithmic):
    other = theirs.DynamicPositionBias(5, heads=HEADS, depth=depth, log_distance=logarithmic)
    sizes = dict(hidden_width=5, depth=depth, width=16, num_heads=HEADS)
    encoding = DynamicPositionBias(**sizes, logarithmic=logarithmic, rngs=codes.rngs())
    linear = [module for module in other.modules() if isinstance(module, theirs.nn.Linear)]
    for layer, source in zip(encoding.layers, linear, strict=True):
        layer.kernel[...] = jnp.asarray(source.weight.numpy().T)
        layer.bias[...] = jnp.asarray(source.bias.numpy())
    close(encoding.bias(PLACES, PLACES)[0], other(LENGTH, LENGTH))


@pytest.mark.parametrize("inputs", [1, 5, 32])
def test_uniform_linear_draws_from_the_distribution_of_torchs_linear(torch, inputs):
    """Kolmogorov-Smirnov distance of 200 layers of each; its 0.001 quantile bounds it."""
    ours = [uniform_linear(inputs, 8, codes.rngs(seed)) for seed in range(200)]
    torch.manual_seed(0)
    others = [torch.nn.Linear(inputs, 8) for _ in range(200)]
    others = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in others]
    weights = [layer.kernel[...] for layer in ours], [weight for weight, _ in others]
    biases = [layer.bias[...] for layer in ours], [bias for _, bias in others]
    for mine, theirs in (weights, biases):
        test = scipy.stats.ks_2samp(np.ravel(np.stack(mine)), np.ravel(np.stack(theirs)))
        assert test.pvalue > 0.001


def test_copes_term_is_that_of_x_transformers(theirs):
    encoding = CoPE(num_positions=6, head_dim=HEAD_DIM)
    encoding.table[...] = jnp.asarray(random(6, HEAD_DIM))
    q, s = random(1, LENGTH, HEADS, HEAD_DIM), random(1, HEADS, LENGTH, LENGTH)
    mask = PAST.astype(bool)[None, None]
    ours = (
        encoding.transform_logits(
            jnp.asarray(s), jnp.asarray(q), jnp.asarray(q), PLACES, PLACES, jnp.asarray(mask)
        )
        - s
    )
    other = theirs.CoPE(HEAD_DIM, HEADS, 6)
    other.pos_emb.data = theirs.torch.tensor(np.array(encoding.table[...]))
    found = other(
        theirs.torch.tensor(heads_first(q)),
        theirs.torch.tensor(np.where(mask, s, -1e30).astype(np.float32)),
    )
    close(np.where(mask, ours, 0), np.where(mask, found.numpy(), 0), 1e-4)


def test_foxs_bias_is_that_of_x_transformers(theirs):
    encoding, x = FoX(width=12, num_heads=HEADS, rngs=codes.rngs()), random(2, LENGTH, 12)
    other = theirs.DataDependentAlibi(12, HEADS, bias_init=0.0)
    other.to_forget_gates[0].weight.data = theirs.torch.tensor(
        np.array(encoding.projection.kernel[...].T)
    )
    K = PLACES.__class__(
        PLACES.positions,
        PLACES.slots,
        features=encoding.features(jnp.asarray(x), PLACES.positions)[1],
    )
    bias = np.asarray(codes.content_bias(encoding, PLACES, K, HEADS))
    close(bias * PAST, other(theirs.torch.tensor(x)).numpy() * PAST, 1e-4)


@pytest.mark.parametrize("trained", [4, 9])
def test_log_cpb_with_weights_of_swin_v2_is_that_of_transformers(torch, trained):
    """Their attention weights where all queries are 0, so that the bias alone decides them."""
    swin = pytest.importorskip("transformers.models.swinv2.modeling_swinv2")
    config = swin.Swinv2Config(qkv_bias=False)
    other = swin.Swinv2SelfAttention(config, 4 * HEADS, HEADS, 4, [trained, trained]).eval()
    other.query.weight.data.zero_()
    encoding = LogCPB(window=trained, num_heads=HEADS, rngs=codes.rngs())
    hidden, _, output = other.continuous_position_bias_mlp
    encoding.hidden.kernel[...] = jnp.asarray(hidden.weight.detach().numpy().T)
    encoding.hidden.bias[...] = jnp.asarray(hidden.bias.detach().numpy())
    output.weight.data *= 20  # the biases of untrained weights are nearly the same
    encoding.output.kernel[...] = jnp.asarray(output.weight.detach().numpy().T)
    grid = codes.tokens([[row, column] for row in range(4) for column in range(4)])
    with torch.no_grad():
        found = other(torch.zeros(1, 16, 4 * HEADS), output_attentions=True)[1]
    close(jax.nn.softmax(encoding.bias(grid, grid), axis=-1), found)
