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
