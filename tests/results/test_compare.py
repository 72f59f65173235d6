"""Variants are compared by contrasts, or it is said why they are not."""

import pytest

from pe_lab.results import (
    comparable,
    compare,
    frame,
    ranking,
    read_analysis_spec,
    significance,
    statistics,
)
from pe_lab.results.compare import Counts
from pe_lab.runs import records
from pe_lab.runs.analysis_spec import Contrast, MetricPoint
from pe_lab.runs.errors import UserError
from tests.results.contrasts import SOLVED, study
from tests.results.fake_study import point, record, write_study


def test_a_contrast_by_hand(tmp_path):
    """Successes 3 of 3 against 1 of 3; differences 0.05, 0.5 and 0.6 on shared seeds."""
    found = study(tmp_path, {"rope": [1.0, 1.0, 0.9], "alibi": [0.95, 0.5, 0.3]})
    (c,) = compare.contrasts(found)
    assert c.counts == (Counts(3, 3), Counts(1, 3))
    assert c.differences == pytest.approx((0.05, 0.5, 0.6))
    assert (c.difference, c.p, c.improvement) == (
        pytest.approx(1.15 / 3),
        0.25,
        pytest.approx(8 / 9),
    )
    assert c.count_p == significance.barnard((3, 3), (1, 3))
    assert c.correlation == pytest.approx(statistics.correlation([1.0, 1.0, 0.9], [0.95, 0.5, 0.3]))
    assert (c.interval, c.reason) == (None, "")


@pytest.mark.parametrize(("seeds", "kind"), [(4, None), (5, "t"), (9, "t"), (10, "BCa")])
def test_the_interval_of_a_difference_is_what_that_many_pairs_allow(tmp_path, seeds, kind):
    (c,) = compare.contrasts(
        study(tmp_path, {"rope": [0.9 + i / 100 for i in range(seeds)], "alibi": [0.5] * seeds})
    )
    assert (c.interval and c.interval.kind) == kind


def test_pairs_are_runs_of_the_same_seeds_alone(tmp_path):
    a = [
        (point("rope", i), record(f"r{i}", i, test={8: 0.1 * i}, validation=SOLVED))
        for i in (0, 1, 2)
    ]
    b = [
        (point("alibi", i), record(f"a{i}", i, test={8: 0.0}, validation=SOLVED)) for i in (2, 1, 5)
    ]
    found = frame.read(write_study(tmp_path, *a, *b, analysis={"contrasts": [["rope", "alibi"]]}))
    assert sorted(compare.contrasts(found)[0].differences) == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"reveals": True}, "rope reveals the target length"),
        ({"validation": {4: 0.5}}, "rope did not solve the training lengths with any seed"),
        ({"status": "diverged"}, "rope has no finished run"),
        ({"max_length": 8}, "rope was trained on that length"),
    ],
)
def test_what_would_not_mean_what_it_seems_to_is_not_compared(tmp_path, more, reason):
    found = study(
        tmp_path, {"rope": ([1.0, 1.0], more), "alibi": [0.5, 0.5]}, extrapolation={"length": 8}
    )
    (c,) = compare.contrasts(found)
    assert (c.reason, c.p, c.count_p, c.holm, c.count_holm, c.interval) == (
        reason,
        None,
        None,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ({"at": 1}, ""),
        ({"at": 2}, "rope did not solve the training lengths with any seed"),
        ({"at": 1, "offset": 3}, "rope did not solve the training lengths with any seed"),
    ],
)
def test_an_unsolved_variant_is_compared_up_to_the_training_length(tmp_path, point, reason):
    found = study(
        tmp_path,
        {"rope": ([1.0] * 2, {"validation": {4: 0.1}}), "alibi": [0.5] * 2},
        extrapolation=point,
    )
    assert compare.contrasts(found)[0].reason == reason


def test_what_both_know_does_not_keep_them_apart(tmp_path):
    found = study(
        tmp_path,
        {"rope": ([1.0, 1.0], {"reveals": True}), "alibi": ([0.5, 0.5], {"reveals": True})},
    )
    assert compare.contrasts(found)[0].reason == ""


def test_what_saw_the_positions_of_the_test_is_not_compared_with_what_did_not(tmp_path):
    """Plain: positions to 9 at length 4, so BEGIN, SEPARATOR and 8 others; 8 more end at 17 at
    8.
    """
    entries = []
    for name, largest in (("plain", 9), ("seen", 17), ("nearly", 16)):
        for i in range(2):
            made = record(f"{name}{i}", i, test={8: 0.5}, validation=SOLVED)
            made["exposure"]["max_position"] = largest
            made["config"]["positions"] = {"name": "contiguous" if name == "plain" else "shifted"}
            entries.append((point("rope", i, positions=name), made))
    about_positions = {"a": "seen", "b": "plain", "seen_positions": True}
    contrasts = [["plain", "seen"], ["plain", "nearly"], about_positions]
    found = frame.read(write_study(tmp_path, *entries, analysis={"contrasts": contrasts}))
    assert [c.reason for c in compare.contrasts(found)] == [
        "seen saw the positions of the test",
        "",
        "",
    ]
    seen = list(found.by_name)[1]
    assert [
        comparable.saw_positions(found, seen, point)
        for point in (MetricPoint(length=8, offset=1), MetricPoint(length=6))
    ] == [False, True]


def test_holm_is_over_all_declared_contrasts_whatever_is_finished_or_solved(tmp_path):
    runs = {
        "rope": [1.0] * 6,
        "alibi": [0.0] * 6,
        "nope": ([0.5] * 6, {"validation": {4: 0.0}}),
        "t5": [0.5] * 6,
    }
    contrasts = [("rope", "alibi"), ("rope", "t5"), ("rope", "nope")]
    first, second, third = compare.contrasts(study(tmp_path, runs, contrasts))
    assert (first.p, first.holm, second.holm, third.holm) == (2 / 64, 6 / 64, 6 / 64, None)
    for i in range(6):
        records.path_of(tmp_path, f"t5{i}").unlink()
        first, second, _ = compare.contrasts(frame.read(tmp_path))
        assert first.holm == 6 / 64
    assert second.reason == "t5 has no finished run"


def test_a_contrast_of_labels_is_every_pair_that_agrees_in_all_others(tmp_path):
    names = [
        ("copy", "rope"),
        ("copy", "alibi"),
        ("sort", "rope"),
        ("sort", "alibi"),
        ("sort", "nope"),
    ]
    entries = [
        (point(e, 0, task=t), record(f"{t}{e}", test={8: 1.0}, validation=SOLVED)) for t, e in names
    ]
    found = frame.read(write_study(tmp_path, *entries))
    pairs = compare.pairs(found, Contrast("rope", "alibi"))
    assert pairs == [("rope · copy", "alibi · copy"), ("rope · sort", "alibi · sort")]
    assert [(a, b) for a, b in compare.pairs(found, Contrast("rope · copy", "nope · sort"))] == [
        ("rope · copy", "nope · sort")
    ]
    assert [(a, b) for a, b in compare.pairs(found, Contrast("copy", "sort"))] == [
        ("rope · copy", "rope · sort"),
        ("alibi · copy", "alibi · sort"),
    ]
    across = compare.pairs(
        found, Contrast("rope", "sort")
    )  # on two axes: never a variant with itself
    assert [(a, b) for a, b in across] == [
        ("rope · copy", "rope · sort"),
        ("rope · copy", "alibi · sort"),
        ("rope · copy", "nope · sort"),
        ("rope · sort", "alibi · sort"),
        ("rope · sort", "nope · sort"),
    ]
    with pytest.raises(UserError, match=r"\(analysis: contrasts\) has no 'sinusoidal'"):
        compare.pairs(found, Contrast("rope", "sinusoidal"))


def test_a_contrast_may_have_its_own_point(tmp_path):
    found = study(tmp_path, {"rope": [0.2, 0.2], "alibi": [0.1, 0.1]}, [])
    asked = read_analysis_spec.from_dict(
        {"contrasts": [{"a": "rope", "b": "alibi", "length": 4}]}
    ).contrasts[0]
    c = compare.compare(found, *compare.pairs(found, asked)[0], asked.point)
    assert (c.counts, c.difference) == ((Counts(2, 2), Counts(2, 2)), 0.0)


def test_ranks_are_over_tasks_that_all_variants_solved(tmp_path):
    entries = []
    for t in range(17):
        for name, value in (("rope", 0.5), ("alibi", 0.9), ("t5", 0.7), ("told", 1.0)):
            validation = SOLVED if t != 3 or name != "rope" else {4: 0.5}
            made = record(
                f"{t}{name}",
                test={8: value},
                validation=validation,
                reveals=name == "told",
                task=f"task {t}",
            )
            entries.append((point(name, 0, task=f"task {t}"), made))
    found = frame.read(write_study(tmp_path, *entries))
    ranked = ranking.ranking(found)
    assert (ranked.names, len(ranked.tasks), ranked.of, ranked.ranks.mean) == (
        ("rope", "alibi", "t5"),
        16,
        17,
        (3.0, 1.0, 2.0),
    )
