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
from pe_lab.runs.run import Cell
from pe_lab.training import step
from pe_lab.training.finished import replicas_of
from tests import tiny

STRINGS = {"name": "copy", "num_symbols": 30, "distinct": False}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(1, 3000), st.integers(0, 2000), st.booleans())
def test_a_plan_divides_the_batch_and_its_last_shape_holds_the_longest(
    batch_size, longest, source, whole
):
    shapes = {"answering": (batch_size, longest)} | (
        {"source": (batch_size, source)} if source else {}
    )
    plan = microbatches.plan(shapes, whole=whole)
    assert batch_size % plan.rows == 0
    assert plan.rows == batch_size or not whole
    assert plan.rows == 1 or whole or plan.rows * (longest + source) <= 1.3 * microbatches.TOKENS
    for name, (_, n) in shapes.items():
        assert plan.shapes[name][-1] == n
        assert list(plan.shapes[name]) == sorted(plan.shapes[name])
        assert len(plan.shapes[name]) == plan.num_shapes <= microbatches.SHAPES


def test_no_shape_is_for_fewer_tokens_than_the_shortest_example_has():
    shapes = {"answering": (8, 100), "source": (8, 50)}
    assert microbatches.plan(shapes).shapes == {
        "answering": (20, 40, 60, 80, 100),
        "source": (10, 20, 30, 40, 50),
    }
    assert microbatches.plan(shapes, least=61).shapes == {
        "answering": (60, 80, 100),
        "source": (30, 40, 50),
    }
    assert microbatches.plan(shapes, least=150).shapes == {"answering": (100,), "source": (50,)}


def test_each_example_is_summed_once_in_the_smallest_shape_that_holds_its_micro_batch():
    lengths = jnp.array([3, 40, 10, 25, 11, 1, 30, 12])
    mask = jnp.arange(40)[None] < lengths[:, None]
    plan = microbatches.Plan(2, {"answering": (12, 26, 40)})

    def f(streams, number):
        own = streams["answering"]
        counts = jnp.zeros(8).at[own["index"][:, 0]].add(own["mask"].sum(axis=1))
        return {
            "tokens": counts,
            "shape": jnp.zeros(8).at[own["index"][:, 0]].add(own["mask"].shape[1]),
            "numbers": jnp.zeros(4).at[number].add(1),
        }

    index = jnp.broadcast_to(jnp.arange(8)[:, None], mask.shape)
    found = jax.jit(
        lambda: microbatches.summed(
            plan, f, {"answering": {"mask": mask, "index": index}}, {"answering": mask}
        )
    )()
    np.testing.assert_array_equal(found["tokens"], lengths)
    np.testing.assert_array_equal(
        found["shape"], [12, 40, 12, 26, 12, 12, 40, 26]
    )  # 12 shares a micro-batch with 25
    np.testing.assert_array_equal(found["numbers"], np.ones(4))


CASES = [
    ("rope", {"train__length_per": "step"}),
    ("sinusoidal", {"layout__name": "encoder"}),
    ("rope", {"layout__examples_per_context": 2}),
    ("fire", {}),  # the others in `make test-full`
    ("t5_bias", {}),
    ("kerple", {"model__sink_token": True}),
    ("t5_bias", {"positions": {"name": "shifted", "max_shift": 64}}),
    ("t5_bias", {"layout__name": "encoder_decoder"}),
    ("learned", {"train__loss_reduction": "example"}),
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


@pytest.mark.parametrize(
    ("encoding", "changes"),
    [pytest.param(*case, marks=[pytest.mark.full] * (i > 2)) for i, case in enumerate(CASES)],
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
    made = step.setup(run)
    state = step.init(made, jax.tree.map(jnp.asarray, replicas_of(Cell((run,)), [0])))
    params = jax.tree.map(lambda leaf: leaf[0], state["params"])
    read = step.contexts(made, *step.draw(made, jax.random.key(3), jnp.asarray(5)), train=True)
    assert microbatches.plan({"answering": read[1].mask.shape}).num_shapes > 1

    def found(made):
        return jax.jit(lambda params: step.value_and_grad(made, params, read, None))(params)

    (loss, gradients), (expected, slopes) = (
        found(dataclasses.replace(made, in_microbatches=each)) for each in (True, False)
    )
    assert float(loss) == pytest.approx(float(expected), rel=1e-6)
    for ours, theirs in zip(
        *(map(np.asarray, jax.tree.leaves(each)) for each in (gradients, slopes)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * max(np.abs(theirs).max(), 1e-3))


@pytest.mark.parametrize(
    ("encoding", "changes", "times"),
    [
        ("t5_bias", {}, 1),
        ("t5_bias", {"layout__name": "encoder_decoder"}, 2),
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
    made = step.setup(run)
    read = step.contexts(made, *step.draw(made, jax.random.key(3), jnp.asarray(5)), train=True)
    jax.eval_shape(
        lambda params: step.value_and_grad(made, params, read, None), made.abstract_params
    )
    assert len(calls) == times
