"""The report page compares two studies."""

from pe_lab.results import frame
from pe_lab.results.report import against
from tests.results.fake_study import point, record, write_study
from tests.results.report.small_pages import page_data, small


def test_two_studies_are_compared_cell_by_cell_on_the_seeds_of_both(tmp_path):
    one = [
        (point("rope", i), record(f"r{i}", i, test={4: 1.0, 8: 0.5 + 0.1 * i}, validation={4: 1.0}))
        for i in range(5)
    ]
    other = [
        (point("rope", i), record(f"r{i}", i, test={8: 0.4, 16: 0.1}, validation={4: 1.0}))
        for i in range(1, 6)
    ]
    more = [(point("alibi", 0), record("a", 0, test={8: 0.1}))]
    found = [
        frame.read(write_study(tmp_path / n, *entries, name=n))
        for n, entries in (("one", one), ("other", other + more))
    ]
    (table,) = against.tables(*found)
    (row,) = table.rows
    assert [cell.text for cell in row] == ["rope", "8", "0.70 (5)", "0.40 (5)", "+0.35", "4", "–"]
    assert "In other alone: alibi." in table.notes


def test_a_difference_has_an_interval_from_five_pairs(tmp_path):
    found = []
    for name, less in (("one", 0.0), ("other", 0.1)):
        entries = [
            (
                point("rope", i),
                record(f"r{i}", i, test={8: 0.9 - less * (1 + i)}, validation={4: 1.0}),
            )
            for i in range(5)
        ]
        found.append(frame.read(write_study(tmp_path / name, *entries, name=name)))
    (table,) = against.tables(*found)
    assert table.rows[0][4].text == "+0.30 [+0.10, +0.50]"


def test_differences_of_variants_with_one_name_are_caveats(tmp_path):
    studies = [
        frame.read(
            write_study(
                tmp_path / name,
                (point("rope", 0), record(f"r{n}", test={8: 0.5}, max_length=n, reveals=n == 4)),
                name=name,
            )
        )
        for name, n in (("one", 4), ("other", 8))
    ]
    (table,) = against.tables(*studies)
    words = (
        "training length, reveals the target length, not solved in the first, "
        "not solved in the second"
    )
    assert table.rows[0][-1].text == words


def test_variants_of_the_same_settings_are_matched_under_any_name(tmp_path):
    one = small(tmp_path / "one", encodings=("rope",), name="one")
    other = small(
        tmp_path / "other", encodings=("rope",), schemes=("contiguous", "shifted"), name="other"
    )
    (table,) = against.tables(frame.read(one), frame.read(other))
    assert {row[0].text for row in table.rows} == {"rope / contiguous"}
    assert {row[-1].text for row in table.rows} == {"the same runs"}
    assert "In other alone: shifted." in table.notes


def test_variants_with_the_same_words_keep_their_labels(tmp_path):
    entries = [(point(name, 0), record(name, test={4: 1.0})) for name in ("a_b", "a b")]
    folder = write_study(tmp_path, *entries)
    values = page_data(folder)
    assert [variant["name"] for variant in values["variants"]] == ["a_b", "a b"]
