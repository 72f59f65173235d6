import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.inspection.trained.attention_divergence import compare, divergence
from pe_lab.inspection.trained.loaded_model import LoadedModel
from pe_lab.runs.errors import UserError
from tests.inspection.trained.untrained_run import finished


def of_rows(p, q):
    return float(divergence(jnp.asarray([[[p]]]), jnp.asarray([[[q]]]))[0, 0, 0, 0])


def test_divergences_worked_by_hand():
    """Equal rows have 0 bits and rows without a common key 1; zeros are no hindrance."""
    assert of_rows([0.25, 0.75, 0.0], [0.25, 0.75, 0.0]) == 0
    assert of_rows([1.0, 0.0], [0.0, 1.0]) == 1
    # The mean is (3/4, 1/4): (log2(4/3) + (log2(2/3) + log2(2)) / 2) / 2.
    expected = (np.log2(4 / 3) + (np.log2(2 / 3) + 1) / 2) / 2
    assert of_rows([1.0, 0.0], [0.5, 0.5]) == pytest.approx(expected, abs=1e-6)


def test_every_head_of_one_meets_every_head_of_the_other():
    p = jnp.asarray([[[[1.0, 0.0]], [[0.0, 1.0]]]])  # two heads, one query
    q = jnp.asarray([[[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]]])
    assert divergence(p, q)[0, :, :, 0].tolist() == [[0, 0, 1], [1, 1, 0]]


@pytest.fixture(scope="module")
def models():
    changes = dict(model__num_layers=1, evaluate__num_examples=10)
    runs = (finished(name, **changes) for name in ("rope", "alibi"))
    return tuple(LoadedModel(run, (3,)) for run in runs)


def test_runs_are_compared_by_layer_and_pair_of_heads(models):
    rope, alibi = models
    (same,) = compare(rope, rope, 3)["decoder"]
    (found,) = compare(rope, alibi, 3)["decoder"]
    (swapped,) = compare(alibi, rope, 3)["decoder"]
    np.testing.assert_allclose(np.diagonal(same), 0, atol=1e-6)
    assert found.shape == (2, 2)
    assert (found > 1e-4).all()
    assert (found < 1).all()
    np.testing.assert_allclose(found, swapped.T, atol=1e-6)


def test_runs_of_another_form_are_refused(models):
    other = LoadedModel(finished("rope", task__num_symbols=7, model__num_layers=1), (3,))
    with pytest.raises(UserError, match=r"cannot be compared: they have different tasks"):
        compare(models[0], other, 3)
