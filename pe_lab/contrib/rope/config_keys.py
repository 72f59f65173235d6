"""The text part of a published config.json: its keys about positions are known, its values typed.

A key that is not known is an error that names it: each key with a word such as "rope" or "position"
in its name, and each that is a known key but for a letter. So is a value of another type, such as a
text in the place of a number.
"""

import difflib
from collections.abc import Mapping

from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings import typed_values

# Words in the names of keys that say something about positions.
_WORDS: tuple[str, ...] = (
    *("rope", "rotary", "position", "theta", "yarn", "alibi", "ntk", "logn", "nope"),
    *("temperature_tuning", "floor_scale", "attn_scale"),
)
BASES = ("rope_theta", "rotary_emb_base")
FRACTIONS = ("partial_rotary_factor", "rotary_pct")
PARAMETERS = ("rope_parameters", "rope_scaling")
TEMPERATURE = {"attn_scale": "rate", "floor_scale": "start"}  # key -> argument
# Of a rotary embedding, and of the layers without one.
ROTARY: tuple[str, ...] = (
    *(*BASES, *FRACTIONS, *PARAMETERS, *TEMPERATURE, "attn_temperature_tuning"),
    *("rope_local_base_freq", "rotary_dim", "rope_interleave"),
    *("qk_rope_head_dim", "qk_nope_head_dim", "no_rope_layers", "no_rope_layer_interval"),
)
INKLING = ("d_rel", "rel_extent", "local_layer_ids", "log_scaling_n_floor", "log_scaling_alpha")
_LAYERS = ("layer_types", "sliding_window_pattern", "full_attention_interval")
_MAY_BE_NULL = ("sliding_window", "attention_chunk_size")  # there is none
WINDOWS = ("sliding_window_size", *_MAY_BE_NULL)
_KNOWN: tuple[str, ...] = (
    *(*ROTARY, *INKLING),
    *("max_position_embeddings", "original_max_position_embeddings", "n_positions"),
)

_WHOLE = (
    *("num_hidden_layers", "n_layer", "hidden_size", "n_embd", "num_attention_heads", "n_head"),
    *("head_dim", "rotary_dim", "qk_rope_head_dim", "qk_nope_head_dim"),
    *("no_rope_layer_interval", "full_attention_interval", "floor_scale"),
    *("max_position_embeddings", "original_max_position_embeddings", "n_positions"),
    *(*WINDOWS, "d_rel", "rel_extent", "log_scaling_n_floor"),
)
_NUMBERS = (
    *(*BASES, *FRACTIONS, "rope_local_base_freq", "attn_scale", "log_scaling_alpha"),
    *("factor", "attention_factor", "mscale", "mscale_all_dim", "beta_fast", "beta_slow"),
    *("low_freq_factor", "high_freq_factor"),
)
# Of the config and of its rope_parameters.
_TYPES: JsonObject = {
    **dict.fromkeys(_WHOLE, int),
    **dict.fromkeys(_NUMBERS, float),
    **dict.fromkeys(("rope_interleave", "mrope_interleaved", "truncate"), bool),
    "use_sliding_window": bool,
    "attn_temperature_tuning": bool | int,  # 4 in some files of Llama 4
    **dict.fromkeys(("long_factor", "short_factor"), tuple[float, ...]),
    **dict.fromkeys(("rope_type", "type"), str),
    "mrope_section": tuple[int, ...],
    "no_rope_layers": tuple[int, ...],
    "local_layer_ids": tuple[int, ...],
    "layer_types": tuple[str, ...],
    "sliding_window_pattern": int | str,
}
_READ = (*_KNOWN, *_TYPES, "text_config", "model_type")
# Published files have these keys, which transformers does not read, with these values. Another
# value might change the positions.
_NOT_READ = {
    "rotary": True,  # GPT-J
    "use_mrope": False,  # Qwen2.5
    "position_embedding_type": "rope_gptj",  # Command R7B: pairs are neighboring channels
}


def text_part(config: JsonObject) -> JsonObject:
    """Return the typed keys of the text model, without null values except for those of windows.

    A text_config without `model_type` has that of the whole config.

    Raises:
      UserError: a key about positions is not known, a value has another type, or two keys have
        different numbers of layers.
    """
    text = config
    if config.get("text_config") is not None:
        text = checked_object(config["text_config"], "text_config")
        for key, value in config.items():
            is_read = _is_about_positions(key) or key in (*INKLING, *WINDOWS, *_LAYERS)
            if is_read and key not in _NOT_READ and text.get(key) != value:
                raise UserError(f"{key} differs from that of text_config, or is missing there.")
            if value is not None and _is_misspelt(key):
                raise _unknown(key)
        _check_not_read(config)
    given = {k: v for k, v in text.items() if v is not None or k in _MAY_BE_NULL}
    if config.get("model_type") is not None:
        given.setdefault("model_type", config["model_type"])
    _check_not_read(given)
    for key in given:
        is_known = key in _KNOWN or key in _NOT_READ
        if not is_known and (_is_about_positions(key) or _is_misspelt(key)):
            raise _unknown(key)
    for key in PARAMETERS:
        if key in given:
            checked_object(given[key], key)
    values = typed(given)
    num_layers = values.get("num_hidden_layers", values.get("n_layer"))
    types = values.get("layer_types")
    if types is not None and num_layers not in (None, len(types)):
        raise UserError(f"layer_types has {len(types)} values for {num_layers} layers.")
    return values


def _check_not_read(config: JsonObject) -> None:
    """Check the values of keys that are not read.

    Raises:
      UserError: a value is not that of published files.
    """
    for key, value in _NOT_READ.items():
        given = config.get(key)
        if given is not None and given != value:
            raise UserError(
                f"{key} is not read, and its only known value is {value!r}: got {given!r}."
            )


def _unknown(key: str) -> UserError:
    names = {*_KNOWN, *_TYPES}  # a set, because both have some keys
    return unknown("The list of keys that are known", key, names)


def _is_about_positions(key: str) -> bool:
    return any(word in key for word in _WORDS)


def _is_misspelt(key: str) -> bool:
    """Whether a key is that of another key but for a letter, which would be read as missing.

    Keys with a prefix are others: v_head_dim.
    """
    if key in _READ or key in _NOT_READ:
        return False
    near = difflib.get_close_matches(key, _READ, n=1, cutoff=0.85)
    return bool(near) and abs(len(near[0]) - len(key)) <= 1


def checked_object(value: object, name: str) -> JsonObject:
    """Return a value that is an object of JSON.

    Raises:
      UserError: it is another one.
    """
    if not isinstance(value, Mapping):
        raise UserError(f"{name} must be an object, got {value!r}.")
    return value


def typed(keys: JsonObject) -> JsonObject:
    """Return keys with values of their types, lists as tuples; other keys as they are.

    Raises:
      UserError: a value has another type, or a whole number is too small.
    """
    values: dict[str, object] = {}
    for key, value in keys.items():
        if value is None:
            values[key] = value
            continue
        if key in _WHOLE and isinstance(value, float) and value.is_integer():
            value = int(value)  # 32768.0, which transformers takes too
        if key in _TYPES:
            value = typed_values.checked(value, _TYPES[key], key)
        least = 0 if key == "qk_nope_head_dim" else 1
        if key in _WHOLE and value < least:
            raise UserError(f"{key} must be at least {least}, got {value}.")
        if key in FRACTIONS and not 0 <= value <= 1:
            raise UserError(f"{key} must be between 0 and 1, got {value}.")
        values[key] = value
    return values


def head_dim(model: JsonObject) -> int | None:
    """Return the width of a head; None if the config does not say it."""
    if model.get("head_dim") is not None:
        return int(model["head_dim"])
    width = model.get("hidden_size", model.get("n_embd"))
    heads = model.get("num_attention_heads", model.get("n_head"))
    return width // heads if width and heads else None


def rounded(model: JsonObject, fraction: float) -> float:
    """Return a partial_rotary_factor with its channels rounded down, as in transformers."""
    width = head_dim(model)
    if width is None or int(fraction * width) == round(fraction * width):
        return fraction
    return int(fraction * width) / width
