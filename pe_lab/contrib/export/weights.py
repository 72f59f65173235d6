"""Trained weights as safetensors files, for programs without JAX."""

from pathlib import Path

import jax
import numpy as np

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import files
from pe_lab.training import trained_runs


def write(folder: Path, out: Path) -> int:
    """Write RUN_ID.safetensors and RUN_ID.json, its config, of each finished run of a study.

    A weight has its path in the model as its name: "decoder.blocks.0.attention.query.kernel".

    Returns:
      The number of runs.

    Raises:
      UserError: safetensors is not installed, or a checkpoint is gone.
    """
    try:
        from safetensors.numpy import save
    except ImportError as e:
        raise UserError(
            "The export of weights needs safetensors, which is not installed: "
            "pip install 'pe_lab[writers]'."
        ) from e
    number = 0
    for run_id, record in records.read_all(folder).items():
        if record["status"] != "finished":
            continue
        params = trained_runs.load(folder, run_id).params
        leaves, _ = jax.tree.flatten_with_path(params)
        arrays = {}
        for path, leaf in leaves:
            arrays[jax.tree_util.keystr(path, simple=True, separator=".")] = np.asarray(leaf)
        files.write_bytes(out / f"{run_id}.safetensors", save(arrays))
        records.write_json(out / f"{run_id}.json", record["config"])
        number += 1
    return number
