"""A model adopts the parameters of a finished run."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.training.build import build_setup
from pe_lab.training.warm_start import adopt
from tests import tiny
from tests.marks import full
from tests.models import assert_equal

pytestmark = pytest.mark.slow


def made(*encodings, **changes):
    return build_setup(tiny.run(*encodings, **changes))


def numbered(setup, first=0):
    """Parameters whose every value is another number."""
    count = itertools.count(first)
    return jax.tree.map(lambda p: jnp.full(p.shape, next(count)), setup.abstract_params)


def table(params, index, stack="decoder", where="attention_encodings"):
    return params[stack][where][index]["table"]


@pytest.mark.slow
def test_the_same_model_adopts_everything():
    setup = made(
        "learned", "t5_bias", {"name": "shaw", "layers": (1,)}, layout__name="encoder_decoder"
    )
    assert_equal(adopt(numbered(setup), setup, setup), numbered(setup))
    members = jax.tree.map(lambda p: jnp.stack([p, p + 0.5]), numbered(setup))
    assert_equal(adopt(members, setup, setup), members)


def test_without_an_encoding_the_others_and_the_backbone_stay():
    """What is removed stands first, so that all others move up: Shaw has a module on each of two
    layers.
    """
    whole = made({"name": "sinusoidal", "learn_scale": True}, "learned", "t5_bias", "shaw")
    params = numbered(whole)
    less = adopt(params, whole, made("learned", "shaw"))
    there, here = params.pop("decoder"), less.pop("decoder")
    assert_equal(here.pop("input_encodings"), {0: there.pop("input_encodings")[1]})
    modules = there.pop("attention_encodings")
    assert_equal(here.pop("attention_encodings"), {0: modules[1], 1: modules[2]})
    assert_equal((less, here), (params, there))


def test_an_encoding_without_parameters_is_added_freely():
    plain = made("learned")
    assert_equal(adopt(numbered(plain), plain, made("learned", "rope", "alibi")), numbered(plain))


def test_an_encoding_with_parameters_is_added_from_a_fresh_start_or_refused():
    plain, more = made("t5_bias"), made("learned", "t5_bias")
    fresh = numbered(more, first=100)
    started = adopt(numbered(plain), plain, more, fresh)
    np.testing.assert_array_equal(
        table(started, 0, where="input_encodings"), table(fresh, 0, where="input_encodings")
    )
    del started["decoder"]["input_encodings"]
    assert_equal(started, numbered(plain))
    with pytest.raises(
        UserError,
        match=rf"^learned has parameters that the run {plain.run.run_id} was not trained with\.$",
    ):
        adopt(numbered(plain), plain, more)


T5 = {"name": "t5_bias"}


@pytest.mark.parametrize(
    ("trained_with", "asked_for", "sources"),
    [
        ([T5], [T5 | {"layers": (1,)}], [0]),  # some of its layers
        ([T5], [T5 | {"share": False}], [0, 0]),  # each layer a copy of the shared one
        ([T5 | {"share": False}], [T5 | {"layers": (1,)}], [1]),  # the module of that layer
        ([T5 | {"layers": (1,)}, T5 | {"layers": (0,)}], [T5 | {"layers": (0,)}], [1]),
        (
            [T5, T5 | {"layers": (0,)}],
            [T5 | {"layers": (0,)}],
            [1],
        ),  # just there, rather than there as well
        ([T5, T5], [T5, T5], [0, 1]),
        ([T5], [T5 | {"stacks": ("decoder",)}], [0]),
        ([T5], [T5 | {"heads": (1,)}], [0]),  # some of its heads
        (  # the module of those heads
            [T5 | {"heads": (0,)}, T5 | {"heads": (1,)}],
            [T5 | {"heads": (1,)}, T5 | {"heads": (0,)}],
            [1, 0],
        ),
        ([T5, T5 | {"heads": (0,)}], [T5 | {"heads": (0,)}], [1]),
    ],
)
def test_an_encoding_is_found_by_the_layers_and_heads_where_it_acted(
    trained_with, asked_for, sources
):
    old, new = made(*trained_with), made(*asked_for)
    params = numbered(old)
    adopted = adopt(params, old, new)
    assert len(adopted["decoder"]["attention_encodings"]) == len(sources)
    for i, source in enumerate(sources):
        np.testing.assert_array_equal(table(adopted, i), table(params, source))


@pytest.mark.parametrize(
    ("trained_with", "asked_for"),
    [
        ([T5 | {"layers": (0,)}], [T5]),
        ([T5 | {"heads": (0,)}], [T5]),
        ([T5 | {"heads": (0,)}], [T5 | {"heads": (1,)}]),
        ([T5 | {"share": False}], [T5]),
        ([T5], [T5, T5]),
        ([{"name": "shaw"}], [T5]),
    ],
)
def test_an_encoding_that_did_not_act_on_all_of_them_is_not_found(trained_with, asked_for):
    old = made(*trained_with)
    with pytest.raises(UserError, match=r"^t5_bias has parameters that the run"):
        adopt(numbered(old), old, made(*asked_for))


@pytest.mark.slow
def test_the_bias_between_two_streams_is_not_taken_for_that_within_one():
    across = T5 | {"stacks": ("cross",)}
    both = made(T5 | {"stacks": ("decoder", "encoder")}, across, layout__name="encoder_decoder")
    params = numbered(both)
    alone = adopt(params, both, made(across, layout__name="encoder_decoder"))
    assert "attention_encodings" not in alone["encoder"]
    assert len(alone["decoder"]["attention_encodings"]) == 1
    np.testing.assert_array_equal(table(alone, 0), table(params, 1))
    within = adopt(
        params, both, made(T5 | {"stacks": ("encoder",)}, layout__name="encoder_decoder")
    )
    np.testing.assert_array_equal(table(within, 0, "encoder"), table(params, 0, "encoder"))
    only_across = made(across, layout__name="encoder_decoder")
    with pytest.raises(UserError, match=r"^t5_bias has parameters that the run"):
        adopt(
            numbered(only_across),
            only_across,
            made(T5 | {"stacks": ("decoder",)}, layout__name="encoder_decoder"),
        )


@pytest.mark.parametrize(
    ("there", "here", "sentence"),
    [
        full(
            dict(),
            dict(model__width=8),
            r"attention\.key\.kernel is \(16, 16\) there and \(8, 8\) here\.$",
        ),
        (dict(), dict(model__qk_norm=True), r"key_norm\.scale is missing there and \(8,\) here\.$"),
        (
            dict(model__qk_norm=True),
            dict(),
            r"it has no decoder\.blocks\.0\.attention\.key_norm\.scale\.$",
        ),
        (dict(), dict(model__tied_output=True), r"it has no output\.kernel\.$"),
        (
            dict(),
            dict(model__num_layers=1),
            r"it has no decoder\.blocks\.1\.attention\.key\.kernel\.$",
        ),
        (dict(), dict(layout__name="encoder"), r"encoder\..* is missing there and "),
        (dict(), dict(model__num_heads=4), r"config\.model\.num_heads is 2 there and 4 here\.$"),
        (dict(), dict(model__scale_logits=False), r"scale_logits is True there and False here\.$"),
        (dict(), dict(model__sliding_window=4), "sliding_window is None there and 4 here"),
        (dict(), dict(model__key_offset=0.5), r"model\.key_offset is 0\.0 there and 0\.5 here"),
        (
            dict(model__key_offset=0.5),
            dict(model__key_offset=0.5, model__key_offset_layers=(1,)),
            r"key_offset_layers is None there and \(1,\) here",
        ),
        (
            dict(model__convolution_sites=("A",)),
            dict(model__convolution_sites=("A",), model__convolution_residual=False),
            "convolution_residual is True there and False here",
        ),
        (
            dict(),
            dict(model__loop_injection="add"),
            "loop_injection is 'none' there and 'add' here",
        ),
    ],
)
def test_another_backbone_is_refused(there, here, sentence):
    old = made("rope", **there)
    with pytest.raises(
        UserError,
        match=rf"^The model differs from the model of the run {old.run.run_id}: .*{sentence}",
    ):
        adopt(numbered(old), old, made("rope", **here))


def test_a_table_of_another_size_is_refused():
    old = made("learned")
    with pytest.raises(
        UserError, match=r"input_encodings\.0\.table is \(512, 16\) there and \(9, 16\) here\.$"
    ):
        adopt(numbered(old), old, made({"name": "learned", "max_positions": 9}))
