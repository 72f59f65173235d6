"""Tables stay correct for studies that are large, have equal seeds or ended badly."""

import re
from unittest import mock

import pytest

from pe_lab.results import frame, summary, tables
from pe_lab.runs.records import records
from tests.results import synthetic
from tests.results.fake_study import point, record
from tests.results.studies import study


@pytest.mark.parametrize("seeds", [1, 3, 5, 10])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_seeds_that_are_all_equal_give_no_warning_and_no_nan(tmp_path, seeds, value):
    """Warnings are errors in tests."""
    entries = []
    for name in "ab":
        for seed in range(seeds):
            values = {"test": {4: value, 8: value}, "validation": {4: value}}
            entries.append((point(name, seed), record(f"{name}{seed}", seed, **values)))
    found = study(tmp_path, *entries, contrasts=[["a", "b"]])
    for text in (tables.markdown(found), tables.as_csv(found), tables.latex(found)):
        assert "nan" not in text.lower()
        assert "inf" not in text.lower().replace("infinit", "")


@pytest.mark.slow
def test_a_large_study_with_all_that_may_go_wrong_has_no_nan_in_any_table(tmp_path):
    """Failed, diverged and missing runs, ends of tables, logits that are not finite, tuned
    rates.
    """
    best = {"name": "exact_match", "at": 3, "show": "best"}
    analysis = {
        "tuned": ["train.learning_rate"],
        "contrasts": [["rope", "alibi"], ["contiguous", "shifted"], ["nope", "learned"]],
        "oracle": "a paper",
        "tables": [{"measures": ["extrapolates", "auc", "L90", "retention", best]}],
    }
    found = frame.read(synthetic.write(tmp_path, seeds=3, analysis=analysis, missing=(0, 7, 100)))
    for table in tables.of(found):
        for row in table.rows:
            assert not {"nan", "inf", "none"} & set(
                re.findall("[a-z]+", " ".join(cell.text for cell in row).lower())
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
    values_at = mock.Mock(wraps=summary.values_at)
    monkeypatch.setattr(summary, "values_at", values_at)
    counts = []
    for number in (2, 5):
        runs = [record(f"r{i}", test={4: 1.0, 8: 0.5}, validation={4: 1.0}) for i in range(number)]
        folder = tmp_path / str(number)
        tables.write(study(folder, *runs), folder)
        counts.append(values_at.call_count)
    first, both = counts
    assert both == 2 * first > 0
