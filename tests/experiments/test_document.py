"""experiments.document as a user runs it, on two tasks."""

import json
import sys

import pytest
from absl.testing import flagsaver

from experiments import command_line, document, readmes, tour
from pe_lab.inspection import page as encodings
from pe_lab.runs import plugins
from tests.results.fake_study import point, record, write_study


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Arguments to (exit status, stdout, stderr), in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    names = plugins.names
    monkeypatch.setattr(
        plugins, "names", lambda family: ["copy", "parity"] if family == "tasks" else names(family)
    )
    monkeypatch.setattr(document, "NUM_EXAMPLES", 50)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["experiments.document", *arguments])
        with flagsaver.flagsaver(), pytest.raises(SystemExit) as exited:
            command_line.run(document.main)
        return exited.value.code, *capsys.readouterr()

    return run


def test_the_page_is_written_with_the_chance_levels_once_they_are_measured(call, tmp_path):
    (tmp_path / "docs").mkdir()
    assert call() == (0, "wrote docs/tasks.md\n", "")
    page = tmp_path / "docs" / "tasks.md"
    assert (
        "| [parity](#parity) | Compute the parity of a string of bits. | bits, from 1 | – |"
        in page.read_text()
    )
    status, out, err = call("--chance_levels")
    assert (status, err) == (0, "")
    assert [line.split(":")[0] for line in out.splitlines()] == [
        "copy",
        "parity",
        "wrote docs/tasks.md",
    ]
    record = json.loads((tmp_path / document.CHANCE_LEVELS).read_text())
    assert (record["num_examples"], list(record["tasks"])) == (50, ["copy", "parity"])
    assert len(record["provenance"]["commit"]) == 40
    with_chance_levels = page.read_text()
    assert "of 50 examples" in with_chance_levels
    assert "| chance level, length in bits | 10 | 40 | 100 | 500 |" in with_chance_levels
    page.unlink()
    assert call()[0] == 0
    assert page.read_text() == with_chance_levels == document.written(tmp_path)


def test_encodings_are_measured_and_drawn_and_their_page_keeps_the_rest(
    call, tmp_path, monkeypatch
):
    names = plugins.names
    monkeypatch.setattr(
        plugins, "names", lambda family: ["nope"] if family == "encodings" else names(family)
    )
    (tmp_path / "docs").mkdir()
    page = tmp_path / document.ENCODINGS
    page.write_text(f"before\n{encodings.BEGIN}{encodings.END}\nafter\n")
    assert call("--scorecard") == (0, "nope\nwrote docs/tasks.md\nwrote docs/encodings.md\n", "")
    assert sorted(p.name for p in (tmp_path / "docs" / "pictures").iterdir()) == [
        "nope.png",
        "scorecard.json",
    ]
    written = page.read_text()
    assert (written.split("\n")[0], written.split("\n")[-2]) == ("before", "after")
    assert "![nope: picture](pictures/nope.png)" in written
    assert written == document.encodings_written(tmp_path)


def test_the_readme_of_a_published_study_is_written_from_its_template(call, tmp_path):
    (tmp_path / "docs").mkdir()
    folder = tmp_path / readmes.STUDIES / "fake"
    write_study(folder, (point("rope", 0), record("r0", test={4: 0.25}, validation={4: 1.0})))
    (folder / readmes.TEMPLATE).write_text('RoPE has {{ study.center("rope", 4) }}.\n')
    assert call() == (0, "wrote docs/tasks.md\nwrote results/published/fake/README.md\n", "")
    assert (folder / "README.md").read_text() == "RoPE has 0.25.\n"


def test_a_front_page_without_a_place_for_its_results_is_an_error(tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(ValueError, match="has no part between"):
        readmes.front_page(tmp_path)


def test_elsewhere_it_is_one_line_and_status_2(call):
    status, out, err = call()
    assert (status, out) == (2, "")
    assert (
        err
        == "error: There is no folder docs here: documents are written from the top of the repository.\n"
    )


def test_the_tour_is_run_and_says_nothing_of_its_run(call, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    monkeypatch.setenv("JAX_OF_THIS_PROCESS", "1")
    (tmp_path / "docs").mkdir()
    program = "import os, sys\nprint(sorted(os.listdir()), [v for v in os.environ if v.startswith(('JAX_', 'XLA_'))])"
    cells = [
        nbformat.v4.new_markdown_cell("A text."),
        nbformat.v4.new_code_cell(program, metadata={"mine": 1}, id="random"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / tour.TOUR)
    assert call("--tour") == (0, "wrote docs/tour.ipynb\nwrote docs/tasks.md\n", "")
    written = nbformat.read(tmp_path / tour.TOUR, as_version=4)
    text, code = written.cells
    assert [(cell.id, cell.metadata) for cell in (text, code)] == [("00", {}), ("01", {})]
    assert (code.execution_count, [o.text for o in code.outputs]) == (
        1,
        ["['configs', 'pe_lab'] []\n"],
    )
    assert set(written.metadata) == {"kernelspec", "language_info"}
    assert written.metadata.language_info == {"name": "python"}


def test_a_tour_without_a_kernel_is_one_line(call, tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    monkeypatch.setitem(sys.modules, "nbclient", None)
    assert call("--tour") == (
        2,
        "",
        "error: The tour needs a kernel to run in: .venv/bin/pip install nbclient ipykernel.\n",
    )
