"""Decoding and one forward pass agree on every task."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pe_lab.model.decode import generate
from pe_lab.model.transformer import Transformer
from pe_lab.runs.plugins import plugins
from pe_lab.training import evaluation_data, evaluation_sums
from pe_lab.training.batches import add_positions
from pe_lab.training.build import build_setup
from pe_lab.training.random_keys import EVALUATED_POSITIONS, EVALUATION, fold, stream_key
from tests import models, tiny
from tests.marks import full, full_except
from tests.models import prefix
from tests.tasks import cases

# One forward pass and decoding agree on every task, for a model that knows half of its examples.
COUNT, LENGTH = 8, 5


# Without tasks that give tokens of the target, because decoding does not receive them. Without
# texts, because the model does not learn half of their few pairs.
ANSWERED_ALONE = [
    n for n in plugins.names("tasks") if not cases.always(n) and not cases.task(n).gives_tokens
]


def examples(made):
    """Those of evaluation, laid out, and what the model reads of them."""
    key, (length,) = jax.random.key(0), made.run.evaluate.lengths
    for name in (EVALUATION, evaluation_data.SPLITS.index("test"), length):
        key = stream_key(key, name)
    keys = fold(key, jnp.arange(COUNT))
    data = made.data("test")
    drawn = evaluation_data.sample(
        made.evaluated_task, made.split_rule, keys, jnp.asarray(length), length, data
    )
    batch = jax.vmap(lambda example: made.layout(made.task, example))(drawn)
    return add_positions(
        made, batch, jax.vmap(lambda k: stream_key(k, EVALUATED_POSITIONS))(keys), train=False
    )


def halfway(made, batch, streams):
    """Parameters trained on right labels in the first half, a wrong first token in the second."""
    first = batch.target & (jnp.cumsum(batch.target, axis=1) == 1)
    wrong = (batch.labels + 1) % made.task.target_vocabulary.num_symbols
    labels = jnp.where(first & (jnp.arange(COUNT) >= COUNT // 2)[:, None], wrong, batch.labels)
    adam = optax.adam(1e-2)

    def loss(params):
        losses = optax.softmax_cross_entropy_with_integer_labels(
            made.model(params)(streams), labels
        )
        return jnp.where(batch.target, losses, 0).sum() / COUNT

    def update(_, carry):
        updates, state = adam.update(jax.grad(loss)(carry[0]), carry[1])
        return optax.apply_updates(carry[0], updates), state

    vocabularies = made.layout.vocabularies(made.task)
    start = models.params(Transformer(made.run.model, vocabularies, key=jax.random.key(0)))
    return jax.lax.fori_loop(0, 100, update, (start, adam.init(start)))[0]


def verdicts(made):
    """Verdicts by example of forward pass and decoding, and the exact matches of evaluation."""
    (batch, streams), (length,) = examples(made), made.run.evaluate.lengths
    params = halfway(made, batch, streams)
    model = made.model(params)
    forced = ((model(streams).argmax(axis=-1) == batch.labels) | ~batch.target).all(axis=1)
    place, room = (
        batch.target.argmax(axis=1),
        made.task.target_bound(length) + 1,
    )  # of the first target token's prediction
    # Drawn once for the whole context; slots that only a wrong answer reaches have any position.
    positions, read = None, streams["decoder"]
    if not all(read.arange):
        positions = tuple(jnp.pad(p, ((0, 0), (0, 0), (0, room))) for p in read.positions)
    prompt = prefix(place + 1, read.tokens.shape[1])
    end = made.task.target_vocabulary.end
    answers, _ = generate(
        model,
        read.tokens,
        prompt,
        end=end,
        max_tokens=room,
        positions=positions,
        source=streams.get("encoder"),
    )
    which = evaluation_sums.Examples(
        *map(jnp.asarray, (1, length, 0, 0, COUNT))  # of the test split
    )
    drawn = evaluation_data.draw_batch(
        made.evaluated_task,
        made.split_rule,
        length,
        COUNT,
        which.split,
        which.length,
        which.first,
        made.data("test"),
    )
    params = jax.tree.map(lambda p: p[None], params)
    measured = evaluation_sums.measure_batch(made, length, params, which, drawn)
    counted = measured.sums.metrics["exact_match"].total
    return batch, forced, answers, counted[0]


def assert_verdicts_agree(task, layout, scheme, **changes):
    length = max(LENGTH, cases.task(task).min_length)
    lengths = dict(
        train__max_length=length,
        train__min_length=length,
        evaluate__curve_lengths=(length,),
        evaluate__lengths=(length,),
    )
    changes |= {"layout__name": layout, "positions": scheme, "evaluate__batch_size": COUNT}
    run = tiny.run("rope", "sinusoidal", task={"name": task}, **lengths, **changes)
    made = build_setup(run)
    batch, forced, answers, counted = jax.tree.map(np.asarray, jax.jit(lambda: verdicts(made))())
    greedy = [
        a[: t.sum()].tolist() == labels[t].tolist()
        for a, t, labels in zip(answers, batch.target, batch.labels, strict=True)
    ]
    assert greedy == forced.tolist()
    assert counted == sum(greedy)
    assert 0 < sum(greedy) < COUNT


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["decoder", full("encoder_decoder")])
@pytest.mark.parametrize("task", full_except(["copy"], ANSWERED_ALONE))
def test_greedy_decoding_is_the_verdict_of_one_forward_pass(task, layout):
    assert_verdicts_agree(task, layout, {"name": "contiguous"}, model__num_layers=1)


@pytest.mark.full
@pytest.mark.parametrize("layout", ["decoder", "encoder_decoder"])
def test_greedy_decoding_is_the_verdict_with_positions_drawn_once_for_each_layer(layout):
    assert_verdicts_agree("reverse", layout, dict(name="randomized", maximum=64, per_layer=True))
