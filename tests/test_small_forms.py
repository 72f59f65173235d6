"""The small forms of the studies of configs/ run from end to end."""

from pathlib import Path

import pytest

from pe_lab.cli import _config_files
from pe_lab.results import formats, frame, tables
from pe_lab.runs.records import records
from pe_lab.runs.records.evaluation_points import grid as places
from pe_lab.sweeps import plans, study, sweep
from pe_lab.sweeps.launchers.local import Local
from pe_lab.training import process
from pe_lab.training.build import build_setup
from tests.marks import full_except
from tests.record_values import places_of
from tests.study_configs import PRESETS, ROOT, WITH_SMOKE, expanded, of_form, path_of

SMOKE_FORMS = (*WITH_SMOKE, *PRESETS)


@pytest.mark.full
@pytest.mark.parametrize("name", WITH_SMOKE)
def test_a_small_form_finishes_with_all_its_rows_and_shows_them(name, tmp_path, monkeypatch):
    """Swept in this process, and with one layer where it may: half of its time is compiling."""
    values = of_form(name, "get_config", "smoke").to_dict()
    values["model"]["num_layers"] = 1
    made = study.expand(name, values, of_form(name, "sweep", "smoke"), tmp_path)
    monkeypatch.setattr(
        Local,
        "launch",
        lambda self, files, folder, *_: {file.stem: process.main(file, folder) for file in files},
    )
    assert sweep.run(plans.make(made, tmp_path), Local(workers=1)) == {}

    found = records.read_all(tmp_path)
    assert {record["status"] for record in found.values()} == {"finished"}
    assert found.keys() == {run.run_id for run in made.runs}
    assert [r for record in found.values() for r in record["rows"] if r["value"] is None] == []
    study_read = frame.read(tmp_path)
    for run in made.runs:
        expected = {
            (p.split, p.length, p.offset, p.override and p.override.label) for p in places(run)
        }
        assert places_of(found[run.run_id]) == expected
    told = {
        "architectures": {"encoder · rope"},
        "journey": {"normalized", "shaw"},
        "story_gradients": {"raw_index · normalized"},
    }  # an encoder, and an index divided by the length
    assert set(study_read.variants.query("reveals_target_length").index) == told.get(name, set())
    shown = tables.of(study_read)[0]
    rows = shown.rows if study_read.is_of_text else shown.rows[:-1]  # a text has no chance level
    assert [row[0].text.strip(" †‡") for row in rows] == list(study_read.by_name)
    assert formats.DASH not in [cell.text for row in shown.rows for cell in row[2:]]
    assert plans.make(made, tmp_path).groups == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, "smoke") for name in (*WITH_SMOKE, *PRESETS)),
        *((name, "scaled") for name in PRESETS),
        ("huang25", "literature"),
    ],
)
def test_a_form_is_asked_for_on_the_command_line(name, form, monkeypatch):
    monkeypatch.chdir(ROOT)
    read = _config_files.read(f"{path_of(name)}:{form}")
    assert read.name == f"{name}_{form}"
    assert study.expand(name, read.values, read.points, Path("nowhere"), read.analysis) == expanded(
        name, form=form
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", full_except(["coupling7", "kazemnejad10"], SMOKE_FORMS))
def test_a_smoke_form_has_few_tokens(name):
    for run in expanded(name, form="smoke").runs:
        setup = build_setup(run)
        trained = max(setup.num_tokens(run.train.max_length).values())
        tested = max(setup.num_tokens(max(run.evaluate.lengths)).values())
        num_tests = run.evaluate.num_examples * len(run.evaluate.lengths)
        assert run.train.steps <= 20
        assert run.train.batch_size * trained < 400
        assert num_tests * tested < 5000
