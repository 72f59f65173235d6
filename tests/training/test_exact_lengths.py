"""Evaluation draws operands of exact lengths, training does not; rows of both are never mixed."""

import dataclasses
import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import older_records
from pe_lab.runs.records.evaluation_points import EvaluationPoint, grid, is_done
from pe_lab.runs.specs import plugin_specs
from pe_lab.tasks.chance_levels import chance_levels
from pe_lab.training import step
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import CHANCE_LEVEL_EXAMPLES, Evaluator
from tests import tiny
from tests.marks import full

FREE = {
    "train__exclude_held_out": False
}  # no input is held out, so lengths are those of the task alone
ADDITION = {"name": "addition"}  # its answer has one digit more than its longest operand


def addition(exact, **changes):
    return tiny.run("rope", task=ADDITION, evaluate__exact_operands=exact, **changes)


@functools.cache
def answer_digits(exact):
    """Digits of all answers to 64 test examples of length 5."""
    made = build_setup(addition(exact, evaluate__num_examples=64, **FREE))
    params = tiny.params_of(made)
    (measured,) = Evaluator(made, (5,), lambda f, *_: jax.jit(f)).measure(
        params, EvaluationPoint("test", 5, 0), 64
    )
    return int(measured.sums.metrics["token_accuracy"].weight)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [full("longest"), "all"])
def test_evaluation_draws_operands_of_exactly_the_tested_length(exact):
    assert answer_digits(exact) == 64 * 6
    assert answer_digits("none") < 64 * 6 - 40


@pytest.mark.slow
def test_training_draws_operands_of_up_to_the_trained_length():
    exact, older = (
        build_setup(addition(value, train__min_length=3, **FREE)) for value in ("longest", "none")
    )
    drawn = [
        jax.jit(functools.partial(step.draw, made))(jax.random.key(0), jnp.asarray(0))[0]
        for made in (exact, older)
    ]
    jax.tree.map(np.testing.assert_array_equal, *drawn)
    assert len(np.unique(np.asarray(drawn[0].answer).sum(axis=1))) > 1


@pytest.mark.slow
def test_the_chance_levels_are_those_of_the_evaluated_examples(tmp_path):
    group = tiny.group("rope", seeds=1, task=ADDITION, train__steps=2, evaluate__curve_every=2)
    record = tiny.train(tmp_path, group)[0]
    assert record["config"]["evaluate"]["exact_operands"] == "longest"
    expected = chance_levels(
        build_setup(group.run).evaluated_task, [2, 3, 5], CHANCE_LEVEL_EXAMPLES
    )
    assert record["chance_levels"] == expected
    assert record["chance_levels"] != chance_levels(
        build_setup(group.run).task, [2, 3, 5], CHANCE_LEVEL_EXAMPLES
    )


@pytest.mark.parametrize(
    ("name", "exact"), [("coupling7", "all"), ("abacus4", "longest"), ("kazemnejad10", "longest")]
)
def test_presets_test_the_lengths_that_their_papers_test(name, exact):
    assert (
        importlib.import_module(f"configs.papers.{name}").get_config().evaluate.exact_operands
        == exact
    )


def older(run, count=16, exact="none"):
    """A record with all rows of a run, measured with this setting."""
    rows = [place.row("exact_match", 0.5, count) for place in grid(run)]
    evaluate = dataclasses.replace(run.evaluate, exact_operands=exact)
    measured_task = plugin_specs.evaluated_task(run.task, exact)
    measured = dataclasses.replace(run, evaluate=evaluate, evaluated_task=measured_task)
    return {"status": "finished", "rows": rows, "config": measured.to_dict()}


def test_a_record_of_the_older_meaning_is_refused():
    run = addition("longest")
    assert is_done(run, older(run, exact="longest"))
    words = (
        rf"^The run {run.run_id} was measured with config\.evaluate\.exact_operands='none' "
        r"and this study asks for 'longest': choose another results folder\.$"
    )
    with pytest.raises(UserError, match=words):
        is_done(run, older(run))


@pytest.mark.parametrize(
    "task", [{"name": "copy", "num_symbols": 6}, {"name": "addition", "lengths": "one_longest"}]
)
def test_a_record_of_a_task_that_was_exact_before_is_read_as_it_is(task):
    run = tiny.run("rope", task=task)
    assert is_done(run, older(run))


def test_a_record_from_before_the_setting_has_the_older_meaning():
    settings = addition("longest").to_dict()
    del settings["evaluate"]["exact_operands"]
    assert (
        older_records.with_current_settings(settings, "FILE")["evaluate"]["exact_operands"]
        == "none"
    )


@pytest.mark.slow
def test_a_checkpoint_with_a_curve_of_the_older_meaning_is_refused(tmp_path):
    changes = dict(seeds=1, task=ADDITION, **FREE)
    exact = ("none", "longest")
    groups = [tiny.group("rope", evaluate__exact_operands=value, **changes) for value in exact]
    assert groups[0].group_id == groups[1].group_id
    tiny.train(tmp_path, groups[0])
    for path in (tmp_path / "records").glob("*"):
        path.unlink()
    with pytest.raises(
        UserError, match=r"was measured with config\.evaluate\.exact_operands='none'"
    ):
        tiny.train(tmp_path, groups[1])
