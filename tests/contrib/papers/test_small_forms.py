"""The small forms of the protocols of configs/papers run, and their designs are sound."""

import pytest

from pe_lab.runs.records import records
from pe_lab.runs.records.evaluation_points import grid as places
from pe_lab.sweeps import design_checks, plans
from pe_lab.training.loop import train_run_group
from tests.record_values import places_of
from tests.study_configs import PRESETS, expanded


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
def test_every_run_group_of_a_preset_can_be_set_up(name, form, tmp_path):
    """A plan builds the setup of every run group."""
    assert plans.make(expanded(name, form=form), tmp_path).groups


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_the_smoke_form_of_a_protocol_has_no_doubt_about_its_own_design(name, tmp_path):
    """A protocol may have one, as a task with repeated inputs. Its first look has none."""
    assert design_checks.notes(expanded(name, tmp_path, "smoke"), seeds=1) == []
