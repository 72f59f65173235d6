"""Distributions of training lengths: their definitions, and the runs that use them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.run import from_record
from pe_lab.training import step
from pe_lab.training.build import build_setup
from pe_lab.training.costs import length_shares, step_flops
from pe_lab.training.random_keys import LENGTHS, fold, stream_key
from pe_lab.training.state import initial_state
from pe_lab.training.step import train_chunk
from tests import tiny

COUNT = 4000
DOUBLING = dict(name="doubling", initial=2, every=10)
INCREASE = dict(name="regular_increase", initial=2, every=10, amount=3)
LAST = INCREASE | dict(sample_all=False)
STEPWISE = dict(name="stepwise", longest=(2, 5), starts=(0, 100))


def built(spec):
    return plugins.build("training.lengths", plugins.resolve("training.lengths", spec))


@functools.cache
def drawing(distribution, shortest, longest):
    """The lengths of COUNT keys at a traced step."""
    lengths = np.arange(shortest, longest + 1)
    keys = jax.random.split(jax.random.key(0), COUNT)

    def draw(step):
        return jax.vmap(lambda key: distribution.draw(key, lengths, step))(keys)

    return jax.jit(draw)


def equally(*lengths):
    return dict.fromkeys(lengths, 1 / len(lengths))


@pytest.mark.parametrize(
    ("spec", "bounds", "expected"),
    [
        (dict(name="uniform"), (3, 6), {0: equally(3, 4, 5, 6)}),
        (dict(name="weighted", weights=(1, 0, 3)), (2, 4), {0: {2: 0.25, 4: 0.75}}),
        (dict(name="fixed"), (2, 9), {0: {9: 1}, 50: {9: 1}}),
        (
            dict(name="reverse_exponential", tau=0.5),
            (1, 4),
            {0: {1: 8 / 15, 2: 4 / 15, 3: 2 / 15, 4: 1 / 15}},
        ),
        (dict(name="reverse_exponential", tau=2.0), (900, 901), {7: {900: 1 / 3, 901: 2 / 3}}),
        (
            INCREASE,
            (1, 11),
            {
                0: {2: 1},
                9: {2: 1},
                10: equally(2, 5),
                25: equally(2, 5, 8),
                999: equally(2, 5, 8, 11),
            },
        ),
        (LAST, (1, 11), {0: {2: 1}, 19: {5: 1}, 20: {8: 1}, 30: {11: 1}, 999: {11: 1}}),
        (STEPWISE, (1, 5), {0: equally(1, 2), 99: equally(1, 2), 100: equally(1, 2, 3, 4, 5)}),
        (
            DOUBLING,
            (2, 12),
            {
                0: {2: 1},
                10: equally(2, 3, 4),
                29: equally(*range(2, 9)),
                30: equally(*range(2, 13)),
            },
        ),
        (DOUBLING, (2, 12), {10**9: equally(*range(2, 13))}),
    ],
)
def test_a_histogram_at_a_step_agrees_with_the_definition(spec, bounds, expected):
    draw = drawing(built(spec), *bounds)
    for now, probabilities in expected.items():
        drawn = np.asarray(draw(jnp.asarray(now)))
        values, counts = np.unique(drawn, return_counts=True)
        assert values.tolist() == sorted(probabilities)
        wanted = [COUNT * probabilities[value] for value in values]
        assert stats.chisquare(counts, wanted).pvalue > 1e-3 or len(values) == 1
    assert draw._cache_size() == 1  # the step is data: one program serves every phase


def run(lengths, **changes):
    return tiny.run(train__lengths=lengths, **changes)


@functools.cache
def batches(one, first_step=0):
    made = build_setup(one)
    draw = functools.partial(step.draw, made, data=None, first_step=first_step)
    return jax.jit(lambda now: draw(jax.random.key(4), now)[0])


def lengths_at(one, now, first_step=0):
    """The lengths of a step's examples, which copy their prompts."""
    batch = batches(one, first_step)(jnp.asarray(now))
    return np.asarray(batch.answer.sum(axis=1)).tolist()


@pytest.mark.slow
def test_uniform_draws_the_numbers_of_runs_from_before_there_was_a_choice():
    one = tiny.run()
    keys = fold(stream_key(jax.random.key(4), LENGTHS), 3 * 8 + jnp.arange(8))
    before = jax.vmap(lambda key: jax.random.randint(key, (), 1, 4))(keys)
    assert lengths_at(one, 3) == before.tolist()


def test_uniform_is_no_part_of_a_run_id_and_others_are():
    one = tiny.run()
    assert "lengths" not in one.identity()["train"]
    assert not [name for name in one.sources() if "lengths" in name]
    others = [run(spec) for spec in (DOUBLING, DOUBLING | {"every": 3}, {"name": "fixed"})]
    assert len({one.run_id, *(other.run_id for other in others)}) == 4
    assert "training.lengths/doubling" in others[0].sources()
    assert from_record(others[0].to_dict()) == others[0]


@pytest.mark.slow
def test_a_schedule_follows_the_steps_of_its_run_alone():
    one = run(DOUBLING | {"initial": 1, "every": 4}, train__max_length=3, train__batch_size=32)
    assert set(lengths_at(one, 3)) == {1}
    assert set(lengths_at(one, 4)) == {1, 2}
    assert set(lengths_at(one, 8)) == {1, 2, 3}
    # A run that starts from another one goes on with its random numbers, not with its schedule.
    assert set(lengths_at(one, 8, first_step=8)) == {1}


@pytest.mark.slow
def test_one_length_a_step_follows_a_schedule_too():
    one = run(DOUBLING | {"initial": 1, "every": 4}, train__length_per="step")
    lengths = [set(lengths_at(one, now)) for now in range(30)]
    assert {len(values) for values in lengths} == {1}
    assert set().union(*lengths[:4]) == {1}
    assert set().union(*lengths) == {1, 2, 3}


@pytest.mark.slow
def test_packed_examples_follow_the_weights():
    one = run(
        dict(name="weighted", weights=(1, 0, 1)),
        layout__examples_per_context=4,
        evaluate__validation_lengths=(3,),
    )
    assert set(lengths_at(one, 0)) == {1, 3}


@pytest.mark.slow
def test_chunks_of_any_size_give_the_same_bits_under_a_schedule():
    one = run(DOUBLING | {"initial": 1, "every": 2}, execution__chunk_steps=8)
    made, which = build_setup(one), tiny.members({})
    init, chunk = (jax.jit(functools.partial(f, made)) for f in (initial_state, train_chunk))
    unbroken, _ = chunk(init(which), which, jnp.asarray(7))
    state, _ = chunk(init(which), which, jnp.asarray(3))
    state, _ = chunk(state, which, jnp.asarray(4))
    jax.tree.map(np.testing.assert_array_equal, unbroken, state)


@pytest.mark.slow
def test_a_criterion_stops_no_run_before_its_schedule_has_all_lengths(tmp_path):
    """The first point of the curve, at step 8, meets the criterion. Lengths grow at step 9."""
    schedule = dict(name="stepwise", longest=(1, 3), starts=(0, 9))
    changes = dict(train__criterion=1e-6, train__extra_steps=0, evaluate__curve_lengths=(1,))
    easy = dict(train__steps=60, evaluate__curve_every=8, train__learning_rate=1e-2, seeds=1)
    stopped = tiny.group(train__lengths=schedule, **changes, **easy)
    (record,) = tiny.train(tmp_path, stopped).values()
    assert record["cost"]["steps"] == 16
    assert record["exposure"]["max_length"] == 3
    assert record["cost"]["train_flops"] == 16 * step_flops(build_setup(stopped.run), 16)


@pytest.mark.slow
def test_shares_of_a_training_are_those_of_its_steps():
    one = build_setup(run(dict(name="stepwise", longest=(1, 3), starts=(0, 6))))
    assert length_shares(one, 12) == pytest.approx({1: 6 + 2, 2: 2, 3: 2})
    assert length_shares(one, 6) == {1: 6, 2: 0, 3: 0}
    assert length_shares(build_setup(tiny.run()), 12) == {1: 1, 2: 1, 3: 1}


@pytest.mark.slow
def test_flops_of_a_step_are_the_mean_over_the_lengths_that_are_drawn():
    one = build_setup(run({"name": "fixed"}, evaluate__validation_lengths=(3,)))
    same = build_setup(tiny.run(train__min_length=3, evaluate__validation_lengths=(3,)))
    assert step_flops(one) == step_flops(same) > step_flops(build_setup(tiny.run()))


@pytest.mark.slow
def test_flops_of_a_training_are_of_the_lengths_and_loops_that_it_had():
    """The first six steps have length 1. One to three loops cost as much as two on average."""
    setup = build_setup(run(dict(name="stepwise", longest=(1, 3), starts=(0, 6))))
    short = build_setup(tiny.run(train__max_length=1))
    assert step_flops(setup, 6) == step_flops(short) < step_flops(setup)
    assert step_flops(setup, 12) == step_flops(setup)
    looped = build_setup(tiny.run(model__num_loops=3, train__min_loops=1))
    assert step_flops(looped) == step_flops(build_setup(tiny.run(model__num_loops=2)))


@pytest.mark.parametrize(
    ("lengths", "changes", "sentence"),
    [
        (
            {"name": "unifrm"},
            {},
            r"pe_lab/training/lengths has no 'unifrm'. Did you mean 'uniform'",
        ),
        (
            "uniform",
            {},
            r"One of the training\.lengths is given as dict\(name=\.\.\.\)|dict\(name=",
        ),
        ({"name": "doubling"}, {}, "doubling needs every|doubling needs initial"),
        (DOUBLING | {"every": 0}, {}, "initial and every must be at least 1, got 2 and 0"),
        (INCREASE | {"amount": 0}, {}, "must be at least 1, got 2, 10 and 0"),
        ({"name": "reverse_exponential", "tau": 0.0}, {}, "tau must be more than 0, got 0.0"),
        ({"name": "weighted", "weights": (1, -1, 2)}, {}, "weights must be at least 0"),
        (
            {"name": "weighted", "weights": (1, 2)},
            {},
            "weighted needs one weight for each length from 1 to 3, 3 in all, got 2",
        ),
        ({"name": "weighted", "weights": (0, 0, 0)}, {}, "has no length from 1 to 3 in some steps"),
        (
            {"name": "weighted", "weights": (1, 1, 0)},
            {},
            "weighted never draws config.train.max_length 3 in 12 steps; its longest length is 2",
        ),
        (
            DOUBLING,
            {"train__steps": 10},
            "doubling never draws config.train.max_length 3 in 10 steps",
        ),
        (STEPWISE | {"starts": (0,)}, {}, "stepwise needs one of starts for each of longest"),
        (STEPWISE | {"longest": (5, 2)}, {}, r"stepwise's longest must ascend, got \(5, 2\)"),
        (STEPWISE, {}, "longest must end with config.train.max_length 3"),
        (
            {"name": "regular_increase", "initial": 1, "every": 1},
            {"train__min_length": 2},
            "regular_increase has no length from 2 to 3 in some steps",
        ),
        (
            {"name": "fixed"},
            {"evaluate__validation_lengths": (2, 3)},
            "config.evaluate.validation_lengths must hold trained lengths: fixed never draws 2",
        ),
        (
            DOUBLING,
            {"train__num_examples": 16},
            "config.train.lengths cannot be doubling, which depends on the step, with a finite",
        ),
        (
            {"name": "uniform"},
            {"train__num_examples": 16, "train__length_per": "step"},
            'config.train.length_per cannot be "step" with a finite training set, whose examples',
        ),
    ],
)
def test_lengths_that_make_no_sense_are_refused_with_a_sentence(lengths, changes, sentence):
    with pytest.raises(UserError, match=sentence):
        build_setup(run(lengths, **changes))
