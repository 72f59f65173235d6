"""From an example to what a transformer reads. Every layout is offered to every task.

decoder:  tokens   BEGIN p p p SEPARATOR t t        labels  . . . . t t END
"""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from pe_lab.tasks.base import Example, Task


@dataclasses.dataclass(frozen=True)
class Batch:
    """What the model reads and what it must say; [L] for one example, [B, L] for a batch.

    Attributes:
      tokens: ids, and mask: True at tokens, False at padding.
      labels: the id that each place must predict.
      target: True where the label belongs to the target, end token included: the loss and exact match.
      answer: True where the label belongs to the scored answer, end token excluded: token accuracy.
    """

    tokens: Any
    mask: Any
    labels: Any
    target: Any
    answer: Any


jax.tree_util.register_dataclass(Batch, [f.name for f in dataclasses.fields(Batch)], [])


@dataclasses.dataclass(frozen=True)
class Decoder:
    """BEGIN prompt SEPARATOR target in one causal stream; the target starts at the prompt's true end.

    Args:
      end_token: the model must also say that the target has ended.
    """

    end_token: bool

    bidirectional: ClassVar[bool] = False
    knows_target_length: ClassVar[bool] = False

    def num_tokens(self, task: Task, length: int) -> int:
        """L for examples up to this length."""
        return 1 + task.prompt_bound(length) + task.target_bound(length) + self.end_token

    def __call__(self, task: Task, example: Example) -> Batch:
        """Lays out one example; vmap for a batch."""
        words, end = task.vocabulary, int(self.end_token)
        place = jnp.arange(1 + len(example.prompt) + len(example.target) + end)
        separator = 1 + example.prompt_mask.sum()
        said = example.target_mask.sum()  # target tokens
        stop = separator + said + end  # the first place after the last that predicts

        def at(values, index):
            return jnp.take(values, jnp.clip(index, 0, len(values) - 1))

        tokens = jnp.select(
            [place == 0, place < separator, place == separator, place < stop],
            [words.begin, at(example.prompt, place - 1), words.separator, at(example.target, place - separator - 1)],
            words.pad,
        )
        is_target = (place >= separator) & (place < separator + said)
        is_end = (place == separator + said) & self.end_token
        labels = jnp.where(is_target, at(example.target, place - separator), jnp.where(is_end, words.end, words.pad))
        answer = is_target & at(example.answer_mask, place - separator)
        return Batch(tokens, place < stop, labels, is_target | is_end, answer)


LAYOUTS = {"decoder": Decoder}
