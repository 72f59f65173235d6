"""Training and evaluation draw different inputs.

A fixed hash of its input sends each example to training or to evaluation. Training redraws the
examples of evaluation, and evaluation redraws the examples of training: no input is in both. Tasks
that draw from `data(split)` are left alone: their splits are disjoint already.

A few short inputs must stay in training: if one of two bits were left out, nothing could be
learned. Inputs are therefore held out only from the shortest length that has enough of them. `rule`
counts repeated draws to find it, so a task needs no formula for its number of inputs.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, PyTree, UInt32

from pe_lab.tasks.base import COMPONENT, AnyArray, Example, Task

# Fewer inputs of a length are not held out: an eighth of them is twice 512 evaluated examples.
NUM_INPUTS = 16 * 512
_SHARE = 8  # one input of this many is held out; a new value changes the data of runs
_HASH_LIMIT = 2**32 // _SHARE  # hashes below it are held out
_TRIES = 256  # (7/8)^256 is 1e-15, the chance that none of so many draws is held out
_DRAWS = 1024  # draws that estimate the number of inputs of a length
_LENGTHS = 64  # number of lengths that `rule` tries


@dataclasses.dataclass(frozen=True)
class Rule:
    """The inputs of a task that are held out for evaluation.

    Attributes:
      min_length: evaluation draws held-out inputs from this length on; None if it never does.
      min_tokens: shorter inputs are never held out, whatever length they are drawn for.
    """

    min_length: int | None
    min_tokens: int = 0

    def holds_out(self, example: Example) -> Bool[Array, ""]:
        """Whether training must not draw an example.

        Strings of one symbol stay in training, because tasks that draw the number of ones
        uniformly draw them so often that they would dominate an evaluation.
        """
        if self.min_length is None:
            return jnp.zeros((), bool)
        is_chosen = fingerprint(example) < _HASH_LIMIT
        is_long = num_tokens(example) >= self.min_tokens  # long lengths may draw short inputs
        return is_chosen & is_long & ~_one_symbol(example)


def _inputs(example: Example) -> tuple[tuple[AnyArray, AnyArray], ...]:
    """Symbols and mask of an example's input: the prompt, and the target tokens that are read."""
    is_read = example.target_mask & ~example.asked
    return (example.prompt, example.prompt_mask), (example.target, is_read)


def num_tokens(example: Example) -> Int[Array, ""]:
    """Number of tokens of an example's input."""
    total = jnp.zeros((), jnp.int32)
    for _, mask in _inputs(example):
        total += mask.sum()
    return total


def _one_symbol(example: Example) -> Bool[Array, ""]:
    """Whether an input has no two different symbols."""
    (prompt, prompt_mask), (target, target_mask) = _inputs(example)
    symbols = jnp.concatenate([prompt, target])
    mask = jnp.concatenate([prompt_mask, target_mask])
    if COMPONENT in example.structure:
        labels = jnp.concatenate(example.structure[COMPONENT])
        is_task_token = labels < 0  # else each prompt with one would have two symbols
        mask &= ~is_task_token
    limits = jnp.iinfo(symbols.dtype)
    or_largest = jnp.where(mask, symbols, limits.max)
    least = or_largest.min(initial=limits.max)
    or_smallest = jnp.where(mask, symbols, limits.min)
    most = or_smallest.max(initial=limits.min)
    return least >= most  # True for an empty input too


def fingerprint(example: Example) -> UInt32[Array, ""]:
    """A hash of an example's input that does not depend on its padding."""
    # uint32 overflows in the same way on every device, so CPU and GPU hold out the same inputs.
    total = jnp.zeros((), jnp.uint32)
    for salt, (symbols, mask) in enumerate(_inputs(example), 1):
        index = jnp.arange(len(symbols), dtype=jnp.uint32)
        token = symbols.astype(jnp.uint32) * jnp.uint32(0x9E3779B1)
        token += index * jnp.uint32(0x85EBCA77)
        # The salt makes a prompt differ from a target of the same symbols.
        token += jnp.uint32(salt * 0xC2B2AE3D % 2**32)
        hashes = jnp.where(mask, _mixed(token), 0)  # a sum of `token` would ignore the order
        total += hashes.sum(dtype=jnp.uint32)
    return _mixed(total)


def _mixed(x: UInt32[Array, "*n"]) -> UInt32[Array, "*n"]:
    """Every bit of x changes about half of the bits (Chris Wellons' lowbias32)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


_Redraws = tuple[Array, Array, Example, Array]  # rounds, keys, examples, True where one is wrong


def draw(
    task: Task,
    rule: Rule,
    keys: Key[Array, "b"],
    lengths: Int[Array, "b"],
    bound: int,
    data: PyTree = None,
    *,
    held_out: bool,
) -> Example:
    """Draw one example a key, in the shapes of length `bound`.

    Args:
      held_out: for evaluation, with held-out inputs where a length has enough; else for training.
    """
    # In training one row of `_SHARE` is wrong. In evaluation most are, which takes more rounds.
    num_rows = math.ceil(len(keys) / _SHARE)
    max_rounds = _TRIES * math.ceil(len(keys) / num_rows)  # `_TRIES` a row, if all are wrong

    def sample(keys: Array, lengths: Array) -> Example:
        return jax.vmap(lambda key, n: task.sample(key, n, bound, data))(keys, lengths)

    def is_wrong(examples: Example, lengths: Array) -> Array:
        is_held_out = jax.vmap(rule.holds_out)(examples)
        if not held_out:
            return is_held_out
        assert rule.min_length is not None  # otherwise nothing is redrawn
        return ~is_held_out & (lengths >= rule.min_length)  # shorter lengths hold out too few

    def redraw(state: _Redraws) -> _Redraws:
        """Redraw a few rows at a time, because only one row of `_SHARE` is wrong in training."""
        num_rounds, keys, examples, wrong = state
        # Wrong rows come first; the shape is static, so right rows may fill it and stay unchanged.
        rows = jnp.argsort(~wrong, stable=True)[:num_rows]
        # A new key depends on the old one alone, so examples do not depend on their batch.
        new_keys = jax.vmap(task.redraw_key)(keys[rows])
        new = sample(new_keys, lengths[rows])
        replaced = functools.partial(_with_rows, rows=rows, is_new=wrong[rows])
        still_wrong = wrong[rows] & is_wrong(new, lengths[rows])
        return (
            num_rounds + 1,
            keys.at[rows].set(new_keys),  # the key of a row that is right is not used again
            jax.tree.map(replaced, examples, new),
            wrong.at[rows].set(still_wrong),
        )

    def has_wrong(state: _Redraws) -> Array:
        num_rounds, _, _, wrong = state
        # A task without enough inputs must not hang; its remaining inputs count as overlap.
        return wrong.any() & (num_rounds < max_rounds)

    examples = sample(keys, lengths)
    if rule.min_length is None:
        return examples
    wrong = is_wrong(examples, lengths)
    start = (jnp.zeros((), jnp.int32), keys, examples, wrong)
    _, _, examples, _ = jax.lax.while_loop(has_wrong, redraw, start)
    return examples


def _with_rows(old: Array, new: Array, rows: Array, is_new: Array) -> Array:
    is_replaced = is_new.reshape(-1, *(1,) * (new.ndim - 1))  # as many axes as the rows have
    return old.at[rows].set(jnp.where(is_replaced, new, old[rows]))


@dataclasses.dataclass(frozen=True)
class Trained:
    """The inputs that a training can draw, by their sizes.

    Attributes:
      rule: the inputs that training leaves out.
      everywhere: sizes are unknown, because the parent of the run may have trained on any.
      min_length: from this length on, an input is never too short.
      min_tokens: fewest tokens of an input of this length.
      sizes: the largest sizes of prompt and target, of each component of the task.
    """

    rule: Rule
    everywhere: bool
    min_length: int
    min_tokens: int
    sizes: tuple[tuple[int, int], ...]

    def can_draw(self, example: Example, length: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether training can draw the input of an evaluation example."""
        max_prompt, max_target = self._sizes_of(example)
        prompt_fits = example.prompt_mask.sum() <= max_prompt
        target_fits = example.target_mask.sum() <= max_target
        fits = prompt_fits & target_fits
        # A length can be an upper bound, so one below the trained lengths may share their inputs.
        is_long = (length >= self.min_length) | (num_tokens(example) >= self.min_tokens)
        has_trained_size = (fits & is_long) | self.everywhere
        return has_trained_size & ~self.rule.holds_out(example)

    def _sizes_of(self, example: Example) -> tuple[int | Int[Array, ""], int | Int[Array, ""]]:
        """The largest sizes of prompt and target of an example's component."""
        if COMPONENT not in example.structure:
            return self.sizes[0]
        _, labels = example.structure[COMPONENT]  # of the target: a task token in a prompt has -1
        max_prompt, max_target = jnp.asarray(self.sizes)[labels[0]]
        return max_prompt, max_target


@functools.cache
def trained(task: Task, rule: Rule, min_length: int, max_length: int) -> Trained:
    """The inputs of a training on these lengths."""
    min_tokens = 0
    if min_length > task.min_length:  # else no input is too short
        inputs = _draw_inputs(task, min_length, min_length)
        min_tokens = int(inputs.num_tokens.min())
    sizes = [(c.prompt_bound(max_length), c.target_bound(max_length)) for c in task.components]
    return Trained(rule, False, min_length, min_tokens, tuple(sizes))


@functools.cache
def rule(task: Task) -> Rule:
    """The rule of a task, from the repetitions of its inputs in a fixed set of draws.

    Never call it while a program is traced.
    """
    if has_data(task):
        return Rule(None)
    # All components, so that the rule does not depend on a mixture's weights.
    shortest = max(component.min_length for component in task.components)
    limits = [c.max_length for c in task.components if c.max_length is not None]
    longest = min([shortest + _LENGTHS - 1, *limits])
    bound = 0
    most_tokens = -1  # of the inputs of all shorter lengths, so it is updated last
    min_tokens = None
    for length in range(shortest, longest + 1):
        if length > bound:
            # Each bound is a program to compile. Most tasks need the first few lengths only.
            is_first = bound == 0
            bound = length + _LENGTHS // 4 - 1 if is_first else longest
            bound = min(bound, longest)
        inputs = [_draw_inputs(component, length, bound) for component in task.components]
        if min_tokens is None and all(component.are_many for component in inputs):
            min_tokens = most_tokens + 1  # more than any input of a shorter length
        if min_tokens is not None and all(component.reach(min_tokens) for component in inputs):
            return Rule(length, min_tokens)  # each shorter length has too few of these inputs
        most_tokens = max(most_tokens, *(int(component.num_tokens.max()) for component in inputs))
    return Rule(None)


def has_data(task: Task) -> bool:
    """Whether a task draws from data, whose splits are disjoint."""
    return bool(jax.tree.leaves(task.data("train")))


@dataclasses.dataclass(frozen=True)
class _Inputs:
    """The inputs of many draws of one length; `one_symbol`: all symbols of an input are equal."""

    fingerprints: UInt32[np.ndarray, "n"]
    num_tokens: Int[np.ndarray, "n"]
    one_symbol: Bool[np.ndarray, "n"]

    @property
    def are_many(self) -> bool:
        """Whether draws repeat no more often than draws from `NUM_INPUTS` equally likely inputs."""
        others = self.fingerprints[~self.one_symbol]  # strings of one symbol are never held out
        # As with birthdays, n draws from N equally likely inputs have n^2 / 2N equal pairs.
        _, counts = np.unique(others, return_counts=True)
        equal_pairs = counts * (counts - 1) // 2
        expected_pairs = _DRAWS**2 / 2 / NUM_INPUTS
        # Training draws strings of one symbol and evaluation does not, so they must be rare.
        return bool(equal_pairs.sum() <= expected_pairs and self.one_symbol.mean() < 0.1)

    def reach(self, min_tokens: int) -> bool:
        """Whether enough inputs have this many tokens."""
        is_long = self.num_tokens >= min_tokens
        return bool(is_long.mean() >= 0.25)  # then one draw in 4 * _SHARE, or more, is held out


def _draw_inputs(task: Task, length: int, bound: int) -> _Inputs:
    fingerprints, num_tokens, one_symbol = _inputs_of(task, bound, np.int32(length))
    return _Inputs(np.asarray(fingerprints), np.asarray(num_tokens), np.asarray(one_symbol))


@functools.partial(jax.jit, static_argnums=(0, 1))  # all lengths of a bound share one program
def _inputs_of(task: Task, bound: int, length: Array) -> tuple[Array, Array, Array]:
    keys = jax.random.split(jax.random.key(length), _DRAWS)  # fixed, so the rule is always the same

    def one(key: Array) -> tuple[Array, Array, Array]:
        example = task.sample(key, length, bound)
        return fingerprint(example), num_tokens(example), _one_symbol(example)

    return jax.vmap(one)(keys)
