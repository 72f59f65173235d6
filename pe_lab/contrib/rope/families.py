"""Conventions of families of published models, by the `model_type` of their configs; their layers.

They are read from the files of the families in transformers 5.24.0, and those of Bailing (Ling,
Ring) from inclusionAI/Ling at 69823a6 and Ling-V2 at efee9bb, with the defaults of inclusionAI/Ming
at 621db5f. Bailing 2.5 is not in the list: its layers of linear attention rotate too.

Differs for OLMo Hybrid: transformers 5.24.0 reads a config without rope_theta as one with 10,000,
and its layers rotate. The released models have no rotary embedding, so here none is read.
"""

import dataclasses
from typing import Any, Literal

from pe_lab.contrib.rope.config_keys import BASES, FRACTIONS, PARAMETERS
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records.record_schema import JsonObject

FULL, SLIDING = "full_attention", "sliding_attention"
_OTHER_MIXER = "linear_attention"  # a layer without attention, which has no positions
_TYPES = (FULL, SLIDING, _OTHER_MIXER)
_READS_TYPES = ("full", "windowless", "no base")  # of `Family.nope`


@dataclasses.dataclass(frozen=True)
class Family:
    """What the code of a family says, where the config of a model does not.

    Attributes:
      layout: channels that form a pair, as in RoPE.
      base: rope_theta.
      fraction: partial_rotary_factor.
      nope: layers without a rotary embedding: one of four ("interval"); those with full attention,
        unless the windows of all layers are off ("full"); those without a window ("windowless");
        all, unless the config has a rope_theta ("no base"; then the last layer has attention if
        no other one has).
      pattern: each layer whose number, from 1, is a multiple has full attention, the others have
        a window.
      interval: each layer whose number, from 1, is a multiple has attention, the others have a
        mixer without positions; full_attention_interval, except for "no base".
      local_base: rope_theta of layers with a window, which then have no scaling; None: all layers
        have the same rotary embedding.
      scaled: without parameters the code scales, so that a config must have them.
      scales_softmax: mscale_all_dim is a factor of the softmax too.
      sections: order of the pairs of time, height and width, of a model of text and images.
      relative_logits: the model has Inkling's relative logits and no rotary embedding.
      defaults: values of further keys that a config does not have.
    """

    layout: Literal["half", "interleaved"] = "half"
    base: float = 10_000.0
    fraction: float = 1.0
    nope: Literal["none", "interval", "full", "windowless", "no base"] = "none"
    pattern: int | None = None
    interval: int = 1
    local_base: float | None = None
    scaled: bool = False
    scales_softmax: bool = False
    sections: Literal["chunked", "interleaved"] | None = None
    relative_logits: bool = False
    defaults: JsonObject = dataclasses.field(default_factory=dict)


def _families(names: str, *values: Any, **fields: Any) -> dict[str, Family]:
    return dict.fromkeys(names.split(), Family(*values, **fields))


_WINDOW = dict(sliding_window=4096)
_NO_WINDOW = dict(use_sliding_window=False)  # also if a config has a sliding_window
_LLAMA4 = dict(attention_chunk_size=8192, attn_temperature_tuning=True)

FAMILIES: dict[str, Family] = {
    **_families("llama phi3 starcoder2 granite gemma olmo olmo2"),
    **_families("mistral gemma2", defaults=_WINDOW),
    **_families("qwen2 qwen2_moe qwen3 qwen3_moe", defaults=_NO_WINDOW | _WINDOW),
    **_families("mixtral", base=1e6),
    **_families("minimax_m2", base=5e6),
    **_families("gpt_oss", base=150_000.0, scaled=True, defaults=dict(sliding_window=128)),
    **_families("phi persimmon nemotron", fraction=0.5),
    **_families("gpt_neox stablelm", fraction=0.25),
    **_families("gptj", "interleaved"),
    **_families("deepseek_v2 deepseek_v3", "interleaved", scales_softmax=True),
    **_families("glm glm4", "interleaved", fraction=0.5),
    **_families("cohere ernie4_5", "interleaved", 500_000.0),
    **_families("helium", "interleaved", 100_000.0),
    **_families("cohere2", "interleaved", nope="windowless", pattern=4, defaults=_WINDOW),
    **_families("exaone4", nope="full", pattern=4, defaults=_WINDOW),
    **_families("smollm3", base=2e6, nope="interval", defaults=_NO_WINDOW),
    **_families("llama4_text", "interleaved", 500_000.0, nope="interval", defaults=_LLAMA4),
    **_families("gemma3_text", base=1e6, pattern=6, local_base=10_000.0, defaults=_WINDOW),
    **_families(
        "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text",
        base=1e6,
        sections="chunked",
        defaults=_NO_WINDOW | _WINDOW,
    ),
    **_families("qwen3_vl_text", base=500_000.0, sections="interleaved"),
    **_families("qwen3_5_text", fraction=0.25, interval=4, sections="interleaved"),
    **_families("olmo3", base=500_000.0, pattern=4, local_base=500_000.0, defaults=_WINDOW),
    # transformers at 009e78d: the released models have no rope_theta, or null.
    **_families("olmo_hybrid", nope="no base", interval=4),
    **_families("bailing_moe"),
    **_families("bailing_moe_v2", fraction=0.5),
    **_families("inkling_mm_model inkling_text", relative_logits=True),
}


def layer_labels(model: JsonObject, family: Family) -> list[str | None]:
    """The type of each layer; None: it has no rotary embedding.

    Raises:
      UserError: the number of layers or a type is not known, two keys have different numbers, or a
        rotary embedding has no base.
    """
    types = model.get("layer_types")
    if types is None:
        num_layers = model.get("num_hidden_layers", model.get("n_layer"))
        if num_layers is None:
            raise UserError("A config needs num_hidden_layers or layer_types.")
        pattern = model.get("sliding_window_pattern", family.pattern)
        if isinstance(pattern, str):
            raise UserError(f"sliding_window_pattern {pattern!r} needs layer_types, a list.")
        interval = model.get("full_attention_interval", family.interval)
        types = []
        for n in range(1, num_layers + 1):
            other = SLIDING if pattern and n % pattern else FULL
            types.append(_OTHER_MIXER if n % interval else other)
        if family.nope == "no base" and FULL not in types:
            types[-1] = FULL
    if family.local_base is not None or family.interval > 1 or family.nope in _READS_TYPES:
        for each in types:
            if each not in _TYPES:
                raise unknown("The list of types of layers", each, _TYPES)
    labels: list[str | None] = [None if each == _OTHER_MIXER else each for each in types]
    has_windows = model.get("sliding_window", 1) is not None
    if family.nope == "full" and has_windows:
        labels = [None if label == FULL else label for label in labels]
    if family.nope == "windowless":
        labels = [label if has_windows and label == SLIDING else None for label in labels]
    if family.nope == "no base" and not _has_base(model):
        labels = [None] * len(labels)
    rotates = model.get("no_rope_layers") or None  # 1: a layer rotates
    if rotates is None and family.nope == "interval":
        interval = model.get("no_rope_layer_interval", 4)
        rotates = [int(n % interval != 0) for n in range(1, len(labels) + 1)]
    if rotates is None:
        return labels
    if len(rotates) != len(labels):
        raise UserError(f"no_rope_layers has {len(rotates)} values for {len(labels)} layers.")
    return [label if on else None for label, on in zip(labels, rotates, strict=True)]


def _has_base(model: JsonObject) -> bool:
    """Whether a config has a rope_theta, outside of its parameters or in them.

    A null in the parameters wins, as in transformers.

    Raises:
      UserError: it has none, and another key of a rotary embedding.
    """
    parameters: JsonObject = next((model[key] for key in PARAMETERS if model.get(key)), {})
    outside = {key: model[key] for key in (*BASES, *FRACTIONS, "rotary_dim") if key in model}
    keys = {**outside, **parameters}
    if keys.pop("rope_theta", None) is not None:
        return True
    for key, value in keys.items():
        if value not in (None, "default"):
            raise UserError(f"{key} has no meaning without rope_theta: no layer rotates.")
    return False
