"""The examples of evaluation follow from task, split, length and index alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.records.evaluation_points import example_counts
from pe_lab.training import evaluation_data, splits
from pe_lab.training.random_keys import EVALUATION
from tests import tiny
from tests.training import varied


def test_a_run_asks_for_its_grid_and_its_curve():
    run = tiny.run(evaluate__curve_lengths=(2, 5), evaluate__curve_examples=20)
    places = {
        ("validation", 2): 20,
        ("validation", 3): 16,
        ("validation", 5): 20,
        ("test", 2): 16,
        ("test", 3): 16,
        ("test", 5): 16,
    }
    assert example_counts([run]) == {run.task: places}
    longer = tiny.run(train__max_length=5, evaluate__num_examples=30, evaluate__lengths=(3, 5))
    more = {("validation", 3): 30, ("validation", 5): 30, ("test", 3): 30, ("test", 5): 30}
    assert example_counts([run, longer]) == {run.task: {**places, **more}}
    other = tiny.run(task={"name": "parity"})
    assert list(example_counts([run, other])) == [run.task, other.task]


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "first"), [(5, 0), (8, 0), (5, 4)])
def test_a_batch_holds_the_examples_of_its_indices_leaf_by_leaf(bound, first):
    """Whatever the batch is: a later one starts where it is told, padded to any bound."""
    task, size = varied.Varied(), 4
    for split, length in ((0, 3), (1, 3), (1, 5)):
        key = jax.random.key(0)
        for name in (EVALUATION, split, length):
            key = jax.random.fold_in(key, name)
        expected = [
            task.sample(jax.random.fold_in(key, i), jnp.asarray(length), bound)
            for i in range(first, first + size)
        ]
        drawn = evaluation_data.draw_batch(
            task,
            splits.Rule(None),
            bound,
            size,
            split=np.int32(split),
            length=np.int32(length),
            first=np.int32(first),
            data=None,
        )
        assert jax.tree.structure(drawn) == jax.tree.structure(expected[0])
        pairs = zip(jax.tree.leaves(drawn), *map(jax.tree.leaves, expected), strict=True)
        for leaf, *leaves in pairs:
            assert leaf.dtype == leaves[0].dtype
            np.testing.assert_array_equal(leaf, np.stack(leaves))
