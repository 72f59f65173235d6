"""The report page compares two studies."""

import pytest

from pe_lab.contrib.report import against
from pe_lab.results import frame
from tests.contrib.report.small_pages import page_data
from tests.results.fake_study import point, record, write_study
from tests.results.plots.small_studies import small


@pytest.fixture
def compare(tmp_path):
    """The table that compares two studies, given by the runs of RoPE and other entries."""

    def table(*studies):
        read = []
        for name, (runs, *more) in zip(("one", "other"), studies, strict=True):
            entries = [(point("rope", run["member"]["seed"]), run) for run in runs]
            read.append(frame.read(write_study(tmp_path / name, *entries, *more, name=name)))
        (compared,) = against.tables(*read)
        return compared

    return table


def solved(seed, test):
    return record(f"r{seed}", seed, test=test, validation={4: 1.0})


def test_two_studies_are_compared_cell_by_cell_on_the_seeds_of_both(compare):
    one = [solved(seed, {4: 1.0, 8: 0.5 + 0.1 * seed}) for seed in range(5)]
    other = [solved(seed, {8: 0.4, 16: 0.1}) for seed in range(1, 6)]
    alibi = (point("alibi", 0), record("a", 0, test={8: 0.1}))
    table = compare([one], [other, alibi])
    (row,) = table.rows
    assert [cell.text for cell in row] == ["rope", "8", "0.70 (5)", "0.40 (5)", "+0.35", "4", "–"]
    assert "In other alone: alibi." in table.notes


def test_a_difference_has_an_interval_from_five_pairs(compare):
    one = [solved(seed, {8: 0.9}) for seed in range(5)]
    other = [solved(seed, {8: 0.8 - 0.1 * seed}) for seed in range(5)]
    table = compare([one], [other])
    assert table.rows[0][4].text == "+0.30 [+0.10, +0.50]"


def test_differences_of_variants_with_one_name_are_caveats(compare):
    one = record("r4", test={8: 0.5}, max_length=4, reveals=True)
    other = record("r8", test={8: 0.5}, max_length=8)
    table = compare([[one]], [[other]])
    words = (
        "training length, reveals the target length, not solved in the first, "
        "not solved in the second"
    )
    assert table.rows[0][-1].text == words


def test_variants_of_the_same_settings_are_matched_under_any_name(tmp_path):
    schemes = dict(one=(), other=("contiguous", "shifted"))
    studies = []
    for name, of_study in schemes.items():
        folder = small(tmp_path / name, encodings=("rope",), schemes=of_study, name=name)
        studies.append(frame.read(folder))
    (table,) = against.tables(*studies)
    assert {row[0].text for row in table.rows} == {"rope / contiguous"}
    assert {row[-1].text for row in table.rows} == {"the same runs"}
    assert "In other alone: shifted." in table.notes


def test_variants_with_the_same_words_keep_their_labels(tmp_path):
    entries = [(point(name, 0), record(name, test={4: 1.0})) for name in ("a_b", "a b")]
    folder = write_study(tmp_path, *entries)
    values = page_data(folder)
    assert [variant["name"] for variant in values["variants"]] == ["a_b", "a b"]
