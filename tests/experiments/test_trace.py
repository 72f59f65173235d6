"""The path of a run through the code, and its picture."""

import pytest

from experiments import trace


@pytest.fixture(scope="module")
def result():
    return trace.trace()


@pytest.mark.slow
def test_the_stack_goes_from_the_training_loop_through_the_step_to_the_softmax(result):
    assert result.stack[0] == trace.LOOP
    assert trace.STEP in result.stack
    assert result.stack[-1] == trace.SOFTMAX
    assert len(result.stack) - 2 <= 15


@pytest.mark.slow
def test_the_picture_shows_the_files_that_a_sweep_runs(result):
    text = trace.PICTURE.read_text(encoding="utf-8")
    assert text == trace.picture(result.files)
    assert text.count('class="file"') == len(result.files)


def test_the_picture_numbers_every_file_in_the_order_of_the_calls():
    files = ("pe_lab/studies/base.py", "pe_lab/runs/config.py", "pe_lab/training/step.py")
    text = trace.picture(files)
    for number, name in enumerate(("studies/base", "runs/config", "training/step"), start=1):
        assert f">{number}. {name}</text>" in text
