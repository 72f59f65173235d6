"""Types of the values of published configs."""

import pytest

from pe_lab.contrib.rope.rope_parameters import masks, read
from pe_lab.encodings.rope import RoPE
from pe_lab.runs.errors import UserError
from tests.contrib.rope.configs import CONFIGS

LLAMA = dict(num_hidden_layers=4, hidden_size=64, num_attention_heads=4)
SMOLLM = LLAMA | dict(model_type="smollm3")
YARN = dict(rope_type="yarn", factor=2.0, original_max_position_embeddings=8)


def rope(**parameters):
    return LLAMA | {"rope_parameters": YARN | parameters}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            SMOLLM | {"no_rope_layer_interval": 0},
            "no_rope_layer_interval must be at least 1, got 0",
        ),
        (LLAMA | {"partial_rotary_factor": -0.5}, "partial_rotary_factor must be between 0 and 1"),
        (LLAMA | {"full_attention_interval": 0}, "full_attention_interval must be at least 1, got"),
        (LLAMA | {"num_hidden_layers": 2.5}, "num_hidden_layers must be a whole number, got 2.5"),
        (LLAMA | {"sliding_window": "x"}, "sliding_window must be a whole number, got 'x'"),
        (LLAMA | {"use_sliding_window": "no"}, "use_sliding_window must be True or False, got"),
        (LLAMA | {"attn_temperature_tuning": "no"}, "attn_temperature_tuning must be True or"),
        (LLAMA | {"attention_chunk_size": 0}, "attention_chunk_size must be at least 1, got 0"),
        (LLAMA | {"num_hidden_layers": -1}, "num_hidden_layers must be at least 1, got -1"),
        (LLAMA | {"num_attention_heads": [4]}, "num_attention_heads must be a whole number, got"),
        (LLAMA | {"rotary_dim": 8, "head_dim": 0}, "head_dim must be at least 1, got 0"),
        (LLAMA | {"rope_theta": "x"}, "rope_theta must be a number, got 'x'"),
        (LLAMA | {"rope_theta": float("nan")}, "rope_theta must be a finite number, got nan"),
        (LLAMA | {"partial_rotary_factor": [1]}, "partial_rotary_factor must be a number, got"),
        (LLAMA | {"no_rope_layers": 3}, "no_rope_layers must be a tuple of whole numbers, got 3"),
        (LLAMA | {"layer_types": 3}, "layer_types must be a tuple of texts, got 3"),
        (LLAMA | {"rope_parameters": [1]}, r"rope_parameters must be an object, got \[1\]"),
        (LLAMA | {"rope_scaling": "yarn"}, "rope_scaling must be an object, got 'yarn'"),
        ({"text_config": 3}, "text_config must be an object, got 3"),
        (
            LLAMA | {"layer_types": ["a"] * 4, "rope_parameters": {"a": 3}},
            "rope_parameters of a must be an object, got 3",
        ),
        (rope(factor="2"), "factor must be a number, got '2'"),
        (rope(truncate=1), "truncate must be True or False, got 1"),
        (
            rope(original_max_position_embeddings=0),
            "original_max_position_embeddings must be at least 1, got 0",
        ),
        (
            LLAMA | {"rope_parameters": {"rope_type": "longrope", "long_factor": 3}},
            "long_factor must be a tuple of numbers, got 3",
        ),
        (
            LLAMA | {"rope_parameters": {"mrope_section": ["a"]}},
            r"mrope_section\[0\] must be a whole number, got 'a'",
        ),
    ],
)
def test_a_value_of_another_type_is_refused(config, message):
    with pytest.raises(UserError, match=message):
        read(config)


def test_null_is_a_key_that_is_missing():
    config = CONFIGS["Llama 3.1 8B"]
    parameters = {**config["rope_scaling"], "rope_theta": None, "beta_fast": None}
    nulls = config | {"rope_scaling": parameters, "rope_local_base_freq": None}
    assert read(nulls) == read(config)


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("rop_scaling", "rope_scaling"),
        ("rpoe_parameters", "rope_parameters"),
        ("partial_roatry_factor", "partial_rotary_factor"),
        ("no_rop_layers", "no_rope_layers"),
        ("layer_type", "layer_types"),
        ("head_dims", "head_dim"),
        ("floor_scal", "floor_scale"),
        ("full_atention_interval", "full_attention_interval"),
        ("sliding_window_patern", "sliding_window_pattern"),
        ("rotery_dim", "rotary_dim"),
    ],
)
def test_a_misspelt_key_of_the_config_is_refused_with_the_key_that_is_meant(key, known):
    with pytest.raises(UserError, match=f"has no '{key}'. Did you mean '{known}'?"):
        read({**LLAMA, key: 1})
    with pytest.raises(UserError, match=f"has no '{key}'. Did|{key} differs from that of text_"):
        read({"text_config": LLAMA, key: 1})


def test_a_key_about_layers_beside_the_text_config_is_refused():
    with pytest.raises(UserError, match="layer_types differs from that of text_config"):
        read({"text_config": LLAMA, "layer_types": ["full_attention"]})


@pytest.mark.parametrize("key", ["v_head_dim", "mtp_num_hidden_layers", "vocab_size", "x"])
def test_a_key_with_a_prefix_is_another_key(key):
    assert read({**LLAMA, key: 1}) == read(LLAMA)


def test_a_whole_number_may_be_written_with_a_point():
    keys = {"rope_parameters": {**YARN, "original_max_position_embeddings": 32768.0}}
    (spec,) = read(LLAMA | keys)
    assert repr(spec["trained_length"]) == "32768"


@pytest.mark.parametrize(("head_dim", "factor", "channels"), [(96, 0.3, 28), (64, 0.5, 32)])
def test_the_rotated_channels_are_rounded_down_inside_and_outside_of_parameters(
    head_dim, factor, channels
):
    key = {"partial_rotary_factor": factor}
    outside = read(LLAMA | {"head_dim": head_dim, **key})
    inside = read(LLAMA | {"head_dim": head_dim, "rope_parameters": {"rope_theta": 1e4, **key}})
    assert inside == outside
    arguments = {name: value for name, value in inside[0].items() if name != "name"}
    assert RoPE(head_dim=head_dim, **arguments).rotated == channels


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"sliding_window": 512}, {"sliding_window": 512}),
        ({"sliding_window": 512, "use_sliding_window": False}, {}),
        ({"sliding_window": None}, {}),
        ({"attention_chunk_size": 8192}, {"attention_chunk_size": 8192}),
    ],
)
def test_windows_and_chunks_are_named_apart_from_the_encodings(keys, expected):
    assert masks(LLAMA | keys) == expected


QWEN = LLAMA | {"model_type": "qwen2"}


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("gptj", "rotary", True),
        ("qwen2", "use_mrope", False),
        ("cohere2", "position_embedding_type", "rope_gptj"),
    ],
)
def test_a_key_of_published_files_that_transformers_does_not_read_changes_nothing(
    model_type, key, value
):
    config = LLAMA | {"model_type": model_type}
    assert read(config | {key: value}) == read(config)
    assert read({"text_config": config, key: value}) == read(config)
    assert read({"text_config": config | {key: value}}) == read(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (QWEN | {"use_mrope": True}, "use_mrope is not read, .* value is False: got True"),
        ({"text_config": QWEN, "use_mrope": True}, "only known value is False: got True"),
        (LLAMA | {"model_type": "gptj", "rotary": False}, "only known value is True: got False"),
        (
            LLAMA | {"model_type": "cohere2", "position_embedding_type": "rope_neox"},
            "only known value is 'rope_gptj': got 'rope_neox'",
        ),
        (
            LLAMA | {"position_embedding_type": "rope_gptj"},
            "The family llama does not read position_embedding_type",
        ),
    ],
)
def test_another_value_of_such_a_key_is_refused(config, message):
    with pytest.raises(UserError, match=message):
        read(config)


def test_an_unknown_key_is_refused_with_each_known_key_once():
    with pytest.raises(UserError, match="has no 'alibi'") as error:
        read(LLAMA | {"alibi": True})
    names = str(error.value).partition("It has: ")[2].strip(".").split(", ")
    assert len(names) == len(set(names)) > 40
