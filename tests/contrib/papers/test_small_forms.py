"""The small forms of the protocols of configs/papers run, and their designs are sound."""

import pytest

from configs import real_text
from pe_lab.data import text
from pe_lab.runs.records import records
from pe_lab.runs.records.evaluation_points import grid as places
from pe_lab.sweeps import design_checks, plans
from pe_lab.training.loop import train_run_group
from tests.record_values import places_of
from tests.study_configs import PRESETS, expanded, module


@pytest.mark.full
@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_small_form_trains_one_cell_and_measures_all_that_it_asks_for(name, tmp_path):
    made = expanded(name, tmp_path, "smoke")
    (cell,) = plans.make(made, tmp_path).groups
    train_run_group(cell, tmp_path)
    (record,) = records.read_all(tmp_path).values()
    assert (record["status"], record["cost"]["steps"]) == ("finished", cell.run.train.steps)
    assert places_of(record) == {(p.split, p.length, p.offset, None) for p in places(cell.run)}
    assert [r for r in record["rows"] if r["value"] is None] == []


@pytest.mark.full
@pytest.mark.parametrize("form", ["", "scaled", "smoke"])
@pytest.mark.parametrize("name", PRESETS)
def test_every_run_group_of_a_preset_can_be_set_up(name, form, tmp_path, monkeypatch):
    """A plan builds the setup of every run group."""
    if name == "enwik8" and form != "smoke":
        replace_texts(tmp_path, monkeypatch)
    assert plans.make(expanded(name, tmp_path, form), tmp_path).groups


def replace_texts(folder, monkeypatch):
    """Replace the texts of enwik8, which no checkout has, by short ones."""
    monkeypatch.chdir(folder)
    content = bytes(range(32, 127)) * 60  # longer than all windows
    (folder / "enwik8").write_bytes(content * 3)
    monkeypatch.setattr(module("enwik8"), "SPLITS", (len(content),) * 3)
    rows = {split: [{"text": content}] for split in ("train", "validation", "test")}
    monkeypatch.setattr(real_text, "CORPUS", text.prepare(rows, folder / ".cache/datasets"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_the_smoke_form_of_a_protocol_has_no_doubt_about_its_own_design(name, tmp_path):
    """A protocol may have one, as a task with repeated inputs. Its first look has none."""
    assert design_checks.notes(expanded(name, tmp_path, "smoke"), seeds=1) == []
