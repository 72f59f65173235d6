import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.inspection.trained import gradient_norms
from pe_lab.model.streams import Stream
from pe_lab.runs.records import records
from pe_lab.runs.run import RunGroup
from pe_lab.training.build import build_setup
from pe_lab.training.random_keys import EXAMPLES, fold, stream_key
from tests import tiny


def loss(setup, params, length):
    """The loss from logits, of the examples that a training with one length draws first."""
    keys = fold(stream_key(jax.random.key(setup.run.data_seed), EXAMPLES), jnp.arange(8))
    total = count = 0
    for key in keys:
        example = setup.layout(setup.task, setup.task.sample(key, jnp.asarray(length), length))
        batch = jax.tree.map(lambda leaf: leaf[None], example)
        positions = jnp.arange(batch.tokens.shape[1])[None, None]
        stream = Stream(batch.tokens, (positions,), batch.mask)
        log_p = jax.nn.log_softmax(setup.model(params)({"decoder": stream}))
        of_labels = jnp.take_along_axis(log_p, batch.labels[..., None], axis=-1)[..., 0]
        total -= (of_labels * batch.target).sum()
        count += batch.target.sum()
    return total / count


@pytest.mark.slow
def test_norms_are_those_of_the_loss_of_one_length():
    """Lengths beyond the trained ones too; symbols may repeat, so that no input is held out."""
    task = {"name": "copy", "num_symbols": 50, "distinct": False}
    setup = build_setup(tiny.run("sinusoidal", task=task, train__exclude_held_out=False))
    params = jax.jit(setup.initial_params)(3)
    found = gradient_norms.before_training(setup, (2, 5), seed=3)
    assert [(norm.step, norm.length) for norm in found] == [(0, 2), (0, 5)]
    for norm in found:
        gradient = jax.grad(lambda p, n=norm.length: loss(setup, p, n))(params)
        squares = sum(float(jnp.square(leaf).sum()) for leaf in jax.tree.leaves(gradient))
        assert norm.norm == pytest.approx(np.sqrt(squares), rel=1e-4)


@pytest.mark.slow
def test_the_course_has_every_point_of_the_curve_and_begins_with_the_initial_parameters(tmp_path):
    run = tiny.run("sinusoidal", checkpoints__keep_curve=True)
    tiny.train(tmp_path, RunGroup((run,)))
    (record,) = records.read_all(tmp_path).values()
    norms = gradient_norms.through_training(tmp_path, record, (2, 3))
    assert [(n.step, n.length) for n in norms] == [(s, n) for s in (0, 6, 12) for n in (2, 3)]
    first = gradient_norms.before_training(build_setup(run), (2, 3))
    assert [n.norm for n in norms[:2]] == pytest.approx([n.norm for n in first], rel=1e-5)
    assert norms[-1].norm != norms[0].norm
