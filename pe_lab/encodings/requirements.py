"""What an encoding declares about itself, as plain data that needs no JAX to be read."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Requirements:
    """Needs of an encoding, and properties that it guarantees.

    The model refuses combinations that these fields exclude, and the laws of the tests read them.

    Attributes:
      site: where the encoding acts: at the "input" or inside "attention".
      relative: a common shift of all positions changes nothing.
      reads_positions: positions matter; False if only tokens and their order do.
      whole_positions: positions must be integers.
      num_axes: A, the axes of the positions that it reads; 1 means positions [B|1, L].
      max_positions: positions 0..max_positions-1 are defined; None means all are.
      reads_length: the length of the whole example matters, not only positions.
      reads_between: all tokens between key and query matter, visible or not.
      coarse: neighboring positions may be the same to it.
      causal: defined in causal self-attention.
      bidirectional: defined in bidirectional self-attention.
      cross: defined in cross-attention, between two streams of positions.
      per_layer: by default every layer has parameters of its own.
      widens_qk: queries and keys have more channels after `transform_qk`.
      only_bias: it acts through `bias` or `content_bias` and nothing else.
      replaces: parts of attention that it computes in its own way, so that attention cannot be
        fused: the "logits", their normalization ("normalize") or the weighted sum ("combine").
    """

    site: Literal["input", "attention"] = "attention"
    relative: bool = False
    reads_positions: bool = True
    whole_positions: bool = False
    num_axes: int = 1
    max_positions: int | None = None
    reads_length: bool = False
    reads_between: bool = False
    coarse: bool = False
    causal: bool = True
    bidirectional: bool = True
    cross: bool = False
    per_layer: bool = False
    widens_qk: bool = False
    only_bias: bool = False
    replaces: tuple[Literal["logits", "normalize", "combine"], ...] = ()
