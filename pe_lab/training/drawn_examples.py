"""Checks of a few examples that a user's task draws; the tasks of pe_lab have tests instead.

A symbol outside of its vocabulary would be a special token, or NaN, and training would not stop.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.tasks.base import COMPONENT, Example, Task
from pe_lab.training.setup import Setup

_EXAMPLES = 16  # of each length
_SPECIAL_TOKENS = 3  # of a layout: coupled numbers and grids may count them


def check(setup: Setup) -> None:
    """Check examples of the shortest and the longest training length and of the longest test.

    Raises:
      UserError: a symbol, a number of a structure or an attribute is out of its range.
    """
    train = setup.run.train
    longest = max(train.max_length, *setup.run.evaluate.all_lengths)
    for plugin in {setup.run.task, setup.run.evaluated_task}:
        if ":" in repr(plugin):  # it has, or is, a user's class
            lengths = (train.min_length, train.max_length, longest)
            error = _error(plugin, lengths, setup.run.evaluate.attributes)
            if error is not None:
                raise UserError(f"{plugin.name} {error}.")


@functools.cache  # many runs have one task
def _error(plugin: Plugin, lengths: tuple[int, ...], names: tuple[str, ...]) -> str | None:
    """The part of the sentence after the task's name; None if the examples are right.

    Args:
      names: of the attributes that evaluation reads.
    """
    task = plugins.build("tasks", plugin)
    largest = task.max_length
    possible = [n for n in lengths if n >= task.min_length and (largest is None or n <= largest)]
    if not possible:
        return None
    example_lengths = jnp.repeat(jnp.asarray(possible), _EXAMPLES)
    # Fixed keys: a task is accepted, or refused, in every run.
    keys = jax.random.split(jax.random.key(0), len(example_lengths))

    def sample(key, length, data):
        example = task.sample(key, length, bound=max(possible), data=data)
        return example, [task.attributes[name].value(task, example) for name in names]

    program = jax.jit(jax.vmap(sample, in_axes=(0, 0, None)))
    for split in ("train", "validation", "test"):
        try:
            data = task.data(split)
            if data is None and split != "train":
                continue  # the keys alone decide, and all splits draw the same
            examples = program(keys, example_lengths, data)
        except UserError:
            raise
        except Exception:  # the training of these runs will report it, and other runs go on
            continue
        for i, length in enumerate(example_lengths.tolist()):
            example, values = jax.tree.map(lambda leaf, row=i: np.asarray(leaf[row]), examples)
            error = _error_of(task, example)
            for name, value in zip(names, values, strict=True):
                most = task.attributes[name].largest(task, length)
                if error is None and _outside(value, 0, most) is not None:
                    error = f"gives the attribute {name} the value {value}, not 0..{most}"
            if error is not None:
                place = "" if data is None else f" of the {split} split"
                return f"{error}, in an example of length {length}{place}"
    return None


def _error_of(task: Task, example: Example) -> str | None:
    sides = {
        "prompt": (example.prompt[example.prompt_mask], task.vocabulary),
        "target": (example.target[example.target_mask], task.target_vocabulary),
    }
    for side, (symbols, vocabulary) in sides.items():
        last = vocabulary.num_symbols - 1
        error = _outside(symbols, 0, last)
        if error is not None:
            return f"gives the symbol {error} in its {side}, and its symbols are 0..{last}"
    num_prompt, num_target = len(sides["prompt"][0]), len(sides["target"][0])
    error = _outside(example.alignment[example.target_mask], -1, num_prompt - 1)
    if error is not None:
        return f"gives the alignment {error}, and its prompt has the tokens 0..{num_prompt - 1}"
    ranges = {
        "coupled": (0, num_prompt + num_target + _SPECIAL_TOKENS),
        "grid": (0, num_prompt + num_target + _SPECIAL_TOKENS),
        COMPONENT: (-1, len(task.components) - 1),
    }
    for name, (of_prompt, of_target) in example.structure.items():
        if name not in ranges:
            continue
        least, most = ranges[name]
        for numbers in (of_prompt[example.prompt_mask], of_target[example.target_mask]):
            error = _outside(numbers, least, most)
            if error is not None:
                return f"gives the number {error} in structure[{name!r}], not {least}..{most}"
    return None


def _outside(values: ArrayLike, least: int, most: int) -> int | None:
    """The first number that is not within least..most."""
    numbers = np.asarray(values)
    outside = numbers[(numbers < least) | (numbers > most)]
    return int(outside.flat[0]) if outside.size else None
