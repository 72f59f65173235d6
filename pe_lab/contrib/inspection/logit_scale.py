"""The scale of logits in an untrained decoder: their variance and its effect on softmax.

Queries and keys of unit variance have products q·k of variance Dh, the width of a head. Vaswani et
al. 2017, "Attention Is All You Need", https://arxiv.org/abs/1706.03762, section 3.2.1, divide by
√Dh for that reason: softmax of large logits has almost no gradient.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, PyTree

from pe_lab.contrib.inspection.trained import attention_statistics
from pe_lab.contrib.inspection.trained.activations import AttentionActivations, record_activations
from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer
from pe_lab.runs.settings.settings import Model

_NUM_SYMBOLS, _LENGTH, _EXAMPLES = 64, 64, 8  # uniform tokens, to be predicted from each other


@dataclasses.dataclass(frozen=True)
class LogitScale:
    """Attention of an untrained decoder; means over heads and queries of its first layer.

    Attributes:
      variance: of the logits that a query sees.
      entropy: of its attention weights, divided by the entropy of uniform weights.
      jacobian: Frobenius norm of the derivative of softmax, diag(w) - w wᵀ.
      gradient: norm of the loss's gradient for the query and key matrices of all layers.
    """

    variance: float
    entropy: float
    jacobian: float
    gradient: float


def measure(model: Model, head_width: int, *, scale_logits: bool, seed: int = 0) -> LogitScale:
    """Measure a decoder without position encodings whose heads have this width.

    Args:
      model: settings; the number of heads, the scale of logits and the encodings are replaced.
      head_width: Dh; it divides the width of the model.
      scale_logits: divide q·k by √Dh.
    """
    settings = dataclasses.replace(
        model,
        num_heads=model.width // head_width,
        scale_logits=scale_logits,
        encodings=(),
    )
    decoder = Transformer(settings, {"decoder": _NUM_SYMBOLS}, key=jax.random.key(seed))
    graph, params = nnx.split(decoder)
    # Differs from the key of the parameters as long as seeds are below 2**16.
    tokens, labels = jax.random.randint(
        jax.random.key(2**16 + seed), (2, _EXAMPLES, _LENGTH), 0, _NUM_SYMBOLS
    )
    index = jnp.arange(_LENGTH)[None, None]
    stream = Stream(tokens, (index,), jnp.ones(tokens.shape, bool))

    def loss(params: PyTree) -> tuple[Float[Array, ""], AttentionActivations]:
        outputs, activations = record_activations(nnx.merge(graph, params), {"decoder": stream})
        losses = optax.softmax_cross_entropy_with_integer_labels(outputs, labels)
        return losses.mean(), activations.attention["decoder"][0]

    gradients, first = jax.jit(jax.grad(loss, has_aux=True))(params)
    products = jnp.einsum("blhe,bshe->bhls", first.q, first.k)
    logits = products / math.sqrt(head_width)
    of_attention = [block["attention"] for block in gradients["decoder"]["blocks"].values()]
    names = ("query", "key")  # or one matrix for both
    matrices = [attention[n] for attention in of_attention for n in names if n in attention]
    return LogitScale(
        variance=float(_variance(logits, first.mask)),
        entropy=float(_relative_entropy(first.weights, first.mask)),
        jacobian=float(_softmax_jacobian(first.weights).mean()),
        gradient=float(optax.tree.norm(matrices)),
    )


def _variance(logits: Float[Array, "b h l s"], mask: Bool[Array, "b _ l s"]) -> Float[Array, ""]:
    """Variance of all visible logits."""
    return logits.var(where=jnp.broadcast_to(mask, logits.shape))


def _relative_entropy(
    weights: Float[Array, "b h l s"], mask: Bool[Array, "b _ l s"]
) -> Float[Array, ""]:
    """Mean over heads of the entropy divided by the entropy of uniform weights."""
    batch, _, num_queries, num_keys = weights.shape
    every_query = jnp.ones((batch, num_queries), bool)
    no_key = jnp.zeros((batch, num_queries, num_keys), bool)
    sums = attention_statistics.sums(weights, mask, every_query, no_key)
    total, count = jnp.asarray(sums.entropy)
    return (total / count).mean()


def _softmax_jacobian(weights: Float[Array, "b h l s"]) -> Float[Array, "b h l"]:
    """Frobenius norm of diag(w) - w wᵀ for weights w that sum to 1."""
    squares = jnp.square(weights).sum(axis=-1)
    cubes = (weights**3).sum(axis=-1)
    # The norm squared is Σ w² - 2 Σ w³ + (Σ w²)²; rounding may take it below 0.
    return jnp.sqrt(jnp.maximum(squares - 2 * cubes + squares**2, 0))
