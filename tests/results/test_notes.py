"""The notes below tables."""

import pytest

from pe_lab.results import notes
from tests.results import fake_study


@pytest.mark.parametrize(
    ("counts", "show", "note"),
    [
        ([3], "median", "Medians have no interval with 3 seeds, every one of which is shown."),
        ([2, 4], "median", "Medians have no interval with 2 to 4 seeds, every one of which is"),
        ([6], "iqm", "Interquartile means have no interval with 6 seeds, every one of which is"),
        (
            [4, 6],
            "median",
            "Intervals [in brackets]: none for 4 seeds, every one of which is shown;",
        ),
        ([6], "median", "Intervals [in brackets]: exact, from order statistics of the median for"),
        ([0], "median", ""),
    ],
)
def test_a_note_speaks_of_brackets_only_if_a_center_has_some(counts, show, note):
    assert notes.intervals(counts, show).startswith(note)
    assert bool(notes.intervals(counts, show)) == bool(note)


def test_the_coverage_of_a_share_is_that_of_the_fewest_runs(tmp_path):
    study = fake_study.study(tmp_path, fake_study.entry("rope"))
    assert notes.extrapolation(study, [9, 0, 3])[1:] == notes.extrapolation(study, [3])[1:]
    assert "(with 3 seeds" in notes.extrapolation(study, [9, 0, 3])[1]
    assert len(notes.extrapolation(study, [0])) == 1
