"""The half of the forward pass that depends on positions alone, and on no token.

The terms of a stack (embeddings of positions, masks, biases) come from the views of its streams.
They are computed once a forward pass, for all layers that share them. Biases that all examples of a
batch share are computed once for all its micro-batches.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, PyTree, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.kernels import Kernels
from pe_lab.model.sites import Site
from pe_lab.model.streams import View

Hook = Callable[[AttentionEncoding, str], Callable]  # (encoding, name) -> that hook, or its kernel
Embeddings = tuple[Float[Array, "_ l _"], ...]  # of each input encoding, [B|1, L, C]
BiasKey = tuple[tuple[int, ...], int]  # the encodings of a layer, and its row of positions
Biases = Mapping[BiasKey, Float[Array, "_ _ _ _"]]  # with their axes as the kernels store them


@dataclasses.dataclass(frozen=True)
class LayerEncoding:
    """An encoding on one attention layer, with the tokens of both sides.

    Attributes:
      heads: True at the heads that it acts on; None: all. A NumPy array, because the program
        depends on it.
      Q, K: tokens of queries and of keys.
      on: False at heads on which it is switched off, as in a knock-out; None: on everywhere. It may
        be traced, so that one program serves all knock-outs.
    """

    encoding: AttentionEncoding
    heads: Bool[np.ndarray, "h"] | None
    Q: Tokens
    K: Tokens
    on: Bool[Array | np.ndarray, "h"] | None = None

    def acting(
        self, new: Shaped[Array, "_ _ _ _"], old: ArrayLike, axis: int = 1
    ) -> Shaped[Array, "_ _ _ _"]:
        """`new` on the heads on which it acts and `old` on the others; heads are on `axis`."""
        new = on_heads(self.heads, new, old, axis)
        return on_heads(self.on, new, old, axis)


@dataclasses.dataclass(frozen=True)
class AttentionTerms:
    """Terms of one attention layer that do not depend on tokens. Axes of size 1 broadcast.

    Attributes:
      visible: True where the model allows a query to attend to a key.
      mask: `visible` restricted by the encodings.
      bias: the sum of the encodings' biases; None if there is none.
      causal: keys are those of the queries' tokens, and the mask hides every later key, so that a
        kernel need not compute it.
    """

    encodings: tuple[LayerEncoding, ...]
    visible: Bool[Array, "_ 1 l s"]
    mask: Bool[Array, "_ _ l s"]
    bias: Float[Array, "_ _ l s"] | None
    causal: bool = False


@dataclasses.dataclass(frozen=True)
class StackTerms:
    """Terms of one stack.

    Attributes:
      embeddings: of the stream's positions.
      attention: of each layer's self-attention.
      cross: of each layer's cross-attention; empty without an encoder.
      view: of the stack's stream.
    """

    embeddings: Embeddings
    attention: tuple[AttentionTerms, ...]
    cross: tuple[AttentionTerms, ...]
    view: View


def visible(
    queries: View,
    keys: View,
    *,
    causal: bool,
    window: int | None = None,
) -> Bool[Array, "b 1 l s"]:
    """True where a query may attend to a key, whatever the encodings.

    Neither is padding, and both belong to one segment.

    Args:
      causal: a query sees no later slot.
      window: a query sees slots less than this far away.
    """
    assert queries.slots is not None
    assert keys.slots is not None
    mask = keys.valid[:, None, None, :]  # [B, 1, 1, S]
    query_slots = queries.slots[:, None, :, None]  # [B|1, 1, L, 1]
    key_slots = keys.slots[:, None, None, :]
    if causal:
        mask = mask & (key_slots <= query_slots)
    if window is not None:
        mask = mask & (jnp.abs(key_slots - query_slots) < window)
    if queries.segments is not None and keys.segments is not None:
        query_segments = queries.segments[:, :, None]  # [B, L, 1]
        key_segments = keys.segments[:, None, :]  # [B, 1, S]
        same_segment = query_segments == key_segments
        mask = mask & same_segment[:, None]
    return mask & queries.valid[:, None, :, None]


def attention_terms(
    encodings: Sequence[LayerEncoding],
    mask: Bool[Array, "_ _ l s"],
    *,
    bias: Float[Array, "_ _ l s"] | None = None,
    hook: Hook = getattr,
    causal: bool = False,
) -> AttentionTerms:
    """Terms of one attention layer: the encodings restrict the mask and add their biases.

    Args:
      mask: True where the model allows a query to attend to a key.
      bias: the sum of the encodings' biases, if it is known already.
      hook: of the kernels.
      causal: as in `AttentionTerms`.
    """
    allowed = mask
    for e in encodings:
        encoding_mask = e.encoding.mask(e.Q, e.K)
        if encoding_mask is not None:
            encoding_mask = e.acting(encoding_mask, True)  # True: other heads may attend
            allowed = allowed & encoding_mask
    if bias is None:
        bias = total_bias(encodings, hook)
    return AttentionTerms(tuple(encodings), visible=mask, mask=allowed, bias=bias, causal=causal)


def with_features(
    terms: AttentionTerms,
    x: Float[Array, "b l d"],
    key_features: tuple[PyTree, ...],
) -> AttentionTerms:
    """The terms with encodings' features of queries and keys."""
    encodings = []
    for e, of_keys in zip(terms.encodings, key_features, strict=True):
        of_queries, _ = e.encoding.features(x, e.Q.positions)
        Q = dataclasses.replace(e.Q, features=of_queries)
        K = dataclasses.replace(e.K, features=of_keys)
        e = dataclasses.replace(e, Q=Q, K=K)
        encodings.append(e)
    return dataclasses.replace(terms, encodings=tuple(encodings))


def total_bias(encodings: Sequence[LayerEncoding], hook: Hook) -> Float[Array, "_ _ l s"] | None:
    """The sum of the encodings' biases; None without any."""
    total = None
    for e in encodings:
        bias_of = hook(e.encoding, "bias")
        bias = bias_of(e.Q, e.K)
        if bias is not None:
            bias = e.acting(bias, 0)
            total = add(total, bias)
    return total


def on_heads(
    heads: Bool[Array | np.ndarray, "h"] | None,
    new: Shaped[Array, "_ _ _ _"],
    old: ArrayLike,
    axis: int = 1,
) -> Shaped[Array, "_ _ _ _"]:
    """`new` where `heads` is True and `old` elsewhere; heads are on `axis`."""
    if heads is None:
        return new  # exactly, and without the cost of a `where`
    shape = [1] * 4
    shape[axis] = len(heads)
    is_on = heads.reshape(shape)
    return jnp.where(is_on, new, old)


def add(
    total: Float[Array, "..."] | None,
    term: Float[Array, "..."],
) -> Float[Array, "..."]:
    """The sum of the terms so far, if there are any, and one more."""
    return term if total is None else total + term


def bias_key(
    sites: tuple[Site, ...],
    layer: int,
    queries: View,
    keys: View,
) -> BiasKey:
    """The encodings and the row of positions that a layer's bias depends on."""
    indices = tuple(site.index for site in sites)
    # A scheme that draws again in each layer has one row for each layer.
    num_rows = max(queries.num_rows, keys.num_rows)
    row = layer if num_rows > 1 else 0
    return indices, row


def shared_biases(
    layers: Iterable[tuple[BiasKey, tuple[LayerEncoding, ...]]],
    kernels: Kernels,
) -> tuple[Biases, Biases]:
    """Biases of layers whose examples all have the same one: with parameters, and without.

    Two layers have the same bias if they have the same encodings and the same row of positions. It
    is stored once, under these two as its key. It is computed for the longest examples and cut for
    shorter ones. The two values are apart, because only the first are differentiated.
    """
    learned: dict[BiasKey, Float[Array, "_ _ _ _"]] = {}
    fixed: dict[BiasKey, Float[Array, "_ _ _ _"]] = {}
    for key, encodings in layers:
        if not _is_shared(encodings):
            continue
        bias = total_bias(encodings, kernels.hook)
        if bias is not None:
            biases = learned if _is_learned(encodings) else fixed
            biases[key] = kernels.stored_bias(bias)
    return learned, fixed


def _is_shared(encodings: tuple[LayerEncoding, ...]) -> bool:
    """Whether all examples have the same bias."""
    for e in encodings:
        one_row = len(e.Q.positions) == len(e.K.positions) == 1
        # Lengths differ between examples, and so does a bias that reads them.
        if not one_row or e.encoding.requirements.reads_length:
            return False
    return True


def _is_learned(encodings: tuple[LayerEncoding, ...]) -> bool:
    """Whether an encoding has parameters."""
    for e in encodings:
        params = nnx.state(e.encoding, nnx.Param)
        if jax.tree.leaves(params):
            return True
    return False
