"""Several examples in one context, in training only."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.training import exposure, step
from pe_lab.training.batches import add_positions, reduce_loss
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from pe_lab.training.costs import step_flops
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.state import initial_state
from pe_lab.training.step import train_chunk
from tests import tiny
from tests.marks import full

pytestmark = pytest.mark.slow

CONTIGUOUS, RANDOMIZED = (
    {"name": "contiguous"},
    {"name": "randomized", "maximum": 64, "per": "example"},
)


def made(layout="decoder", examples_per_context=1, document_mask=True, **changes):
    """Eight examples a step, alone or packed. Every part of the small model reads positions."""
    changes = {
        "model__num_layers": 1,
        "train__batch_size": 8 // examples_per_context,
        "execution__chunk_steps": 2,
        **changes,
    }
    run = tiny.run(
        "sinusoidal",
        "rope",
        layout__name=layout,
        layout__examples_per_context=examples_per_context,
        layout__document_mask=document_mask,
        **changes,
    )
    return build_setup(run)


def drawn(setup):
    """The first step's contexts."""
    return add_positions(setup, *step.draw(setup, jax.random.key(0), jnp.asarray(0)), train=True)


def first_loss(*args, **changes):
    """The loss of a fresh model on the first step's examples."""
    setup = made(*args, **changes)

    def loss():
        batch = step.training_batch(setup, jax.random.key(0), jnp.asarray(0))
        return step.batch_loss(setup, setup.initial_params(0), batch)

    return float(jax.jit(loss)())


@pytest.mark.parametrize("positions", [full(CONTIGUOUS), RANDOMIZED], ids=lambda p: p["name"])
@pytest.mark.parametrize("layout", ["decoder", full("encoder"), full("encoder_decoder")])
def test_examples_that_do_not_see_each_other_give_the_loss_of_examples_alone(layout, positions):
    alone = functools.partial(first_loss, layout, positions=positions)
    assert alone(4) == pytest.approx(alone(1), rel=1e-5)


@pytest.mark.slow
def test_examples_that_see_each_other_give_another_loss():
    assert abs(first_loss("decoder", 4, False) - first_loss("decoder", 1)) > 1e-3


@pytest.mark.slow
def test_a_packed_training_step_is_the_step_of_the_same_examples_alone():
    """Loss and gradient: the second step's loss shows what the first has changed. Every example
    counts once.
    """

    def losses(k):
        setup = made(
            "decoder",
            k,
            train__loss_reduction="example",
            train__schedule="constant",
            train__warmup_steps=0,
        )
        which = tiny.members({"learning_rate": 0.05})
        state = jax.jit(functools.partial(initial_state, setup))(which)
        return np.asarray(
            jax.jit(functools.partial(train_chunk, setup))(state, which, jnp.asarray(2))[1][0]
        )

    alone = losses(1)
    np.testing.assert_allclose(losses(4), alone, rtol=1e-4)
    assert abs(alone[1] - alone[0]) > 0.01


def test_each_example_counts_once_in_a_mean_over_examples():
    losses = jnp.asarray([[1.0, 3.0, 9.0, 7.0, 5.0]])
    counted, segments = jnp.asarray([[1, 1, 0, 1, 0]]) > 0, jnp.asarray([[1, 1, 1, 2, 0]])
    assert float(reduce_loss(losses, counted, "example", segments, 2)) == 4.5
    assert float(reduce_loss(losses, counted, "token", segments, 2)) == pytest.approx(11 / 3)


def positions_of(positions, document_mask):
    """Positions [B, L], mask and segments of the first packed contexts."""
    _, streams = drawn(made("decoder", 4, document_mask, positions=positions))
    stream = streams["decoder"]
    return (
        np.asarray(jnp.broadcast_to(stream.positions[0][0], stream.mask.shape)),
        np.asarray(stream.mask),
        stream.segments,
    )


@pytest.mark.slow
def test_with_a_document_mask_every_example_counts_from_0():
    positions, mask, segments = positions_of(CONTIGUOUS, True)
    for row, there, example in zip(positions, mask, np.asarray(segments), strict=True):
        assert example[there].tolist() == sorted(example[there].tolist())
        assert set(example[~there].tolist()) <= {0}
        for one in (1, 2, 3, 4):
            count = int((example == one).sum())
            assert row[example == one].tolist() == list(range(count))
            assert count in (4, 6, 8)  # BEGIN, SEPARATOR and an n-symbol string twice


@pytest.mark.slow
def test_without_one_positions_run_through_the_context():
    positions, mask, segments = positions_of(CONTIGUOUS, False)
    assert segments is None
    for row, there in zip(positions, mask, strict=True):
        assert row[there].tolist() == list(range(there.sum()))
    drawn_positions, mask, _ = positions_of(RANDOMIZED, False)
    for row, there in zip(drawn_positions, mask, strict=True):
        assert (np.diff(row[there]) > 0).all()  # one ascending subset for the whole context
    assert (drawn_positions[0] != drawn_positions[1]).any()


@pytest.mark.slow
def test_examples_of_one_context_have_random_positions_of_their_own():
    positions, _, segments = positions_of(RANDOMIZED, True)
    firsts = {
        tuple(positions[0][np.asarray(segments[0]) == one][:4].tolist()) for one in (1, 2, 3, 4)
    }
    assert len(firsts) == 4


@pytest.mark.slow
def test_evaluation_is_never_packed():
    setups = [made("decoder", 4, mask, evaluate__lengths=(3,)) for mask in (True, False)] + [
        made("decoder", 1)
    ]
    params = initial_state(setups[0], tiny.members({})).params
    sums = [
        Evaluator(setup, (3,), lambda f, *args: jax.jit(f))
        .measure(params, EvaluationPoint("test", 3, 0), 8)[0]
        .sums.metrics
        for setup in setups
    ]
    assert len(sums[2]) == 5
    jax.tree.map(np.testing.assert_array_equal, sums[0], sums[2])
    jax.tree.map(np.testing.assert_array_equal, sums[1], sums[2])


@pytest.mark.slow
def test_exposure_says_how_far_positions_ran(tmp_path):
    """Three examples of eight tokens each, one after the other."""
    changes = dict(
        train__steps=2, layout__examples_per_context=3, evaluate__lengths=(3,), model__num_layers=1
    )
    record = tiny.train(
        tmp_path, tiny.group("rope", seeds=1, layout__document_mask=False, **changes)
    )[0]
    assert record["exposure"]["max_position"] == 3 * 8 - 1
    apart = build_setup(tiny.run("rope", layout__document_mask=True, **changes))
    assert exposure.context_lengths(apart, 3, train=True) == {"decoder": 8}


@pytest.mark.parametrize(
    ("encoding", "positions", "sentence"),
    [
        (
            dict(name="learned", max_positions=15),
            CONTIGUOUS,
            r"learned has positions 0\.\.14; length 3 asks for position 15: training",
        ),
        (
            dict(name="rope"),
            dict(name="randomized", maximum=15),
            r"randomized has 15 positions; length 3 asks for 16: training there",
        ),
    ],
)
def test_positions_that_end_within_the_context_are_refused_unless_examples_count_alone(
    encoding, positions, sentence
):
    two = dict(positions=positions, layout__examples_per_context=2)
    with pytest.raises(UserError, match=sentence):
        build_setup(tiny.run(encoding, layout__document_mask=False, **two))
    alone = build_setup(tiny.run(encoding, layout__document_mask=True, **two))
    assert out_of_reach(alone, 3, 0) is None


@pytest.mark.parametrize("layout", ["decoder", "encoder_decoder"])
def test_flops_of_a_step_count_every_example_and_longer_sight_without_a_document_mask(layout):
    alone, apart, together = (
        step_flops(made(layout, k, mask)) for k, mask in ((1, True), (4, True), (4, False))
    )
    assert apart == alone  # eight examples either way
    assert together > alone
