"""Operations on the sum of values: a norm and a gate of each head's output, and a learned sink.

    gate     sigmoid(W x) times the output of a head, one number for the head or one for a channel
    norm     an RMS norm of each head's output before the gate, with a learned scale
    sink     exp(b) in the denominator of softmax, with one learned b for each head

Qiu et al. 2025, "Gated Attention for Large Language Models: Non-linearity, Sparsity, and
Attention-Sink-Free", https://arxiv.org/abs/2505.06708, for the gate, as in huggingface/transformers
at 043bb8d, models/qwen3_next/modular_qwen3_next.py: sigmoid, no offset, read from the input of
attention, before the output matrix. Lin et al. 2025, https://arxiv.org/abs/2503.02130, for norm and
gate together, as in zhixuan-lin/forgetting-transformer at 246d5e3, fuse_norm_gate.py.

The sink follows gpt-oss (huggingface/transformers at 0261a46, models/gpt_oss/modular_gpt_oss.py,
`sinks`). It starts at 0, as in lucidrains/x-transformers at 9252ed7, attend.py, which is the
softmax with 1 added to its denominator; gpt-oss draws it with a standard deviation of 0.02.

Differs in the scale of the norm, which all heads share here, as the scales of queries and keys do.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.ops import masked_softmax
from pe_lab.kernels import Kernels
from pe_lab.runs.settings.settings import Model


class OutputGate(nnx.Module):
    """The norm and the gate of each head's output; each of them may be missing."""

    def __init__(self, model: Model, *, kernels: Kernels, rngs: nnx.Rngs):
        width, num_heads = model.width, model.num_heads
        dtype = jnp.dtype(model.compute_dtype)
        norm = None
        if model.head_output_norm:
            norm = nnx.RMSNorm(width // num_heads, dtype=dtype, rngs=rngs)
        projection = None
        if model.output_gate != "none":
            outputs = {"head": num_heads, "element": width}[model.output_gate]
            projection = nnx.Linear(
                width,
                outputs,
                use_bias=False,
                dtype=dtype,
                dot_general=kernels.dot_general,
                rngs=rngs,
            )
        self.norm = norm
        self.projection = projection

    def __call__(
        self, out: Float[Array, "b l h e"], inputs: Float[Array, "b l d"]
    ) -> Float[Array, "b l h e"]:
        """The outputs after norm and gate.

        Args:
          inputs: of attention, in the order of the queries.
        """
        if self.norm is not None:
            out = self.norm(out)
        if self.projection is None:
            return out
        logits = self.projection(inputs).astype(jnp.float32)
        gate = jax.nn.sigmoid(logits)
        gate = gate.reshape(*out.shape[:3], -1)  # [B, L, H, 1], or [B, L, H, Dh]
        return (out * gate).astype(out.dtype)


def softmax_with_sinks(
    s: Float[Array, "b h l s"],
    mask: Bool[Array, "_ _ l s"],
    sinks: Float[Array, "h"] | None,
) -> Float[Array, "b h l s"]:
    """Attention weights; with sinks, the rest up to 1 is the weight of the head's sink."""
    if sinks is None:
        return masked_softmax(s, mask)
    batch, _, num_queries, _ = s.shape
    column = sinks.astype(s.dtype)[None, :, None, None]  # [1, H, 1, 1]
    column = jnp.broadcast_to(column, (batch, len(sinks), num_queries, 1))
    weights = masked_softmax(jnp.concatenate([s, column], axis=-1), _with_sink_column(mask))
    return weights[..., :-1]


def add_sink_key(
    k: Float[Array, "b s h f"],
    v: Float[Array, "b s h e"],
    mask: Bool[Array, "_ _ l s"],
    bias: Float[Array, "_ _ l s"] | None,
    sinks: Float[Array, "h"],
) -> tuple[
    Float[Array, "b t h f"],
    Float[Array, "b t h e"],
    Bool[Array, "_ _ l t"],
    Float[Array, "_ h l t"],
]:
    """Keys, values, mask and bias with one more key: the sink, for attention that is fused.

    Its key and value are zeros, and its bias is the head's sink.
    """
    one_more = ((0, 0), (0, 1), (0, 0), (0, 0))  # of keys, on axis 1 of [B, S, H, E]
    num_queries, num_keys = mask.shape[2:]
    if bias is None:
        bias = jnp.zeros((1, 1, num_queries, num_keys), jnp.float32)
    bias = jnp.broadcast_to(bias, (len(bias), len(sinks), num_queries, num_keys))
    column = sinks.astype(bias.dtype)[None, :, None, None]  # [1, H, 1, 1]
    column = jnp.broadcast_to(column, (*bias.shape[:3], 1))
    bias = jnp.concatenate([bias, column], axis=-1)
    return jnp.pad(k, one_more), jnp.pad(v, one_more), _with_sink_column(mask), bias


def _with_sink_column(mask: Bool[Array, "_ _ l s"]) -> Bool[Array, "_ _ l t"]:
    """The mask with one more key, which every query sees."""
    return jnp.pad(mask, ((0, 0), (0, 0), (0, 0), (0, 1)), constant_values=True)
