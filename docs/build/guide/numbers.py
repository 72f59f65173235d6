"""Measurements of untrained models and embeddings, which only the guide needs."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from pe_lab.contrib.inspection import linear_shift, scorecard
from pe_lab.contrib.inspection.trained import input_embeddings
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer
from pe_lab.runs.settings.settings import Model
from pe_lab.runs.specs import plugin_specs

NORMALIZED = UntrainedEncoding({"name": "raw_index"}, positions={"name": "normalized"})
SHIFT, FAR = 7, 1024  # the shift of the linear map, and the positions on which it is tested
WIDTHS = (16, 64, 512)
_TOKENS = 1000  # rows of a random embedding table


def fresh(model: Model) -> dict[str, Any]:
    """Return all measurements as JSON.

    Args:
      model: sizes of the untrained models.
    """
    return {
        "what a permuted prompt changes": {
            f"encoder, {name}": permuted(model, "encoder", name) for name in ("nope", "sinusoidal")
        },
        "largest index": {
            n: float(np.abs(UntrainedEncoding({"name": "raw_index"}).table(n)).max())
            for n in (64, 1024)
        },
        "normalized": dict(scorecard.row(NORMALIZED).numbers),
        "missed by the map of a shift": map_error(),
        "cosines": {width: cosines(width) for width in WIDTHS},
    }


def permuted(settings: Model, architecture: str, encoding: str, length: int = 16) -> float:
    """Return the largest change of a logit by a permutation of the tokens, over the logits' rms.

    The permuted logits are put back into the original order first.
    """
    settings = dataclasses.replace(
        settings, encodings=plugin_specs.encodings(({"name": encoding},))
    )
    model = Transformer(settings, {architecture: _TOKENS}, key=jax.random.key(0))
    graph, params = nnx.split(model)
    order = np.random.default_rng(0).permutation(length)
    tokens = jnp.arange(length)[None]

    @jax.jit
    def logits(params, tokens):
        positions = jnp.arange(length)[None, None]
        mask = jnp.ones((1, length), bool)
        stream = Stream(tokens, (positions,), mask, None, (True,))
        return nnx.merge(graph, params)({architecture: stream})

    original = logits(params, tokens)
    permuted_logits = logits(params, tokens[:, order])
    largest_change = jnp.abs(permuted_logits - original[:, order]).max()
    rms = jnp.sqrt(jnp.square(original).mean())
    return float(largest_change / rms)


def map_error() -> float:
    """Return the largest |M E(p) - E(p + shift)| of sinusoidal embeddings, with the exact M."""
    encoding = UntrainedEncoding({"name": "sinusoidal"})
    frequencies = 10000.0 ** (-np.arange(0, encoding.width, 2) / encoding.width)
    M = linear_shift.rotation_map(frequencies, SHIFT)
    E = encoding.table(FAR + SHIFT)
    return float(np.abs(E[:FAR] @ M.T - E[SHIFT:]).max())


def cosines(width: int) -> dict[str, float]:
    """Cosines of random tokens with sinusoidal embeddings, and of random directions."""
    table = np.random.default_rng(width).standard_normal((_TOKENS, width))
    sinusoidal = UntrainedEncoding({"name": "sinusoidal"}, width=width).table(64)
    return named_cosines(input_embeddings.shared_directions(table, sinusoidal))


def named_cosines(shared: input_embeddings.SharedDirections) -> dict[str, float]:
    """Return the numbers under the names of the page's lookups."""
    return {
        "rms cosine": shared.rms_cosine,
        "rms cosine of random directions": shared.rms_cosine_by_chance,
    }
