"""`python -m docs.build` as a user runs it, on small pages."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from docs.build import __main__ as build
from docs.build import encodings, measure, numbers, pages, published, tasks, tour
from experiments import page as experiments_page
from pe_lab import cli
from pe_lab.runs.plugins import plugins
from tests.results.fake_study import point, record, write_study

ROOT = Path(__file__).parents[2]


@pytest.fixture
def members(monkeypatch):
    """Two tasks and one encoding."""
    small = {"tasks": ["copy", "parity"], "encodings": ["nope"]}
    names = plugins.names
    monkeypatch.setattr(plugins, "names", lambda family: small.get(family) or names(family))
    monkeypatch.setattr(tasks, "NUM_EXAMPLES", 50)


@pytest.fixture
def call(monkeypatch, capsys, tmp_path, members):
    """Arguments to (exit status, stdout, stderr), in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()

    def run(*arguments):
        numbers.document.cache_clear()
        monkeypatch.setattr(sys, "argv", ["docs.build", *arguments])
        with pytest.raises(SystemExit) as exited:
            cli.main_of(build, "python -m docs.build")
        return exited.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def study(tmp_path):
    """A published study whose page looks up two numbers."""
    runs = [
        (point("rope", i), record(f"r{i}", i, test={4: 1.0, 8: value}, validation={4: 1.0}))
        for i, value in enumerate((0.2, 0.3, 0.7))
    ]
    folder = write_study(tmp_path / published.STUDIES / "fake", *runs)
    template = 'RoPE has {{ study.center("rope", 8) }} of {{ of("fake").each_seed("rope", 8) }}.\n'
    (folder / "README.md.jinja").write_text(template)
    experiments_page.write(tmp_path, ["fake"])
    return folder


def test_the_page_of_a_study_is_written_from_its_template_and_its_numbers(call, study):
    (study / "records.jsonl.gz").unlink(missing_ok=True)
    (study / "README.md").unlink()
    assert call() == (0, "wrote results/published/fake/README.md\n", "")
    assert (study / "README.md").read_text() == "RoPE has 0.30 of 0.20, 0.30 and 0.70.\n"


def test_a_number_that_is_not_published_is_one_line_with_the_command_that_computes_it(call, study):
    (study / "README.md.jinja").write_text('{{ study.center("rope", 4) }}')
    status, _, error = call("--check")
    assert status == 2
    assert "results/published/fake/numbers.json has no number study.center(rope, 4)." in error
    assert error.endswith("-m experiments.page fake\n")
    (study / "README.md.jinja").write_text("{{ share }}")
    assert call()[2] == "error: results/published/fake/README.md.jinja: 'share' is undefined.\n"


def test_check_names_the_stale_pages_and_writes_nothing(call, study, tmp_path):
    shutil.copy(ROOT / "docs" / "tasks.md.jinja", tmp_path / "docs")
    assert call()[0] == 0
    assert call("--check") == (0, "2 pages are up to date\n", "")
    page = study / "README.md"
    page.write_text("RoPE has 0.31.\n")
    sentence = (
        "error: 1 page is stale: results/published/fake/README.md. This command writes them: "
    )
    status, out, error = call("--check")
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert error.startswith(sentence)
    assert error.endswith("python -m docs.build\n")
    assert page.read_text() == "RoPE has 0.31.\n"
    (tmp_path / "docs" / "tasks.md").unlink()
    assert "2 pages are stale: docs/tasks.md, results/" in call("--check")[2]
    assert call("--check", "docs/tasks.md")[2].startswith("error: 1 page is stale: docs/tasks.md.")


def test_one_page_is_written_alone_and_an_unknown_one_is_refused(call, study, tmp_path):
    shutil.copy(ROOT / "docs" / "tasks.md.jinja", tmp_path / "docs")
    assert call("docs/tasks.md") == (0, "wrote docs/tasks.md\n", "")
    status, _, error = call("docs/task.md")
    assert status == 2
    assert "'docs/task.md'. Did you mean 'docs/tasks.md'?" in error


def test_in_a_folder_without_templates_it_is_one_line(call):
    sentence = "There are no templates here. Run docs.build in the top folder of pe_lab."
    assert call() == (2, "", f"error: {sentence}\n")


@pytest.mark.slow
def test_chance_levels_are_shown_once_they_are_measured(call, tmp_path):
    shutil.copy(ROOT / "docs" / "tasks.md.jinja", tmp_path / "docs")
    assert call() == (0, "wrote docs/tasks.md\n", "")
    page = tmp_path / "docs" / "tasks.md"
    row = "parity.py) | Compute the parity of a string of bits. | bits, from 1 | {} |"
    assert row.format("–") in page.read_text()
    status, out, error = call("--measure=chance_levels")
    assert (status, error) == (0, "")
    assert [line.split(":")[0] for line in out.splitlines()] == [
        "copy",
        "parity",
        "wrote docs/tasks.md",
    ]
    measured = json.loads((tmp_path / tasks.RECORD).read_text())
    assert (measured["num_examples"], list(measured["tasks"])) == (50, ["copy", "parity"])
    assert len(measured["provenance"]["commit"]) == 40
    text = page.read_text()
    assert "of 50 examples" in text
    assert row.format("–") not in text


@pytest.mark.slow
def test_encodings_are_measured_and_drawn(tmp_path, members, capsys):
    measure.scorecard(tmp_path)
    assert capsys.readouterr().out == "nope\n"
    folder = (tmp_path / encodings.SCORECARD).parent
    assert sorted(path.name for path in folder.iterdir()) == ["nope.png", "scorecard.json"]
    section = encodings.lookups(tmp_path)["measured"]
    assert "| [nope](../pe_lab/encodings/nope.py) " in section


def test_the_results_take_the_marked_part_of_the_front_page(call, study, tmp_path, monkeypatch):
    template = study / "front_page.md.jinja"
    template.write_text('{{ of("fake").center("rope", 8) }}\n')
    monkeypatch.setattr(pages, "FRONT_TEMPLATE", template.relative_to(tmp_path))
    front = tmp_path / "README.md"
    front.write_text(f"before\n{pages.BEGIN}{pages.END}after\n")
    assert call("README.md") == (0, "wrote README.md\n", "")
    assert front.read_text() == f"before\n{pages.BEGIN}0.30\n{pages.END}after\n"
    front.write_text("nothing")
    status, _, error = call("README.md")
    assert (status, error.startswith("error: README.md has no part between")) == (2, True)


@pytest.mark.slow
def test_the_tour_is_run_and_its_outputs_tell_nothing_of_the_run(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    monkeypatch.setenv("JAX_OF_THIS_PROCESS", "1")
    (tmp_path / "docs").mkdir()
    program = (
        "import os, sys\n"
        "print(sorted(os.listdir()), [v for v in os.environ if v.startswith(('JAX_', 'XLA_'))])"
    )
    cells = [
        nbformat.v4.new_markdown_cell("A text."),
        nbformat.v4.new_code_cell(program, metadata={"mine": 1}, id="random"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / tour.TOUR)
    tour.write(tmp_path)
    written = nbformat.read(tmp_path / tour.TOUR, as_version=4)
    text, code = written.cells
    assert [(cell.id, cell.metadata) for cell in (text, code)] == [("00", {}), ("01", {})]
    assert (code.execution_count, [o.text for o in code.outputs]) == (
        1,
        ["['pe_lab'] []\n"],
    )
    assert set(written.metadata) == {"kernelspec", "language_info"}
    assert written.metadata.language_info == {"name": "python"}


def test_a_tour_without_a_kernel_is_one_line(call, tmp_path, monkeypatch):
    shutil.copy(ROOT / "docs" / "tasks.md.jinja", tmp_path / "docs")
    monkeypatch.setitem(sys.modules, "nbclient", None)
    assert call("--measure=tour") == (
        2,
        "",
        "error: The tour needs a kernel to run in: .venv/bin/pip install nbclient ipykernel.\n",
    )
