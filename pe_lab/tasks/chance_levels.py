"""Chance levels: the scores of a predictor that does not see the prompt."""

import functools
import statistics
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.runs.records.record_schema import ChanceLevel
from pe_lab.tasks.base import Data, Task


def chance_levels(
    task: Task, lengths: Sequence[int], num_examples: int, data: Data | None = None
) -> list[ChanceLevel]:
    """Measure a predictor that knows the length and the target index but does not see the prompt.

    It predicts the most frequent symbol of each target index (token_accuracy) or the most frequent
    target (exact_match) of `num_examples` examples, and is scored on as many other examples.
    """
    levels = []
    bound = max(lengths)
    count = 2 * num_examples
    for length in lengths:  # one at a time: hundreds of long examples may not fit in memory at once
        # The length is an argument of the program, so all lengths share one.
        target, answer_mask = _targets(task, bound, count, np.int32(length), data)
        scored_mask = np.asarray(answer_mask)[num_examples:]
        scores = chance_scores(np.asarray(target), scored_mask)
        level = ChanceLevel(
            length=length,
            token_accuracy=scores["token_accuracy"],
            exact_match=scores["exact_match"],
            count=num_examples,
        )
        levels.append(level)
    return levels


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _targets(
    task: Task, bound: int, count: int, length: Array, data: Data | None
) -> tuple[Int[Array, "n t"], Bool[Array, "n t"]]:
    """Targets of `count` examples, -1 where the model predicts nothing, and their answer masks."""
    # The keys are fixed, so that a task has one chance level at each length.
    keys = jax.random.split(jax.random.key(length), count)

    def draw(key):
        return task.sample(key, length, bound, data)

    examples = jax.vmap(draw)(keys)
    targets = jnp.where(examples.asked, examples.target, -1)
    return targets, jnp.asarray(examples.answer_mask)


def chance_scores(target: np.ndarray, answer_mask: np.ndarray) -> dict[str, float]:
    """Score the first half's most frequent answers on the second half of `target` [2 N, T]."""
    # Two halves: the score on the examples that were counted would be biased upward.
    train, test = np.split(target, 2)
    symbols = []
    for column in train.T:
        # With minlength, an index at which nothing is predicted has symbol 0 and no error.
        counts = np.bincount(column[column >= 0], minlength=1)
        symbols.append(counts.argmax())
    most_frequent_symbols = np.array(symbols)
    is_right = answer_mask & (test == most_frequent_symbols[None])

    targets = [tuple(row) for row in train.tolist()]
    # The smallest of equally frequent targets, so that the result does not depend on their order.
    most_frequent_target = np.array(min(statistics.multimode(targets)))
    is_equal = (test == most_frequent_target[None]).all(axis=1)
    return {
        "token_accuracy": float(is_right.sum() / answer_mask.sum()),
        "exact_match": float(is_equal.mean()),
    }
