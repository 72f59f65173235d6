"""The studies of configs/ have the runs, figures and models that they name; nothing is trained."""

import re

import jax
import pytest

from pe_lab.contrib.papers.tasks.word_problem import WordProblem
from pe_lab.data import text
from pe_lab.results import read_analysis_spec
from pe_lab.runs import config
from pe_lab.runs.records.evaluation_points import grid as places
from pe_lab.runs.studies import analysis_spec
from pe_lab.sweeps import plans, study
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from tests.marks import full_except
from tests.study_configs import (
    PRESETS,
    ROOT,
    SHIPPED,
    WITH_SMOKE,
    expanded,
    module,
    of_form,
    path_of,
)

STUDIES = (
    *WITH_SMOKE,
    "position_probes",
    "smoke",
    "story_translation",
)


def test_every_study_is_tested_here():
    found = {path.stem for path in (ROOT / "configs").glob("*.py")} | {*SHIPPED}
    assert {name for name in found if hasattr(module(name), "sweep")} == {
        *STUDIES,
        "encoding_costs",
        "engine",
        "scaling",
    }
    assert found - {*STUDIES} == {
        "base",
        "toy",
        "gpt2",
        "encoding_costs",
        "engine",
        "scaling",
    }


WITH_FIGURES = [
    *((name, "") for name in ("huang25", "huang8", "kazemnejad10")),
    *(("huang25", form) for form in ("literature", "seeds")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), WITH_FIGURES)
def test_every_figure_of_the_literature_names_one_variant_and_a_tested_length(name, form):
    """An empty cell next to a figure means that a run is missing, not that the config is wrong."""
    labels_of = {}
    for entry in expanded(name, form=form).entries:
        labels = tuple(
            text for axis, text in entry.labels.items() if axis not in analysis_spec.SEED_AXES
        )
        labels_of[labels] = entry.run.evaluate.lengths
    literatures = read_analysis_spec.from_dict(of_form(name, "analysis", form)).literature
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
@pytest.mark.parametrize("name", full_except(["quickstart", "smoke"], STUDIES))
def test_every_cell_of_a_study_can_be_trained(name, tmp_path, monkeypatch):
    if name in ("real_text", "speedruns"):
        document = {"text": bytes(range(32, 127)) * 30}  # longer than all windows
        rows = {split: [document] for split in ("train", "validation", "test")}
        corpus = text.prepare(rows, tmp_path / ".cache/datasets")
        monkeypatch.setattr(module(name), "CORPUS", corpus)
        monkeypatch.chdir(tmp_path)
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
    overrides = [(run.seed, len(run.evaluate.overrides)) for run in trained]
    assert overrides == [(seed, 4) for seed in range(10)]
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


def test_groups_of_state_tracking_have_the_sizes_that_its_design_names():
    """Symbols, elements, and whether products commute."""
    groups = {}
    for name, (task, _) in module("state_tracking").GROUPS.items():
        arguments = {key: value for key, value in task.items() if key != "name"}
        symbols = arguments.get("generators", ())
        commute = all([p[i] for i in q] == [q[i] for i in p] for p in symbols for q in symbols)
        groups[name] = (len(symbols), WordProblem(**arguments).vocabulary.num_symbols, commute)
    assert groups == {
        "S3": (0, 6, True),  # of no generators
        "S5": (10, 120, False),
        "A5": (20, 60, False),
        "Z60": (20, 60, True),
    }
