import functools
import shutil

import pytest

from pe_lab import cli
from pe_lab.runs import grid
from pe_lab.sweeps import study
from tests import tiny
from tests.contrib.evaluation.requests import FAST, ROPE


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A study of RoPE with two seeds."""
    folder = tmp_path_factory.mktemp("work") / "results" / "fake"
    points = grid.product({"model.encodings": [(ROPE,)]}, {"seed": range(2)})
    study.expand("fake", tiny.values(**FAST), points, folder).write(folder)
    tiny.train(folder, tiny.group(ROPE, **FAST))
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "results" / "fake")


@pytest.fixture
def call(call_main):
    """Arguments to (exit status, stdout, stderr)."""
    return functools.partial(call_main, functools.partial(cli.main, "evaluate"))
