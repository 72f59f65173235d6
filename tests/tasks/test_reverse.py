import jax
import jax.numpy as jnp
import pytest

from pe_lab.tasks.reverse import Reverse


def oracle(task, prompt):
    return prompt[::-1]


@pytest.mark.slow
def test_worked_example():
    e = Reverse(num_symbols=9, distinct=True).sample(jax.random.key(0), jnp.asarray(3), 5)
    assert e.target[:3].tolist() == e.prompt[:3].tolist()[::-1]
    assert e.alignment.tolist() == [2, 1, 0, -1, -1]
    assert e.target_mask.tolist() == [True, True, True, False, False]


def test_one_symbol_is_refused():
    with pytest.raises(ValueError, match="Reverse needs two symbols or more"):
        Reverse(num_symbols=1)
