"""Sums by micro-batches: those of the whole batch, of shapes that fit."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.kernels import microbatches
from pe_lab.runs.run import RunGroup
from pe_lab.training import step
from pe_lab.training.build import build_setup
from pe_lab.training.state import initial_state, members_of
from tests import tiny
from tests.marks import full

STRINGS = {"name": "copy", "num_symbols": 30, "distinct": False}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(1, 3000), st.integers(0, 2000), st.booleans())
def test_a_plan_divides_the_batch_and_its_last_shape_holds_the_longest(
    batch_size, longest, source, whole
):
    lengths = (longest, source) if source else (longest,)
    plan = microbatches.plan(batch_size, lengths, whole=whole)
    assert batch_size % plan.rows == 0
    assert plan.rows == batch_size or not whole
    assert plan.rows == 1 or whole or plan.rows * (longest + source) <= 1.3 * microbatches.TOKENS
    assert plan.shapes[-1] == lengths
    assert len(plan.shapes) <= microbatches.SHAPES
    for counts in zip(*plan.shapes, strict=True):
        assert list(counts) == sorted(counts)


def test_no_shape_is_for_fewer_tokens_than_the_shortest_example_has():
    shapes = ((20, 10), (40, 20), (60, 30), (80, 40), (100, 50))
    assert microbatches.plan(8, (100, 50)).shapes == shapes
    assert microbatches.plan(8, (100, 50), least=61).shapes == shapes[2:]
    assert microbatches.plan(8, (100, 50), least=150).shapes == shapes[4:]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Numbered:
    """A batch of one stream whose examples know their numbers."""

    numbers: jax.Array
    mask: jax.Array

    @property
    def masks(self):
        return (self.mask,)

    def select(self, rows):
        return Numbered(self.numbers[rows], self.mask[rows])

    def shorten(self, num_tokens):
        return Numbered(self.numbers, self.mask[:, : num_tokens[0]])


@pytest.mark.slow
def test_each_example_is_summed_once_in_the_smallest_shape_that_holds_its_micro_batch(monkeypatch):
    lengths = jnp.array([3, 40, 10, 25, 11, 1, 30, 12])
    mask = jnp.arange(40)[None] < lengths[:, None]
    plan = microbatches.Division(2, ((12,), (26,), (40,)))
    monkeypatch.setattr(microbatches, "plan", lambda *args, **options: plan)

    def f(part):
        empty = jnp.zeros(8)
        return {
            "tokens": empty.at[part.numbers].add(part.mask.sum(axis=1)),
            "shape": empty.at[part.numbers].add(part.mask.shape[1]),
            "times": empty.at[part.numbers].add(1),
        }

    sums = jax.jit(lambda: microbatches.summed(f, Numbered(jnp.arange(8), mask)))()
    np.testing.assert_array_equal(sums["tokens"], lengths)
    # 12 shares a micro-batch with 25
    np.testing.assert_array_equal(sums["shape"], [12, 40, 12, 26, 12, 12, 40, 26])
    np.testing.assert_array_equal(sums["times"], np.ones(8))


CASES = [
    ("rope", {"train__length_per": "step"}),
    ("sinusoidal", {"layout__name": "encoder"}),
    ("rope", {"layout__examples_per_context": 2}),
    ("fire", {}),  # the others in `make test-full`
    ("t5_bias", {}),
    ("kerple", {}),
    ("t5_bias", {"positions": {"name": "shifted", "max_shift": 64}}),
    ("t5_bias", {"layout__name": "encoder_decoder"}),
    ("learned", {"train__loss_reduction": "example"}),
    ("rope", {"model__num_loops": 3, "train__min_loops": 1, "model__loop_injection": "linear"}),
    ("rope", {"positions": {"name": "randomized", "maximum": 128, "per_layer": True}}),
    (
        "alibi",
        {
            "layout__examples_per_context": 2,
            "layout__document_mask": False,
            "train__loss_reduction": "example",
        },
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "changes"),
    [pytest.param(*case, marks=[pytest.mark.full] * (i > 1)) for i, case in enumerate(CASES)],
)
def test_the_gradient_is_that_of_the_whole_batch(encoding, changes):
    run = tiny.run(
        encoding,
        train__batch_size=24,
        train__max_length=36,
        task=STRINGS,
        model__num_layers=1,
        **changes,
    )
    made = build_setup(run)
    state = initial_state(made, jax.tree.map(jnp.asarray, members_of(RunGroup((run,)), [0])))
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    batch = step.training_batch(made, jax.random.key(3), jnp.asarray(5))
    longest = tuple(mask.shape[1] for mask in batch.masks)
    assert len(microbatches.plan(24, longest).shapes) > 1
    assert made.kernels.value_and_grad is microbatches.value_and_grad
    whole = dataclasses.replace(made, kernels=made.kernels.with_whole_batches())

    def found(made):
        return jax.jit(lambda params: step.loss_and_gradient(made)(params, batch))(params)

    (loss, gradients), (expected, slopes) = found(made), found(whole)
    assert float(loss) == pytest.approx(float(expected), rel=1e-6)
    for ours, theirs in zip(
        *(map(np.asarray, jax.tree.leaves(each)) for each in (gradients, slopes)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * max(np.abs(theirs).max(), 1e-3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "changes", "times"),
    [
        ("t5_bias", {}, 1),
        full("t5_bias", {"layout__name": "encoder_decoder"}, 2),
        ({"name": "t5_bias", "share": False}, {}, 2),
    ],
)
def test_a_bias_that_examples_share_is_computed_once_a_step(monkeypatch, encoding, changes, times):
    """Not once for each shape of micro-batches: once for each module, whatever is cut from it."""
    calls, bucket = [], T5Bias.bucket
    monkeypatch.setattr(
        T5Bias, "bucket", lambda self, offsets: (calls.append(1), bucket(self, offsets))[1]
    )
    run = tiny.run(
        encoding,
        train__batch_size=24,
        train__max_length=36,
        task=STRINGS,
        model__num_layers=2,
        **changes,
    )
    made = build_setup(run)
    batch = step.training_batch(made, jax.random.key(3), jnp.asarray(5))
    value_and_grad = step.loss_and_gradient(made)
    jax.eval_shape(lambda params: value_and_grad(params, batch), made.abstract_params)
    assert len(calls) == times
