"""Options of the model that are off unless a config names them: the fields that switch them on."""

from typing import Any

OPTIONS: dict[str, dict[str, Any]] = {
    "convolutions": {"convolution_sites": ("A", "B", "C", "D")},
    "output_convolutions": {"convolution_sites": ("F", "K", "O", "V")},
    "token_shift": {"token_shift": "both"},
    "key_offset": {"key_offset": 0.5},
    "embedding_smear": {"embedding_smear": 4},
    "gate_by_head": {"output_gate": "head"},
    "gate_by_element": {"output_gate": "element"},
    "head_output_norm": {"head_output_norm": True},
    "learned_sinks": {"learned_sinks": True},
}
# The "Pro" block of the Forgetting Transformer, of which FoX is the encoding.
PRO: dict[str, Any] = {
    "token_shift": "both",
    "qk_norm": True,
    "head_output_norm": True,
    "output_gate": "element",
}
