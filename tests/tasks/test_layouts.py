"""Layouts agree with batches that are laid out by hand."""

import functools
from dataclasses import dataclass

import jax.numpy as jnp
import pytest

from pe_lab.tasks.base import Task, Vocabulary, make_example
from pe_lab.tasks.copy import Copy
from pe_lab.tasks.layouts import LAYOUTS, Decoder, Encoder, EncoderDecoder
from pe_lab.tasks.parity import Parity
from tests.tasks.laid_out import BEGIN, BLANK, END, PAD, SEPARATOR, example, whole


def laid_out(layout, task=Copy(num_symbols=8), prompt=(5, 3), target=(5, 3), **rest):
    """The fields of a batch as lists, masks as 0 and 1; structures have tests of their own."""
    fields = vars(layout(task, example(prompt, target, **rest))).items()
    return {
        name: whole(value)
        for name, value in fields
        if value is not None and not isinstance(value, dict)
    }


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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_narrow_integers_are_laid_out_as_int32(layout, dtype):
    """Special tokens follow 256 symbols, and a number of an alignment follows 127."""

    def batch(dtype):
        symbols = jnp.asarray([100, 7]).astype(dtype)
        mask = jnp.asarray([True, True])
        numbers = jnp.asarray([127, 1]).astype(dtype)
        alignment = jnp.asarray([127, 0]).astype("int8" if dtype == "uint8" else dtype)
        narrow = make_example(
            symbols,
            mask,
            symbols,
            mask,
            alignment=alignment,
            structure={"grid": (numbers, numbers)},
        )
        return LAYOUTS[layout](end_token=True)(Copy(num_symbols=256), narrow)

    narrow, wide = (vars(batch(name)) for name in (dtype, "int32"))
    assert {name: whole(value) for name, value in narrow.items() if hasattr(value, "dtype")} == {
        name: whole(value) for name, value in wide.items() if hasattr(value, "dtype")
    }
    for name, values in narrow["structure"].items():
        assert values.dtype == wide["structure"][name].dtype
        assert values.tolist() == wide["structure"][name].tolist()
