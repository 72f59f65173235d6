"""`pe-lab examples` as a user runs it."""

import pytest

from pe_lab.runs.plugins import plugins
from pe_lab.training import evaluation_data
from tests import tiny
from tests.experiments import entry_points

pytestmark = pytest.mark.slow

CONFIG = """
from pe_lab.studies import base
from pe_lab.runs import grid

def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.train.max_length = 3
    c.evaluate.update(lengths=(2, 3), num_examples=4, curve_lengths=(3,), curve_examples=2)
    return c

def sweep():
    tasks = [dict(name="copy", num_symbols=6), dict(name="parity")]
    return grid.product({"task": tasks}, {"seed": range(2)})
"""


def test_examples_are_printed_as_text_those_that_are_measured(tmp_path):
    config = tmp_path / "small.py"
    config.write_text(CONFIG, encoding="utf-8")
    done = entry_points.call("examples", f"--config={config}", "--count=2")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[1] == "copy(distinct=True, num_symbols=6)"
    assert lines[2] == "  2 symbols"
    task = plugins.build("tasks", tiny.run().task)
    ((_, _, drawn),) = evaluation_data.draw(task, {("test", 2): 1})
    shown = " ".join(map(str, drawn.prompt[0][:2]))
    assert lines[3] == f"    {shown} -> {shown}"
    assert sum(" -> " in line for line in lines) == 2 * 2 * 2


def test_what_a_target_is_given_stands_in_brackets():
    task = plugins.build("tasks", plugins.resolve("tasks", {"name": "associative_recall"}))
    ((_, target),) = evaluation_data.as_text(task, task.min_length, 1)
    words = target.split()
    assert any(word.startswith("[") and word.endswith("]") for word in words)
    assert not all(word.startswith("[") for word in words)


def test_a_length_that_the_task_does_not_have_is_refused(tmp_path):
    config = tmp_path / "small.py"
    config.write_text(CONFIG, encoding="utf-8")
    sentence = entry_points.refused("examples", config, "--config.evaluate.lengths=(3, 9)")
    assert sentence == (
        "copy with these arguments has no examples of length 9, which config.evaluate.lengths has."
    )
