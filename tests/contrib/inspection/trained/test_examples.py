import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.contrib.inspection.trained import examples
from pe_lab.training.build import build_setup
from tests import tiny


def test_labels_of_a_mixture_are_aligned_with_the_tokens_that_they_copy():
    tasks = (dict(name="copy", num_symbols=6), dict(name="reverse", num_symbols=6))
    setup = build_setup(tiny.run("rope", task=dict(name="mixture", tasks=tasks)))
    sizes = examples.BatchSize(bound=3, size=8)
    drawn = examples.draw(setup, sizes, jnp.int32(3), jnp.int32(0), None)
    example, label, token = np.nonzero(drawn.aligned)
    assert len(example) == 8 * 3
    np.testing.assert_array_equal(
        drawn.batch.labels[example, label], drawn.batch.tokens[example, token]
    )


def test_windows_are_those_of_the_evaluation_where_all_lengths_end_with_the_same_bytes(tmp_path):
    text = dict(path=__file__, data_dir=str(tmp_path), longest=16, align="end")
    task = dict(name="language_model", **text)
    setup = build_setup(tiny.run("rope", task=task))
    data = jax.tree.map(jnp.asarray, setup.task.data("test"))
    sizes = examples.BatchSize(bound=16, size=4)
    longest, shorter = (
        examples.draw(setup, sizes, jnp.int32(length), jnp.int32(0), data).batch
        for length in (16, 8)
    )
    for example in range(4):
        bytes_, last = (
            np.asarray(batch.tokens[example])[np.asarray(batch.mask[example])]
            for batch in (longest, shorter)
        )
        np.testing.assert_array_equal(bytes_[-7:], last[-7:])
