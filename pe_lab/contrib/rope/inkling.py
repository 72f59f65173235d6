"""Inkling's relative logits and its temperature, from the keys of its config.

They follow transformers at 04fafa2, models/inkling/modular_inkling.py: InklingTextConfig for the
defaults, InklingAttention for the layers. The profiles of a layer with a window reach as far as the
window, and the temperature acts on the other layers.
"""

from collections.abc import Sequence

from pe_lab.contrib.rope import config_keys
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records.record_schema import JsonObject

_WINDOWED = "hybrid_sliding"
_TYPES = ("hybrid", _WINDOWED)  # of layer_types
_WINDOW = 512
_PERIOD = 6  # without keys about layers, one of six has no window


def read(model: JsonObject) -> tuple[JsonObject, ...]:
    """The encodings of the typed keys of a text model.

    Raises:
      UserError: the number or a type of the layers is not known, or a key is one of a rotary
        embedding.
    """
    for key in (*config_keys.ROTARY, "sliding_window_pattern"):
        if key in model:
            raise UserError(f"The family Inkling does not read {key}.")
    has_window = _has_window(model)
    windowed = tuple(layer for layer, on in enumerate(has_window) if on)
    full = tuple(layer for layer, on in enumerate(has_window) if not on)
    profiles = {"name": "relative_logits", "num_profiles": model.get("d_rel", 16)}
    encodings = [
        {**profiles, "extent": _window(model), "layers": windowed},
        {**profiles, "extent": model.get("rel_extent", 1024), "layers": full},
    ]
    if "log_scaling_n_floor" in model:
        temperature = {"name": "position_temperature", "steps": False}
        temperature["rate"] = model.get("log_scaling_alpha", 0.1)
        temperature["start"] = model["log_scaling_n_floor"]
        encodings.append({**temperature, "layers": full})
    return tuple(encoding for encoding in encodings if encoding["layers"])


def masks(model: JsonObject) -> dict[str, int]:
    """The window of its layers, by the key of the config."""
    return {"sliding_window_size": _window(model)} if any(_has_window(model)) else {}


def _window(model: JsonObject) -> int:
    """The window, which has two names; null is a key that is missing."""
    window: int | None = model.get("sliding_window_size", model.get("sliding_window"))
    return _WINDOW if window is None else window


def _has_window(model: JsonObject) -> list[bool]:
    """Whether each layer has a window."""
    if "layer_types" in model:
        for label in model["layer_types"]:
            if label not in _TYPES:
                raise unknown("The list of Inkling's types of layers", label, _TYPES)
        return [label == _WINDOWED for label in model["layer_types"]]
    if "num_hidden_layers" not in model:
        raise UserError("A config needs num_hidden_layers or layer_types.")
    layers = range(model["num_hidden_layers"])
    if "local_layer_ids" in model:
        return [layer in model["local_layer_ids"] for layer in layers]
    return [(layer + 1) % _PERIOD != 0 for layer in layers]


def left_out(encodings: Sequence[JsonObject]) -> list[str]:
    """What a model with these encodings computes in another way than pe_lab, if it is Inkling."""
    names = {encoding["name"] for encoding in encodings}
    if "relative_logits" not in names:
        return []
    sentences = [
        "this model divides q·k by the head width, and normalizes queries and keys.",
        "its convolutions at keys, values and outputs are config.model.convolution_sites.",
    ]
    if "position_temperature" in names:
        sentences.append("its temperature also multiplies the bias of relative_logits.")
    return sentences
