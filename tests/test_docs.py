"""What the documents show as programs are programs."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from configs import encoding_costs
from docs.build import encodings, performance, tasks
from pe_lab.inspection.scorecard import PROPERTIES
from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError
from tests.encodings import catalogue
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
        "In a Linen module",
        "Decoding with a cache",
        "Packed sequences",
        "Two axes",
        "An encoding of your own",
    ]


@pytest.mark.parametrize("title", REUSE)
def test_a_program_of_reuse_runs_and_its_assertions_hold(title):
    assert "assert " in REUSE[title]
    exec(compile(REUSE[title], f"docs/reuse.md, {title}", "exec"), {"__name__": "a_user"})


NOT_OF_THE_LIBRARY = (
    "absl",
    "ml_collections",
    "optax",
    "orbax",
    "matplotlib",
    "rich",
    "tensorflow_datasets",
)


def test_encodings_and_positions_need_jax_flax_jaxtyping_and_numpy_alone():
    """Every file of both folders is imported; of the rest of pe_lab only the choices are."""
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
print(sorted(m for m in sys.modules if m.startswith("pe_lab.") and m.split(".")[1] not in ("encodings", "positions")))
"""
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "['pe_lab.choices']\n"), found.stderr


MEASURED = json.loads((ROOT / encodings.SCORECARD).read_text(encoding="utf-8"))
CATALOGUE = (ROOT / "docs" / "encodings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", plugins.names("encodings"))
def test_every_encoding_has_a_line_and_its_cells_are_what_code_and_records_say(name):
    (line,) = [line for line in CATALOGUE.splitlines() if line.startswith(f"| `{name}` |")]
    _, equation, *_, beyond, _, _, _ = re.split(r"(?<!\\) \| ", line.strip("| "))
    assert equation
    assert beyond
    assert line == catalogue.row(name, equation, beyond)


def test_the_costs_are_of_the_config_and_of_a_clean_commit_and_their_page_shows_them():
    asked = [point["model.encodings"].label for point in encoding_costs.sweep()]
    figures = json.loads(catalogue.COSTS.read_text())
    assert [figure["label"] for figure in figures] == asked * 2
    assert [figure["overrides"] for figure in figures[:1] + figures[-1:]] == [
        [],
        ["config.train.max_length=255", "config.train.batch_size=8"],
    ]
    assert len({figure["provenance"]["commit"] for figure in figures}) == 1
    assert not any(figure["provenance"]["dirty"] for figure in figures)
    assert catalogue.cost_table() in (catalogue.COSTS.parent / "README.md").read_text(
        encoding="utf-8"
    )


def test_the_closer_costs_are_of_the_same_commit_and_their_page_shows_them():
    assert catalogue.cost_table(catalogue.TARGETS) in (
        catalogue.TARGETS.parent / "README.md"
    ).read_text(encoding="utf-8")
    figures = [
        f for path in (catalogue.TARGETS, catalogue.COSTS) for f in json.loads(path.read_text())
    ]
    assert not any(figure["provenance"]["dirty"] for figure in figures)
    assert len({figure["provenance"]["commit"] for figure in figures}) == 1


def test_the_profiles_are_of_the_costs_runs_and_their_page_shows_them():
    figures, costs = (json.loads(path.read_text()) for path in (catalogue.PROFILE, catalogue.COSTS))
    measured = [(f["label"], f["overrides"], f["provenance"]["commit"]) for f in costs]
    assert all((f["label"], f["overrides"], f["provenance"]["commit"]) in measured for f in figures)
    assert not any(figure["provenance"]["dirty"] for figure in figures)
    names = list(dict.fromkeys(re.match(r"\w+", f["label"])[0] for f in figures))
    assert catalogue.profile_table(*names) in (catalogue.PROFILE.parent / "README.md").read_text(
        encoding="utf-8"
    )


def test_the_measured_numbers_in_the_prose_of_costs_are_those_of_the_records():
    """At 80 and at 512 tokens: NoPE of all encodings; RoPE and Shaw of the closer measurement."""
    all_costs, closer = (
        json.loads(path.read_text()) for path in (catalogue.COSTS, catalogue.TARGETS)
    )
    folder = catalogue.COSTS.parent
    profile = {
        f["label"]: f["profile"]
        for f in json.loads(catalogue.PROFILE.read_text())
        if not f["overrides"]
    }
    text = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    nope = [f for f in all_costs if f["label"] == "nope"]
    seconds = " s and ".join(f"{f['seconds_per_step']:.3f}" for f in nope)
    memory = " and ".join(f"{f['temporary_bytes'] / 1e6:.0f}" for f in nope)
    rope, shaw = (
        [f["times_first"] for f in closer if f["label"] == name] for name in ("rope", "shaw")
    )
    own = 1e3 * sum(
        value
        for place, value in profile["rope"].items()
        if place.startswith(catalogue.PLACES["own hooks"])
    )
    assert f"NoPE's step takes {seconds} s." in text
    assert f"over NoPE's ({memory} MB)" in text
    assert (
        f"(load before: {all_costs[0]['load_before']:.1f} and {all_costs[-1]['load_before']:.1f})"
        in text
    )
    assert (
        f"load before: {closer[0]['load_before']:.1f} and {closer[-1]['load_before']:.1f})" in text
    )
    assert f"RoPE is at {rope[0]:.2f} with 80 tokens and at {rope[1]:.2f} with 512" in text
    assert f"its own work, {own:.1f} ms of {1e3 * nope[0]['seconds_per_step']:.0f}," in text
    assert f"Shaw is at {shaw[1]:.2f} with 512" in text


@pytest.mark.parametrize(
    "name", ["engine", "after", "before", "peer", "scaling", "members", "evaluation"]
)
def test_the_records_of_performance_are_of_one_clean_commit(name):
    figures = json.loads((performance.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert len({figure["provenance"]["commit"] for figure in figures}) == 1
    assert not any(figure["provenance"]["dirty"] for figure in figures)


@pytest.mark.parametrize("name", plugins.names("positions"))
def test_every_scheme_has_a_line_with_its_source(name):
    (line,) = [line for line in CATALOGUE.splitlines() if line.startswith(f"| `{name}` |")]
    links = re.findall(
        r"https://arxiv\.org/abs/[\d.]+\d",
        inspect.getmodule(plugins.find("positions", name)).__doc__,
    )
    assert f"]({links[0]}) |" in line if links else line.endswith("| – |")


@pytest.mark.parametrize("name", [*plugins.names("encodings"), *plugins.names("positions")])
def test_the_readme_names_it(name):
    assert f"`{name}`" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_encoding_is_measured_and_has_a_picture_and_all_are_small():
    pictures = (ROOT / encodings.SCORECARD).parent
    assert (
        list(MEASURED)
        == plugins.names("encodings")
        == sorted(path.stem for path in pictures.glob("*.png"))
    )
    assert sum(path.stat().st_size for path in pictures.iterdir()) < 2e6
    assert {
        p.name: len({p.verdict(row["numbers"]) for row in MEASURED.values()}) for p in PROPERTIES
    } == {p.name: 3 for p in PROPERTIES}


@pytest.mark.parametrize("name", full_except(["alibi", "nope"], plugins.names("encodings")))
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


@pytest.mark.parametrize("name", plugins.names("tasks"))
def test_every_task_has_its_chance_levels_with_todays_defaults_or_a_reason_why_not(name):
    found = json.loads((ROOT / tasks.RECORD).read_text(encoding="utf-8"))["tasks"][name]
    if found["task"] is None:
        with pytest.raises(UserError, match=re.escape(found["reason"])):
            tasks.built(name)
        return
    task, plugin = tasks.built(name)
    assert found["task"] == json.loads(json.dumps(plugin.to_dict()))
    assert [chance_level["length"] for chance_level in found["chance_levels"]] == (
        [] if task.is_text else tasks.lengths_of(task)
    )


def test_the_page_of_throughput_shows_its_record():
    folder = ROOT / "results" / "published" / "throughput"
    found = [
        f
        for f in json.loads((folder / "throughput.json").read_text(encoding="utf-8"))
        if f["error"] is None
    ]
    shown = [
        line
        for line in (folder / "README.md").read_text(encoding="utf-8").split("\n")
        if line.startswith("| `")
    ]
    numbers = [
        (
            f["task"],
            f"{f['length']} {f['unit']}",
            f"{f['milliseconds']:.2f}",
            f"{f['compile_milliseconds'] / 1000:.1f}",
        )
        for f in found
    ]
    assert shown == [f"| `{task}` | {length} | {ms} | {s} |" for task, length, ms, s in numbers]
    assert {f["provenance"]["dirty"] for f in found} == {False}
    over = {f["task"] for f in found if f["goal"] and f["milliseconds"] > f["goal"]}
    assert over == {"minesweeper", "copy_grid", "sort", "keyed_sort"}


def test_the_chance_levels_are_of_a_clean_commit():
    about = json.loads((ROOT / tasks.RECORD).read_text(encoding="utf-8"))["provenance"]
    assert about["commit"]
    assert not about["dirty"]
