"""Decoding chooses answers token by token, greedily or by sampling."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.model.decode import _generate, extend, generate, start
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.settings import STACKS
from tests import models
from tests.models import build, prefix, stream

P, T = 5, 8
PROMPTS = (5, 2, 4, 1, 3, 5)
ENDS = {
    "decoder": 4,
    "encoder_decoder": 5,
}  # tokens that the models below say in some answers, at different places
END = ENDS["decoder"]


@functools.cache
def model(architecture="decoder"):
    encodings = (
        "sinusoidal",
        *(dict(name=n, stacks=STACKS[architecture]) for n in ("rope", "t5_bias")),
    )
    made = build(*encodings, architecture=architecture)
    return nnx.merge(nnx.graphdef(made), models.moved(models.params(made)))


def prompts():
    return models.random_tokens(len(PROMPTS), P, seed=11), prefix(PROMPTS, P)


def source(architecture):
    read = stream(
        models.random_tokens(len(PROMPTS), 6, size=9, seed=12), mask=prefix([6, 5, 4, 3, 2, 1], 6)
    )
    return read if architecture == "encoder_decoder" else None


def said(architecture="decoder", **how):
    """The answers to PROMPTS; some end, some are as long as there is room."""
    answers, lengths = generate(
        model(architecture),
        *prompts(),
        end=ENDS[architecture],
        max_tokens=T,
        source=source(architecture),
        **how,
    )
    return np.asarray(answers), np.asarray(lengths)


@functools.cache
def uncached(architecture):
    """Greedy decoding with a full forward pass a token; everything after the end is the end."""
    full = jax.jit(model(architecture).__call__)
    tokens, mask = prompts()
    tokens, mask = (np.pad(a, ((0, 0), (0, T))) for a in (tokens, mask))
    end = ENDS[architecture]
    answers = np.full((len(PROMPTS), T), end)
    for i in range(T):
        read = stream(jnp.asarray(tokens), mask=jnp.asarray(mask))
        streams = models.by_stack(model(architecture), read, source(architecture))
        logits = np.asarray(full(streams))
        for row in range(len(PROMPTS)):
            last = mask[row].sum() - 1
            if (answers[row, :i] == end).any():
                continue
            answers[row, i] = tokens[row, last + 1] = logits[row, last].argmax()
            mask[row, last + 1] = True
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["decoder", "encoder_decoder"])
def test_greedy_is_the_argmax_of_the_whole_again_and_again(architecture):
    answers, lengths = said(architecture)
    np.testing.assert_array_equal(answers, uncached(architecture))
    ends = answers == ENDS[architecture]
    ended = ends.any(axis=1)
    np.testing.assert_array_equal(lengths, np.where(ended, ends.argmax(axis=1), T))
    assert 0 < ended.sum() < len(PROMPTS)
    assert len(set(lengths.tolist())) > 2


@pytest.mark.slow
def test_a_limit_is_a_shorter_answer():
    whole, lengths = said()
    for limit in (0, 3, T):
        answers, short = said(limit=limit)
        np.testing.assert_array_equal(answers[:, :limit], whole[:, :limit])
        assert (answers[:, limit:] == END).all()
        np.testing.assert_array_equal(short, np.minimum(lengths, limit))


@pytest.mark.slow
def test_one_program_serves_all_prompts_limits_and_temperatures():
    own = build("rope", num_layers=1)
    before = _generate._cache_size()
    for count, limit, temperature in ((1, 2, 0.0), (3, 7, 0.5), (5, 8, 2.0)):
        tokens = models.random_tokens(2, P, seed=count)
        generate(
            own,
            tokens,
            prefix([count, 1], P),
            end=count,
            max_tokens=T,
            limit=limit,
            temperature=temperature,
            key=jax.random.key(count),
        )
    assert _generate._cache_size() - before == 1


@pytest.mark.slow
def test_what_stands_in_a_prompts_padding_changes_nothing():
    tokens, mask = prompts()
    others = generate(model(), jnp.where(mask, tokens, 9), mask, end=END, max_tokens=T)
    np.testing.assert_array_equal(others[0], said()[0])


@pytest.mark.slow
def test_an_example_does_not_hang_on_its_neighbours():
    tokens, mask = prompts()
    order = jnp.asarray([5, 3, 0, 1, 4, 2])
    np.testing.assert_array_equal(
        generate(model(), tokens[order], mask[order], end=END, max_tokens=T)[0], said()[0][order]
    )


@pytest.mark.slow
def test_positions_of_the_whole_context_are_those_of_its_slots():
    """3 i for slot i, as a row for all and as one for each; without them 0, 1, 2, …."""
    row = jnp.arange(P + T)[None, None]
    np.testing.assert_array_equal(said(positions=(row,))[0], said()[0])
    spread = said(positions=(3 * row,))[0]
    assert (spread != said()[0]).any()
    np.testing.assert_array_equal(
        said(positions=(jnp.broadcast_to(3 * row, (1, len(PROMPTS), P + T)),))[0], spread
    )


def test_an_encoder_is_refused():
    with pytest.raises(UserError) as refused:
        generate(build(architecture="encoder"), *prompts(), end=END, max_tokens=T)
    assert (
        str(refused.value)
        == "An encoder fills all its blanks in one pass: there is nothing to decode."
    )


def sampled(temperature, key=0, count=4000, max_tokens=1, end=99):
    """Many answers to one prompt; by default they have no end."""
    tokens, mask = jnp.broadcast_to(prompts()[0][:1], (count, P)), jnp.ones((count, P), bool)
    how = dict(end=end, max_tokens=max_tokens, temperature=temperature)
    return np.asarray(
        generate(model(), tokens, mask, **how, key=None if key is None else jax.random.key(key))[0]
    )


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_samples_have_the_probabilities_of_their_temperature(temperature):
    """Pearson's statistic of 4000 samples, 10 degrees of freedom: above 30 for one key in 1000."""
    logits = np.asarray(model()({"decoder": stream(prompts()[0][:1])}))[0, -1].astype(float)
    expected = 4000 * np.exp(logits / temperature) / np.exp(logits / temperature).sum()
    rare = expected < 5  # together: the statistic wants five or more in every class
    counts = np.bincount(sampled(temperature)[:, 0], minlength=11)
    statistic = ((counts - expected)[~rare] ** 2 / expected[~rare]).sum() + (counts - expected)[
        rare
    ].sum() ** 2 / max(expected[rare].sum(), 1)
    assert (~rare).sum() > 3
    assert statistic < 30


@pytest.mark.slow
def test_every_step_and_every_row_has_draws_of_its_own():
    """At a boundless temperature all tokens are equally likely: neighbors agree one time in 11."""
    answers = sampled(1e9, max_tokens=3)
    for one, other in (
        (answers[:, 0], answers[:, 1]),
        (answers[:, 1], answers[:, 2]),
        (answers[:-1, 0], answers[1:, 0]),
    ):
        assert abs((one == other).mean() - 1 / 11) < 5 * (1 / 11 / 4000) ** 0.5


@pytest.mark.slow
def test_a_key_is_a_sample_and_no_temperature_needs_none():
    one, again, other = (sampled(1.0, key, count=50, max_tokens=3) for key in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    np.testing.assert_array_equal(
        *(said(temperature=0.0, key=key)[0] for key in (None, jax.random.key(5)))
    )
    np.testing.assert_array_equal(said(temperature=1e-4, key=jax.random.key(5))[0], said()[0])


@pytest.mark.slow
def test_samples_stop_at_their_end_too():
    answers = sampled(3.0, count=50, max_tokens=6, end=END)
    ended = np.maximum.accumulate(answers == END, axis=1)
    assert (answers[ended] == END).all()
    assert 0 < ended[:, -1].sum() < 50


@pytest.mark.slow
def test_two_thousand_tokens_from_a_cache_are_the_full_forward():
    made = build("sinusoidal", "rope", "t5_bias")
    read = stream(models.random_tokens(1, 2000), arange=True)
    graph, params = nnx.split(made)

    @jax.jit
    def both(params):
        model = nnx.merge(graph, params)
        cache = start(model, read.positions, 1)
        return model({"decoder": read}), models.decode(model, cache, read.tokens, read.mask)

    full, stepped = both(params)
    assert np.abs(full).max() > 1
    models.assert_close(full, stepped, 1e-5)


@pytest.mark.slow
def test_what_finds_no_room_is_not_written():
    """A cache of three slots: the tokens after them change nothing of what is kept."""
    tokens, row = models.random_tokens(1, 5), jnp.arange(3)[None, None]
    kept = jax.jit(lambda mask: extend(model(), start(model(), (row,), 1), tokens, mask)[1].keys)
    for five, three in zip(kept(jnp.ones((1, 5), bool)), kept(prefix([3], 5)), strict=True):
        np.testing.assert_array_equal(five.k, three.k)


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, 2])
def test_a_prompt_may_be_read_in_pieces(layers):
    """Positions of each layer, every optional field: three pieces equal the whole prompt."""
    fields = dict(
        qk_norm=True,
        logit_temperature="ssmax",
        sliding_window=3,
        num_loops=2,
        loop_injection="linear",
        num_layers=layers,
    )
    own, tokens = build("sinusoidal", "rope", "t5_bias", **fields), models.random_tokens(2, 7)
    positions = jnp.arange(7)[None, None] * (1 + jnp.arange(layers))[:, None, None]

    @jax.jit
    def pieces():
        cache, found = start(own, (positions,), 2), []
        for first, last in ((0, 3), (3, 4), (4, 7)):
            logits, cache = extend(
                own, cache, tokens[:, first:last], jnp.ones((2, last - first), bool)
            )
            found.append(logits)
        return jnp.concatenate(found, axis=1), own({"decoder": stream(tokens, positions)})

    models.assert_close(*pieces())


def test_a_cache_keeps_its_types_where_jax_has_64_bits():
    tokens, mask = prompts()
    row = jnp.arange(P + T)[None, None]
    with jax.enable_x64(True):
        cache = start(model(), (row,), len(PROMPTS))
        _, after = extend(model(), cache, tokens, mask)
    types = [[leaf.dtype for leaf in jax.tree.leaves(tree)] for tree in (cache, after)]
    assert types[0] == types[1]
