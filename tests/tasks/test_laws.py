"""Every law on every task in the folder."""

import ast
import dataclasses
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_lab.runs.plugins import plugins
from pe_lab.tasks.chance_levels import chance_levels
from tests import choices
from tests.tasks.cases import (
    NAMES,
    always,
    answer,
    drawn,
    every,
    every_variant,
    exact,
    few,
    file_of,
    lengths_of,
    own_tests,
    parts,
    rows,
    task,
)
from tests.tasks.drawing import BATCH, sample, symbols


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_test_file_of_its_own(name):
    assert file_of(name).exists(), (
        f"pe_lab/tasks/{name}.py needs tests/tasks/test_{name}.py: an `oracle`, a test of an "
        "example worked by hand, ARGUMENTS for the arguments that have no default, and VARIANTS, "
        "a list of further arguments for the laws."
    )


@every
def test_shapes_are_the_bounds_and_masks_are_prefixes(name, arguments):
    lengths, e = drawn(name, arguments)
    one, bound = task(name, arguments), int(lengths.max())
    assert e.prompt.shape == e.prompt_mask.shape == (BATCH, one.prompt_bound(bound))
    wide = (BATCH, one.target_bound(bound))
    assert (
        e.target.shape
        == e.target_mask.shape
        == e.answer_mask.shape
        == e.alignment.shape
        == e.asked.shape
        == wide
    )
    for mask in (e.prompt_mask, e.target_mask, e.answer_mask, e.asked):
        assert mask.dtype == bool
    for mask in (e.prompt_mask, e.target_mask):
        assert (np.diff(mask.astype(int), axis=1) <= 0).all()
    assert (e.prompt_mask.sum(axis=1) <= [one.prompt_bound(n) for n in lengths.tolist()]).all()
    assert (e.target_mask.sum(axis=1) <= [one.target_bound(n) for n in lengths.tolist()]).all()
    for prompt, target in e.structure.values():
        assert (prompt.shape[:2], target.shape[:2]) == (e.prompt.shape, e.target.shape)


@every
def test_the_answer_is_asked_for_and_every_example_has_one(name, arguments):
    _, e = drawn(name, arguments)
    one = task(name, arguments)
    assert (e.answer_mask <= e.asked).all()
    assert (e.asked <= e.target_mask).all()
    assert e.answer_mask.any(axis=1).all()
    assert one.gives_tokens == (e.asked != e.target_mask).any()
    assert one.has_scratchpad == (e.answer_mask != e.asked).any()


@every
def test_symbols_are_of_the_alphabets(name, arguments):
    _, e = drawn(name, arguments)
    one = task(name, arguments)
    for values, mask, words in (
        (e.prompt, e.prompt_mask, one.vocabulary),
        (e.target, e.target_mask, one.target_vocabulary),
    ):
        assert (values[mask] >= 0).all()
        assert (values[mask] < words.num_symbols).all()
        assert sorted([words.pad, words.begin, words.separator, words.end, words.blank]) == list(
            range(words.num_symbols, words.size)
        )


@every
def test_the_target_is_the_oracles(name, arguments):
    one = task(name, arguments)
    if one.is_text:
        pytest.skip("text has no right answer")
    for example in rows(drawn(name, arguments)[1]):
        prompt, target, given = parts(example)
        np.testing.assert_array_equal(target, answer(one, prompt, given))


@every
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**31 - 1))
def test_the_target_is_the_oracles_for_any_key_and_length(name, arguments, seed):
    """A batch of keys and lengths for each seed: one compiled program draws them all."""
    one = task(name, arguments)
    if one.is_text:
        return
    lengths = lengths_of(one)
    keys = jax.random.split(jax.random.key(seed), BATCH)
    examples = sample(one, keys, np.random.default_rng(seed).choice(lengths, BATCH), max(lengths))
    for example in rows(examples):
        prompt, target, given_ = parts(example)
        np.testing.assert_array_equal(target, answer(one, prompt, given_))


@every_variant
def test_every_example_has_exactly_the_length_of_its_evaluation(name, arguments):
    """Exact arguments leave no example shorter or longer, and the oracle gives the same answers."""
    trained = task(name, arguments)
    one, lengths, count = exact(trained, "longest"), lengths_of(trained), 32
    keys = jax.random.split(jax.random.key(1), count * len(lengths))
    examples = sample(one, keys, np.repeat(lengths, count), max(lengths), "test")
    for i, example in enumerate(rows(examples)):
        prompt, target, given_ = parts(example)
        length = lengths[i // count]
        allowed = trained.evaluation_lengths(length)
        assert max(allowed) <= length
        assert one.measure_length(prompt, target) in allowed
        if not trained.is_text:
            np.testing.assert_array_equal(target, answer(trained, prompt, given_))


@every
def test_alignment_points_to_the_symbol_that_is_said(name, arguments):
    _, e = drawn(name, arguments)
    where = np.nonzero(e.alignment >= 0)
    np.testing.assert_array_equal(e.target[where], e.prompt[where[0], e.alignment[where]])
    assert e.target_mask[where].all()
    assert e.prompt_mask[where[0], e.alignment[where]].all()


@few
def test_one_key_is_one_example_whatever_the_bound(name, arguments):
    _, short = drawn(name, arguments)
    one = task(name, arguments)
    _, long = drawn(name, arguments, more=min(5, (one.max_length or 10**9) - lengths_of(one)[-1]))
    for narrow, wide in zip(jax.tree.leaves(short), jax.tree.leaves(long), strict=True):
        np.testing.assert_array_equal(narrow, wide[:, : narrow.shape[1]])


@pytest.mark.full
@every
def test_a_traced_length_equals_a_static_one(name, arguments):
    one, key = task(name, arguments), jax.random.key(5)
    length, bound = lengths_of(one)[-2:] if len(lengths_of(one)) > 1 else lengths_of(one) * 2
    data = jax.tree.map(jnp.asarray, one.data("train"))
    traced = jax.jit(lambda n: one.sample(key, n, bound, data))(length)
    static = jax.jit(lambda: one.sample(key, jnp.asarray(length), bound, data))()
    jax.tree.map(np.testing.assert_array_equal, traced, static)


@every
def test_keys_give_different_examples(name, arguments):
    one = task(name, arguments)
    longest = lengths_of(one)[-1]
    keys = jax.random.split(jax.random.key(1), BATCH)
    e = sample(one, keys, np.full(BATCH, longest), longest)
    assert len({(x.prompt.tobytes(), x.target.tobytes()) for x in rows(e)}) > 2


@pytest.mark.full
@every
def test_no_constant_answer_beats_the_floor(name, arguments):
    """The best guess at each place is at least as good, on unseen examples, as one symbol."""
    one = task(name, arguments)
    length = lengths_of(one)[-1]
    (chance_level,) = chance_levels(
        one, [length], 256, jax.tree.map(jnp.asarray, one.data("train"))
    )
    draws = [
        sample(one, jax.random.split(jax.random.key(i), BATCH), np.full(BATCH, length), length)
        for i in range(5)
    ]
    said = np.concatenate([e.target[e.answer_mask] for e in draws])
    assert (chance_level["length"], chance_level["count"]) == (length, 256)
    assert np.bincount(said).max() / len(said) - 0.15 <= chance_level["token_accuracy"] <= 1
    assert 0 <= chance_level["exact_match"] <= 1


CHANCES = [
    pytest.param(name, tuple(arguments.items()), *case, id=f"{name}-{case[1]}")
    for name in NAMES
    for arguments, *case in getattr(own_tests(name), "CHANCE_LEVELS", ())
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments", "length", "metric", "level", "answers"), CHANCES)
def test_the_chance_level_is_within_five_standard_deviations(
    name, arguments, length, metric, level, answers
):
    """Of 1000 examples with a number of answers each; guesses are learned from as many."""
    (found,) = chance_levels(task(name, arguments), (length,), 1000)
    deviation = (level * (1 - level) / (1000 * answers)) ** 0.5
    assert abs(found[metric] - level) < 5 * deviation


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_has_a_worked_example_that_the_oracle_confirms(name):
    """Indented lines `prompt -> target  # argument=value`; given target symbols in brackets."""
    text = inspect.getmodule(plugins.find("tasks", name)).__doc__ or ""
    if plugins.find("tasks", name).is_text:
        pytest.skip("text has no right answer")
    lines = re.findall(r"^    (.*?) -> (.*?)(?:  # (.*))?$", text, flags=re.MULTILINE)
    assert lines, f"{name}'s module docstring needs an indented line like: 1 0 1 0 1 -> 1"
    for left, right, arguments in lines:
        keywords = ast.parse(f"dict({arguments})", mode="eval").body.keywords
        one = task(
            name, (*always(name).items(), *((k.arg, ast.literal_eval(k.value)) for k in keywords))
        )
        words = [
            (word, bool(inside))
            for inside, asked in re.findall(r"\[(.*?)\]|(\S+)", right)
            for word in (inside or asked).split()
        ]
        target = symbols(one.target_vocabulary, " ".join(word for word, _ in words))
        given = np.array(
            [
                symbol if is_given else -1
                for symbol, (_, is_given) in zip(target, words, strict=True)
            ]
        )
        said = answer(one, np.array(symbols(one.vocabulary, left), int), given)
        assert np.asarray(said).tolist() == target, (left, arguments)


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_names_its_papers_or_says_that_there_is_none(name):
    text = inspect.getmodule(plugins.find("tasks", name)).__doc__ or ""
    assert "https://arxiv.org/abs/" in text or "No paper:" in text, (
        f"the module docstring of {name} needs the link of a paper, "
        "or 'No paper:' and the source of the idea"
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_is_described(name):
    cls = plugins.find("tasks", name)
    for field in dataclasses.fields(cls):
        assert re.search(
            rf"^ +{field.name}: ",
            (cls.__doc__ or "") + "".join(b.__doc__ or "" for b in cls.__mro__[1:]),
            re.MULTILINE,
        ), field.name


REFUSALS = [
    pytest.param(name, arguments, sentence, id=f"{name}-{arguments}")
    for name in NAMES
    for arguments, sentence in getattr(own_tests(name), "REFUSALS", ())
]


@pytest.mark.parametrize(("name", "arguments", "sentence"), REFUSALS)
def test_arguments_that_make_no_sense_are_refused(name, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        plugins.find("tasks", name)(**arguments)


@pytest.mark.parametrize(("name", "argument"), choices.arguments("tasks"))
def test_a_misspelled_choice_is_rejected(name, argument):
    choices.assert_misspellings_are_rejected("tasks", name, argument)
