"""PaTH: every token between key and query transforms the query by its own Householder-like matrix.

Equation: q_i H_i … H_{j+1} k_j, H = I − β w wᵀ.
Beyond training: defined.

Yang et al. 2025, "PaTH Attention: Position Encoding via Accumulating Householder Transformations",
https://arxiv.org/abs/2505.16381. Projections and their initialization follow
fla-org/flash-linear-attention at 27289fc, layers/path_attn.py.

Of the paper's two options, the short convolution (use_w_shortconv in that code, on by default
there) is convolution=3, and the forget gate (use_forget_gate) is FoX with scaled=True together with
PaTH, as encodings of one layer. The convolution has a SiLU after it and the initial values of
PyTorch, as ShortConvolution in fla/modules/convolution.py. All computations are float32.

The matrices are never multiplied. A block of tokens has H_i ... H_(j+1) = I - sum over i >= a >= b
> j of w_a T_ab w_b^T, with T = (I + strictly lower part of diag(beta) W W^T)^-1 diag(beta). A
contiguous block of T is the T of its own tokens, so one T serves every pair of a block. Blocks are
processed from the last to the first, and the change of the later queries is carried along.
"""

import functools
import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import causal_convolution, convolution_kernel
from pe_lab.encodings.requirements import Requirements

_BLOCK = 32  # most tokens of one T: the fastest on CPU from 64 to 512 tokens
_EPSILON = 1e-6  # added to the squared length of w, as in the authors' code


class PaTH(AttentionEncoding):
    """logits = q_i^T H_i ... H_(j+1) k_j / sqrt(Dh) with H_t = I - beta_t w_t w_t^T.

    Each head has its own w and beta, with |w_t| = 1 and 0 < beta_t < 2. The bias is the difference
    from q·k / sqrt(Dh), so biases of other encodings are kept. RoPE changes q·k, so the sum with
    RoPE is the logit of neither. Relative; it reads no positions, only the order of tokens. Defined
    at any distance. Causal only.

    Args:
      rank: rank of the projection that gives w, 32 in the authors' code.
      convolution: tokens that w is computed from, by a causal convolution; 0: its own token alone,
        without a convolution.
    """

    later_arguments = ("convolution",)
    requirements = Requirements(
        relative=True,
        reads_positions=False,
        reads_between=True,
        bidirectional=False,
        per_layer=True,
    )

    def __init__(
        self,
        *,
        rank: int = 32,
        convolution: int = 0,
        width: int,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs,
    ):
        if rank < 1:
            raise ValueError(f"PaTH's rank must be at least 1, got {rank}.")
        if convolution < 0:
            raise ValueError(f"PaTH's convolution must be at least 0, got {convolution}.")
        self.head_dim = head_dim
        linear = functools.partial(
            nnx.Linear,
            kernel_init=nnx.initializers.normal(0.02),
            dtype=jnp.float32,
            rngs=rngs,
        )
        self.down = linear(width, rank, use_bias=False)
        self.up = linear(rank, num_heads * head_dim, use_bias=False)
        self.strength = linear(width, num_heads)
        kernel = None
        if convolution:
            kernel = convolution_kernel(convolution, (num_heads, head_dim), rngs)
        self.kernel = kernel
        self.num_heads = num_heads

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[None, tuple[Float[Array, "b l h e"], Float[Array, "b l h"]]]:
        """Each token's w and beta. Zeros, as in empty slots of a cache, make H the identity.

        With a convolution, w is its input: a cache holds the inputs of all tokens.
        """
        batch, length, _ = x.shape
        w = self.up(self.down(x))
        w = w.reshape(batch, length, self.num_heads, -1)
        if self.kernel is None:  # with a convolution, w is normalized after it
            w = _unit(w)
        # Up to 2, where H is a reflection; above 1, H changes the sign along w.
        beta = 2 * jax.nn.sigmoid(self.strength(x))  # [B, L, H]
        return None, (w, beta)

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        assert Q.slots is not None
        assert K.slots is not None
        w, beta = K.features
        if self.kernel is not None:
            preceding = K.slots if K.preceding is None else K.preceding
            convolved = causal_convolution(w, self.kernel[...], preceding)
            w = _unit(jax.nn.silu(convolved))
        num_keys = k.shape[1]
        num_blocks = math.ceil(num_keys / _BLOCK)
        size = math.ceil(num_keys / num_blocks)  # few zeros are needed to fill the last block
        key_slots = K.slots[:, None, None, :]
        query_slots = Q.slots[:, None, :, None]
        # The query's own token is included: its matrix is the first that transforms the query.
        is_past = key_slots <= query_slots
        is_past = _blocks(is_past, 3, size)  # [N, B, 1, L, C]
        W = _blocks(w, 1, size)
        W = jnp.moveaxis(W, 3, 2)  # [N, B, H, C, Dh]
        keys = _blocks(k.astype(jnp.float32), 1, size)
        keys = jnp.moveaxis(keys, 3, 2)  # [N, B, H, C, Dh]
        beta = _blocks(beta, 1, size)
        beta = jnp.moveaxis(beta, 3, 2)[..., None]  # [N, B, H, C, 1]

        # T = (I + strictly lower part of diag(beta) W W^T)^-1 diag(beta)
        # `_inverse` reads the strictly lower part alone.
        w_products = beta * jnp.einsum("nbhae,nbhce->nbhac", W, W)
        key_products = jnp.einsum("nbhae,nbhce->nbhac", W, keys)
        # A key meets the matrices of later tokens only, hence the strictly lower part.
        key_products = jnp.tril(key_products, -1)
        # Multiplied from the right, so column c has the beta of token c.
        T = _inverse(w_products) * jnp.swapaxes(beta, 3, 4)
        TW = T @ W
        TK = T @ key_products
        queries = jnp.moveaxis(q, 1, 2).astype(jnp.float32)  # [B, H, L, Dh]

        def process_block(
            change: Float[Array, "b h l e"], block: tuple[Array, ...]
        ) -> tuple[Float[Array, "b h l e"], Float[Array, "b h l c"]]:
            """The change of the queries before a block, and of the logits in it."""
            W, keys, TW, TK, is_past = block
            product = jnp.einsum("bhle,bhce->bhlc", queries + change, W)
            product = jnp.where(is_past, product, 0.0)
            of_later_blocks = jnp.einsum("bhle,bhce->bhlc", change, keys)
            logit_change = of_later_blocks - product @ TK
            change = change - product @ TW
            return change, logit_change

        blocks = (W, keys, TW, TK, is_past)
        no_change = jnp.zeros_like(queries)
        _, by_block = jax.lax.scan(process_block, no_change, blocks, reverse=True)
        bias = jnp.moveaxis(by_block, 0, 3)  # [B, H, L, N, C]
        bias = bias.reshape(*queries.shape[:3], -1)
        bias = bias[..., :num_keys]  # without the zeros that fill the last block
        return bias / math.sqrt(q.shape[-1])


def _unit(w: Float[Array, "b l h e"]) -> Float[Array, "b l h e"]:
    """Vectors divided by their length."""
    squared_length = (w**2).sum(axis=-1, keepdims=True)
    return w * jax.lax.rsqrt(squared_length + _EPSILON)


@jax.custom_jvp
def _inverse(square: Float[Array, "*b c c"]) -> Float[Array, "*b c c"]:
    """(I + N)^-1 of the strictly lower part N of a square matrix.

    Inverses of blocks along the diagonal are combined, and their width doubles until there is one.
    There are only products, and none grows like the powers of N. The gradient of a triangular solve
    sometimes hangs on CPU (jax 0.10.2).
    """
    size = square.shape[-1]
    inverse = jnp.broadcast_to(jnp.eye(size, dtype=square.dtype), square.shape)
    index = jnp.arange(size)
    width = 1
    while width < size:
        # Blocks of this width are inverted; two neighbors form a pair, joined by their corner.
        pair = index // (2 * width)
        half = index // width % 2
        same_pair = pair[:, None] == pair[None]
        second_to_first = half[:, None] > half[None]
        corner = same_pair & second_to_first
        corner = jnp.broadcast_to(corner, square.shape)
        corner_values = jnp.where(corner, square, 0.0)
        inverse = inverse - inverse @ corner_values @ inverse
        width = 2 * width
    return inverse


@_inverse.defjvp
def _inverse_derivative(
    primals: tuple[Float[Array, "*b c c"]], tangents: tuple[Float[Array, "*b c c"]]
) -> tuple[Float[Array, "*b c c"], Float[Array, "*b c c"]]:
    """The inverse, and its change -T dN T: two products, instead of those of every width."""
    inverse = _inverse(*primals)
    (tangent,) = tangents
    change = jnp.tril(tangent, -1)
    return inverse, -inverse @ change @ inverse


def _blocks(x: Shaped[Array, "..."], axis: int, size: int) -> Shaped[Array, "n ..."]:
    """An axis split into blocks of C, which become the first axis; zeros fill the last block."""
    missing = -x.shape[axis] % size  # from the length up to a multiple of the size
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, missing)
    x = jnp.pad(x, widths)
    before = x.shape[:axis]
    after = x.shape[axis + 1 :]
    blocks = x.reshape(*before, -1, size, *after)
    return jnp.moveaxis(blocks, axis, 0)
