"""Reference numbers of all encodings, with which a port in another framework can be compared.

The file is a NumPy archive (.npz) of float32 arrays. Every framework can read it, it keeps each
number exactly, and it needs a quarter of the space of JSON. Its names are:

    inputs/positions            [L]; positions_2 [L, 2] and positions_3 [L, 3] for encodings that
                                read two and three axes
    inputs/x                    [L, D], the inputs of the layer
    inputs/queries keys values  [L, H, Dh], before the encoding
    LABEL/arguments             the constructor's arguments, as JSON
    LABEL/constants/NAME        fixed numbers, such as frequencies, in float64
    LABEL/parameters/NAME       learned parameters, moved away from their start so that all matter
    LABEL/outputs/NAME          what the encoding computes from these

LABEL is an encoding as tables write it: `rope`, `rope(layout=half)`. Causal attention with a logit
scale of 1 / sqrt(Dh) computes the outputs. An encoding has the outputs that it changes:

    embedding           [L, C], scaled, before it meets the inputs
    queries, keys       [L, H, Dh], of the product
    bias, content_bias  [H or 1, L, L], added to the logits
    mask                [H or 1, L, L], True where causality and the encoding let a query attend
    logits              [H, L, L], -inf where masked; weights, of the same shape
    output              [L, H, Dh], or [L, D] of an encoding at the input
"""

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Shaped

from pe_lab.encodings.base import AttentionEncoding, InputEncoding, Tokens
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings import labels

WIDTH, HEADS = 32, 4
HEAD_DIM = WIDTH // HEADS
POSITIONS = (0, 1, 2, 3, 4, 5, 6, 7, 12, 30, 90, 200)  # near, and beyond T5's last bucket
# Non-default arguments in which ports differ most often.
VARIANTS = (
    "rope(layout=half)",
    "rope(fraction=0.5)",
    "rope(scaling=linear, factor=4.0)",
    "rope(scaling=ntk, factor=4.0)",
    "rope(scaling=yarn, factor=4.0, trained_length=64)",
    "rope(scaling=llama3, factor=4.0, trained_length=64)",
    "rope(scaling=dynamic_ntk, factor=4.0, trained_length=64)",
    "sinusoidal(layout=concat)",
    "sinusoidal(layout=tensor2tensor)",
)

Arrays = dict[str, Shaped[np.ndarray, "..."]]
Encoding = InputEncoding | AttentionEncoding


def specs() -> dict[str, JsonObject]:
    """Return the encodings of the file by label: each with its defaults, then the variants.

    Encodings of contrib are not in the published file.
    """
    encodings = []
    for name in plugins.names("encodings"):
        cls: Any = plugins.find("encodings", name)
        if cls.__module__.startswith("pe_lab.encodings."):
            encodings.append({"name": name, **cls.example})
    for text in VARIANTS:
        encodings += labels.parse(text)
    return {labels.label(spec): spec for spec in encodings}


def inputs() -> Arrays:
    """Return the inputs of all encodings."""
    length = len(POSITIONS)
    normal = np.random.RandomState(0).standard_normal  # its numbers never change
    heads = (length, HEADS, HEAD_DIM)
    positions = np.asarray(POSITIONS, np.int32)
    return {
        "positions": positions,
        "positions_2": np.stack([positions, positions // 3], axis=-1),
        "positions_3": np.stack([positions, positions // 3, positions // 2], axis=-1),
        "x": normal((length, WIDTH)).astype(np.float32),
        "queries": normal(heads).astype(np.float32),
        "keys": normal(heads).astype(np.float32),
        "values": normal(heads).astype(np.float32),
    }


def build(spec: JsonObject) -> Encoding:
    """Return an encoding with the sizes of the file and fresh parameters."""
    return plugins.build(
        "encodings",
        plugins.resolve("encodings", spec),
        width=WIDTH,
        num_heads=HEADS,
        head_dim=HEAD_DIM,
        num_layers=1,
        bidirectional=False,
        rngs=nnx.Rngs(params=0),
    )


def parameters(encoding: Encoding) -> Arrays:
    """Return the parameters of an encoding by path."""
    leaves = nnx.to_flat_state(nnx.state(encoding, nnx.Param))
    return {_path(path): np.asarray(leaf[...]) for path, leaf in leaves}


def set_parameters(encoding: Encoding, values: Mapping[str, np.ndarray]) -> None:
    """Replace the parameters of an encoding."""
    state = nnx.state(encoding, nnx.Param)
    for path, leaf in nnx.to_flat_state(state):
        leaf[...] = jnp.asarray(values[_path(path)])
    nnx.update(encoding, state)


def _path(path: tuple[object, ...]) -> str:
    return "/".join(map(str, path))


def _moved(label: str, start: Arrays) -> Arrays:
    """Return parameters moved from their initial values: many are 0, where errors do not show."""
    moved = {}
    for path, value in start.items():
        seed = zlib.crc32(f"{label}/{path}".encode())  # an encoding does not change the others
        noise = np.random.RandomState(seed).standard_normal(value.shape)
        moved[path] = (value + 0.3 * noise).astype(np.float32)
    return moved


def _constants(encoding: Encoding) -> Arrays:
    """Return the fixed numbers that an encoding holds as tuples or arrays, such as frequencies."""
    constants = {}
    for name, value in vars(encoding).items():
        if isinstance(value, tuple | np.ndarray) and len(value):
            numbers = np.asarray(value)
            if numbers.dtype == np.float64:
                constants[name] = numbers
    return constants


def outputs(encoding: Encoding, given: Mapping[str, np.ndarray]) -> Arrays:
    """Return what an encoding computes from the inputs of the file.

    The parts of attention follow pe_lab.model.attention.attend, in the same order; a test compares
    the two.
    """
    num_axes = encoding.requirements.num_axes
    name = "positions" if num_axes == 1 else f"positions_{num_axes}"
    positions = jnp.asarray(given[name])[None]
    x = jnp.asarray(given["x"])[None]
    if isinstance(encoding, InputEncoding):
        embedding = encoding.scaled_embedding(positions)
        return _without_batch({"embedding": embedding, "output": encoding(x, positions)})
    q, k, v = (jnp.asarray(given[name])[None] for name in ("queries", "keys", "values"))
    slots = jnp.arange(len(POSITIONS))[None]
    of_queries, of_keys = encoding.features(x, positions)
    Q = Tokens(positions, slots, features=of_queries)
    K = Tokens(positions, slots, features=of_keys)
    return _without_batch(_attention(encoding, q, k, v, Q, K))


def _attention(
    encoding: AttentionEncoding, q: Array, k: Array, v: Array, Q: Tokens, K: Tokens
) -> dict[str, Array | None]:
    """Return the parts of causal attention with one encoding; None for missing parts."""
    causal = jnp.tri(len(POSITIONS), dtype=bool)[None, None]
    mask = encoding.mask(Q, K)
    allowed = causal if mask is None else causal & mask
    bias, content_bias = encoding.bias(Q, K), encoding.content_bias(q, k, Q, K)
    new_q, new_k = encoding.transform_qk(q, k, Q, K)
    s = jnp.einsum("blhe,bshe->bhls", new_q, new_k) / math.sqrt(HEAD_DIM)
    for term in (bias, content_bias):
        if term is not None:
            s = s + term
    s = encoding.transform_logits(s, q, k, Q, K, allowed)
    weights = encoding.normalize(s, allowed)
    changes_qk = type(encoding).transform_qk is not AttentionEncoding.transform_qk
    return {
        "queries": new_q if changes_qk else None,
        "keys": new_k if changes_qk else None,
        "bias": bias,
        "content_bias": content_bias,
        "mask": None if mask is None else allowed,
        "logits": jnp.where(allowed, s, -jnp.inf),
        "weights": weights,
        "output": encoding.combine(weights, v, Q, K),
    }


def _without_batch(parts: Mapping[str, Array | Bool[Array, "..."] | None]) -> Arrays:
    return {name: np.asarray(part[0]) for name, part in parts.items() if part is not None}


def arrays() -> Arrays:
    """Return the content of the file."""
    input_arrays = inputs()
    content = {f"inputs/{name}": value for name, value in input_arrays.items()}
    for label, spec in specs().items():
        encoding = build(spec)
        set_parameters(encoding, _moved(label, parameters(encoding)))
        arguments = plugins.resolve("encodings", spec).to_dict()
        del arguments["name"]
        content[f"{label}/arguments"] = np.asarray(json.dumps(arguments))
        parts = {
            "constants": _constants(encoding),
            "parameters": parameters(encoding),
            "outputs": outputs(encoding, input_arrays),
        }
        for part, values in parts.items():
            content |= {f"{label}/{part}/{name}": value for name, value in values.items()}
    return content


def write(file: Path) -> None:
    """Write the file."""
    content: dict[str, Any] = arrays()  # NumPy's stub has a flag among the names
    np.savez_compressed(file, **content)
