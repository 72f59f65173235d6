"""The configs of "Axes of an evaluation" in docs/models.md."""

import re
from pathlib import Path

import pytest

from pe_lab.runs import config, grid
from pe_lab.studies import base

PAGE = Path(__file__).parents[3] / "docs" / "models.md"
SECTION = PAGE.read_text(encoding="utf-8").partition("## Axes of an evaluation")[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", SECTION.partition("\n## ")[0], re.DOTALL)
AXES = {"operands": (2, 3, 4), "other_digits": (5, 10, 15, 20), "num_slots": (16, 32, 64, 128)}


def test_there_is_one_for_every_example():
    assert len(EXAMPLES) == len(AXES)


@pytest.mark.parametrize(("code", "axis"), list(zip(EXAMPLES, AXES, strict=True)))
def test_an_example_is_a_config_with_an_override_for_each_value(code, axis):
    names = {"c": base.get_config(), "grid": grid}
    exec(compile(code, str(PAGE), "exec"), names)
    run = config.from_dict(names["c"].to_dict())
    values = [dict(override.task.arguments)[axis] for override in run.evaluate.overrides]
    assert tuple(values) == AXES[axis]
    assert run.evaluate.overrides[0].axes == ((f"evaluated {axis}", str(values[0])),)
