"""pe_lab from its wheel in an empty environment, in a folder that is no checkout."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pe_lab
from pe_lab.runs.records import records

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).parents[1]
MINE = """
from pe_lab.runs import grid
from pe_lab.studies import base

def get_config():
    c = base.get_config()
    c.train.criterion = None
    c.task = dict(name="copy", num_symbols=8)
    c.model.update(width=16, num_layers=1, num_heads=2, feedforward_width=16)
    c.train.update(steps=2, batch_size=8, max_length=4, warmup_steps=1)
    c.evaluate.update(lengths=(4, 8), num_examples=16, batch_size=8)
    c.evaluate.update(curve_every=2, curve_lengths=(4,), curve_examples=8)
    return c

def sweep():
    return grid.product({"model.encodings": [({"name": "my_package.mine:Mine"},)]})
"""
ENCODING = """
from pe_lab.encodings import ALiBi

class Mine(ALiBi):
    pass
"""


def constraints():
    """The versions of the lock, without hashes."""
    text = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^[\w.-]+==[^\\\n]+", text, re.MULTILINE))


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The scripts of an environment that has the wheel, what it needs, and the extra `laws`."""
    folder = tmp_path_factory.mktemp("installation")
    python = folder / "venv" / "bin" / "python"
    (folder / "constraints.txt").write_text(constraints(), encoding="utf-8")
    program = f"from setuptools import build_meta as b; print(b.build_wheel({str(folder)!r}))"
    built = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wheel = folder / built.stdout.split()[-1]
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [python, *install, "-c", folder / "constraints.txt", f"{wheel}[laws]"], check=True
    )
    return python.parent


@pytest.fixture(scope="module")
def call(scripts, tmp_path_factory):
    """Runs a script of the environment in a folder with a config and a package of a user."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    (folder / "my_package").mkdir()
    (folder / "my_package" / "mine.py").write_text(ENCODING, encoding="utf-8")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "PYTHON"))
    }
    environment = {**kept, "JAX_PLATFORMS": "cpu"}

    def run(script, *arguments):
        done = subprocess.run(
            [scripts / script, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, folder

    return run


def statuses(folder):
    return {record["status"] for record in records.read_all(folder).values()}


def test_the_installation_is_not_the_checkout(call):
    printed, folder = call("python", "-c", "import pe_lab; print(pe_lab.__file__)")
    assert str(folder.parent) in str(Path(printed).parents[0])
    assert str(ROOT) not in printed
    assert call("pe-lab", "--version")[0].startswith(f"pe_lab {pe_lab.__version__} ")


def test_the_quickstart_trains(call):
    printed, folder = call("pe-lab", "sweep", "quickstart:smoke", "--seeds=1")
    assert "| rope " in printed
    assert statuses(folder / "results" / "quickstart_smoke") == {"finished"}


def test_a_config_file_with_the_base_config_of_pe_lab_trains(call):
    printed, folder = call("pe-lab", "sweep", "mine.py")
    assert "my_package.mine:Mine" in printed
    assert statuses(folder / "results" / "mine") == {"finished"}
    assert "1 done" in call("pe-lab", "status", "mine.py")[0]


def test_an_encoding_of_a_user_gets_its_row_in_the_suite(call):
    printed, folder = call("pe-lab", "suite", "mine=my_package.mine:Mine", "--smoke")
    assert "| mine " in printed
    assert statuses(folder / "results" / "suite_smoke" / "mine") == {"finished"}


@pytest.mark.parametrize("form", [[], ["--quick"]])
def test_the_published_rows_of_the_suite_come_with_the_installation(call, form):
    printed, _ = call("pe-lab", "suite", *form)
    assert "| kerple " in printed


@pytest.mark.parametrize(
    ("family", "name", "laws"),
    [("encodings", "my_bias", ["--quick"]), ("positions", "my_scheme", [])],
)
def test_a_new_member_in_an_empty_folder_obeys_its_laws_and_its_test(call, family, name, laws):
    printed, folder = call("pe-lab", "new", family, name)
    assert f"wrote {name}.py\nwrote test_{name}.py\n" in printed
    command = rf"^run its laws: .*pe[-_]lab laws {family} (\S+)$"
    (plugin,) = re.findall(command, printed, re.MULTILINE)
    assert re.search(r"\d laws passed", call("pe-lab", "laws", family, plugin, *laws)[0])
    assert "passed" in call("python", "-m", "pytest", f"test_{name}.py")[0]
    assert not (folder / "pe_lab").exists()
