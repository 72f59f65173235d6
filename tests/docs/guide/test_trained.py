import numpy as np
import pytest

from docs.build.guide import trained
from pe_lab.runs.errors import UserError
from tests import tiny


@pytest.mark.full
def test_both_are_trained_and_looked_at_from_the_first_step_to_the_last(tmp_path):
    runs = trained.train(tiny.values(train__steps=100), tmp_path)
    found, tables = trained.inspect(runs, tmp_path, tmp_path)
    for ends in (
        *found["shares"].values(),
        {when: row["four terms"] for when, row in found["input"].items()},
    ):
        for when in ("before", "after"):
            assert sum(ends[when][term] for term in ("cc", "cp", "pc", "pp")) == pytest.approx(1)
    assert set(found["shares"]) == {"layer 1", "layer 2"}
    assert found["shares"]["layer 1"]["before"] != found["shares"]["layer 1"]["after"]
    assert {when: E.shape for when, E in tables.items()} == {
        "before training": (8, 16),
        "after": (8, 16),
    }
    assert np.abs(tables["after"] - tables["before training"]).max() > 0.01
    assert (tmp_path / "through.png").stat().st_size > 10_000


def test_a_training_that_failed_is_told_with_its_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(trained.sweep, "run", lambda todo, launcher: {"one": "the disk is full"})
    with pytest.raises(UserError, match=r"^The guide's training failed: the disk is full\.$"):
        trained.train(tiny.values(), tmp_path)
