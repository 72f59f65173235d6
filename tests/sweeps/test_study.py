import json
from pathlib import Path

import pytest
from flax import nnx

from pe_lab.runs import config, grid, records, study_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.evaluation_points import is_done
from pe_lab.runs.record_rows import row
from pe_lab.studies import base
from pe_lab.sweeps import plans, study
from pe_lab.sweeps.plans import Plan
from pe_lab.sweeps.setups import Setups
from pe_lab.training.build import build_setup
from pe_lab.training.costs import step_flops
from tests import tiny

ROPE, ALIBI, NOPE = ((dict(name=n),) for n in ("rope", "alibi", "nope"))


def expand(*axes, points=None, overrides=(), **execution):
    values = base.get_config()
    values.evaluate.update(validation_lengths=(8, 16))
    values.evaluate.update(lengths=(8, 16), offsets=(0, 4), num_examples=32, overrides=overrides)
    values.execution.update(execution)
    return study.expand(
        "fake", values.to_dict(), grid.product(*axes) if points is None else points, Path("nowhere")
    )


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


def test_an_argument_that_the_config_leaves_at_its_default_is_an_axis():
    assert [
        dict(e.run.task.arguments)["num_symbols"]
        for e in expand({"task.num_symbols": [16, 32]}).entries
    ] == [16, 32]


def test_a_point_does_not_reach_the_next_one():
    points = grid.concat(grid.product({"train.steps": [7]}), grid.product())
    assert [e.run.train.steps for e in expand(points=points).entries] == [7, 2000]


def test_an_axis_into_a_plugin_does_not_reach_another_point():
    shifted = dict(name="shifted", max_shift=1)
    points = grid.concat(
        grid.product({"positions": [shifted]}, {"positions.max_shift": [9]}),
        grid.product({"positions": [shifted]}),
    )
    assert [
        dict(e.run.positions.arguments)["max_shift"] for e in expand(points=points).entries
    ] == [9, 1]


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (
            "train.stepz",
            (
                r"The axis 'train\.stepz' leads nowhere: config\.train has no 'stepz'\. Did you "
                r"mean 'steps'\?"
            ),
        ),
        (
            "trian.steps",
            (
                r"The axis 'trian\.steps' leads nowhere: config has no 'trian'\. Did you mean "
                r"'train'\?"
            ),
        ),
        ("sed", r"The axis 'sed' leads nowhere: config has no 'sed'\. Did you mean 'seed'\?"),
        ("task.num_symbol", r"copy has no 'num_symbol'\. Did you mean 'num_symbols'\?"),
        ("layout.foo", r"config\.layout has no 'foo'"),
        ("seed.x", r"The axis 'seed\.x' leads nowhere"),
        ("model.encodings.base", r"The axis 'model\.encodings\.base' leads nowhere"),
        (
            "model.encodings.1.base",
            r"leads nowhere: config\.model\.encodings has no '1'\. .*It has: 0\.",
        ),
        ("model.encodings.0", r"leads nowhere: config\.model\.encodings holds several values"),
        ("launcher.name", r"The axis 'launcher\.name' leads nowhere: config has no 'launcher'"),
    ],
)
def test_a_misspelt_axis_is_refused(axis, words):
    with pytest.raises(UserError, match=words):
        expand({axis: [3]})


def test_an_axis_into_a_tuple_is_not_answered_with_itself():
    with pytest.raises(UserError) as refused:
        expand({"model.encodings.base": [3]})
    assert "Did you mean 'encodings'" not in str(refused.value)


def test_an_axis_reaches_an_argument_of_one_of_several_encodings():
    both = (dict(name="rope"), dict(name="sinusoidal"))
    entries = expand(
        {"model.encodings": [both, both[::-1]]}, {"model.encodings.0.base": [1e4, 5e5]}
    ).entries
    found = [
        [(e.name, dict(e.arguments)["base"]) for e in entry.run.model.encodings]
        for entry in entries
    ]
    assert found[1] == [("rope", 5e5), ("sinusoidal", 1e4)]
    assert found[2] == [("sinusoidal", 1e4), ("rope", 1e4)]
    assert found[3] == [("sinusoidal", 5e5), ("rope", 1e4)]


def test_a_misspelt_argument_of_an_encoding_is_refused():
    with pytest.raises(UserError, match=r"rope has no 'bass'\. Did you mean 'base'\?"):
        expand({"model.encodings": [(dict(name="rope", bass=1),)]})


def test_a_sweep_without_points_is_refused():
    with pytest.raises(UserError, match=r"The sweep of fake has no points\."):
        expand({"seed": []})


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


def test_nine_members_become_groups_of_five_and_four():
    runs = expand({"seed": range(3)}, {"train.learning_rate": [0.1, 0.2, 0.3]}, max_members=8).runs
    assert [len(c.runs) for c in study.groups(runs)] == [5, 4]


def test_a_point_that_is_there_twice_is_found_and_two_points_of_one_run_are_none():
    assert expand({"seed": [0, 0, 1]}).repeated == [{"seed": "0"}]
    schemes = [dict(name="contiguous"), dict(name="randomized")]
    assert expand({"model.encodings": [NOPE]}, {"positions": schemes}).repeated == []


BARE = {"label": "any", "positions": None, "encodings": []}


def measured(count=32, lengths=(8, 16), offsets=(0, 4), override=None):
    return [
        row("test", n, o, "exact_match", 0.5, count, override=override)
        for n in lengths
        for o in offsets
    ]


def validated(count=32, lengths=(8, 16)):
    return [row("validation", n, 0, "exact_match", 0.5, count) for n in lengths]


def null(length, offset):
    return row("test", length, offset, "exact_match", None, 0, "the table ends there")


@pytest.mark.parametrize(
    ("status", "rows", "done"),
    [
        ("finished", [*validated(), *measured()], True),
        ("finished", [*validated(), *measured(lengths=(4, 8, 16, 64))], True),  # more than is asked
        (
            "finished",
            [*validated(), *measured(lengths=(8,)), null(16, 0), null(16, 4)],
            True,
        ),  # nothing to measure there
        (
            "finished",
            [*validated(), *measured(), *measured(count=31, lengths=(9,))],
            True,
        ),  # a length that is not asked for
        ("finished", [*validated(), *measured(lengths=(8,))], False),
        ("finished", [*validated(), *measured(offsets=(0,))], False),
        ("finished", [*validated(lengths=(8,)), *measured()], False),
        ("finished", [*validated(), *measured(override=BARE)], False),
        ("finished", [], False),
        ("diverged", [], True),
        ("failed", [], False),
        ("failed", measured(), False),
    ],
)
def test_a_run_is_done_when_its_record_has_all_that_is_asked(status, rows, done):
    run = expand().runs[0]
    assert is_done(run, {"status": status, "rows": rows, "config": run.to_dict()}) is done


def test_a_run_is_done_when_it_has_what_is_asked_with_every_change_whatever_it_is_called():
    run = expand(overrides=[dict(encodings=(), label="bare")]).runs[0]
    plain = [*validated(), *measured()]
    found = [
        {"status": "finished", "rows": rows, "config": run.to_dict()}
        for rows in (plain, [*plain, *measured(override=BARE)])
    ]
    assert [is_done(run, each) for each in found] == [False, True]


@pytest.mark.parametrize(
    "rows", [[*validated(), *measured(count=31)], [*validated(count=31), *measured()]]
)
def test_a_run_measured_on_another_number_of_examples_is_refused(rows):
    run = expand().runs[0]
    words = (
        rf"^The run {run.run_id} has measured length 8 on 31 examples and this study asks "
        rf"for 32 examples: nothing is overwritten\.$"
    )
    with pytest.raises(UserError, match=words):
        is_done(run, {"status": "finished", "rows": rows, "config": run.to_dict()})


def test_a_run_without_a_record_is_not_done():
    assert is_done(expand().runs[0], None) is False


@pytest.mark.parametrize(
    "axis",
    [
        {"evaluate.lengths": [(2, 4), (4, 6)]},
        {"execution.chunk_steps": [10, 20]},
        {"checkpoints.interval": [1.0, 2.0]},
    ],
)
def test_what_does_not_change_the_training_is_no_axis(axis):
    section = next(iter(axis)).split(".")[0]
    with pytest.raises(
        UserError,
        match=f"config.{section} changes nothing that is trained, so it cannot be an axis",
    ):
        expand(axis)


def test_one_label_for_two_values_is_refused():
    same = [grid.labelled("rotary", (dict(name="rope", base=b),)) for b in (1e4, 5e5)]
    with pytest.raises(
        UserError, match=r"Two values of the axis 'model\.encodings' have the label 'rotary'"
    ):
        expand({"model.encodings": same})


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
