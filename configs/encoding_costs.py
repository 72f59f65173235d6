"""What each encoding adds to a step of training, over NoPE in the same model.

    python -m experiments.benchmark --compare --steps=15 --config=configs/encoding_costs.py
    python -m experiments.benchmark --compare --steps=7 --config=configs/encoding_costs.py \\
        --config.train.max_length=255 --config.train.batch_size=8

Contexts of 80 tokens, or of 512: 2 n + 2. Nothing is trained here; about a quarter of an hour each
on two cores. The results are in results/published/encoding_costs.

`configs/encoding_costs.py:options` has the options of the model in place of encodings: what each of
them adds to the same model without it. The last one is the Pro block of FoX.
"""

from pe_lab.contrib.grids import forms
from pe_lab.runs import grid
from pe_lab.runs.plugins import plugins

FORMS = ("options",)

# Encodings without a variant, and the reason.
EXCEPTIONS = {"mrope": "the scheme multimodal reads a grid, which copy does not have"}
# Arguments that have no default, or whose default does not fit contexts of 80 and 512 tokens.
ARGUMENTS: dict[str, dict[str, object]] = {
    "sliding_window": {"size": 64},
    "chunks": {"size": 64},
    "music_transformer": {"max_distance": 512},
    "self_extend": {"window": 64},
    "dape": {"inner": {"name": "kerple"}},
    # Two axes: the index in the prompt or answer, and which of them it is.
    "axial_rope": {"positions": "two_stream"},
    "log_cpb": {"positions": "two_stream"},
    "mixed_rope": {"positions": "two_stream"},
    "sinusoidal_2d": {"positions": "two_stream"},
}

# Options of the model. A variant has one of them, and the first has none.
OPTIONS: dict[str, dict[str, object]] = {
    "no option": {},
    "convolution at A": {"convolution_sites": ("A",)},
    "convolution at A, B, C and D": {"convolution_sites": ("A", "B", "C", "D")},
    "convolution at F": {"convolution_sites": ("F",)},
    "convolution at F, K, O and V": {"convolution_sites": ("F", "K", "O", "V")},
    "key offset": {"key_offset": 0.5},
    "smear of embeddings": {"embedding_smear": 12},
    "token shift of keys and values": {"token_shift": "both"},
    "output gate by head": {"output_gate": "head"},
    "output gate by element": {"output_gate": "element"},
    "learned sinks": {"learned_sinks": True},
    "fox": {"encodings": (dict(name="fox"),)},
    "fox, Pro": {
        "encodings": (dict(name="fox"),),
        "token_shift": "both",
        "qk_norm": True,
        "output_gate": "element",
        "head_output_norm": True,
    },
}


def get_config(form=""):
    return forms.cost_config()


def sweep(form=""):
    if form == "options":
        return grid.concat(*map(_with_option, OPTIONS))
    names = [name for name in plugins.names("encodings") if name not in EXCEPTIONS]
    names.sort(key=lambda name: name != "nope")  # the others are measured relative to the first
    encodings = [(dict(name=name, **ARGUMENTS.get(name, {})),) for name in names]
    return grid.product({"model.encodings": encodings})


def _with_option(label):
    """One run whose name is the label."""
    values = {"learned_sinks": False, **OPTIONS[label]}
    settings = {f"model.{name}": [grid.labelled("", value)] for name, value in values.items()}
    settings["model.learned_sinks"] = [grid.labelled(label, values["learned_sinks"])]
    return grid.product(settings)
