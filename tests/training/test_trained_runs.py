"""A finished run can be loaded as it ended, and as it was during training."""

import functools
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.training import checkpoint
from pe_lab.training.build import build_setup
from pe_lab.training.loop import Training
from pe_lab.training.run_records import write_failure
from pe_lab.training.state import CurveState, initial_state
from pe_lab.training.trained_runs import load, load_state, params_through_training
from tests import tiny
from tests.models import assert_equal

pytestmark = pytest.mark.slow  # all share a trained run
GROUP = tiny.group(
    "rope",
    "learned",
    model__num_layers=1,
    train__steps=2,
    evaluate__lengths=(3,),
    checkpoints__keep_curve=True,
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A study's folder with one finished run group of two runs."""
    folder = tmp_path_factory.mktemp("study")
    tiny.train(folder, GROUP)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    """A copy of it to be damaged."""
    return shutil.copytree(trained, tmp_path / "study")


@pytest.mark.slow
def test_a_run_comes_back_with_its_record_its_setup_and_its_own_final_parameters(trained):
    final = Training(GROUP, trained, print).state.params
    for r, run in enumerate(GROUP.runs):
        found = load(trained, run.run_id)
        jax.tree.map(
            np.testing.assert_array_equal,
            found.params,
            jax.tree.map(lambda leaf, r=r: leaf[r], final),
        )
        assert (found.record["run_id"], found.setup.run.run_id) == (run.run_id, run.run_id)
        table = load(trained, run.run_id).model.decoder.input_encodings[0].table[...]
        np.testing.assert_array_equal(table, final["decoder"]["input_encodings"][0]["table"][r])


def test_the_state_of_its_whole_group_comes_back(trained):
    record = records.read(records.path_of(trained, GROUP.runs[1].run_id))
    state, group = load_state(trained, record)
    assert (group, state.step.tolist()) == (GROUP, [2, 2])


def through(folder, run):
    return params_through_training(folder, records.read(records.path_of(folder, run.run_id)))


@pytest.mark.slow
def test_what_was_kept_through_training_begins_as_the_run_did_and_ends_with_its_final_parameters(
    trained,
):
    init = jax.jit(functools.partial(initial_state, build_setup(GROUP.run)))(
        tiny.members({"seed": 0}, {"seed": 1})
    ).params
    for r, run in enumerate(GROUP.runs):
        (first, before), (last, after) = through(trained, run)
        assert (first, last) == (0, 2)
        assert_equal(before, jax.tree.map(lambda leaf, r=r: leaf[r], init))
        assert_equal(after, load(trained, run.run_id).params)


def test_a_member_that_stopped_before_the_others_has_each_state_once(folder):
    where = folder / "checkpoints" / GROUP.group_id
    *_, last = checkpoint.points(
        where,
        CurveState.of(
            load_state(folder, records.read(records.path_of(folder, GROUP.run.run_id)))[0]
        ),
    )
    checkpoint.save_point(
        where,
        8,
        CurveState(
            jax.tree.map(lambda leaf: leaf + 1, last.params), jnp.asarray([2, 8], jnp.int32)
        ),
    )
    first, second = (dict(through(folder, run)) for run in GROUP.runs)
    assert (list(first), list(second)) == ([0, 2], [0, 2, 8])
    assert_equal(first[2], load(folder, GROUP.runs[0].run_id).params)
    assert_equal(second[8], jax.tree.map(lambda leaf: leaf + 1, second[2]))


def test_where_no_point_was_kept_there_is_none_and_what_cannot_be_loaded_is_refused(folder):
    shutil.rmtree(folder / "checkpoints" / GROUP.group_id / "curve")
    assert list(through(folder, GROUP.run)) == []
    shutil.rmtree(folder / "groups")
    with pytest.raises(UserError, match="is missing"):
        list(through(folder, GROUP.run))


def test_a_run_that_is_not_there_is_one_sentence(trained):
    with pytest.raises(UserError, match=rf"^There is no run 0123456789abcdef in {trained}\.$"):
        load(trained, "0123456789abcdef")


@pytest.mark.parametrize("status", ["failed", "diverged"])
def test_a_run_that_has_not_finished_is_one_sentence(tmp_path, status):
    write_failure(GROUP.run, tmp_path, "why")
    record = records.read(records.path_of(tmp_path, GROUP.run.run_id))
    records.write(tmp_path, {**record, "status": status})
    with pytest.raises(
        UserError,
        match=rf"^The run {GROUP.run.run_id} in {tmp_path} has not finished, it {status}\.$",
    ):
        load(tmp_path, GROUP.run.run_id)


def test_a_run_that_kept_no_parameters_is_one_sentence(folder):
    record = records.read(records.path_of(folder, GROUP.run.run_id))
    records.write(folder, {**record, "checkpoint": None})
    with pytest.raises(
        UserError, match=r"kept no final parameters: config\.checkpoints\.keep_final was False\.$"
    ):
        load(folder, GROUP.run.run_id)


def test_a_checkpoint_that_is_gone_is_one_sentence(folder):
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(
        UserError,
        match=(
            rf"^The checkpoint of {GROUP.run.run_id} is gone: .*{GROUP.group_id} does not "
            rf"hold step 2\.$"
        ),
    ):
        load(folder, GROUP.run.run_id)


def test_a_checkpoint_of_another_step_is_not_taken_for_it(folder):
    record = records.read(records.path_of(folder, GROUP.run.run_id))
    records.write(folder, {**record, "checkpoint": {**record["checkpoint"], "step": 1}})
    with pytest.raises(UserError, match=r"is gone: .* does not hold step 1\."):
        load(folder, GROUP.run.run_id)


def test_a_folder_with_records_alone_as_published_is_one_sentence(folder):
    shutil.rmtree(folder / "groups")
    with pytest.raises(
        UserError,
        match=(
            rf"^The checkpoint of {GROUP.run.run_id} is gone: .*{GROUP.group_id}\.json is "
            rf"missing\.$"
        ),
    ):
        load(folder, GROUP.run.run_id)
