import jax.numpy as jnp
import numpy as np
import pytest
from orbax.checkpoint import v1 as orbax

from pe_lab.runs.errors import UserError
from pe_lab.training import checkpoint

STATE = {
    "params": {"encodings": {0: {"table": jnp.arange(600.0).reshape(2, 300)}}},
    "optimizer": (jnp.asarray([1, 2]), ()),
    "step": jnp.asarray([3, 3]),
}
NOTES = {"curve": [[{"step": 0, "loss": None}]]}


def test_a_state_and_its_notes_come_back(tmp_path):
    checkpoint.save(tmp_path, 3, STATE, NOTES)
    state, notes = checkpoint.restore(tmp_path, STATE)
    np.testing.assert_array_equal(
        state["params"]["encodings"][0]["table"], STATE["params"]["encodings"][0]["table"]
    )
    np.testing.assert_array_equal(state["optimizer"][0], [1, 2])
    assert notes == NOTES


def test_nothing_saved_is_nothing_restored(tmp_path):
    assert checkpoint.restore(tmp_path / "none", STATE) is None


def test_the_newest_step_and_the_one_before_are_kept_and_at_the_end_the_newest_alone(tmp_path):
    for step in (2, 10, 11):
        checkpoint.save(tmp_path, step, {**STATE, "step": jnp.asarray([step, step])}, NOTES)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["10", "11"]
    checkpoint.keep_last(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["11"]
    assert checkpoint.restore(tmp_path, STATE)[0]["step"].tolist() == [11, 11]


def at(*steps):
    return {**STATE, "step": jnp.asarray(steps)}


@pytest.mark.slow
def test_points_of_the_curve_stay_when_older_steps_go_and_go_with_the_folder(tmp_path):
    for step in (0, 2, 10, 11):
        checkpoint.save_point(tmp_path, step, at(step, step))
        checkpoint.save(tmp_path, step, at(step, step), NOTES)
    checkpoint.save_point(tmp_path, 2, at(2, 1))  # once more, as a training that was killed does
    checkpoint.keep_last(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["11", "curve"]
    assert [state["step"].tolist() for state in checkpoint.points(tmp_path, STATE)] == [
        [0, 0],
        [2, 1],
        [10, 10],
        [11, 11],
    ]
    checkpoint.remove(tmp_path)
    assert list(checkpoint.points(tmp_path, STATE)) == []


def test_a_point_is_read_when_it_is_asked_for_and_a_damaged_one_is_one_sentence(tmp_path):
    for step in (0, 6):
        checkpoint.save_point(tmp_path, step, at(step, step))
    found = checkpoint.points(tmp_path, STATE)
    assert next(found)["step"].tolist() == [0, 0]
    for file in (tmp_path / "curve" / "6").rglob("*"):
        if file.is_file():
            file.write_bytes(b"")
    says = (
        r"^The checkpoint .*/curve/6 is damaged \(.*\)\. Remove it to look at training "
        r"without this step\.$"
    )
    with pytest.raises(UserError, match=says):
        next(found)


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_restored(tmp_path):
    said: list[str] = []
    for step in (2, 10):
        checkpoint.save(tmp_path, step, {**STATE, "step": jnp.asarray([step, step])}, NOTES)
    other = {**STATE, "more": jnp.zeros(2)}
    assert (
        checkpoint.restore(tmp_path, other, said.append) is None
    )  # another structure: neither fits
    assert sorted(p.name for p in tmp_path.iterdir()) == ["10.damaged-1", "2.damaged-1"]
    assert [s.partition(" is damaged")[0].rpartition("/")[2] for s in said] == ["10", "2"]
    (tmp_path / "2.damaged-1").rename(tmp_path / "2")
    (tmp_path / "10.damaged-1").rename(tmp_path / "10")
    (tmp_path / "10" / "_CHECKPOINT_METADATA").unlink(missing_ok=True)
    for file in (tmp_path / "10").rglob("*"):
        if file.is_file():
            file.write_bytes(b"")
    state, notes = checkpoint.restore(tmp_path, STATE, said.append)
    assert (state["step"].tolist(), notes) == ([2, 2], NOTES)
    assert said[-1].endswith(
        "it is set aside as 10.damaged-1, and the checkpoint before it, if there is one, is used."
    )


def test_a_save_that_was_killed_in_the_middle_is_not_seen(tmp_path):
    checkpoint.save(tmp_path, 3, STATE, NOTES)
    checkpoint.save_point(tmp_path, 3, STATE)
    for folder in (tmp_path, tmp_path / "curve"):
        (folder / "5.orbax-checkpoint-tmp").mkdir()
    assert checkpoint.restore(tmp_path, STATE)[0]["step"].tolist() == [3, 3]
    assert len(list(checkpoint.points(tmp_path, STATE))) == 1
    checkpoint.remove_unfinished(tmp_path)
    assert sorted(p.name for p in tmp_path.rglob("[35c]*") if p.is_dir()) == ["3", "3", "curve"]


def test_a_wrong_number_is_seen_by_the_digest(tmp_path, monkeypatch):
    """Storage that returns other numbers without complaint, as orbax does for a flipped byte of
    uncompressed data.
    """
    checkpoint.save(tmp_path, 3, STATE, NOTES)
    sound = orbax.load

    def load(*args):
        return {name: leaf.at[(0,) * leaf.ndim].add(1) for name, leaf in sound(*args).items()}

    monkeypatch.setattr(orbax, "load", load)
    with pytest.raises(UserError, match="does not match its digest"):
        checkpoint.restore(tmp_path, STATE)


@pytest.mark.parametrize(
    "like",
    [
        {**STATE, "step": jnp.asarray([3, 3, 3])},
        {**STATE, "step": jnp.asarray([3.0, 3.0])},
        {**STATE, "more": jnp.asarray(0)},
    ],
)
def test_another_structure_is_refused(tmp_path, like):
    checkpoint.save(tmp_path, 3, STATE, NOTES)
    with pytest.raises(UserError, match="other names, shapes or types"):
        checkpoint.restore(tmp_path, like)
