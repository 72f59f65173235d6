"""PaTH: between key and query, every token reflects the query's space by a matrix of its own.

Yang et al. 2025, "PaTH Attention: Position Encoding via Accumulating Householder Transformations",
https://arxiv.org/abs/2505.16381; projections and their starts as in fla-org/flash-linear-attention at 27289fc,
layers/path_attn.py.

Differs in that w comes from its own token alone: the paper's short convolution of three tokens (use_w_shortconv in
that code) needs a carry beside the cache. Its forget gate is FoX beside PaTH. All of it is float32.

The matrices are never multiplied. A block of tokens has H_i ... H_(j+1) = I - sum over i >= a >= b > j of
w_a T_ab w_b^T, with T = (I + strictly lower part of diag(beta) W W^T)^-1 diag(beta); T's contiguous blocks are the T of
their own tokens, so the same T serves every pair of a block. Blocks are taken from the last to the first, and what
a block does to the queries behind it is carried on.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Num, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens

_BLOCK = 32  # tokens of one T: the fastest on CPU from 64 to 512 tokens
_EPSILON = 1e-6  # beside the squared length of w, as in the authors' code


class PaTH(AttentionEncoding):
    """logits = q_i^T H_i ... H_(j+1) k_j / sqrt(Dh) with H_t = I - beta_t w_t w_t^T, |w_t| = 1 and 0 < beta_t < 2, a head.

    Adds the difference to q·k / sqrt(Dh), so what others have added stays; beside RoPE, which changes q·k, the sum is
    neither's. Relative; it reads no positions, only the order of tokens. Defined at any distance. Causal only.

    Args:
      rank: of the projection that gives w, 32 in the authors' code.
    """

    relative = True
    reads_positions = False
    sums_between = True
    bidirectional = False
    shared = False

    def __init__(self, *, rank: int = 32, width: int, num_heads: int, head_dim: int, rngs: nnx.Rngs):
        if rank < 1:
            raise ValueError(f"PaTH's rank must be at least 1, got {rank}.")
        start: Any = dict(kernel_init=nnx.initializers.normal(0.02), dtype=jnp.float32, rngs=rngs)
        self.down = nnx.Linear(width, rank, use_bias=False, **start)
        self.up = nnx.Linear(rank, num_heads * head_dim, use_bias=False, **start)
        self.strength = nnx.Linear(width, num_heads, **start)
        self.num_heads = num_heads

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[None, tuple[Float[Array, "b l h e"], Float[Array, "b l h"]]]:
        """Each token's w and beta; zeros, as in slots that are not filled, make H the identity."""
        w = self.up(self.down(x)).reshape(*x.shape[:2], self.num_heads, -1)
        w = w * jax.lax.rsqrt((w**2).sum(axis=-1, keepdims=True) + _EPSILON)
        return None, (w, 2 * jax.nn.sigmoid(self.strength(x)))

    def scores(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        w, beta = K.features
        size = min(_BLOCK, k.shape[1])
        passed = K.slots[:, None, None, :] <= Q.slots[:, None, :, None]  # the query is the token, or behind it
        W, k_of, passed = _blocks(w, 1, size), _blocks(k.astype(jnp.float32), 1, size), _blocks(passed, 3, size)
        W, k_of = jnp.moveaxis(W, 3, 2), jnp.moveaxis(k_of, 3, 2)  # [N, B, H, C, Dh]
        scale = jnp.moveaxis(_blocks(beta, 1, size), 3, 2)[..., None]
        among = scale * jnp.einsum("nbhae,nbhce->nbhac", W, W)
        on_keys = jnp.tril(jnp.einsum("nbhae,nbhce->nbhac", W, k_of), -1)
        T = _inverse(among) * jnp.swapaxes(scale, 3, 4)
        TW, TK = T @ W, T @ on_keys
        moved = jnp.moveaxis(q, 1, 2).astype(jnp.float32)

        def block(change, own):
            """One block's part of the logits' change, and the queries' change before it."""
            W, k_of, TW, TK, passed = own
            along = jnp.where(passed, jnp.einsum("bhle,bhce->bhlc", moved + change, W), 0.0)
            of_logits = jnp.einsum("bhle,bhce->bhlc", change, k_of) - along @ TK
            return change - along @ TW, of_logits

        change = jax.lax.scan(block, jnp.zeros_like(moved), (W, k_of, TW, TK, passed), reverse=True)[1]  # [N, B, H, L, C]
        change = jnp.moveaxis(change, 0, 3).reshape(*s.shape[:3], -1)[..., : s.shape[3]]
        return s + change / math.sqrt(q.shape[-1])


def _inverse(square: Float[Array, "*b c c"]) -> Float[Array, "*b c c"]:
    """(I + N)^-1 of a square's strictly lower part N: inverses of blocks along the diagonal, which double until there is one.

    Only products, none of which grows as powers of N do. A triangular solve's gradient hangs now and then on CPU (jax 0.10.2).
    """
    size, width = square.shape[-1], 1
    inverse, place = jnp.broadcast_to(jnp.eye(size), square.shape), jnp.arange(size)
    while width < size:
        pair, second = place // (2 * width), place // width % 2
        corner = (pair[:, None] == pair[None]) & (second[:, None] > second[None])
        between = jnp.where(jnp.broadcast_to(corner, square.shape), square, 0.0)
        inverse, width = inverse - inverse @ between @ inverse, 2 * width
    return inverse


def _blocks(x: Shaped[Array, "..."], axis: int, size: int) -> Shaped[Array, "n ..."]:
    """An axis cut into blocks of C, which become a first axis; zeros fill the last."""
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, -x.shape[axis] % size)
    x = jnp.pad(x, widths)
    return jnp.moveaxis(x.reshape(*x.shape[:axis], -1, size, *x.shape[axis + 1 :]), axis, 0)
