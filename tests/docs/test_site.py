"""The pages of the site before Sphinx reads them. `make site` builds and checks the whole."""

import json
import re
from pathlib import Path
from typing import ClassVar

import jax.numpy as jnp
import pytest
import sphinx

from docs.build import suite_rows, tasks
from docs.site import __main__ as site
from docs.site import check, encoding_pages, layout, mathml, member_pages, reference_pages, staging
from pe_lab import cli
from pe_lab.encodings.base import InputEncoding
from pe_lab.results.formats import Cell, Table
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.studies import base
from tests.marks import full_except

ROOT = Path(__file__).parents[2]
ENCODINGS = plugins.names("encodings")
_PARENTS = ("positions", "reference/api", "reference/commands", "reference/settings")


@pytest.fixture(scope="module")
def links():
    return staging.Links(ROOT)


@pytest.mark.parametrize(
    ("link", "file", "name", "target"),
    [
        ("guide.md#longer-inputs", "docs/tasks.md", "tasks", "guide.md#longer-inputs"),
        ("tour.ipynb", "docs/guide.md", "guide", "tour.ipynb"),
        ("../README.md", "docs/guide.md", "guide", "index.md"),
        ("../pe_lab/encodings/rope.py", "docs/encodings.md", "encodings", "encodings/rope.md"),
        (
            "../pe_lab/contrib/papers/positions/pose.py",
            "docs/encodings.md",
            "encodings",
            "positions.md#pose",
        ),
        (
            "../pe_lab/contrib/papers/encodings/xsa.py",
            "docs/encodings.md",
            "encodings",
            "encodings/xsa.md",
        ),
        ("../pe_lab/tasks/copy.py", "docs/tasks.md", "tasks", "tasks/copying.md#copy"),
        (
            "../pe_lab/runs/settings/settings.py",
            "docs/models.md",
            "models",
            "reference/settings.md",
        ),
        ("../pe_lab/tasks", "docs/tasks.md", "tasks", "tasks.md"),
        (
            "../pe_lab/model/block.py",
            "docs/models.md",
            "models",
            "source:source/pe_lab/model/block.py.html",
        ),
        ("../../../docs/suite.md", "results/published/x/README.md", "published/x", "../suite.md"),
        (
            "../budget/README.md",
            "results/published/x/README.md",
            "published/x",
            "../published/budget.md",
        ),
        ("#notation", "docs/encodings.md", "encodings", "#notation"),
        ("https://arxiv.org/abs/1", "docs/guide.md", "guide", "https://arxiv.org/abs/1"),
    ],
)
def test_a_link_of_the_repository_leads_to_its_place_in_the_site(links, link, file, name, target):
    assert links.target(link, Path(file), name) == target


def test_pictures_are_copied_and_other_files_get_a_page(links):
    text = "![A](pictures/rope.png)\n```\n[x](y)\n```\n[code](../pe_lab/model/stack.py)\n"
    turned = links.turned(text, Path("docs/page.md"), "reference/page")
    assert turned.splitlines() == [
        "![A](../assets/docs/pictures/rope.png)",
        "```",
        "[x](y)",  # code is not changed
        "```",
        "[code](source:../source/pe_lab/model/stack.py.html)",
    ]
    assert Path("docs/pictures/rope.png") in links.assets
    assert Path("pe_lab/model/stack.py") in links.texts


def test_a_link_that_leads_nowhere_is_refused(links):
    with pytest.raises(UserError, match=r"docs/page.md links to gide.md, which does not exist"):
        links.turned("[x](gide.md)", Path("docs/page.md"), "page")


def test_a_link_with_the_name_of_a_page_shows_its_title(links):
    table = "[table.md](table.md)"  # no page
    turned = links.turned(table, Path("results/published/noise/page.md"), "published/noise")
    assert turned.startswith("[table.md](source:")
    text = "[guide.md](guide.md#longer-inputs), [the guide](guide.md)"
    turned = links.turned(text, Path("docs/page.md"), "page")
    assert turned == "[](guide.md#longer-inputs), [the guide](guide.md)"


def test_an_interval_stays_on_one_line_of_its_cell(links):
    turned = links.turned("| 0.97 [0.93, 0.98] |", Path("docs/page.md"), "page")
    assert turned == "| 0.97 [0.93,\N{NO-BREAK SPACE}0.98] |"


def test_the_navigation_leaves_out_expected_pages_and_refuses_missing_ones():
    names = {name for entries in layout.NAVIGATION.values() for name in entries}
    assert "/findings\n" in layout.navigation(names)
    assert "/findings\n" not in layout.navigation(names - {"findings"})
    with pytest.raises(UserError, match=r"names 'guide', which is no page"):
        layout.navigation(names - {"guide"})


def test_a_search_leaves_out_the_changelog(tmp_path):
    staging.write(ROOT, tmp_path, generated=dict.fromkeys(_PARENTS, "# Page\n"))
    assert (tmp_path / "changelog.md").read_text().startswith("---\nnosearch: true\n---\n")
    assert "nosearch" not in (tmp_path / "guide.md").read_text()


def test_the_order_of_a_search_has_the_scores_of_sphinx_but_for_encodings():
    scorer = (ROOT / "docs/site/scorer.js").read_text(encoding="utf-8")
    assert 'docname.startsWith("encodings/") ? _ENCODING : 0' in scorer
    theirs = Path(sphinx.__file__).parent / "themes/basic/static/searchtools.js"
    begin = theirs.read_text(encoding="utf-8").partition("Scorer = {")[2].partition("};")[0]
    values = re.findall(r"(\w+): (-?\d+)", scorer)
    assert len(values) == 10
    assert values == re.findall(r"(\w+): (-?\d+)", begin)


def test_the_api_has_every_module_that_the_page_of_results_recommends():
    page = (ROOT / "docs/results.md").read_text()
    recommended = set(re.findall(r"`((?:plots|summary|selection)(?:\.\w+)?)\.\w+[(`]", page))
    assert {"plots.lines", "selection"} <= recommended
    modules = {module for of_page in reference_pages.API.values() for module in of_page}
    assert {f"results.{name}" for name in recommended} <= modules


def test_the_api_has_every_module_that_a_page_imports():
    modules = {module for of_page in reference_pages.API.values() for module in of_page}
    of_members = ("encodings", "positions", "tasks", "metrics")  # each member has a page
    missing = set()
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for module, names in re.findall(r"^from pe_lab\.([\w.]+) import ([\w, ]+)", text, re.M):
            for name in names.split(", "):
                is_known = module in modules or f"{module}.{name.strip()}" in modules
                if not is_known and module.split(".")[0] not in of_members:
                    missing.add(f"{page.name}: {module}.{name}")
    assert missing == {"studies.md: studies.base"}  # the settings have a page of their own


def test_every_published_folder_with_a_page_is_listed():
    listed = (ROOT / "docs" / "published.md").read_text(encoding="utf-8")
    for page in sorted(ROOT.glob(f"{layout.PUBLISHED}/*/README.md")):
        assert f"(../{page.relative_to(ROOT)})" in listed


@pytest.mark.slow
@pytest.mark.parametrize("name", full_except(["rope", "kerple", "sinusoidal", "fox"], ENCODINGS))
def test_the_program_on_the_page_of_an_encoding_runs(name):
    program = encoding_pages.program(name)
    cls = plugins.find("encodings", name)
    values = {}
    exec(compile(encoding_pages.inputs(name), "inputs", "exec"), values)
    x, q = values.get("x"), values.get("q")
    exec(compile(program, name, "exec"), values)
    assert program.count("\n") <= 10
    if issubclass(cls, InputEncoding):
        assert values["x"].shape == x.shape
    elif "out" in values:
        assert values["out"].shape == q.shape
        assert jnp.isfinite(values["out"]).all()
    else:
        assert "tokens" in values


def table_of_suite(*names):
    rows = [(Cell(name), Cell(f"{place}/9")) for place, name in enumerate(names)]
    return Table("A title", "A caption.", ("variant", "runs"), tuple(rows))


def test_the_page_of_an_encoding_has_its_rows_of_the_suite_or_the_command_for_one():
    tables = {
        "copying": table_of_suite("rope", "rope(base=5e5)", "ropes", "rope · shifted ‡"),
        "repeated": table_of_suite("alibi", "rope"),
    }
    header, _, *lines = encoding_pages.suite_rows(tables, "rope").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:4]]
    assert header.split() == ["|", "variant", "|", "task", "|", "runs", "|"]
    link = "[distinct symbols](../results/published/suite_grid_copying/README.md)"
    assert cells[0] == ["rope", link, "0/9"]
    assert [row[0] for row in cells] == ["rope", "rope(base=5e5)", "rope · shifted ‡", "rope"]
    assert [row[2] for row in cells] == ["0/9", "1/9", "3/9", "1/9"]
    assert lines[4:6] == ["", "A caption."]
    assert lines[-1].startswith("- ‡: training showed positions")
    assert encoding_pages.suite_rows(tables, "cope").startswith("No row is published yet.")


@pytest.mark.slow
def test_every_published_row_of_suite_grid_is_on_the_page_of_an_encoding():
    tables = encoding_pages.suite_tables(ROOT)
    pages = [encoding_pages.suite_rows(tables, name) for name in ENCODINGS]
    assert "".join(pages).count("/README.md) ") == 19 * len(suite_rows.FOLDERS)


def test_every_task_has_a_family():
    assert tasks.OTHER not in tasks.families(plugins.names("tasks"))
    listed = [name for names in tasks.FAMILIES.values() for name in names.split()]
    assert sorted(listed) == plugins.names("tasks")


def test_every_setting_is_shown_with_its_default_and_range():
    page = reference_pages.pages()["reference/settings"]
    defaults = base.get_config().to_dict()
    for name, value in defaults.items():
        is_group = isinstance(value, dict) and name not in ("task", "positions", "launcher")
        settings = value if is_group else {name: value}
        section = page.partition(f"## config.{name}\n" if is_group else "## config\n")[2]
        rows = section.partition("\n## ")[0].splitlines()
        for setting, default in settings.items():
            (row,) = [row for row in rows if row.startswith(f"| `{setting}` |")]
            assert row.startswith(f"| `{setting}` | `{default!r}` |")
            assert row.rpartition(" | ")[2] != " |", f"{setting} has no meaning"
    assert (
        "| `clip_norm` | `1.0` | more than 0 | Global norm at which the gradient is clipped. |"
    ) in page
    assert "| `norm` | `'layer'` | `layer`, `rms` | LayerNorm or RMSNorm. |" in page


def test_every_command_is_shown_with_its_help():
    page = reference_pages.pages()["reference/commands"]
    headings = re.findall(r"^## pe-lab (\w+)$", page, re.MULTILINE)
    assert headings == cli.names()
    assert "usage: pe-lab show [-h]" in page


def test_formulas_are_mathml():
    class Writer:
        body: ClassVar = []

    class Node:
        def astext(self):
            return r"\frac{a}{b}"

    with pytest.raises(mathml.nodes.SkipNode):
        mathml._block(Writer, Node())
    assert "<mfrac>" in Writer.body[0]
    assert 'display="block"' in Writer.body[0]


def test_broken_links_missing_anchors_and_files_from_a_network_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="https://example.org">4</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="#there">1</a></p>')
    assert check.problems(tmp_path) == [
        "a.html links to b.html#gone, which has no such anchor.",
        "a.html links to c.html, which does not exist.",
        "a.html loads https://example.org/x.js from a network.",
    ]


def test_links_of_the_notebook_are_turned(links):
    cells = [
        {"cell_type": "markdown", "source": ["[x]", "(guide.md)"]},
        {"cell_type": "code", "source": ["a[0](guide.md)"]},
    ]
    text = json.dumps({"cells": cells})
    notebook = json.loads(staging._notebook(text, links, Path("docs/tour.ipynb"), "deep/tour"))
    assert [cell["source"] for cell in notebook["cells"]] == [
        "[x](../guide.md)",
        ["a[0](guide.md)"],
    ]


def test_an_interrupted_build_is_discarded_and_a_complete_one_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(staging, "write", lambda *arguments: None)
    for pages in (encoding_pages, member_pages):
        monkeypatch.setattr(pages, "pages", lambda root: {})
    (tmp_path / ".cache").mkdir()
    files_before = []

    def interrupt(arguments):
        site.SITE.mkdir(parents=True)
        (site.SITE / "half.html").touch()
        raise KeyboardInterrupt

    def build(arguments):
        files_before.append([file.name for file in site.SITE.glob("*")])
        site.SITE.mkdir(parents=True, exist_ok=True)
        (site.SITE / "index.html").write_text("<html></html>")
        return 0

    monkeypatch.setattr(site, "build_main", interrupt)
    with pytest.raises(KeyboardInterrupt):
        site.main()
    monkeypatch.setattr(site, "build_main", build)
    assert [site.main(), site.main()] == [0, 0]
    assert files_before == [[], ["index.html"]]
