"""A command reads a config and its flags, and ends with the status of its main."""

import gc
import signal
import time

import pytest

from pe_lab.runs.errors import UserError
from tests.experiments.command_line.configs import STUDY
from tests.experiments.entry_points import ROOT


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


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_a_config_is_loaded_stops_the_command(call, config_file, name):
    text = f"import os, signal, time\nos.kill(os.getpid(), signal.{name})\ntime.sleep(9)"
    # A shell starts a job in the background with SIGINT ignored, and a command keeps that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status, _, err, _ = call(f"--config={config_file(text=text)}")
    assert (status, err[:9]) == (130, "stopped; ")


def in_a_collection():
    def collected(phase, info):
        gc.callbacks.remove(collected)
        signal.raise_signal(signal.SIGTERM)

    gc.callbacks.append(collected)
    gc.collect()
    time.sleep(20)


def in_a_destructor():
    class Watched:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    Watched()
    time.sleep(20)


def in_a_library(error=None):
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        if error is not None:
            raise error from None


@pytest.mark.parametrize(
    "signaled",
    [
        in_a_collection,
        in_a_destructor,
        in_a_library,
        lambda: in_a_library(RuntimeError("INTERNAL: callback failed")),
        lambda: in_a_library(SystemExit(3)),
    ],
)
def test_a_signal_whose_exception_is_dropped_stops_the_command_all_the_same(
    call, config_file, signaled
):
    def main(file):
        signaled()
        return 0

    signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.monotonic()
    status, out, err, _ = call(f"--config={config_file()}", main=main)
    assert (status, out, err[:9], err.count("\n")) == (130, "", "stopped; ", 1)
    assert time.monotonic() - started < 10


def test_the_signals_of_a_command_say_nothing_of_the_next_one(call, config_file):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    path = config_file()
    assert call(f"--config={path}", main=lambda file: in_a_library() or 0)[0] == 130
    assert call(f"--config={path}")[0] == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


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
