"""PaTH: every token between key and query transforms the query by its own Householder-like matrix.

Yang et al. 2025, "PaTH Attention: Position Encoding via Accumulating Householder Transformations",
https://arxiv.org/abs/2505.16381. Projections and their initialization are those of
fla-org/flash-linear-attention at 27289fc, layers/path_attn.py.

Differs in that w comes from its own token alone. The paper's short convolution of three tokens
(use_w_shortconv in that code) needs more state than the cache of keys holds. Its forget gate is FoX
together with PaTH. All computations are float32.

The matrices are never multiplied. A block of tokens has H_i ... H_(j+1) = I - sum over i >= a >= b
> j of w_a T_ab w_b^T, with T = (I + strictly lower part of diag(beta) W W^T)^-1 diag(beta). A
contiguous block of T is the T of its own tokens, so one T serves every pair of a block. Blocks are
processed from the last to the first, and the change of the later queries is carried along.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.requirements import Requirements

_BLOCK = 32  # tokens of one T: the fastest on CPU from 64 to 512 tokens
_EPSILON = 1e-6  # added to the squared length of w, as in the authors' code


class PaTH(AttentionEncoding):
    """logits = q_i^T H_i ... H_(j+1) k_j / sqrt(Dh) with H_t = I - beta_t w_t w_t^T.

    Each head has its own w and beta, with |w_t| = 1 and 0 < beta_t < 2. The bias is the difference
    from q·k / sqrt(Dh), so biases of other encodings are kept. RoPE changes q·k, so the sum with
    RoPE is the logit of neither. Relative; it reads no positions, only the order of tokens. Defined
    at any distance. Causal only.

    Args:
      rank: rank of the projection that gives w, 32 in the authors' code.
    """

    requirements = Requirements(
        relative=True,
        reads_positions=False,
        reads_between=True,
        bidirectional=False,
        per_layer=True,
    )

    def __init__(
        self, *, rank: int = 32, width: int, num_heads: int, head_dim: int, rngs: nnx.Rngs
    ):
        if rank < 1:
            raise ValueError(f"PaTH's rank must be at least 1, got {rank}.")
        normal = nnx.initializers.normal(0.02)
        options: Any = dict(kernel_init=normal, dtype=jnp.float32, rngs=rngs)
        self.down = nnx.Linear(width, rank, use_bias=False, **options)
        self.up = nnx.Linear(rank, num_heads * head_dim, use_bias=False, **options)
        self.strength = nnx.Linear(width, num_heads, **options)
        self.num_heads = num_heads

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[None, tuple[Float[Array, "b l h e"], Float[Array, "b l h"]]]:
        """Each token's w and beta. Zeros, as in empty slots of a cache, make H the identity."""
        w = self.up(self.down(x)).reshape(*x.shape[:2], self.num_heads, -1)
        w = w * jax.lax.rsqrt((w**2).sum(axis=-1, keepdims=True) + _EPSILON)
        return None, (w, 2 * jax.nn.sigmoid(self.strength(x)))

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        w, beta = K.features
        size = min(_BLOCK, k.shape[1])
        is_past = K.slots[:, None, None, :] <= Q.slots[:, None, :, None]  # or the query's own token
        is_past = _blocks(is_past, 3, size)
        W = jnp.moveaxis(_blocks(w, 1, size), 3, 2)  # [N, B, H, C, Dh]
        keys = jnp.moveaxis(_blocks(k.astype(jnp.float32), 1, size), 3, 2)
        scale = jnp.moveaxis(_blocks(beta, 1, size), 3, 2)[..., None]
        among = scale * jnp.einsum("nbhae,nbhce->nbhac", W, W)
        on_keys = jnp.tril(jnp.einsum("nbhae,nbhce->nbhac", W, keys), -1)
        T = _inverse(among) * jnp.swapaxes(scale, 3, 4)
        TW, TK = T @ W, T @ on_keys
        queries = jnp.moveaxis(q, 1, 2).astype(jnp.float32)

        def block(change, of_block):
            """The change of the logits in one block, and the change of the queries before it."""
            W, keys, TW, TK, is_past = of_block
            product = jnp.einsum("bhle,bhce->bhlc", queries + change, W)
            along = jnp.where(is_past, product, 0.0)
            of_logits = jnp.einsum("bhle,bhce->bhlc", change, keys) - along @ TK
            return change - along @ TW, of_logits

        of_blocks = (W, keys, TW, TK, is_past)
        no_change = jnp.zeros_like(queries)
        _, by_block = jax.lax.scan(block, no_change, of_blocks, reverse=True)  # [N, B, H, L, C]
        bias = jnp.moveaxis(by_block, 0, 3).reshape(*queries.shape[:3], -1)[..., : k.shape[1]]
        return bias / math.sqrt(q.shape[-1])


def _inverse(square: Float[Array, "*b c c"]) -> Float[Array, "*b c c"]:
    """(I + N)^-1 of the strictly lower part N of a square matrix.

    Inverses of blocks along the diagonal are combined, and their width doubles until there is one.
    There are only products, and none grows like the powers of N. The gradient of a triangular solve
    sometimes hangs on CPU (jax 0.10.2).
    """
    size, width = square.shape[-1], 1
    inverse = jnp.broadcast_to(jnp.eye(size), square.shape)
    index = jnp.arange(size)
    while width < size:
        pair, second = index // (2 * width), index // width % 2
        corner = (pair[:, None] == pair[None]) & (second[:, None] > second[None])
        between = jnp.where(jnp.broadcast_to(corner, square.shape), square, 0.0)
        inverse = inverse - inverse @ between @ inverse
        width = 2 * width
    return inverse


def _blocks(x: Shaped[Array, "..."], axis: int, size: int) -> Shaped[Array, "n ..."]:
    """An axis split into blocks of C, which become the first axis; zeros fill the last block."""
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, -x.shape[axis] % size)
    x = jnp.pad(x, widths)
    blocks = x.reshape(*x.shape[:axis], -1, size, *x.shape[axis + 1 :])
    return jnp.moveaxis(blocks, axis, 0)
