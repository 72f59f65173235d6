"""What each encoding adds to a step of training, over NoPE in the same model.

    python -m experiments.benchmark --compare --steps=15 --config=configs/encoding_costs.py
    python -m experiments.benchmark --compare --steps=7 --config=configs/encoding_costs.py \\
        --config.train.max_length=255 --config.train.batch_size=8

Contexts of 80 tokens, or of 512: 2 n + 2. Nothing is trained here; about ten minutes each on two
cores. docs/encodings.md shows the results, which are in results/published/encoding_costs.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite

ENCODINGS: tuple[str, ...] = (
    "nope",
    *(
        "raw_index",
        "binary",
        "single_sine",
        "multi_sine",
        "sinusoidal",
        "learned",
        "learnable_fourier",
        "random_fourier",
    ),
    *("rope", "xpos", "pope", "selective_rope", "rotary_value", "self_extend"),
    *(
        "alibi",
        "t5_bias",
        "kerple",
        "fire",
        "sandwich",
        "dynamic_position_bias",
        "sliding_window",
        "chunks",
        "hard_alibi",
    ),
    *(
        "shaw",
        "transformer_xl",
        "music_transformer",
        "deberta",
        "cope",
        "relative_logits",
        "dape",
        "fox",
        "stick_breaking",
        "path",
    ),
)
ARGUMENTS: dict[str, dict[str, object]] = {
    "sliding_window": {"size": 64},
    "chunks": {"size": 64},
    "music_transformer": {"max_distance": 512},
    "self_extend": {"window": 64},
    "dape": {"inner": {"name": "kerple"}},
}


def get_config():
    return suite.cost_config()


def sweep():
    return grid.product(
        {"model.encodings": [(dict(name=name, **ARGUMENTS.get(name, {})),) for name in ENCODINGS]}
    )
