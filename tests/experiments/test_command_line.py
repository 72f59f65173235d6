import dataclasses
import json
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

import pytest

from pe_lab import cli
from pe_lab.cli import _config_files
from pe_lab.cli._arguments import argument, flag, overrides, whole_number
from pe_lab.runs.errors import UserError
from tests.experiments import entry_points
from tests.experiments.entry_points import ROOT

STUDY = """
from pe_lab.studies import base
from pe_lab.runs import grid

def get_config():
    c = base.get_config()
    {config}
    return c

def sweep():
    return {sweep}
"""


def in_config(line):
    return STUDY.format(config=line, sweep="grid.product()")


def in_sweep(points):
    return STUDY.format(config="pass", sweep=points)


@pytest.fixture
def config_file(tmp_path):
    """Writes a config file that differs from base by its lines."""

    def write(config="pass", sweep="grid.product()", text=None):
        path = tmp_path / "study.py"
        path.write_text(text or STUDY.format(config=config, sweep=sweep), encoding="utf-8")
        return path

    return write


@dataclasses.dataclass(frozen=True)
class Options:
    """Arguments of a command that takes a config."""

    config: str = argument(_config_files.HELP)
    overrides: Sequence[str] = overrides()
    workers: int | None = flag("processes", whole_number(1), default=None)
    dry_run: bool = flag("train nothing")


@pytest.fixture
def call(monkeypatch, capsys):
    """Call from arguments to (exit status, stdout, stderr, what main received), in this process."""
    received = []

    def main(file):
        return 0

    def run(*arguments, main=main):
        def command(options):
            file = _config_files.read(options.config, options.overrides)
            received.append((file, options.workers, options.dry_run))
            return main(file)

        monkeypatch.setattr(sys, "argv", ["pe-lab sweep", *map(str, arguments)])
        monkeypatch.setattr(os, "_exit", sys.exit)  # Ctrl-C must not end pytest
        module = ModuleType("command", "A command.")
        module.Options, module.run = Options, command
        with pytest.raises(SystemExit) as exited:
            cli.main_of(module, "pe-lab sweep")
        return exited.value.code, *capsys.readouterr(), received

    return run


def test_main_receives_the_studys_name_and_its_values_with_overrides(call, config_file):
    path = config_file("c.task = dict(name='copy', num_symbols=8)")
    overrides = [
        "--config.train.steps=7",
        "--config.task.num_symbols=5",
        "--config.evaluate.lengths=4,8",
        "--config.seed",
        "3",
    ]
    status, _, _, ((file, workers, dry_run),) = call(
        f"--config={path}", *overrides, "--workers=2", "--dry_run"
    )
    assert (status, file.name, workers, dry_run) == (0, "study", 2, True)
    assert (file.values["train"]["steps"], file.values["seed"]) == (7, 3)
    assert (file.values["task"], tuple(file.values["evaluate"]["lengths"])) == (
        {"name": "copy", "num_symbols": 5},
        (4, 8),
    )


def test_the_config_may_follow_its_flag(call, config_file):
    assert call("--config", config_file())[0] == 0


def test_a_list_is_given_as_a_whole(call, config_file):
    encodings = "--config.model.encodings=({'name': 'rope'}, {'name': 'nope'})"
    (file, *_), *_ = call(f"--config={config_file()}", encodings)[3]
    assert file.values["model"]["encodings"] == ({"name": "rope"}, {"name": "nope"})


def test_an_argument_that_the_file_leaves_at_its_default_can_be_given(call, config_file):
    path = config_file("c.task = dict(name='copy')\n    c.positions = dict(name='randomized')")
    arguments = [
        "--config.task.distinct=False",
        "--config.positions.maximum=99",
        "--config.positions.per=example",
    ]
    _, _, _, ((file, _, _),) = call(f"--config={path}", *arguments)
    assert file.values["task"] == {"name": "copy", "distinct": False}
    assert file.values["positions"] == {"name": "randomized", "maximum": 99, "per": "example"}


def test_none_replaces_an_argument_that_the_file_gives(call, config_file):
    path = config_file("c.task = dict(name='language_model', dataset='stories')")
    arguments = ["--config.task.dataset=None", "--config.task.path=README.md"]
    _, _, _, ((file, _, _),) = call(f"--config={path}", *arguments)
    assert file.values["task"] == {
        "name": "language_model",
        "dataset": None,
        "path": "README.md",
    }


@pytest.mark.parametrize("status", [0, 1])
def test_the_exit_status_is_mains(call, config_file, status):
    assert call(f"--config={config_file()}", main=lambda file: status)[:3] == (status, "", "")


@pytest.mark.parametrize(
    ("error", "expected"),
    [(UserError("no."), (2, "", "error: no.\n")), (KeyboardInterrupt(), (130, "", "stopped; "))],
)
def test_a_mistake_found_by_main_exits_with_2_and_ctrl_c_with_130(
    call, config_file, error, expected
):
    def main(file):
        raise error

    status, out, err, _ = call(f"--config={config_file()}", main=main)
    assert (status, out, err[: len(expected[2])], err.count("\n")) == (*expected, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "pe-lab sweep needs CONFIG: name or file of a config; with :FORM, one of its forms."),
        (
            ["--config=configs/quickstat.py"],
            "There is no file configs/quickstat.py. Did you mean 'quickstart'?\n",
        ),
        (
            ["--config=configs/papers/mqar.py:scale"],
            "The list of forms of configs/papers/mqar.py has no 'scale'. "
            "Did you mean 'scaled'? It has: scaled, smoke.",
        ),
        (
            ["--config=nowhere/quickstart.py"],
            "There is no file nowhere/quickstart.py. Did you mean 'quickstart'?\n",
        ),
        (
            ["--config=STUDY", "--workerz=2"],
            "pe-lab sweep has no '--workerz'. Did you mean '--workers'? "
            "It has: --allow-plugins, --config, --dry-run, --help, --workers.",
        ),
        (
            ["--config=STUDY", "--workers=0"],
            "pe-lab sweep: --workers must be a whole number of at least 1, got '0'.",
        ),
        (
            ["--config=STUDY", "--workers"],
            "pe-lab sweep: argument --workers: expected one argument. ",
        ),
        (
            ["--config=STUDY", "dry_run"],
            "pe-lab sweep takes no further argument, got 'dry_run'.",
        ),
        (
            ["--config=STUDY", "--train.steps=3"],
            "pe-lab sweep has no '--train.steps'. Did you mean --config.train.steps?",
        ),
        (
            ["--config=STUDY", "--config.train.step=3"],
            "config.train has no 'step'. Did you mean 'steps'?\n",
        ),
        (
            ["--config=STUDY", "--config.trian.steps=3"],
            "config has no 'trian'. Did you mean 'train'?\n",
        ),
        (
            ["--config=STUDY", "--config.sed=3"],
            "config has no 'sed'. Did you mean 'seed'?\n",
        ),
        (["--config=STUDY", "--config.seed.x=3"], "config.seed has no 'x'. It has: nothing."),
        *(
            (
                ["--config=STUDY", f"--config.model.encodings.0{more}=3"],
                "config.model.encodings is a list and is given as a whole, as in "
                """--config.model.encodings="({'name': 'sinusoidal'},)".""",
            )
            for more in ("", ".scale")
        ),
        (
            ["--config=STUDY", "--config.train.steps=abc"],
            "--config.train.steps must be a whole number, got 'abc'.",
        ),
        (
            ["--config=STUDY", "--config.train.learning_rate=fast"],
            "--config.train.learning_rate must be a number, got 'fast'.",
        ),
        (
            ["--config=STUDY", "--config.model.qk_norm=perhaps"],
            "--config.model.qk_norm must be True or False, got 'perhaps'.",
        ),
        (
            ["--config=STUDY", "--config.seeds=3"],
            "config has no 'seeds': `pe-lab sweep --seeds=3` trains the seeds 0 to 2.",
        ),
    ],
)
def test_a_command_that_cannot_be_used_is_one_line_and_status_2(
    call, config_file, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(ROOT)
    status, out, err, received = call(*(a.replace("STUDY", str(config_file())) for a in arguments))
    assert (status, out, err.count("\n"), received) == (2, "", 1, [])
    assert err.startswith("error: ")
    assert sentence in err


@pytest.mark.parametrize(
    "argument",
    [
        "--config.seed=" + "(" * 5000,
        "--config.task.name." + "a" * 5000,
        "--" + "a" * 5000,
        "--" + "a" * 5000 + "=3",
    ],
)
def test_a_long_argument_is_repeated_in_part(call, config_file, argument):
    status, out, err, _ = call(f"--config={config_file()}", argument)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "…" in err
    assert len(err) < 1000


@pytest.mark.parametrize("argument", ["--config", "--config="])
def test_a_config_flag_without_a_file_names_the_studies(call, monkeypatch, argument):
    monkeypatch.chdir(ROOT)
    status, _, err, _ = call(argument)
    assert status == 2
    assert "quickstart" in err


def test_help_lists_the_flags(call):
    status, out, err, _ = call("--help")
    assert (status, err) == (0, "")
    assert "workers" in out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\ndef get_config(:", " (PATH, line 2) cannot be loaded: SyntaxError: "),
        (
            "import no_such_package",
            " (line 1) cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'",
        ),
        ("x = 1", " cannot be loaded: AttributeError: "),
        ("import sys\nsys.exit(3)", " (line 2) cannot be loaded: SystemExit: 3"),
        (
            "raise KeyboardInterrupt",
            " (line 1) cannot be loaded: KeyboardInterrupt: KeyboardInterrupt",
        ),
        (in_config("raise SystemExit"), " (line 7) cannot be loaded: SystemExit: SystemExit"),
        (
            in_config("return None"),
            " cannot be loaded: TypeError: get_config() returned None, not a config",
        ),
        (in_config("c.trian.steps = 3"), " (line 7) cannot be loaded: AttributeError: "),
        (in_config("1 / 0"), " (line 7) cannot be loaded: ZeroDivisionError: division by zero"),
        (
            in_config("c.model.encodings = dict(name='rope')"),
            " (line 7) cannot be loaded: 'encodings' must be of type tuple, got dict; "
            "a tuple of one value ends with a comma.",
        ),
        (
            in_config("c.task = 'copy'"),
            " (line 7) cannot be loaded: 'task' must be of type dict, such as dict(name=...), "
            "got str.",
        ),
        (
            in_config("c.train.steps = 'many'"),
            " (line 7) cannot be loaded: 'steps' must be of type int, got str.",
        ),
        (
            in_sweep("grid.product({'task.name': 'copy'})"),
            " (line 11) cannot be loaded: TypeError: the axis 'task.name' needs a list of values, "
            "got 'copy'",
        ),
        (
            in_sweep("[{'seed': 0}]"),
            " cannot be loaded: TypeError: sweep() returns points of grid.product(...), "
            "got {'seed': 0}",
        ),
    ],
)
def test_a_config_that_is_no_config_is_one_line_and_status_2(call, config_file, text, sentence):
    path = config_file(text=text)
    status, _, err, _ = call(f"--config={path}")
    assert (status, err.count("\n")) == (2, 1)
    assert err.startswith(f"error: The config {path}{sentence.replace('PATH', str(path))}")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_a_config_is_loaded_stops_the_command(call, config_file, name):
    text = f"import os, signal, time\nos.kill(os.getpid(), signal.{name})\ntime.sleep(9)"
    # A shell starts a job in the background with SIGINT ignored, and a command keeps that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status, _, err, _ = call(f"--config={config_file(text=text)}")
    assert (status, err[:9]) == (130, "stopped; ")


class JaxRuntimeError(RuntimeError):
    """As JAX raises it, by its name: entry points without JAX do not import it."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 20 bytes."),) * 2,
        (MemoryError(), "MemoryError"),
    ],
)
def test_too_little_memory_is_one_line_and_status_1(call, config_file, error, reason):
    def main(file):
        raise error

    status, _, err, _ = call(f"--config={config_file()}", main=main)
    assert status == 1
    assert err == f"error: This needs more memory than this machine has ({reason}).\n"


def test_another_error_of_jax_keeps_its_traceback(call, config_file):
    def main(file):
        raise JaxRuntimeError("INTERNAL: a bug")

    with pytest.raises(JaxRuntimeError, match="INTERNAL: a bug"):
        call(f"--config={config_file()}", main=main)


def refused(module, *arguments):
    """Return the line on stderr of a command that must exit with status 2, in its own process."""
    answer = entry_points.call(module, *arguments)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1), (
        answer.stderr
    )
    assert answer.stderr.startswith("error: ")
    return answer.stderr.removeprefix("error: ").rstrip("\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "argument", "sentence"),
    [
        (
            {},
            "--dryrun",
            "pe-lab sweep has no '--dryrun'. Did you mean '--dry-run'? "
            "It has: --allow-plugins, --config, --dry-run, --help, --results, --seeds, --workers, "
            "--write-groups.",
        ),
        (
            {},
            "--config.train.stepz=3",
            "config.train has no 'stepz'. Did you mean 'steps'?",
        ),
        (
            {},
            "--config.task.num_symbol=3",
            "copy has no 'num_symbol'. Did you mean 'num_symbols'? It has: distinct, num_symbols.",
        ),
        (
            {},
            "--config.launcher.name=slrum",
            "pe_lab/sweeps/launchers has no 'slrum'. Did you mean 'slurm'? "
            "It has: local, ray, slurm.",
        ),
        (
            dict(config="c.model.encodings = (dict(name='ropee'),)"),
            "--dry_run",
            "pe_lab/encodings has no 'ropee'. Did you mean 'rope'?",
        ),
        (
            dict(config="c.model.update(width=12, encodings=(dict(name='rope'),))"),
            "--dry_run",
            "RoPE rotates pairs, so the head width must be even, got 3.",
        ),
        (
            dict(config="c.model.encodings = (dict(name='learned', max_positions=10),)"),
            "--dry_run",
            "learned has positions 0..9; length 16 asks for position 33: "
            "training there would teach nothing.",
        ),
        (
            dict(config="c.train = dict(steps=3)"),
            "--dry_run",
            "config.train.batch_size is missing: pe_lab/runs/settings.py states every key. "
            "Change single keys with c.train.update(...).",
        ),
        (
            dict(sweep="grid.product({'train.learning_rate': 1e-3})"),
            "--dry_run",
            " (line 11) cannot be loaded: TypeError: the axis 'train.learning_rate' needs a list "
            "of values, got 0.001",
        ),
        (
            dict(sweep="grid.product({'train.stepz': [3]})"),
            "--dry_run",
            "The axis 'train.stepz' leads nowhere: config.train has no 'stepz'. "
            "Did you mean 'steps'?",
        ),
        pytest.param(
            dict(sweep="grid.zipped({'seed': [1, 2]}, {'train.steps': [1]})"),
            "--dry_run",
            "zipped axes must be equally long, got [1, 2] values.",
        ),
    ],
    ids=[
        "flag",
        "key",
        "argument",
        "launcher",
        "encoding",
        "head width",
        "table",
        "group",
        "no list",
        "axis",
        "zip",
    ],
)
def test_a_sweep_with_a_mistake_is_one_line_and_status_2(
    config_file, tmp_path, study, argument, sentence
):
    said = refused(
        "sweep", f"--config={config_file(**study)}", f"--results={tmp_path / 'results'}", argument
    )
    assert sentence in said


@pytest.mark.slow
def test_an_override_of_a_tuned_axis_is_refused(config_file, tmp_path):
    said = refused(
        "sweep",
        "--config=configs/copy_baselines.py:smoke",
        f"--results={tmp_path}",
        "--config.train.learning_rate=0.1",
        "--dry_run",
    )
    assert said.startswith("--config.train.learning_rate has no effect: it is an axis of the sweep")


@pytest.mark.slow
def test_an_override_of_an_axis_of_the_sweep_is_refused(config_file, tmp_path):
    said = refused(
        "sweep",
        "--config=configs/smoke.py",
        f"--results={tmp_path}",
        "--config.seed=4",
        "--dry_run",
    )
    assert said == (
        "--config.seed has no effect: it is an axis of the sweep. "
        "Change the config, or use pe-lab train."
    )


@pytest.mark.slow
def test_an_override_applies_to_the_points_without_its_axis(config_file, tmp_path):
    points = """[
        *grid.product({"model.encodings": [({"name": "rope"},)]}),
        *grid.product({"model.encodings": [({"name": "nope"},)], "train.steps": [8]}),
    ]"""
    file = config_file(sweep=points)
    folder = tmp_path / "results"
    arguments = [f"--config={file}", f"--results={folder}", "--write_groups"]
    done = entry_points.call("sweep", *arguments, "--config.train.steps=5")
    assert done.returncode == 0
    assert done.stderr.startswith(
        "note: --config.train.steps has no effect on 1 of 2 points, which have it as an axis\n"
    )
    steps_of = {}
    for group in folder.glob("groups/*.json"):
        (run,) = json.loads(group.read_text())["runs"]
        steps_of[run["model"]["encodings"][0]["name"]] = run["train"]["steps"]
    assert steps_of == {"rope": 5, "nope": 8}


@pytest.mark.slow
def test_a_results_folder_that_cannot_be_written_is_one_line_and_status_2(tmp_path):
    (tmp_path / "results").write_text("a file in its place", encoding="utf-8")
    said = refused(
        "sweep", "--config=configs/smoke.py", f"--results={tmp_path / 'results'}", "--dry_run"
    )
    assert said.startswith(f"The results folder {tmp_path / 'results'} cannot be written (")
    assert said.endswith("Give another: --results=FOLDER.")


@pytest.mark.slow
def test_a_damaged_record_is_refused_by_tables_and_run_again_by_a_sweep(tmp_path):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "x.json").write_text("{", encoding="utf-8")
    (tmp_path / "study.json").write_text(
        json.dumps({"name": "smoke", "entries": [{"labels": {}, "run_id": "x"}]}), encoding="utf-8"
    )
    sentence = f"The record {tmp_path}/records/x.json is damaged ("
    assert refused("tables", tmp_path).startswith(sentence)
    done = entry_points.call(
        "sweep", "--config=configs/smoke.py", "--dry_run", f"--results={tmp_path}"
    )
    assert done.returncode == 0
    assert f"\nnote: {sentence}" in done.stdout
    assert (tmp_path / "records" / "x.json").exists()  # a dry run touches nothing


@pytest.mark.slow
def test_a_record_of_another_version_is_no_damage_and_refused(tmp_path):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "x.json").write_text(
        '{"schema_version": 99, "digest": "x"}', encoding="utf-8"
    )
    said = refused("sweep", "--config=configs/smoke.py", "--dry_run", f"--results={tmp_path}")
    assert said == f"{tmp_path}/records/x.json has schema_version 99; this pe_lab reads 6 to 8."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "arguments", "sentence"),
    [
        (
            "tables",
            ["x", "--format=x"],
            "pe-lab tables has no '--format'. Did you mean '--formats'? "
            "It has: --allow-plugins, --formats, --help, --relative.",
        ),
        (
            "publish",
            ["results/nowhere"],
            "There is no study in results/nowhere: results/nowhere/study.json is missing.",
        ),
    ],
)
def test_a_command_about_results_with_a_mistake_is_one_line_and_status_2(
    module, arguments, sentence
):
    assert refused(module, *arguments) == sentence


ANALYSIS = (
    STUDY.format(config="pass", sweep="grid.product()")
    + "\n\ndef analysis():\n    return {analysis}\n"
)


def test_what_a_study_says_of_its_analysis_is_read_and_is_empty_where_it_says_nothing(
    call, config_file
):
    status, _, _, received = call(
        f"--config={config_file(text=ANALYSIS.format(analysis='dict(question=1)'))}"
    )
    assert (status, received[-1][0].analysis) == (0, {"question": 1})


def test_a_study_without_an_analysis_says_nothing_of_it(call, config_file):
    assert call(f"--config={config_file()}")[3][-1][0].analysis == {}


def test_an_analysis_that_is_no_dict_is_refused(call, config_file):
    status, _, err, _ = call(f"--config={config_file(text=ANALYSIS.format(analysis='[1]'))}")
    assert (status, err.count("\n")) == (2, 1)
    assert "analysis() returns a dict, as dict(question=...), got [1]" in err
