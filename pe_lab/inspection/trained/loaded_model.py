"""A finished run on the bench: the test examples of its evaluation, and what its model does with
them.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pe_lab.inspection.trained import attention_statistics, knock_outs
from pe_lab.inspection.trained.activations import recorded
from pe_lab.model.decode import generate
from pe_lab.model.streams import Stream
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import RunGroup
from pe_lab.tasks.base import Vocabulary
from pe_lab.tasks.batch import Batch
from pe_lab.training import batches, checks, evaluation_data
from pe_lab.training.evaluation_data import SPLITS
from pe_lab.training.random_keys import POSITIONS, stream_keys
from pe_lab.training.setup import Setup
from pe_lab.training.state import initial_state, members_of, of_member
from pe_lab.training.trained_runs import TrainedRun

EXAMPLES = 128  # of each length, or as many as the run's evaluation has
_AT_ONCE = 32
_WEIGHTS = 2**26  # attention weights of a layer that are held at once


@dataclasses.dataclass(frozen=True)
class ExampleBatch:
    """A batch of test examples as the model reads them.

    Attributes:
      aligned: [B, L, S] of the answering stream's places and the prompt's stream: the token that
        the task names for each label.
    """

    batch: Batch
    answering: Stream
    source: Stream | None
    aligned: Any


def draw(
    setup: Setup, bound: int, size: int, length: Array, first: Array, data: Any
) -> ExampleBatch:
    """Test examples number first, first + 1, … of a length, the same that evaluation looks at."""
    keys = evaluation_data.keys(SPLITS.index("test"), length, first + jnp.arange(size))
    examples = evaluation_data.sample(
        setup.evaluated_task, setup.split_rule, keys, length, bound, data
    )
    batch = jax.vmap(functools.partial(setup.layout, setup.task))(examples)
    position_keys = stream_keys(keys, POSITIONS)
    _, answering, source = batches.add_positions(setup, batch, position_keys, train=False)
    numbered = dataclasses.replace(
        examples,
        target=examples.alignment,
        answer_mask=examples.target_mask & (examples.alignment >= 0),
    )
    names = jax.vmap(functools.partial(setup.layout, setup.task))(
        numbered
    )  # labels are now numbers of prompt tokens
    of_keys = batch.structure if source is None else batch.source_structure
    assert of_keys is not None
    number = jnp.where(of_keys["parts"] == 0, of_keys["coupled"] - 1, -1)  # of each prompt token
    aligned = names.answer[:, :, None] & (names.labels[:, :, None] == number[:, None])
    return ExampleBatch(batch, answering, source, aligned)


@dataclasses.dataclass(frozen=True)
class FirstExample:
    """What the pictures show of the first example of a length; a sink token stands before the
    others.

    Attributes:
      first: name -> for each layer its weights, [H, L, S].
      first_mask: name -> for each layer, [H|1, L, S]; True where a query that is no padding sees a
        key.
      aligned: [L, S], without a sink token: the key that the task names.
    """

    first: dict[str, list[np.ndarray]]
    first_mask: dict[str, list[np.ndarray]]
    aligned: np.ndarray


@dataclasses.dataclass(frozen=True)
class Observations(FirstExample):
    """What a model did with all examples of a length; a sink token is left out of these, but not of
    the means in `attention`.

    Attributes:
      hidden: stack -> [N, L, D] of what enters the first layer and of what leaves each.
      valid: stack -> [N, L].
      attention: name -> for each layer the means of `attending`, one a head.
      q, k, mask: name -> for each layer, of all examples.
    """

    hidden: dict[str, list[np.ndarray]]
    valid: dict[str, np.ndarray]
    attention: dict[str, list[dict[str, list[float | None]]]]
    q: dict[str, list[np.ndarray]]
    k: dict[str, list[np.ndarray]]
    mask: dict[str, list[np.ndarray]]

    @property
    def shown(self) -> FirstExample:
        return FirstExample(self.first, self.first_mask, self.aligned)


class LoadedModel:
    """Runs a finished run's model on test examples; each kind of question is compiled once for all
    lengths.

    Args:
      lengths: all that will be asked for.

    Raises:
      UserError: the run cannot be given a length.
    """

    def __init__(self, finished: TrainedRun, lengths: Sequence[int], num_examples: int = EXAMPLES):
        setup = self.setup = finished.setup
        for length in lengths:
            if reason := out_of_reach(setup, length):
                raise UserError(f"{reason}: the run {setup.run.run_id} cannot be looked at there.")
        self.params, self.bound = finished.params, max(lengths)
        self.num_examples = min(num_examples, setup.run.evaluate.num_examples)
        tokens = max(setup.num_tokens(self.bound).values()) + setup.run.model.sink_token
        fits = max(1, _WEIGHTS // (setup.run.model.num_heads * tokens**2))
        self.size = min(1 << fits.bit_length() - 1, _AT_ONCE)
        self.data = setup.data("test")
        sizes = (setup, self.bound, self.size)
        self._observe, self._score, self._said = (
            jax.jit(functools.partial(f, *sizes)) for f in (_observe, _score, _said)
        )

    def initial(self) -> Any:
        """The parameters that training started from; None where these are another run's."""
        if self.setup.run.init_from is not None:
            return None
        members = jax.tree.map(jnp.asarray, members_of(RunGroup((self.setup.run,)), [0]))
        state = jax.jit(functools.partial(initial_state, self.setup))(members)
        return of_member(state.params, 0)

    def observe(self, length: int, params: Any = None) -> Observations:
        """Everything inside, of all examples of a length; with other parameters than the final ones
        where they are given.
        """
        parts = [self._observe(*args) for args in self.batches(length, params)]
        parts = [jax.tree.map(np.asarray, part) for part in parts]
        joined = jax.tree.map(
            lambda *leaves: np.concatenate(leaves)[: self.num_examples],
            *(part["each"] for part in parts),
        )
        summed = jax.tree.map(
            lambda *leaves: np.sum(leaves, axis=0), *(part["sums"] for part in parts)
        )
        attention = {
            name: [attention_statistics.means(layer) for layer in layers]
            for name, layers in summed.items()
        }
        found = {
            what: _in_order(of)
            for what, of in {**joined, **parts[0]["first"], "attention": attention}.items()
        }
        return Observations(**found, aligned=parts[0]["aligned"])

    def score(self, length: int, off: knock_outs.SwitchedOff) -> dict[str, float]:
        """Exact match and token accuracy under teacher forcing, with some encodings off."""
        found = [self._score(*args, off) for args in self.batches(length)]
        return {
            name: float(np.concatenate([part[name] for part in found])[: self.num_examples].mean())
            for name in found[0]
        }

    def said(self, length: int) -> list[tuple[list[int], list[int]]]:
        """What the model says greedily, and what is right, of each example: up to the end token,
        and no more tokens than are right.
        """
        parts = [jax.tree.map(np.asarray, self._said(*args)) for args in self.batches(length)]
        said, lengths, right, counts = (
            np.concatenate(leaves)[: self.num_examples] for leaves in zip(*parts, strict=True)
        )
        return [
            (s[: min(n, c)].tolist(), r[:c].tolist())
            for s, n, r, c in zip(said, lengths, right, counts, strict=True)
        ]

    @property
    def end(self) -> int | None:
        """The id after which an answer ends."""
        return words(self.setup).end if self.setup.layout.end_token else None

    @property
    def forced(self) -> bool:
        """Whether answers are read in one pass: an encoder's, and where some tokens are given
        whatever the model says.
        """
        return _forced(self.setup)

    def batches(self, length: int, params: Any = None) -> Iterator[tuple[Any, ...]]:
        """What a compiled question is asked with: parameters, the length, the number of the first
        example, how many count, and data.
        """
        for first in range(0, self.num_examples, self.size):
            yield (
                (self.params if params is None else params),
                np.int32(length),
                np.int32(first),
                np.int32(self.num_examples),
                self.data,
            )


def _in_order(by_name: dict[str, Any]) -> dict[str, Any]:
    """As the model applies them; what comes out of a program is sorted by name."""
    return {name: by_name[name] for name in ("encoder", "decoder", "cross") if name in by_name}


def _forced(setup: Setup) -> bool:
    return setup.abstract_model.decoder is None or setup.task.gives_tokens


def words(setup: Setup) -> Vocabulary:
    """Of what is said."""
    size = setup.layout.vocabularies(setup.task)[list(setup.num_tokens(1))[-1]]
    return next(v for v in (setup.task.target_vocabulary, setup.task.vocabulary) if v.size == size)


def out_of_reach(setup: Setup, length: int) -> str | None:
    """Why there is nothing of a length to look at; None if there is."""
    if length < setup.task.min_length or length > (setup.task.max_length or length):
        return f"{setup.run.task.name} with these arguments has no examples of length {length}"
    return checks.out_of_reach(setup, length, 0)


def _observe(
    setup: Setup,
    bound: int,
    size: int,
    params: Any,
    length: Array,
    first: Array,
    count: Array,
    data: Any,
) -> dict[str, Any]:
    drawn = draw(setup, bound, size, length, first, data)
    _, seen = recorded(setup.model(params), drawn.answering, drawn.source)
    stacks, sink = list(seen.hidden), int(setup.run.model.sink_token)
    streams: dict[str, Any] = dict(
        zip(reversed(stacks), (drawn.answering, drawn.source), strict=False)
    )
    counted = (first + jnp.arange(size) < count)[:, None]
    sums: dict[str, list[Any]] = {}
    for name, layers in seen.attended.items():
        answers = name in ("cross", stacks[-1])
        asks = (
            drawn.batch.target if answers else streams[name].mask
        )  # the places that must give a token; of an encoder beside, all
        asks = jnp.pad(asks, ((0, 0), (sink, 0))) & counted
        aligned = jnp.pad(drawn.aligned, ((0, 0), (sink, 0), (sink, 0)))
        fits = answers and (drawn.source is None or name == "cross")
        for layer in layers:
            named = aligned if fits else jnp.zeros((size, *layer.weights.shape[2:]), bool)
            sums.setdefault(name, []).append(
                attention_statistics.sums(layer.weights, layer.mask, asks, named)
            )
    pick = lambda what: {
        name: [getattr(layer, what) for layer in layers] for name, layers in seen.attended.items()
    }
    mask = pick("mask")
    each = {
        "hidden": {name: [x[:, sink:] for x in states] for name, states in seen.hidden.items()},
        "valid": {name: stream.mask for name, stream in streams.items()},
        "q": {name: [q[:, sink:] for q in layers] for name, layers in pick("q").items()},
        "k": {name: [k[:, sink:] for k in layers] for name, layers in pick("k").items()},
        "mask": {name: [m[:, :, sink:, sink:] for m in layers] for name, layers in mask.items()},
    }
    first_one = {"first": pick("weights"), "first_mask": mask}
    return {
        "each": each,
        "sums": sums,
        "first": jax.tree.map(lambda leaf: leaf[0], first_one),
        "aligned": drawn.aligned[0],
    }


def _score(
    setup: Setup,
    bound: int,
    size: int,
    params: Any,
    length: Array,
    first: Array,
    count: Array,
    data: Any,
    off: knock_outs.SwitchedOff,
):
    drawn = draw(setup, bound, size, length, first, data)
    logits = knock_outs.logits(setup.model(params), off, drawn.answering, drawn.source)
    batch = drawn.batch
    right = jnp.isfinite(logits).all(axis=-1) & (logits.argmax(axis=-1) == batch.labels)
    tokens = (right & batch.answer).sum(axis=1) / jnp.maximum(batch.answer.sum(axis=1), 1)
    return {"exact_match": (right | ~batch.target).all(axis=1), "token_accuracy": tokens}


def _said(
    setup: Setup,
    bound: int,
    size: int,
    params: Any,
    length: Array,
    first: Array,
    count: Array,
    data: Any,
) -> tuple[Array, ...]:
    """What is said [B, T], how many tokens until its end token, that included; what is right, and
    how many tokens that has.
    """
    drawn, vocabulary = draw(setup, bound, size, length, first, data), words(setup)
    labels, room = drawn.batch.labels, setup.task.target_bound(bound) + setup.layout.end_token
    spoken = labels != vocabulary.pad
    begins, counts = (
        spoken.argmax(axis=1),
        spoken.sum(axis=1),
    )  # the place that gives the first token
    places = begins[:, None] + jnp.arange(room)[None]
    right = jnp.take_along_axis(labels, jnp.minimum(places, labels.shape[1] - 1), axis=1)
    model = setup.model(params)
    if _forced(setup):
        logits = model(drawn.answering, drawn.source)
        chosen = jnp.where(drawn.batch.target, logits.argmax(axis=-1), labels)
        said = jnp.take_along_axis(chosen, jnp.minimum(places, labels.shape[1] - 1), axis=1)
        ended = (
            (said == vocabulary.end) if setup.layout.end_token else jnp.zeros_like(said, dtype=bool)
        )
        return said, jnp.where(ended, jnp.arange(room)[None], room).min(axis=1) + 1, right, counts
    width = labels.shape[1] - room + 1
    positions = tuple(
        jnp.concatenate([p, p[:, :, -1:]], axis=2) for p in drawn.answering.positions
    )  # with one for the last token that is said, which nobody reads
    prompt, mask = drawn.answering.tokens[:, :width], jnp.arange(width)[None] <= begins[:, None]
    end = vocabulary.end if setup.layout.end_token else -1
    said, lengths = generate(
        model, prompt, mask, end=end, max_tokens=room, positions=positions, source=drawn.source
    )
    return said, lengths + 1, right, counts
