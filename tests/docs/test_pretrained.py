"""The program for a pretrained model of docs/reuse.md, with a small Llama with grouped queries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.rope.rope_parameters import read
from pe_lab.runs.errors import UserError
from tests.docs import llama
from tests.test_docs import REUSE

TITLE = "In a pretrained NNX model"
LLAMA3 = dict(
    rope_type="llama3",
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=16,
)
YARN = dict(type="yarn", factor=4.0, original_max_position_embeddings=16)
LONGROPE = dict(
    type="longrope",
    factor=4.0,
    original_max_position_embeddings=16,
    short_factor=[1.0 + pair / 10 for pair in range(8)],
    long_factor=[2.0 + pair for pair in range(8)],
)
CONFIGS = {
    "nothing": {},
    "rope_theta": dict(rope_theta=500.0),
    "rope_parameters": dict(rope_parameters=dict(rope_type="default", rope_theta=500.0)),
    "linear": dict(rope_theta=500.0, rope_scaling=dict(type="linear", factor=2.0)),
    "llama3": dict(rope_theta=500.0, rope_scaling=LLAMA3),
    "llama3 in rope_parameters": dict(rope_parameters=LLAMA3 | dict(rope_theta=500.0)),
    "yarn": dict(rope_theta=500.0, rope_scaling=YARN),
    "partial": dict(model_type="phi3", partial_rotary_factor=0.5, rope_theta=500.0),
    "partial yarn": dict(partial_rotary_factor=0.5, rope_theta=500.0, rope_scaling=YARN),
    "dynamic": dict(rope_theta=500.0, rope_scaling=dict(type="dynamic", factor=2.0)),
    "longrope": dict(rope_theta=500.0, rope_scaling=LONGROPE),
    "a layer without": dict(model_type="smollm3", rope_theta=500.0, no_rope_layers=[1, 0]),
}
TOKENS = jnp.asarray(np.random.default_rng(0).integers(1, llama.VOCABULARY, (2, 24)))
SEGMENTS = {
    "one document": np.ones((2, 24), int),
    "two packed documents": np.repeat([[1, 2], [3, 4]], (9, 15), axis=1),
    "padding on the left": np.repeat([[0, 1], [0, 1]], (5, 19), axis=1),
    # The trained length is 16.
    "a short and a long document": np.repeat([[1, 2], [3, 4]], (6, 18), axis=1),
    "more padding than text": np.repeat([[0, 1], [0, 1]], (17, 7), axis=1),
}


@pytest.fixture(scope="module")
def listing():
    """The names that the printed program defines."""
    names = llama.names()
    exec(compile(REUSE[TITLE], f"docs/reuse.md, {TITLE}", "exec"), names)
    return names


def logits(model, segments="one document"):
    segment_ids = jnp.asarray(SEGMENTS[segments])
    every = np.asarray(model(TOKENS, segment_ids, None))
    return every[np.asarray(segment_ids) != 0]


READ_LENGTHS = ("dynamic", "longrope")  # that of a row; here both rows have the same


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "segments"),
    [
        (form, segments)
        for form in CONFIGS
        for segments in SEGMENTS
        if segments in list(SEGMENTS)[:3] or form in READ_LENGTHS
    ],
)
def test_the_spec_of_its_own_config_leaves_the_logits_of_a_model(listing, form, segments):
    model, config = map(llama.names(**CONFIGS[form]).get, ("model", "config"))
    before = logits(model, segments)
    listing["replace_encodings"](model, read(config))
    np.testing.assert_allclose(logits(model, segments), before, atol=1e-5)


@pytest.mark.slow
def test_the_forms_of_configs_are_different_models():
    """So that a form that is read as another one would be seen."""
    by_form = [logits(llama.names(**given)["model"]) for given in CONFIGS.values()]
    equal = {
        (one, other)
        for one, a in zip(CONFIGS, by_form, strict=True)
        for other, b in zip(CONFIGS, by_form, strict=True)
        if one < other and np.abs(a - b).max() < 1e-3
    }
    assert equal == {("rope_parameters", "rope_theta"), ("llama3", "llama3 in rope_parameters")}


def slopes(heads):
    return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)


@pytest.mark.slow
def test_a_bias_is_added_to_the_logits_of_each_query_head(listing):
    """ALiBi of four query heads that share two groups of keys, against the equation in NumPy."""
    model, config = map(llama.names(rope_theta=500.0).get, ("model", "config"))
    attention = model.layers[0].self_attn
    x = jax.random.normal(jax.random.key(2), (1, 24, llama.WIDTH))
    segment_ids = jnp.ones((1, 24), int)
    listing["replace_encodings"](model, [*read(config), dict(name="alibi")])
    output = model.layers[0].self_attn(x, segment_ids)

    positions = llama.positions_of(segment_ids)
    q, k, v = (
        np.asarray(project(x), np.float64).reshape(1, 24, -1, llama.HEAD_DIM)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    q, k = (np.asarray(attention.rotate(each, positions), np.float64) for each in (q, k))
    distance = np.arange(24)[:, None] - np.arange(24)
    out = np.zeros((24, llama.HEADS, llama.HEAD_DIM))
    for head, slope in enumerate(slopes(llama.HEADS)):
        group = head // (llama.HEADS // llama.GROUPS)
        s = q[0, :, head] @ k[0, :, group].T / llama.HEAD_DIM**0.5 - slope * distance
        weights = np.exp(np.where(distance >= 0, s, -np.inf))
        out[:, head] = weights / weights.sum(axis=1, keepdims=True) @ v[0, :, group]
    expected = out.reshape(24, -1) @ np.asarray(attention.o_proj.kernel[...], np.float64)
    np.testing.assert_allclose(output[0], expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["t5_bias", "fox"], ids=str)
def test_a_learned_encoding_gets_gradients_in_the_model(listing, spec):
    """A bias with a table, and one that reads features of the inputs."""
    model, config = map(llama.names().get, ("model", "config"))
    listing["replace_encodings"](model, [*read(config), dict(name=spec)])

    def loss(model):
        return (model(TOKENS, jnp.ones((2, 24), int), None) ** 2).mean()

    gradients = nnx.grad(loss)(model)
    encoding = gradients["layers"][0]["self_attn"]["encodings"][1]
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(encoding))


@pytest.mark.slow
def test_the_layers_of_a_random_encoding_start_with_different_parameters(listing):
    model = llama.names()["model"]
    listing["replace_encodings"](model, [dict(name="fox")])
    one, other = (nnx.state(layer.self_attn.encodings[0]) for layer in model.layers)
    differences = jax.tree.map(lambda a, b: float(abs(a - b).max()), one, other)
    assert max(jax.tree.leaves(differences)) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layers", "counts"), [({}, [1, 1]), ({"layers": None}, [1, 1]), ({"layers": (1,)}, [0, 1])]
)
def test_layers_are_those_of_a_config_and_none_are_all(listing, layers, counts):
    model = llama.names()["model"]
    listing["replace_encodings"](model, [dict(name="alibi", **layers)])
    assert [len(layer.self_attn.encodings) for layer in model.layers] == counts


@pytest.mark.slow
@pytest.mark.parametrize("key", ["heads", "share", "positions"])
def test_another_key_of_a_spec_is_an_error(listing, key):
    with pytest.raises(UserError, match=f"rope has no '{key}'"):
        listing["replace_encodings"](llama.names()["model"], [dict(name="rope", **{key: 1})])
