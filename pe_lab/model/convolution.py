"""Short causal convolutions and the shift of keys and values: tokens read the ones just before.

    convolution   x_t + Σ_w kernel[w] x_(t-w), for each channel alone
    shift         a_t x_(t-1) + (1 - a_t) x_t for each head, a_t = sigmoid(w · input_t)

Allen-Zhu 2025, "Physics of Language Models: Part 4.1, Architecture Design and the Magic of Canon
Layers", https://arxiv.org/abs/2512.17351. Sites, width 4, the residual sum, no activation and the
initial values follow facebookresearch/PhysicsLM4 at 7580696, huggingface/canon_helper.py and
modeling_llama_canon.py:

    A   the input of attention, after the norm before it
    B   queries, keys and values, after their norms and before any encoding
    C   the input of the feed-forward, after the norm before it
    D   the hidden units of the feed-forward and its gate, before the activation

Lin et al. 2025, "Forgetting Transformer: Softmax Attention with a Forget Gate",
https://arxiv.org/abs/2503.02130, for the shift, as in zhixuan-lin/forgetting-transformer at
246d5e3, modeling_forgetting_transformer.py, and in model-architectures/GRAPE at f5b539f,
model/kv_shift_torch.py. It acts on the projections, before norms and site B.

Differs in two points. Norms of queries and keys act on each head here and on all heads together in
PhysicsLM4. Both codes for the shift leave the only token of a string unchanged; here it is
multiplied by 1 - a, like any other first token.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from pe_lab.encodings.ops import causal_convolution, convolution_kernel, earlier
from pe_lab.runs.settings.settings import Model

Recent = Mapping[str, Float[Array, "b w ..."]]  # the last inputs of each convolution, by its name
_SHIFTED = {"none": (), "keys": ("key",), "values": ("value",), "both": ("key", "value")}


def channels_of(model: Model) -> dict[str, tuple[int, ...]]:
    """The shape of a token's input of each convolution, by its name: a site, and a part of it."""
    heads = (model.num_heads, model.width // model.num_heads)
    hidden = (model.feedforward_width,)
    of_sites: dict[str, dict[str, tuple[int, ...]]] = {
        "A": {"A": (model.width,)},
        "B": {"B_query": heads, "B_key": heads, "B_value": heads},
        "C": {"C": (model.width,)},
        "D": {"D": hidden},
    }
    if model.activation in ("swiglu", "geglu"):
        of_sites["D"]["D_gate"] = hidden
    channels: dict[str, tuple[int, ...]] = {}
    for site in sorted(model.convolution_sites):
        channels |= of_sites[site]
    return channels


def has_neighbors(model: Model) -> bool:
    """Whether a token reads the ones just before it outside of attention."""
    return bool(model.convolution_sites) or model.token_shift != "none"


class Convolutions(nnx.Module):
    """The kernels of a block's convolutions, and the weights of the shift."""

    def __init__(self, model: Model, *, rngs: nnx.Rngs):
        width = model.convolution_width
        heads = (model.num_heads, model.width // model.num_heads)
        kept = {}  # shapes of the inputs that a cache keeps for each example
        kernels = {}
        for name, channels in channels_of(model).items():
            kernels[name] = convolution_kernel(width, channels, rngs)
            kept[name] = (width - 1, *channels)
        shifts = {}
        for name in _SHIFTED[model.token_shift]:
            shifts[name] = nnx.Linear(
                model.width,
                model.num_heads,
                use_bias=False,
                dtype=jnp.dtype(model.compute_dtype),
                rngs=rngs,
            )
            kept[f"shift_{name}"] = (1, *heads)
        self.residual = model.convolution_residual
        self.dtype = model.compute_dtype
        self.kernels = nnx.Dict(kernels)
        self.shifts = nnx.Dict(shifts)
        self.kept = tuple(kept.items())

    def no_inputs(self, batch: int) -> dict[str, Float[Array, "b w ..."]]:
        """Zeros in the place of the inputs before the first token, for an empty cache."""
        return {name: jnp.zeros((batch, *shape), self.dtype) for name, shape in self.kept}


class Neighbors:
    """The tokens before each one in a single call of a block, as its convolutions read them.

    Args:
      preceding: [B|1, L], number of tokens before each one in its example.
      recent: of a cache; None: these are all tokens.
      counts: of a cache, the number of next tokens of each example.

    Attributes:
      latest: the last inputs of each convolution after this call; empty without a cache.
    """

    def __init__(
        self,
        convolutions: Convolutions,
        preceding: Int[Array, "_ l"],
        recent: Recent | None = None,
        counts: Int[Array, "b"] | None = None,
    ):
        self.convolutions = convolutions
        self.preceding = preceding
        self.recent = recent
        self.counts = counts
        self.latest: dict[str, Array] = {}

    def convolve(self, name: str, x: Float[Array, "b l *c"]) -> Float[Array, "b l *c"]:
        """The input of a site after its convolution; the input itself where there is none."""
        kernels = self.convolutions.kernels
        if name not in kernels:
            return x
        before = self._before(name, x)
        y = causal_convolution(x, kernels[name][...], self.preceding, before)
        return x + y if self.convolutions.residual else y

    def shift(
        self, name: str, x: Float[Array, "b l h e"], inputs: Float[Array, "b l d"]
    ) -> Float[Array, "b l h e"]:
        """Keys or values after the shift.

        Args:
          inputs: of attention, which give the weight of the token before.
        """
        shifts = self.convolutions.shifts
        if name not in shifts:
            return x
        weight = jax.nn.sigmoid(shifts[name](inputs).astype(jnp.float32))
        weight = weight[..., None]  # [B, L, H, 1]
        before = self._before(f"shift_{name}", x)
        shifted = weight * earlier(x, 1, self.preceding, before) + (1 - weight) * x
        return shifted.astype(x.dtype)

    def _before(self, name: str, x: Float[Array, "b l *c"]) -> Float[Array, "b w *c"] | None:
        """The inputs of the tokens before these in a cache, which keeps the last ones."""
        if self.recent is None:
            return None
        assert self.counts is not None
        before = self.recent[name]
        inputs = jnp.concatenate([before, x], axis=1)
        # Padding follows the tokens, so the last inputs end at the number of tokens.
        index = self.counts[:, None] + jnp.arange(before.shape[1])[None]
        index = index.reshape(*index.shape, *(1,) * (x.ndim - 2))
        self.latest[name] = jnp.take_along_axis(inputs, index, axis=1)
        return before


def convolve(
    neighbors: Neighbors | None, name: str, x: Float[Array, "b l *c"]
) -> Float[Array, "b l *c"]:
    """`Neighbors.convolve`, or the input itself in a model without convolutions."""
    return x if neighbors is None else neighbors.convolve(name, x)
