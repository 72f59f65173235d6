"""A study holds entries, runs and groups, as its config, points and analysis say."""

import json
from pathlib import Path

import pytest
from flax import nnx

from pe_lab.runs import config, grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies import study_files
from pe_lab.studies import base
from pe_lab.sweeps import plans, study
from pe_lab.sweeps.plans import Plan
from pe_lab.sweeps.setups import Setups
from pe_lab.training.build import build_setup
from pe_lab.training.costs import step_flops
from tests import tiny
from tests.sweeps.expanded_studies import expand

ROPE, ALIBI, NOPE = ((dict(name=n),) for n in ("rope", "alibi", "nope"))


def test_every_point_is_an_entry_with_its_labels_and_its_run():
    made = expand({"model.encodings": [ROPE, grid.labelled("nothing", NOPE)]}, {"seed": range(2)})
    assert [(e.labels["model.encodings"], e.labels["seed"]) for e in made.entries] == [
        ("rope", "0"),
        ("rope", "1"),
        ("nothing", "0"),
        ("nothing", "1"),
    ]
    assert [(e.run.model.encodings[0].name, e.run.seed, e.run.data_seed) for e in made.entries] == [
        ("rope", 0, 0),
        ("rope", 1, 1),
        ("nope", 0, 0),
        ("nope", 1, 1),
    ]


def test_a_point_changes_what_it_names_and_nothing_else():
    whole, changed = (
        expand().entries[0].run.to_dict(),
        expand({"train.steps": [7]}).entries[0].run.to_dict(),
    )
    assert changed["train"].pop("steps") == 7
    assert whole["train"].pop("steps") == 2000
    assert changed == whole


def test_the_runs_of_all_seeds_are_those_that_are_read_alone():
    axes = {"model.encodings": [ROPE, ALIBI]}, {"train.learning_rate": [1e-3, 3e-3]}
    points = grid.product(*axes, {"seed": [3, 0]}, {"data_seed": [None, 5]})
    together = expand(points=points).runs
    alone = [expand(points=[point]).runs[0] for point in points]
    assert together == alone
    assert [run.run_id for run in together] == [run.run_id for run in alone]
    assert [(run.seed, run.data_seed) for run in together[:4]] == [(3, 3), (3, 5), (0, 0), (0, 5)]


@pytest.mark.parametrize("seed", [True, -1, 2**31, "1", 0.5])
def test_every_seed_is_checked(seed):
    with pytest.raises(UserError, match=r"^config\.(seed|data_seed) must be "):
        expand({"seed": [0, seed]})


@pytest.mark.slow
def test_a_config_is_read_once_for_all_seeds_and_a_model_is_traced_once_for_all_groups(
    monkeypatch, tmp_path
):
    read, traced = [], []
    from_dict, eval_shape = config.from_dict, nnx.eval_shape
    monkeypatch.setattr(config, "from_dict", lambda values: read.append(0) or from_dict(values))
    monkeypatch.setattr(nnx, "eval_shape", lambda f: traced.append(0) or eval_shape(f))
    made = expand({"model.encodings": [ROPE, ALIBI]}, {"train.steps": [1, 2]}, {"seed": range(9)})
    plan = plans.make(made, tmp_path)
    assert (len(read), len(plan.groups), len(traced)) == (4, 8, 2)
    flops = {step_flops(plan.setups.of(group.run)) for group in plan.groups}
    assert flops == {step_flops(build_setup(group.run)) for group in plan.groups}


def test_equal_runs_are_one_run_with_several_entries():
    made = expand(
        {"model.encodings": [NOPE, ROPE]},
        {"positions": [dict(name="contiguous"), dict(name="randomized")]},
    )
    assert len(made.entries) == 4
    assert [r.model.encodings[0].name for r in made.runs] == ["nope", "rope", "rope"]
    assert made.entries[0].run.run_id == made.entries[1].run.run_id


def test_the_study_file_holds_labels_and_run_ids(tmp_path):
    made = expand({"seed": [5]})
    made.write(tmp_path)
    entry = {"labels": {"seed": "5"}, "run_id": made.runs[0].run_id}
    expected = {"schema_version": 2, "name": "fake", "entries": [entry]}
    written = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert written == {**expected, "digest": records.digest(expected)}


def test_a_group_holds_the_runs_that_differ_in_their_member():
    runs = expand(
        {"seed": range(2)}, {"model.encodings": [ROPE, ALIBI]}, {"train.learning_rate": [0.1, 0.2]}
    ).runs
    found = study.groups(runs)
    assert [c.run.model.encodings[0].name for c in found] == ["rope", "alibi"]
    assert [[(r.seed, r.train.learning_rate) for r in c.runs] for c in found] == [
        [(0, 0.1), (0, 0.2), (1, 0.1), (1, 0.2)]
    ] * 2


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, [1] * 5), (2, [2, 2, 1]), (3, [3, 2]), (4, [3, 2]), (5, [5]), (8, [5])],
)
def test_a_group_holds_no_more_than_max_members(size, expected):
    found = study.groups(expand({"seed": range(5)}, max_members=size).runs)
    assert [len(c.runs) for c in found] == expected
    assert [run.seed for c in found for run in c.runs] == list(range(5))


def test_a_point_that_is_there_twice_is_found_and_two_points_of_one_run_are_none():
    assert expand({"seed": [0, 0, 1]}).repeated == [{"seed": "0"}]
    schemes = [dict(name="contiguous"), dict(name="randomized")]
    assert expand({"model.encodings": [NOPE]}, {"positions": schemes}).repeated == []


def analysed(analysis):
    """A study of two encodings and two seeds that says this of its analysis."""
    points = grid.product({"model.encodings": [ROPE, ALIBI]}, {"seed": range(2)})
    return study.expand("fake", base.get_config().to_dict(), points, Path("nowhere"), analysis)


def test_what_a_study_says_of_its_analysis_stands_in_its_file_and_changes_no_run(tmp_path):
    said = dict(question="Why?", contrasts=(("rope", "alibi"),))
    asked, plain = analysed(said), analysed({})
    assert [run.run_id for run in asked.runs] == [run.run_id for run in plain.runs]
    asked.write(tmp_path)
    assert study_files.read(tmp_path).analysis == {
        "question": "Why?",
        "contrasts": [["rope", "alibi"]],
    }
    plain.write(tmp_path)
    assert study_files.read(tmp_path).analysis == {}


@pytest.mark.parametrize(
    ("analysis", "words"),
    [
        (dict(contrasts=(("rope", "alibbi"),)), r"has no 'alibbi'\. Did you mean 'alibi'\?"),
        (
            dict(tuned=("seed",)),
            r"The sweep \(analysis: tuned\) has no 'seed'",
        ),  # seeds are not chosen
        (dict(questions=""), r"analysis\(\) has no 'questions'\. Did you mean 'question'\?"),
    ],
)
def test_an_analysis_of_what_is_not_there_is_refused_before_anything_is_trained(analysis, words):
    with pytest.raises(UserError, match=words):
        analysed(analysis)


def test_a_contrast_with_what_is_evaluated_in_place_of_the_trained_is_known():
    values = base.get_config()
    values.evaluate.overrides = (dict(encodings=(), label="bare"),)
    said = dict(contrasts=(("rope", "rope, evaluated with bare"),))
    points = grid.product({"model.encodings": [ROPE, ALIBI]})
    assert study.expand("fake", values.to_dict(), points, Path("nowhere"), said).analysis == said


@pytest.mark.slow
def test_the_time_is_shared_by_no_more_workers_than_run_groups():
    groups = (tiny.group("rope"), tiny.group("alibi"))
    setups = Setups()
    todo = Plan(study.ExpandedStudy("x", ()), Path(), groups, 4, None, {}, setups)
    # Three programs of seven seconds for each run group.
    assert "6 programs to compile; roughly 42 seconds with 1 worker, " in todo.estimate(1)
    for workers in (2, 64):
        assert "roughly 21 seconds with 2 workers, " in todo.estimate(workers)
