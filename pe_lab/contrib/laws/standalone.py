"""One encoding outside of a model: its tokens, its embeddings, its forms and its attention."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from flax import nnx

from pe_lab.encodings.base import Tokens
from pe_lab.kernels import REFERENCE, Kernels
from pe_lab.model import attention
from pe_lab.model.terms import LayerEncoding, attention_terms


def embed(encoding, positions) -> np.ndarray:
    """[P, C] of a list of positions."""
    return np.asarray(encoding.embed(jnp.asarray(positions)[None])[0])


def numbers(*shape: int) -> np.ndarray:
    """Numbers that are exact in float32, so that a reader of another framework can write them."""
    count = int(np.prod(shape))
    return np.asarray([(7 * i % 11 - 5) / 8 for i in range(count)], np.float32).reshape(shape)


def rngs(seed: int = 0) -> nnx.Rngs:
    return nnx.Rngs(params=seed)


def tokens(positions, arange: bool = False) -> Tokens:
    positions = jnp.asarray(positions)
    return Tokens(positions[None], jnp.arange(len(positions))[None], arange=arange)


@dataclasses.dataclass(frozen=True)
class Form:
    """A way to compute hooks: the equation of an encoding, or its kernel at consecutive positions.

    Attributes:
      hook: (encoding, name of a hook) -> the function that computes it.
      arange: positions are declared to be consecutive.
    """

    hook: Callable
    arange: bool

    def tokens(self, positions) -> Tokens:
        return tokens(positions, self.arange)

    @property
    def kernels(self) -> Kernels:
        return Kernels(hook=self.hook)


EQUATION = Form(getattr, False)


def attend(encodings, q, k, v, Q, K, mask, *, bias=None, **how):
    """Attention with one encoding, or several in a tuple, that read the same tokens."""
    encodings = encodings if isinstance(encodings, tuple) else (encodings,)
    of_layer = [
        LayerEncoding(e, None, _own(Q, i, encodings), _own(K, i, encodings))
        for i, e in enumerate(encodings)
    ]
    hook = how.get("kernels", REFERENCE).hook
    return attention.attend(q, k, v, attention_terms(of_layer, mask, bias=bias, hook=hook), **how)


def _own(tokens, index, encodings):
    """The features of one of several encodings."""
    if len(encodings) == 1 or tokens.features is None:
        return tokens
    return dataclasses.replace(tokens, features=tokens.features[index])


def content_bias(encoding, Q, K, num_heads, head_dim=4, compute=EQUATION):
    """The content bias of an encoding that reads features, not queries or keys."""
    batch = max(len(T.positions) if T.features is None else len(T.features) for T in (Q, K))
    q = jnp.zeros((batch, Q.positions.shape[1], num_heads, head_dim))
    k = jnp.zeros((batch, K.positions.shape[1], num_heads, head_dim))
    return compute.hook(encoding, "content_bias")(q, k, Q, K)
