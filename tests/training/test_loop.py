"""A run group is trained, recorded and evaluated again, from its config to its records."""

import time

import jax
import numpy as np
import pytest

from pe_lab.runs import config
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records import records
from pe_lab.training import provenance
from pe_lab.training.loop import Training, train_run_group
from tests import members, tiny
from tests.training.group_records import by_seed


def test_a_group_leaves_a_complete_record_for_every_member(tmp_path):
    events = []
    started = time.monotonic()
    train_run_group(tiny.group("sinusoidal", "rope", model__num_layers=1), tmp_path, events.append)
    seconds = time.monotonic() - started
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
        "seen_offsets": {"5": None},
        "reveals_target_length": False,
        "solved_threshold": 0.99,
    }
    assert len(record["scale_ratio"]["initial"]) == 1
    assert [f["length"] for f in record["chance_levels"]] == [2, 3, 5]
    assert (record["cost"]["members"], record["provenance"]["versions"]["jax"]) == (
        2,
        jax.__version__,
    )
    compile_seconds, train_seconds = (
        record["cost"][key] * len(found) for key in ("compile_seconds", "train_seconds")
    )
    assert 0 < compile_seconds < compile_seconds + train_seconds < seconds
    assert config.from_dict(record["config"]).run_id == record["run_id"]
    assert found[0]["rows"] != found[1]["rows"]


@pytest.mark.slow
def test_the_size_of_chunks_changes_no_curve(tmp_path):
    curves = []
    for chunk_steps in (4, 6):
        changes = dict(model__num_layers=1, execution__chunk_steps=chunk_steps)
        folder = tmp_path / str(chunk_steps)
        train_run_group(tiny.group("rope", seeds=1, **changes), folder)
        curves.append(by_seed(folder)[0]["curve"])
    assert curves[0] == curves[1]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_rows_that_a_later_process_adds_name_what_differs_in_it(tmp_path, monkeypatch):
    train_run_group(tiny.group("rope", seeds=1), tmp_path)
    real = provenance.provenance
    monkeypatch.setattr(provenance, "provenance", lambda run: {**real(run), "python": "3.99"})
    train_run_group(tiny.group("rope", seeds=1), tmp_path)  # nothing is added
    assert "evaluated" not in by_seed(tmp_path)[0]["provenance"]
    train_run_group(tiny.group("rope", seeds=1, evaluate__lengths=(6,)), tmp_path)
    (later,) = by_seed(tmp_path)[0]["provenance"]["evaluated"]
    assert later.pop("started")
    assert later == {"python": "3.99"}


@pytest.mark.slow
def test_final_parameters_are_dropped_when_not_wanted(tmp_path):
    group = tiny.group("rope", seeds=1, checkpoints__keep_final=False, checkpoints__keep_curve=True)
    train_run_group(group, tmp_path)
    assert not (tmp_path / "checkpoints" / group.group_id).exists()
    assert by_seed(tmp_path)[0]["checkpoint"] is None


@pytest.mark.slow
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
