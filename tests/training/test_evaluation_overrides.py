"""A run is evaluated with what an override changes."""

import dataclasses
import json

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.runs.specs import override_specs
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from pe_lab.training.warm_start import overridden
from tests import tiny
from tests.training.trained_members import evaluator, rows_of, trained


def two_encodings():
    """A table at the input, and two encodings in attention, the second with parameters."""
    return trained("learned", "rope", "t5_bias", model__num_layers=1)


def numbers(measured):
    """What does not depend on how it was computed."""
    exact = ("exact_match", "exact_match_without_end", "token_accuracy")
    of_members = []
    for member in measured:
        sums = member.sums.metrics
        losses, targets = sums["negative_log_likelihood"]
        of_members.append(
            {name: (int(sums[name].total), int(sums[name].weight)) for name in exact}
            | {"not_finite": int(member.sums.not_finite), "targets": int(targets)}
            | {"losses": pytest.approx(float(losses), rel=1e-5)}
        )
    return of_members


def measured(made, params, spec=None):
    override = None if spec is None else override_specs.override(spec, made.run)
    return numbers(evaluator(made).measure(params, EvaluationPoint("test", 3, 0, override), 16))


@pytest.mark.slow
def test_a_change_that_changes_nothing_gives_equal_numbers():
    made, params = two_encodings()
    own = made.run.to_dict()
    for spec in (dict(positions=own["positions"]), dict(encodings=own["model"]["encodings"])):
        assert measured(made, params, spec) == measured(made, params)


@pytest.mark.slow
def test_loops_and_temperature_at_evaluation_are_those_of_a_model_with_them():
    made, params = trained("rope")
    for spec in (dict(num_loops=2), dict(logit_temperature="log_n")):
        changes = {f"model__{name}": value for name, value in spec.items()}
        with_them = build_setup(tiny.run("rope", **changes))
        assert measured(made, params, spec) == measured(with_them, params)
        assert measured(made, params, spec) != measured(made, params)


@pytest.mark.slow
def test_another_scheme_at_evaluation_gives_its_own_numbers():
    """Shifted by up to 0 is no shift; randomized positions are another thing."""
    made, params = two_encodings()
    assert measured(made, params, dict(positions=dict(name="shifted", max_shift=0))) == measured(
        made, params
    )
    randomized = dict(positions=dict(name="randomized", maximum=16))
    as_trained, other = measured(made, params), measured(made, params, randomized)
    assert other != as_trained
    run = dataclasses.replace(
        made.run, positions=override_specs.override(randomized, made.run).positions
    )
    assert other == measured(build_setup(run), params)


@pytest.mark.slow
def test_without_an_encoding_it_is_the_model_without_it_with_the_other_parameters():
    made, params = two_encodings()
    less = measured(made, params, dict(encodings=[dict(name="rope"), dict(name="t5_bias")]))
    stack = {name: part for name, part in params["decoder"].items() if name != "input_encodings"}
    without = build_setup(tiny.run("rope", "t5_bias", model__num_layers=1))
    assert less == measured(without, {**params, "decoder": stack})
    assert less != measured(made, params)


@pytest.mark.slow
def test_rows_say_with_what_change_they_were_measured():
    spec = dict(
        positions=dict(name="randomized", maximum=8), encodings=[dict(name="rope")], label="other"
    )
    run = tiny.run("rope", evaluate__overrides=[spec], evaluate__lengths=(2, 3, 5))
    rows = rows_of(build_setup(run), trained(steps=1)[1])[0]
    exact = [
        (r["split"], r["length"], r["override"] and r["override"]["label"])
        for r in rows
        if r["metric"] == "exact_match"
    ]
    plain = [
        ("validation", 2, None),
        ("validation", 3, None),
        ("test", 2, None),
        ("test", 3, None),
        ("test", 5, None),
    ]
    assert exact == [*plain, ("test", 2, "other"), ("test", 3, "other"), ("test", 5, "other")]
    (override,) = {
        json.dumps(r["override"], sort_keys=True): r["override"] for r in rows if r["override"]
    }.values()
    assert override == {**run.evaluate.overrides[0].to_dict(), "reveals_target_length": True}
    assert override["positions"] == {
        "name": "randomized",
        "maximum": 8,
        "per": "batch",
        "per_layer": False,
    }
    beyond = [(r["value"], r["reason"]) for r in rows if r["override"] and r["length"] == 5]
    assert beyond == [(None, "randomized has 8 positions; length 5 asks for 12")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            dict(encodings=[dict(name="rope"), dict(name="learned")]),
            r"^learned has parameters that the run \w+ was not trained with\.$",
        ),
        (
            dict(positions=dict(name="normalized"), encodings=[dict(name="binary")]),
            "binary needs whole positions",
        ),
        (dict(encodings=[dict(name="rope", fraction=0.1)]), "RoPE"),
        (
            dict(logit_temperature="ssmax"),
            (
                r"^An evaluation override cannot change logit_temperature from 'none' to 'ssmax', "
                r"because"
            ),
        ),
    ],
)
def test_a_change_that_the_model_cannot_take_is_refused(spec, sentence):
    made = build_setup(tiny.run("rope"))
    with pytest.raises(UserError, match=sentence):
        overridden(made, override_specs.override(spec, made.run))


@pytest.mark.slow
def test_a_change_may_go_where_training_would_be_refused():
    """A table that ends within the training length is of no use in training; here it gives rows of
    null.
    """
    made = build_setup(tiny.run({"name": "learned", "max_positions": 8}))
    spread = overridden(
        made, override_specs.override(dict(positions=dict(name="randomized", maximum=13)), made.run)
    )
    assert out_of_reach(spread, 3, 0) == "learned has positions 0..7; length 3 asks for position 12"
