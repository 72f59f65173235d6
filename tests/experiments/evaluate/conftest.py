import shutil
import sys

import pytest

from pe_lab import cli
from pe_lab.runs import grid
from pe_lab.sweeps import study
from tests import tiny

ROPE = dict(name="rope", base=500.0)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A study of RoPE with two seeds."""
    folder = tmp_path_factory.mktemp("work") / "results" / "fake"
    changes = dict(
        model__num_layers=1,
        train__learning_rate=1e-2,
        train__steps=40,
        evaluate__curve_every=40,
        execution__chunk_steps=40,
    )
    points = grid.product({"model.encodings": [(ROPE,)]}, {"seed": range(2)})
    study.expand("fake", tiny.values(**changes), points, folder).write(folder)
    tiny.train(folder, tiny.group(ROPE, **changes))
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "results" / "fake")


@pytest.fixture
def call(monkeypatch, capsys):
    """Arguments to (exit status, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["pe-lab", "evaluate", *arguments])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        return exited.value.code, *capsys.readouterr()

    return run
