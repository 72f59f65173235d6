"""The package: version, license, citation, installation."""

import ast
import datetime
import hashlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import pe_lab

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
# sha256 of the text at apache.org
APACHE = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def test_the_version_is_written_once_and_pip_reads_it_from_there():
    assert re.fullmatch(r"\d+\.\d+\.\d+", pe_lab.__version__)
    assert "version" not in PROJECT
    assert "version" in PROJECT["dynamic"]
    assert PYPROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "pe_lab.__version__"}


def test_the_version_is_a_literal_so_that_a_build_does_not_import_jax():
    (value,) = [
        node.value
        for node in ast.parse((ROOT / "pe_lab" / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
    ]
    assert ast.literal_eval(value) == pe_lab.__version__


def test_version_citation_and_the_latest_release_of_the_changelog_agree():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    releases = re.findall(r"^## \[([\d.]+)\] - (\S+)$", changelog, re.MULTILINE)
    assert releases[0] == (pe_lab.__version__, str(citation["date-released"]))


def test_the_version_equals_that_of_the_installed_package():
    try:
        installed = importlib.metadata.version("pe_lab")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("pe_lab is run from its checkout and is not installed")
    assert installed == pe_lab.__version__


def test_the_version_can_be_read_without_jax():
    program = "import sys; sys.modules['jax'] = None; import pe_lab; print(pe_lab.__version__)"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.stdout == f"{pe_lab.__version__}\n", result.stderr


def test_the_license_is_the_text_of_apache_2_with_our_name():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "\n   Copyright 2026 The pe_lab authors\n" in text
    template = text.replace("2026 The pe_lab authors", "[yyyy] [name of copyright owner]")
    assert hashlib.sha256(template.encode()).hexdigest() == APACHE
    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE"])


def test_the_citation_file_has_the_required_keys_and_agrees_with_the_readme_and_the_license():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["type"] == "software"
    assert citation["authors"] == [{"name": "The pe_lab authors"}]
    assert citation["license"] == PROJECT["license"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert citation["title"].startswith(f"{PROJECT['name']}: ")
    assert citation["abstract"].strip() in " ".join(readme.split())
    assert "[CITATION.cff](CITATION.cff)" in readme
    assert f"[{citation['license']}](LICENSE)" in readme
    assert citation["version"] == pe_lab.__version__
    assert isinstance(citation["date-released"], datetime.date)
    # An address that nobody has published would be wrong.
    assert not {"repository-code", "url", "doi"} & set(citation)
    (entry,) = re.findall(r"```bibtex\n(.*?)\n```", readme, re.DOTALL)
    fields = dict(re.findall(r"(\w+) += \{+(.*?)\}+,", entry))
    assert fields == {
        "author": citation["authors"][0]["name"],
        "title": citation["title"],
        "year": str(citation["date-released"].year),
        "version": citation["version"],
    }


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "pe_lab" / "py.typed").exists()
    assert "py.typed" in PYPROJECT["tool"]["setuptools"]["package-data"]["pe_lab"]


def test_what_pip_install_leaves_in_the_checkout_is_ignored():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split("\n")
    assert {"build/", "*.egg-info/"} <= set(ignored)


def names(requirements):
    """The names of the packages of some requirements, as in a lock."""
    return {re.match(r"[\w.-]+", text).group().lower().replace("_", "-") for text in requirements}


def locked(lock):
    """The names of the packages of a lock, each with its version."""
    return dict(
        re.findall(r"^([\w.-]+)==([^ ;]+)", (ROOT / lock).read_text(encoding="utf-8"), re.M)
    )


def test_studies_need_no_development_tools():
    """The first command of the README installs requirements.lock."""
    groups = PYPROJECT["dependency-groups"]
    studies = locked("requirements.lock")
    needed = names([*PROJECT["dependencies"], *EXTRAS["text"], *EXTRAS["report"], *groups["build"]])
    assert needed <= set(studies)
    assert names(groups["dev"]) & set(studies) == set()
    assert len(studies) < 80


def test_the_lock_of_development_adds_to_the_lock_of_studies():
    studies, dev = locked("requirements.lock"), locked("requirements-dev.lock")
    assert studies.items() <= dev.items()
    assert names([*PYPROJECT["dependency-groups"]["dev"], *EXTRAS["slurm"]]) <= set(dev)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_has_a_hash_for_each_package_and_no_host(lock):
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text


def test_submitit_is_capped_because_the_launcher_calls_its_private_functions():
    assert EXTRAS["slurm"] == ["submitit>=1.5.4,<1.6"]


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make(tmp_path, *words):
    command = ["make", f"VENV={tmp_path / 'venv'}", *words]
    # These variables tell a make that another one called it. It then signs its messages "make[1]".
    outer = {"MAKELEVEL", "MAKEFLAGS", "MFLAGS"}
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_make_refuses_an_old_python_in_one_sentence(tmp_path):
    old = tmp_path / "python3.10"
    program = "import sys; sys.version_info = (3, 10, 12); exec(sys.argv[2])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}" "$@"\n', encoding="utf-8")
    old.chmod(0o755)
    result = make(tmp_path, f"PYTHON={old}", "lint")
    first, second = result.stderr.splitlines()
    assert first == "pe_lab needs Python 3.11 or newer. Name one: make PYTHON=python3.11"
    assert second.startswith("make: *** ")
    assert (result.returncode, result.stdout) == (2, "")
    assert not (tmp_path / "venv").exists()


def installed_by(tmp_path, *words):
    """What pip installs, in order."""
    lines = make(tmp_path, "--dry-run", *words).stdout.splitlines()
    installs = [line.partition(" pip install ")[2] for line in lines if " pip install " in line]
    return [" ".join(w for w in text.split() if w not in QUIET) for text in installs]


QUIET = ("--quiet", "--disable-pip-version-check")
LOCK = "--require-hashes -r requirements.lock"
CHECKOUT = "--no-build-isolation --no-deps --editable ."


def test_make_install_installs_the_lock_and_then_the_checkout_with_an_extra(tmp_path):
    installs = installed_by(tmp_path, "install", "EXTRA=cuda13")
    assert installs == [LOCK, CHECKOUT, "--editable '.[cuda13]'"]


def test_make_quickstart_installs_no_development_tools_and_make_test_does(tmp_path):
    assert installed_by(tmp_path, "quickstart") == [LOCK, CHECKOUT]
    assert installed_by(tmp_path, "test")[2:] == ["--require-hashes -r requirements-dev.lock"]


def texts():
    """Files in which a reader or a program may meet an instruction to install something."""
    folders = ("configs", "docs", "experiments", "pe_lab", "results/published", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    files += [*ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "pyproject.toml"]
    suffixes = (".py", ".md", ".jinja", ".ipynb", ".toml", "")
    return [
        path
        for path in files
        if path.is_file() and path.suffix in suffixes and path != Path(__file__)
    ]


def instructions(path):
    """What follows `pip install` to the end of its line."""
    return re.findall(r"pip install +([^\n]*)", path.read_text(encoding="utf-8"))


def test_no_text_names_an_installation_of_pe_lab_from_a_registry():
    commands = [(path, command) for path in texts() for command in instructions(path)]
    assert len(commands) > 10
    # With an extra, pip adds the packages of the extra to a pe_lab that is installed.
    from_registry = re.compile(r"(-\S+ )*['\"]?pe[_-]lab(?!\\?\[[\w{}]+\\?\])")
    assert [each for each in commands if from_registry.match(each[1])] == []


def test_every_extra_that_a_text_names_exists():
    commands = [command for path in texts() for command in instructions(path)]
    lists = re.findall(r"(?:\.|pe_lab)\\?\[([\w,]+)\\?\]", "\n".join(commands))
    named = {name for each in lists for name in each.split(",")}
    assert {"writers", "report", "slurm", "text"} <= named <= set(EXTRAS)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist and the wheel of the tracked files."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in git("ls-files").split("\n"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(ROOT / name)
    program = (
        "from setuptools import build_meta as b; print(b.build_sdist('dist'), "
        "b.build_wheel('dist'))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    sdist, wheel = done.stdout.split()[-2:]
    return folder / "dist" / sdist, folder / "dist" / wheel


@pytest.mark.slow
def test_a_sdist_has_every_tracked_file_and_a_wheel_has_the_package(built):
    sdist, wheel = built
    tracked = set(git("ls-files").split("\n"))
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    assert sdist.name == f"pe_lab-{pe_lab.__version__}.tar.gz"
    assert tracked <= in_sdist
    assert sdist.stat().st_size < 30_000_000  # most of it are records of published studies
    of_package = {name for name in tracked if name.startswith("pe_lab/")}
    assert of_package == {name for name in in_wheel if ".dist-info/" not in name}


@pytest.mark.slow
def test_an_installed_wheel_has_commands_that_run_in_an_empty_folder(built, tmp_path):
    target, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, f"--target={target}", built[1]], check=True, capture_output=True)

    def output(*command):
        environment = {**os.environ, "PYTHONPATH": str(target)}
        done = subprocess.run(
            command, cwd=empty, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    pe_lab_command = target / "bin" / "pe-lab"
    version, devices = output(pe_lab_command, "--version").splitlines()
    assert version.startswith(f"pe_lab {pe_lab.__version__} (Python ")
    assert devices.startswith("devices: ")
    assert "\nrope " in output(pe_lab_command, "list", "encodings")
    assert f"pe_lab {pe_lab.__version__} in {target}/pe_lab\n" in output(pe_lab_command, "doctor")
    program = "from pe_lab.encodings import RoPE; import pe_lab; print(RoPE, pe_lab.__path__)"
    assert f"['{target}/pe_lab']" in output(sys.executable, "-c", program)
    assert list(empty.iterdir()) == []
