"""Keys about positions of the published configs of families of models, as their files hold them.

LongRoPE's factors are shortened series here; the published ones are found by search.
"""

from pe_lab.runs.plugins import plugins

_LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_type": "llama3"}
_SHORT = [1.0 + m / 100 for m in range(48)]
_LONG = [1.0 + m for m in range(48)]


def sizes(width, heads, layers, **more):
    return {
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        **more,
    }


CONFIGS = {
    "Llama 3.1 8B": {
        "model_type": "llama",
        **sizes(4096, 32, 32, max_position_embeddings=131072, rope_theta=500000.0),
        "rope_scaling": {"factor": 8.0, "original_max_position_embeddings": 8192, **_LLAMA3},
    },
    "Mistral 7B": {
        "model_type": "mistral",
        **sizes(4096, 32, 32, max_position_embeddings=32768, rope_theta=1000000.0),
    },
    "Qwen3 8B, 131072 tokens": {
        "model_type": "qwen3",
        **sizes(4096, 32, 36, head_dim=128, max_position_embeddings=40960, rope_theta=1000000),
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
    },
    "Phi-2": {
        "model_type": "phi",
        **sizes(2560, 32, 32, max_position_embeddings=2048, rope_theta=10000.0),
        "partial_rotary_factor": 0.4,
        "rope_scaling": None,
    },
    "Phi-3 mini 128k": {
        "model_type": "phi3",
        **sizes(3072, 32, 32, max_position_embeddings=131072, rope_theta=10000.0),
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "longrope", "short_factor": _SHORT, "long_factor": _LONG},
    },
    "Pythia 1.4B": {
        "model_type": "gpt_neox",
        **sizes(2048, 16, 24, max_position_embeddings=2048),
        "rotary_pct": 0.25,
        "rotary_emb_base": 10000,
    },
    "StableLM 3B": {
        "model_type": "stablelm",
        **sizes(2560, 32, 32, max_position_embeddings=4096, rope_theta=10000),
    },
    "GLM-4 9B": {
        "model_type": "glm4",
        **sizes(4096, 32, 40, head_dim=128, max_position_embeddings=32768, rope_theta=10000.0),
        "partial_rotary_factor": 0.5,
    },
    "Command R7B": {
        "model_type": "cohere2",
        **sizes(4096, 32, 32, max_position_embeddings=8192, rope_theta=50000),
        "sliding_window": 4096,
        "sliding_window_pattern": 4,
        "position_embedding_type": "rope_gptj",
        "rotary_pct": 1.0,
    },
    "EXAONE 4.0 32B": {
        "model_type": "exaone4",
        **sizes(5120, 40, 64, head_dim=128, max_position_embeddings=131072, rope_theta=1000000),
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 16.0,
            "high_freq_factor": 4.0,
            "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192,
        },
        "sliding_window": 4096,
        "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 16,
    },
    "Gemma 3 4B": {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            **sizes(2560, 8, 34, head_dim=256, max_position_embeddings=131072),
            "rope_theta": 1000000.0,
            "rope_local_base_freq": 10000.0,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window": 1024,
        },
    },
    "OLMo 3 7B": {
        "model_type": "olmo3",
        **sizes(4096, 32, 32, max_position_embeddings=65536, rope_theta=500000),
        "rope_scaling": {
            "attention_factor": 1.2079441541679836,
            "beta_fast": 32,
            "beta_slow": 1,
            "factor": 8.0,
            "original_max_position_embeddings": 8192,
            "rope_type": "yarn",
        },
        "sliding_window": 4096,
        "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 8,
    },
    "gpt-oss 20B": {
        "model_type": "gpt_oss",
        **sizes(2880, 64, 24, head_dim=64, max_position_embeddings=131072, rope_theta=150000),
        "rope_scaling": {
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "rope_type": "yarn",
            "truncate": False,
        },
        "layer_types": ["sliding_attention", "full_attention"] * 12,
    },
    "SmolLM3 3B": {
        "model_type": "smollm3",
        **sizes(2048, 16, 36, max_position_embeddings=65536, rope_theta=5000000.0),
        "no_rope_layer_interval": 4,
        "no_rope_layers": [1, 1, 1, 0] * 9,
    },
    "Llama 4 Scout": {
        "model_type": "llama4",
        "text_config": {
            "model_type": "llama4_text",
            **sizes(5120, 40, 48, head_dim=128, max_position_embeddings=10485760),
            "rope_theta": 500000.0,
            "rope_scaling": {
                "factor": 16.0,
                "high_freq_factor": 1.0,
                "low_freq_factor": 1.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3",
            },
            "no_rope_layers": [],
            "attn_temperature_tuning": True,
            "attn_scale": 0.1,
            "floor_scale": 8192,
        },
    },
    "DeepSeek V2 Lite": {
        "model_type": "deepseek_v2",
        **sizes(2048, 16, 27, max_position_embeddings=163840, rope_theta=10000),
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "rope_scaling": {
            "beta_fast": 32,
            "beta_slow": 1,
            "factor": 40,
            "mscale": 0.707,
            "mscale_all_dim": 0.707,
            "original_max_position_embeddings": 4096,
            "type": "yarn",
        },
    },
    "DeepSeek V3": {
        "model_type": "deepseek_v3",
        **sizes(7168, 128, 61, max_position_embeddings=163840, rope_theta=10000),
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "rope_scaling": {
            "beta_fast": 32,
            "beta_slow": 1,
            "factor": 40,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 4096,
            "type": "yarn",
        },
    },
    "MiniMax M2": {
        "model_type": "minimax_m2",
        **sizes(3072, 48, 62, head_dim=128, max_position_embeddings=196608, rope_theta=5000000),
        "rotary_dim": 64,
    },
    "GPT-J 6B": {
        "model_type": "gptj",
        "n_embd": 4096,
        "n_head": 16,
        "n_layer": 28,
        "n_positions": 2048,
        "rotary": True,
        "rotary_dim": 64,
    },
    "Qwen2-VL 7B": {
        "model_type": "qwen2_vl",
        **sizes(3584, 28, 28, max_position_embeddings=32768, rope_theta=1000000.0),
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    },
    "Qwen3-VL 8B": {
        "model_type": "qwen3_vl",
        "text_config": {
            "model_type": "qwen3_vl_text",
            **sizes(4096, 32, 36, head_dim=128, max_position_embeddings=262144),
            "rope_theta": 5000000,
            "rope_scaling": {
                "mrope_interleaved": True,
                "mrope_section": [24, 20, 20],
                "rope_type": "default",
            },
        },
    },
    "Qwen3.5 9B": {
        "model_type": "qwen3_5",
        "text_config": {
            "model_type": "qwen3_5_text",
            **sizes(4096, 16, 32, head_dim=256, max_position_embeddings=262144),
            "full_attention_interval": 4,
            "rope_parameters": {
                "mrope_interleaved": True,
                "mrope_section": [11, 11, 10],
                "partial_rotary_factor": 0.25,
                "rope_theta": 10000000,
                "rope_type": "default",
            },
        },
    },
    # allenai/Olmo-Hybrid-7B has no base; transformers reads one where it is given.
    "OLMo Hybrid, with a base": {
        "model_type": "olmo_hybrid",
        **sizes(3840, 30, 32, max_position_embeddings=65536),
        "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},
    },
    "Ling lite 1.5": {
        "model_type": "bailing_moe",
        **sizes(2048, 16, 28, max_position_embeddings=32768, rope_theta=600000),
        "rope_scaling": None,
    },
    "Ling mini 2.0": {
        "architectures": ["BailingMoeV2ForCausalLM"],
        "model_type": "bailing_moe",
        **sizes(2048, 16, 20, head_dim=128, max_position_embeddings=32768, rope_theta=600000),
        "partial_rotary_factor": 0.5,
        "use_qk_norm": True,
    },
    # Not published with a scaling; the two types that no other config here has.
    "Llama 2, dynamic": {
        "model_type": "llama",
        **sizes(4096, 32, 32, max_position_embeddings=4096),
        "rope_scaling": {"type": "dynamic", "factor": 2.0},
    },
    "Llama, proportional": {
        **sizes(4096, 32, 32, max_position_embeddings=4096),
        "rope_parameters": {
            "rope_type": "proportional",
            "rope_theta": 1000000.0,
            "partial_rotary_factor": 0.25,
        },
    },
}

NOT_IN_TRANSFORMERS = ("Ling lite 1.5", "Ling mini 2.0")


def text(config):
    """The part of a config about text."""
    return config.get("text_config", config)


def head_dim(config):
    """The channels of a query, of which a part may rotate."""
    if "qk_rope_head_dim" in config:
        return config["qk_rope_head_dim"] + config["qk_nope_head_dim"]
    width = config.get("hidden_size", config.get("n_embd"))
    heads = config.get("num_attention_heads", config.get("n_head"))
    return config.get("head_dim", width // heads)


def arguments_at(encodings, layer):
    """The RoPE or M-RoPE of a layer, without its layers; None if it has none."""
    for encoding in encodings:
        if encoding["name"] in ("rope", "mrope") and layer in encoding.get("layers", (layer,)):
            return {k: v for k, v in encoding.items() if k != "layers"}
    return None


def rope_at(encodings, layer, width):
    """The encoding of a layer, for heads of a width; None if it has none."""
    arguments = arguments_at(encodings, layer)
    if arguments is None:
        return None
    return plugins.find("encodings", arguments.pop("name"))(head_dim=width, **arguments)
