"""GRAPE-M: RoPE with learned frequencies, at positions or at a phase that the tokens sum up.

Equation: pair m of q and k rotates by p · f_m, learned; contextual: by Σ_{l<i} ω_l · f_m.
Beyond training: unseen angles.

Zhang et al. 2025, "Group Representational Position Encoding",
https://arxiv.org/abs/2512.07805: multiplicative GRAPE in the canonical planes. Both forms and their
initialization follow model-architectures/GRAPE at f5b539f, model/llama-mha-grape-m-nonctx.py and
llama-mha-grape-m-ctx.py. Their comments name a softplus for ω and a start of 0.001; the code has
sigmoid(log(exp(0.001) - 1) / 16), which is 0.39, and so has this file.

Differs in the sign of the angles, which is RoPE's here; the weights of the two halves of a head
exchange. The paper's learned planes, which do not commute, are not in the authors' code. There an
RMS norm with a learned scale of each channel follows the rotation; `qk_norm` precedes it, which is
another function once the scales of a pair's two channels differ.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import check_axes, check_positive, rotate
from pe_lab.encodings.requirements import Requirements

_START_STEP = 1e-3
_STEP_SCALE = 16.0  # divides the logits of the steps


class GRAPEM(AttentionEncoding):
    """Pair m rotates by position * frequency, or by the sum of earlier steps * frequency.

    Pair m is channels m and m + Dh / 2. Frequencies start as RoPE's, and their logarithms are
    learned. Angles are float32 products, with an error of 1e-3 at position 1e5. Relative.

    Contextual steps are sigmoid((w·x + b) / 16) of each token, one for all heads. They read no
    positions, only the order of tokens; causal only.

    Args:
      contextual: the phase of a token is the sum of the steps of the tokens before it.
      base: base of the geometric series of the initial frequencies, 10000 in the authors' code.
      share_heads: all heads have the same frequencies, as in the authors' configurations.
      log_scale: the parameters are this times the logarithms of the frequencies, so that a step of
        an optimizer changes them less. 16 in the authors' code; the contextual form has 1.
    """

    requirements = Requirements(relative=True, per_layer=True, cross=True)

    def __init__(
        self,
        *,
        contextual: bool = False,
        base: float = 10000.0,
        share_heads: bool = True,
        log_scale: float | None = None,
        width: int,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs,
    ):
        if head_dim % 2:
            raise ValueError(
                f"GRAPEM rotates pairs, so the head width must be even, got {head_dim}."
            )
        if log_scale is None:
            log_scale = 1.0 if contextual else 16.0
        check_positive("GRAPEM", base=base, log_scale=log_scale)
        self.head_dim = head_dim
        exponents = -np.arange(0, head_dim, 2) / head_dim
        log_frequencies = log_scale * math.log(base) * exponents
        rows = 1 if share_heads else num_heads
        start = np.tile(log_frequencies, (rows, 1))
        self.log_scale = log_scale
        self.log_frequencies = nnx.Param(jnp.asarray(start, jnp.float32))  # [1|H, P]
        steps = None
        if contextual:
            self.require(
                cross=False, reads_positions=False, reads_between=True, bidirectional=False
            )
            steps = nnx.Linear(
                width,
                1,
                dtype=jnp.float32,  # in every model: a phase is a sum of many steps
                kernel_init=nnx.initializers.zeros_init(),
                bias_init=nnx.initializers.constant(math.log(math.expm1(_START_STEP))),
                rngs=rngs,
            )
        self.steps = steps

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[None, Float[Array, "b l"] | None]:
        """The step of each token."""
        if self.steps is None:
            return None, None
        logits = self.steps(x)[..., 0]
        return None, jax.nn.sigmoid(logits / _STEP_SCALE)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        if self.steps is None:
            query_phases = check_axes(Q.positions, 1, "GRAPEM")
            key_phases = check_axes(K.positions, 1, "GRAPEM")
        else:
            assert Q.slots is not None
            # Without the token's own step: the sum is over l < i.
            key_phases = jnp.cumsum(K.features, axis=1) - K.features
            # A query has the phase of its own key, which a cache holds at the query's slot.
            query_phases = jnp.take_along_axis(key_phases, Q.slots, axis=1)
        q = rotate(q, self.angles(query_phases), "half")
        k = rotate(k, self.angles(key_phases), "half")
        return q, k

    def angles(self, phases: Num[Array, "b l"]) -> Float[Array, "b l h p"]:
        # The logarithms are learned, so the frequencies stay positive.
        frequencies = jnp.exp(self.log_frequencies[...] / self.log_scale)
        return phases.astype(jnp.float32)[..., None, None] * frequencies[None, None]
