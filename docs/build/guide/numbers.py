"""What the guide measures beside the scorecard and the published studies: of fresh models and
codes, in seconds.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from pe_lab.inspection import linear_shift, scorecard, table_statistics
from pe_lab.inspection.trained import input_embeddings
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer
from pe_lab.runs import plugin_specs
from pe_lab.runs.settings import Model

NORMALIZED = UntrainedEncoding({"name": "raw_index"}, positions={"name": "normalized"})
SHIFT, FAR = 7, 1024  # of the map that is written down; the positions that it is tried on
WIDTHS = (16, 64, 512)
_TOKENS = 1000  # of a table with random rows


def fresh(model: Model) -> dict[str, Any]:
    """All of it, as JSON; `model` gives the sizes of what is not yet trained."""
    binary = UntrainedEncoding({"name": "binary"}).table(64)
    return {
        "what a permuted prompt changes": {
            name: permuted(model, *of) for name, of in _ORDER.items()
        },
        "largest index": {
            n: float(np.abs(UntrainedEncoding({"name": "raw_index"}).table(n)).max())
            for n in (64, 1024)
        },
        "normalized": dict(scorecard.row(NORMALIZED).numbers),
        "step of normalized": {
            n: float(table_statistics.steps(NORMALIZED.table(n)).mean()) for n in (8, 64)
        },
        "bits that flip": {
            f"{p} to {p + 1}": int((binary[p] != binary[p + 1]).sum()) for p in (1, 31)
        },
        "missed by the map of a shift": map_error(),
        "cosines": {width: cosines(width) for width in WIDTHS},
    }


_ORDER = {  # architecture and encoding
    "encoder, nope": ("encoder", "nope"),
    "encoder, sinusoidal": ("encoder", "sinusoidal"),
    "decoder, nope": ("decoder", "nope"),
}


def permuted(settings: Model, architecture: str, encoding: str, length: int = 16) -> float:
    """The most that a permutation of the tokens changes of the logits, once they are put back in
    order, over the logits' rms.
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
        return nnx.merge(graph, params)(
            Stream(
                tokens,
                (jnp.arange(length)[None, None],),
                jnp.ones((1, length), bool),
                None,
                (True,),
            )
        )

    plain, turned = logits(params, tokens), logits(params, tokens[:, order])
    return float(jnp.abs(turned - plain[:, order]).max() / jnp.sqrt(jnp.square(plain).mean()))


def map_error() -> float:
    """The largest |M(shift) E(p) - E(p + shift)| of sinusoidal codes, M written down and not
    fitted.
    """
    probe = UntrainedEncoding({"name": "sinusoidal"})
    frequencies = 10000.0 ** (-np.arange(0, probe.width, 2) / probe.width)
    M = linear_shift.rotation_map(frequencies, SHIFT)
    E = probe.table(FAR + SHIFT)
    return float(np.abs(E[:FAR] @ M.T - E[SHIFT:]).max())


def cosines(width: int) -> dict[str, float]:
    """Of random tokens with sinusoidal codes, and with as many random directions."""
    normal = np.random.default_rng(width).standard_normal
    table, directions = normal((_TOKENS, width)), normal((64, width))
    sinusoidal = UntrainedEncoding({"name": "sinusoidal"}, width=width).table(64)
    shared = input_embeddings.shared_directions(table, sinusoidal)
    random = input_embeddings.shared_directions(table, directions)
    return {**named_directions(shared), "rms cosine, both random": random.rms_cosine}


def named_directions(shared: input_embeddings.SharedDirections) -> dict[str, float]:
    """The numbers under the names that the page reads."""
    return {
        "rms cosine": shared.rms_cosine,
        "rms cosine of random directions": shared.rms_cosine_by_chance,
        "mean absolute cosine": shared.mean_cosine,
        "mean absolute cosine of random directions": shared.mean_cosine_by_chance,
        "largest cosine": shared.largest_cosine,
        "directions of the codes": shared.embedding_directions,
        "overlap": shared.overlap,
        "overlap by chance": shared.overlap_by_chance,
    }
