"""The tiny transformers of the laws, as tests build and run them."""

import functools
from typing import Any

import jax
import numpy as np
from flax import nnx

from pe_lab.contrib.laws.models import (  # noqa: F401  # tests use both as one module
    ARCHITECTURES,
    VOCABULARIES,
    DifferenceError,
    assert_close,
    assert_differs,
    by_stack,
    decode,
    moved,
    params,
    prefix,
    random_tokens,
    settings,
    stream,
)
from pe_lab.kernels import REFERENCE, Kernels
from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer


def build(
    *encodings: str | dict[str, Any],
    architecture: str = "decoder",
    seed: int = 0,
    kernels: Kernels = REFERENCE,
    **changes: Any,
) -> Transformer:
    return Transformer(
        settings(*encodings, **changes),
        VOCABULARIES[architecture],
        kernels=kernels,
        key=jax.random.key(seed),
    )


def indices(layers: Any) -> tuple[tuple[int, ...], ...]:
    """The encodings of each layer, by their number in the stack."""
    return tuple(tuple(site.index for site in sites) for sites in layers)


@functools.partial(jax.jit, static_argnums=0, static_argnames="remat")
def _run(graph, state, streams, **how):
    return nnx.merge(graph, state)(streams, **how)


def run(model: Transformer, *streams: Stream | None, **how: Any) -> np.ndarray:
    """Its logits, compiled; what is patched into a class is seen by its first run alone."""
    return np.asarray(_run(*nnx.split(model), by_stack(model, *streams), **how))


def assert_equal(a: Any, b: Any) -> None:
    """Two trees of arrays are the same to the last bit."""
    jax.tree.map(np.testing.assert_array_equal, a, b)
