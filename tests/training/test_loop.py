"""A run group from config to records: finished, killed, diverged, failed, and evaluated again."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs import config, locks, plugins, records, run_group_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import RunGroup
from pe_lab.training import checkpoint, process, run_records
from pe_lab.training.loop import Training, train_run_group
from pe_lab.training.run_records import write_failure
from tests import members, tiny


def by_seed(folder):
    return {r["member"]["seed"]: r for r in records.read_all(folder).values()}


def measured(record):
    """What must not depend on how a record came about."""
    return {
        k: record[k]
        for k in (
            "run_id",
            "config",
            "status",
            "rows",
            "chance_levels",
            "curve",
            "exposure",
            "scale_ratio",
        )
    }


def test_a_group_leaves_a_complete_record_for_every_member(tmp_path):
    events = []
    train_run_group(tiny.group("sinusoidal", "rope", model__num_layers=1), tmp_path, events.append)
    found = by_seed(tmp_path)
    assert sorted(found) == [0, 1]
    record = found[1]
    assert (record["status"], record["error"]) == ("finished", None)
    assert [p["step"] for p in record["curve"]] == [0, 6, 12]
    assert [e["step"] for e in events if e["event"] == "progress"] == [4, 6, 8, 12]
    for event in (e for e in events if e["event"] == "progress"):
        assert len(set(event["losses"])) == 2  # of each member
        assert event["loss"] == pytest.approx(sum(event["losses"]) / 2)
    assert record["exposure"] == {
        "steps": 12,
        "max_length": 3,
        "length_name": "symbols",
        "num_tokens": {"2": 6, "3": 8, "5": 12},
        "max_position": 7,
        "max_test_position": {"2": 5, "3": 7, "5": 11},
        "reveals_target_length": False,
        "solved_threshold": 0.99,
    }
    assert len(record["scale_ratio"]["initial"]) == 1
    assert [f["length"] for f in record["chance_levels"]] == [2, 3, 5]
    assert (record["cost"]["members"], record["provenance"]["versions"]["jax"]) == (
        2,
        jax.__version__,
    )
    assert config.from_dict(record["config"]).run_id == record["run_id"]
    assert found[0]["rows"] != found[1]["rows"]


@pytest.mark.full
def test_the_size_of_chunks_changes_no_curve(tmp_path):
    curves = []
    for chunk_steps in (4, 6):
        changes = dict(model__num_layers=1, execution__chunk_steps=chunk_steps)
        folder = tmp_path / str(chunk_steps)
        train_run_group(tiny.group("rope", seeds=1, **changes), folder)
        curves.append(by_seed(folder)[0]["curve"])
    assert curves[0] == curves[1]


@pytest.mark.full
def test_an_encoder_decoder_leaves_records_like_any_other(tmp_path):
    """Positions 0..3 in its decoder of BEGIN and three symbols, 0..2 in its encoder. Both inputs
    have an encoding.
    """
    encodings = "sinusoidal", {"name": "t5_bias", "stacks": ("encoder", "decoder", "cross")}
    changes = dict(
        layout__name="encoder_decoder", model__num_layers=1, train__steps=2, evaluate__lengths=(3,)
    )
    train_run_group(tiny.group(*encodings, seeds=1, **changes), tmp_path)
    record = by_seed(tmp_path)[0]
    assert (
        record["status"],
        record["exposure"]["max_position"],
        len(record["scale_ratio"]["final"]),
    ) == ("finished", 3, 2)
    assert config.from_dict(record["config"]).run_id == record["run_id"]


# Schemes that follow what copy does not have, and a task that has it.
TASKS = {"multimodal": "copy_grid", "separators": "item_after_separator"}
NAMES = [name for name in plugins.names("positions") if name not in TASKS]
SCHEMES = [members.spec("positions", name) for name in NAMES]
SCHEMES.append(dict(name="randomized", maximum=50, per_layer=True))


def schemes_and_changes():
    yield SCHEMES, {}
    for name, task in TASKS.items():
        schemes = [dict(name="contiguous"), members.spec("positions", name)]
        yield schemes, dict(task={"name": task}, train__min_length=2)


@pytest.mark.full
@pytest.mark.parametrize(("schemes", "changes"), list(schemes_and_changes()), ids=["all", *TASKS])
def test_nopes_rows_are_equal_to_the_last_digit_under_every_scheme(tmp_path, schemes, changes):
    rows = []
    for i, scheme in enumerate(schemes):
        group = tiny.group("nope", seeds=1, positions=scheme, **changes)
        train_run_group(group, tmp_path / str(i))
        rows.append(by_seed(tmp_path / str(i))[0]["rows"])
    assert any(r["value"] for r in rows[0])
    for others in rows[1:]:
        assert rows[0] == others


GROUP = tiny.group(
    "learned", "t5_bias", train__steps=60, checkpoints__interval=0.0, execution__members="map"
)
SELDOM = tiny.group(
    "learned", "t5_bias", train__steps=60, checkpoints__interval=1e6, execution__members="map"
)


def start(folder, group=GROUP):
    file = folder / "group.json"
    records.write_json(file, {"runs": [run.to_dict() for run in group.runs]})
    command = [sys.executable, "-m", "pe_lab.training.process", str(file), str(folder)]
    import_path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(import_path)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


@pytest.mark.full
def test_a_training_killed_in_mid_run_ends_bit_equal_to_an_unbroken_one(tmp_path):
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    with start(broken) as process:
        for line in process.stdout:
            if json.loads(line).get("step", 0) >= 20:
                break
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not list((broken / "records").glob("*.json"))
    with start(broken) as process:
        events = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0
    assert events[0]["event"] == "resumed"
    assert 16 <= events[0]["step"] < 60
    train_run_group(GROUP, unbroken)
    for seed in (0, 1):
        assert measured(by_seed(broken)[seed]) == measured(by_seed(unbroken)[seed])
    states = [Training(GROUP, folder, print).state for folder in (broken, unbroken)]
    jax.tree.map(np.testing.assert_array_equal, *states)
    assert int(states[0].step[0]) == 60


@pytest.mark.full
def test_a_worker_whose_sweep_is_gone_stops_and_records_no_failure(tmp_path):
    with start(tmp_path) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
    assert not list((tmp_path / "records").glob("*.json"))


@pytest.mark.full
def test_a_finished_training_is_evaluated_again_without_training_and_nothing_measured_is_touched(
    tmp_path,
):
    """Every old value is marked by hand: measured again, it would be another. The second run lacks
    a length that the first has.
    """
    train_run_group(tiny.group("rope"), tmp_path)
    before = by_seed(tmp_path)
    for seed, record in before.items():
        record["rows"] = [
            r | {"value": 0.123}
            for r in record["rows"]
            if not (seed and (r["split"], r["length"]) == ("test", 3))
        ]
        records.write(tmp_path, record)
    events = []
    more = dict(
        evaluate__lengths=(3, 6),
        evaluate__offsets=(0, 4),
        evaluate__overrides=[dict(encodings=(), label="bare")],
    )
    train_run_group(tiny.group("rope", **more), tmp_path, events.append)
    assert [e["event"] for e in events] == ["resumed", "evaluating", "finished"]
    expected = [
        (3, 4, None),
        (6, 0, None),
        (6, 4, None),
        (3, 0, "bare"),
        (3, 4, "bare"),
        (6, 0, "bare"),
        (6, 4, "bare"),
    ]
    for seed, after in by_seed(tmp_path).items():
        old = before[seed]["rows"]
        kept, new = after["rows"][: len(old)], after["rows"][len(old) :]
        assert kept == old
        assert all(0 <= r["value"] <= 1 for r in new if r["metric"] == "exact_match")
        exact = [
            (r["length"], r["offset"], r["override"] and r["override"]["label"])
            for r in new
            if r["metric"] == "exact_match"
        ]
        assert exact == [(3, 0, None)] * seed + expected
        assert ([f["length"] for f in after["chance_levels"]], after["chance_levels"][:3]) == (
            [2, 3, 5, 6],
            before[seed]["chance_levels"],
        )
        grown = ("rows", "chance_levels", "digest")
        assert {k: v for k, v in after.items() if k not in grown} == {
            k: v for k, v in before[seed].items() if k not in grown
        }


@pytest.mark.full
def test_a_diverged_member_is_recorded_and_the_others_finish(tmp_path):
    runs = tiny.group("rope").runs
    wild = dataclasses.replace(
        runs[1], train=dataclasses.replace(runs[1].train, learning_rate=1e30)
    )
    train_run_group(RunGroup((runs[0], wild)), tmp_path)
    found = by_seed(tmp_path)
    assert (found[0]["status"], found[1]["status"]) == ("finished", "diverged")
    assert found[1]["error"].startswith("the loss or its gradient was not finite at step ")
    assert found[1]["rows"] == []


@pytest.mark.full
def test_a_group_whose_members_all_diverged_ends_early(tmp_path):
    group = tiny.group("rope", seeds=1, train__learning_rate=1e30)
    train_run_group(group, tmp_path)
    record = by_seed(tmp_path)[0]
    assert record["status"] == "diverged"
    assert record["cost"]["steps"] < group.run.train.steps


@pytest.mark.full
def test_a_damaged_checkpoint_is_set_aside_with_a_sentence_and_its_runs_trained_again(
    tmp_path, capsys
):
    group = tiny.group("rope", seeds=1)
    folder = tmp_path / "checkpoints" / group.group_id
    checkpoint.save(folder, 4, {"params": jnp.zeros(3)}, {})
    records.write_json(tmp_path / "group.json", {"runs": [r.to_dict() for r in group.runs]})
    assert process.main(tmp_path / "group.json", tmp_path) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e["why"].rpartition(" (")[2] for e in said if e["event"] == "damaged"] == [
        "its arrays have other names, shapes or types); it is set aside as 4.damaged-1, and "
        "training continues from the checkpoint before it."
    ]
    assert by_seed(tmp_path)[0]["status"] == "finished"
    assert sorted(p.name for p in folder.iterdir()) == ["12", "4.damaged-1"]


@pytest.mark.full
def test_a_training_that_is_asked_to_leave_saves_and_goes_on_to_the_same_end(tmp_path):
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    with start(broken, SELDOM) as process:
        for line in process.stdout:
            if json.loads(line).get("step", 0) >= 12:
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stdout.read()
    assert process.returncode == locks.LATER
    assert (broken / "group.later").exists()
    last = json.loads(rest.splitlines()[-1])["step"] if rest else 12
    assert last < 60
    progress = json.loads((broken / "progress" / "group.json").read_text())
    assert {"step", "loss", "steps_per_second", "time"} <= progress.keys()
    with start(broken, SELDOM) as process:
        events = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0
    assert events[0] == {
        "event": "resumed",
        "step": last,
    }  # saved where it left, long before its checkpoints were due
    train_run_group(SELDOM, unbroken)
    assert measured(by_seed(broken)[0]) == measured(by_seed(unbroken)[0])


@pytest.mark.slow
def test_only_the_process_itself_marks_that_it_is_to_be_started_again(tmp_path, monkeypatch):
    """A plugin ends the process with the status of a preempted one, and leaves no mark."""
    mark = tmp_path / "group.later"
    with locks.held(tmp_path / "group.lock"), start(tmp_path) as process:
        process.communicate()
    assert (process.returncode, mark.exists()) == (locks.LATER, True)
    module = tmp_path / "exits.py"
    module.write_text("from pe_lab.encodings.alibi import ALiBi\n\nclass Mine(ALiBi):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    group = tiny.group("exits:Mine")
    module.write_text(f"import os\n\nos._exit({locks.LATER})\n")
    with start(tmp_path, group) as process:
        process.communicate()
    assert (process.returncode, mark.exists()) == (locks.LATER, False)


def test_an_unforeseen_error_is_recorded_with_its_type(tmp_path, monkeypatch, capsys):
    group = tiny.group("rope", seeds=1)
    records.write_json(tmp_path / "group.json", {"runs": [r.to_dict() for r in group.runs]})
    monkeypatch.setattr(process, "train_run_group", lambda *a: 1 / 0)
    assert process.main(tmp_path / "group.json", tmp_path) == 1
    assert by_seed(tmp_path)[0]["error"] == "ZeroDivisionError: division by zero"
    assert json.loads(capsys.readouterr().out)["event"] == "failed"


def test_a_group_whose_encoding_cannot_be_imported_here_is_recorded_as_failed(
    tmp_path, monkeypatch
):
    module = tmp_path / "elsewhere_only.py"
    module.write_text("from pe_lab.encodings.alibi import ALiBi\n\nclass Mine(ALiBi):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    file = run_group_files.write(tiny.group("elsewhere_only:Mine"), tmp_path)
    module.unlink()
    monkeypatch.delitem(sys.modules, "elsewhere_only")
    assert process.main(file, tmp_path) == 1
    for seed in (0, 1):
        record = by_seed(tmp_path)[seed]
        assert record["error"].startswith("'elsewhere_only:Mine' cannot be imported: ")
        assert record["provenance"]["sources"]["encodings/elsewhere_only:Mine"] is None


def test_a_damaged_record_of_one_member_is_the_recorded_failure_of_the_others(tmp_path, capsys):
    group = tiny.group("rope")
    damaged = records.path_of(tmp_path, group.runs[0].run_id)
    damaged.parent.mkdir()
    damaged.write_text("{")
    assert process.main(run_group_files.write(group, tmp_path), tmp_path) == 1
    other = records.read(records.path_of(tmp_path, group.runs[1].run_id))
    assert (other["status"], str(damaged) in other["error"]) == ("failed", True)
    assert capsys.readouterr().err.startswith(f"not recorded: {group.runs[0].run_id}: ")


def test_a_damaged_file_of_a_run_group_is_one_sentence(tmp_path, capsys):
    file = tmp_path / "group.json"
    file.write_text("{")
    assert process.main(file, tmp_path) == 1
    assert f"not recorded: {file} cannot be read: " in capsys.readouterr().err


@pytest.mark.slow
def test_a_group_that_another_process_is_at_or_has_finished_is_left_alone(tmp_path, monkeypatch):
    group = tiny.group("rope", seeds=1, model__num_layers=1)
    file = tmp_path / "group.json"
    records.write_json(file, {"runs": [r.to_dict() for r in group.runs]})
    events = []
    with locks.held(tmp_path / "group.lock"):
        assert process.main(file, tmp_path, report=events.append) == locks.LATER
    assert events == [{"event": "elsewhere"}]
    assert not by_seed(tmp_path)
    train_run_group(group, tmp_path)
    monkeypatch.setattr(process, "train_run_group", lambda *a: 1 / 0)
    assert process.main(file, tmp_path) == 0
    assert by_seed(tmp_path)[0]["status"] == "finished"


@pytest.mark.full
def test_a_failure_never_replaces_a_result(tmp_path):
    group = tiny.group("rope", seeds=1)
    train_run_group(group, tmp_path)
    write_failure(group.run, tmp_path, "lost its worker")
    assert by_seed(tmp_path)[0]["status"] == "finished"


@pytest.mark.full
def test_final_parameters_are_dropped_when_not_wanted(tmp_path):
    group = tiny.group("rope", seeds=1, checkpoints__keep_final=False, checkpoints__keep_curve=True)
    train_run_group(group, tmp_path)
    assert not (tmp_path / "checkpoints" / group.group_id).exists()
    assert by_seed(tmp_path)[0]["checkpoint"] is None


def test_what_cannot_be_built_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UserError, match="must be even, got 3"):
        train_run_group(tiny.group("rope", model__width=6), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_users_own_encoding_trains_from_its_own_package(tmp_path, monkeypatch):
    """One file, named in a config; nothing of pe_lab changes."""
    package = tmp_path / f"mine_{time.time_ns()}"
    package.mkdir()
    (package / "steps.py").write_text(
        '"""A bias that steps down every `size` positions."""\n'
        "import jax.numpy as jnp\n"
        "from flax import nnx\n"
        "from pe_lab.encodings.base import OffsetBias\n"
        "class Steps(OffsetBias):\n"
        "    def __init__(self, *, size: int = 2, num_heads: int):\n"
        "        self.size, self.drop = size, nnx.Param(jnp.ones(num_heads))\n"
        "    def of_offset(self, offsets):\n"
        "        steps = (jnp.abs(offsets) // self.size).astype(jnp.float32)\n"
        "        return -jnp.multiply.outer(self.drop[...], steps)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    spec = dict(name=f"{package.name}.steps:Steps", size=3)
    train_run_group(tiny.group(spec, seeds=1), tmp_path / "results")
    record = by_seed(tmp_path / "results")[0]
    assert record["status"] == "finished"
    (encoding,) = record["config"]["model"]["encodings"]
    assert spec.items() <= encoding.items()
    assert encoding["reads_positions"] is True
    training = Training(tiny.group(spec, seeds=1), tmp_path / "results", print)
    drop = training.state.params["decoder"]["attention_encodings"][0]["drop"]
    assert np.abs(np.asarray(drop) - 1).max() > 1e-4  # it was trained


@pytest.mark.parametrize(
    ("path", "dirty"),
    [
        ("pe_lab/encodings/new.py", True),
        ("configs/new.py", True),
        ("experiments/new.py", True),
        ("pe_lab/old.py", True),
        ("pe_lab/ignored.log", False),
        ("results/new.json", False),
    ],
)
def test_untracked_files_of_the_code_make_provenance_dirty(tmp_path, path, dirty):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "pe_lab").mkdir()
    (tmp_path / "pe_lab" / "old.py").write_text("")
    (tmp_path / ".gitignore").write_text("*.log")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("a = 1")
    assert run_records.has_uncommitted_code(tmp_path / "pe_lab") is dirty
