"""The report page shows the numbers, settings and pictures of a study."""

import itertools
import json
import re
import subprocess
import sys
import tomllib

import pytest

from pe_lab.contrib.report import data, images, report_file
from pe_lab.results import frame
from pe_lab.results.plots import plotted, styles
from pe_lab.runs.errors import UserError
from tests.contrib.report.small_pages import ROOT, downloaded, page_data
from tests.experiments.entry_points import call
from tests.results import synthetic, test_attributes, test_override_grids
from tests.results.fake_study import point, record, two_variants, write_study
from tests.results.plots.small_studies import small


def test_it_shows_the_analysis_spec(tmp_path):
    folder = small(tmp_path / "s", analysis={"question": "Why? '''"})
    module, _ = downloaded(folder, tmp_path)
    assert module.analysis() == {"question": "Why? '''"}


@pytest.mark.full
def test_five_hundred_runs_take_less_than_five_megabytes_and_twenty_seconds(tmp_path):
    """Of a process of its own, in which no types are checked."""
    folder = synthetic.write(tmp_path, runs=500)
    program = """
import pathlib, sys, time
from pe_lab.contrib.report import report_file
from pe_lab.results import frame, tables
folder = pathlib.Path(sys.argv[1])
found = frame.read(folder)
tables.write(found, folder)
print(report_file.write(found, folder).stat().st_size, time.process_time())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    size, seconds = map(float, done.stdout.split())
    assert size < 5e6
    assert seconds < 20


@pytest.mark.slow
def test_nothing_in_it_comes_from_elsewhere(tmp_path):
    text = report_file.write(frame.read(small(tmp_path)), tmp_path).read_text(encoding="utf-8")
    ours = re.sub(r'<script type="module">.*?</script>', "", text, flags=re.DOTALL)
    ours, num_images = re.subn(r'src="data:image/svg\+xml;base64,[\w+/=]+"', "", ours)
    assert num_images == 2  # training, extrapolation
    assert len(ours) < 100_000  # Vega and the images are out of it
    assert "default-src 'none'" in ours  # whatever it says, the browser fetches nothing
    assert not re.search(r"(src|href)=\"?[^#\" ]|url\(|@import", ours)


def test_every_number_of_a_variant_is_there(tmp_path):
    found = frame.read(two_variants(tmp_path))
    said = page_data(tmp_path)
    (rope, alibi) = said["variants"]
    (without_offset,) = rope["values"]["exact_match"]
    assert without_offset == [
        {"s": [1.0, 0.996, None], "c": 0.998, "k": "median"},
        {"s": [0.5, 0.3, None], "c": 0.4, "k": "median"},
    ]
    assert alibi["values"]["exact_match"][0][1] == {"w": "the table ends"}
    assert (rope["solved"], rope["extrapolates"], rope["bad"]) == ([1, 3], [0, 3], [1, 0])
    assert data.counts(found) == {"finished": 3, "diverged": 1, "failed": 1, "without a record": 1}
    json.dumps(said, allow_nan=False)


def test_the_main_metric_is_the_first_of_the_menu(tmp_path):
    values = page_data(small(tmp_path))
    names = [metric["name"] for metric in values["metrics"]]
    assert names[0] == "exact_match"
    assert len(names) > 1


def test_settings_stand_once_where_all_runs_share_them(tmp_path):
    small(tmp_path)
    said = page_data(tmp_path)
    assert said["common"]["train.steps"] == 800
    assert said["runs"][3]["config"] == {
        "seed": 1,
        "data_seed": 1,
        "model.encodings": [{"name": "alibi", "reads_positions": True}],
    }
    assert len(said["origins"]) == 1


def test_a_study_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="fake has no finished run to report"):
        report_file.write(
            frame.read(write_study(tmp_path, (point("rope", 0), "missing"))), tmp_path
        )


def test_the_error_without_its_libraries_names_the_installation(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UserError, match=r"needs vl-convert-python: pip install 'pe_lab\[report\]'"):
        report_file.write(frame.read(two_variants(tmp_path)), tmp_path)


def test_an_installed_package_has_the_page():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (pattern,) = project["tool"]["setuptools"]["package-data"]["pe_lab.contrib.report"]
    assert {p.name for p in report_file.HERE.glob(pattern)} == {
        "page.html.jinja",
        "page.css",
        "page.js",
    }


@pytest.mark.full
def test_the_command_writes_it_and_names_it(tmp_path):
    for name in ("one", "other"):
        small(tmp_path / name, name=name)
    done = call("report", f"{tmp_path}/one", f"--against={tmp_path}/other")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/one/report.html\n"), done.stderr
    assert "one against other" in (tmp_path / "one" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "pe-lab report needs STUDY: name, folder or config file of a study."),
        (("/nowhere/at_all",), "There is no study in /nowhere/at_all"),
    ],
)
def test_a_mistake_is_one_line(flags, said):
    done = call("report", *flags)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


TUNED = {"tuned": ["train.learning_rate"]}


def test_a_tuned_variant_is_shown_at_the_setting_that_validation_chose(tmp_path):
    values = page_data(small(tmp_path, rates=("0.001", "0.003", "0.01"), analysis=TUNED))
    names = ["RoPE · learning rate 0.003", "ALiBi · learning rate 0.003"]
    assert [variant["name"] for variant in values["variants"]] == names
    assert [variant["color"] for variant in values["variants"]] == list(styles.PALETTE[:2])


def test_every_run_of_a_tuning_is_listed_with_its_own_setting(tmp_path):
    values = page_data(small(tmp_path, rates=("0.001", "0.003"), seeds=1, analysis=TUNED))
    runs = [(run["name"], values["variants"][run["v"]]["name"]) for run in values["runs"]]
    assert runs == [
        (f"{encoding} · learning rate {rate}", f"{encoding} · learning rate 0.003 (edge)")
        for encoding in ("RoPE", "ALiBi")
        for rate in ("0.001", "0.003")
    ]


def test_a_run_whose_task_has_an_empty_label_belongs_to_its_variant(tmp_path):
    """The column "task" of runs is the task itself, and not the label of the axis."""
    entries = []
    for steps in ("100", "200"):
        for rate in ("0.001", "0.003"):
            labels = {"task": "", "train.steps": steps, "train.learning_rate": rate}
            run = record(f"{steps}{rate}", test={4: 1.0}, validation={4: 1.0})
            entries.append((point("rope", 0, **labels), run))
    values = page_data(write_study(tmp_path, *entries, analysis=TUNED))
    assert [run["v"] for run in values["runs"]] == [0, 0, 1, 1]


def test_a_tuning_without_a_finished_run_of_one_setting_is_shown(tmp_path):
    """The first setting has no record, and the second has diverged: none can be chosen."""
    done = record("a", test={4: 1.0}, validation={4: 1.0})
    entries = [
        (point("rope", 0, **{"train.learning_rate": "0.001"}), "missing"),
        (point("rope", 0, **{"train.learning_rate": "0.003"}), record("r", status="diverged")),
        (point("alibi", 0, **{"train.learning_rate": "0.001"}), done),
    ]
    values = page_data(write_study(tmp_path, *entries, analysis=TUNED))
    assert [(run["id"], run["v"]) for run in values["runs"]] == [("r", 0), ("a", 1)]


def test_a_variant_without_a_record_is_left_out_of_the_chart(tmp_path):
    entries = [(point("rope", 0), record("r", test={4: 1.0})), (point("alibi", 0), "missing")]
    values = page_data(write_study(tmp_path, *entries))
    assert [variant["name"] for variant in values["variants"]] == ["RoPE"]
    assert values["tasks"] == ["copy"]


def test_a_grid_of_overrides_is_a_heat_map_and_no_line_of_the_chart(tmp_path):
    axes = {"task.other_digits": (1, 2), "num_loops": (1, 4)}
    folder = test_override_grids.study(tmp_path, axes, lambda label, length: 0.5, lengths=(8,))
    assert [variant["name"] for variant in page_data(folder)["variants"]] == ["RoPE", "ALiBi"]
    *_, heat_map = images.of(plotted.of(frame.read(folder)))
    words = "Exact match by evaluated other_digits and evaluated num_loops. Medians over seeds."
    assert heat_map.description == words


def test_an_override_of_a_tuned_study_is_named_once(tmp_path):
    entries = []
    for encoding, loss in itertools.product(("rope", "alibi"), (0.5, 0.1, 0.3)):
        run = record(f"{encoding}{loss}", test={8: 0.9}, validation={4: 1.0}, loss=loss)
        run["rows"].append(test_override_grids.overridden(dict(label="yarn", axes={}), 8, 0.7))
        rate = {0.5: "0.001", 0.1: "0.002", 0.3: "0.003"}[loss]
        entries.append((point(encoding, 0, **{"train.learning_rate": rate}), run))
    folder = write_study(tmp_path, *entries, analysis=TUNED)
    names = [variant["name"] for variant in page_data(folder)["variants"]]
    chosen = ["RoPE · learning rate 0.002", "ALiBi · learning rate 0.002"]
    expected = [(name, f"{name}, evaluated with yarn") for name in chosen]
    assert names == list(itertools.chain(*expected))


@pytest.mark.slow
def test_a_tuned_study_with_attributes_has_the_pictures_of_both(tmp_path):
    folder = small(tmp_path, rates=("0.001", "0.003"), analysis=TUNED)
    test_attributes.add(folder)
    drawn = images.of(plotted.of(frame.read(folder)))
    titles = [image.description.partition(".")[0] for image in drawn]
    assert titles == [
        "Validation exact match during training",
        "Exact match against learning rate",
        "Runs that solve the training lengths and that extrapolate",
        "Exact match against number of ones",
    ]
