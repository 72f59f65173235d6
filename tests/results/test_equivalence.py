import pytest

from pe_lab.results import compare, contrast_tables, equivalence, significance
from pe_lab.results.statistics import Interval
from tests.results.contrasts import study

MARGIN = 0.05


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.02, 0.04, "alike"),
        (0.0, 0.0, "alike"),
        (0.01, 0.04, "alike"),  # a difference that is significant, and within the margin
        (-0.02, 0.05, "undecided"),
        (-0.30, 0.30, "undecided"),
        (0.04, 0.30, "undecided"),
        (0.06, 0.30, "different"),
        (-0.30, -0.06, "different"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side_of_the_margin(low, high, verdict):
    assert equivalence.verdict(Interval(low, high, "t"), MARGIN) == verdict
    assert equivalence.verdict(None, MARGIN) == "undecided"


@pytest.mark.parametrize(
    ("alibi", "remark"),
    [
        ([0.91, 0.90, 0.92, 0.91, 0.90, 0.92], "alike: within ±0.05"),
        ([0.91, 0.40, 0.92, 0.91, 0.90, 0.92], "not shown to be within ±0.05"),
        ([0.51, 0.50, 0.52, 0.51, 0.50, 0.52], "differs by more than 0.05"),
    ],
)
def test_the_table_states_the_verdict_and_no_p(tmp_path, alibi, remark):
    rope = [0.90, 0.91, 0.90, 0.92, 0.91, 0.90]
    contrasts = ({"a": "rope", "b": "alibi", "margin": MARGIN}, ["rope", "fire"])
    runs = {"rope": rope, "alibi": alibi, "fire": [0.0] * 6}
    results = study(tmp_path, runs, contrasts)
    table = contrast_tables.contrasts(results)
    assert table.rows[0][-1].text == remark
    assert any("declared before the runs" in note for note in table.notes)
    alike, differ = compare.contrasts(results)
    assert (alike.p, alike.count_p, alike.holm) == (None, None, None)
    # The other contrast is the only one that Holm's method counts.
    assert differ.holm == differ.p == significance.sign_flip(differ.differences)


def test_a_table_without_a_margin_has_no_note_of_it(tmp_path):
    table = contrast_tables.contrasts(study(tmp_path, {"rope": [0.9] * 5, "alibi": [0.8] * 5}))
    assert not any("margin" in note for note in table.notes)
