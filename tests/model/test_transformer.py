import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.kernels import REFERENCE, choose
from pe_lab.model import gates
from pe_lab.model.decode import start
from pe_lab.model.flops import forward_flops
from pe_lab.model.transformer import Transformer
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings import STACKS
from tests import models
from tests.encodings import laws
from tests.encodings.subjects import Subject
from tests.marks import full, full_except
from tests.models import ARCHITECTURES, VOCABULARIES, build, params, prefix, stream

V = 11


def everywhere(name, architecture="encoder_decoder"):
    return dict(name=name, stacks=STACKS[architecture])


def reads(positions=None):
    return stream(models.random_tokens(2, 6), positions, prefix([6, 5], 6))


def source(positions=None):
    return stream(models.random_tokens(2, 4, size=9, seed=8), positions, prefix([3, 4], 4))


def logits(model, positions=None, **how):
    return models.run(model, reads(positions), source() if len(model.stacks) == 2 else None, **how)


def shape_of(model, *streams):
    return jax.eval_shape(model, models.by_stack(model, *streams))


def keys(seed):
    return jax.random.split(jax.random.key(seed), 2)


@pytest.mark.full
def test_each_architecture_has_its_stacks_and_the_last_answers():
    assert [list(build(architecture=a).stacks) for a in ARCHITECTURES] == [
        ["decoder"],
        ["encoder"],
        ["encoder", "decoder"],
    ]
    both = build(architecture="encoder_decoder")
    assert both.answering is both.decoder
    assert (both.encoder.causal, both.decoder.causal) == (False, True)
    assert [[b.cross is not None for b in s.blocks] for s in both.stacks.values()] == [
        [False, False],
        [True, True],
    ]
    assert (
        both.encoder.embedding.num_embeddings,
        both.decoder.embedding.num_embeddings,
        logits(both).shape,
    ) == (9, V, (2, 6, V))


@pytest.mark.slow
def test_token_embeddings_have_unit_rms_when_scaled_and_less_when_not():
    tokens = jnp.arange(V)[None]

    def rms(scaled):
        x = build(width=64, scale_embeddings=scaled).decoder.embed(tokens, ())
        return float(jnp.sqrt(jnp.square(x).mean()))

    assert rms(True) == pytest.approx(1, rel=0.1)
    assert rms(False) == pytest.approx(rms(True) / 8)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_tied_output_reads_the_embedding_of_the_stack_that_answers(architecture):
    model = build(architecture=architecture, tied_output=True)
    before, table = logits(model), model.answering.embedding.embedding
    table[...] = table[...].at[V - 1].multiply(2)
    assert np.abs(logits(model)[..., V - 1] - before[..., V - 1]).max() > 1e-3
    assert model.output is None


@pytest.mark.full
@pytest.mark.parametrize("architecture", ["decoder", "encoder_decoder"])
def test_dropout_needs_its_key_and_is_off_without(architecture):
    model, without = (build("sinusoidal", architecture=architecture, dropout=d) for d in (0.5, 0.0))
    np.testing.assert_array_equal(logits(model), logits(without))
    one, again, other = (logits(model, dropout_keys=keys(k)) for k in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-2
    assert np.abs(one - logits(model)).max() > 1e-2
    np.testing.assert_array_equal(logits(without, dropout_keys=keys(0)), logits(without))


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["encoder", full("decoder")])
def test_dropout_acts_in_each_stack(stack):
    model = build("sinusoidal", architecture="encoder_decoder", dropout=0.5)
    other = model.stacks[{"encoder": "decoder", "decoder": "encoder"}[stack]]
    for holder in (other, *other.blocks):
        holder.dropout = 0.0
    one, another = (logits(model, dropout_keys=keys(k)) for k in (0, 1))
    assert np.abs(one - another).max() > 1e-2


def test_layers_choose_their_encodings():
    model = build(dict(name="rope", layers=(0,)), "t5_bias", "sinusoidal", num_layers=3).decoder
    assert models.indices(model.layer_sites) == ((0, 1), (1,), (1,))
    assert (len(model.attention_encodings), len(model.input_encodings)) == (2, 1)


def test_stacks_choose_their_encodings():
    """By default every input and every self-attention; cross-attention only where it is named."""
    learned, alibi = (
        dict(name="learned", stacks=("decoder",)),
        dict(name="alibi", stacks=("cross",), layers=(1,)),
    )
    model = build("sinusoidal", "rope", learned, alibi, architecture="encoder_decoder")
    found = [
        [type(e).__name__ for e in (*s.input_encodings, *s.attention_encodings)]
        for s in model.stacks.values()
    ]
    assert found == [["Sinusoidal", "RoPE"], ["Sinusoidal", "Learned", "RoPE", "ALiBi"]]
    assert (
        models.indices(model.encoder.layer_sites),
        models.indices(model.encoder.cross_sites),
    ) == (((0,), (0,)), ())
    assert (
        models.indices(model.decoder.layer_sites),
        models.indices(model.decoder.cross_sites),
    ) == (((0,), (0,)), ((), (1,)))


def test_stacks_have_parameters_of_their_own_and_sides_as_they_need():
    model = build(everywhere("t5_bias"), architecture="encoder_decoder")
    tables = [e.table[...] for e in model.attention_encodings]
    assert [e.two_sided for e in model.attention_encodings] == [
        True,
        False,
        True,
    ]  # encoder, decoder, across
    assert min(np.abs(tables[i] - tables[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))) > 0.1


@pytest.mark.slow
def test_a_layer_without_encodings_is_a_nope_layer():
    out = [logits(build(dict(name="alibi", layers=layers))) for layers in (None, (0,), (1,))]
    assert min(np.abs(out[i] - out[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))) > 1e-4


@pytest.mark.slow
def test_a_bias_shared_by_layers_is_computed_once(monkeypatch):
    calls, bucket = [], T5Bias.bucket
    monkeypatch.setattr(
        T5Bias, "bucket", lambda self, offsets: (calls.append(1), bucket(self, offsets))[1]
    )
    shape_of(build("t5_bias", num_layers=3, num_loops=2), reads())
    assert len(calls) == 1
    shape_of(build(everywhere("t5_bias"), architecture="encoder_decoder"), reads(), source())
    assert len(calls) == 1 + 3


@pytest.mark.slow
def test_positions_of_each_layer_reach_that_layer():
    model, plain = build("rope"), jnp.arange(6)[None, None]
    spread = jnp.concatenate([plain, 3 * plain])
    assert np.abs(logits(model, spread) - logits(model, plain)).max() > 1e-3
    np.testing.assert_array_equal(
        logits(model, jnp.concatenate([plain, plain])), logits(model, plain)
    )


@pytest.mark.slow
def test_the_last_layers_positions_are_the_last_rows():
    """Only layer 1 has an encoding, so that row 1 alone is read."""
    model, plain = build(dict(name="rope", layers=(1,))), jnp.arange(6)[None, None]
    np.testing.assert_array_equal(
        logits(model, jnp.concatenate([3 * plain, plain])), logits(model, plain)
    )


FIELDS = dict(
    qk_norm=True,
    shared_projections="qk",
    scale_logits=False,
    logit_temperature="log_n",
    norm_after_attention=True,
    sliding_window=3,
    sink_token=True,
    num_loops=2,
    loop_injection="linear",
    num_layers=1,
)
COMPOSITION = (laws.spec("sinusoidal"), laws.spec("rope"), laws.spec("t5_bias"))


@functools.cache
def with_all_fields(architecture):
    return Subject(COMPOSITION, architecture, tuple(FIELDS.items()))


@pytest.mark.parametrize(
    "law",
    [
        full(
            "packed_segments_equal_separate_ones"
        ),  # the sink among them: no segment sees another through it
        "padding_does_not_reach_valid_tokens",
        full("accelerator_kernels_equal_the_reference"),
        "cpu_kernels_equal_the_reference",
        full("decoding_equals_the_full_forward"),
    ],
)
@pytest.mark.parametrize("architecture", full_except(["decoder"], ARCHITECTURES))
def test_a_law_holds_with_every_optional_field(architecture, law):
    if law in laws.laws_of(architecture):
        laws.LAWS[law](with_all_fields(architecture))


@pytest.mark.slow
@pytest.mark.parametrize("injection", ["add", full("none"), full("linear")])
def test_a_traced_number_of_loops_equals_a_model_with_that_number(injection):
    """One program of three loops gives the loss and gradients of fewer loops."""

    def model_of(num_loops):
        fields = {"num_layers": 1, "loop_injection": injection, "num_loops": num_loops}
        return build("sinusoidal", "rope", **fields)

    def loss(model, p, num_loops=None):
        inputs = models.by_stack(model, reads())
        out = nnx.merge(nnx.graphdef(model), p)(inputs, num_loops=num_loops)
        return (out**2).mean()

    longest = model_of(3)
    p = models.moved(params(longest))
    traced = jax.jit(lambda n: jax.value_and_grad(functools.partial(loss, longest, num_loops=n))(p))
    for n in (1, 2):
        shorter = jax.jit(jax.value_and_grad(functools.partial(loss, model_of(n))))(p)
        jax.tree.map(models.assert_close, traced(jnp.asarray(n)), shorter)


@pytest.mark.full
def test_loops_apply_the_same_blocks_again():
    """One block twice is two blocks with equal parameters."""
    model = {"architecture": "encoder_decoder", "sink_token": True}
    encodings = ("sinusoidal", everywhere("t5_bias"))  # tables that layers share
    looped, layered = (
        build(*encodings, num_layers=1, num_loops=2, **model),
        build(*encodings, num_layers=2, **model),
    )
    p = models.moved(params(looped))
    twice = {
        k: {**v, "blocks": {0: v["blocks"][0], 1: v["blocks"][0]}} if "blocks" in v else v
        for k, v in p.items()
    }
    out = [logits(nnx.merge(nnx.graphdef(m), q)) for m, q in ((looped, p), (layered, twice))]
    models.assert_close(*out, 1e-6)
    assert (
        np.abs(
            out[0] - logits(nnx.merge(nnx.graphdef(build(*encodings, num_layers=1, **model)), p))
        ).max()
        > 1e-2
    )


@pytest.mark.full
@pytest.mark.parametrize(("architecture", "dropout"), [("decoder", 0.5), ("encoder_decoder", 0.0)])
def test_remat_changes_neither_loss_nor_gradients(architecture, dropout):
    model = build(
        "sinusoidal",
        everywhere("t5_bias", architecture),
        architecture=architecture,
        dropout=dropout,
    )
    graph, p = nnx.split(model)

    def loss(p, remat):
        return jnp.square(nnx.merge(graph, p)(streams, dropout_keys=keys(0), remat=remat)).sum()

    encoder = [source()] if architecture == "encoder_decoder" else []
    streams = models.by_stack(model, reads(), *encoder)
    compiled = [
        jax.jit(jax.value_and_grad(functools.partial(loss, remat=r))) for r in (False, True)
    ]
    (plain, gradients), (again, same) = (f(p) for f in compiled)
    assert float(plain) == pytest.approx(float(again), rel=1e-6)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5 * float(jnp.abs(a).max()) + 1e-6),
        gradients,
        same,
    )
    steps = [
        [e.primitive.name for e in jax.make_jaxpr(functools.partial(loss, remat=r))(p).eqns]
        for r in (False, True)
    ]
    assert [sum(name.startswith(("remat", "checkpoint")) for name in names) for names in steps] == [
        0,
        2 * len(model.stacks),
    ]  # blocks


@pytest.mark.full
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_bfloat16_is_near_float32_at_positions_that_it_cannot_count(architecture):
    """Its neighbours of 1000 are 996 and 1004: what reads positions in bfloat16 would be lost."""
    encodings = (
        "sinusoidal",
        *(everywhere(name, architecture) for name in ("rope", "t5_bias", "shaw")),
    )
    exact = build(*encodings, architecture=architecture)
    streams = [reads(1000 + jnp.arange(6)[None, None]), source(1000 + jnp.arange(4)[None, None])][
        : len(exact.stacks)
    ]
    expected = models.run(exact, *streams)
    for form in (REFERENCE, choose("auto", "cpu"), choose("auto", "cuda")):
        rounded = build(
            *encodings, architecture=architecture, compute_dtype="bfloat16", kernels=form
        )
        out = models.run(rounded, *streams)
        assert out.dtype == np.float32
        assert 1e-4 < np.abs(out - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.slow
def test_bfloat16_leaves_parameters_positions_bias_and_softmax_in_float32(monkeypatch):
    """Queries, keys and values are what is rounded, and what a cache holds."""
    found, of_offset, softmax = {}, T5Bias.of_offset, gates.masked_softmax

    def note(name, value):
        found.setdefault(name, set()).add(str(value.dtype))
        return value

    def noted_bias(self, offsets):
        return note("bias", of_offset(self, note("offsets", offsets)))

    def noted_softmax(s, mask):
        return note("weights", softmax(note("logits", s), mask))

    monkeypatch.setattr(T5Bias, "of_offset", noted_bias)
    monkeypatch.setattr(gates, "masked_softmax", noted_softmax)
    t5, rope = {**everywhere("t5_bias"), "layers": (0,)}, {**everywhere("rope"), "layers": (1,)}
    model = build(
        "sinusoidal",
        t5,
        rope,
        architecture="encoder_decoder",
        compute_dtype="bfloat16",
        tied_output=True,
    )
    assert shape_of(model, reads(), source()).dtype == np.float32
    assert found == {
        "offsets": {"int32"},
        "bias": {"float32"},
        "logits": {"float32"},
        "weights": {"float32"},
    }
    assert {str(p.dtype) for p in jax.tree.leaves(params(model))} == {"float32"}
    cache = start(model, (jnp.arange(9)[None, None],), 2, source())
    assert {
        str(leaf.dtype) for keys in (*cache.keys, *cache.memory.keys) for leaf in (keys.k, keys.v)
    } == {"bfloat16"}


def test_fractions_of_positions_stay_float32_in_bfloat16(monkeypatch):
    seen, of_offset = set(), ALiBi.of_offset
    monkeypatch.setattr(
        ALiBi,
        "of_offset",
        lambda self, offset: (seen.add(str(offset.dtype)), of_offset(self, offset))[1],
    )
    shape_of(build("alibi", compute_dtype="bfloat16"), reads(jnp.linspace(0, 1, 6)[None, None]))
    assert seen == {"float32"}


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_logits_are_not_rounded_to_bfloat16(platform, tied):
    kernels = choose("auto", platform)
    model = build("rope", compute_dtype="bfloat16", tied_output=tied, kernels=kernels)
    x = jax.random.normal(jax.random.key(0), (2, 3, 16), jnp.bfloat16)
    out = model.logits(x)
    assert out.dtype == jnp.float32
    assert (out != out.astype(jnp.bfloat16)).any()


@pytest.mark.slow
def test_decoding_in_bfloat16_is_the_full_forward_in_bfloat16():
    model = build("sinusoidal", "rope", "t5_bias", compute_dtype="bfloat16")
    read = reads()
    stepped = jax.jit(
        lambda: models.decode(model, start(model, read.positions, 2), read.tokens, read.mask)
    )()
    full = logits(model)
    assert stepped.dtype == jnp.float32
    assert np.abs(stepped - full)[np.asarray(read.mask)].max() < 0.02 * np.abs(full).max()


def test_two_replacements_of_the_mixing_on_one_layer_are_refused():
    shaw = dict(name="shaw", values=True)
    with pytest.raises(
        UserError, match="Shaw and Shaw cannot act on one layer: each has its own combine"
    ):
        build(shaw, shaw)
    stack = build(dict(shaw, layers=(0,)), dict(shaw, layers=(1,))).decoder
    assert models.indices(stack.layer_sites) == ((0,), (1,))


@pytest.mark.parametrize(
    ("trait", "architecture", "message"),
    [
        (
            "causal",
            "decoder",
            "^alibi is not defined for causal attention, which the decoder uses.$",
        ),
        (
            "causal",
            "encoder_decoder",
            "^alibi is not defined for causal attention, which the decoder uses.$",
        ),
        (
            "bidirectional",
            "encoder",
            "^alibi is not defined for bidirectional attention, which the encoder uses.$",
        ),
        (
            "bidirectional",
            "encoder_decoder",
            "^alibi is not defined for bidirectional attention, which the encoder uses.$",
        ),
        (
            "cross",
            "encoder_decoder",
            "^alibi is not defined between two streams, so it cannot act in cross-attention.$",
        ),
    ],
)
def test_an_architecture_that_an_encoding_is_not_made_for_is_refused(
    monkeypatch, trait, architecture, message
):
    monkeypatch.setattr(
        ALiBi, "requirements", dataclasses.replace(ALiBi.requirements, **{trait: False})
    )
    with pytest.raises(UserError, match=message):
        build(everywhere("alibi", architecture), architecture=architecture)


@pytest.mark.parametrize(
    ("trait", "stack"), [("causal", "encoder"), ("bidirectional", "decoder"), ("cross", "encoder")]
)
def test_a_stack_that_it_is_made_for_is_not_refused(monkeypatch, trait, stack):
    monkeypatch.setattr(
        ALiBi, "requirements", dataclasses.replace(ALiBi.requirements, **{trait: False})
    )
    assert (
        len(
            build(
                dict(name="alibi", stacks=(stack,)), architecture="encoder_decoder"
            ).attention_encodings
        )
        == 1
    )


@pytest.mark.slow
def test_what_a_constructor_refuses_is_the_users_mistake():
    with pytest.raises(UserError, match="must be even, got 3"):
        build("rope", width=6)
    with pytest.raises(
        UserError, match="'causal' would favor the future in bidirectional attention"
    ):
        build(dict(name="alibi", form="causal"), architecture="encoder")


def test_an_encodings_draws_do_not_move_another_encodings():
    alone, after = build("t5_bias").decoder, build("learned", "t5_bias").decoder
    assert (
        np.abs(
            alone.attention_encodings[0].table[...] - after.attention_encodings[0].table[...]
        ).max()
        > 0
    )  # its place is its stream
    np.testing.assert_array_equal(
        alone.blocks[1].attention.out.kernel[...], after.blocks[1].attention.out.kernel[...]
    )


def test_stacks_and_output_start_from_draws_of_their_own():
    """Equal shapes with equal values would be one key used twice."""
    drawn = [
        p
        for p in jax.tree.leaves(
            params(build("learned", everywhere("t5_bias"), architecture="encoder_decoder"))
        )
        if p.ndim == 2
    ]
    equal = [
        (a.shape, i, j)
        for i, a in enumerate(drawn)
        for j, b in enumerate(drawn[:i])
        if a.shape == b.shape and np.array_equal(a, b)
    ]
    assert not equal


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


def test_a_seed_is_a_backbone():
    one, same, other = (
        params(Transformer(models.settings(), VOCABULARIES["decoder"], key=jax.random.key(k)))
        for k in (0, 0, 1)
    )
    jax.tree.map(np.testing.assert_array_equal, one, same)
    assert np.abs(one["output"]["kernel"] - other["output"]["kernel"]).max() > 0.1


@pytest.mark.parametrize("sharing", ["qk", "qkv"])
@pytest.mark.parametrize(
    "law",
    [
        "future_does_not_leak",
        "padding_does_not_reach_valid_tokens",
        "one_token_is_enough",
        "decoding_equals_the_full_forward",
        "gradients_are_finite_and_reach_every_parameter",
        "cpu_kernels_equal_the_reference",
    ],
)
def test_a_law_holds_with_shared_projections(sharing, law):
    laws.LAWS[law](with_shared(sharing))


@functools.cache
def with_shared(sharing):
    return Subject(COMPOSITION, "decoder", (("shared_projections", sharing),))


def test_sharing_keeps_the_draws_of_the_other_matrices():
    each, shared = (
        params(build(shared_projections=s))["decoder"]["blocks"][0]["attention"]
        for s in ("none", "qkv")
    )
    assert shared.keys() == {"query", "out"}
    jax.tree.map(np.testing.assert_array_equal, shared, {name: each[name] for name in shared})
