"""The examples of evaluation: drawn with their own keys.

An example depends on its task, split, length and index alone. Training never draws the input of one
if the length has enough inputs (splits.py).
"""

import functools
import operator
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Int, Key, PyTree

from pe_lab.runs.records.evaluation_points import Counts
from pe_lab.tasks.base import Example, Task
from pe_lab.training import splits
from pe_lab.training.random_keys import EVALUATION, fold, stream_key
from pe_lab.training.setup import Setup

SPLITS = ("validation", "test")  # the index of a split is folded into its keys
SEED = 0  # another seed draws other examples


def keys(
    split: Int[ArrayLike, ""],
    length: Int[ArrayLike, ""],
    index: Int[ArrayLike, "b"],
) -> Key[Array, "b"]:
    """The key of each example.

    Args:
      split: its index in SPLITS.
    """
    key = jax.random.key(SEED)
    for name in (EVALUATION, split, length):
        key = stream_key(key, name)
    return fold(key, index)


def sample(
    task: Task,
    rule: splits.Rule,
    keys: Key[Array, "b"],
    length: Int[ArrayLike, ""],
    bound: int,
    data: PyTree = None,
) -> Example:
    """One evaluation example for each key, in the shapes of length `bound`."""
    lengths = jnp.broadcast_to(length, keys.shape)
    return splits.draw(task, rule, keys, lengths, bound, data, held_out=True)


def can_be_trained(
    setup: Setup,
    examples: Example,
    length: Int[ArrayLike, ""],
) -> Bool[Array, "b"]:
    """True for examples whose inputs training can draw."""
    if setup.trained_inputs is None:
        # The data's splits are disjoint, so no example overlaps.
        return jnp.zeros(len(examples.prompt), bool)
    can_draw = jax.vmap(setup.trained_inputs.can_draw, in_axes=(0, None))
    return can_draw(examples, jnp.asarray(length))


# A task and a rule are frozen dataclasses: equal ones share a compiled program.
@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def draw_batch(
    task: Task,
    rule: splits.Rule,
    bound: int,
    size: int,
    split: Int[ArrayLike, ""],
    length: Int[ArrayLike, ""],
    first: Int[ArrayLike, ""],
    data: PyTree,
) -> Example:
    """`size` examples of a split and length from index `first`, in the shapes of length `bound`."""
    key_length = task.evaluation_key_length(jnp.asarray(length))
    example_keys = keys(split, key_length, first + jnp.arange(size))
    return sample(task, rule, example_keys, length, bound, data)


def draw(task: Task, counts: Counts) -> Iterator[tuple[str, int, Example]]:
    """Each split and length with its examples, in the shapes of the longest."""
    bound = max(length for _, length in counts)
    largest_count = max(counts.values())
    rule = splits.rule(task)
    for number, split in enumerate(SPLITS):
        data = jax.tree.map(jnp.asarray, task.data(split))
        lengths = sorted(length for s, length in counts if s == split)
        for length in lengths:
            # Always the largest count: each other one would be another program to compile.
            examples = draw_batch(
                task,
                rule,
                bound,
                largest_count,
                split=jnp.asarray(number),
                length=jnp.asarray(length),
                first=jnp.asarray(0),
                data=data,
            )
            first = slice(counts[split, length])
            examples = jax.tree.map(operator.itemgetter(first), examples)
            yield split, length, jax.tree.map(np.asarray, examples)


def as_text(
    task: Task,
    length: int,
    count: int,
) -> Iterator[tuple[str, str]]:
    """Prompt and target of the first test examples of a length.

    Target tokens that the model reads and need not predict are in [square brackets].
    """
    ((_, _, examples),) = draw(task, {("test", length): count})
    for i in range(count):
        prompt_mask = examples.prompt_mask[i]
        target_mask = examples.target_mask[i]
        prompt = examples.prompt[i][prompt_mask]
        target = examples.target[i][target_mask]
        is_predicted = examples.asked[i][target_mask]
        words = []
        for symbol, is_label in zip(target.tolist(), is_predicted, strict=True):
            word = task.target_vocabulary.text([symbol])
            words.append(word if is_label else f"[{word}]")
        prompt_text = task.vocabulary.text(prompt.tolist())
        yield prompt_text, " ".join(words)
