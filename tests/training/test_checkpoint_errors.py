"""Errors of the machine leave a checkpoint in place. Damage of its content sets it aside."""

import builtins
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from orbax.checkpoint import v1 as orbax

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import files
from pe_lab.training import checkpoint, process
from tests import tiny

STATE = {"params": {"table": jnp.arange(600.0).reshape(2, 300)}, "step": jnp.asarray([3, 3])}
NOTES = {"curve": []}
# Orbax's coroutines that an error leaves behind.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine .* was never awaited:RuntimeWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def saved(folder, *steps):
    for step in steps:
        checkpoint.save(folder, step, STATE, NOTES)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_left_in_place(folder, reason=""):
    """Restoring stops with one sentence, and no step is renamed."""
    before = names(folder)
    with pytest.raises(UserError) as e:
        checkpoint.restore(folder, STATE, set_aside=pytest.fail)
    sentence = str(e.value)
    assert sentence.startswith(f"The checkpoint {folder / before[-1]} cannot be read on this")
    assert "It stays in place, and training continues from it" in sentence
    assert "\n" not in sentence
    assert reason in sentence
    assert names(folder) == before


@pytest.mark.parametrize(
    "number", [errno.EMFILE, errno.ENFILE, errno.EIO, errno.ESTALE, errno.EACCES, errno.ENOMEM]
)
def test_an_error_of_reading_leaves_the_checkpoint_in_place(tmp_path, monkeypatch, number):
    saved(tmp_path, 2, 3)

    def fails(*args):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(builtins, "open", fails)
        assert_left_in_place(tmp_path, os.strerror(number))
    assert checkpoint.restore(tmp_path, STATE)[1] == NOTES


def test_a_folder_that_the_machine_cannot_read_is_not_empty(tmp_path, monkeypatch):
    """Training must not start again from step 0."""
    saved(tmp_path, 2, 3)

    def fails(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "listdir", fails)
    with pytest.raises(UserError, match=r"cannot be read on this machine \(.*Permission denied"):
        checkpoint.restore(tmp_path, STATE)


OUT_OF_MEMORY = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes."


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'encodings.raw_unicode_escape'"),
        MemoryError(),
        jax.errors.JaxRuntimeError(OUT_OF_MEMORY),
        OSError(errno.EIO, os.strerror(errno.EIO)),
        KeyError("digest"),  # how orbax reports an error of reading
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("function", ["load", "metadata"])
def test_an_error_of_orbax_on_intact_files_leaves_the_checkpoint_in_place(
    tmp_path, monkeypatch, error, function
):
    saved(tmp_path, 2, 3)

    def fails(*args):
        raise error

    monkeypatch.setattr(orbax, function, fails)
    assert_left_in_place(tmp_path, str(error)[:30])


# Restores with few more files than are open, and prints each sentence.
FEW_FILES = """
import os, resource, sys
from pathlib import Path
from pe_lab.runs.errors import UserError
from pe_lab.training import checkpoint
from tests.training.test_checkpoint_errors import STATE

folder = Path(sys.argv[1])
checkpoint.restore(folder, STATE)  # imports, and opens what stays open
limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
for spare in range(12):
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + spare, most))
    try:
        checkpoint.restore(folder, STATE, print)
    except UserError as e:
        print(e)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
"""


@pytest.mark.slow
def test_too_many_open_files_leave_the_checkpoint_in_place(tmp_path):
    """Orbax reports some of these errors as metadata that is not there."""
    saved(tmp_path, 2, 3)
    command = [sys.executable, "-c", FEW_FILES, str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    sentences = done.stdout.splitlines()
    assert any("Too many open files" in sentence for sentence in sentences)
    assert any("its metadata is unreadable" in sentence for sentence in sentences)
    assert all(" cannot be read on this machine (" in sentence for sentence in sentences)
    assert names(tmp_path) == ["2", "3"]
    assert checkpoint.restore(tmp_path, STATE)[1] == NOTES


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file that gives EIO")
def test_a_file_that_the_disk_cannot_read_leaves_the_checkpoint_in_place(tmp_path):
    saved(tmp_path, 2, 3)
    file = max((tmp_path / "3").rglob("*"), key=lambda path: path.is_file() and path.stat().st_size)
    file.unlink()
    file.symlink_to("/proc/self/mem")
    assert_left_in_place(tmp_path, os.strerror(errno.EIO))


@pytest.mark.parametrize("how", ["cut", "changed", "gone", "a folder", "a pipe"])
def test_damage_of_any_file_sets_the_checkpoint_aside(tmp_path, how):
    saved(tmp_path, 3)
    originals = {f: f.read_bytes() for f in (tmp_path / "3").rglob("*") if f.is_file()}
    originals = {f: content for f, content in originals.items() if content}
    sentences = []
    for file, content in originals.items():
        if file.name == checkpoint.FILES and how == "gone":
            continue  # as in an older checkpoint
        file.unlink()
        if how == "cut":
            file.write_bytes(content[: len(content) // 2])
        elif how == "changed":
            file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        elif how == "a folder":
            file.mkdir()
        elif how == "a pipe":
            os.mkfifo(file)
        assert checkpoint.restore(tmp_path, STATE, sentences.append) is None
        (tmp_path / "3.damaged-1").rename(tmp_path / "3")
        if file.is_dir():
            file.rmdir()
        else:
            file.unlink(missing_ok=True)
        file.write_bytes(content)
    assert all(" is damaged (" in sentence for sentence in sentences)
    assert len(sentences) >= 6
    assert checkpoint.restore(tmp_path, STATE)[1] == NOTES


def test_a_checkpoint_from_before_the_digests_of_files_is_read(tmp_path):
    saved(tmp_path, 3)
    (tmp_path / "3" / checkpoint.FILES).unlink()
    assert checkpoint.restore(tmp_path, STATE)[1] == NOTES
    checkpoint.check(tmp_path / "3")


@pytest.mark.slow
@pytest.mark.parametrize("has_digests", [True, False])
def test_a_checkpoint_with_a_flipped_byte_is_never_restored_wrong(tmp_path, has_digests):
    """Each file, at several places: restored right, set aside or refused."""
    saved(tmp_path, 3)
    if not has_digests:
        (tmp_path / "3" / checkpoint.FILES).unlink()
    sound = tmp_path / "3"
    outcomes = set()
    for file in sorted(path for path in sound.rglob("*") if path.is_file()):
        for place in range(0, file.stat().st_size, max(1, file.stat().st_size // 5)):
            root = tmp_path / "flipped"
            shutil.copytree(sound, root / "3")
            content = bytearray(file.read_bytes())
            content[place] ^= 1
            (root / "3" / file.relative_to(sound)).write_bytes(content)
            outcomes.add(_outcome(root))
            shutil.rmtree(root)
    assert outcomes >= {"set aside"}
    assert has_digests <= ("right" not in outcomes)


def _outcome(folder):
    try:
        restored = checkpoint.restore(folder, STATE, set_aside=lambda sentence: None)
    except UserError:
        return "refused"
    if restored is None:
        return "set aside"
    jax.tree.map(np.testing.assert_array_equal, restored[0], STATE)
    assert restored[1] == NOTES
    return "right"


def test_an_older_checkpoint_is_set_aside_only_if_its_damage_is_certain(tmp_path, monkeypatch):
    saved(tmp_path, 3)
    (tmp_path / "3" / checkpoint.FILES).unlink()
    file = tmp_path / "3" / "state" / "_METADATA"
    intact = file.read_bytes()
    file.write_bytes(b"")
    assert_left_in_place(tmp_path, "If it is damaged, remove it.")
    file.write_bytes(intact)
    load = orbax.load
    monkeypatch.setattr(
        orbax, "load", lambda *args: {name: leaf + 1 for name, leaf in load(*args).items()}
    )
    assert checkpoint.restore(tmp_path, STATE, lambda sentence: None) is None
    assert names(tmp_path) == ["3.damaged-1"]


def test_one_checkpoint_is_checked_without_its_structure(tmp_path):
    saved(tmp_path, 3)
    checkpoint.check(tmp_path / "3")
    file = tmp_path / "3" / "state" / "manifest.ocdbt"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(
        checkpoint.DamagedCheckpoint, match=r"^its file state/manifest\.ocdbt has changed$"
    ):
        checkpoint.check(tmp_path / "3")


@pytest.mark.slow
def test_an_error_of_the_machine_stops_a_run_group_which_continues_later(tmp_path, monkeypatch):
    group = tiny.group("rope", seeds=1, checkpoints__interval=0.0)
    file = tmp_path / "group.json"
    records.write_json(file, {"runs": [run.to_dict() for run in group.runs]})
    events = []

    def leave_after_4():
        return any(event.get("step") == 4 for event in events)

    assert process.main(file, tmp_path, leave_after_4, events.append) == process.locks.LATER
    folder = tmp_path / "checkpoints" / group.group_id
    assert names(folder) == ["4"]

    def fails(path):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(files, "sha256", fails)
        assert process.main(file, tmp_path, report=events.append) == 1
    (record,) = records.read_all(tmp_path).values()
    assert record["status"] == "failed"
    assert record["error"].startswith(f"The checkpoint {folder / '4'} cannot be read on this")
    assert names(folder) == ["4"]
    assert process.main(file, tmp_path, report=events.append) == 0
    assert {"event": "resumed", "step": 4} in events
    (record,) = records.read_all(tmp_path).values()
    assert record["status"] == "finished"
