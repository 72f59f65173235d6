"""Conventions of families of published models, by the `model_type` of their configs.

They are read from the files of the families in transformers 5.24.0.
"""

import dataclasses
from typing import Any, Literal


@dataclasses.dataclass(frozen=True)
class Family:
    """What the code of a family says, where the config of a model does not.

    Attributes:
      layout: channels that form a pair, as in RoPE.
      base: rope_theta.
      fraction: partial_rotary_factor.
      nope: layers without a rotary embedding: one of four ("interval"), or those with full
        attention.
      pattern: each layer whose number, from 1, is a multiple has full attention, the others have
        a window.
      local_base: rope_theta of layers with a window, which then have no scaling; None: all layers
        have the same rotary embedding.
      scaled: without parameters the code scales, so that a config must have them.
      sections: order of the pairs of time, height and width, of a model of text and images.
    """

    layout: Literal["half", "interleaved"] = "half"
    base: float = 10_000.0
    fraction: float = 1.0
    nope: Literal["none", "interval", "full"] = "none"
    pattern: int | None = None
    local_base: float | None = None
    scaled: bool = False
    sections: Literal["chunked", "interleaved"] | None = None


def _families(names: str, *values: Any, **fields: Any) -> dict[str, Family]:
    return dict.fromkeys(names.split(), Family(*values, **fields))


FAMILIES: dict[str, Family] = {
    **_families("llama mistral qwen2 qwen2_moe qwen3 qwen3_moe phi3 starcoder2 granite"),
    **_families("gemma gemma2 olmo olmo2"),
    **_families("mixtral", base=1e6),
    **_families("minimax_m2", base=5e6),
    **_families("gpt_oss", base=150_000.0, scaled=True),
    **_families("phi persimmon nemotron", fraction=0.5),
    **_families("gpt_neox stablelm", fraction=0.25),
    **_families("gptj deepseek_v2 deepseek_v3", "interleaved"),
    **_families("glm glm4", "interleaved", fraction=0.5),
    **_families("cohere ernie4_5", "interleaved", 500_000.0),
    **_families("helium", "interleaved", 100_000.0),
    **_families("cohere2", "interleaved", nope="full", pattern=4),
    **_families("exaone4", nope="full", pattern=4),
    **_families("smollm3", base=2e6, nope="interval"),
    **_families("llama4_text", "interleaved", 500_000.0, nope="interval"),
    **_families("gemma3_text", base=1e6, pattern=6, local_base=10_000.0),
    **_families("qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", base=1e6, sections="chunked"),
    **_families("qwen3_vl_text", base=500_000.0, sections="interleaved"),
    **_families("qwen3_5_text", fraction=0.25, sections="interleaved"),
    **_families("olmo3", base=500_000.0, pattern=4, local_base=500_000.0),
}
