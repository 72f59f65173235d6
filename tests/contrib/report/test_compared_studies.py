"""The report page compares two studies."""

import pytest

from pe_lab.contrib.report import against, report_file
from pe_lab.results import frame
from tests.contrib.report.small_pages import page_data
from tests.results import test_text_study
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


def text_study(folder, **arguments):
    """RoPE has 2 bits per byte and 4 bits per token."""
    made = test_text_study.text_record("rope", 0, {8: 2.0, 16: 2.0}, **arguments)
    for row in made["rows"]:
        if row["metric"] == "negative_log_likelihood":
            row["value"] *= 2
    return frame.read(write_study(folder, (point("rope", 0), made)))


@pytest.mark.parametrize(
    ("has_sizes", "bits"),
    [((True, True), "2.000 (1)"), ((True, False), "4.000 (1)"), ((False, False), "4.000 (1)")],
)
def test_texts_are_compared_by_bits_per_byte_if_both_state_their_bytes(tmp_path, has_sizes, bits):
    one, other = (
        text_study(tmp_path / str(index), has_sizes=value) for index, value in enumerate(has_sizes)
    )
    (table,) = against.tables(one, other)
    assert [cell.text for cell in table.rows[1][1:4]] == ["16", bits, bits]
    assert "solved" not in table.rows[1][-1].text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has_sizes", "words"),
    [(True, "bits per byte"), (False, "exact match and token accuracy and bits per token")],
)
def test_the_page_of_a_text_names_the_numbers_of_its_table(tmp_path, monkeypatch, has_sizes, words):
    monkeypatch.setattr(report_file.study_file, "source", lambda *_: "")
    study = text_study(tmp_path, has_sizes=has_sizes)
    page = report_file.write(study, tmp_path).read_text(encoding="utf-8")
    assert f"table.csv</button> {words} of every seed" in page


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
