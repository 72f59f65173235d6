import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.training import step
from pe_lab.training.cell import _stack
from pe_lab.training.evaluate import Evaluator, bounds
from tests import tiny


def compiled(f, *args, donate=()):
    return jax.jit(f)


@functools.cache
def trained(encoding="rope", steps=60, **changes):
    """A run, its setup, and two replicas trained so far that some answers are right and some are not."""
    run = tiny.run(encoding, execution__chunk_steps=80, train__steps=80, train__learning_rate=1e-2, **changes)
    made, which = step.setup(run), _stack([run.replica(), {**run.replica(), "seed": 1}])
    state = jax.jit(functools.partial(step.init, made))(which)
    state, _ = jax.jit(functools.partial(step.chunk, made))(state, which, jnp.asarray(steps))
    return made, state


def logits_of(made, state, r, split, length, count, offset=0):
    """The examples and the logits that evaluation is about, recomputed one example at a time."""
    out = []
    params = jax.tree.map(lambda p: p[r], state["params"])
    for i in range(count):
        key = jax.random.key(0)
        for name in (step.EVALUATION, split, length, i):
            key = jax.random.fold_in(key, name)
        batch = step.examples(made, key[None], jnp.asarray([length]), length)
        positions = made.scheme(jax.random.fold_in(key, step.POSITIONS)[None], batch.mask, train=False) + offset
        out.append(
            (jax.tree.map(lambda x: np.asarray(x[0]), batch), np.asarray(made.model(params)(batch.tokens, positions, batch.mask))[0])
        )
    return out


@pytest.mark.parametrize("offset", [0, 3])
def test_metrics_by_hand(offset):
    made, state = trained()
    sums = Evaluator(made, compiled).measure(state, "test", 3, offset, 12)
    for r in range(2):
        exact = exact_without = right = 0
        nll, first = 0.0, [0] * 4
        for batch, logits in logits_of(made, state, r, 1, 3, 12, offset):
            said = logits.argmax(-1)[batch.target] == batch.labels[batch.target]
            exact += said.all()
            exact_without += said[:-1].all()
            right += said[:-1].sum()
            if not said.all():
                first[said.argmin()] += 1
            log_probability = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            nll -= np.take_along_axis(log_probability, batch.labels[:, None], 1)[batch.target].sum()
        got = sums[r]
        assert (got["exact_match"], got["exact_match_without_end"], got["tokens_right"]) == (exact, exact_without, right)
        assert (got["tokens"], got["targets"], got["not_finite"]) == (36, 48, 0)
        assert got["first_error"][:4].tolist() == first
        assert got["losses"] == pytest.approx(nll, rel=1e-4)
        assert 0 < right < 36  # neither all nor none: the comparison says something


def test_teacher_forced_exact_match_is_greedy_decoding():
    """Every token generated from the model's own output, one forward pass each."""
    made, state = trained()
    model, words = made.model(jax.tree.map(lambda p: p[0], state["params"])), made.task.vocabulary
    greedy = []
    for batch, _ in logits_of(made, state, 0, 1, 3, 12):
        tokens, target = batch.tokens.copy(), np.flatnonzero(batch.target)
        tokens[target[1:]] = words.pad
        for place in target:
            seen = jnp.asarray(np.arange(len(tokens)) <= place)[None]
            said = int(
                model(jnp.asarray(tokens)[None], made.scheme(jax.random.split(jax.random.key(0), 1), seen, train=False), seen)[
                    0, place
                ].argmax()
            )
            if place + 1 < len(tokens):
                tokens[place + 1] = said
            else:
                last = said
        greedy.append([*tokens[target[1:]].tolist(), last] == batch.labels[target].tolist())
    assert Evaluator(made, compiled).measure(state, "test", 3, 0, 12)[0]["exact_match"] == sum(greedy)
    assert 0 < sum(greedy) < 12


def test_padding_and_batches_change_no_number():
    """Length 3 in the shapes of length 3 and of length 6, in batches of 8 and at once."""
    made, state = trained()
    evaluator = Evaluator(made, compiled)
    short = evaluator.measure(state, "test", 3, 0, 16)
    evaluator.bounds = {3: 6}
    padded = evaluator.measure(state, "test", 3, 0, 16)
    for name in ("exact_match", "exact_match_without_end", "tokens_right", "tokens", "targets"):
        assert [s[name] for s in short] == [p[name] for p in padded]


def test_splits_and_lengths_have_examples_of_their_own():
    made, _ = trained()
    prompts = [step.examples(made, step.fold(key(split), jnp.arange(4)), jnp.full(4, 3), 3).tokens.tolist() for split in (0, 1)]
    assert prompts[0] != prompts[1]


def key(split):
    return step.stream(step.stream(jax.random.key(0), step.EVALUATION), split)


def test_a_length_beyond_the_table_is_null_with_its_reason():
    made, state = beyond_table()
    rows = Evaluator(made, compiled).rows(state)[0]
    null = [r for r in rows if r["value"] is None]
    assert [(r["length"], r["offset"], r["count"]) for r in null] == [(5, 0, 0)]
    assert null[0]["reason"] == "learned has positions 0..7; length 5 asks for position 11"


def beyond_table():
    run = tiny.run({"name": "learned", "max_positions": 8})
    made, which = step.setup(run), _stack([run.replica()])
    return made, step.init(made, which)


def test_rows_are_the_grid_and_validation_is_in_distribution():
    made, state = trained(steps=1)
    rows = Evaluator(made, compiled).rows(state)[1]
    exact = [(r["split"], r["length"], r["offset"]) for r in rows if r["metric"] == "exact_match"]
    assert exact == [("validation", 2, 0), ("validation", 3, 0), ("test", 2, 0), ("test", 3, 0), ("test", 5, 0)]
    assert {r["count"] for r in rows} == {16}
    metrics = [r["metric"] for r in rows[:5]]
    assert metrics == ["exact_match", "exact_match_without_end", "token_accuracy", "negative_log_likelihood", "first_error"]


def test_logits_that_are_not_finite_are_wrong_and_say_so():
    made, state = beyond_table()
    poisoned = {**state, "params": jax.tree.map(lambda p: p * jnp.nan, state["params"])}
    rows = Evaluator(made, compiled).rows(poisoned)[0]
    test = {r["metric"]: r for r in rows if r["split"] == "test" and r["length"] == 2}
    assert (test["exact_match"]["value"], test["token_accuracy"]["value"]) == (0, 0)
    assert test["first_error"]["value"] == [16, 0, 0]
    assert test["negative_log_likelihood"]["value"] is None
    assert test["negative_log_likelihood"]["reason"] == "the logits of 16 of 16 examples are not finite"


@pytest.mark.parametrize(
    ("lengths", "first", "expected"),
    [
        ((4, 8, 10, 16), 8, {4: 8, 8: 8, 10: 16, 16: 16}),
        ((8, 9, 32, 33, 100), 8, {8: 8, 9: 32, 32: 32, 33: 100, 100: 100}),
        ((2, 3), 16, {2: 16, 3: 16}),
        ((100,), 8, {100: 100}),
    ],
)
def test_lengths_share_few_padded_ones(lengths, first, expected):
    assert bounds(lengths, first) == expected
