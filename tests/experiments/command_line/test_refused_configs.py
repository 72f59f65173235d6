"""A config that cannot be used ends a command with one line and status 2."""

import pytest

from tests.experiments.command_line.configs import STUDY
from tests.experiments.entry_points import ROOT


def in_config(line):
    return STUDY.format(config=line, sweep="grid.product()")


def in_sweep(points):
    return STUDY.format(config="pass", sweep=points)


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
            "Did you mean 'scaled'? It has: longer, scaled, smoke.",
        ),
        (
            ["--config=configs/toy.py:smoke"],
            "configs/toy.py has no form 'smoke': it has no FORMS.",
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
            ["--config=STUDY", "--config.seed=True"],
            "--config.seed must be a whole number, got 'True'.",
        ),
        (
            ["--config=STUDY", "--config.task=parity"],
            "--config.task must be a group of keys, got 'parity'. Did you mean "
            "--config.task.name=parity?",
        ),
        (
            ["--config=STUDY", "--config.train=3"],
            "--config.train must be a group of keys, got '3'.\n",
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
    ("text", "sentence"),
    [
        ("\ndef get_config(:", " (PATH, line 2) cannot be loaded: SyntaxError: "),
        (
            "import no_such_package",
            " (line 1) cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'",
        ),
        ("x = 1", " cannot be loaded: AttributeError: "),
        (
            'FORMS = ("smoke")',
            " cannot be loaded: TypeError: FORMS is a tuple of names, "
            """as ("smoke",), got 'smoke'""",
        ),
        ("import sys\nsys.exit(3)", " (line 2) cannot be loaded: SystemExit: 3"),
        (
            "class Own(KeyboardInterrupt): pass\nraise Own('enough')",
            " (line 2) cannot be loaded: Own: enough",
        ),
        ("raise BaseException", " (line 1) cannot be loaded: BaseException"),
        ("raise GeneratorExit", " (line 1) cannot be loaded: GeneratorExit"),
        (in_config("raise SystemExit"), " (line 7) cannot be loaded: SystemExit"),
        (
            in_config("return {**c.to_dict(), 5: 1}"),
            " cannot be loaded: TypeError: the keys of a config are texts, got 5",
        ),
        (
            in_config("c.task.data = {5: 1}"),
            " cannot be loaded: TypeError: the keys of a config are texts, got 5",
        ),
        (
            in_config("x = []\n    for _ in range(20_000): x = [x]\n    c.task.x = x"),
            " cannot be loaded: ValueError: a value has more than 50 levels of lists or dicts",
        ),
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
