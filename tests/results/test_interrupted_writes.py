"""A write that is interrupted, as by a full disk, leaves the files of results as they were."""

import os

import pytest

from pe_lab.results import frame, plots, tables
from tests.results import synthetic


def write_tables(folder):
    tables.write(frame.read(folder), folder)


def write_plots(folder):
    plots.write(frame.read(folder), folder)


def small_study(tmp_path):
    return synthetic.write(
        tmp_path, encodings=("rope", "alibi"), tasks=(), schemes=(), rates=(), offsets=(0,)
    )


def check_interrupted(folder, monkeypatch, write, where):
    """An interrupted write of files below `folder` leaves those of an earlier one."""
    inputs = {path.name for path in folder.iterdir()}
    write(folder)
    written = [path for path in folder.iterdir() if path.name not in inputs]
    for path in written:
        path.write_text("the file of an earlier study")

    def fails(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, where, fails)
    with pytest.raises(OSError, match="no space left"):
        write(folder)
    assert {path.name for path in folder.iterdir()} == inputs | {path.name for path in written}
    assert written
    assert {path.read_text() for path in written} == {"the file of an earlier study"}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["fsync", "replace"])
@pytest.mark.parametrize("write", [write_tables, write_plots])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, write, where):
    folder = small_study(tmp_path)
    check_interrupted(folder, monkeypatch, write, where)
