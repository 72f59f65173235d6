"""The metrics of an evaluation agree with those of one example at a time."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.model.streams import Stream
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.training import evaluation_data
from pe_lab.training.batches import add_positions, draw_examples
from pe_lab.training.build import build_setup
from pe_lab.training.random_keys import EVALUATED_POSITIONS, EVALUATION, SOURCE_POSITIONS
from pe_lab.training.state import initial_state
from pe_lab.training.step import train_chunk
from tests import tiny
from tests.tiny import members
from tests.training.trained_members import evaluator, trained


def logits_of(made, params, r, split, length, count, offset=0):
    """The examples and the logits that evaluation is about, recomputed one example at a time."""
    out = []
    model = jax.jit(made.model(jax.tree.map(lambda p: p[r], params)).__call__)
    examples = jax.jit(lambda keys, lengths: draw_examples(made, keys, lengths, length))
    for i in range(count):
        key = jax.random.key(0)
        for name in (EVALUATION, split, length, i):
            key = jax.random.fold_in(key, name)
        batch = examples(key[None], jnp.asarray([length]))
        key = jax.random.fold_in(key, EVALUATED_POSITIONS)
        positions = made.scheme(key[None], batch.mask, train=False) + offset
        name = "encoder" if made.run.layout.name == "encoder" else "decoder"
        streams = {name: Stream(batch.tokens, (positions,), batch.mask)}
        if batch.source_tokens is not None:
            key = jax.random.fold_in(key, SOURCE_POSITIONS)
            positions = made.scheme(key[None], batch.source_mask, train=False) + offset
            streams["encoder"] = Stream(batch.source_tokens, (positions,), batch.source_mask)
        logits = model(streams)
        out.append((jax.tree.map(lambda x: np.asarray(x[0]), batch), np.asarray(logits)[0]))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0, 3])
def test_metrics_by_hand(offset):
    made, params = trained()
    sums = evaluator(made).measure(params, EvaluationPoint("test", 3, offset), 12)
    for r in range(2):
        exact = exact_without = right = 0
        nll, first = 0.0, [0] * 4
        for batch, logits in logits_of(made, params, r, 1, 3, 12, offset):
            said = logits.argmax(-1)[batch.target] == batch.labels[batch.target]
            exact += said.all()
            exact_without += said[:-1].all()
            right += said[:-1].sum()
            if not said.all():
                first[said.argmin()] += 1
            log_probability = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            nll -= np.take_along_axis(log_probability, batch.labels[:, None], 1)[batch.target].sum()
        got = sums[r].sums.metrics
        assert got["exact_match"] == (exact, 12)
        assert got["exact_match_without_end"] == (exact_without, 12)
        assert got["token_accuracy"] == (right, 36)
        assert got["first_error"].total[:4].tolist() == first
        assert got["negative_log_likelihood"] == (pytest.approx(nll, rel=1e-4), 48)
        assert sums[r].sums.not_finite == 0
        assert 0 < right < 36  # neither all nor none: the comparison says something


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["encoder", "encoder_decoder"])
def test_metrics_of_other_layouts_by_hand(layout):
    """Of a fresh model, with positions of each example's and each stream's own."""
    scheme = dict(name="randomized", maximum=32)
    made = build_setup(
        tiny.run("rope", "sinusoidal", layout__name=layout, positions=scheme, model__num_layers=1)
    )
    params = initial_state(made, members({"seed": 2})).params
    right = first = 0
    nll = 0.0
    for batch, logits in logits_of(made, params, 0, 1, 3, 8, 1):
        said = logits.argmax(-1)[batch.target] == batch.labels[batch.target]
        right += said[:-1].sum()
        first += not said[0]
        log_probability = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        nll -= np.take_along_axis(log_probability, batch.labels[:, None], 1)[batch.target].sum()
    (measured,) = evaluator(made).measure(params, EvaluationPoint("test", 3, 1), 8)
    got = measured.sums.metrics
    assert got["token_accuracy"] == (right, 24)
    assert got["first_error"].total[0] == first
    assert got["negative_log_likelihood"] == (pytest.approx(nll, rel=1e-4), 32)
    assert measured.scale_ratio.shape == (len(made.abstract_model.stacks),)


@pytest.mark.slow
def test_scale_ratios_count_no_padding():
    """Raw indices 0..n - 1 of n tokens: the rms is that of the indices, whatever the shape."""
    ratios = []
    for longest in (3, 6):
        made = build_setup(tiny.run("raw_index", evaluate__lengths=(3, longest)))
        params = initial_state(made, members({})).params
        (measured,) = evaluator(made).measure(params, EvaluationPoint("test", 3, 0), 8)
        ratios.append(measured.scale_ratio)
    np.testing.assert_allclose(ratios[0], ratios[1], rtol=1e-6)


@pytest.mark.slow
def test_teacher_forced_exact_match_is_greedy_decoding():
    """Every token generated from the model's own output, one forward pass each."""
    made, params = trained()
    words = made.task.vocabulary
    model = jax.jit(made.model(jax.tree.map(lambda p: p[0], params)).__call__)
    greedy = []
    for batch, _ in logits_of(made, params, 0, 1, 3, 12):
        tokens, target = batch.tokens.copy(), np.flatnonzero(batch.target)
        tokens[target[1:]] = words.pad
        for place in target:
            seen = jnp.asarray(np.arange(len(tokens)) <= place)[None]
            positions = made.scheme(jax.random.split(jax.random.key(0), 1), seen, train=False)
            stream = Stream(jnp.asarray(tokens)[None], (positions,), seen)
            said = int(model({"decoder": stream})[0, place].argmax())
            if place + 1 < len(tokens):
                tokens[place + 1] = said
            else:
                last = said
        greedy.append([*tokens[target[1:]].tolist(), last] == batch.labels[target].tolist())
    measured = evaluator(made).measure(params, EvaluationPoint("test", 3, 0), 12)[0]
    assert measured.sums.metrics["exact_match"] == (sum(greedy), 12)
    assert 0 < sum(greedy) < 12


@pytest.mark.slow
def test_padding_and_batches_change_no_number():
    """Length 3 in the shapes of length 5 and of length 6, in batches of 8."""
    made, params = trained()
    measure = evaluator(made)
    short = measure.measure(params, EvaluationPoint("test", 3, 0), 16)
    measure.bound, measure.programs = 6, {}
    padded = measure.measure(params, EvaluationPoint("test", 3, 0), 16)
    for name in ("exact_match", "exact_match_without_end", "token_accuracy"):
        of_padded = [member.sums.metrics[name] for member in padded]
        assert [member.sums.metrics[name] for member in short] == of_padded


@pytest.mark.slow
def test_a_scratchpads_answer_is_scored_alone_as_well():
    """Parity of 3 bits by its prefixes: four tokens and the end. A model that is wrong about the
    first alone has the answer right.
    """
    task = {"name": "parity", "answer": "scratchpad"}
    made, which = (
        build_setup(
            tiny.run(
                "sinusoidal",
                task=task,
                model__num_layers=1,
                execution__chunk_steps=80,
                train__steps=80,
            )
        ),
        members({"learning_rate": 1e-2}),
    )
    state = jax.jit(functools.partial(initial_state, made))(which)
    state, _ = jax.jit(functools.partial(train_chunk, made))(state, which, jnp.asarray(60))
    params = state.params
    (measured,) = evaluator(made).measure(params, EvaluationPoint("test", 3, 0), 12)
    answers = wholes = 0
    for batch, logits in logits_of(made, params, 0, 1, 3, 12):
        right = logits.argmax(-1) == batch.labels
        answers += right[batch.answer].all()
        wholes += right[batch.target][:-1].all()
        assert 0 < batch.answer.sum() < batch.target.sum() - 1
    assert measured.sums.metrics["answer_exact_match"] == (answers, 12)
    assert measured.sums.metrics["exact_match_without_end"] == (wholes, 12)
    assert answers > wholes
    plain = build_setup(tiny.run("sinusoidal", model__num_layers=1))
    (rows,) = evaluator(plain).rows(tiny.params_of(plain), [EvaluationPoint("test", 3, 0)])
    assert "answer_exact_match" not in {r["metric"] for r in rows}


@pytest.mark.slow
def test_a_text_has_the_likelihood_of_every_place(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox jumps over the lazy dog\n" * 20, encoding="utf-8")
    task = {"name": "language_model", "path": str(text), "data_dir": str(tmp_path / "data")}
    made = build_setup(
        tiny.run("sinusoidal", task=task, layout__end_token=False, model__num_layers=1)
    )
    params, data = tiny.params_of(made), made.data("test")
    (rows,) = evaluator(made).rows(params, [EvaluationPoint("test", 3, 0)])
    found = {r["metric"]: r["value"] for r in rows}
    keys = evaluation_data.keys(1, 3, jnp.arange(16))
    batch, streams = add_positions(
        made, draw_examples(made, keys, jnp.full(16, 3), 3, data), keys, train=False
    )
    logits = np.asarray(made.model(jax.tree.map(lambda p: p[0], params))(streams))
    losses = (
        np.log(np.exp(logits).sum(-1))
        - np.take_along_axis(logits, np.asarray(batch.labels)[..., None], -1)[..., 0]
    )
    by_place = losses[np.asarray(batch.target)].reshape(16, 3).mean(axis=0)
    assert found["negative_log_likelihood_by_place"] == pytest.approx(by_place.tolist(), rel=1e-5)
    assert found["negative_log_likelihood"] == pytest.approx(by_place.mean(), rel=1e-5)
