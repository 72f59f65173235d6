"""Sandwich: the inner product of two sinusoidal codes as a bias, flatter in later heads.

Chi et al. 2022, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis",
https://arxiv.org/abs/2212.10356. Frequencies and slopes are those of NVIDIA's NeMo at 000b931
(sandwich_relative_position_embedding.py), whose subtracted constant, the value at distance 0, keeps the
bias at most 0 and changes no softmax. The paper's own text could not be read.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens, angles


class Sandwich(AttentionEncoding):
    """Adds sum_k (cos(distance / 10000^(2k/C)) - 1) * H / 8h to the logits of head h, k = 1..C/2.

    Relative, defined at any distance, symmetric. No parameters.

    Args:
      code_width: C, channels of the sinusoidal code; the default of 128 could not be checked.
      base: of the geometric series of wavelengths.
    """

    relative = True
    cross = True

    def __init__(self, *, code_width: int = 128, base: float = 10000.0, num_heads: int):
        if code_width < 2 or code_width % 2:
            raise ValueError(f"Sandwich's code_width counts sines and cosines, so it must be even and at least 2, got {code_width}.")
        k = np.arange(1, code_width // 2 + 1)
        self.frequencies = tuple((base ** (-2 * k / code_width)).tolist())
        self.slopes = tuple((num_heads / (8 * np.arange(1, num_heads + 1))).tolist())

    def kernel(self, offsets: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        cosines = jnp.cos(angles(offsets, self.frequencies)).sum(axis=-1)
        return self._by_head(cosines - len(self.frequencies))

    def is_kernel(self, Q: Tokens, K: Tokens) -> bool:
        return Q.arange and K.arange

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "_ _ l s"]:
        """Away from aranges cos(a - b) = cos a cos b + sin a sin b: never an array of [B, L, S, C]."""
        if Q.arange and K.arange and (of_offsets := super().bias(Q, K)) is not None:
            return of_offsets
        q, k = (angles(T.positions, self.frequencies) for T in (Q, K))
        cosines = jnp.einsum("nblc,nbsc->bls", *(jnp.stack([jnp.cos(a), jnp.sin(a)]) for a in (q, k)))
        return jnp.moveaxis(self._by_head(cosines - len(self.frequencies)), 0, 1)

    def _by_head(self, x: Float[Array, "*o"]) -> Float[Array, "h *o"]:
        return jnp.multiply.outer(jnp.asarray(self.slopes), x)
