"""Axes of a study reach the settings that they name, or are refused."""

import pytest

from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from tests.sweeps.expanded_studies import expand


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
        (
            "model.encodings.base",
            r"The axis 'model\.encodings\.base' leads nowhere: config\.model\.encodings holds "
            r"several values; name an argument of one, as in config\.model\.encodings\.0\.base\.$",
        ),
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


def test_a_sweep_without_points_is_refused():
    with pytest.raises(UserError, match=r"The sweep of fake has no points\."):
        expand({"seed": []})


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
