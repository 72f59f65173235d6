"""DAPE whose inner bias is computed in its own fast form, on CPUs and accelerators.

It replaces `transform_logits`. The network is the same; the plain form computes the bias that it
reads for every pair, and this one for every offset where the inner encoding has such a form.
"""

from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.dape import DAPE, added
from pe_lab.kernels.diagonals import Diagonals


def transform_logits(
    encoding: DAPE,
    diagonals: Diagonals,
    s: Float[Array, "b h l s"],
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
    mask: Bool[Array, "_ _ l s"],
) -> Float[Array, "b h l s"]:
    # Here, because the registry of kernels imports this file.
    from pe_lab.kernels.encodings import hook

    bias_of = hook(diagonals, encoding.inner, "bias")
    content_bias_of = hook(diagonals, encoding.inner, "content_bias")
    bias = added(bias_of(Q, K), content_bias_of(q, k, Q, K))
    return encoding.adapt(s, bias, mask)
