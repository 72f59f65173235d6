"""The criterion: a member stops when it meets it, and the others continue."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.records import records
from pe_lab.runs.run import Run, RunGroup
from pe_lab.training import checkpoint, curve, step
from pe_lab.training.build import build_setup
from pe_lab.training.loop import Training
from pe_lab.training.optimizer import optimizer
from pe_lab.training.state import CurveState, TrainState, initial_state
from pe_lab.training.step import train_chunk
from tests import tiny

STEPS, EXTRA = 36, 5  # extra steps end neither with a chunk of 4 nor with the curve's 6
RATES = (3e-3, 1e-2, 1e-6)  # slow, fast, never


def run(rate, criterion: float | None = 0.4, extra_steps=EXTRA, **changes) -> Run:
    """Copies one symbol; length 2 is on the curve too, and must not count."""
    return tiny.run(
        train__learning_rate=rate,
        model__num_layers=1,
        train__steps=STEPS,
        train__schedule="constant",
        train__max_length=1,
        train__criterion=criterion,
        train__extra_steps=extra_steps,
        evaluate__lengths=(1,),
        evaluate__curve_lengths=(1, 2),
        execution__members="map",
        **changes,
    )


def group(**changes) -> RunGroup:
    return RunGroup(tuple(run(rate, **changes) for rate in RATES))


def trained(folder, group, report=lambda event: None) -> Training:
    training = Training(group, folder, report)
    training.train()
    return training


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The run group with a criterion, trained to its end, and its records by learning rate."""
    folder = tmp_path_factory.mktemp("criterion")
    training = trained(folder, group(checkpoints__keep_curve=True))
    training.evaluate()
    return training, {r["member"]["learning_rate"]: r for r in records.read_all(folder).values()}


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    """The same without a criterion."""
    return trained(tmp_path_factory.mktemp("fixed"), group(criterion=None))


@pytest.fixture(scope="module")
def stops(fixed):
    """Where each member must stop, from the curves of the training without a criterion."""
    reached = [[p["step"] for p in curve if p["exact_match"]["1"] >= 0.4] for curve in fixed.curves]
    return [min(found[0] + EXTRA, STEPS) if found else STEPS for found in reached]


@pytest.mark.slow
def test_every_member_stops_some_steps_after_it_meets_the_criterion(unbroken, stops):
    training, found = unbroken
    assert training.state.stop_at.tolist() == stops
    assert sorted(stops) == [
        stops[1],
        stops[0],
        STEPS,
    ]  # the fast, the slow, the one that never learns
    assert len(set(stops)) == 3
    assert [found[rate]["cost"]["steps"] for rate in RATES] == stops
    assert [found[rate]["exposure"]["steps"] for rate in RATES] == stops
    assert training.step == STEPS


def points(training):
    """What was kept of its curve, as NumPy arrays."""
    return jax.tree.map(
        np.asarray, list(checkpoint.points(training.checkpoints, CurveState.of(training.state)))
    )


@pytest.mark.slow
def test_from_there_on_and_at_every_point_before_its_parameters_are_those_of_as_many_fixed_steps(
    unbroken, stops, fixed
):
    chunk = jax.jit(functools.partial(train_chunk, fixed.setup))
    state = jax.jit(functools.partial(initial_state, fixed.setup))(fixed.members)
    states = {0: state}
    for now in range(STEPS):
        state, _ = chunk(state, fixed.members, jnp.asarray(1))
        states[now + 1] = state
    for r, stop in enumerate(stops):
        mine, theirs = (
            jax.tree.map(lambda leaf, r=r: np.asarray(leaf[r]), s)
            for s in (unbroken[0].state, states[stop])
        )
        for part in ("params", "optimizer"):
            jax.tree.map(np.testing.assert_array_equal, getattr(mine, part), getattr(theirs, part))
    kept = points(unbroken[0])
    assert [point.step.tolist() for point in kept] == [
        [min(now, stop) for stop in stops] for now in range(0, STEPS + 1, 6)
    ]
    for point in kept:
        for r, trained_for in enumerate(point.step.tolist()):
            mine, theirs = (
                jax.tree.map(lambda leaf, r=r: np.asarray(leaf[r]), s.params)
                for s in (point, states[trained_for])
            )
            jax.tree.map(np.testing.assert_array_equal, mine, theirs)


@pytest.mark.slow
def test_its_curve_ends_there(unbroken, stops, fixed):
    for r, stop in enumerate(stops):
        curve, whole = unbroken[0].curves[r], fixed.curves[r]
        assert [p["step"] for p in curve] == [*range(0, stop, 6), stop]
        assert curve[:-1] == whole[: len(curve) - 1]
        assert curve[-1]["loss"] is not None


@pytest.mark.slow
def test_a_member_that_stops_is_bit_equal_in_any_company(unbroken, tmp_path):
    alone = trained(tmp_path, RunGroup((run(RATES[0]),)))
    assert alone.step == alone.last_step < STEPS
    assert alone.curves[0] == unbroken[0].curves[0]
    mine, theirs = (
        jax.tree.map(lambda leaf: np.asarray(leaf[0]), t.state.params) for t in (alone, unbroken[0])
    )
    jax.tree.map(np.testing.assert_array_equal, mine, theirs)


class Killed(BaseException):
    """As if the process had been killed."""


@pytest.mark.slow
def test_a_training_killed_after_a_member_has_stopped_ends_bit_equal_to_an_unbroken_one(
    unbroken, stops, tmp_path
):
    def kill(event):
        if event.get("step", 0) > stops[1] + 2:  # the chunk before this one is saved
            raise Killed

    often = group(checkpoints__interval=0.0, checkpoints__keep_curve=True)
    with pytest.raises(Killed):
        trained(tmp_path, often, kill)
    resumed = Training(often, tmp_path, lambda event: None)
    assert stops[1] <= resumed.step < stops[0]
    resumed.train()
    resumed.evaluate()
    jax.tree.map(np.testing.assert_array_equal, resumed.state, unbroken[0].state)
    assert resumed.curves == unbroken[0].curves
    jax.tree.map(np.testing.assert_array_equal, points(resumed), points(unbroken[0]))
    rows = {r["member"]["learning_rate"]: r["rows"] for r in records.read_all(tmp_path).values()}
    assert rows == {rate: record["rows"] for rate, record in unbroken[1].items()}


def test_the_mean_loss_of_a_point_does_not_depend_on_chunks_or_on_a_restart():
    losses = np.array([[0.1, 0.2, 0.7, 0.5], [3.0, np.nan, 1.0, 1.0], [2.0, 4.0, 9.0, 9.0]])
    stop_at = np.array([50, 50, 12])  # the third member stops after two of the steps
    at_once = curve.MeanLoss.of_no_steps(3)
    at_once.add(losses, 10, stop_at)
    in_chunks = curve.MeanLoss.of_no_steps(3)
    in_chunks.add(losses[:, :1], 10, stop_at)
    in_chunks = curve.MeanLoss(**json.loads(json.dumps(in_chunks.notes(), allow_nan=False)))
    in_chunks.add(losses[:, 1:3], 11, stop_at)
    in_chunks = curve.MeanLoss(**json.loads(json.dumps(in_chunks.notes(), allow_nan=False)))
    in_chunks.add(losses[:, 3:], 13, stop_at)
    np.testing.assert_array_equal(in_chunks.value(), at_once.value())
    np.testing.assert_allclose(at_once.value(), [1.5 / 4, np.nan, 3.0])
    assert np.isnan(curve.MeanLoss.of_no_steps(1).value()).all()


@pytest.mark.parametrize(("extra_steps", "expected"), [(0, 12), (4, 16), (1000, STEPS)])
def test_extra_steps_never_go_beyond_the_last(extra_steps, expected):
    """The decision alone, on a curve that is exactly at the criterion at step 12, and above it at
    step 14.
    """
    setup = build_setup(run(RATES[0], extra_steps=extra_steps))
    points, stop_at = [], [STEPS]
    for now, exact_match in ((12, 0.4), (14, 1.0)):
        points.append({"step": now, "exact_match": {"1": exact_match, "2": 0.0}})
        state = TrainState({}, (), jnp.asarray([now]), jnp.asarray(stop_at), jnp.asarray([-1]))
        stop_at = curve.stops([points], state, setup).tolist()
        assert stop_at == [expected]


def test_the_criterion_waits_for_the_longest_length_of_a_schedule():
    schedule = dict(name="stepwise", longest=(1, 3), starts=(0, 12))
    changes = dict(train__criterion=0.4, train__extra_steps=5, train__steps=40)
    setup = build_setup(tiny.run("nope", train__lengths=schedule, **changes))
    stop_at = [40]
    for now, expected in ((6, 40), (12, 40), (18, 23)):
        points = [{"step": now, "exact_match": {"1": 1.0, "3": 1.0}}]
        state = TrainState({}, (), jnp.asarray([now]), jnp.asarray(stop_at), jnp.asarray([-1]))
        stop_at = curve.stops([points], state, setup).tolist()
        assert stop_at == [expected]


def test_solved_is_the_threshold_of_the_task():
    setup = build_setup(run(RATES[0], criterion="solved"))
    assert setup.task.threshold == 0.99
    points, stop_at = [], [STEPS]
    for now, exact_match in ((12, 0.98), (18, 0.99)):
        points.append({"step": now, "exact_match": {"1": exact_match, "2": 0.0}})
        state = TrainState({}, (), jnp.asarray([now]), jnp.asarray(stop_at), jnp.asarray([-1]))
        stop_at = curve.stops([points], state, setup).tolist()
    assert stop_at == [18 + EXTRA]


@pytest.mark.slow
def test_an_update_has_the_rate_of_the_step_at_which_its_member_stops():
    """Half of the decay lies before the first step if a run stops after half of the extra steps."""
    linear = dict(train__schedule="linear", train__final_rate_fraction=0.0, train__warmup_steps=0)
    setup = build_setup(tiny.run("nope", train__criterion=1.0, train__extra_steps=10, **linear))
    params = {"blocks": {"bias": jnp.ones(3)}}
    chain = optimizer(setup.optimizer, setup.run.train, 0.1, 0.0, setup.run.train.steps)
    moved = {}
    for stop_at in (10, 5):
        state = TrainState(params, chain.init(params), *map(jnp.asarray, (0, stop_at, -1)))
        (member,) = [tiny.members({"learning_rate": 0.1})]
        member = jax.tree.map(lambda leaf: leaf[0], member)
        after = step.update(setup, member, state, jnp.asarray(1.0), params)
        moved[stop_at] = 1 - np.asarray(after.params["blocks"]["bias"])
    np.testing.assert_allclose(moved[5], 0.5 * moved[10], rtol=1e-6)
    assert moved[5].min() > 0
