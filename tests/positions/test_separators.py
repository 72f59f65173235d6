import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.contrib.probes.tasks.item_after_separator import ItemAfterSeparator
from pe_lab.positions.separators import Separators
from pe_lab.tasks.layouts import LAYOUTS


def of(separators):
    mask = jnp.ones((1, len(separators)), bool)
    keys = jax.random.split(jax.random.key(0), 1)
    structure = {"separators": jnp.asarray([separators])}
    return np.asarray(Separators()(keys, mask, structure=structure, train=True))[0, 0].tolist()


def test_a_token_has_the_number_of_separators_so_far():
    assert of([0, 0, 1, 0, 1, 1, 0]) == [0, 0, 1, 1, 2, 3, 3]


def test_bound_is_reached():
    assert max(of([1, 1, 1])) == Separators().bound(3, True) == Separators().bound(3, False) == 3


def test_items_of_a_task_have_their_number_and_the_query_has_that_of_the_last_item():
    """BEGIN 3 3 / 4 / 0 0 : #2 SEPARATOR 0, of which separators are 3 and 5."""
    task = ItemAfterSeparator(num_symbols=5, max_width=2, max_index=2)
    keys = jax.random.split(jax.random.key(0), 50)
    layout = LAYOUTS["decoder"](end_token=False)
    lay_out = jax.jit(jax.vmap(lambda key: layout(task, task.sample(key, jnp.asarray(3), 3))))
    batch = lay_out(keys)
    positions = Separators()(keys, batch.mask, structure=batch.structure, train=True)[0]
    tokens = np.asarray(batch.tokens)
    is_slash = tokens == task.num_symbols
    assert (is_slash.sum(axis=1) == 2).all()
    np.testing.assert_array_equal(
        np.asarray(positions), np.where(batch.mask, np.cumsum(is_slash, axis=1), 0)
    )
