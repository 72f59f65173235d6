"""Position settings of published models, as encodings of a config, and back.

    encodings = read(json.loads(Path("config.json").read_text()))
    # (dict(name="rope", base=5000000.0, layout="half", layers=(0, 1, 2, 4, ...)),)
    keys = write(encodings, num_layers=36)

A config.json of Hugging Face has its rotary embedding in `rope_parameters`, or in `rope_scaling`,
`rope_theta` and further keys of a family. The meaning of the keys and the defaults of the families
follow transformers 5.24.0.

A key that is not known is an error that names it: each key of `rope_parameters`, and each key of
the config with a word such as "rope" or "position" in its name. Windows and chunks of attention
(`sliding_window`, `attention_chunk_size`) are masks and not in the encodings: `masks` returns them.
DeepSeek's factor of the softmax, which its attention computes from `mscale_all_dim`, is not in the
encodings: `softmax_factor` returns it.
"""

from collections.abc import Sequence
from typing import Any

from pe_lab.contrib.rope import config_keys, inkling, rope_types
from pe_lab.contrib.rope.config_keys import BASES, FRACTIONS, PARAMETERS, TEMPERATURE
from pe_lab.contrib.rope.families import FAMILIES, FULL, SLIDING, Family, layer_labels
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records.record_schema import JsonObject

Spec = JsonObject  # an encoding of a config: dict(name=..., ...)

_LAYOUTS = {"rope": "interleaved", "mrope": "half"}  # the defaults of the encodings


def read(config: JsonObject) -> tuple[Spec, ...]:
    """The encodings of a published model.

    Args:
      config: the content of its config.json. For a model of text and images, the text part is
        read. Without `model_type`, Llama's conventions apply.

    Returns:
      encodings for `config.model.encodings`, with `layers` where they do not act on all layers.

    Raises:
      UserError: a family or a key is not known, or a value has no meaning.
    """
    model, name, family = _model(config)
    if family.relative_logits:
        return inkling.read(model)
    labels = layer_labels(model, family)
    by_label = _parameters(model, family, labels)
    layout = family.layout
    if "rope_interleave" in model:
        layout = "interleaved" if model["rope_interleave"] else "half"
    by_layer: list[Spec | None] = []
    for label in labels:
        parameters = by_label.get(label)
        if parameters is None:
            by_layer.append(None)
            continue
        spec = _rotary(model, parameters)
        if family.sections and spec["name"] == "rope":
            raise UserError(f"The family {name} needs mrope_section.")
        by_layer.append({**spec, "layout": layout})
    if model.get("attn_temperature_tuning"):
        temperature = dict(name="position_temperature")
        for key, argument in TEMPERATURE.items():
            if key in model:
                temperature[argument] = model[key]
        by_layer = [temperature if spec is None else spec for spec in by_layer]
    return _on_layers(by_layer)


def softmax_factor(config: JsonObject) -> float:
    """The factor of q·k that no encoding has: that of DeepSeek's `mscale_all_dim`, or 1.

    Raises:
      UserError: as in `read`.
    """
    model, _, family = _model(config)
    if not family.scales_softmax:
        return 1.0
    parameters = _parameters(model, family, (FULL,))[FULL] or {}
    weight = parameters.get("mscale_all_dim")
    if not weight:
        return 1.0
    factor = _rotary(model, parameters)["factor"]
    return rope_types.growth(factor, weight) ** 2


def _model(config: JsonObject) -> tuple[JsonObject, str, Family]:
    """The keys of the text model, its family's name and the family."""
    model = config_keys.text_part(config)
    name = str(model.get("model_type", "llama"))
    if name not in FAMILIES:
        text = config.get("text_config")
        if text is not None and text.get("model_type") is None:
            raise UserError(
                f"text_config has no model_type, and {name} is no family of text models: add the "
                f"model_type of the text model to text_config."
            )
        raise unknown("The list of families of models", name, FAMILIES)
    family = FAMILIES[name]
    _check_family(model, name, family)
    return {**family.defaults, **model}, name, family


def _rotary(model: JsonObject, parameters: JsonObject) -> Spec:
    """The encoding of complete rope_parameters, without its layout."""
    max_positions = model.get("max_position_embeddings", model.get("n_positions"))
    trained_length = model.get("original_max_position_embeddings")
    return rope_types.read(parameters, max_positions, trained_length)


def _check_family(model: JsonObject, name: str, family: Family) -> None:
    """Check that the family reads the keys, and that those that it needs are there."""
    unread = []
    if family.local_base is None:
        unread.append("rope_local_base_freq")
    if family.nope != "interval" and not model.get("no_rope_layers"):
        unread.append("no_rope_layer_interval")
    if family.interval == 1 or family.nope == "no base":
        unread.append("full_attention_interval")
    if not family.relative_logits:
        unread.extend(config_keys.INKLING)
    if family.layout == "half":  # its only known value is GPT-J's layout
        unread.append("position_embedding_type")
    for key in unread:
        if key in model:
            raise UserError(f"The family {name} does not read {key}.")
    given = [model[key] for key in PARAMETERS if model.get(key)]
    if family.scaled and not given:
        raise UserError(f"The family {name} needs rope_parameters.")
    if len(given) == 2 and given[0] != given[1]:
        raise UserError("rope_parameters and rope_scaling differ, and one of them is enough.")
    if "qk_rope_head_dim" in model and "qk_nope_head_dim" not in model:
        raise UserError("qk_rope_head_dim needs qk_nope_head_dim.")


def _parameters(
    model: JsonObject, family: Family, labels: Sequence[str | None]
) -> dict[str | None, JsonObject | None]:
    """The complete rope_parameters of each type of layer; None: it has no rotary embedding."""
    given: JsonObject = next((model[key] for key in PARAMETERS if model.get(key)), {})
    types = {label for label in labels if label is not None}
    if types.intersection(given):  # one for each type of layer
        for key in given:
            if key not in types:
                raise unknown("layer_types", key, types)
        for label, parameters in given.items():
            if parameters is not None:
                config_keys.checked_object(parameters, f"rope_parameters of {label}")
        by_type = {label: given.get(label, {}) for label in types}
    else:
        by_type = dict.fromkeys(types, given)
        if family.local_base is not None:
            by_type[SLIDING] = {}  # layers with a window have no scaling
    complete: dict[str | None, JsonObject | None] = {}
    for label, parameters in by_type.items():
        if parameters is None:
            complete[label] = None
            continue
        defaults = {"rope_theta": _base(model, family, label), **_fraction(model, family)}
        # A value of null is a key that is missing.
        given_values = {key: value for key, value in parameters.items() if value is not None}
        parameters = {**defaults, **given_values}
        fraction = given_values.get("partial_rotary_factor")  # the default is rounded already
        if isinstance(fraction, float) and parameters.get("rope_type") != "proportional":
            parameters["partial_rotary_factor"] = config_keys.rounded(model, fraction)
        if family.sections == "interleaved":  # also if the config does not say so
            parameters["mrope_interleaved"] = True
        complete[label] = config_keys.typed(parameters)
    return complete


def _base(model: JsonObject, family: Family, label: str) -> float:
    """The rope_theta of a type of layer, outside of its parameters."""
    if label == SLIDING and family.local_base is not None:
        local = model.get("rope_local_base_freq")
        if local is not None:
            return local
        if family.local_base != family.base:
            return family.local_base
    return next((model[key] for key in BASES if key in model), family.base)


def _fraction(model: JsonObject, family: Family) -> dict[str, float]:
    """The partial_rotary_factor outside of parameters, as a key, if it is not 1."""
    if "qk_rope_head_dim" in model:  # these rotate, and the others of a query do not
        rotated = model["qk_rope_head_dim"]
        return {"partial_rotary_factor": rotated / (rotated + model["qk_nope_head_dim"])}
    head_dim = config_keys.head_dim(model)
    if "rotary_dim" in model and head_dim is not None:
        return {"partial_rotary_factor": model["rotary_dim"] / head_dim}
    fraction = next((model[key] for key in FRACTIONS if key in model), family.fraction)
    fraction = config_keys.rounded(model, fraction)
    return {} if fraction == 1 else {"partial_rotary_factor": fraction}


def masks(config: JsonObject) -> dict[str, int]:
    """The windows and chunks of a model's attention, by their keys; no encoding has them."""
    model, _, family = _model(config)
    if family.relative_logits:
        return inkling.masks(model)
    if model.get("use_sliding_window") is False:
        model = {**model, "sliding_window": None}
    return {key: model[key] for key in config_keys.WINDOWS if model.get(key)}


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


def write(encodings: Sequence[JsonObject], num_layers: int) -> JsonObject:
    """The keys of a config.json from which `read` gives these encodings.

    Args:
      encodings: of `config.model.encodings`: rope or mrope, and position_temperature on all other
        layers.
      num_layers: of the model.

    Raises:
      UserError: an encoding or an argument has no key, or a layer rotates twice.
    """
    keys: dict[str, object] = {"num_hidden_layers": num_layers}
    by_layer: list[JsonObject | None] = [None] * num_layers
    layouts = set()
    dynamic_lengths = set()
    tempered = None
    for encoding in encodings:
        arguments = dict(encoding)
        name = arguments["name"]
        layers = _layers(name, arguments.pop("layers", None), num_layers)
        if name == "position_temperature":
            if tempered is not None:
                raise UserError("A published config has position_temperature once.")
            tempered = layers
            keys |= _temperature_keys(arguments)
            continue
        if name not in _LAYOUTS:
            raise UserError(f"A published config has keys for rope and mrope, none for {name}.")
        layouts.add(arguments.pop("layout", _LAYOUTS[name]))
        if arguments.get("scaling") == "dynamic_ntk":
            if arguments.get("trained_length") is None:
                raise UserError(f"{name}'s scaling 'dynamic_ntk' needs trained_length.")
            dynamic_lengths.add(arguments["trained_length"])
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
        keys["rope_interleave"] = True  # without it `read` takes Llama's layout, "half"
    if len(dynamic_lengths) > 1:
        raise UserError("A published config has one trained_length for dynamic_ntk in all layers.")
    if dynamic_lengths:
        keys["max_position_embeddings"] = dynamic_lengths.pop()
    if by_layer.count(by_layer[0]) == num_layers and by_layer[0] is not None:
        return {**keys, "rope_parameters": by_layer[0]}
    labels = [f"attention_{by_layer.index(parameters)}" for parameters in by_layer]
    return {
        **keys,
        "layer_types": labels,
        "rope_parameters": dict(zip(labels, by_layer, strict=True)),
    }


def _layers(name: str, layers: Any, num_layers: int) -> tuple[int, ...]:
    """The layers of an encoding, in order; None: all of them."""
    if layers is None:
        return tuple(range(num_layers))
    exist = isinstance(layers, list | tuple) and set(layers) <= set(range(num_layers))
    if not exist or not layers or len(set(layers)) < len(layers):
        raise UserError(
            f"{name}'s layers must be some of 0..{num_layers - 1}, each once, got {layers!r}."
        )
    return tuple(sorted(layers))


def _temperature_keys(arguments: JsonObject) -> JsonObject:
    """The keys of a position_temperature."""
    keys = {"attn_temperature_tuning": True}
    names = {argument: key for key, argument in TEMPERATURE.items()}
    for argument, value in arguments.items():
        if argument == "name":
            continue
        if argument not in names:
            raise UserError(f"A published config has no key for position_temperature's {argument}.")
        keys[names[argument]] = value
    return keys
