"""Sinusoidal position encoding: sine-cosine pairs of geometrically spaced frequencies.

Equation: sin(w_k p), cos(w_k p), w_k = base^(−2k/D).
Beyond training: unseen phases.

Vaswani et al. 2017, "Attention Is All You Need", section 3.5, https://arxiv.org/abs/1706.03762.

Three layouts are in use, and they are not the same embedding. "interleaved" is the paper's.
"concat" (Transformer-XL, RoFormer) permutes its channels. "tensor2tensor" (also fairseq, Flax
examples) concatenates and spaces the frequencies so that the last is exactly 1 / base. A learned
scale with the initial value width^-0.5 is the scaled sinusoid of Hua et al. 2022,
https://arxiv.org/abs/2202.10447.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding
from pe_lab.encodings.ops import angles, check_positive, pad_channels


class Sinusoidal(InputEncoding):
    """embedding(p) holds sin(w_k p) and cos(w_k p) with w_k = base^(-2k / D).

    A shift is a linear map: embedding(p + shift) = M embedding(p), where M rotates each pair by
    w_k shift. An odd D ends in a zero; the layout "interleaved" needs an even one, because a sine
    without its cosine has no such map.

    Args:
      base: base of the geometric series of wavelengths, 10000 in the paper.
      layout: see above.
    """

    def __init__(
        self,
        *,
        base: float = 10000.0,
        layout: Literal["interleaved", "concat", "tensor2tensor"] = "interleaved",
        width: int,
        **rest,
    ):
        if layout == "interleaved" and width % 2:
            raise ValueError(
                f"Sinusoidal's layout 'interleaved' has pairs of channels, so the width must be "
                f"even, got {width}: take 'concat', which ends in a zero."
            )
        least = 4 if layout == "tensor2tensor" else 2
        if width < least:
            raise ValueError(
                f"Sinusoidal's layout {layout!r} needs a width of {least} or more, got {width}."
            )
        check_positive("Sinusoidal", base=base)
        super().__init__(width, width=width, **rest)
        self.base = base
        self.layout = layout

    def embed(self, positions: Num[Array, "b l"]) -> Float[Array, "b l d"]:
        width = self.width
        if self.layout == "interleaved":
            exponents = np.arange(0, width, 2) / width
        elif self.layout == "concat":
            exponents = np.arange(0, width - 1, 2) / width  # an odd width ends in a zero
        else:
            steps = width // 2 - 1  # the last frequency is exactly 1 / base
            exponents = np.arange(width // 2) / steps
        frequencies = self.base**-exponents
        phases = angles(positions, frequencies.tolist())
        sines = jnp.sin(phases)
        cosines = jnp.cos(phases)
        if self.layout == "interleaved":
            pairs = jnp.stack([sines, cosines], axis=-1)  # [B|1, L, pairs, 2]
            return pairs.reshape(*positions.shape, -1)
        halves = jnp.concatenate([sines, cosines], axis=-1)
        return pad_channels(halves, width)
