"""FoPE: RoPE with a Fourier series in each pair, without frequencies that complete no period.

Equation: pair m of head h: cos → Σ_n a_hnm cos(p f_n), sin → Σ_n b_hnm sin(p f_n).
Beyond training: unseen, but all frequencies completed a period.

Hua et al. 2024, "Fourier Position Embedding: Enhancing Attention's Periodic Extension for Length
Generalization", https://arxiv.org/abs/2412.17739. Frequencies, coefficients and their spread follow
TsinghuaC3I/Fourier-Position-Embedding at bd94b20, olmo/model.py, with the settings of its
configurations (eye_xavier_norm, separate bases and heads, zero frequencies ignored).

Differs: the code pads the sine of the pairs without frequencies with 1, like their cosine, which
doubles their part of q·k. Here it is 0, the sine of a frequency of 0, and they stay as they are.
There each layer draws coefficients of its own; here all layers share one draw unless share=False.
"""

import math

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import angles, check_axes, check_finite, check_positive
from pe_lab.encodings.requirements import Requirements


class FoPE(AttentionEncoding):
    """Pairs turn by sums of sines and cosines of the frequencies base^(-2n / Dh) that are kept.

    Pair m is channels m and m + Dh / 2. A frequency is kept if it completes a period in the trained
    length. The first Dh / 4 pairs have series (fewer, if fewer frequencies are kept). The
    coefficients start as one frequency of each pair plus noise. The other pairs read no position.
    Not relative: sums of rotations are no rotations. Angles are exact to 1e-6 below position 2^24.

    Args:
      trained_length: positions of training, 512 in the paper's first models.
      base: base of the geometric series of wavelengths, 10000 in the paper.
      gain: spread of the noise, as the gain of Xavier's initialization; 0.3 in the authors' code
        for 60 million parameters, 0.4 for 180 and 0.6 for 1200.
      learn: train the coefficients; the authors' code does not.
      draw: the seed of the noise.
    """

    requirements = Requirements(cross=True)

    def __init__(
        self,
        *,
        trained_length: int = 512,
        base: float = 10000.0,
        gain: float = 0.3,
        learn: bool = False,
        draw: int = 0,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        if head_dim % 4:
            raise ValueError(
                f"FoPE has series for half of the pairs, so 4 must divide the head width, got "
                f"{head_dim}."
            )
        check_positive("FoPE", base=base)
        check_finite("FoPE", gain=gain)
        self.head_dim = head_dim
        frequencies = base ** (-np.arange(0, head_dim, 2) / head_dim)
        # A period of at most the trained length L0: 2 pi / f <= L0.
        kept = frequencies[frequencies >= 2 * math.pi / trained_length]
        if not len(kept):
            raise ValueError(
                f"FoPE keeps frequencies with a period in the trained length, which is 7 or more, "
                f"got trained_length={trained_length}."
            )
        self.frequencies = tuple(kept.tolist())
        self.num_pairs = head_dim // 2
        num_series = min(len(kept), head_dim // 4)
        # NumPy draws it, so that the same config has the same noise on every device.
        generator = np.random.default_rng(draw)
        shape = (2, num_heads, len(kept), num_series)  # of sines and of cosines
        # PyTorch counts the last axis of a matrix for each head as the size of a kernel.
        fans = len(kept) * num_series + num_heads * num_series
        noise = gain * math.sqrt(2 / fans) * generator.standard_normal(shape)
        coefficients = _one_frequency_each(len(kept), num_series) + noise
        self.shape = shape
        self.fixed = None if learn else tuple(coefficients.reshape(-1).tolist())
        self.coefficients = nnx.Param(jnp.asarray(coefficients, jnp.float32)) if learn else None

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return self.turn(q, Q.positions), self.turn(k, K.positions)

    def turn(
        self, x: Float[Array, "b l h e"], positions: Num[Array, "#b l *a"]
    ) -> Float[Array, "b l h e"]:
        """Queries or keys with the series of their positions in place of sine and cosine."""
        check_axes(positions, 1, "FoPE")
        if self.coefficients is None:
            coefficients = jnp.asarray(self.fixed, jnp.float32).reshape(self.shape)
        else:
            coefficients = self.coefficients[...]
        angle = angles(positions, self.frequencies)
        sin = jnp.einsum("bln,hnm->blhm", jnp.sin(angle), coefficients[0])
        cos = jnp.einsum("bln,hnm->blhm", jnp.cos(angle), coefficients[1])
        missing = ((0, 0), (0, 0), (0, 0), (0, self.num_pairs - sin.shape[-1]))
        sin = jnp.pad(sin, missing)
        cos = jnp.pad(cos, missing, constant_values=1.0)
        first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
        turned = [first * cos - second * sin, second * cos + first * sin]
        return jnp.concatenate(turned, axis=-1).astype(x.dtype)


def _one_frequency_each(num_frequencies: int, num_series: int) -> np.ndarray:
    """Coefficients [N, M] with which series m is the frequency m * ceil(N / M), if there is one."""
    step = math.ceil(num_frequencies / num_series)
    is_own = np.arange(num_frequencies)[:, None] == step * np.arange(num_series)
    return is_own.astype(np.float64)
