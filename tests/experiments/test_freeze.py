"""`pe-lab freeze` as a user runs it."""

import json
import re
from pathlib import Path

import pytest

from pe_lab.runs import plugins
from pe_lab.training import evaluation_data, frozen_data
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


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(CONFIG, encoding="utf-8")
    return f"--config={path}"


@pytest.fixture
def call(config):
    """Arguments after the config to (exit status, stdout, stderr)."""

    def run(*arguments):
        done = entry_points.call("freeze", config, *arguments)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.full
def test_every_task_of_a_sweep_is_frozen_once_with_its_hash_and_what_is_there_is_checked(
    call, tmp_path
):
    out = tmp_path / "sets"
    status, said, err = call(f"--out={out}")
    assert (status, err) == (0, "")
    where = re.escape(str(out / "frozen"))
    (copy_hash, copy_path), (_, parity_path) = re.findall(
        r"^(?:copy\(distinct=True, num_symbols=6\)|parity.*): 20 examples, sha256 (\w{64})\n"
        rf"  written to ({where}/\S+)$",
        said,
        re.M,
    )
    assert said.endswith(f"\nto evaluate on them: --config.evaluate.frozen={out}\n")
    assert {str(p) for p in out.glob("frozen/*/*")} == {copy_path, parity_path}
    task = tiny.run().task
    assert [
        len(frozen_data.FrozenSets(out, task).rows(*place, 4))
        for place in (("validation", 2), ("test", 3))
    ] == [4, 4]

    status, again, _ = call(f"--out={out}")
    assert (status, again) == (0, said.replace("written to", "already in"))
    status, more, _ = call(f"--out={out}", "--config.evaluate.num_examples=5")
    assert status == 0
    assert more.count("25 examples") == more.count("written to") == 2
    assert copy_hash not in more

    assert json.loads(Path(copy_path, "metadata.json").read_text())["symbols"] == {
        side: list("012345") for side in ("prompt", "target")
    }
    file = next(Path(copy_path).glob("*test*"))
    file.write_bytes(file.read_bytes()[:-40])
    status, _, err = call(f"--out={out}")
    assert status == 2
    assert err.startswith(f"error: The frozen examples in {copy_path} are damaged (")
    assert err.endswith("): remove that folder and freeze them again.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--config.evaluate.lengths=3,7"],
            "copy(distinct=True, num_symbols=6) has no examples of length 7",
        ),
        (["--out=FILE"], "The folder FILE cannot be written ("),
        (["--oud=x"], "pe-lab freeze has no '--oud'. Did you mean '--out'?"),
        (["--config.evaluate.frozn=x"], "config.evaluate has no 'frozn'. Did you mean 'frozen'?"),
        (
            ["--config.evaluate.num_examples=0"],
            "config.evaluate.num_examples must be at least 1, got 0.",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2(config, tmp_path, arguments, sentence):
    file = tmp_path / "file"
    file.touch()
    given = [f"--out={tmp_path / 'sets'}", *arguments]  # the last one of two equal flags counts
    said = entry_points.refused("freeze", config, *(a.replace("FILE", str(file)) for a in given))
    assert said.startswith(sentence.replace("FILE", str(file)))
    assert not (tmp_path / "sets").exists()


def test_examples_are_printed_as_text_those_that_are_measured(config):
    done = entry_points.call("examples", config, "--count=2")
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
