"""Trained weights as safetensors files."""

import json
import sys
import types

import jax
import numpy as np
import pytest

from pe_lab.contrib.export import weights
from pe_lab.runs.errors import UserError
from pe_lab.training import trained_runs
from tests import tiny

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    group = tiny.group("t5_bias", seeds=1, train__steps=1, model__num_layers=1)
    tiny.train(folder, group)
    return folder, group.run.run_id


def test_every_weight_has_its_path_as_its_name(study, tmp_path, monkeypatch):
    folder, run_id = study
    saved = []

    def save(arrays):
        saved.append(arrays)
        return b"weights"

    library = types.ModuleType("safetensors.numpy")
    library.save = save
    monkeypatch.setitem(sys.modules, "safetensors", types.ModuleType("safetensors"))
    monkeypatch.setitem(sys.modules, "safetensors.numpy", library)
    assert weights.write(folder, tmp_path) == 1
    (arrays,) = saved
    assert (tmp_path / f"{run_id}.safetensors").read_bytes() == b"weights"
    trained = trained_runs.load(folder, run_id)
    sizes = [leaf.size for leaf in jax.tree.leaves(trained.params)]
    assert sum(array.size for array in arrays.values()) == sum(sizes)
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz_.0123456789") for name in arrays)
    written = json.loads((tmp_path / f"{run_id}.json").read_text(encoding="utf-8"))
    assert written["model"]["encodings"][0]["name"] == "t5_bias"


def test_without_the_library_nothing_is_written(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(UserError, match=r"pip install 'pe_lab\[writers\]'"):
        weights.write(study[0], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.peers
def test_the_library_reads_the_weights_again(study, tmp_path):
    from safetensors.numpy import load_file

    folder, run_id = study
    weights.write(folder, tmp_path)
    arrays = load_file(tmp_path / f"{run_id}.safetensors")
    leaves = jax.tree.leaves(trained_runs.load(folder, run_id).params)
    assert len(arrays) == len(leaves)
    total = sum(float(np.sum(np.abs(leaf))) for leaf in leaves)
    assert sum(float(np.sum(np.abs(array))) for array in arrays.values()) == pytest.approx(total)
