import pytest

from pe_lab.runs.errors import UserError
from pe_lab.training import resume
from pe_lab.training.build import build_setup
from pe_lab.training.loop import Preempted, train_run_group
from pe_lab.training.setup import Setup
from tests import tiny


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
