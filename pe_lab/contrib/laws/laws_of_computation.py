"""Laws about numbers, kernels, gradients and seeds, as functions that raise AssertionError."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab import kernels
from pe_lab.contrib.laws import models
from pe_lab.contrib.laws.models import assert_close
from pe_lab.contrib.laws.subjects import (
    BATCH,
    LENGTH,
    SOURCE_LENGTH,
    Subject,
    default_source,
    default_tokens,
)
from pe_lab.model.sites import is_encoding


# The laws. Each takes a Subject.
def shape_is_kept_and_finite(subject: Subject) -> None:
    """The model has one finite logit for each token and symbol."""
    logits = subject.logits()
    assert logits.shape == (BATCH, LENGTH, 11)
    assert np.isfinite(logits).all()


def one_token_is_enough(subject: Subject) -> None:
    """The logits of a string of one token are finite."""
    assert np.isfinite(
        subject.logits(default_tokens(length=1), source=subject.source(default_source(length=1)))
    ).all()


def cpu_kernels_equal_the_reference(subject: Subject) -> None:
    """The kernels of CPUs give the logits of the reference, for consecutive and other positions."""
    for arange in (False, True):
        assert_kernels_agree(subject, "cpu", arange)


def accelerator_kernels_equal_the_reference(subject: Subject) -> None:
    """The kernels of accelerators give the logits of the reference."""
    assert_kernels_agree(subject, "cuda", arange=True)


def assert_kernels_agree(subject: Subject, platform: str, arange: bool) -> None:
    mask = models.prefix([LENGTH, 5], LENGTH)
    source = subject.source(mask=models.prefix([4, SOURCE_LENGTH], SOURCE_LENGTH), arange=arange)
    call = subject.call_with(kernels.choose("auto", platform))
    fast = subject.logits(mask=mask, source=source, arange=arange, call=call)
    assert_close(subject.logits(mask=mask, source=source)[mask], fast[mask])


def compiled_equals_eager(subject: Subject) -> None:
    """The compiled model gives the logits of the model that is not compiled."""
    with jax.disable_jit():
        eager = subject.call(subject.params, subject.stream(default_tokens()), subject.source())
    assert_close(eager, subject.logits())


def one_seed_gives_one_backbone(subject: Subject) -> None:
    """The backbone's initial parameters are those of the same seed without an encoding."""
    bare = backbone_parameters(subject.architecture, subject.changes)
    leaves = jax.tree_util.tree_leaves_with_path(models.params(subject.start))
    backbone = {path: value for path, value in leaves if not is_encoding(path)}
    assert backbone.keys() == bare.keys()
    for path, value in backbone.items():
        np.testing.assert_array_equal(value, bare[path])


@functools.cache
def backbone_parameters(
    architecture: str, changes: tuple[tuple[str, object], ...]
) -> dict[Any, Any]:
    """Parameters by path of the model without encodings, from the seed of `Subject.start`."""
    model = Subject((), architecture, changes).build()
    return dict(jax.tree_util.tree_leaves_with_path(models.params(model)))


def gradients_are_finite_and_reach_every_parameter(subject: Subject) -> None:
    """Every parameter has a gradient that is finite and not 0."""
    mask = models.prefix([LENGTH, 5], LENGTH)
    read = subject.stream(default_tokens(), np.where(mask, np.arange(LENGTH)[None], 0)[None], mask)
    source = subject.source(mask=models.prefix([4, SOURCE_LENGTH], SOURCE_LENGTH))
    loss = jax.jit(
        jax.grad(lambda p: jnp.where(mask[..., None], subject.call(p, read, source) ** 2, 0).sum())
    )
    for path, g in jax.tree_util.tree_leaves_with_path(loss(subject.params)):
        name = jax.tree_util.keystr(path)
        assert np.isfinite(g).all(), f"the gradient of {name} is not finite"
        assert np.abs(g).max() > 0, f"the gradient of {name} is 0"


def half_precision_keeps_positions_apart(subject: Subject) -> None:
    """Positions stay float32 in a model that computes in bfloat16, which has no 257.

    So logits at far positions are about as close to those of float32 as at positions below 257.
    The median of the far errors counts, because one place may be ill-conditioned. A step of one
    that float32 sees is seen too.
    """
    half = dataclasses.replace(subject, changes=(*subject.changes, ("compute_dtype", "bfloat16")))
    far = (
        (500, 1000, 2000) if subject.max_positions is None else ()
    )  # short tables end before bfloat16 does
    firsts = (0, *far) if far else (0, min(250, subject.bound - LENGTH))
    places = [first + np.arange(LENGTH)[None, None] for first in firsts]
    exact, rounded = ([one.logits(positions=p) for p in places] for one in (subject, half))
    errors = [np.abs(a - b) for a, b in zip(exact, rounded, strict=True)]
    assert np.sqrt((errors[0] ** 2).mean()) < 0.1 * exact[0].std(), (
        "half of the precision is not a tenth of the answer"
    )
    if far:
        assert np.median([e.max() for e in errors[1:]]) < 3 * errors[0].max(), "positions are lost"
    if subject.requirements.coarse:
        return
    for p, a, b in zip(places, exact, rounded, strict=True):
        before = p.copy()
        before[..., -1] -= 1
        seen = np.abs(a - subject.logits(positions=before))[:, -1].max()
        if seen > 0.05:  # more than the rounding of an answer
            assert np.abs(b - half.logits(positions=before))[:, -1].max() > seen / 2
