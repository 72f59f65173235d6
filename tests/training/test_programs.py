"""What a run group compiles, counted from JAX's own log."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.runs.records import records
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
    """Trains a run group in a process of its own: the programs that were compiled, and those read
    from the cache.
    """
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
def test_a_group_compiles_six_programs_and_none_where_the_cache_has_them(train):
    """Chance levels, training, first state, held-out inputs, and evaluation at all lengths with its
    examples.
    """
    programs = [
        "jit__inputs_of",
        "jit__targets",
        "jit_draw_batch",
        "jit_initial_state",
        "jit_measure_batch",
        "jit_train_chunk",
    ]
    assert train("cold") == [programs, []]
    assert train("warm") == [[], programs]


@pytest.fixture
def train_alone(tmp_path):
    """Trains a group of one run in a process of its own, without a variable for the cache."""
    unset = ("JAX_NUMPY_RANK_PROMOTION", "JAX_COMPILATION_CACHE_DIR")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(folder, **changes):
        trained = tiny.run("t5_bias", **changes)
        file = tmp_path / f"{folder}.json"
        records.write_json(file, {"runs": [trained.to_dict()]})
        command = [sys.executable, "-c", LOGGED, str(file), str(tmp_path / folder)]
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=True
        )
        record = records.read_run(tmp_path / folder, trained.run_id)
        programs = [sorted(re.findall(pattern, done.stderr)) for pattern in (MISS, HIT)]
        return programs, record["rows"], record["curve"]

    return run


@pytest.mark.full
def test_two_groups_of_one_shape_compile_once_and_the_cache_changes_no_bit(tmp_path, train_alone):
    (missed, hit), *_ = train_alone("first")
    assert missed
    assert hit == []
    assert list((tmp_path / "cache" / "pe_lab" / "jax").glob("*/*"))
    other = dict(seed=1, train__learning_rate=0.02)
    (missed_again, hit_again), *cached = train_alone("second", **other)
    assert (missed_again, hit_again) == ([], missed)
    programs, *compiled = train_alone("third", **other, execution__compilation_cache=False)
    assert programs == [[], []]
    assert json.dumps(cached) == json.dumps(compiled)
