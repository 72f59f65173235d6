"""The smallest run that does everything: for tests of training, sweeps and entry points."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from pe_lab.runs import config
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.run import Run, RunGroup
from pe_lab.studies import base
from pe_lab.training.loop import train_run_group
from pe_lab.training.setup import Setup
from pe_lab.training.state import Member, Members, initial_state
from tests.runs.config_runs import with_changes


def values(**changes: Any) -> dict[str, Any]:
    """Config values of a tiny run; keys are dotted paths with __ for the dot."""
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(width=16, num_layers=2, num_heads=2, feedforward_width=16)
    c.train.update(steps=12, criterion=None, batch_size=8, max_length=3, warmup_steps=2)
    c.evaluate.update(
        lengths=(2, 3, 5),
        num_examples=16,
        batch_size=8,
        curve_every=6,
        curve_lengths=(3,),
        curve_examples=8,
    )
    c.execution.chunk_steps = 4
    plain = with_changes(c.to_dict(), changes)
    evaluate, longest = plain["evaluate"], plain["train"]["max_length"]
    if evaluate["validation_lengths"] is None:  # few, to be fast
        validated = tuple(n for n in evaluate["lengths"] if n <= longest)
        evaluate["validation_lengths"] = validated or (longest,)
    return plain


def run(*encodings: str | dict[str, Any], **changes: Any) -> Run:
    """A tiny run with these encodings, sinusoidal by default."""
    specs = tuple({"name": e} if isinstance(e, str) else e for e in encodings) or (
        {"name": "sinusoidal"},
    )
    return config.from_dict(values(model__encodings=specs, **changes))


def group(*encodings: str | dict[str, Any], seeds: int = 2, **changes: Any) -> RunGroup:
    return RunGroup(tuple(run(*encodings, seed=s, **changes) for s in range(seeds)))


def members(*changes: dict[str, Any]) -> Members:
    """The members of a run group as its programs take them, each with its changes."""
    base = {"seed": 0, "data_seed": 0, "first_step": 0, "learning_rate": 5e-3, "weight_decay": 0.0}
    fields = {name: jnp.asarray([{**base, **own}[name] for own in changes]) for name in base}
    return Member(**fields)


def params_of(setup: Setup) -> PyTree:
    """The initial parameters of one member, whose leaves begin with an axis of members."""
    return jax.jit(functools.partial(initial_state, setup))(members({})).params


def train(
    folder: Path, group: RunGroup, report: Callable = lambda event: None
) -> dict[int, dict[str, Any]]:
    """Trains a run group as a sweep's worker does; its records by seed."""
    run_group_files.write(group, folder)
    train_run_group(group, folder, report)
    return {run.seed: records.read(records.path_of(folder, run.run_id)) for run in group.runs}
