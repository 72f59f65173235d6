"""What a token reads of the ones just before it, outside of attention.

    convolution   x_t + Σ_w kernel[w] x_(t-w), for each channel alone
    shift         a_t x_(t-1) + (1 - a_t) x_t for each head, a_t = sigmoid(w · input_t)
    key offset    the last channels of key t are those of key t-1; a first token keeps its own
    smear         x_t + λ sigmoid(w · x_t[:C]) x_(t-1), of embeddings of tokens

Allen-Zhu 2025, "Physics of Language Models: Part 4.1, Architecture Design and the Magic of Canon
Layers", https://arxiv.org/abs/2512.17351. Sites A to D, width 4, the residual sum, no activation
and the initial values follow facebookresearch/PhysicsLM4 at 7580696, huggingface/canon_helper.py
and modeling_llama_canon.py:

    A   the input of attention, after the norm before it
    B   queries, keys and values, after their norms and before any encoding; Q, K, V: one of them
    C   the input of the feed-forward, after the norm before it
    D   the hidden units of the feed-forward and its gate, before the activation
    O   the output of attention, before the norm after it
    F   the output of the feed-forward

Inkling has convolutions at K, V, O and F (huggingface/transformers at 04fafa2,
models/inkling/modeling_inkling.py). It convolves keys before their norm.

Lin et al. 2025, "Forgetting Transformer: Softmax Attention with a Forget Gate",
https://arxiv.org/abs/2503.02130, for the shift, as in zhixuan-lin/forgetting-transformer at
246d5e3, modeling_forgetting_transformer.py, and in model-architectures/GRAPE at f5b539f,
model/kv_shift_torch.py. It acts on the projections, before norms and site B.

KellerJordan/modded-nanogpt at 0016a3c, train_gpt.py, for key offset and smear. There the offset is
of the half of the channels that RoPE leaves unrotated, on layers with a long window. λ and w of the
smear start at 0, and its gate reads 12 channels; karpathy/nanochat reads 24.

Differs in five points. Norms of queries and keys act on each head here and on all heads together in
PhysicsLM4. Both codes for the shift leave the only token of a string unchanged; here it is
multiplied by 1 - a, like any other first token. In modded-nanogpt the offset and the smear read
across the borders of packed documents; here they do not. It offsets keys after RoPE, here before
any encoding: both are equal for rope(fraction=0.5) with an offset of 0.5, but not if RoPE rotates
offset channels. The smear acts on embeddings of tokens as they are scaled here, before those of
positions are added.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from pe_lab.encodings.ops import causal_convolution, convolution_kernel, earlier
from pe_lab.model.streams import View
from pe_lab.runs.settings.settings import Model

Recent = Mapping[str, Float[Array, "b w ..."]]  # the last inputs of each convolution, by its name
_SHIFTED = {"none": (), "keys": ("key",), "values": ("value",), "both": ("key", "value")}


def channels_of(model: Model, layer: int) -> dict[str, tuple[int, ...]]:
    """The shape of a token's input of each convolution of a layer, by its name."""
    width, hidden = (model.width,), (model.feedforward_width,)
    heads = (model.num_heads, model.width // model.num_heads)
    is_gated = model.activation in ("swiglu", "geglu")
    # The sites that have each convolution, in the order in which kernels are drawn.
    convolutions = {
        "A": ("A", width),
        "B_query": ("BQ", heads),
        "B_key": ("BK", heads),
        "B_value": ("BV", heads),
        "C": ("C", width),
        "D": ("D", hidden),
        "D_gate": ("D" if is_gated else "", hidden),
        "O": ("O", width),
        "F": ("F", width),
    }
    on = set(model.convolution_sites) if _is_on(model.convolution_layers, layer) else set()
    return {name: shape for name, (sites, shape) in convolutions.items() if on.intersection(sites)}


def offset_channels(model: Model, layer: int) -> int:
    """The number of channels of each head's keys that come from the token before."""
    share = model.key_offset if _is_on(model.key_offset_layers, layer) else 0
    return round(share * (model.width // model.num_heads))


def has_neighbors(model: Model, layer: int) -> bool:
    """Whether a token reads the ones just before it in a layer, outside of attention."""
    shifts = model.token_shift != "none"
    return shifts or bool(channels_of(model, layer)) or offset_channels(model, layer) > 0


def _is_on(layers: tuple[int, ...] | None, layer: int) -> bool:
    return layers is None or layer in layers


class Convolutions(nnx.Module):
    """The kernels of a block's convolutions, the weights of the shift, and the offset of keys.

    Attributes:
      kept: the shape of the inputs that a cache keeps for each example, by their name.
    """

    def __init__(self, model: Model, layer: int, *, rngs: nnx.Rngs):
        width = model.convolution_width
        heads = (model.num_heads, model.width // model.num_heads)
        shapes: dict[str, tuple[int, ...]] = {}
        kernels = {}
        for name, channels in channels_of(model, layer).items():
            kernels[name] = convolution_kernel(width, channels, rngs)
            shapes[name] = (width - 1, *channels)
        shifts = {}
        for name in _SHIFTED[model.token_shift]:
            shifts[name] = nnx.Linear(
                model.width,
                model.num_heads,
                use_bias=False,
                dtype=jnp.dtype(model.compute_dtype),
                rngs=rngs,
            )
            shapes[f"shift_{name}"] = (1, *heads)
        self.num_offset = offset_channels(model, layer)
        if self.num_offset:
            shapes["offset"] = (1, model.num_heads, self.num_offset)
        self.residual = model.convolution_residual
        self.dtype = model.compute_dtype
        self.kernels = nnx.Dict(kernels)
        self.shifts = nnx.Dict(shifts)
        self.kept = tuple(shapes.items())

    def no_inputs(self, batch: int) -> dict[str, Float[Array, "b w ..."]]:
        """Zeros in the place of the inputs before the first token, for an empty cache."""
        return {name: jnp.zeros((batch, *shape), self.dtype) for name, shape in self.kept}


class Smear(nnx.Module):
    """The weights of the smear of embeddings, which starts without effect."""

    def __init__(self, model: Model):
        self.width = model.width
        self.gate = nnx.Param(jnp.zeros(model.embedding_smear, jnp.float32))
        self.factor = nnx.Param(jnp.zeros((), jnp.float32))

    def __call__(self, x: Float[Array, "b l d"], before: "Before") -> Float[Array, "b l d"]:
        logits = x[..., : len(self.gate)] @ self.gate[...]
        weight = self.factor[...] * jax.nn.sigmoid(logits)
        return x + weight[..., None] * before.token("smear", x)

    def no_inputs(self, batch: int) -> Recent:
        """A zero in the place of the embedding before the first token, for an empty cache."""
        return {"smear": jnp.zeros((batch, 1, self.width), jnp.float32)}


class Before:
    """The tokens before each one in a single call of a module.

    Args:
      view: of the tokens.
      recent: of a cache, the last inputs by their name; None: these are all tokens.
      counts: of a cache, the number of next tokens of each example.

    Attributes:
      preceding: [B|1, L], number of tokens before each one in its example.
      latest: the last inputs after this call; empty without a cache.
    """

    def __init__(
        self,
        view: View,
        recent: Recent | None = None,
        counts: Int[Array, "b"] | None = None,
    ):
        preceding = view.preceding
        assert preceding is not None
        self.preceding = preceding
        self.recent = recent
        self.counts = counts
        self.latest: dict[str, Array] = {}

    def token(self, name: str, x: Float[Array, "b l *c"]) -> Float[Array, "b l *c"]:
        """The input of the token before each one; zeros before the first."""
        return earlier(x, 1, self.preceding, self.inputs(name, x))

    def inputs(self, name: str, x: Float[Array, "b l *c"]) -> Float[Array, "b w *c"] | None:
        """The inputs of the tokens before these in a cache, which keeps the last ones."""
        if self.recent is None:
            return None
        assert self.counts is not None
        before = self.recent[name]
        inputs = jnp.concatenate([before, x], axis=1)
        # Padding follows the tokens, so the last inputs end at the number of tokens.
        index = self.counts[:, None] + jnp.arange(before.shape[1])[None]
        # Axes of size 1 for the axes of the channels, so that the index broadcasts.
        index = index.reshape(*index.shape, *(1,) * (x.ndim - 2))
        self.latest[name] = jnp.take_along_axis(inputs, index, axis=1)
        return before


class Neighbors:
    """A block's convolutions, shift and offset in a single call."""

    def __init__(self, convolutions: Convolutions, before: Before):
        self.convolutions = convolutions
        self.before = before

    def convolve(self, name: str, x: Float[Array, "b l *c"]) -> Float[Array, "b l *c"]:
        """The input of a site after its convolution; the input itself where there is none."""
        kernels = self.convolutions.kernels
        if name not in kernels:
            return x
        before = self.before.inputs(name, x)
        y = causal_convolution(x, kernels[name][...], self.before.preceding, before)
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
        shifted = weight * self.before.token(f"shift_{name}", x) + (1 - weight) * x
        return shifted.astype(x.dtype)

    def offset(self, k: Float[Array, "b l h e"]) -> Float[Array, "b l h e"]:
        """Keys with their last channels from the token before; a first token keeps its key."""
        num_offset = self.convolutions.num_offset
        if num_offset == 0:
            return k
        unmoved, last = jnp.split(k, [k.shape[-1] - num_offset], axis=-1)
        is_first = self.before.preceding == 0
        last = jnp.where(is_first[..., None, None], last, self.before.token("offset", last))
        return jnp.concatenate([unmoved, last], axis=-1)


def convolve(
    neighbors: Neighbors | None, name: str, x: Float[Array, "b l *c"]
) -> Float[Array, "b l *c"]:
    """`Neighbors.convolve`, or the input itself in a model without convolutions."""
    return x if neighbors is None else neighbors.convolve(name, x)
