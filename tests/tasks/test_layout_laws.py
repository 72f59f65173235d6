"""Every layout obeys its laws on the examples of every task."""

import dataclasses
import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.plugins import plugins
from pe_lab.tasks.copy import Copy
from pe_lab.tasks.layouts import LAYOUTS
from tests import members
from tests.tasks.laid_out import BEGIN, BLANK, PAD, SEPARATOR, example, whole

SEVERAL = 4  # lengths, from a task's shortest
QUICK = {
    "copy",
    "flip_flop",
    "stack_manipulation",
    "addition",
}  # plain, with tokens that are given, a scratchpad, structure of its own


def arguments_of(name):
    own = importlib.import_module(members.test_module("tasks", name))
    return getattr(own, "ARGUMENTS", {}) | getattr(own, "VARIANTS", [{}])[0]


@functools.cache
def drawn(name, layout, end_token):
    """Eight examples of several lengths, laid out in the shapes of the longest.

    Returns the task, the layout, the largest length, and (examples, batch).
    """
    task = plugins.build("tasks", plugins.resolve("tasks", {"name": name, **arguments_of(name)}))
    made, lengths = (
        LAYOUTS[layout](end_token),
        task.min_length
        + np.arange(8) % min(SEVERAL, (task.max_length or 99) - task.min_length + 1),
    )
    bound, data = int(lengths.max()), jax.tree.map(jnp.asarray, task.data("train"))
    sample = jax.jit(jax.vmap(lambda key, n: task.sample(key, n, bound, data)))
    examples = sample(jax.random.split(jax.random.key(1), 8), jnp.asarray(lengths))
    batch = jax.jit(jax.vmap(functools.partial(made, task)))(examples)
    return task, made, bound, jax.tree.map(np.asarray, (examples, batch))


every = pytest.mark.parametrize(
    "which",
    [
        pytest.param((n, la, e), marks=[] if n in QUICK else [pytest.mark.full])
        for n in plugins.names("tasks")
        for la in LAYOUTS
        for e in (False, True)
    ],
    ids=lambda w: "-".join(map(str, w)),
)


def words_of(task, layout):
    """The vocabularies of what answers and of a source."""
    if layout == "encoder_decoder":
        return task.target_vocabulary, task.vocabulary
    return max(task.vocabulary, task.target_vocabulary, key=lambda words: words.size), None


@pytest.mark.slow
@every
def test_shapes_and_masks_are_as_many_tokens_as_a_layout_says(which):
    task, made, bound, (examples, batch) = drawn(*which)
    *source, answering = made.num_tokens(task, bound)
    assert list(made.vocabularies(task)) == [*source, answering]
    wide = (8, made.num_tokens(task, bound)[answering])
    assert {
        getattr(batch, field).shape for field in ("tokens", "mask", "labels", "target", "answer")
    } == {wide}
    prompt, target = examples.prompt_mask.sum(axis=1), examples.target_mask.sum(axis=1)
    around = {
        "decoder": 1 + made.end_token,
        "encoder": made.end_token,
        "encoder_decoder": made.end_token,
    }[which[1]]
    alone = which[1] == "encoder_decoder"
    assert batch.mask.sum(axis=1).tolist() == (target + around + (0 if alone else prompt)).tolist()
    if alone:
        assert (
            batch.source_tokens.shape
            == batch.source_mask.shape
            == (8, made.num_tokens(task, bound)["encoder"])
        )
        assert batch.source_mask.sum(axis=1).tolist() == prompt.tolist()
    else:
        assert (batch.source_tokens, batch.source_mask) == (None, None)


@pytest.mark.slow
@every
def test_labels_are_the_target_and_count_where_it_is_asked_for(which):
    task, made, _, (examples, batch) = drawn(*which)
    words, _ = words_of(task, which[1])
    end = [words.end] * made.end_token
    for i in range(8):
        said, target = examples.target_mask[i], examples.target[i]
        assert batch.labels[i][batch.target[i]].tolist() == target[examples.asked[i]].tolist() + end
        assert batch.labels[i][batch.answer[i]].tolist() == target[examples.answer_mask[i]].tolist()
        assert batch.labels[i][batch.labels[i] != words.pad].tolist() == target[said].tolist() + end


@every
def test_padding_stands_behind_and_is_padding_alone(which):
    task, _, _, (_, batch) = drawn(*which)
    answering, source = words_of(task, which[1])
    for tokens, mask, words in (
        (batch.tokens, batch.mask, answering),
        (batch.source_tokens, batch.source_mask, source),
    ):
        if mask is not None:
            assert (np.diff(mask.astype(int), axis=1) <= 0).all()
            assert (tokens[~mask] == words.pad).all()
            assert (tokens[mask] != words.pad).all()
    assert (batch.target <= batch.mask).all()


@every
def test_structures_are_of_each_place_and_number_the_symbols_that_are_read(which):
    _, _, _, (examples, batch) = drawn(*which)
    for structure, mask in (
        (batch.structure, batch.mask),
        (batch.source_structure, batch.source_mask),
    ):
        if structure is None:
            assert mask is None
            continue
        assert set(structure) == {"symbols", "coupled", "parts", *examples.structure}
        assert {value.shape[:2] for value in structure.values()} == {mask.shape}
        assert (np.diff(structure["parts"], axis=1) >= 0).all()
    if "symbols" not in examples.structure:
        symbols = (batch.structure["symbols"] & batch.mask).sum(axis=1)
        read = examples.target_mask.sum(axis=1) + (
            0 if batch.source_mask is not None else examples.prompt_mask.sum(axis=1)
        )
        unread = (
            which[1] != "encoder" and not which[2]
        )  # the last target symbol, where no end token follows it
        assert symbols.tolist() == (read - unread).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_structure_of_the_tasks_own_stands_in_the_place_of_the_default_one(layout):
    """The prompt's second and the target's first symbol share number 7. Non-symbols have row 0."""
    plain = example((5, 3), (3, 5), alignment=(1, 0))
    grid = tuple(jnp.stack([jnp.arange(1, 4), jnp.arange(3, 0, -1)], axis=1) for _ in range(2))
    own = dataclasses.replace(
        plain, structure={"coupled": (jnp.asarray([0, 7, 0]), jnp.asarray([7, 0, 0])), "grid": grid}
    )
    batch = LAYOUTS[layout](end_token=True)(Copy(num_symbols=8), own)
    coupled, rows_ = whole(batch.structure["coupled"]), whole(batch.structure["grid"])
    expected = {
        "decoder": ([0, 0, 7, 0, 7, 0, 0, 0], [0, 1, 2, 0, 1, 2, 0, 0]),
        "encoder": ([0, 7, 7, 0, 0, 0, 0], [1, 2, 1, 2, 0, 0, 0]),
        "encoder_decoder": ([0, 7, 0, 0], [0, 1, 2, 0]),
    }[layout]
    assert (coupled, [row for row, _ in rows_]) == expected
    if batch.source_structure:
        assert whole(batch.source_structure["coupled"]) == [0, 7, 0]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_given_is_read_and_not_asked_for(layout):
    """Of the target 3 5 the 3 is given: an encoder sees it where a blank would stand."""
    given = dataclasses.replace(
        example((5, 3), (3, 5)),
        asked_mask=jnp.asarray([False, True, False]),
        answer_mask=jnp.asarray([False, True, False]),
    )
    batch = LAYOUTS[layout](end_token=True)(Copy(num_symbols=8), given)
    expected = {
        "decoder": ([BEGIN, 5, 3, SEPARATOR, 3, 5, PAD, PAD], [4, 5]),
        "encoder": ([5, 3, 3, BLANK, BLANK, PAD, PAD], [3, 4]),
        "encoder_decoder": ([BEGIN, 3, 5, PAD], [1, 2]),
    }[layout]
    assert (whole(batch.tokens), np.nonzero(batch.target)[0].tolist()) == expected
    assert np.nonzero(batch.answer)[0].tolist() == expected[1][:1]
