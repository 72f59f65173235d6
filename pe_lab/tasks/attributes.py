"""Attributes that several tasks share."""

import jax
import jax.numpy as jnp

from pe_lab.tasks.base import Attribute, Bools, Example, Scalar, Task


def num_repeated(task: Task, example: Example) -> Scalar:
    """Return the number of prompt tokens whose symbol occurs earlier in the prompt."""
    no_symbol = task.vocabulary.num_symbols
    # Padding has the symbol 0, so it is counted apart.
    symbols = jnp.where(example.prompt_mask, example.prompt, no_symbol)
    occurs = jnp.zeros(no_symbol + 1, bool)
    occurs = occurs.at[symbols].set(True)
    num_distinct = occurs[:no_symbol].sum()
    num_tokens = jnp.asarray(example.prompt_mask).sum()
    return num_tokens - num_distinct


def longest_repeat(task: Task, example: Example) -> Scalar:
    """Return the length of the longest string that occurs at two places of the prompt.

    The two occurrences may overlap. The length is 0 if all symbols are distinct.
    """
    prompt, mask = jnp.asarray(example.prompt), jnp.asarray(example.prompt_mask)
    bound = prompt.shape[-1]

    def longest_at(distance: Scalar) -> Scalar:
        """Return the length of the longest repeat whose two places have this distance."""
        # `roll` wraps around, so pairs that reach beyond the end are left out.
        is_inside = mask & jnp.roll(mask, -distance) & (jnp.arange(bound) + distance < bound)
        return longest_run(is_inside & (prompt == jnp.roll(prompt, -distance)))

    distances = jnp.arange(1, bound)
    return jax.vmap(longest_at)(distances).max(initial=0)  # a bound of 1 has no distances


def longest_distance(task: Task, example: Example) -> Scalar:
    """Return the largest number of tokens from a prompt token to its copy in the answer."""
    prompt_length = jnp.asarray(example.prompt_mask).sum()
    index = jnp.arange(example.target.shape[-1])
    index_in_example = prompt_length + index
    is_copy = example.answer_mask & (example.alignment >= 0)
    distance = index_in_example - example.alignment
    distance = jnp.where(is_copy, distance, 0)
    return distance.max()


def longest_run(is_member: Bools) -> Scalar:
    """Return the length of the longest run of True."""
    index = jnp.arange(1, len(is_member) + 1)
    gaps = jnp.where(is_member, 0, index)
    last_gap = jnp.maximum.accumulate(gaps)
    run_length = index - last_gap  # of the run up to each index
    return run_length.max()


def _num_ones(task: Task, example: Example) -> Scalar:
    is_one = jnp.asarray(example.prompt) == 1
    return is_one.sum()


def _prompt_bound(task: Task, length: int) -> int:
    return task.prompt_bound(length)


def _num_tokens(task: Task, length: int) -> int:
    return task.prompt_bound(length) + task.target_bound(length)


NUM_ONES = Attribute(
    label="number of ones",
    value=_num_ones,
    largest=_prompt_bound,
)
NUM_REPEATED = Attribute(
    label="repeated symbols in the prompt",
    value=num_repeated,
    largest=_prompt_bound,
)
LONGEST_REPEAT = Attribute(
    label="length of the longest repeated string in the prompt",
    value=longest_repeat,
    largest=_prompt_bound,
)
LONGEST_DISTANCE = Attribute(
    label="largest distance from an answer to its source, in tokens",
    value=longest_distance,
    largest=_num_tokens,
)
