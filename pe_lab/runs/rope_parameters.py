"""Position settings of published models, as encodings of a config, and back.

    encodings = read(json.loads(Path("config.json").read_text()))
    # (dict(name="rope", base=5000000.0, layout="half", layers=(0, 1, 2, 4, ...)),)
    keys = write(encodings, num_layers=36)

A config.json of Hugging Face has its rotary embedding in `rope_parameters`, or in `rope_scaling`,
`rope_theta` and further keys of a family. The meaning of the keys and the defaults of the families
follow transformers 5.24.0.

A key that is not known is an error that names it: each key of `rope_parameters`, and each key of
the config with a word such as "rope" or "position" in its name. Windows and chunks of attention
(`sliding_window`, `attention_chunk_size`) are masks and are not read. Neither is the factor of
DeepSeek's softmax, which its attention computes from `mscale_all_dim`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pe_lab.runs import rope_types
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.rope_families import FAMILIES, Family

Spec = dict[str, Any]  # an encoding of a config: dict(name=..., ...)

_FULL, _SLIDING = "full_attention", "sliding_attention"
_OTHER_MIXER = "linear_attention"  # a layer without attention, which has no positions
# Words in the names of keys that say something about positions.
_WORDS: tuple[str, ...] = (
    *("rope", "rotary", "position", "theta", "yarn", "alibi", "ntk", "logn", "nope"),
    *("temperature_tuning", "floor_scale", "attn_scale"),
)
_BASES = ("rope_theta", "rotary_emb_base")
_FRACTIONS = ("partial_rotary_factor", "rotary_pct")
_PARAMETERS = ("rope_parameters", "rope_scaling")
_LAYOUTS = {"rope": "interleaved", "mrope": "half"}  # the defaults of the encodings
_TEMPERATURE = {"attn_scale": "rate", "floor_scale": "start"}  # key -> argument
_KNOWN: tuple[str, ...] = (
    *(*_BASES, *_FRACTIONS, *_PARAMETERS, *_TEMPERATURE, "attn_temperature_tuning"),
    *("rope_local_base_freq", "rotary_dim", "rope_interleave"),
    *("qk_rope_head_dim", "qk_nope_head_dim", "no_rope_layers", "no_rope_layer_interval"),
    *("max_position_embeddings", "original_max_position_embeddings", "n_positions"),
)


def read(config: Mapping[str, Any]) -> tuple[Spec, ...]:
    """The encodings of a published model.

    Args:
      config: the content of its config.json. For a model of text and images, the text part is
        read. Without `model_type`, Llama's conventions apply.

    Returns:
      encodings for `config.model.encodings`, with `layers` where they do not act on all layers.

    Raises:
      UserError: a family or a key is not known, or a value has no meaning.
    """
    model = _text_part(config)
    name = str(model.get("model_type", "llama"))
    if name not in FAMILIES:
        raise unknown("The list of families of models", name, FAMILIES)
    family = FAMILIES[name]
    _check_keys(model, name, family)
    labels = _labels(model, family)
    by_label = _parameters(model, family, labels)
    layout = family.layout
    if "rope_interleave" in model:
        layout = "interleaved" if model["rope_interleave"] else "half"
    max_positions = model.get("max_position_embeddings", model.get("n_positions"))
    by_layer: list[Spec | None] = []
    for label in labels:
        parameters = by_label.get(label)
        if parameters is None:
            by_layer.append(None)
            continue
        spec = rope_types.read(
            parameters, max_positions, model.get("original_max_position_embeddings")
        )
        if family.sections and spec["name"] == "rope":
            raise UserError(f"The family {name} needs mrope_section.")
        by_layer.append({**spec, "layout": layout})
    if model.get("attn_temperature_tuning"):
        temperature = dict(name="position_temperature")
        for key, argument in _TEMPERATURE.items():
            if key in model:
                temperature[argument] = model[key]
        by_layer = [temperature if spec is None else spec for spec in by_layer]
    return _on_layers(by_layer)


def _text_part(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the text model, without null values except for `sliding_window`."""
    text = config.get("text_config")
    text = config if text is None else text
    for key, value in config.items():
        if _is_about_positions(key) and text.get(key) != value:
            raise UserError(f"{key} differs from that of text_config, or is missing there.")
    return {k: v for k, v in text.items() if v is not None or k == "sliding_window"}


def _is_about_positions(key: str) -> bool:
    return any(word in key for word in _WORDS)


def _check_keys(model: Mapping[str, Any], name: str, family: Family) -> None:
    """Check that each key about positions is read."""
    for key in model:
        if _is_about_positions(key) and key not in _KNOWN:
            raise unknown("What is known of configs", key, _KNOWN)
    unread = []
    if family.local_base is None:
        unread.append("rope_local_base_freq")
    if family.nope != "interval" and not model.get("no_rope_layers"):
        unread.append("no_rope_layer_interval")
    for key in unread:
        if key in model:
            raise UserError(f"The family {name} does not read {key}.")
    given = [model[key] for key in _PARAMETERS if model.get(key)]
    if family.scaled and not given:
        raise UserError(f"The family {name} needs rope_parameters.")
    if len(given) == 2 and given[0] != given[1]:
        raise UserError("rope_parameters and rope_scaling differ, and one of them is enough.")


def _labels(model: Mapping[str, Any], family: Family) -> list[str | None]:
    """The type of each layer; None: it has no rotary embedding."""
    types = model.get("layer_types")
    if types is None:
        num_layers = model.get("num_hidden_layers", model.get("n_layer"))
        if not isinstance(num_layers, int):
            raise UserError(f"num_hidden_layers must be a number, got {num_layers!r}.")
        pattern = model.get("sliding_window_pattern", family.pattern)
        if pattern is not None and not isinstance(pattern, int):
            raise UserError(f"sliding_window_pattern {pattern!r} needs layer_types, a list.")
        interval = model.get("full_attention_interval", 1)
        types = []
        for n in range(1, num_layers + 1):
            other = _SLIDING if pattern and n % pattern else _FULL
            types.append(_OTHER_MIXER if n % interval else other)
    labels: list[str | None] = [None if each == _OTHER_MIXER else each for each in types]
    # The windows of EXAONE 4 may be off, and all its layers then rotate.
    if family.nope == "full" and model.get("sliding_window", 1) is not None:
        labels = [None if label == _FULL else label for label in labels]
    rotates = model.get("no_rope_layers") or None  # 1: a layer rotates
    if rotates is None and family.nope == "interval":
        interval = model.get("no_rope_layer_interval", 4)
        rotates = [int(n % interval != 0) for n in range(1, len(labels) + 1)]
    if rotates is None:
        return labels
    if len(rotates) != len(labels):
        raise UserError(f"no_rope_layers has {len(rotates)} values for {len(labels)} layers.")
    return [label if on else None for label, on in zip(labels, rotates, strict=True)]


def _parameters(
    model: Mapping[str, Any], family: Family, labels: Sequence[str | None]
) -> dict[str | None, dict[str, Any] | None]:
    """The complete rope_parameters of each type of layer; None: it has no rotary embedding."""
    given: dict[str, Any] = next((model[key] for key in _PARAMETERS if model.get(key)), {})
    types = {label for label in labels if label is not None}
    if types.intersection(given):  # one for each type of layer
        for key in given:
            if key not in types:
                raise unknown("layer_types", key, types)
        by_type = {label: given.get(label, {}) for label in types}
    else:
        by_type = dict.fromkeys(types, given)
        if family.local_base is not None:
            by_type[_SLIDING] = {}
    complete: dict[str | None, dict[str, Any] | None] = {}
    for label, parameters in by_type.items():
        if parameters is None:
            complete[label] = None
            continue
        defaults = {"rope_theta": _base(model, family, label), **_fraction(model, family)}
        parameters = {**defaults, **parameters}
        if family.sections == "interleaved":  # also if the config does not say so
            parameters["mrope_interleaved"] = True
        complete[label] = parameters
    return complete


def _base(model: Mapping[str, Any], family: Family, label: str) -> float:
    """The rope_theta of a type of layer, outside of its parameters."""
    if label == _SLIDING and family.local_base is not None:
        local = model.get("rope_local_base_freq")
        if local is not None:
            return float(local)
        if family.local_base != family.base:
            return family.local_base
    return float(next((model[key] for key in _BASES if key in model), family.base))


def _fraction(model: Mapping[str, Any], family: Family) -> dict[str, float]:
    """The partial_rotary_factor outside of parameters, as a key, if it is not 1.

    The number of rotated channels is rounded down, as in transformers.
    """
    if "qk_rope_head_dim" in model:  # these rotate, and the others of a query do not
        rotated = model["qk_rope_head_dim"]
        return {"partial_rotary_factor": rotated / (rotated + model["qk_nope_head_dim"])}
    head_dim = model.get("head_dim")
    if head_dim is None:
        width = model.get("hidden_size", model.get("n_embd"))
        heads = model.get("num_attention_heads", model.get("n_head"))
        head_dim = width // heads if width and heads else None
    if "rotary_dim" in model and head_dim is not None:
        return {"partial_rotary_factor": model["rotary_dim"] / head_dim}
    fraction = next((model[key] for key in _FRACTIONS if key in model), family.fraction)
    if head_dim is not None and int(fraction * head_dim) != round(fraction * head_dim):
        fraction = int(fraction * head_dim) / head_dim
    return {} if fraction == 1 else {"partial_rotary_factor": fraction}


def _on_layers(by_layer: Sequence[Spec | None]) -> tuple[Spec, ...]:
    """Encodings with the layers that they act on, each once."""
    encodings = []
    for i, spec in enumerate(by_layer):
        if spec is None or spec in by_layer[:i]:
            continue
        layers = tuple(layer for layer, each in enumerate(by_layer) if each == spec)
        if len(layers) < len(by_layer):
            spec = {**spec, "layers": layers}
        encodings.append(spec)
    return tuple(encodings)


def write(encodings: Sequence[Mapping[str, Any]], num_layers: int) -> dict[str, Any]:
    """The keys of a config.json from which `read` gives these encodings.

    Args:
      encodings: of `config.model.encodings`: rope or mrope, and position_temperature on all other
        layers.
      num_layers: of the model.

    Raises:
      UserError: an encoding or an argument has no key, or a layer rotates twice.
    """
    keys: dict[str, Any] = {"num_hidden_layers": num_layers}
    by_layer: list[dict[str, Any] | None] = [None] * num_layers
    layouts = set()
    tempered = None
    for encoding in encodings:
        arguments = dict(encoding)
        name = arguments["name"]
        layers = arguments.pop("layers", range(num_layers))
        if name == "position_temperature":
            tempered = tuple(layers)
            keys |= _temperature_keys(arguments)
            continue
        if name not in _LAYOUTS:
            raise UserError(f"A published config has keys for rope and mrope, none for {name}.")
        layouts.add(arguments.pop("layout", _LAYOUTS[name]))
        if arguments.get("scaling") == "dynamic_ntk":
            keys["max_position_embeddings"] = arguments["trained_length"]
        parameters = rope_types.write(arguments)
        for layer in layers:
            if by_layer[layer] is not None:
                raise UserError(f"Layer {layer} has two encodings that rotate.")
            by_layer[layer] = parameters
    others = tuple(layer for layer, parameters in enumerate(by_layer) if parameters is None)
    if tempered not in (None, others):
        raise UserError("A published config has position_temperature on all layers without rope.")
    if len(layouts) > 1:
        raise UserError("A published config has one layout for all layers.")
    if layouts == {"interleaved"}:
        keys["rope_interleave"] = True
    if by_layer.count(by_layer[0]) == num_layers and by_layer[0] is not None:
        return {**keys, "rope_parameters": by_layer[0]}
    labels = [f"attention_{by_layer.index(parameters)}" for parameters in by_layer]
    return {
        **keys,
        "layer_types": labels,
        "rope_parameters": dict(zip(labels, by_layer, strict=True)),
    }


def _temperature_keys(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a position_temperature."""
    keys = {"attn_temperature_tuning": True}
    names = {argument: key for key, argument in _TEMPERATURE.items()}
    for argument, value in arguments.items():
        if argument == "name":
            continue
        if argument not in names:
            raise UserError(f"A published config has no key for position_temperature's {argument}.")
        keys[names[argument]] = value
    return keys
