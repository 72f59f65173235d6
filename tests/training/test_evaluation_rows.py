"""An evaluation has a row for every place, with its number or the reason for its absence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.evaluation_points import EvaluationPoint, example_counts, grid, is_done
from pe_lab.training import evaluate
from pe_lab.training.batches import draw_examples
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.random_keys import EVALUATION, fold, stream_key
from tests import tiny
from tests.training.trained_members import rows_of, trained


@pytest.mark.slow
def test_splits_and_lengths_have_examples_of_their_own():
    made, _ = trained()
    prompts = [
        draw_examples(made, fold(key(split), jnp.arange(4)), jnp.full(4, 3), 3).tokens.tolist()
        for split in (0, 1)
    ]
    assert prompts[0] != prompts[1]


def key(split):
    return stream_key(stream_key(jax.random.key(0), EVALUATION), split)


@pytest.mark.slow
def test_a_length_beyond_the_table_is_null_with_its_reason():
    rows = rows_of(*beyond_table())[0]
    null = [r for r in rows if r["value"] is None]
    assert [(r["length"], r["offset"], r["count"]) for r in null] == [(5, 0, 0)]
    assert null[0]["reason"] == "learned has positions 0..7; length 5 asks for position 11"


def beyond_table():
    made = build_setup(tiny.run({"name": "learned", "max_positions": 8}))
    return made, tiny.params_of(made)


@pytest.mark.slow
def test_rows_are_the_grid_and_validation_is_in_distribution():
    rows = rows_of(*trained(steps=1))[1]
    exact = [(r["split"], r["length"], r["offset"]) for r in rows if r["metric"] == "exact_match"]
    assert exact == [
        ("validation", 2, 0),
        ("validation", 3, 0),
        ("test", 2, 0),
        ("test", 3, 0),
        ("test", 5, 0),
    ]
    assert {r["count"] for r in rows} == {16}
    assert [r["metric"] for r in rows[:6]] == [
        "exact_match",
        "exact_match_without_end",
        "first_error",
        "negative_log_likelihood",
        "token_accuracy",
        "overlap",
    ]


@pytest.mark.slow
def test_logits_that_are_not_finite_are_wrong_and_say_so():
    made, params = beyond_table()
    rows = rows_of(made, jax.tree.map(lambda p: p * jnp.nan, params))[0]
    test = {r["metric"]: r for r in rows if r["split"] == "test" and r["length"] == 2}
    assert (test["exact_match"]["value"], test["token_accuracy"]["value"]) == (0, 0)
    assert test["first_error"]["value"] == [16, 0, 0]
    assert test["negative_log_likelihood"]["value"] is None
    assert (
        test["negative_log_likelihood"]["reason"]
        == "the logits of 16 of 16 examples are not finite"
    )


@pytest.mark.slow
def test_all_lengths_and_offsets_share_one_program():
    made, params = trained(steps=1)
    programs = []

    def compiled(function, *args):
        programs.append(function)
        return jax.jit(function)

    measure = Evaluator(made, made.run.evaluate.lengths, compiled)
    for length in made.run.evaluate.lengths:
        for offset in (0, 3):
            measure.measure(params, EvaluationPoint("test", length, offset), 8)
    assert len(programs) == 1


def test_places_given_twice_are_measured_once():
    run = tiny.run("rope", evaluate__lengths=(3, 3), evaluate__offsets=(0, 4, 0))
    assert [(p.split, p.length, p.offset) for p in grid(run)] == [
        ("validation", 3, 0),
        ("test", 3, 0),
        ("test", 3, 4),
    ]


@pytest.mark.slow
def test_validation_has_lengths_of_its_own():
    run = tiny.run("rope", evaluate__validation_lengths=(1, 3), evaluate__lengths=(2, 5))
    places = [("validation", 1), ("validation", 3), ("test", 2), ("test", 5)]
    assert [(place.split, place.length) for place in grid(run)] == places
    assert list(next(iter(example_counts([run]).values()))) == places
    rows = rows_of(build_setup(run), trained(steps=1)[1])[0]
    assert [(r["split"], r["length"]) for r in rows if r["metric"] == "overlap"] == places


def test_a_run_is_done_when_every_validation_length_is_measured():
    run = tiny.run("rope", evaluate__validation_lengths=(1, 3), evaluate__lengths=(2,))
    rows = [place.row("exact_match", 1.0, run.evaluate.num_examples) for place in grid(run)]
    record = {"status": "finished", "config": run.to_dict(), "rows": rows}
    assert is_done(run, record)
    assert not is_done(run, {**record, "rows": rows[1:]})


@pytest.mark.slow
def test_validation_lengths_that_a_task_lacks_are_refused():
    run = tiny.run(task={"name": "lego"}, train__max_length=3, evaluate__validation_lengths=(1, 3))
    with pytest.raises(
        UserError, match=r"lego has no examples shorter than 2 .*got length 1 in config.*validation"
    ):
        build_setup(run)


@pytest.mark.parametrize(
    "value",
    ["high", None, np.nan, np.inf, 1j, True, np.True_, np.zeros(2), [1, np.nan], {"a": 1}],
    ids=repr,
)
def test_a_metric_whose_value_is_no_number_is_named(value):
    with pytest.raises(UserError) as error:
        evaluate._measured("mine", value)
    shown = repr(value)
    assert str(error.value) == f"The metric 'mine' has the value {shown}, which is no number."


def test_numbers_of_numpy_are_values_of_a_metric():
    assert evaluate._measured("mine", np.float32(0.5)) == 0.5
    assert type(evaluate._measured("mine", np.int64(2))) is int
    assert evaluate._measured("mine", [1, None, [2.5]]) == [1, None, [2.5]]
