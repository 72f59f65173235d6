"""What the documents show as programs are programs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from configs import encoding_costs
from docs.build import costs, encodings, performance, tasks
from docs.build.published import STUDIES
from pe_lab.contrib.inspection.scorecard import PROPERTIES
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from tests.docs import llama
from tests.marks import full_except

ROOT = Path(__file__).parents[1]


def programs(path):
    """Title of its section -> the first Python program there."""
    sections = re.split(r"^## ", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {
        s.partition("\n")[0]: re.search(r"```python\n(.*?)```", s, re.DOTALL) for s in sections
    }
    return {title: match.group(1) for title, match in found.items() if match}


REUSE = programs("docs/reuse.md")


def test_there_is_one_for_every_way_of_reuse():
    assert list(REUSE) == [
        "In a plain function",
        "In Flax's MultiHeadAttention",
        "In a pretrained NNX model",
        "In a Linen module",
        "In Equinox",
        "Decoding with a cache",
        "Packed sequences",
        "Two axes",
        "The rotary embedding of a published model",
        "An encoding of your own",
        "A learned parameter",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("title", REUSE)
def test_a_program_of_reuse_runs_and_its_assertions_hold(title):
    assert "assert " in REUSE[title]
    given = llama.names() if title == "In a pretrained NNX model" else {}
    exec(compile(REUSE[title], f"docs/reuse.md, {title}", "exec"), {"__name__": "a_user", **given})


NOT_OF_THE_LIBRARY = (
    "absl",
    "ml_collections",
    "optax",
    "orbax",
    "matplotlib",
    "rich",
    "tensorflow_datasets",
)


@pytest.mark.slow
def test_encodings_and_positions_need_jax_flax_jaxtyping_and_numpy_alone():
    """Every file of both folders is imported; of the rest of pe_lab only two files without
    dependencies are.
    """
    program = f"""
import importlib, pkgutil, sys
loaded = set(sys.modules)
import flax.nnx  # what Flax itself brings is not ours
for name in {NOT_OF_THE_LIBRARY!r}:
    if not any(m == name or m.startswith(name + ".") for m in sys.modules):
        sys.modules[name] = None
import pe_lab.encodings, pe_lab.positions
for package in (pe_lab.encodings, pe_lab.positions):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(package.__name__ + "." + module.name)
ours = [m for m in sys.modules if m.startswith("pe_lab.")]
print(sorted(m for m in ours if m.split(".")[1] not in ("encodings", "positions")))
"""
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (
        0,
        "['pe_lab.choices', 'pe_lab.lazy_names']\n",
    ), found.stderr


COSTS = ROOT / costs.FOLDER


def test_the_costs_are_of_the_config_and_of_one_clean_commit():
    """The page names the encodings of its time that have no figures."""
    labels = {point["model.encodings"].label for point in encoding_costs.sweep()}
    figures = json.loads((COSTS / "costs.json").read_text())
    measured = [figure["label"] for figure in figures]
    half = len(measured) // 2
    assert measured[:half] == measured[half:]
    assert set(measured) <= labels
    names = {label.partition("(")[0] for label in measured}
    without_figures = set(plugins.names("encodings")) - names
    page = (COSTS / "README.md").read_text()
    (line,) = (line for line in page.splitlines() if line.startswith("- **Not measured**"))
    assert set(re.findall(r"`(\w+)`", line)) == {"mrope"} <= without_figures
    assert [figure["overrides"] for figure in figures[:1] + figures[-1:]] == [
        [],
        ["config.train.max_length=255", "config.train.batch_size=8"],
    ]
    options = json.loads((COSTS / "options.json").read_text())
    assert {figure["label"] for figure in options} == set(encoding_costs.OPTIONS)
    figures += options
    assert len({figure["provenance"]["commit"] for figure in figures}) == 1
    assert not any(figure["provenance"]["dirty"] for figure in figures)


def test_the_profiles_are_of_runs_of_the_costs():
    figures, measured = (
        json.loads((COSTS / file).read_text()) for file in ("profile.json", "costs.json")
    )
    runs = [(f["label"], f["overrides"], f["provenance"]["commit"]) for f in measured]
    assert all((f["label"], f["overrides"], f["provenance"]["commit"]) in runs for f in figures)
    assert not any(figure["provenance"]["dirty"] for figure in figures)


@pytest.mark.parametrize(
    "name", ["engine", "after", "before", "peer", "scaling", "members", "evaluation"]
)
def test_the_records_of_performance_are_of_one_clean_commit(name):
    figures = json.loads((ROOT / performance.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert len({figure["provenance"]["commit"] for figure in figures}) == 1
    assert not any(figure["provenance"]["dirty"] for figure in figures)


MEASURED = json.loads((ROOT / encodings.SCORECARD).read_text(encoding="utf-8"))


def test_every_measured_encoding_has_a_picture_and_all_are_small():
    pictures = (ROOT / encodings.SCORECARD).parent
    assert list(MEASURED) == sorted(path.stem for path in pictures.glob("*.png"))
    assert sum(path.stat().st_size for path in pictures.iterdir()) < 2e6
    assert {
        p.name: len({p.verdict(row["numbers"]) for row in MEASURED.values()}) for p in PROPERTIES
    } == {p.name: 3 for p in PROPERTIES}


@pytest.mark.parametrize("name", full_except(["alibi", "nope"], MEASURED))
def test_the_row_of_an_encoding_is_what_it_measures_today(name):
    found, kept = encodings.measure(name), MEASURED[name]
    assert [found[key] for key in ("name", "kind", "reason")] == [
        kept[key] for key in ("name", "kind", "reason")
    ]
    assert list(found["numbers"]) == list(kept["numbers"])
    for key, value in kept["numbers"].items():
        assert found["numbers"][key] == (
            value if value is None else pytest.approx(value, rel=1e-3, abs=1e-4)
        ), key


CHANCE_LEVELS = json.loads((ROOT / tasks.RECORD).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CHANCE_LEVELS["tasks"])
def test_chance_levels_are_of_todays_defaults_or_have_a_reason_why_not(name):
    measured = CHANCE_LEVELS["tasks"][name]
    if measured["task"] is None:
        with pytest.raises(UserError, match=re.escape(measured["reason"])):
            tasks.tested(name)
        return
    task, plugin = tasks.tested(name)
    assert measured["task"] == json.loads(json.dumps(plugin.to_dict()))
    lengths = [] if task.is_text else tasks.lengths_of(task)
    assert [level["length"] for level in measured["chance_levels"]] == lengths


@pytest.mark.slow
@pytest.mark.parametrize("name", full_except(["copy", "majority"], CHANCE_LEVELS["tasks"]))
def test_chance_levels_are_what_the_task_measures_today(name):
    assert tasks.measure(name, CHANCE_LEVELS["num_examples"]) == CHANCE_LEVELS["tasks"][name]


def test_the_record_of_throughput_is_of_a_clean_commit_and_most_tasks_reach_the_goal():
    figures = json.loads(
        (ROOT / STUDIES / "throughput" / "throughput.json").read_text(encoding="utf-8")
    )
    measured = [figure for figure in figures if figure["error"] is None]
    assert {figure["provenance"]["dirty"] for figure in measured} == {False}
    over = {f["task"] for f in measured if f["goal"] and f["milliseconds"] > f["goal"]}
    assert over == {"minesweeper", "copy_grid", "sort", "keyed_sort"}


def test_the_chance_levels_are_of_a_clean_commit():
    about = CHANCE_LEVELS["provenance"]
    assert about["commit"]
    assert not about["dirty"]
