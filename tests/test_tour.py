"""The notebook of the tour: its form, quickly; and all of it, run anew."""

import ast
import json
import re
from pathlib import Path

import pytest

from docs.build import tour
from tests.marks import full

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / tour.TOUR).read_text(encoding="utf-8")
CELLS = json.loads(TEXT)["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def source(cell):
    """The Python of a cell, and of the file that it writes."""
    text = "".join(cell["source"])
    return text.partition("\n")[2] if text.startswith("%%writefile ") else text


def said(cells):
    """What each cell has printed and the tables that it shows, without its pictures."""
    outputs = [
        [o.get("text", o.get("data", {}).get("text/markdown", "")) for o in cell["outputs"]]
        for cell in cells
    ]
    return ["\n".join("".join(text) for text in texts if text) for texts in outputs]


def test_it_is_a_notebook_of_ten_cells_below_a_text_each_and_a_last_text():
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.reads(TEXT, as_version=4))
    assert [cell["cell_type"] for cell in CELLS] == ["markdown", "code"] * 10 + ["markdown"]
    headings = re.findall(
        r"^## (\d+)\. ", "\n".join("".join(cell["source"]) for cell in CELLS), re.MULTILINE
    )
    assert headings == [str(n) for n in range(1, 11)]


def test_it_has_the_outputs_of_one_run_and_nothing_of_the_machine_or_the_day():
    assert [cell["execution_count"] for cell in CODE] == list(range(1, 11))
    assert all(cell["outputs"] for cell in CODE)
    assert {output.get("name") for cell in CODE for output in cell["outputs"]} == {
        None,
        "stdout",
    }  # no warnings
    assert [cell["id"] for cell in CELLS] == [f"{n:02d}" for n in range(21)]
    assert not any(cell["metadata"] for cell in CELLS)
    assert len(TEXT) < 500_000
    words = re.sub(r'"image/png": "[^"]*"', "", TEXT)
    assert not re.findall(
        r"[\"'\s=(]/(?:tmp|root|home|Users|usr|work|var)\b|[A-Z]:\\\\|\d{4}-\d\d-\d\d", words
    )


def names_of(cells):
    """What cells take from pe_lab and its configs: name -> module, and the attributes that they use of such a name."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(source(cell)))]
    froms = [
        n
        for n in nodes
        if isinstance(n, ast.ImportFrom) and n.module.startswith(("pe_lab", "configs"))
    ]
    taken = {alias.name: node.module for node in froms for alias in node.names}
    attributes = [
        n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
    ]
    return taken, {(n.value.id, n.attr) for n in attributes if n.value.id in taken}


def test_what_it_takes_from_the_library_is_there_and_public():
    taken, used = names_of(CODE)
    assert {"UntrainedEncoding", "scorecard", "LoadedModel", "study"} <= taken.keys()
    found = {}
    for name, module in taken.items():
        exec(f"from {module} import {name}", found)
    assert [
        (name, attribute)
        for name, attribute in used
        if not hasattr(found[name], attribute) or attribute.startswith("_")
    ] == []


def test_its_links_lead_somewhere():
    links = re.findall(
        r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)",
        "\n".join("".join(cell["source"]) for cell in CELLS),
    )
    assert "reuse.md" in links
    assert [link for link in links if not (ROOT / tour.TOUR.parent / link).exists()] == []


@pytest.fixture(scope="module")
def anew():
    pytest.importorskip("nbclient")
    return [cell for cell in tour.executed(ROOT).cells if cell.cell_type == "code"]


TRAINED = 8  # the cells from here on train: other processors round otherwise


@pytest.mark.full
def test_run_anew_its_untrained_cells_say_what_is_committed(anew):
    assert said(anew[:TRAINED]) == said(CODE[:TRAINED]), "run python -m docs.build --measure=tour"


def table(text):
    """Name of each row of the first table -> its other cells."""
    lines = [
        line for line in text.partition("| a against b")[0].splitlines() if line.startswith("| ")
    ]
    rows = [[part.strip() for part in line.strip("| ").split(" | ")] for line in lines]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("when", ["committed", full("anew")])
def test_the_comparison_says_what_the_text_says_of_it(when, request):
    cells = CODE if when == "committed" else request.getfixturevalue("anew")
    found = table(said(cells)[TRAINED])
    assert list(found) == [
        "variant",
        "sinusoidal",
        "triangle",
        "rope",
        "chance level (sees no prompt)",
    ]
    assert [found[name][1] for name in ("sinusoidal", "triangle", "rope")] == ["2/2"] * 3  # solved
    assert [found[name][0][:3] for name in ("sinusoidal", "triangle", "rope")] == [
        "0/2",
        "0/2",
        "2/2",
    ]  # at seven symbols


@pytest.mark.parametrize("when", ["committed", full("anew")])
def test_without_rope_on_the_first_layer_less_is_left_than_on_the_second(when, request):
    cells = CODE if when == "committed" else request.getfixturevalue("anew")
    left = dict(
        re.findall(r"RoPE off ([\w ]+?) *: exact match ([\d.]+) of 6", said(cells)[TRAINED + 1])
    )
    assert list(left) == ["nowhere", "everywhere", "on layer 1", "on layer 2"]
    assert float(left["everywhere"]) < 0.1
    assert float(left["on layer 1"]) < 0.5 < float(left["on layer 2"]) < float(left["nowhere"])


@pytest.mark.full
def test_run_anew_nothing_warns(anew):
    assert [
        output.text for cell in anew for output in cell.outputs if output.get("name") == "stderr"
    ] == []
