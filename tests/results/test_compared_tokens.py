"""Variants are compared on the tokens and positions of their tests."""

from pe_lab.results import comparable, frame
from pe_lab.runs.analysis_spec import MetricPoint
from tests.results.contrasts import SOLVED
from tests.results.fake_study import point, record, write_study


def seen_at(folder, *runs, length):
    """Whether each run saw the positions of a length in training, from its largest position."""
    entries = []
    for name, (largest, scheme, changes) in enumerate(runs):
        made = record(f"r{name}", test={8: 0.5}, validation=SOLVED, **changes)
        made["exposure"]["max_position"] = largest
        made["config"]["positions"] = {"name": scheme}
        entries.append((point("rope", 0, positions=str(name)), made))
    found = frame.read(write_study(folder, *entries))
    at = MetricPoint(length=length)
    return [comparable.saw_positions(found, variant, at) for variant in found.by_name]


def test_two_training_lengths_give_the_tokens_of_any_length(tmp_path):
    """A task with three tokens for a unit of length and four others: 16 at 4, 22 at 6, 40 at 12."""
    short = (15, "contiguous", dict(max_length=4))
    middle = (21, "contiguous", dict(max_length=6))
    for largest, expected in ((39, True), (38, False)):
        shifted = (largest, "shifted", dict(max_length=6))
        folder = tmp_path / str(largest)
        assert seen_at(folder, short, middle, shifted, length=12) == [False, False, expected]


def test_a_record_holds_the_tokens_of_its_tests(tmp_path):
    """No variant has contiguous positions. A task with n squared tokens has 64 at length 8."""
    tokens = {"4": 16, "8": 64, "16": 256}
    for largest, expected in ((63, True), (62, False)):
        entries = []
        for name in ("a", "b"):
            made = record(name, test={8: 0.5}, validation=SOLVED)
            made["config"]["positions"] = {"name": "shifted"}
            made["exposure"] |= {"max_position": largest, "num_tokens": tokens}
            entries.append((point(name, 0), made))
        found = frame.read(write_study(tmp_path / str(largest), *entries))
        at = MetricPoint(length=8)
        seen = [comparable.saw_positions(found, variant, at) for variant in found.by_name]
        assert seen == [expected, expected]


def test_tokens_that_share_a_position_need_fewer_positions(tmp_path):
    """Length 8 has 64 tokens and ends at position 9, and training showed 9 or 8."""
    entries = []
    for name, largest in (("seen", 9), ("nearly", 8), ("trained", 5)):
        made = record(name, test={8: 0.5}, validation=SOLVED)
        made["config"]["positions"] = {"name": "coupled"}
        made["exposure"] |= {
            "max_position": largest,
            "num_tokens": {"4": 16, "8": 64},
            "max_test_position": {"4": 5, "8": 9},
        }
        entries.append((point(name, 0), made))
    found = frame.read(write_study(tmp_path, *entries))
    seen = [
        [comparable.saw_positions(found, variant, point) for variant in found.by_name]
        for point in (MetricPoint(length=8), MetricPoint(length=8, offset=1))
    ]
    assert seen == [[True, False, False], [False, False, False]]


def test_an_encoding_with_a_scheme_of_its_own_is_not_contiguous(tmp_path):
    """The run with the larger positions comes first, and its study's scheme is contiguous."""
    entries = []
    shifted = {"name": "alibi", "reads_positions": True, "positions": {"name": "shifted"}}
    contiguous = {"name": "rope", "reads_positions": True, "positions": {"name": "contiguous"}}
    for name, largest, scheme, encoding in (
        ("shifted", 17, "contiguous", shifted),
        ("contiguous", 9, "shifted", contiguous),
    ):
        made = record(name, test={8: 0.5}, validation=SOLVED)
        made["exposure"]["max_position"] = largest
        made["config"]["positions"] = {"name": scheme}
        made["config"]["model"] = {"encodings": [encoding]}
        entries.append((point(name, 0), made))
    found = frame.read(write_study(tmp_path, *entries))
    at = MetricPoint(length=8)
    seen = [comparable.saw_positions(found, variant, at) for variant in found.by_name]
    assert seen == [True, False]
