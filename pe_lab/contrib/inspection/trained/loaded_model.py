"""A trained model and its test examples: scores, answers and observations of its activations."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from pe_lab.contrib.inspection.trained import knock_outs
from pe_lab.contrib.inspection.trained.examples import BatchSize, Scalar, draw
from pe_lab.contrib.inspection.trained.observations import Observations, join, observe_batch
from pe_lab.model.decode import generate
from pe_lab.model.streams import answering_stack
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import RunGroup
from pe_lab.tasks.base import Vocabulary
from pe_lab.training import checks
from pe_lab.training.setup import Setup
from pe_lab.training.state import initial_state, members_of, of_member
from pe_lab.training.trained_runs import TrainedRun

EXAMPLES = 128  # of each length, at most as many as the run's evaluation has
_BATCH_SIZE = 32
_MAX_WEIGHTS = 2**26  # attention weights of a layer in one batch


@dataclasses.dataclass(frozen=True)
class Score:
    """Means over examples, with the right answer as input (teacher forcing)."""

    exact_match: float
    token_accuracy: float


@dataclasses.dataclass(frozen=True)
class Answer:
    """A greedy answer, up to its end token and the right answer's length, and the right answer."""

    tokens: list[int]
    right: list[int]


class LoadedModel:
    """Runs the model of a finished run on test examples; each program is compiled once.

    Args:
      lengths: all lengths of examples that will be used.

    Raises:
      UserError: the run has no examples or positions for a length, or no attention.
    """

    def __init__(
        self, trained: TrainedRun, lengths: Sequence[int], num_examples: int = EXAMPLES
    ) -> None:
        setup = trained.setup
        mixer = setup.run.model.mixer
        if mixer != "attention":
            raise UserError(
                f"The run {setup.run.run_id} has no attention to inspect: config.model.mixer is "
                f"{mixer!r}."
            )
        for length in lengths:
            reason = out_of_reach(setup, length)
            if reason:
                raise UserError(f"{reason}: the run {setup.run.run_id} cannot be inspected there.")
        self.setup = setup
        self.params = trained.params
        self.num_examples = min(num_examples, setup.run.evaluate.num_examples)
        bound = max(lengths)
        tokens = max(setup.num_tokens(bound).values())
        # Attention weights are recorded, so their memory grows with the square of the length.
        weights_of_example = setup.run.model.num_heads * tokens**2
        num_fitting = max(1, _MAX_WEIGHTS // weights_of_example)
        power_of_two = 1 << num_fitting.bit_length() - 1
        self.sizes = BatchSize(bound, min(power_of_two, _BATCH_SIZE))
        self.data = setup.data("test")
        self._observe = jax.jit(functools.partial(observe_batch, setup, self.sizes))
        self._score = jax.jit(functools.partial(_score, setup, self.sizes))
        self._answers = jax.jit(functools.partial(_answers, setup, self.sizes))

    def initial(self) -> PyTree | None:
        """The parameters before training; None if they are another run's."""
        if self.setup.run.init_from is not None:
            return None
        group = RunGroup((self.setup.run,))
        members = jax.tree.map(jnp.asarray, members_of(group, [0]))
        # Compiled as in training, because rounding differs outside of a compiled program.
        initialize = jax.jit(functools.partial(initial_state, self.setup))
        return of_member(initialize(members).params, 0)

    def observe(self, length: int, params: PyTree | None = None) -> Observations:
        """Activations of all examples of a length, by default with the final parameters."""
        count = np.int32(self.num_examples)
        batches = self.batches(length, params)
        parts = [self._observe(*arguments, count) for arguments in batches]
        return join(parts, self.num_examples)

    def score(self, length: int, off: knock_outs.SwitchedOff) -> Score:
        """Exact match and token accuracy with some encodings switched off."""
        batches = [self._score(*arguments, off) for arguments in self.batches(length)]
        exact, tokens = self._joined(batches)
        return Score(float(exact.mean()), float(tokens.mean()))

    def answers(self, length: int) -> list[Answer]:
        """The model's greedy answer to each example, and the right answer."""
        batches = [self._answers(*arguments) for arguments in self.batches(length)]
        answers = []
        for tokens, end, right, count in zip(*self._joined(batches), strict=True):
            answer = tokens[: min(end, count)].tolist()
            answers.append(Answer(answer, right[:count].tolist()))
        return answers

    def _joined(self, batches: Sequence[tuple[Array, ...]]) -> list[np.ndarray]:
        """The arrays of all batches, without the examples that fill the last batch."""
        arrays = map(np.concatenate, zip(*batches, strict=True))
        return [array[: self.num_examples] for array in arrays]

    @property
    def end_token(self) -> int | None:
        if not self.setup.layout.end_token:
            return None
        return answer_vocabulary(self.setup).end

    @property
    def one_pass(self) -> bool:
        """Whether an answer is read in one pass, with the right tokens as input."""
        return _one_pass(self.setup)

    def batches(
        self, length: int, params: PyTree | None = None
    ) -> Iterator[tuple[PyTree, np.int32, np.int32, PyTree]]:
        """Arguments of the compiled programs: parameters, length, first example and data."""
        params = self.params if params is None else params
        for first in range(0, self.num_examples, self.sizes.size):
            yield params, np.int32(length), np.int32(first), self.data


def _one_pass(setup: Setup) -> bool:
    """True for an encoder, and for a task that gives some tokens of the answer."""
    return setup.abstract_model.decoder is None or setup.task.gives_tokens


def answer_vocabulary(setup: Setup) -> Vocabulary:
    vocabularies = setup.layout.vocabularies(setup.task)
    size = vocabularies[answering_stack(vocabularies)]
    # A decoder without an encoder has the tokens of the prompt in its vocabulary, too.
    if setup.task.target_vocabulary.size == size:
        return setup.task.target_vocabulary
    return setup.task.vocabulary


def out_of_reach(setup: Setup, length: int) -> str | None:
    """Reason why a run has no examples or positions for a length; None if it has."""
    shortest = setup.task.min_length
    longest = setup.task.max_length or length
    if not shortest <= length <= longest:
        return f"{setup.run.task.name} with these arguments has no examples of length {length}"
    return checks.out_of_reach(setup, length, 0)


def _score(
    setup: Setup,
    sizes: BatchSize,
    params: PyTree,
    length: Scalar,
    first: Scalar,
    data: PyTree,
    off: knock_outs.SwitchedOff,
) -> tuple[Array, Array]:
    """Exact match and token accuracy of each example."""
    examples = draw(setup, sizes, length, first, data)
    batch = examples.batch
    logits = knock_outs.logits(setup.model(params), off, examples.streams)
    # argmax of NaN is a valid token, so undefined logits must not count as right.
    is_finite = jnp.isfinite(logits).all(axis=-1)
    right = is_finite & (logits.argmax(axis=-1) == batch.labels)
    num_tokens = jnp.maximum(batch.answer.sum(axis=1), 1)
    token_accuracy = (right & batch.answer).sum(axis=1) / num_tokens
    exact_match = (right | ~batch.target).all(axis=1)
    return exact_match, token_accuracy


def _answers(
    setup: Setup,
    sizes: BatchSize,
    params: PyTree,
    length: Scalar,
    first: Scalar,
    data: PyTree,
) -> tuple[Array, Array, Array, Array]:
    """The answers [B, T] and their lengths with the end token; the right answers and theirs."""
    examples = draw(setup, sizes, length, first, data)
    vocabulary = answer_vocabulary(setup)
    labels = examples.batch.labels
    max_tokens = setup.task.target_bound(sizes.bound) + setup.layout.end_token
    is_answer = labels != vocabulary.pad
    start = is_answer.argmax(axis=1)  # the token before the answer predicts its first token
    counts = is_answer.sum(axis=1)
    slots = start[:, None] + jnp.arange(max_tokens)[None]
    # Slots beyond the example are cut off later by the count of its tokens.
    slots_inside = jnp.minimum(slots, labels.shape[1] - 1)
    right = jnp.take_along_axis(labels, slots_inside, axis=1)
    model = setup.model(params)
    if _one_pass(setup):
        logits = model(examples.streams)
        predicted = jnp.where(examples.batch.target, logits.argmax(axis=-1), labels)
        tokens = jnp.take_along_axis(predicted, slots_inside, axis=1)
        is_end = jnp.zeros_like(tokens, dtype=bool)
        if setup.layout.end_token:
            is_end = tokens == vocabulary.end
        indices = jnp.arange(max_tokens)[None]
        first_end = jnp.where(is_end, indices, max_tokens).min(axis=1)
        return tokens, first_end + 1, right, counts
    width = labels.shape[1] - max_tokens + 1
    # `generate` needs a position for the last generated token, which no token reads.
    positions = []
    for of_scheme in examples.answering.positions:
        last = of_scheme[:, :, -1:]
        positions.append(jnp.concatenate([of_scheme, last], axis=2))
    tokens, lengths = generate(
        model,
        examples.answering.tokens[:, :width],
        jnp.arange(width)[None] <= start[:, None],
        end=vocabulary.end if setup.layout.end_token else -1,
        max_tokens=max_tokens,
        positions=tuple(positions),
        source=examples.streams.get("encoder"),
    )
    return tokens, lengths + 1, right, counts
