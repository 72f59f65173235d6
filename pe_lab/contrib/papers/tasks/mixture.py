"""Draw each example from one of several tasks, the components.

    task0 3 1 2 -> 3 1 2
    task1 1 1 0 -> 0 1 1

These are examples of a mixture of `copy` and `reverse`. The first token of a prompt names the
component, unless `task_token` is False. Symbols that have the same name in several components are
one symbol. A length is in the unit of the component that an example comes from, and it is an upper
bound where it is one for that component.

No paper: it asks whether one model learns several tasks with one encoding.
"""

import dataclasses
import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from pe_lab.tasks.base import (
    COMPONENT,
    AnyArray,
    Example,
    RandomKey,
    Scalar,
    Structure,
    Task,
    Vocabulary,
    make_example,
    numerals,
)

_COMPONENTS = 0x434F4D50  # folded into a key to draw the component


@dataclass(frozen=True)
class Mixture(Task):
    """Each example is one of a random component, with that component's target.

    Evaluation draws from the mixture as a whole. Weights of 1 and 0 evaluate one component alone.

    Args:
      tasks: the components, names or dict(name=..., ...). They draw from keys alone, not from data.
      weights: how often each component is drawn, relative to the others; None: equally often.
      task_token: the prompt starts with a token that names the component: task0, task1, ...
    """

    tasks: tuple[Task, ...]
    weights: tuple[float, ...] | None = None
    task_token: bool = True

    length_name = "units"

    def __post_init__(self):
        if not self.tasks:
            raise ValueError("mixture's tasks must hold a task.")
        for task in self.tasks:
            name = type(task).__name__
            if isinstance(task, Mixture):
                raise ValueError("mixture's tasks cannot be mixtures: list all tasks in one.")
            if type(task).data is not Task.data:
                raise ValueError(f"mixture's tasks draw from keys alone, and {name} reads data.")
        weights = self.relative_weights
        if len(weights) != len(self.tasks):
            raise ValueError(
                f"mixture needs one weight for each of its {len(self.tasks)} tasks, "
                f"got {len(weights)}."
            )
        if min(weights) < 0 or max(weights) == 0:
            raise ValueError(
                f"mixture's weights must be at least 0, and one more than 0, got {weights}."
            )

    # Components

    @property
    def relative_weights(self) -> tuple[float, ...]:
        if self.weights is None:
            return (1.0,) * len(self.tasks)
        return self.weights

    @property
    def components(self) -> tuple[Task, ...]:
        """The mixtures that draw one component alone."""
        mixtures = []
        for row in np.eye(len(self.tasks)).tolist():
            mixtures.append(dataclasses.replace(self, weights=tuple(row)))
        return tuple(mixtures)

    @property
    def _drawn_tasks(self) -> tuple[Task, ...]:
        """The components with a weight above 0."""
        pairs = zip(self.tasks, self.relative_weights, strict=True)
        return tuple(task for task, weight in pairs if weight)

    def _draw_component(self, key: RandomKey) -> Scalar:
        weights = jnp.asarray(self.relative_weights, jnp.float32)
        component_key = jax.random.fold_in(key, _COMPONENTS)
        return jax.random.categorical(component_key, jnp.log(weights))

    def redraw_key(self, key: RandomKey) -> RandomKey:
        """The next key that draws the same component, so that redraws keep the weights."""
        component = self._draw_component(key)
        return jax.lax.while_loop(
            lambda new_key: self._draw_component(new_key) != component,
            super().redraw_key,
            super().redraw_key(key),
        )

    # Symbols

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        """The symbols of all components, then the task tokens."""
        names: list[str] = []
        for task in self.tasks:
            names += _names(task.vocabulary)
            names += _names(task.target_vocabulary)
        if self.task_token:
            names += [f"task{index}" for index in range(len(self.tasks))]
        each_once = dict.fromkeys(names)  # in this order
        return Vocabulary.of(*each_once)

    @property
    def _first_task_token(self) -> int:
        return self.vocabulary.num_symbols - len(self.tasks)

    def _symbols_of(self, vocabulary: Vocabulary) -> Int[np.ndarray, "s"]:
        """The mixture's symbol for each symbol of a component."""
        symbol_of = {name: symbol for symbol, name in enumerate(self.vocabulary.names)}
        symbols = [symbol_of[name] for name in _names(vocabulary)]
        return np.array(symbols, np.int32)

    # Lengths

    @property
    def min_length(self) -> int:
        return max(task.min_length for task in self._drawn_tasks)

    @property
    def max_length(self) -> int | None:
        limits = [task.max_length for task in self._drawn_tasks]
        return min((limit for limit in limits if limit is not None), default=None)

    def prompt_bound(self, length: int) -> int:
        longest = max(task.prompt_bound(length) for task in self._drawn_tasks)
        return longest + self.task_token

    def target_bound(self, length: int) -> int:
        return max(task.target_bound(length) for task in self._drawn_tasks)

    def evaluation_lengths(self, length: int) -> range:
        ranges = [task.evaluation_lengths(length) for task in self._drawn_tasks]
        start = min(lengths.start for lengths in ranges)
        stop = max(lengths.stop for lengths in ranges)
        return range(start, stop)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        """Return the length in the unit of the component.

        Without a task token it is the first component that has all symbols of the prompt.
        """
        if self.task_token:
            task = self.tasks[prompt[0] - self._first_task_token]
            prompt = prompt[1:]
        else:
            task = next(task for task in self.tasks if self._has_all(task, prompt))
        prompt_symbols = self._symbols_of(task.vocabulary).tolist()
        target_symbols = self._symbols_of(task.target_vocabulary).tolist()
        prompt_of_task = [prompt_symbols.index(symbol) for symbol in prompt]
        target_of_task = [target_symbols.index(symbol) for symbol in target]
        return task.measure_length(np.array(prompt_of_task, int), np.array(target_of_task, int))

    def _has_all(self, task: Task, prompt: np.ndarray) -> bool:
        """Whether a component has all symbols of a prompt."""
        return set(prompt) <= set(self._symbols_of(task.vocabulary))

    # Traits

    @property
    def has_scratchpad(self) -> bool:
        return any(task.has_scratchpad for task in self._drawn_tasks)

    @property
    def gives_tokens(self) -> bool:
        return any(task.gives_tokens for task in self._drawn_tasks)

    def reveals(self, structure, causal):
        """Return what a component reveals; the answer is more than its length."""
        tasks = self._drawn_tasks
        revealed = {task.reveals(structure, causal) for task in tasks}
        # The numbers of a whole target show which component it is of.
        shows_component = structure == "coupled" and not causal and len(tasks) > 1
        if shows_component or "answer" in revealed:
            return "answer"
        return "length" if "length" in revealed else None

    # Examples

    def sample(self, key, length, bound, data=None) -> Example:
        component = self._draw_component(key)
        # Under vmap a branch computes all of its sides, so all components are drawn.
        indices = [index for index, weight in enumerate(self.relative_weights) if weight]
        examples = []
        for index in indices:
            example = self.tasks[index].sample(key, length, bound)
            examples.append(self._prepared(index, example, bound))
        choice = jnp.searchsorted(jnp.asarray(indices), component)

        def choose(*leaves):
            return jnp.stack(leaves)[choice]

        return jax.tree.map(choose, *examples)

    @functools.cached_property
    def _structure_types(self) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
        """Shape of a label, and its dtype, for each structure of the components.

        Components with the weight 0 count, so that all weights draw examples of one form.
        """
        types = {}
        for task in self.tasks:
            length = task.min_length
            sample = functools.partial(task.sample, bound=length)
            example = jax.eval_shape(sample, jax.random.key(0), jnp.int32(length))
            for name, (labels, _) in example.structure.items():
                types[name] = (labels.shape[1:], labels.dtype)
        return types

    def _completed_structure(self, example: Example) -> Structure:
        """The structure of an example, completed with the names of the other components.

        "symbols" and "coupled" are completed as layouts do, all others with 0.
        """
        prompt_size, target_size = len(example.prompt), len(example.target)
        structure: dict[str, tuple[AnyArray, AnyArray]] = {}
        for name, (tail, dtype) in self._structure_types.items():
            prompt_labels = jnp.zeros((prompt_size, *tail), dtype)
            target_labels = jnp.zeros((target_size, *tail), dtype)
            structure[name] = (prompt_labels, target_labels)
        structure["symbols"] = (example.prompt_mask, example.target_mask)
        numbers = jnp.arange(1, prompt_size + 1)
        prompt_numbers = jnp.where(example.prompt_mask, numbers, 0)
        structure["coupled"] = (prompt_numbers, example.alignment + 1)
        return structure | dict(example.structure)

    def _prepared(self, index: int, example: Example, bound: int) -> Example:
        """A component's example in the symbols and shapes of the mixture."""
        task = self.tasks[index]
        prompt_size = self.prompt_bound(bound) - self.task_token
        target_size = self.target_bound(bound)
        prompt_symbols = jnp.asarray(self._symbols_of(task.vocabulary))
        target_symbols = jnp.asarray(self._symbols_of(task.target_vocabulary))
        prompt = _padded(prompt_symbols[example.prompt], prompt_size)
        target = _padded(target_symbols[example.target], target_size)
        prompt_mask = _padded(example.prompt_mask, prompt_size)
        alignment = _padded(example.alignment, target_size, -1)
        structure = {COMPONENT: (jnp.full(prompt_size, index), jnp.full(target_size, index))}
        for name, (prompt_labels, target_labels) in self._completed_structure(example).items():
            prompt_labels = _padded(prompt_labels, prompt_size)
            target_labels = _padded(target_labels, target_size)
            structure[name] = (prompt_labels, target_labels)
        if self.task_token:
            prompt = _with_token(prompt, self._first_task_token + index)
            prompt_mask = _with_token(prompt_mask, 1)
            for name, (prompt_labels, target_labels) in structure.items():
                label = -1 if name == COMPONENT else 0
                structure[name] = (_with_token(prompt_labels, label), target_labels)
            alignment = jnp.where(alignment >= 0, alignment + 1, -1)
        asked_mask = _padded(example.asked, target_size) if self.gives_tokens else None
        return make_example(
            prompt,
            prompt_mask,
            target,
            _padded(example.target_mask, target_size),
            answer_mask=_padded(example.answer_mask, target_size),
            alignment=alignment,
            asked_mask=asked_mask,
            structure=structure,
        )


def _names(vocabulary: Vocabulary) -> tuple[str, ...]:
    return vocabulary.names or numerals(vocabulary.num_symbols)


def _padded(values: Shaped[AnyArray, "n *a"], size: int, fill: int = 0) -> Shaped[Array, "m *a"]:
    """Values with a fill value behind them, up to a size."""
    widths = [(0, 0)] * values.ndim
    widths[0] = (0, size - len(values))
    return jnp.pad(jnp.asarray(values), widths, constant_values=fill)


def _with_token(values: Shaped[Array, "p *a"], of_token: int) -> Shaped[Array, "q *a"]:
    """The values of a prompt after the value of its task token."""
    first = jnp.full_like(values[:1], of_token)
    return jnp.concatenate([first, values])
