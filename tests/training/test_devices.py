"""One process with eight devices, which a CPU can pretend to have, gives what it gives with one."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.training import checkpoint, devices, process
from pe_lab.training.build import build_setup
from pe_lab.training.state import abstract_state
from tests import tiny

SIZES = dict(model__dropout=0.1, train__steps=8, evaluate__curve_every=4, execution__members="map")


def final(folder, group):
    """Its runs' records, and the state that it ended with."""
    found = [records.read(records.path_of(folder, run.run_id)) for run in group.runs]
    state, _ = checkpoint.restore(
        folder / "checkpoints" / group.group_id,
        abstract_state(build_setup(group.run), len(group.runs)),
    )
    return found, state


def trained(folder, group, num_devices):
    """The same of a worker's process with so many devices, or of this one."""
    file = folder / "groups" / f"{group.group_id}.json"
    records.write_json(file, {"runs": [run.to_dict() for run in group.runs]})
    if num_devices == 1:
        assert process.main(file, folder) == 0
        return final(folder, group)
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count={num_devices}"
    command = [sys.executable, "-m", "pe_lab.training.process", str(file), str(folder)]
    done = subprocess.run(
        command, env=dict(os.environ, XLA_FLAGS=flags), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return final(folder, group)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("alone"), tiny.group("t5_bias", seeds=4, **SIZES), 1)


@pytest.mark.slow
def test_members_on_eight_devices_leave_the_records_of_one(alone, tmp_path):
    """Four on a device of their own each; to the last digit."""
    group = tiny.group("t5_bias", seeds=4, **SIZES)
    found, state = trained(tmp_path, group, 8)
    for here, there in zip(found, alone[0], strict=True):
        same = [key for key in here if key not in ("digest", "cost", "provenance")]  # other starts
        assert {key: here[key] for key in same} == {key: there[key] for key in same}
    jax.tree.map(np.testing.assert_array_equal, state, alone[1])


@pytest.mark.slow
def test_a_batch_on_eight_devices_trains_as_on_one_but_for_rounding(alone, tmp_path):
    """Two members at a time, the batch of each on four devices; what is dropped is the same too."""
    group = tiny.group("t5_bias", seeds=4, execution__batch_devices=4, **SIZES)
    found, state = trained(tmp_path, group, 8)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), state, alone[1]
    )
    for here, there in zip(found, alone[0], strict=True):
        for point, point_alone in zip(here["curve"], there["curve"], strict=True):
            if point["step"] == 0:  # no loss before the first step
                assert point["loss"] is point_alone["loss"] is None
            else:
                assert point["loss"] == pytest.approx(point_alone["loss"], rel=1e-4)
        for a, b in zip(here["rows"], there["rows"], strict=True):
            assert a["count"] == b["count"]
            if a["metric"] == "negative_log_likelihood":
                assert a["value"] == pytest.approx(b["value"], rel=1e-4)


def test_as_many_devices_are_used_as_divide_the_members(monkeypatch):
    monkeypatch.setattr(jax, "local_devices", lambda: jax.devices() * 8)
    shapes = {
        (n, k): tuple(devices.mesh(n, k).shape.values())
        for n, k in [(8, 1), (9, 1), (4, 2), (5, 2), (1, 8)]
    }
    assert shapes == {
        (8, 1): (8, 1),
        (9, 1): (3, 1),
        (4, 2): (4, 2),
        (5, 2): (1, 2),
        (1, 8): (1, 8),
    }


def test_a_training_with_more_devices_than_there_are_is_refused_and_a_trained_run_is_read(
    tmp_path,
):
    with pytest.raises(
        UserError, match=r"config\.execution\.batch_devices asks for 2 devices; this process has 1"
    ):
        tiny.train(tmp_path, tiny.group(execution__batch_devices=2))
    assert build_setup(tiny.run(execution__batch_devices=2)).devices.batch_devices == 1
