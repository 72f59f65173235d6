"""Configs whose values, names or text are unusual, and right."""

import sys

import pytest

from pe_lab.cli import _studies
from tests.experiments.command_line.configs import STUDY

WITH_DATACLASS = (
    "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\n"
    "class Size:\n    width: int = 16\n"
)
PLAIN = STUDY.format(config="pass", sweep="grid.product()")


@pytest.mark.parametrize("name", ["mine.py", "colorsys.py", "json.py"])
def test_a_config_may_define_dataclasses_and_has_no_effect_on_later_imports(call, tmp_path, name):
    """Its name may also be that of a module of the standard library."""
    path = tmp_path / name
    path.write_text(WITH_DATACLASS + PLAIN, encoding="utf-8")
    status, _, err, _ = call(f"--config={path}")
    assert (status, err) == (0, "")
    assert getattr(sys.modules.get(path.stem), "__file__", "") != str(path)


def test_numbers_of_numpy_become_plain_numbers(call, config_file):
    path = config_file(
        config="import numpy as np; c.train.learning_rate = np.float64(0.5); "
        "c.task = dict(name='copy', num_symbols=np.int64(9))",
        sweep="grid.product({'model.encodings': [(dict(name='rope', base=__import__('numpy')"
        ".float64(500.0), layers=(__import__('numpy').int64(0),)),)]})",
    )
    status, _, err, ((config, *_),) = call(f"--config={path}")
    assert (status, err) == (0, "")
    (choice,) = config.points[0].values()
    assert choice.label == "rope(base=500.0, layers=(0,))"
    numbers = (
        config.values["train"]["learning_rate"],
        config.values["task"]["num_symbols"],
        choice.value[0]["base"],
        choice.value[0]["layers"][0],
    )
    assert [type(number) for number in numbers] == [float, int, float, int]


@pytest.mark.parametrize(
    ("path", "value"),
    [("model.sliding_window", 4), ("train.min_loops", 2), ("execution.time_limit", 5.0)],
)
def test_a_number_of_the_file_may_be_replaced_by_none(call, config_file, path, value):
    file = config_file(config=f"c.{path} = {value}")
    status, _, err, ((config, *_),) = call(f"--config={file}", f"--config.{path}=None")
    assert (status, err) == (0, "")
    group, key = path.split(".")
    assert config.values[group][key] is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("quickstart", ("quickstart", "")),
        ("quickstart:smoke", ("quickstart", "smoke")),
        ("run_10:30/tiny.py", ("run_10:30/tiny.py", "")),
        ("run_10:30/tiny.py:smoke", ("run_10:30/tiny.py", "smoke")),
        ("results/run_10:30", ("results/run_10", "30")),
        ("results:1/mine", ("results:1/mine", "")),
        ("a:b.py", ("a:b.py", "")),
    ],
)
def test_a_form_follows_the_last_colon_of_a_name_or_a_file(text, parts):
    assert _studies.split(text) == parts


def test_a_config_in_a_folder_with_a_colon_is_read(call, tmp_path):
    folder = tmp_path / "run_10:30"
    folder.mkdir()
    (folder / "mine.py").write_text(PLAIN, encoding="utf-8")
    status, _, err, ((config, *_),) = call(f"--config={folder / 'mine.py'}")
    assert (status, err, config.name) == (0, "", "mine")
