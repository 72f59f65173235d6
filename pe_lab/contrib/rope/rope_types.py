"""The rotary embedding of one layer: `rope_parameters` of Hugging Face, and an encoding.

Keys and their meaning follow transformers 5.24.0, modeling_rope_utils.py.
"""

import math
from typing import Any

from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records.record_schema import JsonObject

_TRAINED = "original_max_position_embeddings"
# rope_type -> the value of RoPE's `scaling`
_SCALINGS = {
    "default": "none",
    "linear": "linear",
    "dynamic": "dynamic_ntk",
    "yarn": "yarn",
    "longrope": "longrope",
    "llama3": "llama3",
    "proportional": "linear",  # RoPE's `proportion`; a factor divides all frequencies
}
_EARLIER_NAMES = {"su": "longrope", "mrope": "default"}
# rope_type -> key -> the argument of RoPE
_ARGUMENTS: dict[str, dict[str, str]] = {
    "default": {},
    "linear": {"factor": "factor"},
    "dynamic": {"factor": "factor"},
    "yarn": {
        "factor": "factor",
        _TRAINED: "trained_length",
        "attention_factor": "attention_factor",
        "beta_fast": "beta_fast",
        "beta_slow": "beta_slow",
        "truncate": "truncate",
    },
    "longrope": {
        "factor": "factor",
        _TRAINED: "trained_length",
        "attention_factor": "attention_factor",
        "long_factor": "long_factors",
        "short_factor": "short_factors",
    },
    "llama3": {
        "factor": "factor",
        _TRAINED: "trained_length",
        "low_freq_factor": "low_frequency_factor",
        "high_freq_factor": "high_frequency_factor",
    },
    "proportional": {"factor": "factor"},
}
_OF_YARN = ("mscale", "mscale_all_dim")  # they give an attention factor
_COMMON = ("rope_type", "type", "rope_theta", "partial_rotary_factor")
# Keys that a config must have; others have defaults, or follow from the trained lengths.
_REQUIRED = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "longrope": ("long_factor", "short_factor"),
}


def read(
    parameters: JsonObject, max_positions: int | None, trained_length: int | None = None
) -> JsonObject:
    """The encoding, `rope` or `mrope`, without its layout.

    Args:
      parameters: with `rope_theta`; typed, without null values.
      max_positions: the config's `max_position_embeddings`.
      trained_length: the config's `original_max_position_embeddings`, which takes precedence over
        the one in the parameters.

    Raises:
      UserError: a type or a key is not known, or one is missing.
    """
    given = dict(parameters)
    kind = _type(given)
    if trained_length is not None and _TRAINED in _ARGUMENTS[kind]:
        given[_TRAINED] = trained_length
    sections = given.pop("mrope_section", None)
    is_interleaved = given.pop("mrope_interleaved", False)
    names = _ARGUMENTS[kind]
    allowed = (*_COMMON, *names, *(_OF_YARN if kind == "yarn" else ()))
    for key in given:
        if key not in allowed:
            raise unknown(f"The rope_type {kind!r}", key, allowed)
    for key in _REQUIRED.get(kind, ()):
        if key not in given:
            raise UserError(f"The rope_type {kind!r} needs {key}.")
    arguments: dict[str, object] = {"base": given["rope_theta"]}
    fraction = given.get("partial_rotary_factor", 1.0)
    if fraction != 1:
        arguments["proportion" if kind == "proportional" else "fraction"] = fraction
    for key, argument in names.items():
        if key in given:
            arguments[argument] = given[key]
    arguments |= _derived(kind, given, max_positions)
    if _SCALINGS[kind] != "none" and "factor" in arguments:
        arguments["scaling"] = _SCALINGS[kind]
    if sections is None:
        return {"name": "rope", **arguments}
    if kind != "default":
        raise UserError(f"mrope_section together with the rope_type {kind!r} is not known.")
    order = "interleaved" if is_interleaved else "chunked"
    return {"name": "mrope", **arguments, "sections": sections, "order": order}


def _type(given: JsonObject) -> str:
    """The rope_type, under its present name."""
    kinds = [_EARLIER_NAMES.get(given[key], given[key]) for key in _COMMON[:2] if key in given]
    if len(set(kinds)) > 1:
        raise UserError(f"rope_type is {kinds[0]!r} and type is {kinds[1]!r}: they must be equal.")
    kind = str(kinds[0]) if kinds else "default"
    if kind not in _SCALINGS:
        raise unknown("The list of types of rotary embedding (rope_type)", kind, _SCALINGS)
    return kind


def _derived(kind: str, given: JsonObject, max_positions: int | None) -> JsonObject:
    """Arguments that follow from other keys."""
    derived: dict[str, Any] = {}
    trained = given.get(_TRAINED, max_positions)
    if kind == "dynamic" or _TRAINED in _ARGUMENTS[kind]:
        if trained is None:
            raise UserError(f"The rope_type {kind!r} needs max_position_embeddings.")
        derived["trained_length"] = trained
    factor: Any = given.get("factor")
    if kind in ("yarn", "longrope") and factor is None:
        if max_positions is None:
            raise UserError(f"The rope_type {kind!r} needs factor, or max_position_embeddings.")
        factor = max_positions / trained
        derived["factor"] = factor
    # Both must be given and not 0, as in transformers.
    if kind == "yarn" and "attention_factor" not in given and all(map(given.get, _OF_YARN)):
        numerator, denominator = (growth(factor, given[key]) for key in _OF_YARN)
        derived["attention_factor"] = numerator / denominator
    return derived


def growth(factor: float, mscale: float) -> float:
    """YaRN's factor of queries and keys, with a weight of the logarithm."""
    return 0.1 * mscale * math.log(factor) + 1 if factor > 1 else 1.0


def write(encoding: JsonObject) -> JsonObject:
    """The `rope_parameters` of a `rope` or `mrope`, without its layout.

    dynamic_ntk's trained length is the config's `max_position_embeddings`, which is left out.

    Raises:
      UserError: a scaling or an argument has no key.
    """
    rest = dict(encoding)
    name = rest.pop("name")
    scaling = rest.pop("scaling", "none")
    # "proportional" shares the scaling of "linear"; the proportion below tells them apart.
    kind = next((kind for kind, scaled in _SCALINGS.items() if scaled == scaling), None)
    if kind is None:
        raise UserError(f"rope's scaling {scaling!r} has no rope_type.")
    base = rest.pop("base", 10_000.0 if name == "rope" else 1_000_000.0)
    parameters: dict[str, object] = {"rope_theta": base}
    proportion = rest.pop("proportion", 1.0)
    fraction = rest.pop("fraction", 1.0)
    if proportion != 1:
        if kind not in ("default", "linear") or fraction != 1:
            raise UserError("rope's proportion has a rope_type with the scaling 'linear' alone.")
        kind = "proportional"
    if proportion != 1 or fraction != 1:
        parameters["partial_rotary_factor"] = min(proportion, fraction)  # one of the two is 1
    parameters["rope_type"] = kind
    if kind == "dynamic":
        rest.pop("trained_length", None)
    if name == "mrope":
        if rest.get("sections") is None:
            raise UserError("A published config has mrope's sections, so they must be given.")
        parameters["mrope_section"] = list(rest.pop("sections"))
        parameters["mrope_interleaved"] = rest.pop("order", "chunked") == "interleaved"
    for key, argument in _ARGUMENTS[kind].items():
        if argument in rest:
            value = rest.pop(argument)
            parameters[key] = list(value) if isinstance(value, tuple) else value
    if rest:
        raise UserError(f"The rope_type {kind!r} has no key for {name}'s {min(rest)}.")
    return parameters
