"""Every task in the folder with arguments, and its examples.

The arguments of a task are those that its own test lists as VARIANTS, or else the defaults.
"""

import dataclasses
import functools
from pathlib import Path

import jax
import numpy as np
import pytest

from pe_lab.runs.plugins import plugins
from tests import members
from tests.tasks.drawing import BATCH, oracle_of, sample

NAMES = plugins.names("tasks")
ROOT = Path(__file__).parents[2]
SPAN = 8  # lengths that the laws use, from a task's shortest


def file_of(name):
    return ROOT / f"{members.test_module('tasks', name).replace('.', '/')}.py"


own_tests = functools.partial(members.own_tests, "tasks")


def always(name):
    """Arguments that have no default, such as a folder of text."""
    spec = members.spec("tasks", name)
    return {key: value for key, value in spec.items() if key != "name"}


def cases(quick=NAMES, others=pytest.mark.full):
    """Names and arguments for `parametrize`; every suite runs the first variant of `quick`."""
    listed = [
        (name, i, given)
        for name in NAMES
        for i, given in enumerate(getattr(own_tests(name), "VARIANTS", [{}]))
    ]
    return [
        pytest.param(
            name,
            (*always(name).items(), *given.items()),
            id=f"{name}{given or ''}",
            marks=[others] if i or name not in quick else [],
        )
        for name, i, given in listed
    ]


every = pytest.mark.parametrize(("name", "arguments"), cases())
# For the law that compares lengths and targets: CI runs it on all variants, in the slow tests.
every_variant = pytest.mark.parametrize(("name", "arguments"), cases(others=pytest.mark.slow))

# For laws that compile a large program for each task: a sum, a copy, and a task with a structure.
few = pytest.mark.parametrize(
    ("name", "arguments"), cases(quick=("addition", "copy", "stack_manipulation"))
)


@functools.cache
def task(name, arguments=()):
    return plugins.build("tasks", plugins.resolve("tasks", {"name": name, **dict(arguments)}))


def lengths_of(one):
    """All lengths that the laws use."""
    longest = (
        one.min_length + SPAN
        if one.max_length is None
        else min(one.max_length, one.min_length + SPAN)
    )
    return list(range(one.min_length, longest + 1))


@functools.cache
def drawn(name, arguments, more=0):
    """Examples of every length, in the shapes of the longest or of a longer one."""
    one = task(name, arguments)
    lengths = np.resize(lengths_of(one), BATCH)
    keys = jax.random.split(jax.random.key(0), BATCH)
    return lengths, sample(one, keys, lengths, int(lengths.max()) + more)


def exact(one, operands):
    """The task with the arguments of an evaluation whose lengths are exact."""
    return dataclasses.replace(one, **one.exact_arguments(operands))


def rows(examples):
    """One example after the other."""
    for i in range(len(examples.prompt)):
        yield jax.tree.map(lambda leaf, i=i: leaf[i], examples)


def parts(example):
    """Prompt, target, and what is given of the target (-1 where it is asked), without padding."""
    target = example.target[example.target_mask]
    given = np.where(example.asked, -1, example.target)[example.target_mask]
    return example.prompt[example.prompt_mask], target, given


def answer(one, prompt, given):
    oracle = oracle_of(one)
    return oracle(one, prompt, given) if one.gives_tokens else oracle(one, prompt)
