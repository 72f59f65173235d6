"""Types of the values of published configs."""

import pytest

from pe_lab.contrib.rope.rope_parameters import read
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
        (LLAMA | {"full_attention_interval": 0}, "full_attention_interval must be at least 1, got"),
        (LLAMA | {"num_hidden_layers": 2.5}, "num_hidden_layers must be a whole number, got 2.5"),
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
            LLAMA | {"layer_types": ["a"], "rope_parameters": {"a": 3}},
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
