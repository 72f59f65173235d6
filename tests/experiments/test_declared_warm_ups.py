"""The declared rule of warm_up, on planted runs."""

import pytest

from configs import warm_up
from experiments.declared import warm_ups
from pe_lab.runs.errors import UserError
from tests.results.fake_study import SOLVED, record, write_study

SCORES = {  # at twice the training length with warm-ups of 50, 400 and 1,000 steps
    "kerple": (0.1, 0.5, 0.8),
    "fire": (0.5, 0.5, 0.5),
    "alibi": (0.01, 0.01, 0.01),
    "shaw": (0.5, 0.5, 0.65),
}


def warm_up_study(folder, dropped=None, without=""):
    """A study of all rows, without one of its runs or without an encoding."""
    entries = []
    for encoding, scores in SCORES.items():
        for steps, score in zip(warm_up.WARM_UPS, scores, strict=True):
            for rate in map(str, warm_up.RATES):
                for seed in range(warm_up.SEEDS):
                    labels = {
                        "model.encodings": encoding,
                        "train.warmup_steps": warm_up.label(steps),
                        "task": "copy",
                        "train.learning_rate": rate,
                        "seed": str(seed),
                    }
                    spread = (seed - 2.5) * (0.04 if encoding == "shaw" else 0.001)
                    test = {4: 1.0, 8: score + (steps > 50) * spread}
                    run_id = f"{encoding}{steps}{rate}{seed}"
                    if (encoding, steps, rate, seed) != dropped and encoding != without:
                        entries.append((labels, record(run_id, seed, test=test, validation=SOLVED)))
    return write_study(folder, *entries, analysis=warm_up.analysis())


def test_the_dependence_on_the_warm_up_follows_the_declared_rule(tmp_path):
    by_encoding = warm_ups.readings(str(warm_up_study(tmp_path)))
    assert {name: warm_ups.outcome(by_rate) for name, by_rate in by_encoding.items()} == {
        "kerple": warm_ups.DEPENDS,
        "fire": warm_ups.INDEPENDENT,
        "alibi": warm_ups.UNDECIDED,  # nothing is copied
        "shaw": warm_ups.DEPENDS,
    }
    assert [each.rate for each in by_encoding["kerple"]] == ["0.003", "0.01"]
    lines = warm_ups.warm_up_lines(str(tmp_path))
    assert lines[0].startswith("kerple   at rate 0.003: +0.70 [")
    assert lines[2] == "kerple   depends"


@pytest.mark.parametrize(
    ("intervals", "means", "expected"),
    [
        (((0.1, 0.3), (0.2, 0.4)), (0.5, 0.4), warm_ups.DEPENDS),
        (((-0.3, -0.1), (-0.4, -0.2)), (0.4, 0.5), warm_ups.DEPENDS),
        (((-0.3, -0.1), (0.2, 0.4)), (0.4, 0.5), warm_ups.UNDECIDED),
        (((0.02, 0.1), (-0.1, 0.05)), (0.5, 0.5), warm_ups.INDEPENDENT),
        (((0.02, 0.11), (-0.1, 0.05)), (0.5, 0.5), warm_ups.UNDECIDED),
        (((-0.01, 0.01), (-0.01, 0.01)), (0.04, 0.04), warm_ups.UNDECIDED),
        (((-0.01, 0.01), (-0.01, 0.01)), (0.96, 0.96), warm_ups.UNDECIDED),
        (((-0.01, 0.01), (-0.01, 0.01)), (0.06, 0.04), warm_ups.INDEPENDENT),
        (((0.1, 0.3), None), (0.5, 0.4), warm_ups.UNDECIDED),
    ],
)
def test_an_outcome_needs_both_rates(intervals, means, expected):
    by_rate = [warm_ups.Reading("fire", "", "", interval, means) for interval in intervals]
    assert warm_ups.outcome(by_rate) == expected


def test_a_study_without_an_encoding_is_refused(tmp_path):
    folder = warm_up_study(tmp_path, without="shaw")
    with pytest.raises(UserError, match="0 runs, not one, of shaw · 50 steps of warm-up on copy"):
        warm_ups.readings(str(folder))


def test_an_unfinished_study_of_warm_ups_is_refused(tmp_path):
    folder = warm_up_study(tmp_path, dropped=("fire", 400, "0.01", 2))
    with pytest.raises(UserError, match="0 runs, not one, of fire · 400 steps of warm-up on copy"):
        warm_ups.readings(str(folder))
