"""The command measures the costs of a config and of its sweep."""

import functools
import json
import sys

import pytest

from experiments import benchmark
from pe_lab import cli
from pe_lab.cli._arguments import Parser
from pe_lab.contrib.grids import step_time
from tests.experiments.benchmarks.costed_model import LAYER, WIDTH, WORDS

pytestmark = pytest.mark.slow
CONFIG = """
from pe_lab.studies import base
def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(width=16, num_layers=1, num_heads=2, feedforward_width=16)
    c.model.encodings = (dict(name="nope"),)
    c.train.update(batch_size=8, max_length=3)
    c.evaluate.update(lengths=(3,), curve_lengths=(3,))
    return c
"""


@pytest.fixture
def call(call_main, tmp_path):
    """Arguments after the config to (exit status, stdout, stderr)."""
    path = tmp_path / "small.py"
    path.write_text(CONFIG, encoding="utf-8")
    main = functools.partial(cli.main_of, benchmark, "python -m experiments.benchmark")
    return functools.partial(call_main, main, f"--config={path}")


SWEEP = """
from pe_lab.runs import grid
def sweep():
    encodings = [(dict(name="nope"),), (dict(name="shaw", clip=2),)]
    return grid.product({"model.encodings": encodings}, {"seed": range(2)})
"""


@pytest.mark.full
def test_with_compare_every_program_of_the_sweep_is_measured_under_its_label(call, tmp_path):
    (tmp_path / "small.py").write_text(CONFIG + SWEEP, encoding="utf-8")
    out = tmp_path / "figures.json"
    status, said, err = call("--compare", "--steps=0", f"--out={out}")
    assert (status, err) == (0, "")
    found = json.loads(out.read_text(encoding="utf-8"))
    assert (
        [each["label"] for each in found]
        == ["nope", "shaw(clip=2)"]
        == [line for line in said.splitlines() if line and " " not in line]
    )
    assert (
        found[1]["parameters"] - found[0]["parameters"] == 2 * 5 * 8
    )  # a table of five rows a head, of one layer
    assert all(each["times_first"] is None for each in found)


@pytest.mark.full
def test_figures_are_printed_and_added_to_a_file(call, tmp_path):
    out = tmp_path / "new" / "figures.json"
    status, said, err = call("--steps=0", f"--out={out}")
    assert (status, err) == (0, "")
    printed = dict(line.split() for line in said.splitlines())
    assert (printed["parameters"], printed["seconds_per_step"]) == (
        str(LAYER + 2 * WORDS * WIDTH + 2 * WIDTH),
        "None",
    )
    first = json.loads(out.read_text(encoding="utf-8"))
    assert (
        call("--steps=1", f"--out={out}", "--config.seed=5", "--config.train.learning_rate=0.5")[0]
        == 0
    )
    both = json.loads(out.read_text(encoding="utf-8"))
    assert both[:1] == first
    assert [each["overrides"] for each in both] == [
        [],
        ["config.seed=5", "config.train.learning_rate=0.5"],
    ]
    assert [each["seconds_per_step"] is None for each in both] == [True, False]
    for each in both:
        assert each["study"] == "small"
        assert {
            name: str(each[name]) for name in ("parameters", "state_bytes", "kept_bytes")
        }.items() <= printed.items()
        assert each["provenance"]["device"].startswith("cpu")
        assert each["load_before"] >= 0


@pytest.mark.full
def test_a_profile_says_where_the_time_goes_and_needs_steps(call, tmp_path):
    out = tmp_path / "figures.json"
    status, said, err = call("--profile", "--steps=1", f"--out={out}")
    assert (status, err) == (0, "")
    (found,) = json.loads(out.read_text(encoding="utf-8"))
    assert found["steps"] == 1
    assert said.splitlines() == [
        f"{1e3 * seconds:10.3f} ms  {place}" for place, seconds in found["profile"].items()
    ]
    assert any(place.startswith("model/attention.py") for place in found["profile"])
    assert call("--profile", "--steps=0") == (
        2,
        "",
        "error: --profile needs steps to look at: --steps=1 or more.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--steps=-1"],
            "python -m experiments.benchmark: --steps must be a whole number of at least 0, "
            "got '-1'.",
        ),
        (["--step=1"], "python -m experiments.benchmark has no '--step'. Did you mean '--steps'?"),
        (["--config.train.stepz=1"], "config.train has no 'stepz'. Did you mean 'steps'?"),
        (["--config.model.num_heads=3"], "config.model.num_heads must divide the width 16, got 3."),
        (["--out=FOLDER"], "--out=FOLDER cannot be read ("),
        (["--out=FOLDER/small.py"], "--out=FOLDER/small.py cannot be read ("),
        (["--out=FOLDER/object.json"], "--out=FOLDER/object.json holds no list of figures."),
    ],
)
def test_a_mistake_is_one_line_and_status_2_before_anything_is_measured(
    call, tmp_path, monkeypatch, arguments, sentence
):
    monkeypatch.setattr(step_time, "measure", None)
    (tmp_path / "object.json").write_text("{}", encoding="utf-8")
    status, out, err = call(*(a.replace("FOLDER", str(tmp_path)) for a in arguments))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {sentence}".replace("FOLDER", str(tmp_path)))


@pytest.mark.full
def test_members_of_one_program_are_timed_beside_one_alone(call, tmp_path):
    out = tmp_path / "figures.json"
    status, _, err = call(
        "--members=1,3,6", "--steps=2", f"--out={out}", "--config.execution.members=map"
    )
    assert (status, err) == (0, "")
    one, three, six = figures = json.loads(out.read_text(encoding="utf-8"))
    assert [(each["members"], each["how"]) for each in figures] == [
        (1, "map"),
        (3, "map"),
        (6, "map"),
    ]
    assert three["state_bytes"] - 3 * one["state_bytes"] < 200  # what is counted once
    # Members run one after the other, so that temporaries grow only by a copy of the state.
    temporaries, states = (six[name] - three[name] for name in ("temporary_bytes", "state_bytes"))
    assert temporaries == pytest.approx(states, rel=0.01)
    assert three["member_steps_per_second"] == pytest.approx(3 / three["seconds_per_step"], rel=0.5)


@pytest.mark.full
def test_an_evaluation_is_timed_beside_its_training(call, tmp_path):
    out = tmp_path / "figures.json"
    assert (
        call(
            "--evaluation",
            "--steps=1",
            f"--out={out}",
            "--config.evaluate.lengths=(2,3)",
            "--config.evaluate.num_examples=8",
        )[0]
        == 0
    )
    (found,) = json.loads(out.read_text(encoding="utf-8"))
    # Validation at lengths 1 to 3, test at lengths 2 and 3.
    assert (found["places"], found["examples"]) == (5, 40)
    assert found["share"] == pytest.approx(
        found["evaluation_seconds"] / (2000 * found["seconds_per_step"]), rel=0.01
    )
    assert found["peak_bytes"] > 2**20


def test_a_peer_that_is_not_installed_is_one_sentence(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    status, _, err = call("--peer", "--steps=1")
    assert (status, err) == (
        2,
        "error: --peer needs torch and x-transformers, which are not installed: "
        ".venv/bin/pip install torch x-transformers.\n",
    )


def test_an_unknown_label_of_the_sweep_is_refused(call, tmp_path):
    (tmp_path / "small.py").write_text(CONFIG + SWEEP, encoding="utf-8")
    status, _, err = call("--compare", "--steps=0", "--only=shav")
    assert status == 2
    assert err.startswith("error: --only: the sweep has no 'shav'.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--members=1,2", "--steps=0"],
            "--members, --evaluation and --peer need steps to time: --steps=1 or more.",
        ),
        (["--only=nope", "--steps=0"], "--only chooses from a sweep: it needs --compare."),
        (
            ["--compare", "--evaluation"],
            "Give one of --compare and --evaluation: each measures something else.",
        ),
        (
            ["--members=0"],
            "python -m experiments.benchmark: --members must be whole numbers of at least 1 "
            "with commas between, as in 8,16,32, got '0'.",
        ),
        *(
            (
                ["--workers=2", without],
                "--workers needs steps to time, so neither --profile nor --steps=0.",
            )
            for without in ("--profile", "--steps=0")
        ),
    ],
)
def test_what_would_measure_nothing_is_refused(call, arguments, sentence):
    assert call(*arguments) == (2, "", f"error: {sentence}\n")


@pytest.mark.parametrize("workers", [["--workers=2"], ["--workers", "2"]], ids=" ".join)
def test_every_process_of_several_workers_measures_alone(call, monkeypatch, workers):
    measured = []

    class Process:
        pid = 0

        def __init__(self, command, **_):
            options = Parser("benchmark", benchmark.Options).parse(command[3:])
            measured.append(options.workers)
            figures = [{"label": "", "seconds_per_step": 0.5}]
            options.out.write_text(json.dumps(figures), encoding="utf-8")

        def wait(self):
            return 0

    monkeypatch.setattr(benchmark.subprocess, "Popen", Process)
    monkeypatch.setattr(benchmark.local.Place, "of", lambda *_: benchmark.local.Place())
    status, out, _ = call(*workers)
    assert (status, out) == (0, f"{'all workers':22} 4.000 steps/s, 2 workers\n")
    assert measured == [1, 1]


@pytest.mark.peers
def test_the_peer_is_timed_in_its_four_settings(call, tmp_path):
    out = tmp_path / "figures.json"
    assert call("--peer", "--steps=1", f"--out={out}")[0] == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert [each["what"] for each in found] == [
        "pe_lab, float32",
        "x-transformers, float32",
        "x-transformers, float32, flash",
        "x-transformers, bfloat16 autocast",
        "x-transformers, bfloat16 autocast, flash",
    ]
    assert all(each["seconds_per_step"] > 0 for each in found)
