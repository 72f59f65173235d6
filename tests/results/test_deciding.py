"""The table of contrasts has a p only where the seeds can decide."""

import itertools

import pytest

from pe_lab.results import compare, contrast_tables, formats, significance
from pe_lab.results.latex import as_latex
from tests.results import contrasts


@pytest.mark.parametrize(("a", "b"), [(3, 3), (5, 5), (2, 7)])
def test_the_smallest_p_of_counts_is_that_of_the_most_extreme_outcome(a, b):
    outcomes = itertools.product(range(a + 1), range(b + 1))
    assert significance.smallest_p_of_counts(a, b) == min(
        significance.barnard((x, a), (y, b)) for x, y in outcomes
    )


def test_three_against_three_by_hand():
    """All against none, and none against all, at a rate of a half: 2 / 2^6."""
    assert significance.smallest_p_of_counts(3, 3) == pytest.approx(2 / 64, abs=1e-5)
    assert significance.smallest_p_of_counts(0, 3) is None


@pytest.mark.parametrize(
    ("pairs", "p"), [(0, None), (1, 1), (3, 2 / 8), (5, 2 / 32), (16, 2 / 2**16)]
)
def test_the_smallest_p_of_pairs_by_hand(pairs, p):
    assert significance.smallest_p_of_pairs(pairs) == p


@pytest.mark.parametrize(
    ("smallest", "decides"),
    [
        ([0.03], [True]),
        ([0.03, 0.03], [False, False]),  # of two, the smaller is doubled
        ([0.001, 0.03], [True, True]),
        ([0.02, None], [True, False]),  # what is not tested counts
        ([0.03, None], [False, False]),
    ],
)
def test_a_test_decides_where_its_adjusted_p_can_fall_below_the_level(smallest, decides):
    assert significance.can_decide(smallest) == decides


def study(folder, **seeds):
    """Variant a against the others, by their numbers of seeds: all of a extrapolate, and of the
    others none.
    """
    runs = {name: [float(name == "a")] * number for name, number in seeds.items()}
    return contrasts.study(folder, runs, [["a", other] for other in seeds if other != "a"])


def test_the_table_of_a_study_that_cannot_decide_has_no_p_and_says_why(tmp_path):
    table = contrast_tables.contrasts(study(tmp_path, a=3, b=3, c=3, d=3))
    assert [name for name in table.header if name.startswith("p")] == ["pairs"]
    note = "3 seeds a variant cannot bring p below 0.05 over 3 contrasts: no p is shown."
    assert note in table.notes
    assert {len(row) for row in table.rows} == {len(table.header)}
    for text in (formats.markdown(table), as_latex(table, "study")):
        assert not any(words in text for words in ("p of", "Barnard", "Holm"))


def test_one_contrast_of_three_seeds_has_the_p_of_its_counts_alone(tmp_path):
    found = study(tmp_path, a=3, b=3)
    table = contrast_tables.contrasts(found)
    assert "p" in table.header
    assert "p of a − b" not in table.header
    assert table.rows[0][2].value == compare.contrasts(found)[0].count_holm < 0.05
    assert "3 pairs of runs cannot bring p of *a − b* below 0.05: it is not shown." in table.notes


def test_ten_seeds_have_both(tmp_path):
    table = contrast_tables.contrasts(study(tmp_path, a=10, b=10, c=10, d=10))
    assert {"p", "p of a − b"} <= set(table.header)
    assert not any("cannot" in note for note in table.notes)


def test_a_contrast_of_too_few_seeds_beside_one_of_enough_has_a_dash(tmp_path):
    table = contrast_tables.contrasts(study(tmp_path, a=10, b=10, c=2))
    column = table.header.index("p of a − b")
    assert [row[column].text for row in table.rows] == ["0.004", "–"]
    pairs = "2 pairs of runs cannot bring p of *a − b* below 0.05 over 2 contrasts"
    assert f"{pairs}: it is not shown." in table.notes
