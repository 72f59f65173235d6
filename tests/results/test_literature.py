import pytest

from pe_lab.results import tables
from pe_lab.runs.errors import UserError
from tests.results.fake_study import point, record
from tests.results.studies import cells, study


def rows(folder, *figures):
    """The texts of the table, the header first."""
    entries = []
    for name, seed, value in (("rope", 0, 0.2), ("rope", 1, 0.4), ("nope", 0, 0.1)):
        run = record(f"{name}{seed}", seed, test={4: 1.0, 6: 0.5, 8: value})
        entries.append((point(name, seed), run))
    source = dict(source="Doe 2024, table 2", figures=figures)
    (table,) = [
        table
        for table in tables.of(study(folder, *entries, literature=[source]))
        if table.title == "Figures of the literature: Doe 2024, table 2"
    ]
    return cells(table)


@pytest.mark.slow
def test_published_figures_are_next_to_the_median_of_our_seeds(tmp_path):
    header, at_length, over_lengths = rows(tmp_path, ("rope", 8, 0.91), ("nope", (5, 8), 0.62))
    assert header == ["variant", "metric", "published", "ours"]
    assert at_length[:3] == ["rope", "exact_match at length 8", "0.91"]
    assert at_length[3].startswith("0.30")  # the median of 0.2 and 0.4
    assert over_lengths[:3] == ["nope", "exact_match mean over lengths 5..8", "0.62"]
    assert over_lengths[3].startswith("0.30")  # the mean of 0.5 and 0.1


def test_a_figure_at_a_length_that_was_not_measured_has_a_dash_next_to_it(tmp_path):
    assert rows(tmp_path, ("rope", 64, 0.91))[1][2:] == ["0.91", "–"]


def test_a_figure_of_an_unknown_variant_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"\(analysis: literature\) has no 'ropes'"):
        rows(tmp_path, ("ropes", 8, 0.91))


@pytest.mark.slow
def test_a_figure_of_a_name_is_of_its_variant_and_not_of_others_with_this_label(tmp_path):
    entries = []
    for name, scheme, value in (("rope", "", 0.5), ("rope", "shifted", 0.2), ("nope", "", 0.3)):
        run = record(f"{name}{scheme}", test={8: value})
        entries.append((point(name, 0, positions=scheme), run))
    source = dict(source="Doe 2024", figures=[("rope", 8, 0.9), ("shifted", 8, 0.9)])
    (table,) = [
        table
        for table in tables.of(study(tmp_path, *entries, literature=[source]))
        if table.title == "Figures of the literature: Doe 2024"
    ]
    assert [row[-1] for row in cells(table)[1:]] == ["0.50", "0.20"]
