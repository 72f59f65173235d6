import jaxtyping
import pytest

from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Choice


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (
            # The last axis changes fastest.
            grid.product({"a": [1, 2]}, {"b": ["x", "y"]}),
            [dict(a=1, b="x"), dict(a=1, b="y"), dict(a=2, b="x"), dict(a=2, b="y")],
        ),
        (grid.product({"a": [1], "b": [3, 4]}), [dict(a=1, b=3), dict(a=1, b=4)]),
        (grid.product(), [{}]),
        (grid.product({"a": []}, {"b": [1, 2]}), []),
        (
            grid.zipped({"a": [1, 2]}, {"b": [3, 4], "c": [5, 6]}),
            [dict(a=1, b=3, c=5), dict(a=2, b=4, c=6)],
        ),
        (
            # Points are an axis of their own.
            grid.product(grid.zipped({"a": [1, 2]}, {"b": [3, 4]}), {"seed": [0, 1]}),
            [dict(a=a, b=b, seed=seed) for a, b in ((1, 3), (2, 4)) for seed in (0, 1)],
        ),
        (
            grid.concat(grid.product({"a": [1]}), grid.product({"b": [2, 3]})),
            [dict(a=1), dict(b=2), dict(b=3)],
        ),
    ],
)
def test_axes_combine_to_points(points, expected):
    values = [{path: choice.value for path, choice in point.items()} for point in points]
    assert values == expected


def test_zipped_axes_of_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match=r"zipped axes must be equally long, got \[1, 2\] values"):
        grid.zipped({"a": [1, 2]}, {"b": [3]})


@pytest.mark.parametrize("combine", [grid.product, grid.zipped])
def test_an_axis_given_twice_is_refused(combine):
    with pytest.raises(ValueError, match=r"The axis 'seed' is given twice"):
        combine({"seed": [1]}, {"a": [1]}, {"seed": [2]})


@pytest.mark.parametrize("combine", [grid.product, grid.zipped])
def test_an_axis_without_a_path_is_refused(combine, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as outside of tests
    with pytest.raises(TypeError, match=r"^an axis is named by a path, .* got 5$"):
        combine({5: [1]})


def test_a_label_of_ones_own_replaces_it():
    assert grid.product({"a": [grid.labelled("no code", ()), 3]}) == [
        {"a": Choice((), "no code")},
        {"a": Choice(3, "3")},
    ]


def test_a_label_is_a_text(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as outside of tests
    with pytest.raises(UserError, match=r"^A label of grid.labelled must be a text, got 3\."):
        grid.labelled(3, ())


def test_seeds_can_be_replaced():
    """Equal variants with other seeds are one variant."""
    variants = grid.concat(
        grid.product({"train.steps": [1, 2]}, {"seed": [7, 8]}),
        grid.product({"train.steps": [3]}),
    )
    expected = grid.product({"train.steps": [1, 2, 3]}, {"seed": range(2)})
    assert grid.with_seeds(variants, 2) == expected
