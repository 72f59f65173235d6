"""Observations of a model: its activations on all test examples of a length."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from pe_lab.contrib.inspection.trained import attention_statistics
from pe_lab.contrib.inspection.trained.activations import record_activations
from pe_lab.contrib.inspection.trained.attention_statistics import AttentionMeans
from pe_lab.contrib.inspection.trained.examples import BatchSize, Scalar, draw
from pe_lab.model.streams import answering_stack
from pe_lab.training.setup import Setup

_ORDER = ("encoder", "decoder", "cross")  # of application; a compiled program sorts by name


@dataclasses.dataclass(frozen=True)
class FirstExample:
    """Attention in the first example of a length.

    Attributes:
      weights: name of the attention -> for each layer.
      mask: name of the attention -> for each layer, True where a query that is not padding sees a
        key.
      aligned: the key that the task names.
    """

    weights: dict[str, list[Float[np.ndarray, "h _ _"]]]
    mask: dict[str, list[Bool[np.ndarray, "_ _ _"]]]
    aligned: Bool[np.ndarray, "l s"]


@dataclasses.dataclass(frozen=True)
class Observations:
    """Activations of all examples of a length.

    Attributes:
      hidden: stack -> the input of the first layer, then the output of each layer.
      valid: stack -> True for tokens that are not padding.
      attention: name -> for each layer.
      q, k, mask: name -> for each layer.
    """

    # The stacks differ in their lengths, so lengths have no name here.
    hidden: dict[str, list[Float[np.ndarray, "n _ d"]]]
    valid: dict[str, Bool[np.ndarray, "n _"]]
    attention: dict[str, list[AttentionMeans]]
    q: dict[str, list[Float[np.ndarray, "n _ h e"]]]
    k: dict[str, list[Float[np.ndarray, "n _ h e"]]]
    mask: dict[str, list[Bool[np.ndarray, "n _ _ _"]]]
    first: FirstExample


def join(parts: Sequence[dict[str, PyTree]], num_examples: int) -> Observations:
    """Observations from the results of `observe_batch`; the last batch may hold too many."""
    parts = [jax.tree.map(np.asarray, part) for part in parts]
    examples = jax.tree.map(
        lambda *leaves: np.concatenate(leaves)[:num_examples],
        *(part["examples"] for part in parts),
    )
    sums = jax.tree.map(
        lambda *leaves: np.sum(leaves, axis=0),
        *(part["sums"] for part in parts),
    )
    means = {}
    for name, layers in sums.items():
        means[name] = [attention_statistics.means(layer) for layer in layers]
    first = parts[0]["first"]
    first_example = FirstExample(
        weights=_in_order(first["weights"]),
        mask=_in_order(first["mask"]),
        aligned=first["aligned"],
    )
    return Observations(
        **{field: _in_order(by_name) for field, by_name in examples.items()},
        attention=_in_order(means),
        first=first_example,
    )


def _in_order(by_name: dict[str, PyTree]) -> dict[str, PyTree]:
    return {name: by_name[name] for name in _ORDER if name in by_name}


def observe_batch(
    setup: Setup,
    sizes: BatchSize,
    params: PyTree,
    length: Scalar,
    first: Scalar,
    data: PyTree,
    num_examples: Scalar,
) -> dict[str, PyTree]:
    """Activations of each example, sums over examples, and the attention of the first one."""
    examples = draw(setup, sizes, length, first, data)
    _, activations = record_activations(setup.model(params), examples.streams)
    streams = examples.streams
    answering = answering_stack(streams)
    # The examples that fill the last batch do not count.
    numbers = first + jnp.arange(sizes.size)
    counted = (numbers < num_examples)[:, None]
    sums: dict[str, list[attention_statistics.AttentionSums]] = {}
    first_weights: dict[str, list[Array]] = {}
    for name, layers in activations.attention.items():
        answers = name in ("cross", answering)
        # Only tokens that predict the answer count; in an encoder with a decoder, all tokens.
        queries = examples.batch.target if answers else streams[name].mask
        queries = queries & counted
        # Named keys are tokens of the prompt, which only these queries can see.
        reads_prompt = answers and (len(streams) == 1 or name == "cross")
        sums[name], first_weights[name] = [], []
        for layer in layers:
            assert layer.weights is not None
            first_weights[name].append(layer.weights[0])
            keys = examples.aligned
            if not reads_prompt:
                keys = jnp.zeros((sizes.size, *layer.weights.shape[2:]), bool)
            of_layer = attention_statistics.sums(
                layer.weights,
                layer.mask,
                queries,
                keys,
                learned_sinks=setup.run.model.learned_sinks,
            )
            sums[name].append(of_layer)

    q, k, masks, first_masks = {}, {}, {}, {}
    for name, layers in activations.attention.items():
        q[name] = [layer.q for layer in layers]
        k[name] = [layer.k for layer in layers]
        masks[name] = [layer.mask for layer in layers]
        first_masks[name] = [layer.mask[0] for layer in layers]
    valid = {name: stream.mask for name, stream in streams.items()}
    return {
        "examples": {
            "hidden": activations.hidden,
            "valid": valid,
            "q": q,
            "k": k,
            "mask": masks,
        },
        "sums": sums,
        "first": {"weights": first_weights, "mask": first_masks, "aligned": examples.aligned[0]},
    }
