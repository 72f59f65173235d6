"""Inputs of validation and test never occur in training where a length has enough of them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.count import Count
from pe_lab.contrib.papers.tasks.regular import Regular
from pe_lab.contrib.papers.tasks.repeat import Repeat
from pe_lab.tasks.copy import Copy
from pe_lab.tasks.parity import Parity
from pe_lab.tasks.reverse import Reverse
from pe_lab.training import evaluation_data, splits, step
from pe_lab.training.build import build_setup
from pe_lab.training.random_keys import EXAMPLES, LENGTHS, fold, stream_key
from tests import tiny
from tests.marks import full
from tests.tasks import cases

TRAINED, EVALUATED = 2048, 256


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def drawn(task, rule, bound, train_lengths, lengths):
    """Training and evaluation examples of these lengths, and which of the latter are held out."""
    of_training, of_evaluation = jax.random.split(jax.random.key(1))
    keys = jax.random.split(of_training, len(train_lengths))
    trained = splits.draw(task, rule, keys, train_lengths, bound, held_out=False)
    keys = jax.random.split(of_evaluation, len(lengths))
    evaluated = splits.draw(task, rule, keys, lengths, bound, held_out=True)
    return trained, evaluated, jax.vmap(rule.holds_out)(evaluated)


def evaluated(task, rule, length):
    return drawn(task, rule, length, np.full(1, length), np.full(EVALUATED, length))[1]


def inputs(examples):
    """What the model is given of each example: the prompt, and the target's given tokens."""
    e = jax.tree.map(np.asarray, examples)
    given = np.where(e.asked, -1, e.target)
    prompts = [tuple(row[mask].tolist()) for row, mask in zip(e.prompt, e.prompt_mask, strict=True)]
    givens = [tuple(row[mask].tolist()) for row, mask in zip(given, e.target_mask, strict=True)]
    return list(zip(prompts, givens, strict=True))


@pytest.mark.slow
@cases.few
def test_no_input_of_evaluation_is_drawn_in_training(name, arguments):
    """Training draws lengths up to the longest, evaluation two of them, and its inputs differ."""
    task = cases.task(name, arguments)
    rule = splits.rule(task)
    if rule.min_length is None:
        return
    longest = min(rule.min_length + 4, task.max_length or rule.min_length + 4)
    first = max(task.min_length, rule.min_length - 2)
    train_lengths = np.resize(np.arange(first, longest + 1), TRAINED)
    lengths = np.repeat([rule.min_length, longest], EVALUATED)
    trained, evaluated, is_held_out = drawn(task, rule, longest, train_lengths, lengths)
    assert is_held_out.all()
    known, measured = set(inputs(trained)), inputs(evaluated)
    for of_length in (measured[:EVALUATED], measured[EVALUATED:]):
        assert not known & set(of_length)
        assert len(set(of_length)) > EVALUATED / 2


@pytest.mark.parametrize("name", [full("scan"), "language_model", full("aligned_text")])
def test_tasks_with_data_keep_its_splits(name):
    task = cases.task(name, tuple(cases.always(name).items()))
    assert splits.rule(task) == splits.Rule(None)


@pytest.mark.slow
def test_independent_streams_would_overlap():
    """The same draws without a rule: most inputs of length 3 occur in training."""
    none = splits.Rule(None)
    lengths = np.full(8 * TRAINED, 3), np.full(EVALUATED, 3)
    trained, evaluated, _ = drawn(Copy(num_symbols=24), none, 3, *lengths)
    known = set(inputs(trained))
    assert np.mean([one in known for one in inputs(evaluated)]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "min_length"),
    [
        (Copy(num_symbols=24), 3),  # 24 * 23 * 22 = 12144 inputs
        (Copy(num_symbols=19), 4),  # 19 * 18 * 17 = 5814, too few
        (Copy(num_symbols=6), None),  # 720 at most
        (Parity(), 14),  # 2^13 is about the limit
        (Repeat(), None),  # 100 inputs of every length
        (Regular("tomita_2"), None),  # half of the draws are the one member of their length
    ],
)
def test_inputs_are_held_out_from_the_shortest_length_with_enough_of_them(task, min_length):
    assert splits.rule(task).min_length == min_length


@pytest.mark.slow
def test_short_inputs_stay_in_training_whatever_length_they_are_drawn_for():
    rule = splits.rule(Copy(num_symbols=24))
    examples = evaluated(Copy(num_symbols=24), splits.Rule(None), 2)
    assert not jax.jit(jax.vmap(rule.holds_out))(examples).any()


@pytest.mark.slow
def test_strings_of_one_symbol_are_not_evaluated():
    """They are 2 of 31 draws of a uniform number of ones, and would be up to half of those held
    out.
    """
    task = Count()
    rule = splits.rule(task)
    examples = evaluated(task, rule, 30)
    ones = np.asarray(examples.prompt).sum(axis=1)
    assert rule.min_length <= 30
    assert 0 < ones.min() <= ones.max() < 30
    assert max(np.unique(ones, return_counts=True)[1]) < EVALUATED / 8


@pytest.mark.slow
def test_an_evaluation_example_depends_on_its_own_key_alone():
    task = Reverse(num_symbols=10)
    rule = splits.rule(task)
    sample = jax.jit(evaluation_data.sample, static_argnums=(0, 1, 4))
    length, keys = jnp.asarray(6), functools.partial(evaluation_data.keys, 1, 6)
    few, many = (sample(task, rule, keys(jnp.arange(n)), length, 6) for n in (8, 40))
    jax.tree.map(np.testing.assert_array_equal, few, jax.tree.map(lambda leaf: leaf[:8], many))
    wide = sample(task, rule, keys(jnp.arange(8)), length, 9)
    np.testing.assert_array_equal(few.prompt, wide.prompt[:, :6])


SHORT = dict(model__num_layers=1, train__steps=2, evaluate__curve_every=2, execution__chunk_steps=2)
LONG = dict(
    **SHORT,
    task={"name": "copy", "num_symbols": 24},
    train__max_length=5,
    evaluate__lengths=(2, 5, 7),
    evaluate__validation_lengths=(1, 3),
    evaluate__curve_lengths=(5,),
)


@pytest.mark.slow
def test_training_draws_no_held_out_input_and_keeps_the_others():
    runs = (
        tiny.run(**LONG, train__batch_size=64, train__exclude_held_out=n) for n in (True, False)
    )
    made, before = map(build_setup, runs)
    key = jax.random.key(3)
    now, then = (
        jax.jit(functools.partial(step.draw, m))(key, jnp.asarray(0))[0] for m in (made, before)
    )
    same = (np.asarray(now.tokens) == np.asarray(then.tokens)).all(axis=1)
    rule, keys = made.split_rule, fold(stream_key(key, EXAMPLES), jnp.arange(64))
    lengths = fold(stream_key(key, LENGTHS), jnp.arange(64))
    lengths = jax.vmap(lambda k: jax.random.randint(k, (), 1, 6))(lengths)
    draw = functools.partial(splits.draw, made.task, splits.Rule(None), held_out=False)
    plain = jax.jit(draw, static_argnums=2)(keys, lengths, 5)
    wrong = np.asarray(jax.jit(jax.vmap(rule.holds_out))(plain))
    assert before.split_rule.min_length is None
    assert wrong.any()
    np.testing.assert_array_equal(same, ~wrong)


@pytest.mark.slow
def test_members_side_by_side_draw_what_they_draw_alone():
    made, keys = build_setup(tiny.run(**LONG)), jax.random.split(jax.random.key(4), 3)
    draw = functools.partial(step.draw, made)
    beside = jax.jit(jax.vmap(draw, in_axes=(0, None)))(keys, jnp.asarray(1))
    after = jax.jit(lambda keys: jax.lax.map(lambda key: draw(key, jnp.asarray(1)), keys))(keys)
    alone = [jax.jit(draw)(key, jnp.asarray(1)) for key in keys]
    for one, two, *each in zip(*map(jax.tree.leaves, (beside, after, *alone)), strict=True):
        for side in (one, two):
            for i, leaf in enumerate(each):
                assert (side[i] == leaf).all()


@pytest.mark.slow
def test_a_finite_training_set_has_no_held_out_input():
    made = build_setup(tiny.run(**LONG, train__num_examples=8, train__min_length=5))
    draw = jax.jit(functools.partial(step.draw, made))
    first, second = (draw(jax.random.key(6), jnp.asarray(i))[0].tokens for i in (0, 1))
    np.testing.assert_array_equal(first, second)
    prompts = {prompt for prompt, _ in inputs(evaluated(made.task, made.split_rule, 5))}
    assert not prompts & {tuple(row[1:6]) for row in np.asarray(first).tolist()}


def overlap(record, split):
    return {
        row["length"]: row["value"]
        for row in record["rows"]
        if (row["split"], row["metric"]) == (split, "overlap")
    }


@pytest.mark.slow
def test_a_record_holds_the_share_of_inputs_that_training_can_draw(tmp_path):
    record = tiny.train(tmp_path, tiny.group(seeds=1, **LONG))[0]
    assert overlap(record, "validation") == {1: 1.0, 3: 0.0}
    assert overlap(record, "test") == {2: 1.0, 5: 0.0, 7: 0.0}


@pytest.mark.full
def test_lengths_that_training_does_not_draw_have_no_overlap(tmp_path):
    """All spaces are small: nothing is held out, and only lengths 2 and 3 are trained."""
    lengths = dict(train__min_length=2, evaluate__lengths=(1, 2, 3, 4))
    record = tiny.train(tmp_path, tiny.group(seeds=1, **SHORT, **lengths))[0]
    assert overlap(record, "test") == {1: 0.0, 2: 1.0, 3: 1.0, 4: 0.0}


@pytest.mark.full
def test_a_length_whose_prompts_are_shorter_overlaps_with_the_lengths_that_it_draws(tmp_path):
    """modular_arithmetic has no prompts of even size: length 4 draws those of length 3."""
    changes = dict(task={"name": "modular_arithmetic"}, evaluate__lengths=(3, 4, 5))
    record = tiny.train(tmp_path, tiny.group(seeds=1, **SHORT, **changes))[0]
    assert overlap(record, "test") == {3: 1.0, 4: 1.0, 5: 0.0}


@pytest.mark.full
def test_a_run_that_excludes_nothing_can_draw_every_input_of_its_lengths(tmp_path):
    record = tiny.train(tmp_path, tiny.group(seeds=1, **LONG, train__exclude_held_out=False))[0]
    assert overlap(record, "test") == {2: 1.0, 5: 1.0, 7: 0.0}
