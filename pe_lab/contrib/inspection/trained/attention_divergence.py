"""Similarity of the attention of two runs: the Jensen-Shannon divergence of every pair of heads.

    one, other = (LoadedModel(load(folder, run_id), lengths) for run_id in (…, …))
    by_layer = attention_divergence.compare(one, other, length)["decoder"]
    by_layer[0].min()  # the most similar pair of heads of the first layer

Kazemnejad et al. 2023, "The Impact of Positional Encoding on Length Generalization in
Transformers", https://arxiv.org/abs/2305.19466, compare a model without position encodings with
others in this way (McGill-NLP/length-generalization at 40f8a44,
src/analyzers/attention_kl_analyzer.py).

Differs in the pairs: that code takes heads i < j, so it never compares the same head of two runs;
here every head of one run meets every head of the other. The divergence is in bits, from 0 to 1,
and its mean is over the queries that predict the answer; there it is in nats and over all queries.

The learned sink of a head is one more key, which has no weight in a run without learned sinks.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from pe_lab.contrib.inspection.trained.activations import (
    Activations,
    AttentionActivations,
    record_activations,
)
from pe_lab.contrib.inspection.trained.examples import BatchSize, Scalar, draw
from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from pe_lab.model.streams import answering_stack
from pe_lab.runs.errors import UserError
from pe_lab.training.setup import Setup

Pairs = Float[np.ndarray, "h g"]  # heads of one run, heads of the other run
_SAME = ("num_layers", "num_loops")  # settings that the models must share


def compare(one: LoadedModel, other: LoadedModel, length: int) -> dict[str, list[Pairs]]:
    """The mean divergence of every pair of heads, by the name of the attention and by layer.

    Raises:
      UserError: the runs have another task, layout or held-out prompts, or other layers.
    """
    _check(one.setup, other.setup)
    size = min(one.sizes.size, other.sizes.size)
    sizes = BatchSize(max(one.sizes.bound, other.sizes.bound), size)
    count = min(one.num_examples, other.num_examples)
    sums_of = jax.jit(functools.partial(_sums, one.setup, other.setup, sizes))
    batches = []
    for first in range(0, count, size):
        numbers = (np.int32(n) for n in (length, first, count))
        batches.append(sums_of(one.params, other.params, one.data, other.data, *numbers))
    total = jax.tree.map(lambda *parts: np.sum(parts, axis=0), *batches)
    return {
        name: [summed / np.maximum(number, 1) for summed, number in layers]
        for name, layers in total.items()
    }


def table(by_name: dict[str, list[Pairs]]) -> str:
    """A Markdown table with a row for each layer and head of the first run."""
    num_heads = max(layer.shape[1] for layers in by_name.values() for layer in layers)
    columns = " | ".join(f"head {head} of the other" for head in range(1, num_heads + 1))
    lines = [f"| attention | layer | head | {columns} |", "|---" * (3 + num_heads) + "|"]
    for name, layers in by_name.items():
        for index, layer in enumerate(layers, start=1):
            for head, row in enumerate(layer, start=1):
                cells = " | ".join(f"{value:.3f}" for value in row)
                lines.append(f"| {name} | {index} | {head} | {cells} |")
    return "\n".join(lines)


def divergence(p: Float[Array, "b h l s"], q: Float[Array, "b g l s"]) -> Float[Array, "b h g l"]:
    """The Jensen-Shannon divergence in bits of the rows of every two heads; rows sum to 1."""

    def against(q_of_head: Float[Array, "b l s"]) -> Float[Array, "b h l"]:
        q_of_head = q_of_head[:, None]
        mean = (p + q_of_head) / 2
        return (_relative_entropy(p, mean) + _relative_entropy(q_of_head, mean)) / 2

    # One head after the other, because all pairs at once need much memory.
    return jnp.moveaxis(jax.lax.map(against, jnp.moveaxis(q, 1, 0)), 0, 2)


def _relative_entropy(
    p: Float[Array, "b _ l s"], mean: Float[Array, "b h l s"]
) -> Float[Array, "b h l"]:
    """The sum of p log2(p / mean); a weight of 0 adds nothing."""
    has_weight = p > 0
    # 0 log 0 counts as 0: the ratio there is 1.
    ratio = jnp.where(has_weight, p, 1) / jnp.where(has_weight, mean, 1)
    return (p * jnp.log2(ratio)).sum(axis=-1)


def _sums(
    setup: Setup,
    other_setup: Setup,
    sizes: BatchSize,
    params: PyTree,
    other_params: PyTree,
    data: PyTree,
    other_data: PyTree,
    length: Scalar,
    first: Scalar,
    num_examples: Scalar,
) -> dict[str, list[tuple[Array, Array]]]:
    """For each layer the sum of the divergences over queries, and the number of queries."""
    examples = draw(setup, sizes, length, first, data)
    counted = (first + jnp.arange(sizes.size) < num_examples)[:, None]
    answer_queries = examples.batch.target & counted

    def activations(setup: Setup, params: PyTree, data: PyTree) -> Activations:
        examples = draw(setup, sizes, length, first, data)
        model = setup.model(params)
        return record_activations(model, examples.streams)[1]

    of_one = activations(setup, params, data)
    of_other = activations(other_setup, other_params, other_data)
    answering = answering_stack(examples.streams)
    sums: dict[str, list[tuple[Array, Array]]] = {}
    for name, layers in of_one.attention.items():
        queries = answer_queries
        if name not in ("cross", answering):  # an encoder before a decoder: all its tokens
            queries = examples.streams[name].mask & counted
        sums[name] = []
        for layer, other_layer in zip(layers, of_other.attention[name], strict=True):
            p, attends = _distributions(setup, layer)
            q, other_attends = _distributions(other_setup, other_layer)
            # Queries that count and attend in both heads.
            both = attends[:, :, None] & other_attends[:, None] & queries[:, None, None]
            summed = jnp.where(both, divergence(p, q), 0).sum(axis=(0, 3))
            sums[name].append((summed, both.sum(axis=(0, 3)).astype(jnp.float32)))
    return sums


def _distributions(
    setup: Setup, layer: AttentionActivations
) -> tuple[Float[Array, "b h l t"], Bool[Array, "b h l"]]:
    """Rows over keys and the learned sink that sum to 1, and whether a row has a weight at all."""
    w = layer.weights
    assert w is not None
    sink = jnp.zeros(w.shape[:3])
    if setup.run.model.learned_sinks:
        sink = jnp.maximum(1 - w.sum(axis=-1), 0)  # a sum of rounded weights may be above 1
    rows = jnp.concatenate([w, sink[..., None]], axis=-1)
    total = rows.sum(axis=-1)
    attends = total > 0
    return rows / jnp.where(attends, total, 1)[..., None], attends


def _check(setup: Setup, other: Setup) -> None:
    """Check that two runs attend to the same tokens in as many layers."""
    one_run, other_run = setup.run, other.run
    both = f"The runs {one_run.run_id} and {other_run.run_id} cannot be compared"
    if (one_run.evaluated_task, one_run.layout) != (other_run.evaluated_task, other_run.layout):
        raise UserError(f"{both}: they have different tasks or layouts.")
    if setup.split_rule != other.split_rule:  # `draw` would give them other prompts
        raise UserError(f"{both}: config.train.exclude_held_out differs.")
    for name in _SAME:
        if getattr(one_run.model, name) != getattr(other_run.model, name):
            raise UserError(f"{both}: config.model.{name} differs.")
