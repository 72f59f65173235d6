"""`pe-lab`: commands by file name, help and mistakes without JAX, one sentence for a mistake."""

import dataclasses
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import pe_lab
from pe_lab import cli, parts
from pe_lab.cli import _arguments
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import other_packages

ROOT = Path(__file__).parents[2]
WITHOUT_JAX = "import sys; sys.modules['jax'] = None; from pe_lab import cli; cli.main()"


def call(*arguments, cwd=ROOT, program=WITHOUT_JAX):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


# Commands one after the other in a process that cannot import JAX.
SEVERAL = """
import contextlib, io, json, sys
sys.modules["jax"] = None
from pe_lab import cli
for arguments in json.loads(sys.argv[1]):
    sys.argv, out, err = ["pe-lab", *arguments], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as exited:
            status = exited.code
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


def call_several(*commands):
    """The exit status, output and error of each command."""
    done = call(json.dumps(commands), program=SEVERAL)
    assert done.stderr == ""
    return map(json.loads, done.stdout.splitlines())


def test_help_and_version_need_no_jax():
    commands = [[], ["--help"], ["--version"], *([name, "--help"] for name in cli.names())]
    for status, out, err in call_several(*commands):
        assert (status, err) == (0, "")
        assert "pe_lab" in out or "pe-lab" in out


def test_the_version_says_that_jax_cannot_be_imported():
    assert "\nJAX finds no device: ModuleNotFoundError: " in call("--version").stdout


MISTAKES = [
    (["lst"], "pe-lab has no 'lst'. Did you mean 'list'?"),
    (["list", "encodngs"], "pe-lab list: KIND has no 'encodngs'. Did you mean 'encodings'?"),
    (
        ["list"],
        "pe-lab list needs KIND: encodings, positions, tasks, metrics, configs, studies. ",
    ),
    (["list", "tasks", "more"], "pe-lab list takes no further argument, got 'more'."),
    (["show", "rope", "--knd=tasks"], "pe-lab show has no '--knd'. Did you mean '--kind'?"),
    (["show", "ropee"], "pe_lab has no 'ropee'. Did you mean 'rope'?"),
    (["show", "xyzzy"], "pe_lab has no 'xyzzy'. `pe-lab list KIND` lists its names.\n"),
    (["show", "rope", "--kind=tasks"], "The list of tasks has no 'rope'."),
    (["show", "a.b:C"], "Which kind of class? Give --kind=encodings, positions or tasks."),
    (
        ["sweep", "quikstart"],
        "The list of configs has no 'quikstart'. Did you mean 'quickstart'?",
    ),
    (
        ["sweep", "quickstart", "--config.train.stepz=1"],
        "config.train has no 'stepz'. Did you mean 'steps'?",
    ),
    (
        ["sweep", "quickstart", "--seeds=none"],
        "pe-lab sweep: --seeds must be a whole number of at least 1, got 'none'.",
    ),
    (["train", "quickstart", "--encodings=rope("], "'rope(' does not read like "),
    (["tables", "quikstart"], "The list of studies in results and results/published has no "),
    (["evaluate", "quickstart"], "Which lengths? Give them in the task's unit: "),
    (["suite", "--quick", "--smoke"], "Give --quick or --smoke, not both."),
    (["suite", "a:B", "--smoke", "--bundle=x.zip"], "--bundle is for one row, without --quick, "),
    (["suite", "a:B", "c:D", "--bundle=x.zip"], "--bundle is for one row, without --quick, "),
    (["inspect", "rope", "--lengths=8"], "--lengths needs --run."),
    (["reference", "--out=a.json"], "--out is the name of an .npz file in an existing folder"),
]


def test_a_mistake_is_one_sentence_and_needs_no_jax():
    commands, messages = zip(*MISTAKES, strict=True)
    for message, (status, out, err) in zip(messages, call_several(*commands), strict=True):
        assert (status, out) == (2, "")
        assert err.startswith(f"error: {message}")
        assert err.count("\n") == 1


def test_the_examples_of_a_help_have_80_columns():
    for name in cli.names():
        text = importlib.import_module(parts.module("cli", name)).__doc__
        assert all(len(line) <= 80 for line in text.splitlines() if line.startswith("    ")), name


def test_python_m_pe_lab_is_pe_lab():
    done = call(program="import runpy; runpy.run_module('pe_lab', run_name='__main__')")
    assert done.stdout.startswith(f"pe_lab {pe_lab.__version__}: ")


def test_the_overview_has_each_command_with_a_line_of_80_columns(capsys):
    assert cli.run([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for name in cli.names():
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert line.removeprefix(f"  {name}").strip().endswith(".")


def test_the_commands_that_pages_show_exist():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("results/published/*/*.md")]
    shown = [re.findall(r"\bpe-lab (\w+)", page.read_text(encoding="utf-8")) for page in pages]
    assert {"doctor", "list", "reference", "show"} <= set().union(*shown) <= set(cli.names())


WITH_COMMANDS = ("*.md", "docs/*.md", "pe_lab/contrib/*/*.md", "configs/**/*.py")


def shown_commands(file):
    """The lines of a page or a docstring that are commands, with the lines that continue them."""
    joined = re.sub(r"\\+\n *", " ", file.read_text(encoding="utf-8"))
    return re.findall(r"^ {4}((?:\.venv/bin/)?pe-lab [a-z].*)$", joined, re.MULTILINE)


def test_the_parsers_accept_the_commands_of_pages_and_configs():
    files = [file for pattern in WITH_COMMANDS for file in sorted(ROOT.glob(pattern))]
    commands = [(file, command) for file in files for command in shown_commands(file)]
    assert len(commands) > 150
    mistakes = []
    for file, command in commands:
        _, name, *arguments = shlex.split(command, comments=True)
        module = importlib.import_module(parts.module("cli", name))
        try:
            _arguments.Parser(f"pe-lab {name}", module.Options).parse(arguments)
        except UserError as error:
            if not str(error).startswith("The list of studies"):  # `mine` is a study of the reader
                mistakes.append(f"{file.relative_to(ROOT)}: {command}: {error}")
    assert mistakes == []


@dataclasses.dataclass(frozen=True)
class Options:
    """Arguments of each kind."""

    study: str = _arguments.argument("a study")
    more: Sequence[str] = _arguments.arguments("others")
    dry_run: bool = _arguments.flag("train nothing")
    out: Path | None = _arguments.flag("a folder", Path, default=None)
    seeds: Sequence[int] = _arguments.flag("some", _arguments.whole_numbers(0), default=(0,))
    select: Sequence[str] = _arguments.flag("some", default=(), repeated=True)
    allow_plugins: Sequence[str] = _arguments.allow_plugins()


def parsed(*arguments):
    return _arguments.Parser("pe-lab x", Options).parse(arguments)


def test_fields_that_are_not_given_have_their_defaults():
    assert parsed("a") == Options("a", (), dry_run=False, out=None, seeds=(0,), select=())


@pytest.mark.parametrize("flag", ["--dry_run", "--dry-run"])
def test_hyphens_and_underscores_are_equal_in_flags_and_their_place_is_free(flag):
    given = ("--out=a_b", "a", flag, "b", "c", "--seeds", "1,2", "--select=x=1", "--select=y=2")
    expected = Options("a", ("b", "c"), True, Path("a_b"), (1, 2), ("x=1", "y=2"))
    assert parsed(*given) == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "pe-lab x needs STUDY: a study. See pe-lab x --help."),
        (["a", "--see=1"], "pe-lab x has no '--see'. Did you mean '--seeds'? It has: "),
        (["a", "--seeds=-1"], "pe-lab x: --seeds must be whole numbers of at least 0 with "),
        (["a", "--seeds"], "pe-lab x: argument --seeds: expected one argument. See "),
        (["a", "--dry-run=b"], "pe-lab x: argument --dry-run: ignored explicit argument 'b'"),
        (["--study=a"], "The study is the first argument: pe-lab x NAME, or its folder."),
        (["--config=a"], "pe-lab x takes no config. Give the study: pe-lab x NAME."),
    ],
)
def test_an_argument_that_cannot_be_used_is_one_sentence(arguments, sentence):
    with pytest.raises(UserError) as raised:
        parsed(*arguments)
    assert str(raised.value).startswith(sentence)


def test_packages_that_the_arguments_name_are_allowed_and_no_others():
    parsed("mine.a:B", "--allow-plugins=other, third")
    for name in ("mine", "other", "third"):
        assert other_packages.is_allowed(f"{name}:B")
    assert not other_packages.is_allowed("fourth:B")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("list", "KIND\n"),
        ("suite", "[--write-groups]\n"),
    ],
)
def test_the_usage_shows_which_arguments_must_be_given(command, line):
    assert line in call(command, "--help").stdout
    assert "[ENCODINGS ...]\n" in call("suite", "--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [[], ["sweep", "--help"], ["swep"], ["sweep", "quikstart"], ["tables", "quikstart"]],
    ids=" ".join,
)
def test_help_and_mistakes_take_little_time(arguments):
    """CPU time: the time of a clock depends on what else the machine does."""
    program = (
        f"{WITHOUT_JAX[:-10]}\ntry: cli.main()\nfinally:\n    import os; print(sum(os.times()[:2]))"
    )
    done = call(*arguments, program=program)
    assert float(done.stdout.splitlines()[-1]) < 0.5
