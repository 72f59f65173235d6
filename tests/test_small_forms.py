"""The small forms of the studies of configs/ run from end to end."""

from pathlib import Path

import pytest

from pe_lab.cli import _config_files
from pe_lab.results import formats, frame, tables
from pe_lab.runs.records import records
from pe_lab.runs.records.evaluation_points import grid as places
from pe_lab.sweeps import design_checks, plans, study, sweep
from pe_lab.sweeps.launchers.local import Local
from pe_lab.training import process
from pe_lab.training.build import build_setup
from pe_lab.training.loop import train_run_group
from tests.marks import full_except
from tests.study_configs import PRESETS, ROOT, WITH_SMOKE, expanded, module, path_of

SMOKE_FORMS = (*WITH_SMOKE, *PRESETS)


def grid(lengths, offsets=(0,), labels=(None,), trained=(8,)):
    """Validation at lengths of training, and the test grid."""
    return {("validation", n, 0, None) for n in trained} | {
        ("test", n, offset, label) for n in lengths for offset in offsets for label in labels
    }


TUNED = {("validation", n, 0, None) for n in (8, 16)} | {("test", n, 0, None) for n in (8, 16)}
EXPECTED = {  # study -> variant -> what each of its runs has measured
    "alphabet": {"nope": grid((4, 6, 8, 16), trained=(4,))},
    "architectures": {
        "decoder · rope": grid((8, 16)),
        "encoder · rope": grid((8, 16)),
        "encoder_decoder · rope": grid((8, 16)),
        "encoder_decoder · rope, in cross-attention too": grid((8, 16)),
    },
    "combine": {"add": grid((4, 8), trained=(4, 8)), "concat": grid((4, 8), trained=(4, 8))},
    "context_extension": {
        "rope": grid((8, 16), labels=(None, "linear")),
        "rope, evaluated with linear": grid((8, 16), labels=(None, "linear")),
        "tuned: no scaling": TUNED,
        "tuned: linear": TUNED,
    },
    "budget": {
        f"{encoding} · {steps} steps": grid((4, 5, 6, 8, 12, 16), trained=(4,))
        for steps in (12, 18)
        for encoding in ("fire", "alibi")
    },
    "convolution": {
        f"{encoding} · {convolution} · {sinks}": grid((4, 5, 6, 8, 12, 16), trained=(4,))
        for encoding in ("nope", "rope")
        for convolution in ("no convolution", "convolution")
        for sinks in ("no sinks", "sinks")
    },
    "exposure": {
        "contiguous": grid((8, 12), (0, 32)),
        "shifted(max_shift=32)": grid((8, 12), (0, 32)),
    },
    "hybrids": {
        name: grid((4, 5, 6, 8, 12, 16), trained=(4,)) for name in ("rope", "Llama 4", "DroPE")
    },
    "journey": {"normalized": grid((8, 12, 16), (0, 32)), "shaw": grid((8, 12, 16), (0, 32))},
    "more_seeds": {"alibi(learn_slopes=True)": grid((4, 5, 6, 8, 12, 16), trained=(4,))},
    "noise": {name: grid((8, 9, 10, 12, 16, 24)) for name in ("rope", "t5_bias", "alibi", "fire")},
    "quickstart": {name: grid((4, 8), trained=(4,)) for name in ("shaw", "rope")},
    "saturation": {f"shaw(clip={clip})": grid((4, 6, 8, 16), trained=(4,)) for clip in (4, 8)},
    "size_ladder": {
        name: grid((4, 5, 6, 8, 12, 16), trained=(4,))
        for name in ("alibi(learn_slopes=True)", "nope · convolution")
    },
    "story_gradients": {
        name: grid((8, 12, 16)) for name in ("raw_index", "sinusoidal", "raw_index · normalized")
    },
    "story_grids": {name: grid((2, 4), trained=(2,)) for name in ("sinusoidal", "sinusoidal_2d")},
    "story_holes": {
        name: grid((4, 8), (0, 1, 3, 4, 12), trained=(4,))
        for name in ("sinusoidal", "learned(init_std=0.7)")
    },
    "story_recurrent": {name: grid((2, 4, 6, 8, 16), trained=(4,)) for name in ("LSTM", "ALiBi")},
    "story_scale": {name: grid((8, 12, 16)) for name in ("scaled", "unscaled")},
    "story_separators": {
        name + override: grid((4, 8), labels=(None, "wide items"), trained=(4,))
        for name in ("sinusoidal · tokens", "sinusoidal · separators", "cope · tokens")
        for override in ("", ", evaluated with wide items")
    },
    "story_sharing": {name: grid((8, 16)) for name in ("separate", "Q = K", "Q = K = V")},
    "suite_grid": {
        encoding: grid((4, 5, 6, 8, 12, 16), trained=(4,)) for encoding in ("nope", "sinusoidal")
    },
    "temperature": {"log_n": grid((8, 16)), "ssmax": grid((8, 16))},
    "warm_up": {"kerple": grid((4, 5, 6, 8, 12, 16), trained=(4,))},
}


@pytest.mark.full
@pytest.mark.parametrize("name", WITH_SMOKE)
def test_a_small_form_finishes_with_all_its_rows_and_shows_them(name, tmp_path, monkeypatch):
    """Swept in this process, and with one layer where it may: half of its time is compiling."""
    values = module(name).get_config(smoke=True).to_dict()
    if name != "hybrids":  # its encodings name their layers
        values["model"]["num_layers"] = 1
    made = study.expand(name, values, module(name).sweep(smoke=True), tmp_path)
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
    tested = {}
    for variant in study_read.by_name:
        tested[variant] = [
            {place for place in places_of(found[run_id]) if place[0] == "test"}
            for run_id in study_read.cases_of(variant)["run_id"]
        ]
    assert tested == {
        variant: [{place for place in rows if place[0] == "test"}]
        for variant, rows in EXPECTED[name].items()
    }
    told = {
        "architectures": {"encoder · rope"},
        "journey": {"normalized", "shaw"},
        "story_gradients": {"raw_index · normalized"},
    }  # an encoder, and an index divided by the length
    assert set(study_read.variants.query("reveals_target_length").index) == told.get(name, set())
    shown = tables.of(study_read)[0]
    assert [row[0].text.strip(" †‡") for row in shown.rows[:-1]] == list(EXPECTED[name])
    assert formats.DASH not in [cell.text for row in shown.rows for cell in row[2:]]
    assert plans.make(made, tmp_path).groups == ()


@pytest.mark.full
@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_small_form_trains_one_cell_and_measures_all_that_it_asks_for(name, tmp_path):
    made = expanded(name, tmp_path, smoke=True)
    (cell,) = plans.make(made, tmp_path).groups
    train_run_group(cell, tmp_path)
    (record,) = records.read_all(tmp_path).values()
    assert (record["status"], record["cost"]["steps"]) == ("finished", cell.run.train.steps)
    assert places_of(record) == {(p.split, p.length, p.offset, None) for p in places(cell.run)}
    assert [r for r in record["rows"] if r["value"] is None] == []


@pytest.mark.full
@pytest.mark.parametrize("form", [{}, {"scaled": True}, {"smoke": True}], ids=str)
@pytest.mark.parametrize("name", PRESETS)
def test_every_run_group_of_a_preset_can_be_set_up(name, form, tmp_path):
    """A plan builds the setup of every run group."""
    assert plans.make(expanded(name, **form), tmp_path).groups


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_the_smoke_form_of_a_protocol_has_no_doubt_about_its_own_design(name, tmp_path):
    """A protocol may have one, as a task with repeated inputs. Its first look has none."""
    assert design_checks.notes(expanded(name, tmp_path, smoke=True), seeds=1) == []


def places_of(record):
    return {
        (r["split"], r["length"], r["offset"], r["override"] and r["override"]["label"])
        for r in record["rows"]
    }


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
        name, **{form: True}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", full_except(["coupling7", "kazemnejad10"], SMOKE_FORMS))
def test_a_smoke_form_has_few_tokens(name):
    for run in expanded(name, smoke=True).runs:
        setup = build_setup(run)
        trained = max(setup.num_tokens(run.train.max_length).values())
        tested = max(setup.num_tokens(max(run.evaluate.lengths)).values())
        num_tests = run.evaluate.num_examples * len(run.evaluate.lengths)
        assert run.train.steps <= 20
        assert run.train.batch_size * trained < 400
        assert num_tests * tested < 5000
