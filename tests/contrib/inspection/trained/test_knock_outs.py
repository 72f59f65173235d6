import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.inspection.trained import knock_outs
from pe_lab.contrib.inspection.trained.knock_outs import ActingEncoding, SwitchedOff
from pe_lab.runs.specs import plugin_specs
from pe_lab.training.build import build_setup
from tests import models, tiny

MASK = models.prefix([6, 4], 6)
READ = models.stream(models.random_tokens(2, 6, size=11), mask=MASK)


@functools.cache
def _program(graph):
    def logits(params, off):
        return knock_outs.logits(nnx.merge(graph, params), off, {"decoder": READ})

    return jax.jit(logits)


def logits(model, off):
    graph, params = nnx.split(model)
    return np.asarray(_program(graph)(params, off))[MASK]


def off(heads=((False, False), (False, False)), at_input=()):
    return SwitchedOff(np.array(heads, bool).reshape(-1, 2), tuple(at_input))


@functools.cache
def without():
    return models.run(models.build(), READ)[MASK]


ALL, NONE = ((True, True), (True, True)), ((False, False), (False, False))
EVERY_HOOK = [
    "rope",
    "t5_bias",
    "pope",
    "hard_alibi",
    "shaw",
    "stick_breaking",
    "rotary_value",
    "dape",
    "fox",
    "xpos",
]


def plugin(name):
    return {"name": "dape", "inner": {"name": "kerple"}} if name == "dape" else {"name": name}


@pytest.mark.full
@pytest.mark.parametrize("name", EVERY_HOOK)
def test_off_on_all_heads_is_the_model_without_it_and_off_on_none_the_model_itself(name):
    model = models.build(plugin(name))
    np.testing.assert_allclose(logits(model, off(ALL)), without(), atol=1e-5)
    np.testing.assert_allclose(logits(model, off(NONE)), models.run(model, READ)[MASK], atol=1e-5)
    models.assert_differs(logits(model, off(ALL)), logits(model, off(NONE)), 1e-5)


@pytest.mark.full
def test_off_on_a_layer_is_the_model_that_has_it_on_the_others():
    model = models.build("rope")
    for layer in (0, 1):
        left = models.build({"name": "rope", "layers": (1 - layer,)})
        np.testing.assert_allclose(
            logits(model, off(np.eye(2)[layer][:, None] * [1, 1])),
            models.run(left, READ)[MASK],
            atol=1e-5,
        )


@pytest.mark.full
def test_each_head_and_both_are_other_models():
    model = models.build("alibi", num_layers=1)
    found = [logits(model, off([heads])) for heads in ((0, 0), (1, 0), (0, 1), (1, 1))]
    for i, one in enumerate(found):
        for other in found[:i]:
            models.assert_differs(one, other, 1e-4)


@pytest.mark.full
def test_one_head_off_leaves_the_bias_of_the_other():
    model = models.build("alibi", num_layers=1)
    terms = model.position_terms({"decoder": READ})
    off = knock_outs.switched_off(model, terms, jnp.array([[True, False]]))
    left, whole = (np.asarray(t["decoder"].attention[0].bias) for t in (off, terms))
    assert not left[:, 0].any()
    np.testing.assert_array_equal(left[:, 1], whole[:, 1])


@pytest.mark.full
def test_one_of_two_encodings_of_a_layer_is_switched_off_alone():
    both = models.build("rope", "t5_bias")
    table = nnx.to_pure_dict(nnx.state(both, nnx.Param))
    alone = models.build("t5_bias")
    nnx.update(
        alone,
        {
            **table,
            "decoder": {
                **table["decoder"],
                "attention_encodings": {0: table["decoder"]["attention_encodings"][1]},
            },
        },
    )
    rows = [(True, True), (False, False)] * 2  # of each layer, in its order
    np.testing.assert_allclose(logits(both, off(rows)), models.run(alone, READ)[MASK], atol=1e-5)


@pytest.mark.full
def test_a_code_at_the_input_is_switched_off():
    model = models.build("sinusoidal")
    np.testing.assert_allclose(logits(model, off((), [True])), without(), atol=1e-5)
    np.testing.assert_allclose(
        logits(model, off((), [False])), models.run(model, READ)[MASK], atol=1e-5
    )


@pytest.mark.full
def test_the_parts_of_a_model_and_all_that_can_be_switched_off():
    bias = {"name": "t5_bias", "stacks": ("decoder", "cross"), "layers": (1,)}
    made = build_setup(tiny.run("sinusoidal", bias, layout__name="encoder_decoder"))
    assert knock_outs.acting_encodings(made) == [
        ActingEncoding("t5_bias", "decoder", 1),
        ActingEncoding("t5_bias", "cross", 1),
        ActingEncoding("sinusoidal", "input", None),
        ActingEncoding("sinusoidal", "input", None),
    ]
    found = {
        (k.encoding, k.where, k.layer, k.head): (k.off.attention.tolist(), k.off.inputs)
        for k in knock_outs.all_knock_outs(made)
    }
    nothing, inputs = [[False, False], [False, False]], (False, False)
    assert found == {
        ("t5_bias", None, None, None): ([[True, True], [True, True]], inputs),
        ("sinusoidal", None, None, None): (nothing, (True, True)),
        ("t5_bias", "decoder", 1, None): ([[True, True], [False, False]], inputs),
        ("t5_bias", "decoder", 1, 0): ([[True, False], [False, False]], inputs),
        ("t5_bias", "decoder", 1, 1): ([[False, True], [False, False]], inputs),
        ("t5_bias", "cross", 1, None): ([[False, False], [True, True]], inputs),
        ("t5_bias", "cross", 1, 0): ([[False, False], [True, False]], inputs),
        ("t5_bias", "cross", 1, 1): ([[False, False], [False, True]], inputs),
    }
    none = knock_outs.nothing_off(made)
    assert (none.attention.tolist(), none.inputs) == (nothing, inputs)


def test_an_encoding_is_switched_off_only_on_the_heads_where_it_acts():
    fire = {"name": "fire", "heads": (1,), "layers": (0,)}
    setup = build_setup(tiny.run(fire, {"name": "rope", "heads": ()}))
    assert knock_outs.acting_encodings(setup) == [ActingEncoding("fire", "decoder", 0, (1,))]
    heads = [k.head for k in knock_outs.all_knock_outs(setup) if k.layer == 0]
    assert heads == [None, 1]


def test_encodings_of_one_name_have_names_of_their_own():
    def names(*specs):
        return knock_outs.unique_names(plugin_specs.encodings(specs))

    assert names(*({"name": "rope", "axis": axis} for axis in (0, 1))) == [
        "rope(axis=0)",
        "rope(axis=1)",
    ]
    assert names(
        {"name": "alibi"},
        {"name": "rope", "base": 5e5, "layers": (0,)},
        {"name": "rope", "layers": (1,)},
    ) == [
        "alibi",
        "rope(base=500000.0, layers=(0,))",
        "rope(base=10000.0, layers=(1,))",
    ]
    assert names({"name": "alibi"}, {"name": "alibi"}) == ["alibi (1)", "alibi (2)"]


@pytest.mark.full
def test_the_parts_are_the_encodings_of_the_model_in_its_order():
    bias = {"name": "t5_bias", "stacks": ("decoder", "cross"), "share": False}
    made = build_setup(
        tiny.run(
            bias, "sinusoidal", {"name": "rope", "layers": (1,)}, layout__name="encoder_decoder"
        )
    )
    named = {
        name: [p.name for p in made.placements if p.encoding in list(stack.attention_encodings)]
        for name, stack in made.abstract_model.stacks.items()
    }
    built = [
        (named[name][site.index], where, layer)
        for name, stack in made.abstract_model.stacks.items()
        for where, layers in ((name, stack.layer_sites), ("cross", stack.cross_sites))
        for layer, sites in enumerate(layers)
        for site in sites
    ]
    assert [
        (part.encoding, part.where, part.layer)
        for part in knock_outs.acting_encodings(made)
        if part.layer is not None
    ] == built
