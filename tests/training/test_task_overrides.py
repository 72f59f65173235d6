"""Evaluation overrides that change the arguments of the task."""

import functools

import jax
import pytest

from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.runs.specs import override_specs
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import Evaluator
from tests import tiny

ADDITION = dict(name="addition", base=2, padding="none")


@functools.cache
def fresh():
    setup = build_setup(tiny.run("rope", task=ADDITION, train__max_length=2, model__num_layers=1))
    return setup, tiny.params_of(setup)


def rows_by_override(setup, params, *specs, lengths=(2, 3)):
    """The numbers of one member by override, and the programs that were compiled."""
    programs = []

    def counted(function, *arguments):
        programs.append(function)
        return jax.jit(function)

    overrides = [None, *(override_specs.override(spec, setup.run) for spec in specs)]
    measure = Evaluator(setup, lengths, counted)
    numbers = []
    for override in overrides:
        points = [EvaluationPoint("test", length, 0, override) for length in lengths]
        rows = measure.rows(params, points)[0]
        numbers.append([(r["length"], r["metric"], r["value"], r["count"]) for r in rows])
    return numbers, programs


@functools.cache
def measured():
    """Rows as trained, at the trained values, and with 1 and 3 digits of the second operand."""
    at_trained = dict(task=dict(operands=2), num_loops=1, logit_temperature="none")
    of_digits = [dict(task=dict(other_digits=digits)) for digits in (1, 3)]
    return rows_by_override(*fresh(), at_trained, *of_digits)


@pytest.mark.slow
def test_an_override_at_the_trained_values_gives_the_same_numbers_to_the_last_digit():
    (as_trained, at_trained, *others), _ = measured()
    assert at_trained == as_trained
    assert as_trained not in others
    assert others[0] != others[1]


@pytest.mark.slow
def test_overrides_of_the_task_with_equal_shapes_share_a_program():
    _, programs = measured()
    assert len(programs) == 1


@pytest.mark.slow
def test_examples_that_are_drawn_for_an_override_give_the_numbers_of_its_task():
    """The same numbers as a run of that task."""
    _, params = fresh()
    (_, _, overridden_rows, _), _ = measured()
    task = {**ADDITION, "other_digits": 1}
    run = tiny.run("rope", task=task, train__max_length=2, model__num_layers=1)
    (rows,), _ = rows_by_override(build_setup(run), params)
    # The overlap differs: training drew the inputs of another task.
    exact = [row for row in rows if row[1] != "overlap"]
    assert [row for row in overridden_rows if row[1] != "overlap"] == exact


@pytest.mark.slow
def test_weights_of_one_and_zero_give_the_numbers_of_a_component_alone():
    def run(**arguments):
        task = dict(name="mixture", tasks=("copy", "reverse"), **arguments)
        return tiny.run("rope", task=task, train__max_length=3, model__num_layers=1)

    setup = build_setup(run())
    params = tiny.params_of(setup)
    weights = [(1.0, 0.0), (0.0, 1.0)]
    specs = [dict(task=dict(weights=pair)) for pair in weights]
    (_, *overridden_rows), programs = rows_by_override(setup, params, *specs, lengths=(3,))
    assert len(programs) == 1
    alone = [rows_by_override(build_setup(run(weights=w)), params, lengths=(3,)) for w in weights]
    assert [rows for (rows,), _ in alone] == overridden_rows
    assert overridden_rows[0] != overridden_rows[1]


@pytest.mark.slow
def test_a_length_that_an_overrides_task_lacks_is_null_with_its_reason():
    task = dict(name="associative_recall", num_symbols=20, slots_per_pair=1)
    setup = build_setup(tiny.run("rope", task=task, evaluate__lengths=(2, 3, 5)))
    override = override_specs.override(dict(task=dict(num_slots=3)), setup.run)
    points = [EvaluationPoint("test", n, 0, override) for n in (3, 5)]
    evaluator = Evaluator(setup, (2, 3, 5), lambda f, *_: jax.jit(f))
    (rows,) = evaluator.rows(tiny.params_of(setup), points)
    assert [row["length"] for row in rows if row["value"] is not None] == [3] * (len(rows) - 1)
    assert rows[-1]["reason"] == (
        "associative_recall with these arguments has no examples of length 5"
    )
