"""A number in a README or in results/published comes from a committed record."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.build import pages, tasks
from pe_lab.results import frame, plots, tables
from pe_lab.runs import config
from pe_lab.runs.records import records
from pe_lab.runs.run import from_record
from pe_lab.runs.studies import outcomes, study_files
from pe_lab.sweeps import study
from tests.docs.typed_numbers import typed_numbers
from tests.marks import full_except

ROOT = Path(__file__).parents[1]
PUBLISHED = sorted(p.parent for p in (ROOT / "results" / "published").glob("*/study.json"))
GUIDE = (ROOT / "docs" / "guide.md").read_text()
PAGES = [folder for folder in PUBLISHED if (folder / "README.md.jinja").exists()]
PARTS = [folder for folder in PUBLISHED if folder not in PAGES]
QUICK = [folder for folder in PUBLISHED if folder.name != "journey"]  # of 5,000 runs


@pytest.mark.slow
@pytest.mark.parametrize("folder", full_except(QUICK, PUBLISHED), ids=lambda p: p.name)
def test_tables_are_those_of_the_records(folder):
    found = frame.read(folder)
    assert (found.missing, (folder / "table.md").read_text()) == (0, tables.markdown(found))
    assert (folder / "table.csv").read_text() == tables.as_csv(found)
    assert (folder / "table.tex").read_text() == tables.latex(found)


@pytest.mark.slow
@pytest.mark.parametrize("folder", full_except(QUICK, PUBLISHED), ids=lambda p: p.name)
def test_pictures_are_those_of_the_records(folder, tmp_path):
    """The length is that of the task or, after `publish --relative`, of training."""
    found = frame.read(folder)
    committed = {file.name: file.read_bytes() for file in folder.glob("*.png")}

    def differing(relative):
        target = tmp_path / str(relative)
        target.mkdir()
        plots.write(found, target, relative=relative)
        drawn = {file.name: file.read_bytes() for file in target.glob("*.png")}
        names = committed.keys() & drawn.keys()  # a page need not show all pictures
        return [name for name in names if drawn[name] != committed[name]]

    assert not differing(relative=False) or not differing(relative=True)


@pytest.mark.slow
@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda p: p.name)
def test_every_record_names_a_clean_commit_and_the_run_that_its_config_is(folder):
    for run in records.each(folder):
        assert run["provenance"]["commit"]
        assert not run["provenance"]["dirty"]
        assert config.from_dict(run["config"]).run_id == run["run_id"]
        assert from_record(run["config"]) == config.from_dict(run["config"])


@pytest.fixture(scope="module")
def history():
    """Every commit of the history of HEAD."""
    command = ["git", "rev-list", "HEAD"]
    shallow = ["git", "rev-parse", "--is-shallow-repository"]
    try:
        answer = subprocess.run(shallow, cwd=ROOT, capture_output=True, text=True, check=True)
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("outside of a git repository")
    if answer.stdout.strip() == "true":
        pytest.skip("a shallow clone has no history")
    return set(listed.stdout.split())


def commits_of(content):
    """Every commit that a JSON content names."""
    if isinstance(content, list):
        return set().union(*map(commits_of, content))
    if not isinstance(content, dict):
        return set()
    inner = set().union(*(commits_of(value) for value in content.values()))
    commit = content.get("commit")
    return inner | {commit} if isinstance(commit, str) else inner


@pytest.mark.slow
def test_the_commit_of_every_published_record_is_in_the_history(history):
    lost = set()
    for file in sorted((ROOT / "results" / "published").glob("*/*.json")):
        lost |= commits_of(json.loads(file.read_text())) - history
    for folder in (*PUBLISHED, *(ROOT / "results" / "in_training").glob("*/")):
        lost |= {run["provenance"]["commit"] for run in records.read_all(folder).values()} - history
    assert not lost
    measured = json.loads((ROOT / tasks.RECORD).read_text())["provenance"]["commit"]
    assert f"commit {measured[:7]}" in (ROOT / "docs" / "tasks.md").read_text()


@pytest.mark.slow
def test_no_published_run_is_counted_twice():
    """Rows are checked by the reader too, which other tests here call for all records."""
    for folder in (*PUBLISHED, *sorted((ROOT / "results" / "published").glob("suite_rows/*"))):
        run_ids = [record["run_id"] for record in records.each(folder, only_heads=True)]
        assert len(run_ids) == len(set(run_ids)) > 0, folder
        assert not (folder / "records").exists(), "a published study has an archive alone"


@pytest.mark.parametrize("folder", PAGES, ids=lambda p: p.name)
def test_a_readme_says_what_it_shows_and_what_not(folder):
    text = (folder / "README.md").read_text()
    assert "\n## What it shows\n" in text
    assert "\n## What it does not show\n" in text
    shown = set(re.findall(r"\]\(([a-z_0-9]+\.png)\)", text))
    assert shown
    cited = {"front_page.png"} | set(re.findall(rf"{folder.name}/([a-z_0-9]+\.png)", GUIDE))
    # A picture that no page shows is looked at by nobody.
    assert shown <= {file.name for file in folder.glob("*.png")} <= shown | cited


@pytest.mark.parametrize("folder", PARTS, ids=lambda p: p.name)
def test_a_part_points_to_a_page_that_shows_its_pictures_and_links_to_its_files(folder):
    text = (folder / "README.md").read_text()
    assert len(text.splitlines()) <= 5
    assert typed_numbers(text) == []
    (name, anchor) = re.search(r"\]\(\.\./(\w+)/README\.md#([a-z-]+)\)", text).groups()
    assert folder.parent / name in PAGES
    page = (folder.parent / name / "README.md").read_text()
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert anchor in {heading.lower().replace(" ", "-") for heading in headings}
    linked = set(re.findall(rf"\]\(\.\./{folder.name}/([\w.]+)\)", page))
    pictures = {file.name for file in folder.glob("*.png")}
    assert pictures | {"table.md"} <= linked


@pytest.mark.parametrize("folder", PAGES, ids=lambda p: p.name)
def test_every_number_of_a_readme_is_looked_up_in_the_records(folder):
    """The declared center of a variant, a named seed, a count or a setting: see
    pe_lab/contrib/prose/numbers.py.
    """
    assert typed_numbers((folder / "README.md.jinja").read_text()) == []


def test_every_number_of_the_front_page_is_looked_up_in_the_records():
    assert typed_numbers((ROOT / pages.FRONT_TEMPLATE).read_text()) == []
    for part in ("design", "tables"):
        template = ROOT / "results" / "published" / "suite_grid_copying" / f"{part}.md.jinja"
        assert typed_numbers(template.read_text()) == []


def test_what_the_quickstart_promises_to_learn_is_learned():
    """Sinusoidal, learned, RoPE, T5's bias and ALiBi: a mean in-distribution exact match of at
    least 0.95.
    """
    runs = records.read_all(ROOT / "results" / "published" / "quickstart").values()
    for name in ("sinusoidal", "learned", "rope", "t5_bias", "alibi"):
        of_name = [r for r in runs if r["config"]["model"]["encodings"][0]["name"] == name]
        reached = [value for run in of_name for value in outcomes.validation_values(run)]
        scales = 2 if name == "learned" else 1
        assert len(reached) == scales * 3 * 8  # initial scales, seeds, validation lengths
        assert sum(reached) / len(reached) >= 0.95


def test_the_encoder_decoder_learns_copy_and_reverse_to_their_threshold():
    """With sinusoidal positions, from every seed."""
    by_name = frame.read(ROOT / "results" / "published" / "architectures").by_name
    solved = {
        task: by_name[f"encoder_decoder · {task} · sinusoidal"]["solved"]
        for task in ("copy", "reverse")
    }
    assert solved == {"copy": 10, "reverse": 10}


@pytest.mark.slow
@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda p: p.name)
def test_the_published_runs_and_their_analysis_are_what_the_config_asks_for_today(folder, tmp_path):
    """All but `exclude_held_out`: some were trained before evaluated inputs were held out."""
    module, form = config_of(folder.name)
    values = module.get_config(*form)
    published = next(iter(records.read_all(folder).values()))
    values.train.exclude_held_out = published["config"]["train"]["exclude_held_out"]
    points, analysis = module.sweep(*form), module.analysis(*form)
    study.expand(folder.name, values.to_dict(), points, tmp_path, analysis).write(tmp_path)
    committed, today = study_files.read(folder), study_files.read(tmp_path)
    assert (committed.name, committed.entries) == (today.name, today.entries)
    assert _without_titles(folder) == _without_titles(tmp_path)


def config_of(name):
    """The config of a study and the arguments of its form, as ("pilot",) for noise_pilot."""
    packages = {path.stem: "configs" for path in (ROOT / "configs").glob("*.py")}
    packages |= {path.stem: "configs.papers" for path in (ROOT / "configs" / "papers").glob("*.py")}
    packages |= dict.fromkeys(("quickstart", "suite_grid"), "pe_lab.studies")
    stem = max((s for s in packages if f"{name}_".startswith(f"{s}_")), key=len)
    form = name.removeprefix(stem).removeprefix("_")
    return importlib.import_module(f"{packages[stem]}.{stem}"), (form,) if form else ()


def _without_titles(folder):
    """The analysis spec of a study without empty parts and titles.

    Titles are wording, and a published study keeps its own.
    """
    analysis = {part: spec for part, spec in study_files.read(folder).analysis.items() if spec}
    for table in analysis.get("tables", ()):
        table.pop("title", None)
    return analysis


def test_the_sizes_in_the_docs_are_the_committed_costs():
    text = (ROOT / "docs" / "models.md").read_text()
    costs = json.loads((ROOT / "results" / "published" / "sizes" / "costs.json").read_text())
    assert len(costs) == 8
    for cost in costs:
        options = dict(o.removeprefix("config.").split("=") for o in cost["overrides"])
        remat = {"True": "yes", "False": "no"}[options["execution.remat"]]
        sizes = [_size(cost[f"{name}_bytes"]) for name in ("state", "kept", "temporary")]
        row = [
            cost["study"],
            f"{cost['parameters']:,}",
            options["model.compute_dtype"],
            remat,
            *sizes,
        ]
        assert f"| {' | '.join(row)} |" in text


def _size(count):
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


@pytest.mark.slow
def test_records_are_read_and_run_ids_are_made_without_jax():
    program = """
import sys
sys.modules["jax"] = sys.modules["flax"] = None  # an import of one of them is an error
from pathlib import Path
from pe_lab.runs.records import records
from pe_lab.runs.run import from_record
count = 0
for folder in map(Path, sys.argv[1:]):
    for run_id, record in records.read_all(folder).items():
        assert from_record(record["config"]).run_id == run_id, record["run_id"]
        count += 1
print(count)
"""
    command = [sys.executable, "-c", program, *map(str, PUBLISHED)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    num_entries = sum(len(study_files.read(folder).entries) for folder in PUBLISHED)
    assert int(result.stdout) == num_entries >= 7_845
