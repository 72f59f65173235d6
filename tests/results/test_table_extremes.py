"""Tables stay correct for studies that are large, have equal seeds or ended badly."""

import pytest

from pe_lab.results import frame, summary, tables
from pe_lab.runs import records
from tests.results import synthetic
from tests.results.fake_study import point, record, write_study


@pytest.mark.parametrize("seeds", [1, 3, 5, 10])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_seeds_that_are_all_equal_give_no_warning_and_no_nan(tmp_path, seeds, value):
    """Warnings are errors in tests."""
    runs = [
        (point(e, i), record(f"{e}{i}", i, test={4: value, 8: value}, validation={4: value}))
        for e in "ab"
        for i in range(seeds)
    ]
    folder = write_study(tmp_path, *runs, analysis={"contrasts": [["a", "b"]]})
    for text in (
        tables.markdown(frame.read(folder)),
        tables.as_csv(frame.read(folder)),
        tables.latex(frame.read(folder)),
    ):
        assert "nan" not in text.lower()
        assert "inf" not in text.lower().replace("infinit", "")


@pytest.mark.slow
def test_a_large_study_with_all_that_may_go_wrong_has_no_nan_in_any_table(tmp_path):
    """Failed, diverged and missing runs, ends of tables, logits that are not finite, tuned
    rates.
    """
    asked = {
        "tuned": ["train.learning_rate"],
        "contrasts": [["rope", "alibi"], ["contiguous", "shifted"], ["nope", "learned"]],
        "oracle": "a paper",
        "tables": [
            {
                "measures": [
                    "extrapolates",
                    "auc",
                    "L90",
                    "retention",
                    {"name": "exact_match", "at": 3, "show": "best"},
                ]
            }
        ],
    }
    found = frame.read(synthetic.write(tmp_path, seeds=3, analysis=asked, missing=(0, 7, 100)))
    for table in tables.of(found):
        for text in (c.text for row in table.rows for c in row):
            assert text == "" or not {"nan", "inf", "none"} & set(
                text.lower().replace("[", " ").replace(",", " ").split()
            )


@pytest.mark.slow
def test_tables_do_not_depend_on_the_speed_of_the_machine(tmp_path):
    """The same runs, trained ten times as slowly."""
    pages = []
    for name, factor in (("fast", 1.0), ("slow", 10.0)):
        folder = tmp_path / name / "study"
        synthetic.write(
            folder, encodings=("rope", "alibi"), tasks=("copy",), schemes=("contiguous",)
        )
        for made in records.read_all(folder).values():
            cost = made["cost"]
            slower = {key: cost[key] * factor for key in ("train_seconds", "compile_seconds")}
            records.write(folder, made | {"cost": cost | slower})
        loaded = frame.read(folder)
        pages.append((tables.markdown(loaded), tables.as_csv(loaded), tables.latex(loaded)))
    assert pages[0] == pages[1]
    assert "seconds" not in pages[0][0]


def test_the_numbers_are_read_as_often_for_any_number_of_variants(tmp_path, monkeypatch):
    """A pass over all numbers for each variant would be quadratic for a large study."""
    values_at = summary.values_at
    reads = []

    def counted(*arguments):
        reads.append(arguments)
        return values_at(*arguments)

    monkeypatch.setattr(summary, "values_at", counted)
    counts = []
    for number in (2, 5):
        entries = []
        for i in range(number):
            made = record(f"r{i}", test={4: 1.0, 8: 0.5}, validation={4: 1.0})
            entries.append((point(f"mine_{i}", 0), made))
        folder = write_study(tmp_path / str(number), *entries)
        tables.write(frame.read(folder), folder)
        counts.append(len(reads))
        reads.clear()
    assert counts[0] == counts[1] > 0
