"""Finished runs: two of RoPE with a base of 500 in one run group, one of a learned table of 13."""

import shutil

import pytest

from tests import tiny
from tests.sweeps.measure.requests import LEARNED


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "fake"
    fast = dict(
        model__num_layers=1,
        train__learning_rate=1e-2,
        train__steps=40,
        evaluate__curve_every=40,
        execution__chunk_steps=40,
    )
    tiny.train(folder, tiny.group(dict(name="rope", base=500.0), **fast))
    tiny.train(folder, tiny.group(LEARNED, seeds=1, **fast))
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    """A copy of what was trained, to be added to."""
    return shutil.copytree(trained, tmp_path / "fake")
