"""Tables show what each variant of a study reaches."""

import math

import numpy as np
import pytest

from pe_lab.results import formats, frame, metrics, standard_tables, tables
from pe_lab.runs.records import record_rows
from tests.results.fake_study import point, record, two_variants, values
from tests.results.studies import as_dicts, cells, study


def titled(found, title):
    (table,) = [t for t in tables.of(found) if t.title == title]
    return cells(table)


@pytest.fixture
def found(tmp_path):
    return frame.read(two_variants(tmp_path))


def test_the_first_table_says_what_extrapolates_what_is_solved_and_what_did_not_finish(found):
    """RoPE: one seed is solved and does not extrapolate, one is not solved, one diverged; ALiBi's
    one failed run is not counted.
    """
    assert cells(tables.of(found)[0]) == [
        ["variant", "extrapolates", "solved", "4", "→8"],
        ["rope", "0/3 [0.00, 0.56]", "1/3, 1 diverged", "0.998", "0.40"],
        ["alibi", "0/1 [0.00, 0.79]", "0/2 not solved, 1 failed", "0.50", "–"],
        ["chance level (sees no prompt)", "", "", "0.20", "0.00"],
    ]


def test_two_runs_have_a_standard_deviation_and_one_run_has_none():
    first, second = tables._statistics(np.array([[1.0, 3.0], [2.0, math.nan]]))["sd"]
    assert first == math.sqrt(2)
    assert math.isnan(second)


def test_every_run_with_a_record_has_a_row_of_its_own(found):
    assert titled(found, "Exact match by length, every seed") == [
        ["variant", "seed", "status", "4", "→8"],
        ["rope", "0", "finished", "1.00", "0.50"],
        ["rope", "1", "finished", "0.996", "0.30"],
        ["rope", "2", "diverged", "–", "–"],
        ["alibi", "0", "failed", "–", "–"],
        ["alibi", "1", "finished", "0.50", "–"],
    ]


def test_means_have_their_standard_deviation_and_one_seed_has_none(found):
    assert titled(found, "Exact match by length, mean ± standard deviation over seeds")[1:3] == [
        ["rope", "1/3, 1 diverged", "0.998 ± 0.00", "0.40 ± 0.14"],
        ["alibi", "0/2 not solved, 1 failed", "0.50", "–"],
    ]


def test_a_number_is_rounded_but_never_up_to_one(tmp_path):
    numbers = (1.0, 0.9998, 0.998, 0.995, 0.9949, 0.5, 0.0, None)
    found = study(tmp_path, *(record(f"r{n}", test={4: n, 8: 1.0}) for n in numbers))
    shown = [row[3] for row in cells(tables.of(found)[0])[1:-1]]
    assert shown == ["1.00", "0.999", "0.998", "0.995", "0.99", "0.50", "0.00", "–"]


def test_bits_are_rounded_to_one():
    """They are no share, of which 1 would say that every answer is right."""
    assert [formats.number(value, "bits") for value in (0.9996, 0.9994)] == ["1.000", "0.999"]


def test_each_task_has_its_own_chance_level(tmp_path):
    entries = []
    for task, level in (("copy", 0.1), ("parity", 0.5)):
        run = record(task, test={4: 1.0}, chance_levels={4: level}, task=task)
        entries.append((point("rope", 0, task=task), run))
    assert cells(tables.of(study(tmp_path, *entries))[0])[3:] == [
        ["chance level of copy (sees no prompt)", "", "", "0.10"],
        ["chance level of parity (sees no prompt)", "", "", "0.50"],
    ]


def test_every_offset_has_tables_of_its_own_and_extrapolation_is_counted_at_its_point(tmp_path):
    test = {(4, 0): 1.0, (8, 0): 1.0, (4, 5): 0.5, (8, 5): 0.25}
    found = study(tmp_path, record("r", test=test, validation={4: 1.0}))
    title = "Exact match by length, median over seeds"
    assert [(table.title, cells(table)[:2]) for table in tables.of(found)[:2]] == [
        (
            title,
            [
                ["variant", "extrapolates", "solved", "4", "→8"],
                ["e0", "1/1 [0.21, 1.00]", "1/1", "1.00", "1.00"],
            ],
        ),
        (
            f"{title}, positions shifted by 5",
            [["variant", "solved", "4", "→8"], ["e0", "1/1", "0.50", "0.25"]],
        ),
    ]


def test_token_accuracy_over_the_floor_is_worked_out_for_each_run(tmp_path):
    """Chance levels of 0.5: 0.75 is half of the way, 0.4 below it; without a chance level at 8
    there is no number.
    """
    entries = []
    for seed, accuracy in enumerate((0.75, 0.4)):
        tokens = {4: accuracy, 8: 0.9}
        run = record(f"r{seed}", seed, test={4: 1.0}, tokens=tokens, chance_levels={4: 0.1})
        entries.append((point("rope", seed), run))
    found = study(tmp_path, *entries)
    assert values(found, "rope", 4, metric=metrics.CHANCE_CORRECTED) == [0.5, pytest.approx(-0.2)]
    assert cells(standard_tables.by_length(found, metrics.CHANCE_CORRECTED, "mean")) == [
        ["variant", "solved", "4", "→8"],
        ["rope", "0/2 not solved", "0.15 ± 0.49", "–"],
    ]


def test_arrows_mark_what_is_beyond_a_variants_own_training(tmp_path):
    test = {4: 1.0, 8: 1.0, 16: 1.0}
    found = study(tmp_path, *(record(f"r{n}", test=test, max_length=n) for n in (4, 8)))
    assert [row[3:] for row in cells(tables.of(found)[0])[:3]] == [
        ["4", "8", "16"],
        ["1.00", "→1.00", "→1.00"],
        ["1.00", "1.00", "→1.00"],
    ]
    assert "training ended at 4, 8." in tables.markdown(found)


def test_a_variant_without_any_record_is_shown(tmp_path):
    entries = (point("rope", 0), record("r", test={4: 1.0})), (point("alibi", 0), "a")
    assert cells(tables.of(study(tmp_path, *entries))[0])[2] == ["alibi", "–", "0/0", "–"]


def test_a_study_of_which_nothing_has_finished_says_so(tmp_path):
    found = study(tmp_path, (point("rope", 0), "r"))
    assert tables.write(found, tmp_path) == "no run has finished yet: 1 run has no record"
    page = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert page == "# fake\n\nNo run has finished yet: 1 run has no record.\n"
    assert as_dicts(found) == []


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_runs_that_ended_badly_are_shown_also_where_none_has_finished(tmp_path, status):
    assert status in tables.markdown(study(tmp_path, record("r", status=status)))


def test_a_study_of_text_shows_bits_first_of_whole_windows_and_of_their_second_halves(tmp_path):
    """Nats of four places: ln 2 times 4, 4, 2 and 1, so 11 / 4 bits of all and 3 / 2 of the last
    two.
    """
    run = record("r", test={4: 0.0}, validation={4: 0.0})
    nats = [math.log(2) * bits for bits in (4, 4, 2, 1)]
    for metric, value in (
        ("negative_log_likelihood", sum(nats) / 4),
        ("negative_log_likelihood_by_place", nats),
    ):
        run["rows"].append(record_rows.row("test", 4, 0, metric, value, 100))
    found = study(tmp_path, run)
    first = tables.of(found)[0]
    assert first.title == "Bits per token by length, median over seeds"
    assert cells(first) == [["variant", "solved", "4"], ["e0", "–", "2.750"]]
    title = "Bits per token, second half of each window by length"
    second = titled(found, f"{title}, mean ± standard deviation over seeds")
    assert second[1] == ["e0", "–", "1.500"]
    assert [row["metric"] for row in as_dicts(found)][:2] == [metrics.BITS, metrics.BITS_SLIDING]
