"""Test examples of a run as its model reads them."""

import dataclasses
import functools
from typing import no_type_check

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree

from pe_lab.model.streams import Stream, Streams, answering_stack
from pe_lab.tasks.batch import Batch
from pe_lab.training import batches, evaluation_data
from pe_lab.training.evaluation_data import SPLITS
from pe_lab.training.random_keys import EVALUATED_POSITIONS, stream_keys
from pe_lab.training.setup import Setup

Scalar = Int[Array, ""]


@no_type_check  # holds tracers while a program is compiled
@dataclasses.dataclass(frozen=True)
class ExampleBatch:
    """A batch of test examples.

    Attributes:
      streams: the input of each stack, with its positions.
      aligned: from positions of the answering stream to positions of the prompt's stream, True at
        the token that the task aligns with a label.
    """

    batch: Batch
    streams: Streams
    aligned: Bool[Array, "b l s"]

    @property
    def answering(self) -> Stream:
        """The stream of the answer."""
        return self.streams[answering_stack(self.streams)]


@dataclasses.dataclass(frozen=True)
class BatchSize:
    """Static sizes of a batch: the length that examples are padded to, and their number."""

    bound: int
    size: int


def draw(
    setup: Setup,
    sizes: BatchSize,
    length: Scalar,
    first: Scalar,
    data: PyTree,
) -> ExampleBatch:
    """The test examples number first, first + 1, … of a length, the same as in evaluation."""
    indices = first + jnp.arange(sizes.size)
    examples = evaluation_data.draw_batch(
        setup.evaluated_task,
        setup.split_rule,
        sizes.bound,
        sizes.size,
        split=SPLITS.index("test"),
        length=length,
        first=first,
        data=data,
    )
    keys = evaluation_data.keys(SPLITS.index("test"), length, indices)
    lay_out = jax.vmap(functools.partial(setup.layout, setup.task))
    batch = lay_out(examples)
    position_keys = stream_keys(keys, EVALUATED_POSITIONS)
    _, streams = batches.add_positions(setup, batch, position_keys, train=False)

    # Lay out examples whose target is the index of the aligned prompt token: the layout puts these
    # indices where the labels are.
    numbered = dataclasses.replace(
        examples,
        target=examples.alignment,
        answer_mask=examples.target_mask & (examples.alignment >= 0),
        structure={},  # the default of "coupled" is the index of a prompt token plus 1
    )
    indexed = lay_out(numbered)
    structure = (indexed.source or indexed.side).structure
    # -1 matches no label, and part 0 of an example is its prompt.
    prompt_index = jnp.where(structure["parts"] == 0, structure["coupled"] - 1, -1)
    same = indexed.labels[:, :, None] == prompt_index[:, None]
    return ExampleBatch(batch, streams, indexed.answer[:, :, None] & same)
