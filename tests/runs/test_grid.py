import pytest

from pe_lab.runs import grid
from pe_lab.runs.grid import Choice


def values(points):
    return [{path: choice.value for path, choice in point.items()} for point in points]


def labels(points):
    return [{path: choice.label for path, choice in point.items()} for point in points]


def test_the_last_axis_of_a_product_changes_fastest():
    assert values(grid.product({"a": [1, 2]}, {"b": ["x", "y"]})) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_several_paths_in_one_mapping_are_several_axes():
    assert grid.product({"a": [1, 2], "b": [3, 4]}) == grid.product({"a": [1, 2]}, {"b": [3, 4]})


def test_a_product_of_nothing_is_one_point_without_changes():
    assert grid.product() == [{}]


def test_a_product_with_an_empty_axis_has_no_points():
    assert grid.product({"a": []}, {"b": [1, 2]}) == []


def test_zipped_axes_go_together():
    assert values(grid.zipped({"a": [1, 2]}, {"b": [3, 4], "c": [5, 6]})) == [
        {"a": 1, "b": 3, "c": 5},
        {"a": 2, "b": 4, "c": 6},
    ]


def test_zipped_axes_of_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match=r"zipped axes must be equally long, got \[1, 2\] values"):
        grid.zipped({"a": [1, 2]}, {"b": [3]})


def test_points_are_an_axis_of_their_own():
    pairs = grid.zipped({"a": [1, 2]}, {"b": [3, 4]})
    assert values(grid.product(pairs, {"seed": range(2)})) == [
        {"a": 1, "b": 3, "seed": 0},
        {"a": 1, "b": 3, "seed": 1},
        {"a": 2, "b": 4, "seed": 0},
        {"a": 2, "b": 4, "seed": 1},
    ]


def test_concat_puts_one_list_after_the_other():
    assert values(grid.concat(grid.product({"a": [1]}), grid.product({"b": [2, 3]}))) == [
        {"a": 1},
        {"b": 2},
        {"b": 3},
    ]


@pytest.mark.parametrize("combine", [grid.product, grid.zipped])
def test_an_axis_given_twice_is_refused(combine):
    with pytest.raises(ValueError, match=r"The axis 'seed' is given twice"):
        combine({"seed": [1]}, {"a": [1]}, {"seed": [2]})


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (16, "16"),
        (dict(name="rope"), "rope"),
        (dict(name="rope", base=5e5, fraction=0.5), "rope(base=500000.0, fraction=0.5)"),
        (
            (dict(name="alibi"), dict(name="learned", max_positions=18)),
            "alibi + learned(max_positions=18)",
        ),
        ((), "none"),
        ((8, 16), "8 + 16"),
        (None, "None"),
    ],
)
def test_a_value_reads_as_it_is_written(value, label):
    assert grid.label(value) == label
    assert labels(grid.product({"a": [value]})) == [{"a": label}]


def test_a_label_of_ones_own_replaces_it():
    assert grid.product({"a": [grid.labelled("no code", ()), 3]}) == [
        {"a": Choice((), "no code")},
        {"a": Choice(3, "3")},
    ]


def test_seeds_can_be_replaced():
    """Equal variants with other seeds are one variant."""
    variants = grid.concat(
        grid.product({"train.steps": [1, 2]}, {"seed": [7, 8]}),
        grid.product({"train.steps": [3]}),
    )
    expected = grid.product({"train.steps": [1, 2, 3]}, {"seed": range(2)})
    assert grid.with_seeds(variants, 2) == expected
