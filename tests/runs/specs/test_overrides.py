"""An evaluation override changes what it names and leaves the rest of a run."""

import dataclasses
import json

import pytest

from pe_lab.runs import config
from pe_lab.runs.run import from_record
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.runs.specs import override_specs
from tests.runs.config_runs import SHIFTED, encodings, run


def applied(spec, **changes):
    made = run(**changes)
    return made, made.with_override(override_specs.override(spec, made))


def test_an_override_replaces_only_the_position_scheme():
    made, other = applied(dict(positions=SHIFTED))
    assert other.positions == Plugin("shifted", (("max_shift", 5),))
    assert dataclasses.replace(other, positions=made.positions) == made


def test_an_override_replaces_only_the_encodings():
    made, other = applied(dict(encodings=()))
    assert other.model.encodings == ()
    assert dataclasses.replace(other, model=made.model) == made


def test_an_override_of_the_task_keeps_the_arguments_that_it_leaves_open():
    task = dict(name="addition", padding="none", zero=False)
    trained, other = applied(dict(task=dict(operands=3)), task=task)
    changed = {"operands": 3}
    assert other.task.to_dict() == trained.task.to_dict() | changed
    assert other.evaluated_task.to_dict() == trained.evaluated_task.to_dict() | changed
    assert trained.evaluated_task != trained.task
    unchanged = {"task": trained.task, "evaluated_task": trained.evaluated_task}
    assert dataclasses.replace(other, **unchanged) == trained


def test_an_override_of_the_model_changes_its_settings_and_nothing_else():
    trained, other = applied(dict(num_loops=3, logit_temperature="log_n"))
    assert (other.model.num_loops, other.model.logit_temperature) == (3, "log_n")
    assert dataclasses.replace(other, model=trained.model) == trained


def test_an_override_at_the_trained_values_is_the_run_itself():
    for spec in (dict(task=dict(distinct=True)), dict(num_loops=1, logit_temperature="none")):
        trained, other = applied(spec)
        assert other == trained


def test_a_record_gives_every_override_back():
    specs = (
        dict(task=dict(distinct=False), num_loops=2, axes={"distinct": "yes", "loops": "2"}),
        dict(logit_temperature="log_n", encodings=()),
    )
    overridden = run(evaluate__overrides=specs)
    values = json.loads(json.dumps(overridden.to_dict()))
    assert from_record(values) == config.from_dict(values) == overridden


def test_an_override_holds_only_the_later_fields_that_it_uses():
    assert set(override_specs.override(dict(encodings=()), run()).to_dict()) == {
        "label",
        "positions",
        "encodings",
        "is_complete",
    }


@pytest.mark.parametrize(
    ("trained", "spec"),
    [
        (
            dict(task=dict(name="addition", other_digits=3)),
            dict(task=dict(other_digits=None)),
        ),
        (
            encodings(dict(name="rope", heads=(0,))),
            dict(encodings=(dict(name="rope", heads=None),)),
        ),
        (
            encodings(dict(name="fire", positions=dict(name="contiguous"))),
            dict(encodings=(dict(name="fire", positions=None),)),
        ),
    ],
)
def test_an_override_is_the_same_after_a_file_even_where_it_removes_a_setting(trained, spec):
    overridden = run(**trained, evaluate__overrides=[spec])
    values = json.loads(json.dumps(overridden.to_dict()))
    assert config.from_dict(values) == overridden
    (override,) = overridden.evaluate.overrides
    assert overridden.with_override(override) != overridden


def test_what_a_change_leaves_open_is_as_the_run_was_trained():
    trained = encodings(dict(name="rope", base=5e5, layers=(1,)), dict(name="rope", layers=(0,)))
    made, other = applied(
        dict(encodings=[dict(name="rope", fraction=0.5), dict(name="rope"), dict(name="rope")]),
        **trained,
    )
    first, second, third = other.model.encodings
    assert (dict(first.arguments)["base"], dict(first.arguments)["fraction"], first.layers) == (
        5e5,
        0.5,
        (1,),
    )
    assert second == made.model.encodings[1]
    assert third.layers is None
    made, other = applied(
        dict(positions=dict(name="randomized", per="example")),
        positions=dict(name="randomized", maximum=99),
    )
    assert dict(other.positions.arguments) == {"maximum": 99, "per": "example", "per_layer": False}


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        (dict(positions=SHIFTED), "shifted(max_shift=5)"),
        (dict(encodings=()), "none"),
        (dict(encodings=[dict(name="rope")], positions=SHIFTED), "rope at shifted(max_shift=5)"),
        (dict(encodings=[dict(name="rope")], label="rotary"), "rotary"),
        (dict(task=dict(distinct=False)), "distinct=False"),
        (
            dict(task=dict(distinct=False), encodings=(), num_loops=2, logit_temperature="log_n"),
            "none, distinct=False, num_loops=2, logit_temperature=log_n",
        ),
    ],
)
def test_a_change_reads_as_it_is_written(spec, label):
    assert override_specs.override(spec, run()).label == label
