"""The form of the tour notebook and, in the full suite, its outputs in a new run."""

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


def texts(cells):
    """The printed text and the tables of each cell, without its pictures."""
    outputs = [
        [o.get("text", o.get("data", {}).get("text/markdown", "")) for o in cell["outputs"]]
        for cell in cells
    ]
    return ["\n".join("".join(text) for text in of_cell if text) for of_cell in outputs]


def test_each_code_cell_has_a_numbered_heading_above_it():
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.reads(TEXT, as_version=4))
    assert [cell["cell_type"] for cell in CELLS] == ["markdown", "code"] * 11 + ["markdown"]
    headings = re.findall(
        r"^## (\d+)\. ", "\n".join("".join(cell["source"]) for cell in CELLS), re.MULTILINE
    )
    assert headings == [str(n) for n in range(1, 12)]


def test_it_has_the_outputs_of_one_run_and_no_paths_dates_or_warnings():
    assert [cell["execution_count"] for cell in CODE] == list(range(1, 12))
    assert all(cell["outputs"] for cell in CODE)
    assert {output.get("name") for cell in CODE for output in cell["outputs"]} == {
        None,
        "stdout",
    }  # no warnings
    assert [cell["id"] for cell in CELLS] == [f"{n:02d}" for n in range(23)]
    assert not any(cell["metadata"] for cell in CELLS)
    assert len(TEXT) < 500_000
    words = re.sub(r'"image/png": "[^"]*"', "", TEXT)
    assert not re.findall(
        r"[\"'\s=(]/(?:tmp|root|home|Users|usr|work|var)\b|[A-Z]:\\\\|\d{4}-\d\d-\d\d", words
    )


def names_of(cells):
    """The names that cells import from pe_lab, and the attributes of these names."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(source(cell)))]
    froms = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.module.startswith("pe_lab")]
    taken = {alias.name: node.module for node in froms for alias in node.names}
    attributes = [
        n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
    ]
    return taken, {(n.value.id, n.attr) for n in attributes if n.value.id in taken}


def test_its_imports_from_the_library_exist_and_are_public():
    taken, used = names_of(CODE)
    assert {"UntrainedEncoding", "scorecard", "LoadedModel", "study"} <= taken.keys()
    imported = {}
    for name, module in taken.items():
        exec(f"from {module} import {name}", imported)
    assert [
        (name, attribute)
        for name, attribute in used
        if not hasattr(imported[name], attribute) or attribute.startswith("_")
    ] == []


def test_its_links_point_to_files():
    links = re.findall(
        r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)",
        "\n".join("".join(cell["source"]) for cell in CELLS),
    )
    assert "reuse.md" in links
    assert [link for link in links if not (ROOT / tour.TOUR.parent / link).exists()] == []


@pytest.fixture(scope="module")
def new_run():
    pytest.importorskip("nbclient")
    return [cell for cell in tour.executed(ROOT).cells if cell.cell_type == "code"]


# The first cell that trains. Other processors round differently.
TRAINED = 8


@pytest.mark.full
def test_a_new_run_prints_the_committed_text_before_training(new_run):
    assert texts(new_run[:TRAINED]) == texts(CODE[:TRAINED]), (
        "run python -m docs.build --measure=tour"
    )


def table(text):
    """The other cells of each row of the first table, by its name."""
    lines = [
        line for line in text.partition("| a against b")[0].splitlines() if line.startswith("| ")
    ]
    rows = [[part.strip() for part in line.strip("| ").split(" | ")] for line in lines]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("when", ["committed", full("new_run")])
def test_all_variants_are_solved_and_only_rope_extrapolates(when, request):
    cells = CODE if when == "committed" else request.getfixturevalue("new_run")
    rows = table(texts(cells)[TRAINED])
    assert list(rows) == [
        "variant",
        "sinusoidal",
        "triangle",
        "rope",
        "chance level (sees no prompt)",
    ]
    assert [rows[name][1] for name in ("sinusoidal", "triangle", "rope")] == ["2/2"] * 3  # solved
    assert [rows[name][0][:3] for name in ("sinusoidal", "triangle", "rope")] == [
        "0/2",
        "0/2",
        "2/2",
    ]  # at seven symbols


@pytest.mark.parametrize("when", ["committed", full("new_run")])
def test_the_first_layer_needs_rope_more_than_the_second(when, request):
    cells = CODE if when == "committed" else request.getfixturevalue("new_run")
    pattern = r"without RoPE on ([\w ]+?) *: exact match ([\d.]+) at length 6"
    scores = {name: float(score) for name, score in re.findall(pattern, texts(cells)[-1])}
    assert list(scores) == ["no layer", "all layers", "layer 1", "layer 2"]
    assert scores["all layers"] < 0.1
    assert scores["layer 1"] < 0.5 < scores["layer 2"] < scores["no layer"]


@pytest.mark.parametrize("when", ["committed", full("new_run")])
def test_its_data_frame_has_the_numbers_of_its_table(when, request):
    cells = CODE if when == "committed" else request.getfixturevalue("new_run")
    rows = table(texts(cells)[TRAINED])
    frame_text = texts(cells)[TRAINED + 1].partition("token_accuracy")[0]
    for name in ("sinusoidal", "triangle", "rope"):
        (line,) = re.findall(rf"{name} +(.*)", frame_text)
        numbers = [float(cell) for cell in rows[name][2:]]
        assert [float(text) for text in line.split()] == pytest.approx(numbers, abs=0.0051)


@pytest.mark.full
def test_a_new_run_warns_of_nothing(new_run):
    assert [
        output.text for cell in new_run for output in cell.outputs if output.get("name") == "stderr"
    ] == []
