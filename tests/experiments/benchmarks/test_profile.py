"""Where the time of a step goes, by the function that asked for it."""

import re

import pytest

from experiments.benchmarks import profile
from pe_lab.contrib.grids.step_time import Program
from tests import tiny


@pytest.fixture(scope="module")
def found():
    return profile.profile(Program(tiny.run("cope")), 2)


@pytest.mark.full
def test_an_encodings_own_work_stands_under_its_own_name(found):
    assert found["encodings/cope.py CoPE.counts"] > 0
    assert found["model/block.py FeedForward.__call__"] > 0
    assert all(re.fullmatch(r"elsewhere|(\w+/)+\w+\.py [\w.<>]+", place) for place in found)


@pytest.mark.slow
def test_the_longest_is_first_and_no_loop_counts_what_it_holds(found):
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert 0 < sum(found.values()) < 1  # seconds of a step of a model of a few thousand parameters
    assert found.get("training/step.py chunk", 0) < sum(found.values()) / 2


@pytest.mark.parametrize("package", [profile.PACKAGE, "/another/checkout/pe_lab"])
def test_frames_are_read_up_to_the_first_function_of_the_library(package):
    """A program from the compilation cache may have been compiled in another checkout."""
    text = "\n".join(
        [
            "FileNames",
            f'1 "{package}/encodings/rope.py"',
            '2 "/home/pe_lab/site-packages/linear.py"',
            "",
            "FunctionNames",
            '1 "RoPE.qk"',
            '2 "Linear.__call__"',
            "",
            "FileLocations",
            "1 {file_name_id=1 function_name_id=1 line=3 end_line=3}",
            "2 {file_name_id=2 function_name_id=2 line=9}",
            "",
            "StackFrames",
            "1 {file_location_id=1 parent_frame_id=1}",
            "2 {file_location_id=2 parent_frame_id=2}",
            "3 {file_location_id=2 parent_frame_id=1}",
            "",
            '  %mul.1 = f32[] multiply(%a, %b), metadata={op_name="x" stack_frame_id=2}',
            '  ROOT %dot.2 = f32[] dot(%a, %b), metadata={op_name="x" stack_frame_id=3}',
        ]
    )
    assert profile._places(text) == {"mul.1": "encodings/rope.py RoPE.qk"}
