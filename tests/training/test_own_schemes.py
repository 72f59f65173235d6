"""Encodings that name their own position scheme, and encodings on some heads only."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.fire import FIRE
from pe_lab.model import decode
from pe_lab.positions.base import PositionScheme
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.runs.specs import override_specs
from pe_lab.training import exposure, step
from pe_lab.training.batches import add_positions
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.state import initial_state
from pe_lab.training.warm_start import overridden
from tests import models, tiny

CONTIGUOUS = dict(name="contiguous")
RANDOMIZED = dict(name="randomized", maximum=64)
ABACUS = dict(name="abacus")
STRINGS = dict(name="copy", num_symbols=30, distinct=False)


def batch_of(setup, key=3, now=5):
    draw = jax.jit(functools.partial(step.training_batch, setup))
    return draw(jax.random.key(key), jnp.asarray(now))


def loss_and_gradient(setup):
    params, batch = setup.initial_params(0), batch_of(setup)
    return jax.jit(step.loss_and_gradient(setup))(params, batch)


@pytest.mark.slow
def test_with_abacus_at_the_input_fire_sees_the_offsets_of_tokens(monkeypatch):
    """An addition such as 7 5 + 2 = 9 5: token 6 has offsets from -6 to 2 to the other tokens."""
    run = tiny.run(
        dict(name="sinusoidal"),
        dict(name="fire", positions=CONTIGUOUS),
        positions=ABACUS,
        task=dict(name="addition"),
        model__num_layers=1,
        train__min_length=2,
        evaluate__lengths=(2,),
        evaluate__validation_lengths=(2,),
    )
    setup = build_setup(run)
    stream = batch_of(setup).streams["decoder"]
    num_tokens = stream.mask.shape[1]
    seen = []
    of_pair = FIRE.bias

    def bias(self, Q, K):
        seen.append((Q.positions, K.positions))
        return of_pair(self, Q, K)

    monkeypatch.setattr(FIRE, "bias", bias)
    reference = dataclasses.replace(run.execution, kernels="reference")
    plain = build_setup(dataclasses.replace(run, execution=reference))
    plain.model(plain.initial_params(0))({"decoder": stream})
    (Q, K), *_ = seen
    np.testing.assert_array_equal(Q[0], np.arange(num_tokens))
    np.testing.assert_array_equal((K[0] - Q[0, 6])[:9], np.arange(-6, 3))
    assert (np.asarray(stream.positions[0][0]) != np.arange(num_tokens)).any()  # Abacus's


@pytest.mark.slow
def test_the_studys_own_draws_do_not_change_when_an_encoding_names_a_scheme():
    alone = build_setup(tiny.run("rope", positions=RANDOMIZED))
    both = build_setup(
        tiny.run(
            "rope", dict(name="fire", positions=RANDOMIZED | {"maximum": 32}), positions=RANDOMIZED
        )
    )
    one = batch_of(alone).streams["decoder"].positions
    two = batch_of(both).streams["decoder"].positions
    np.testing.assert_array_equal(one[0], two[0])
    assert len(two) == 2
    assert int(two[1].max()) < 32
    assert not np.array_equal(np.argsort(two[0][0]), two[1][0])


@pytest.mark.slow
def test_a_named_scheme_that_is_the_studys_has_the_studys_draws():
    setup = build_setup(tiny.run(dict(name="fire", positions=RANDOMIZED), positions=RANDOMIZED))
    assert len(setup.schemes) == 1
    plain = build_setup(tiny.run("fire", positions=RANDOMIZED))
    models.assert_equal(loss_and_gradient(setup), loss_and_gradient(plain))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rope", "shaw", "stick_breaking"])
def test_all_heads_are_no_restriction_to_the_last_bit(name):
    restricted, plain = (
        build_setup(tiny.run(spec, model__num_layers=1))
        for spec in (dict(name=name, heads=(0, 1)), name)
    )
    models.assert_equal(loss_and_gradient(restricted), loss_and_gradient(plain))


@functools.cache
def loss_of_nope():
    return loss_and_gradient(build_setup(tiny.run("nope", model__num_layers=1)))[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t5_bias", "rope", "cope"])
def test_no_heads_equal_nope(name):
    setup = build_setup(tiny.run(dict(name=name, heads=()), model__num_layers=1))
    loss, gradient = loss_and_gradient(setup)
    assert float(loss) == float(loss_of_nope())
    encodings = gradient["decoder"].get("attention_encodings", {})
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(encodings))
    assert not exposure.reveals_target_length(setup)
    assert out_of_reach(setup, 3, 1000) is None


SUBSETS = (
    dict(name="rope", heads=(1,), layers=(0,)),
    dict(name="fire", positions=CONTIGUOUS, heads=(0,)),
    dict(name="stick_breaking", heads=(1,), layers=(1,)),
)


@pytest.mark.slow
def test_decoding_equals_the_full_forward_pass_with_two_schemes_and_subsets_of_heads():
    setup = build_setup(tiny.run("sinusoidal", *SUBSETS, positions=RANDOMIZED))
    stream = batch_of(setup).streams["decoder"]

    @jax.jit
    def forward_and_decoded(params, stream):
        model = setup.model(params)
        cache = decode.start(model, stream.positions, len(stream.tokens))
        return model({"decoder": stream}), models.decode(model, cache, stream.tokens, stream.mask)

    whole, logits = forward_and_decoded(setup.initial_params(1), stream)
    valid = np.asarray(stream.mask)
    np.testing.assert_allclose(logits[valid], whole[valid], atol=2e-5)


@pytest.mark.slow
def test_a_packed_batch_has_the_loss_of_its_examples_alone():
    def loss(k):
        setup = build_setup(
            tiny.run(
                *SUBSETS,
                positions=dict(name="shifted", max_shift=9),
                train__batch_size=8 // k,
                layout__examples_per_context=k,
            )
        )
        loss = jax.jit(functools.partial(step.batch_loss, setup))
        return float(loss(setup.initial_params(0), batch_of(setup)))

    assert loss(4) == pytest.approx(loss(1), rel=1e-5)


@pytest.mark.slow
def test_an_offset_moves_the_positions_of_every_scheme():
    setup = build_setup(tiny.run(*SUBSETS, positions=RANDOMIZED))
    drawn = step.draw(setup, jax.random.key(0), jnp.asarray(0))
    still = add_positions(setup, *drawn, train=False)[1]["decoder"]
    moved = add_positions(setup, *drawn, train=False, offset=5)[1]["decoder"]
    for before, after in zip(still.positions, moved.positions, strict=True):
        is_token = still.mask if before.shape[1] > 1 else still.mask.any(axis=0, keepdims=True)
        np.testing.assert_array_equal(after, np.where(is_token, before + 5, 0))


@pytest.mark.slow
def test_micro_batches_and_whole_batches_agree_with_two_schemes():
    scheme = RANDOMIZED | {"maximum": 128}
    run = tiny.run(*SUBSETS, positions=scheme, task=STRINGS, train__max_length=36)
    setup = build_setup(run)
    whole = dataclasses.replace(setup, kernels=setup.kernels.with_whole_batches())
    (loss, _), (expected, _) = loss_and_gradient(setup), loss_and_gradient(whole)
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize(
    ("encodings", "study", "sentence"),
    [
        (
            [dict(name="learned", positions=dict(name="normalized"))],
            CONTIGUOUS,
            "learned needs whole positions; the scheme normalized gives fractions",
        ),
        (
            [dict(name="rope", positions=dict(name="two_stream"))],
            CONTIGUOUS,
            "rope reads positions of one axis, the scheme two_stream gives 2 axes",
        ),
        (
            [dict(name="fire", positions=dict(name="randomized", maximum=7))],
            CONTIGUOUS,
            "randomized has 7 positions; length 3 asks for 8",
        ),
        (
            [dict(name="fire", heads=(0, 2))],
            CONTIGUOUS,
            r"fire's heads must be some of 0\.\.1, each once, got \(0, 2\)",
        ),
    ],
)
def test_each_encoding_is_checked_against_the_scheme_that_it_reads(encodings, study, sentence):
    with pytest.raises(UserError, match=sentence):
        build_setup(tiny.run(*encodings, positions=study))


def test_a_scheme_that_no_encoding_reads_refuses_nothing():
    build_setup(
        tiny.run(dict(name="learned", positions=CONTIGUOUS), positions=dict(name="normalized"))
    )


@pytest.mark.slow
def test_two_encodings_may_replace_the_normalization_on_different_heads_only():
    one, other = (dict(name="stick_breaking", heads=(head,)) for head in (0, 1))
    build_setup(tiny.run(one, other))
    with pytest.raises(UserError, match="cannot act on one layer: each has its own normalize"):
        build_setup(tiny.run(one, dict(name="stick_breaking")))


@pytest.mark.slow
def test_an_override_may_give_an_encoding_another_scheme():
    setup = build_setup(tiny.run(dict(name="fire", positions=CONTIGUOUS), positions=ABACUS))
    params = initial_state(setup, tiny.members({})).params
    evaluator = Evaluator(setup, (3,), lambda f, *args: jax.jit(f))

    def losses(spec):
        override = None if spec is None else override_specs.override(spec, setup.run)
        (measured,) = evaluator.measure(params, EvaluationPoint("test", 3, 0, override), 8)
        return float(measured.sums.metrics["negative_log_likelihood"].total)

    shifted = dict(name="shifted", max_shift=0)
    trained = losses(None)
    same = losses(dict(encodings=[dict(name="fire", positions=shifted)]))
    assert same == pytest.approx(trained, rel=1e-6)
    study = dict(encodings=[dict(name="fire", positions=None)])
    assert abs(losses(study) - trained) > 1e-4
    new_setup = overridden(setup, override_specs.override(study, setup.run))
    assert new_setup.placements[0].site.scheme == 0


def test_the_id_depends_on_the_studys_scheme_only_if_an_encoding_reads_it():
    fire = dict(name="fire", positions=RANDOMIZED)
    ids = {tiny.run(fire, positions=p).run_id for p in (CONTIGUOUS, ABACUS)}
    assert len(ids) == 1
    assert tiny.run(fire, positions=RANDOMIZED).run_id not in ids  # it has the study's draws
    assert len({tiny.run(fire, "rope", positions=p).run_id for p in (CONTIGUOUS, ABACUS)}) == 2


@dataclasses.dataclass(frozen=True)
class Narrow(PositionScheme):
    """Contiguous positions of an unsigned type, which cannot hold an offset of 300."""

    def __call__(self, keys, mask, *, segments=None, structure=None, train):
        return jnp.arange(mask.shape[1], dtype=jnp.uint8)[None, None]

    def bound(self, length, train):
        return length - 1


def test_positions_of_a_narrow_type_become_int32_before_an_offset_is_added():
    setup = build_setup(tiny.run("alibi", positions=dict(name=f"{__name__}:Narrow")))
    drawn = step.draw(setup, jax.random.key(0), jnp.asarray(0))
    _, streams = add_positions(setup, *drawn, train=False, offset=300)
    (positions,) = streams["decoder"].positions
    assert positions.dtype == jnp.int32
    assert positions.max() == 300 + positions.shape[2] - 1
