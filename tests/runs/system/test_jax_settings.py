"""Settings of JAX that no config has change no numbers: they are set, checked and recorded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from pe_lab import cli
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.system import jax_settings, texts
from pe_lab.training import process, trained_runs
from pe_lab.training.build import build_setup
from tests import tiny
from tests.training.group_records import by_seed

OTHER = {
    "jax_default_prng_impl": "rbg",
    "jax_threefry_partitionable": False,
    "jax_random_seed_offset": 7,
    "jax_high_dynamic_range_gumbel": True,
    "jax_enable_x64": True,
    "jax_numpy_dtype_promotion": "strict",
    "jax_disable_jit": True,
    "jax_debug_nans": True,
    "jax_debug_infs": True,
    "jax_allow_f16_reductions": False,
}
EACH = pytest.mark.parametrize("name", OTHER)
PLUGIN = """
import jax
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements
class Mine(AttentionEncoding):
    requirements = Requirements()
    def __init__(self):
        pass
"""


@pytest.fixture(autouse=True)
def restored():
    """JAX's settings and the environment as they were."""
    before, environment = jax_settings.current(), dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(environment)
    for name, value in before.items():
        jax.config.update(name, value)


def sentence(who, name):
    standard = jax_settings.STANDARD[name]
    return (
        f"{who} sets {name} to {OTHER[name]!r}. pe_lab computes with {standard!r}, because equal "
        f"configs must give equal numbers: remove the setting."
    )


def plugin(folder, monkeypatch, line):
    """The spec of an encoding whose module has one more line."""
    name = f"settings_{folder.name}"
    (folder / f"{name}.py").write_text(PLUGIN + line)
    monkeypatch.syspath_prepend(folder)
    return f"{name}:Mine"


@pytest.mark.slow
def test_the_standard_settings_are_those_of_jax():
    program = (
        "import jax, json; from pe_lab.runs.system import jax_settings\n"
        "print(json.dumps(jax_settings.current()))"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    done = subprocess.run([sys.executable, "-c", program], env=clean, capture_output=True)
    assert json.loads(done.stdout) == dict(jax_settings.STANDARD)
    assert OTHER.keys() == jax_settings.STANDARD.keys()


@pytest.mark.parametrize("flags", ["--a\n--b", "--a=\udcff"])
def test_a_variable_is_recorded_as_a_reader_will_have_it(flags, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", flags)
    text = jax_settings.recorded()["XLA_FLAGS"]
    assert text == flags.encode("unicode_escape").decode()
    assert texts.printable(text) == text


@EACH
def test_a_command_and_its_workers_have_the_standard_settings(name, capsys):
    jax.config.update(name, OTHER[name])
    os.environ[name.upper()] = str(OTHER[name])
    cli.run(["list", "metrics"])
    assert jax_settings.current() == dict(jax_settings.STANDARD)
    assert os.environ[name.upper()] == str(jax_settings.STANDARD[name])


@EACH
def test_a_plugin_that_changes_a_setting_is_refused_and_changes_nothing(
    name, tmp_path, monkeypatch
):
    spec = plugin(tmp_path, monkeypatch, f"jax.config.update({name!r}, {OTHER[name]!r})")
    with pytest.raises(UserError) as raised:
        plugins.find("encodings", spec)
    assert str(raised.value) == sentence(repr(spec), name)
    assert jax_settings.current() == dict(jax_settings.STANDARD)


@EACH
def test_a_program_with_other_settings_builds_no_setup(name):
    jax.config.update(name, OTHER[name])
    with pytest.raises((UserError, TypeError)) as raised:  # strict promotion fails earlier
        build_setup(tiny.run("nope"))
    if name != "jax_numpy_dtype_promotion":
        assert str(raised.value) == sentence("This process", name)


def test_a_program_keeps_its_own_settings():
    jax.config.update("jax_enable_x64", True)
    plugins.find("encodings", "rope")
    assert jax.config.jax_enable_x64


@pytest.mark.slow
def test_a_plugin_that_changes_a_setting_fails_its_run_alone(tmp_path, monkeypatch):
    code = "        jax.config.update('jax_enable_x64', True)\n"
    spec = plugin(tmp_path, monkeypatch, "").partition(":")[0]
    (tmp_path / f"{spec}.py").write_text(PLUGIN + code)  # it is built, and not only imported
    group = tiny.group({"name": f"{spec}:Mine"}, seeds=1)
    assert process.main(run_group_files.write(group, tmp_path), tmp_path) == 1
    record = by_seed(tmp_path)[0]
    assert record["error"] == sentence("This process", "jax_enable_x64")
    group = tiny.group("nope", seeds=1)
    assert process.main(run_group_files.write(group, tmp_path), tmp_path) == 0
    record = records.read_run(tmp_path, group.run.run_id)
    settings = record["provenance"]["jax_settings"]
    assert settings.items() >= dict(jax_settings.STANDARD).items()
    assert settings["XLA_FLAGS"] == os.environ["XLA_FLAGS"]


def test_the_parameters_of_a_run_with_other_settings_are_refused():
    record = {"run_id": "r0", "status": "finished", "checkpoint": {}, "provenance": {}}
    assert trained_runs.checkpoint_of(Path(), record) == {}  # of an older pe_lab
    record["provenance"] = {"jax_settings": {"jax_enable_x64": True}}
    with pytest.raises(UserError) as raised:
        trained_runs.checkpoint_of(Path(), record)
    assert str(raised.value) == (
        "The run r0 was trained with jax_enable_x64=True, and this process has False: train it "
        "again."
    )


@pytest.mark.slow
def test_a_config_that_changes_a_setting_is_refused(tmp_path):
    file = tmp_path / "mine.py"
    line = "import jax; jax.config.update('jax_enable_x64', True)\n"
    file.write_text(f"{line}from configs.smoke import *\n")
    with pytest.raises(UserError) as raised:
        cli.run(["examples", str(file)])
    assert str(raised.value) == sentence(f"The config {file}", "jax_enable_x64")
    assert not jax.config.jax_enable_x64


@pytest.mark.slow
def test_before_jax_is_imported_the_environment_decides():
    """A program that sets a variable and imports an encoding first keeps its setting."""
    program = (
        "from pe_lab.runs.plugins import plugins\n"
        "plugins.resolve('encodings', {'name': 'rope'})\n"
        "import jax\n"
        "print(jax.config.jax_enable_x64)"
    )
    environment = {**os.environ, "JAX_ENABLE_X64": "1"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
