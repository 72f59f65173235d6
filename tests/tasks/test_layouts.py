import dataclasses
import functools
import importlib
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs import plugins
from pe_lab.tasks.base import Example, Task, Vocabulary
from pe_lab.tasks.copy import Copy
from pe_lab.tasks.layouts import LAYOUTS, Decoder, Encoder, EncoderDecoder
from pe_lab.tasks.parity import Parity

PAD, BEGIN, SEPARATOR, END, BLANK = 8, 9, 10, 11, 12  # of Copy(num_symbols=8)


def example(prompt, target, prompt_bound=3, target_bound=3, alignment=()):
    def padded(values, bound, pad=0):
        return jnp.asarray([*values, *[pad] * (bound - len(values))]), jnp.arange(bound) < len(
            values
        )

    there, said = padded(prompt, prompt_bound), padded(target, target_bound)
    return Example(*there, *said, said[1], padded(alignment, target_bound, -1)[0])


def laid_out(layout, task=Copy(num_symbols=8), prompt=(5, 3), target=(5, 3), **rest):
    """The fields of a batch as lists, masks as 0 and 1; structures have tests of their own."""
    fields = vars(layout(task, example(prompt, target, **rest))).items()
    return {
        name: whole(value)
        for name, value in fields
        if value is not None and not isinstance(value, dict)
    }


def whole(value):
    return np.asarray(value).astype(int).tolist()


@pytest.mark.slow
def test_decoder_with_an_end_token():
    assert laid_out(Decoder(end_token=True)) == {
        "tokens": [BEGIN, 5, 3, SEPARATOR, 5, 3, PAD, PAD],
        "labels": [PAD, PAD, PAD, 5, 3, END, PAD, PAD],
        "mask": [1, 1, 1, 1, 1, 1, 0, 0],
        "target": [0, 0, 0, 1, 1, 1, 0, 0],
        "answer": [0, 0, 0, 1, 1, 0, 0, 0],
    }


@pytest.mark.slow
def test_decoder_without_an_end_token():
    assert laid_out(Decoder(end_token=False)) == {
        "tokens": [BEGIN, 5, 3, SEPARATOR, 5, PAD, PAD],
        "labels": [PAD, PAD, PAD, 5, 3, PAD, PAD],
        "mask": [1, 1, 1, 1, 1, 0, 0],
        "target": [0, 0, 0, 1, 1, 0, 0],
        "answer": [0, 0, 0, 1, 1, 0, 0],
    }


@pytest.mark.slow
def test_encoder_with_an_end_token():
    assert laid_out(Encoder(end_token=True)) == {
        "tokens": [5, 3, BLANK, BLANK, BLANK, PAD, PAD],
        "labels": [PAD, PAD, 5, 3, END, PAD, PAD],
        "mask": [1, 1, 1, 1, 1, 0, 0],
        "target": [0, 0, 1, 1, 1, 0, 0],
        "answer": [0, 0, 1, 1, 0, 0, 0],
    }


@pytest.mark.slow
def test_encoder_without_an_end_token():
    assert laid_out(Encoder(end_token=False)) == {
        "tokens": [5, 3, BLANK, BLANK, PAD, PAD],
        "labels": [PAD, PAD, 5, 3, PAD, PAD],
        "mask": [1, 1, 1, 1, 0, 0],
        "target": [0, 0, 1, 1, 0, 0],
        "answer": [0, 0, 1, 1, 0, 0],
    }


@pytest.mark.slow
def test_encoder_decoder_with_an_end_token():
    assert laid_out(EncoderDecoder(end_token=True)) == {
        "source_tokens": [5, 3, PAD],
        "source_mask": [1, 1, 0],
        "tokens": [BEGIN, 5, 3, PAD],
        "labels": [5, 3, END, PAD],
        "mask": [1, 1, 1, 0],
        "target": [1, 1, 1, 0],
        "answer": [1, 1, 0, 0],
    }


@pytest.mark.slow
def test_encoder_decoder_without_an_end_token():
    assert laid_out(EncoderDecoder(end_token=False)) == {
        "source_tokens": [5, 3, PAD],
        "source_mask": [1, 1, 0],
        "tokens": [BEGIN, 5, PAD],
        "labels": [5, 3, PAD],
        "mask": [1, 1, 0],
        "target": [1, 1, 0],
        "answer": [1, 1, 0],
    }


@pytest.mark.slow
def test_one_answer_symbol_stands_behind_prompts_of_any_length():
    """Parity, whose tokens are 2 padding, 3 begin, 4 separator, 5 end, 6 blank."""
    ones = functools.partial(laid_out, task=Parity(), target=(1,), target_bound=1)
    short, long = ones(Decoder(True), prompt=(1,)), ones(Decoder(True), prompt=(1, 1, 1))
    assert (short["tokens"], short["labels"]) == ([3, 1, 4, 1, 2, 2], [2, 2, 1, 5, 2, 2])
    assert (long["tokens"], long["labels"]) == ([3, 1, 1, 1, 4, 1], [2, 2, 2, 2, 1, 5])
    short, long = ones(Encoder(False), prompt=(1,)), ones(Encoder(False), prompt=(1, 1, 1))
    assert (short["tokens"], short["labels"]) == ([1, 6, 2, 2], [2, 1, 2, 2])
    assert (long["tokens"], long["labels"]) == ([1, 1, 1, 6], [2, 2, 2, 1])
    short = ones(EncoderDecoder(False), prompt=(1,))
    assert (short["source_tokens"], short["tokens"], short["labels"]) == ([1, 2, 2], [3], [1])


def structures(layout, **of_example):
    """The structures that a layout gives to each token, and to each token of the source.

    There are three prompt symbols of at most four, and two target symbols of at most three.
    """
    given = dict(prompt=(5, 3, 7), target=(3, 5), prompt_bound=4) | of_example
    batch = layout(Copy(num_symbols=8), example(**given))
    assert whole(batch.mask) == sorted(whole(batch.mask), reverse=True)
    return [
        {name: whole(value) for name, value in s.items()}
        for s in (batch.structure, batch.source_structure)
        if s is not None
    ]


CROSSED = dict(alignment=(1, 0))  # the target's symbols are of the prompt's second and first


@pytest.mark.slow
def test_a_decoder_couples_what_is_aligned_and_its_target_begins_at_the_separator():
    """BEGIN 5 3 7 SEPARATOR 3 5, then padding."""
    assert structures(Decoder(end_token=True), **CROSSED) == [
        {
            "symbols": [0, 1, 1, 1, 0, 1, 1, 0, 0],
            "coupled": [0, 1, 2, 3, 0, 2, 1, 0, 0],
            "parts": [0, 0, 0, 0, 1, 1, 1, 1, 1],
        }
    ]


@pytest.mark.slow
def test_an_encoders_blanks_count_as_the_symbols_that_they_stand_for_and_the_end_as_none():
    """5 3 7 BLANK BLANK BLANK, the last for the end, then padding."""
    assert structures(Encoder(end_token=True), **CROSSED) == [
        {
            "symbols": [1, 1, 1, 1, 1, 0, 0, 0],
            "coupled": [1, 2, 3, 2, 1, 0, 0, 0],
            "parts": [0, 0, 0, 1, 1, 1, 1, 1],
        }
    ]


@pytest.mark.slow
def test_an_encoder_decoder_couples_across_its_streams():
    """5 3 7, and BEGIN 3 5, each then padding."""
    assert structures(EncoderDecoder(end_token=True), **CROSSED) == [
        {"symbols": [0, 1, 1, 0], "coupled": [0, 2, 1, 0], "parts": [1, 1, 1, 1]},
        {"symbols": [1, 1, 1, 0], "coupled": [1, 2, 3, 0], "parts": [0, 0, 0, 0]},
    ]


def test_a_source_holds_prompt_symbols_alone():
    source = structures(EncoderDecoder(end_token=True), prompt=(5,), alignment=(0, 0))[1]
    assert source == {"symbols": [1, 0, 0, 0], "coupled": [1, 0, 0, 0], "parts": [0, 0, 0, 0]}


@pytest.mark.slow
def test_without_an_end_token_the_last_target_symbol_is_not_read():
    assert structures(Decoder(end_token=False), **CROSSED)[0]["coupled"] == [0, 1, 2, 3, 0, 2, 1, 0]
    batch = Decoder(end_token=False)(Copy(num_symbols=8), example((5, 3, 7), (3, 5), 4, **CROSSED))
    assert whole(batch.mask) == [1, 1, 1, 1, 1, 1, 0, 0]


@pytest.mark.slow
def test_what_comes_from_no_prompt_token_is_a_symbol_and_coupled_to_none():
    for layout in LAYOUTS.values():
        made = structures(layout(end_token=True), alignment=(-1, 2))[0]
        coupled = [c for c, s in zip(made["coupled"], made["symbols"], strict=True) if s]
        assert coupled[-2:] == [0, 3]


@dataclass(frozen=True)
class Translation(Task):
    """Prompts and targets are of two vocabularies."""

    prompt_symbols: int
    target_symbols: int

    @property
    def vocabulary(self):
        return Vocabulary(self.prompt_symbols)

    @property
    def target_vocabulary(self):
        return Vocabulary(self.target_symbols)


@pytest.mark.slow
def test_in_two_streams_each_side_has_its_own_vocabulary():
    task, layout = Translation(2, 10), EncoderDecoder(end_token=True)
    assert layout.vocabularies(task) == {"encoder": 7, "decoder": 15}
    made = laid_out(layout, task, prompt=(1, 0), target=(9, 2))
    assert (made["source_tokens"], made["tokens"], made["labels"]) == (
        [1, 0, 2],
        [11, 9, 2, 10],
        [9, 2, 13, 10],
    )


@pytest.mark.parametrize("symbols", [(2, 10), (10, 2)])
def test_in_one_stream_the_shared_tokens_are_no_symbols_of_either_side(symbols):
    """The table has ten symbols; then 10 padding, 11 begin, 12 separator, 13 end, 14 blank."""
    task, words = Translation(*symbols), dict(prompt=(1, 0), target=(1, 1))
    assert Decoder(True).vocabularies(task) == {"decoder": 15}
    assert Encoder(True).vocabularies(task) == {"encoder": 15}
    made = laid_out(Decoder(True), task, **words)
    assert (made["tokens"], made["labels"]) == (
        [11, 1, 0, 12, 1, 1, 10, 10],
        [10, 10, 10, 1, 1, 13, 10, 10],
    )
    made = laid_out(Encoder(True), task, **words)
    assert (made["tokens"], made["labels"]) == (
        [1, 0, 14, 14, 14, 10, 10],
        [10, 10, 1, 1, 13, 10, 10],
    )


def test_only_the_encoder_layout_reveals_the_target_length():
    assert {name: layout.reveals_target_length for name, layout in LAYOUTS.items()} == {
        "decoder": False,
        "encoder": True,
        "encoder_decoder": False,
    }


SEVERAL = 4  # lengths, from a task's shortest
QUICK = {
    "copy",
    "flip_flop",
    "stack_manipulation",
    "addition",
}  # plain, with tokens that are given, a scratchpad, structure of its own


def arguments_of(name):
    own = importlib.import_module(f"tests.tasks.test_{name}")
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
