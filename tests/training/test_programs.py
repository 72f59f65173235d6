"""What a run group compiles, counted from JAX's own log."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.runs import records
from tests import tiny

ROOT = Path(__file__).parents[2]
LOGGED = """
import logging, sys
from pathlib import Path
logging.basicConfig(stream=sys.stderr)
logging.getLogger("jax._src.compiler").setLevel(logging.DEBUG)
from pe_lab.training import process
sys.exit(process.main(Path(sys.argv[1]), Path(sys.argv[2])))
"""
MISS, HIT = (
    r"PERSISTENT COMPILATION CACHE MISS for '(\w+)'",
    r"[Pp]ersistent compilation cache hit for '(\w+)'",
)


@pytest.fixture(params=["uniform", "doubling"])
def train(tmp_path, request):
    """Trains a run group in a process of its own: the programs that were compiled, and those read from the cache."""
    schedule = dict(name="doubling", initial=1, every=4)
    group = tiny.group(
        "rope",
        "t5_bias",
        checkpoints__interval=0.0,
        evaluate__lengths=(2, 3, 5),
        train__lengths=schedule if request.param == "doubling" else dict(name="uniform"),
    )  # saved after every chunk
    records.write_json(tmp_path / "group.json", {"runs": [r.to_dict() for r in group.runs]})
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    plain = {k: v for k, v in os.environ.items() if k != "JAX_NUMPY_RANK_PROMOTION"}
    env = {
        **plain,
        **cache,
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "PYTHONPATH": str(ROOT),
    }

    def run(folder):
        command = [
            sys.executable,
            "-c",
            LOGGED,
            str(tmp_path / "group.json"),
            str(tmp_path / folder),
        ]
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=True
        )
        return [sorted(re.findall(pattern, done.stderr)) for pattern in (MISS, HIT)]

    return run


@pytest.mark.full
def test_a_group_compiles_five_programs_and_none_where_the_cache_has_them(train):
    """Chance levels, training, first state, the rule of held-out inputs, evaluation at all lengths."""
    programs = [
        "jit__inputs_of",
        "jit__targets",
        "jit_initial_state",
        "jit_measure_batch",
        "jit_train_chunk",
    ]
    assert train("cold") == [programs, []]
    assert train("warm") == [[], programs]
