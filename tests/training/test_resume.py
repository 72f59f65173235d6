import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import jax_settings
from pe_lab.training import provenance, resume
from pe_lab.training.build import build_setup
from pe_lab.training.loop import Preempted, train_run_group
from pe_lab.training.setup import Setup
from tests import tiny


@pytest.mark.slow
def test_a_training_is_not_resumed_with_another_text(tmp_path, monkeypatch):
    group = tiny.group("rope", seeds=1)
    digests = iter(["the first text", "the second text"])
    for error in (Preempted, UserError):
        monkeypatch.setattr(Setup, "data_digest", next(digests))
        with pytest.raises(error) as raised:
            train_run_group(group, tmp_path, should_leave=lambda: True)
    assert str(raised.value) == (
        f"The text of copy has changed since the checkpoint in "
        f"{tmp_path / 'checkpoints' / group.group_id} was saved: restore the text, or choose "
        f"another results folder."
    )


def test_checkpoints_from_before_texts_were_noted_are_resumed(tmp_path):
    setup = build_setup(tiny.run("rope"))
    notes = dict(resume.notes_of(setup))
    del notes["data"]
    resume.check(notes, setup, tmp_path)


def interrupted(group, folder):
    """Train one chunk of a group."""
    with pytest.raises(Preempted):
        train_run_group(group, folder, should_leave=lambda: True)


@pytest.fixture
def process_values(monkeypatch):
    """Values of the provenance that replace those of this process."""
    values = {}
    real = provenance.provenance
    monkeypatch.setattr(provenance, "provenance", lambda run: {**real(run), **values})
    return values


def resumed(group, folder):
    train_run_group(group, folder)
    return records.read_run(folder, group.run.run_id)["provenance"]


@pytest.mark.slow
def test_a_record_has_the_code_of_the_start_and_what_differed_later(tmp_path, process_values):
    group = tiny.group("rope", seeds=1, execution__chunk_steps=4, train__steps=12)
    process_values.update(commit="a" * 40, dirty=False)
    interrupted(group, tmp_path)
    process_values.update(dirty=True, code="0" * 16, versions={"jax": "1"})
    interrupted(group, tmp_path)
    found = resumed(group, tmp_path)  # the values of the process before
    (later,) = found["resumed"]
    assert (found["commit"], found["dirty"]) == ("a" * 40, False)
    assert later.pop("started") >= found["started"]
    assert later == {"step": 4, "dirty": True, "code": "0" * 16, "versions": {"jax": "1"}}


@pytest.mark.slow
def test_a_training_that_is_resumed_by_the_same_code_has_its_own_start_alone(tmp_path):
    group = tiny.group("rope", seeds=1)
    interrupted(group, tmp_path)
    assert "resumed" not in resumed(group, tmp_path)


@pytest.mark.slow
def test_a_training_is_resumed_in_a_folder_that_was_moved(tmp_path):
    group, events = tiny.group("rope", seeds=1), []
    interrupted(group, tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    train_run_group(group, tmp_path / "there", events.append)
    assert events[0] == {"event": "resumed", "step": 4}
    train_run_group(group, tmp_path / "unbroken")
    moved, unbroken = (
        records.read_run(tmp_path / name, group.run.run_id) for name in ("there", "unbroken")
    )
    assert [moved[key] for key in ("rows", "curve")] == [unbroken[key] for key in ("rows", "curve")]


@pytest.mark.slow
def test_a_training_is_not_resumed_with_another_plugin(tmp_path, process_values):
    group = tiny.group("rope", seeds=1)
    process_values["sources"] = {"encodings/rope": "0", "tasks/copy": "1"}
    interrupted(group, tmp_path)
    process_values["sources"] = {"encodings/rope": "2", "tasks/copy": "1"}
    with pytest.raises(UserError) as raised:
        train_run_group(group, tmp_path)
    folder = tmp_path / "checkpoints" / group.group_id
    assert str(raised.value) == (
        f"The code of encodings/rope has changed since the training in {folder} began: restore "
        f"it, or remove this folder to train from the beginning."
    )
    # The checkpoint of an older pe_lab does not have the modules that a plugin imports.
    process_values["sources"] = {"encodings/rope": "0", "tasks/copy": "1", "modules/mine": "3"}
    assert resumed(group, tmp_path)["sources"] == {"encodings/rope": "0", "tasks/copy": "1"}


@pytest.mark.slow
def test_a_training_is_not_resumed_with_other_settings_of_jax(tmp_path, process_values):
    group = tiny.group("rope", seeds=1)
    process_values["jax_settings"] = {"jax_enable_x64": True}
    interrupted(group, tmp_path)
    process_values["jax_settings"] = dict(jax_settings.STANDARD)
    with pytest.raises(UserError) as raised:
        train_run_group(group, tmp_path)
    folder = tmp_path / "checkpoints" / group.group_id
    assert str(raised.value) == (
        f"The training in {folder} began with jax_enable_x64=True, and this process has False: "
        f"remove this folder to train from the beginning."
    )


def test_a_checkpoint_without_provenance_is_resumed(tmp_path):
    run = tiny.run("rope")
    found = resume.origin({}, run, 4, tmp_path, has_ended=False)
    assert found == provenance.provenance(run)
    assert "started" not in found
