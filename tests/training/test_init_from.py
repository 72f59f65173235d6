"""A run that starts from another's final parameters, and goes on with its data."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.run import RunGroup
from pe_lab.training import process
from pe_lab.training.loop import Training
from pe_lab.training.parents import check_parent
from pe_lab.training.state import initial_state
from pe_lab.training.step import train_chunk
from tests import tiny
from tests.models import assert_equal

SMALL = dict(model__num_layers=1, train__schedule="constant", evaluate__lengths=(3,))
PARENTS = tiny.group("rope", train__steps=6, **SMALL)


def children(*encodings, study="parents", parents=PARENTS, **changes):
    """A run group of runs that start from the runs of another, seed by seed."""
    return RunGroup(
        tuple(
            tiny.run(
                *(encodings or ("rope",)),
                seed=p.seed,
                init_from={"study": study, "run_id": p.run_id},
                **{**SMALL, **changes},
            )
            for p in parents.runs
        )
    )


CHILDREN = children(
    train__steps=4, train__max_length=2, evaluate__lengths=(2,), evaluate__curve_lengths=(2,)
)
GRANDCHILDREN = children(study="", parents=CHILDREN, train__steps=2)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with the parents' study, the children's beside it, and their child in the same
    study.
    """
    folder = tmp_path_factory.mktemp("results")
    tiny.train(folder / "parents", PARENTS)
    tiny.train(folder / "study", CHILDREN)
    tiny.train(folder / "study", GRANDCHILDREN)
    return folder


def begun(folder, group):
    """A training before its first step."""
    return Training(group, folder, lambda event: None)


@pytest.mark.slow
@pytest.mark.parametrize("study", ["parents", "absolute"])
def test_every_member_starts_from_its_own_parents_parameters_and_a_new_optimizer(
    results, tmp_path, study
):
    folder = tmp_path / "new" if study == "absolute" else results / "new"
    training = begun(
        folder, children(study=str(results / "parents") if study == "absolute" else study)
    )
    final = begun(results / "parents", PARENTS).state
    assert_equal(training.state.params, final.params)
    fresh = jax.jit(functools.partial(initial_state, training.setup))(training.members)
    state = dataclasses.replace(training.state, params=None)
    assert_equal(state, dataclasses.replace(fresh, params=None))
    assert any(
        (a != b).any()
        for a, b in zip(*map(jax.tree.leaves, (fresh.params, final.params)), strict=True)
    )


@pytest.mark.slow
def test_its_data_goes_on_where_its_parents_ended(results):
    """The first loss of the child is the one that the parent would have had next; from the first
    step's data it is another.
    """
    parent, child = (
        begun(results / "parents", PARENTS),
        begun(results / "new", children(train__steps=6)),
    )
    assert child.members.first_step.tolist() == [6, 6]
    chunk = jax.jit(functools.partial(train_chunk, parent.setup))
    further = dataclasses.replace(parent.state, stop_at=jnp.asarray([99, 99], jnp.int32))
    expected, found = (
        np.asarray(chunk(t, r, jnp.asarray(1))[1][:, 0])
        for t, r in ((further, parent.members), (child.state, child.members))
    )
    np.testing.assert_array_equal(found, expected)
    from_first = dataclasses.replace(child.members, first_step=jnp.zeros(2, jnp.int32))
    again = chunk(child.state, from_first, jnp.asarray(1))[1][:, 0]
    assert (np.asarray(again) != expected).all()


@pytest.mark.slow
def test_what_its_parent_had_not_starts_fresh(results):
    training = begun(results / "new", children("rope", "learned"))
    scratch = (
        jax.jit(functools.partial(initial_state, training.setup))(training.members)
        .params["decoder"]
        .pop("input_encodings")
    )
    assert_equal(training.state.params["decoder"].pop("input_encodings"), scratch)
    assert_equal(training.state.params, begun(results / "parents", PARENTS).state.params)


@pytest.mark.slow
def test_exposure_is_of_the_whole_ancestry(results):
    """6, 4 and 2 steps; up to 3, 2 and 3 symbols, so 8 tokens."""
    found = {
        r["run_id"]: r
        for folder in ("parents", "study")
        for r in records.read_all(results / folder).values()
    }
    for group, steps, own in ((PARENTS, 6, 6), (CHILDREN, 10, 4), (GRANDCHILDREN, 12, 2)):
        for run in group.runs:
            exposure, cost = found[run.run_id]["exposure"], found[run.run_id]["cost"]
            assert (exposure["steps"], exposure["max_length"], exposure["max_position"]) == (
                steps,
                3,
                7,
            )
            assert cost["steps"] == own


@pytest.mark.slow
def test_a_grandchild_starts_from_a_child_in_its_own_study(results):
    first = begun(results / "study", children(study="", parents=CHILDREN, train__steps=3))
    assert first.members.first_step.tolist() == [10, 10]
    assert_equal(first.state.params, begun(results / "study", CHILDREN).state.params)
    assert [run.member_settings()["init_from"] for run in GRANDCHILDREN.runs] == [
        run.run_id for run in CHILDREN.runs
    ]


@pytest.mark.slow
def test_a_record_says_what_its_run_started_from(results):
    record = records.read(records.path_of(results / "study", CHILDREN.runs[1].run_id))
    assert record["member"]["init_from"] == PARENTS.runs[1].run_id
    assert record["config"]["init_from"] == {
        "study": "parents",
        "run_id": PARENTS.runs[1].run_id,
        "keep": "parameters",
    }


@pytest.mark.slow
def test_a_child_resumed_from_its_own_checkpoint_does_not_start_again(results):
    child, parent = begun(results / "study", CHILDREN), begun(results / "parents", PARENTS)
    assert child.step == 4
    assert any(
        (a != b).any()
        for a, b in zip(*(jax.tree.leaves(t.state.params) for t in (child, parent)), strict=True)
    )


@pytest.mark.slow
def test_a_missing_parent_is_recorded_as_the_failure_of_every_run_of_the_group(results, tmp_path):
    group = children(study="parents", parents=tiny.group("rope", train__steps=5, **SMALL))
    folder = tmp_path / "study"
    records.write_json(folder / "group.json", {"runs": [run.to_dict() for run in group.runs]})
    assert process.main(folder / "group.json", folder) == 1
    found = records.read_all(folder)
    assert {(r["status"], r["error"]) for r in found.values()} == {
        ("failed", f"There is no run {group.run.init_from.run_id} in {tmp_path / 'parents'}.")
    }
    assert len(found) == 2


@pytest.mark.slow
def test_a_parent_that_was_trained_on_the_inputs_of_evaluation_is_refused(results):
    older = {"run_id": "r", "config": {"train": {"exclude_held_out": False}}}
    check_parent(CHILDREN.run, {"run_id": "r", "config": PARENTS.run.to_dict()})
    with pytest.raises(
        UserError,
        match=r"^The run r was trained with config\.train\.exclude_held_out=False, and a run that",
    ):
        check_parent(CHILDREN.run, older)
    mixed = children(train__exclude_held_out=False)
    with pytest.raises(UserError, match=r"was trained with config\.train\.exclude_held_out=True"):
        begun(results / "study", mixed)
