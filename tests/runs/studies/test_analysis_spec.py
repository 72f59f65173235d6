import pytest

from pe_lab.runs.studies import analysis_spec
from pe_lab.runs.studies.analysis_spec import AnalysisSpec, MetricPoint


def test_extrapolation_is_tested_at_twice_the_training_length_by_default():
    assert (
        str(AnalysisSpec().extrapolation)
        == "solved, with an exact match of at least 0.9 at 2× the training length"
    )


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (MetricPoint(at=1.5), "at 1.5× the training length"),
        (MetricPoint(length=16, offset=8), "at length 16, positions shifted by 8"),
        (MetricPoint(lengths=(41, 500)), "mean over lengths 41..500"),
        (MetricPoint(), ""),
    ],
)
def test_a_point_is_written_in_words(point, words):
    assert str(point) == words


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("rope", ["rope"]),
        ("rope · contiguous", ["rope", "contiguous"]),
        ("rope · contiguous, evaluated with linear", ["rope", "contiguous", "linear"]),
        ("rope, in cross-attention too", ["rope, in cross-attention too"]),
    ],
)
def test_a_name_has_labels(name, labels):
    assert analysis_spec.parts(name) == labels
