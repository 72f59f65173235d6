"""The page of tasks by hand, and the tasks that have chance levels."""

import ast
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from docs.build import pages, tasks
from pe_lab.runs.records import records
from pe_lab.tasks.chance_levels import chance_levels
from pe_lab.tasks.copy import Copy
from pe_lab.tasks.language_model import LanguageModel
from pe_lab.tasks.parity import Parity
from tests.training.varied import Varied

ROOT = Path(__file__).parents[2]

MODULE = """Make a | of b*,
twice.

    a b -> [b] c
"""


@dataclass(frozen=True)
class Signs(Varied):
    """The target is b."""

    length_name = "signs"


CHANCE_LEVELS = [
    {"length": n, "token_accuracy": tokens, "exact_match": whole, "count": 9}
    for n, tokens, whole in ((10, 0.5, 0.0), (50, 0.996, 0.004), (500, 1.0, 1.0))
]

TABLES = r"""### Copying

| task | description | lengths | chance level: tokens / exact, at length |
|---|---|---|---|
| [copy](../pe_lab/tasks/copy.py) | Make a \| of b\*, twice. | signs, from 1 | 0.996 / 0.004, 50 |

### Others

| task | description | lengths | chance level: tokens / exact, at length |
|---|---|---|---|
| [mine](../pe_lab/tasks/mine.py) | Make a \| of b\*, twice. | signs | – |
"""


def test_a_page_has_a_table_for_each_family_and_a_line_for_each_task(monkeypatch, tmp_path):
    members = {"tasks": ["copy", "mine"]}
    monkeypatch.setattr(tasks.plugins, "names", lambda family: members.get(family, []))
    monkeypatch.setattr(tasks.plugins, "find", lambda family, name: Signs)
    monkeypatch.setattr(
        tasks.inspect, "getmodule", lambda cls: type("Module", (), {"__doc__": MODULE})
    )
    tasks_measured = {"copy": {"chance_levels": CHANCE_LEVELS}}
    source = {"commit": "a" * 40}
    record = {"num_examples": 1234, "provenance": source, "tasks": tasks_measured}
    records.write_json(tmp_path / tasks.RECORD, record)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "tasks.md.jinja", tmp_path / "docs")
    text = pages.text(tmp_path, Path("docs/tasks.md"))
    assert "\n# Tasks\n" in text
    assert "of 1,234 examples" in text
    assert f"\n{TABLES}" in text


def test_chance_levels_are_measured_with_the_defaults_and_say_which_they_are():
    found = tasks.measure("parity", 200)
    assert (found["task"]["name"], found["reason"]) == ("parity", None)
    assert [chance_level["length"] for chance_level in found["chance_levels"]] == [10, 40, 100, 500]
    assert {chance_level["count"] for chance_level in found["chance_levels"]} == {200}
    assert all(
        abs(chance_level["exact_match"] - 0.5) < 0.18 for chance_level in found["chance_levels"]
    )  # five standard deviations


def test_chance_levels_are_those_of_the_test_and_not_of_training():
    """At length 10 the most frequent answer has its one at index 0, which 19 of 100 tests have."""
    found = tasks.measure("bitwise_or", 2000)
    assert found["task"]["lengths"] == "one_longest"
    level = found["chance_levels"][0]
    assert level["length"] == 10
    assert abs(level["exact_match"] - (2 * 10 - 1) / 10**2) < 0.05
    training = chance_levels(tasks.built("bitwise_or")[0], [10], 2000)
    assert training[0]["exact_match"] < 0.1


def test_the_committed_chance_levels_are_those_of_tested_tasks():
    record = json.loads((ROOT / tasks.RECORD).read_text(encoding="utf-8"))
    with_operands = []
    for name, entry in record["tasks"].items():
        if entry["chance_levels"]:
            _, plugin = tasks.tested(name)
            assert entry["task"] == json.loads(json.dumps(plugin.to_dict()))
            if plugin != tasks.built(name)[1]:
                with_operands.append(name)
    assert with_operands == ["addition", "bitwise_or", "multiplication", "subtraction"]


def test_what_needs_arguments_or_is_text_has_no_chance_levels_and_a_reason(monkeypatch):
    monkeypatch.setattr(Parity, "is_text", True)
    text = tasks.measure("parity", 200)
    assert (text["task"]["name"], text["chance_levels"], text["reason"]) == (
        "parity",
        [],
        "text is scored by the likelihood of each place",
    )
    monkeypatch.setattr(
        tasks, "built", lambda name: tasks.plugins.resolve("tasks", {"name": "copi"})
    )
    found = tasks.measure("copy", 200)
    assert (found["task"], found["chance_levels"]) == (None, [])
    assert found["reason"].startswith("pe_lab/tasks has no 'copi'.")


@dataclass(frozen=True)
class Grid(Varied):
    """Its side is its length."""

    @property
    def min_length(self):
        return 12

    def prompt_bound(self, length):
        return length**2


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (Copy(num_symbols=64), [10, 40, 64]),
        (Copy(num_symbols=6), [6]),
        (Varied(), [10, 40, 100, 500]),
        (Grid(), [12, 40]),
    ],
)
def test_lengths_are_those_that_a_task_has_and_not_too_much_for_a_machine(task, expected):
    assert tasks.lengths_of(task) == expected


def test_language_model_takes_the_arguments_of_known_corpora():
    """Nothing is read: the sources are those that a user downloads."""
    page = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| `((?:path|dataset|tokens)=.*)` \|$", page, re.MULTILINE)
    sources = []
    for row in rows:
        call = ast.parse(f"task({row})", mode="eval").body
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        task = LanguageModel(**arguments)
        sources.append(task.path or task.dataset or task.tokens)
    assert sources == ["enwik8", "wikitext-103-raw", "pg19", "sample.parquet", "fineweb10B"]
