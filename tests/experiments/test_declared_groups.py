"""The declared rule of the groups of state_tracking, on planted runs."""

import pytest

from configs import state_tracking
from experiments.declared import groups
from pe_lab.runs.errors import UserError
from tests.results.fake_study import record, write_study

SCORES = {  # of PaTH and of RoPE at the training length
    "S3": (0.9, 0.1),
    "S5": (0.98, 0.97),
    "A5": (0.02, 0.02),
    "Z60": (0.5, 0.52),
}


def groups_study(folder, dropped=None):
    """A study of all rows in all groups, without one of its runs. Other rows have 0.3."""
    names = (*state_tracking.ENCODINGS, "nope · convolution", state_tracking.LSTM)
    entries = []
    for group, (path, rope) in SCORES.items():
        for row, score in {**dict.fromkeys(names, 0.3), "path": path, "rope": rope}.items():
            for rate in ("0.001", "0.003"):
                for seed in range(state_tracking.SEEDS["groups"]):
                    labels = {"model.encodings": row, "task": group, "train.learning_rate": rate}
                    test = {4: score + seed / 1000, 8: 0.0}
                    run = record(
                        f"{row}{group}{rate}{seed}",
                        seed,
                        test=test,
                        validation={4: score},
                        loss=1 / float(rate),
                        chance_levels={4: 1 / 60, 8: 1 / 60},
                    )
                    if (group, row, rate, seed) != dropped:
                        entries.append(({**labels, "seed": str(seed)}, run))
    contrasts = [{"a": "path", "b": "rope", "at": 1}]
    analysis = {"contrasts": contrasts, "tuned": ["train.learning_rate"]}
    return write_study(folder, *entries, analysis=analysis)


def test_differences_in_groups_follow_the_declared_rule(tmp_path):
    by_group = {each.group: each for each in groups.readings(str(groups_study(tmp_path)))}
    assert {group: each.outcome for group, each in by_group.items()} == {
        "S3": groups.BETTER,
        "S5": groups.BETTER,  # seeds differ alike, so this small difference is decided
        "A5": groups.UNDECIDED,  # both are at chance
        "Z60": groups.WORSE,
    }
    assert (by_group["S3"].a, by_group["S3"].b) == ("path", "rope")
    assert by_group["S3"].shown.startswith("+0.80 [")
    line = next(iter(groups.groups_lines(str(tmp_path))))
    assert line.startswith("S3   path")
    assert line.endswith(": better")


@pytest.mark.parametrize(
    ("interval", "means", "expected"),
    [
        ((0.01, 0.2), (0.5, 0.4), groups.BETTER),
        ((-0.2, -0.01), (0.4, 0.5), groups.WORSE),
        ((-0.04, 0.05), (0.5, 0.5), groups.NONE),
        ((-0.04, 0.06), (0.5, 0.5), groups.UNDECIDED),
        ((-0.01, 0.01), (0.13, 0.14), groups.UNDECIDED),  # chance is 0.1
        ((-0.01, 0.01), (0.16, 0.14), groups.NONE),
        ((-0.01, 0.01), (0.96, 0.96), groups.UNDECIDED),
        ((-0.01, 0.01), (0.96, 0.94), groups.NONE),
    ],
)
def test_an_outcome_in_a_group_needs_scores_between_chance_and_the_ceiling(
    interval, means, expected
):
    assert groups.outcome(interval, means, chance=0.1) == expected


@pytest.mark.parametrize("row", ["rope", "LSTM"])
def test_an_unfinished_study_of_groups_is_refused(tmp_path, row):
    folder = groups_study(tmp_path, dropped=("A5", row, "0.003", 2))
    words = f"has 0 runs, not one, of {row} on A5 with rate 0.003 and seed 2"
    with pytest.raises(UserError, match=words):
        groups.readings(str(folder))
