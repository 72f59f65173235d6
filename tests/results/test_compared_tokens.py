"""Variants are compared on the tokens and positions of their tests."""

import pytest

from pe_lab.results import comparable
from pe_lab.runs.studies.analysis_spec import MetricPoint
from tests.results import fake_study
from tests.results.fake_study import entry


def saw(folder, *runs, encodings=None, length=8, offset=0):
    """Whether each run, from the arguments of its record, saw the positions of a test."""
    entries = []
    for name, run in enumerate(runs):
        labels, record = entry(f"e{name}", test={length: 0.5}, **run)
        if encodings:
            record["config"]["model"] = {"encodings": [encodings[name]]}
        entries.append((labels, record))
    found = fake_study.study(folder, *entries)
    at = MetricPoint(length=length, offset=offset)
    return [comparable.saw_positions(found, variant, at) for variant in found.by_name]


@pytest.mark.parametrize(("largest", "expected"), [(39, True), (38, False)])
def test_two_training_lengths_give_the_tokens_of_any_length(tmp_path, largest, expected):
    """A task with three tokens for a unit of length and four others: 16 at 4, 22 at 6, 40 at 12."""
    short = dict(max_position=15)
    middle = dict(max_position=21, max_length=6)
    shifted = dict(max_position=largest, max_length=6, scheme="shifted")
    assert saw(tmp_path, short, middle, shifted, length=12) == [False, False, expected]


@pytest.mark.parametrize(("largest", "expected"), [(63, True), (62, False)])
def test_a_record_holds_the_tokens_of_its_tests(tmp_path, largest, expected):
    """No variant has contiguous positions. A task with n squared tokens has 64 at length 8."""
    tokens = {"4": 16, "8": 64, "16": 256}
    run = dict(scheme="shifted", max_position=largest, num_tokens=tokens)
    assert saw(tmp_path, run, run) == [expected, expected]


@pytest.mark.parametrize(("offset", "expected"), [(0, [True, False, False]), (1, [False] * 3)])
def test_tokens_that_share_a_position_need_fewer_positions(tmp_path, offset, expected):
    """Length 8 has 64 tokens and ends at position 9, and training showed 9 or 8."""
    tests = dict(num_tokens={"4": 16, "8": 64}, max_test_position={"4": 5, "8": 9})
    runs = [dict(scheme="coupled", max_position=largest, **tests) for largest in (9, 8, 5)]
    assert saw(tmp_path, *runs, offset=offset) == expected


def test_a_record_says_which_positions_training_showed(tmp_path):
    """The tokens of these records would say otherwise. Length 12 was measured later."""
    tests = dict(num_tokens={"4": 16, "8": 64}, max_test_position={"4": 15, "8": 63})
    runs = [dict(max_position=95, seen_offsets={"8": offset}, **tests) for offset in (None, 0, 3)]
    assert saw(tmp_path, *runs) == [False, True, True]
    assert saw(tmp_path, *runs, offset=3) == [False, False, True]
    assert saw(tmp_path, *runs, length=12) == [False, False, False]
    runs = [run | dict(max_position=111) for run in runs]
    assert saw(tmp_path, *runs, length=12) == [True, True, True]


def test_an_encoding_with_a_scheme_of_its_own_is_not_contiguous(tmp_path):
    """The run with the larger positions comes first, and its study's scheme is contiguous."""
    shifted = dict(max_position=17, scheme="contiguous")
    contiguous = dict(max_position=9, scheme="shifted")
    encodings = [
        {"name": "alibi", "reads_positions": True, "positions": {"name": "shifted"}},
        {"name": "rope", "reads_positions": True, "positions": {"name": "contiguous"}},
    ]
    assert saw(tmp_path, shifted, contiguous, encodings=encodings) == [True, False]
