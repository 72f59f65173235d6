"""Biases that all examples of a batch share, computed once for all its micro-batches.

Two layers have the same bias if they have the same encodings and the same row of positions. It is
stored once, under these two as its key. It is computed for the longest examples and cut for
shorter ones.
"""

from collections.abc import Iterable, Mapping

import jax
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.kernels import Kernels
from pe_lab.model.sites import Site
from pe_lab.model.streams import View
from pe_lab.model.terms import LayerEncoding, total_bias

BiasKey = tuple[tuple[int, ...], int]  # the encodings of a layer, and its row of positions
Biases = Mapping[BiasKey, Float[Array, "_ _ _ _"]]  # with their axes as the kernels store them


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

    They are two values, because only the first are differentiated.
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
