"""Variants are compared by contrasts, or it is said why they are not."""

import pytest

from pe_lab.results import comparable, compare, frame, ranking, significance, statistics
from pe_lab.results.compare import Counts
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies.analysis_spec import Contrast, MetricPoint
from tests.results import fake_study
from tests.results.contrasts import study
from tests.results.fake_study import entry, point


def test_a_contrast_by_hand(tmp_path):
    """Successes 3 of 3 against 1 of 3; differences 0.05, 0.5 and 0.6 on shared seeds."""
    rope, alibi = [1.0, 1.0, 0.9], [0.95, 0.5, 0.3]
    (c,) = compare.contrasts(study(tmp_path, {"rope": rope, "alibi": alibi}))
    assert c.counts == (Counts(3, 3), Counts(1, 3))
    assert c.differences == pytest.approx((0.05, 0.5, 0.6))
    assert (c.difference, c.p, c.improvement) == pytest.approx((1.15 / 3, 0.25, 8 / 9))
    assert c.count_p == significance.barnard((3, 3), (1, 3))
    assert c.correlation == pytest.approx(statistics.correlation(rope, alibi))
    assert (c.interval, c.reason) == (None, "")


@pytest.mark.parametrize(("seeds", "kind"), [(4, None), (5, "t"), (9, "t"), (10, "BCa")])
def test_the_interval_of_a_difference_is_what_that_many_pairs_allow(tmp_path, seeds, kind):
    runs = {"rope": [0.9 + i / 100 for i in range(seeds)], "alibi": [0.5] * seeds}
    (c,) = compare.contrasts(study(tmp_path, runs))
    assert (c.interval and c.interval.kind) == kind


def test_the_interval_of_a_difference_stays_in_the_possible_range(tmp_path):
    runs = {"rope": [1.0] * 5, "alibi": [0.0, 0.0, 0.0, 0.0, 0.1]}
    (c,) = compare.contrasts(study(tmp_path, runs))
    assert (c.difference, c.interval.high) == (pytest.approx(0.98), 1.0)
    assert compare.of_differences([2.0, 2.1, 2.0, 2.0, 2.0], "bits_per_token").high > 2.0


def test_pairs_are_runs_of_the_same_seeds_alone(tmp_path):
    rope = [entry("rope", seed, test={8: 0.1 * seed}) for seed in (0, 1, 2)]
    alibi = [entry("alibi", seed, test={8: 0.0}) for seed in (2, 1, 5)]
    found = fake_study.study(tmp_path, *rope, *alibi)
    assert sorted(compare.compare(found, "rope", "alibi").differences) == pytest.approx([0.1, 0.2])


UNSOLVED = "rope did not solve the training lengths with any seed"


@pytest.mark.parametrize(
    ("changes", "point", "reason"),
    [
        ({"reveals": True}, {}, "rope reveals the target length"),
        ({"status": "diverged"}, {}, "rope has no finished run"),
        ({"max_length": 8}, {"length": 8}, "rope was trained on that length"),
        # Without a solved seed, variants are compared up to the training length.
        ({"validation": {4: 0.1}}, {"at": 2}, UNSOLVED),
        ({"validation": {4: 0.1}}, {"at": 1, "offset": 3}, UNSOLVED),
        ({"validation": {4: 0.1}}, {"at": 1}, ""),
    ],
)
def test_what_would_not_mean_what_it_seems_to_is_not_compared(tmp_path, changes, point, reason):
    runs = {"rope": ([1.0, 1.0], changes), "alibi": [0.5, 0.5]}
    (c,) = compare.contrasts(study(tmp_path, runs, extrapolation=point))
    assert c.reason == reason
    if reason:
        assert (c.p, c.count_p, c.holm, c.count_holm, c.interval) == (None,) * 5


def test_what_both_know_does_not_keep_them_apart(tmp_path):
    told = {"reveals": True}
    runs = {"rope": ([1.0, 1.0], told), "alibi": ([0.5, 0.5], told)}
    assert compare.contrasts(study(tmp_path, runs))[0].reason == ""


def test_what_saw_the_positions_of_the_test_is_not_compared_with_what_did_not(tmp_path):
    """Plain: positions to 9 at length 4, so BEGIN, SEPARATOR and 8 others; 8 more end at 17 at
    8.
    """
    entries = []
    for name, largest in (("plain", 9), ("seen", 17), ("nearly", 16)):
        scheme = "contiguous" if name == "plain" else "shifted"
        run = dict(test={6: 0.5, 8: 0.5}, scheme=scheme, max_position=largest)
        entries += [entry("rope", seed, {"positions": name}, **run) for seed in range(2)]
    about_positions = {"a": "seen", "b": "plain", "seen_positions": True}
    contrasts = [["plain", "seen"], ["plain", "nearly"], about_positions]
    found = fake_study.study(tmp_path, *entries, contrasts=contrasts)
    reasons = [c.reason for c in compare.contrasts(found)]
    assert reasons == ["seen saw the positions of the test", "", ""]
    assert not comparable.saw_positions(found, "seen", MetricPoint(length=8, offset=1))
    assert comparable.saw_positions(found, "seen", MetricPoint(length=6))


def test_holm_is_over_all_declared_contrasts_whatever_is_finished_or_solved(tmp_path):
    runs = {"rope": [1.0] * 6, "alibi": [0.0] * 6, "t5": [0.5] * 6}
    runs["nope"] = ([0.5] * 6, {"validation": {4: 0.0}})
    contrasts = [("rope", "alibi"), ("rope", "t5"), ("rope", "nope")]
    first, second, third = compare.contrasts(study(tmp_path, runs, contrasts))
    assert (first.p, first.holm, second.holm, third.holm) == (2 / 64, 6 / 64, 6 / 64, None)
    for seed in range(6):
        records.path_of(tmp_path, f"t5{seed}").unlink()
        first, second, _ = compare.contrasts(frame.read(tmp_path))
        assert first.holm == 6 / 64
    assert second.reason == "t5 has no finished run"


def test_a_contrast_of_labels_is_every_pair_that_agrees_in_all_others(tmp_path):
    tasks = {"copy": ("rope", "alibi"), "sort": ("rope", "alibi", "nope")}
    entries = [entry(name, 0, {"task": task}) for task, names in tasks.items() for name in names]
    found = fake_study.study(tmp_path, *entries)

    def pairs(a, b):
        return [f"{a} against {b}" for a, b in compare.pairs(found, Contrast(a, b))]

    by_task = ["rope · copy against alibi · copy", "rope · sort against alibi · sort"]
    assert pairs("rope", "alibi") == by_task
    assert pairs("rope · copy", "nope · sort") == ["rope · copy against nope · sort"]
    by_encoding = ["rope · copy against rope · sort", "alibi · copy against alibi · sort"]
    assert pairs("copy", "sort") == by_encoding
    assert pairs("rope", "sort") == [  # on two axes: never a variant with itself
        "rope · copy against rope · sort",
        "rope · copy against alibi · sort",
        "rope · copy against nope · sort",
        "rope · sort against alibi · sort",
        "rope · sort against nope · sort",
    ]
    with pytest.raises(UserError, match=r"\(analysis: contrasts\) has no 'sinusoidal'"):
        pairs("rope", "sinusoidal")


def test_a_contrast_may_have_its_own_point(tmp_path):
    contrast = {"a": "rope", "b": "alibi", "length": 4}
    (c,) = compare.contrasts(study(tmp_path, {"rope": [0.2] * 2, "alibi": [0.1] * 2}, [contrast]))
    assert (c.counts, c.difference) == ((Counts(2, 2), Counts(2, 2)), 0.0)


def test_ranks_are_over_tasks_that_all_variants_solved(tmp_path):
    entries = []
    for index in range(17):
        task = f"task {index}"
        for name, value in (("rope", 0.5), ("alibi", 0.9), ("t5", 0.7), ("told", 1.0)):
            run = dict(test={8: value}, reveals=name == "told", task=task)
            if (index, name) == (3, "rope"):
                run["validation"] = {4: 0.5}
            entries.append(entry(name, 0, {"task": task}, **run))
    entries.append((point("late", 0, task="task 0"), "has no record"))
    ranked = ranking.ranking(fake_study.study(tmp_path, *entries))
    assert (ranked.names, len(ranked.tasks), ranked.of) == (("rope", "alibi", "t5"), 16, 17)
    assert ranked.ranks.mean == (3.0, 1.0, 2.0)
