"""Chance level: the score of a predictor that knows the length but does not see the prompt."""

import collections
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import Task


def chance_levels(
    task: Task, lengths: Sequence[int], num_examples: int, data: Any = None
) -> list[dict[str, int | float]]:
    """Measure a predictor that knows the length and the target index but does not see the prompt.

    It predicts the most frequent symbol of each target index (token_accuracy) or the most frequent
    target (exact_match) of `num_examples` examples. The score is that on as many other examples.

    Args:
      data: the data of the evaluated split.

    Returns:
      One dictionary for each length, with the fields length, token_accuracy, exact_match and count.
    """
    levels = []
    bound = max(lengths)
    for length in lengths:  # one at a time: hundreds of long examples may not fit in memory at once
        target, answer = _answers(task, bound, 2 * num_examples, np.int32(length), data)
        level = _chance_level(np.asarray(target), np.asarray(answer)[num_examples:])
        levels.append({"length": length, **level, "count": num_examples})
    return levels


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _answers(
    task: Task, bound: int, count: int, length: Array, data: Any
) -> tuple[Int[Array, "n t"], Bool[Array, "n t"]]:
    """Targets of `count` examples, -1 where the model predicts nothing, and their answer masks."""
    keys = jax.random.split(jax.random.key(length), count)
    examples = jax.vmap(lambda key: task.sample(key, length, bound, data))(keys)
    targets = jnp.where(examples.asked, examples.target, -1)
    return targets, jnp.asarray(examples.answer_mask)


def _chance_level(target: np.ndarray, answer_mask: np.ndarray) -> dict[str, float]:
    """Score the first half's most frequent answers on the second half of `target` [2 N, T]."""
    train, test = np.split(target, 2)
    columns = [column[column >= 0] for column in train.T]
    symbols = np.array([np.bincount(column, minlength=1).argmax() for column in columns])
    is_right = (test == symbols[None]) & answer_mask

    counts = collections.Counter(map(tuple, train.tolist()))
    highest = max(counts.values())
    # The smallest of equally frequent rows, so that the result does not depend on their order.
    most_frequent = min(row for row, count in counts.items() if count == highest)
    is_equal = (test == np.array(most_frequent)[None]).all(axis=1)
    return {
        "token_accuracy": float(is_right.sum() / answer_mask.sum()),
        "exact_match": float(is_equal.mean()),
    }
