"""Finished runs: two of RoPE with a base of 500 in one run group, one of a learned table of 13."""

import shutil

import pytest

from tests import tiny
from tests.contrib.evaluation.requests import FAST, LEARNED, ROPE


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "fake"
    tiny.train(folder, tiny.group(ROPE, **FAST))
    tiny.train(folder, tiny.group(LEARNED, seeds=1, **FAST))
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    """A copy of what was trained, to be added to."""
    return shutil.copytree(trained, tmp_path / "fake")
