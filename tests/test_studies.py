"""The studies of configs/: in their small form from end to end, in their full form without
training.
"""

import functools
import importlib
import inspect
import re
from pathlib import Path

import jax
import pytest

from pe_lab.cli import _config_files
from pe_lab.results import formats, frame, read_analysis_spec, tables
from pe_lab.runs import analysis_spec, config, record_rows, records, rope_parameters
from pe_lab.runs.evaluation_points import grid as places
from pe_lab.sweeps import design_checks, plans, study, sweep, tuning
from pe_lab.sweeps.launchers.local import Local
from pe_lab.training import process, run_records
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from pe_lab.training.loop import train_run_group
from tests.marks import full_except

ROOT = Path(__file__).parents[1]
WITH_SMOKE = (
    "alphabet",
    "architectures",
    "budget",
    "combine",
    "context_extension",
    "convolution",
    "exposure",
    "hybrids",
    "journey",
    "noise",
    "quickstart",
    "saturation",
    "story_gradients",
    "story_grids",
    "story_holes",
    "story_recurrent",
    "story_scale",
    "story_separators",
    "story_sharing",
    "suite_grid",
    "temperature",
)
PRESETS = (
    "abacus4",
    "coupling7",
    "jelassi3",
    "kazemnejad10",
    "huang8",
    "huang25",
    "lm_extrapolation",
    "mqar",
    "ruoss15",
)  # papers' protocols
SHIPPED = ("base", "quickstart", "suite", "suite_grid")
SMOKE_FORMS = (*WITH_SMOKE, *PRESETS)
STUDIES = (
    *WITH_SMOKE,
    "copy_longer",
    "position_probes",
    "smoke",
    "story_alike",
    "story_translation",
)
TWO_STAGES = {"copy_baselines": 15, "suite": 42, "suite_recall": 14}  # variants


def module(name):
    package = "configs.papers" if name in PRESETS else "configs"
    package = "pe_lab.studies" if name in SHIPPED else package
    return importlib.import_module(f"{package}.{name}")


def path_of(name):
    return module(name).__name__.replace(".", "/") + ".py"


@functools.cache  # the largest study has thousands of runs
def expanded(name, folder=Path("nowhere"), **form):
    analyze = getattr(module(name), "analysis", None)
    takes_form = analyze is not None and form.keys() <= inspect.signature(analyze).parameters.keys()
    said = analyze(**form) if takes_form else {}
    return study.expand(
        name, module(name).get_config(**form).to_dict(), module(name).sweep(**form), folder, said
    )


def test_every_study_is_tested_here():
    found = {path.stem for path in (ROOT / "configs").glob("*.py")} | {*SHIPPED}
    assert {name for name in found if hasattr(module(name), "sweep")} == {
        *STUDIES,
        *TWO_STAGES,
        "encoding_costs",
        "engine",
        "scaling",
        "suite_pilot",
    }
    assert found - {*STUDIES, *TWO_STAGES} == {
        "base",
        "toy",
        "gpt2",
        "encoding_costs",
        "engine",
        "scaling",
        "suite_pilot",
    }


def grid(lengths, offsets=(0,), labels=(None,), trained=(8,)):
    """Validation at lengths of training, and the test grid."""
    return {("validation", n, 0, None) for n in trained} | {
        ("test", n, offset, label) for n in lengths for offset in offsets for label in labels
    }


TUNED = {("validation", n, 0, None) for n in (8, 16)} | {("test", n, 0, None) for n in (8, 16)}
EXPECTED = {  # study -> variant -> what each of its runs has measured
    "alphabet": {"learned(init_std=0.7)": grid((4, 6, 8, 16), trained=(4,))},
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
    "noise": {name: grid((8, 9, 10, 12, 16, 24)) for name in ("rope", "t5_bias", "alibi", "fire")},
    "quickstart": {name: grid((4, 8), trained=(4,)) for name in ("shaw", "rope")},
    "saturation": {f"shaw(clip={clip})": grid((4, 6, 8, 16), trained=(4,)) for clip in (4, 8)},
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


WITH_FIGURES = [
    *((name, {}) for name in ("coupling7", "huang25", "huang8", "kazemnejad10")),
    ("huang25", {"literature": True}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), WITH_FIGURES, ids=str)
def test_every_figure_of_the_literature_names_one_variant_and_a_tested_length(name, form):
    """An empty cell next to a figure means that a run is missing, not that the config is wrong."""
    labels_of = {}
    for entry in expanded(name, **form).entries:
        labels = tuple(
            text for axis, text in entry.labels.items() if axis not in analysis_spec.SEED_AXES
        )
        labels_of[labels] = entry.run.evaluate.lengths
    literatures = read_analysis_spec.from_dict(module(name).analysis(**form)).literature
    assert literatures
    for literature in literatures:
        assert len(literature.source) > 20
        for figure in literature.figures:
            wanted = set(analysis_spec.parts(figure.variant))
            (lengths,) = [lengths for labels, lengths in labels_of.items() if wanted <= {*labels}]
            point = figure.metric.point
            first, last = point.lengths or (point.length, point.length)
            assert any(first <= length <= last for length in lengths)


@pytest.mark.parametrize("name", PRESETS)
def test_a_protocol_names_what_it_was_compared_with_and_what_differs(name):
    about = module(name).__doc__
    assert re.search(r"Compared with the authors' code, \S+/\S+\s+at [0-9a-f]{7}", about)
    assert "\nDiffers:\n- " in about
    assert "\nScaled: " in about
    assert re.search(rf"{re.escape(path_of(name))}:scaled +# about [\d.]+ (hours|minutes)", about)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *STUDIES,
        *(pytest.param(n, marks=pytest.mark.full) if n == "ruoss15" else n for n in PRESETS),
    ],
)
def test_a_study_has_the_runs_and_the_command_that_it_names(name):
    about = module(name).__doc__
    (promised,) = re.findall(r"([\d,]+)\s+runs\b", about)
    assert len(expanded(name).runs) == int(promised.replace(",", ""))
    config = name if name in SHIPPED else path_of(name)
    assert f"pe-lab sweep {config}" in about
    assert (f"pe-lab sweep {config}:smoke" in about or f"{config}:smoke)" in about) == (
        name in (*WITH_SMOKE, *PRESETS)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", full_except(["copy_baselines"], TWO_STAGES))
def test_a_study_in_two_stages_has_the_runs_that_it_names(name, tmp_path):
    tune, points = tuning.read(module(name).tune), module(name).sweep()
    first = tuning.first_points(points, tune)
    values, analysis = module(name).get_config().to_dict(), module(name).analysis()
    stage = study.expand(name, values, first, tmp_path, analysis | {"tuned": tuple(tune.axes)})
    for run in stage.runs:  # untrained records, in which the first setting is the best
        record = run_records.blank(run)
        loss = run.train.learning_rate
        row = record_rows.row("validation", 16, 0, "negative_log_likelihood", loss, 1)
        exposure = {"max_length": run.train.max_length}
        finished = {"status": "finished", "rows": [row], "exposure": exposure}
        records.write(tmp_path, {**record, **finished})
    tuned = tuning.choose(stage, first, tune, tmp_path)
    last = tuning.last_points(points, tune, tuned)
    whole = study.expand(name, values, [*first, *last], tmp_path)
    (promised,) = re.findall(r"([\d,]+)\s+runs\b", module(name).__doc__)
    assert len(whole.runs) == int(promised.replace(",", ""))
    seeds_of = {}
    for entry in whole.entries:
        rate = entry.labels["train.learning_rate"]
        variant = (entry.run.task, entry.run.model, entry.run.positions, entry.run.train.steps)
        seeds_of.setdefault(variant, {}).setdefault(rate, []).append(entry.run.seed)
    assert len(seeds_of) == TWO_STAGES[name]
    tried = [[*range(10)]] + [[*range(tune.seeds)]] * (len(tune.axes["train.learning_rate"]) - 1)
    for seeds in seeds_of.values():
        assert [sorted(of_rate) for of_rate in seeds.values()] == tried


@pytest.mark.slow
@pytest.mark.parametrize("name", full_except(["quickstart", "smoke"], STUDIES))
def test_every_cell_of_a_study_can_be_trained(name, tmp_path):
    made = expanded(name, tmp_path)
    todo = plans.make(made, tmp_path)
    assert todo.missing == len(made.runs)
    assert sum(len(wave) for wave in study.waves(todo.groups)) == len(todo.groups)


@pytest.mark.slow
def test_the_table_of_exposure_ends_just_behind_its_farthest_position():
    """Randomized positions reach 65 and the largest offset adds 32: no place is out of reach, and
    one more is.
    """
    runs = [
        run
        for run in expanded("exposure").runs
        if run.model.encodings[0].name == "learned" and run.seed == 0
    ]
    assert [run.positions.name for run in runs] == ["contiguous", "shifted", "randomized"] * 2
    for run in runs:
        made = build_setup(run)
        assert {out_of_reach(made, place.length, place.offset) for place in places(run)} == {None}
    assert (
        out_of_reach(made, 16, 33) == "learned has positions 0..97; length 16 asks for position 98"
    )


@pytest.mark.slow
def test_a_tuned_run_starts_from_the_trained_one_of_its_seed():
    runs = expanded("context_extension").runs
    trained, tuned = [r for r in runs if r.init_from is None], [r for r in runs if r.init_from]
    assert [(run.seed, len(run.evaluate.overrides)) for run in trained] == [(0, 4), (1, 4), (2, 4)]
    of_seed = {run.seed: run.run_id for run in trained}
    assert (
        [run.init_from.run_id for run in tuned]
        == [of_seed[run.seed] for run in tuned]
        == list(of_seed.values()) * 5
    )
    assert {(run.train.steps, run.train.max_length, run.train.learning_rate) for run in tuned} == {
        (200, 16, 1e-3)
    }
    scalings = [dict(run.model.encodings[0].arguments)["scaling"] for run in tuned if run.seed == 0]
    assert scalings == ["none", "linear", "ntk", "yarn", "llama3"]
    made = build_setup(trained[0])
    assert {
        dict(c.encodings[0].arguments)["trained_length"] for c in trained[0].evaluate.overrides
    } == {None, *made.num_tokens(8).values()}


def parameters(name):
    made = build_setup(config.from_dict(module(name).get_config().to_dict()))
    return sum(leaf.size for leaf in jax.tree.leaves(made.abstract_params)), made


@pytest.mark.slow
def test_toy_has_twenty_thousand_parameters():
    words, width, hidden = 16 + 5, 32, 80
    layer = 4 * width**2 + (width * hidden + hidden) + (hidden * width + width) + 2 * 2 * width
    assert parameters("toy")[0] == 2 * words * width + 2 * layer + 2 * width == 20_320
    assert "20 thousand parameters" in module("toy").__doc__


@pytest.mark.full
def test_gpt2_has_the_parameters_of_gpt2_without_the_biases_of_attention():
    """One table for input and output, 1024 learned positions; nothing is trained here."""
    width, hidden, layers = 768, 3072, 12
    layer = 4 * width**2 + (width * hidden + hidden) + (hidden * width + width) + 2 * 2 * width
    found, made = parameters("gpt2")
    assert found == (50_257 + 1024) * width + layers * layer + 2 * width
    fewer, of = (
        int(number.replace(",", ""))
        for number in re.findall(r"\d+,[\d,]*\d", module("gpt2").__doc__)
    )
    assert (fewer, of, found) == (layers * 4 * width, 124_439_808, of - fewer)
    assert made.layout.vocabularies(made.task) == {"decoder": 50_257}
    assert made.num_tokens(510) == {"decoder": 1022}


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


def test_hybrids_have_the_layers_of_published_configs():
    encodings = module("hybrids").encodings()
    num_layers = module("hybrids").NUM_LAYERS
    for name, family in {
        "SmolLM3": "smollm3",
        "Llama 4": "llama4_text",
        "Command R7B": "cohere2",
    }.items():
        published = rope_parameters.read({"model_type": family, "num_hidden_layers": num_layers})
        assert encodings[name][0]["layers"] == published[0]["layers"] == (0, 1, 2)


def test_only_swan_has_scaled_logits_in_evaluation_on_its_layer_without_rotation():
    layers = {}
    for run in expanded("hybrids").runs:
        for override in run.evaluate.overrides:
            trained = [e.layers for e in run.model.encodings]
            layers[override.label] = (trained, [e.layers for e in override.encodings])
    rotated = [(1, 2, 3), (1, 2, 3)]
    assert layers == {"scaled logits": (rotated, [*rotated, (0,)])}
