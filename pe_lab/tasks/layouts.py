"""From an example to what a transformer reads. Every layout is offered to every task.

decoder          tokens   BEGIN p p p SEPARATOR t t      labels   . . . . t t END
encoder          tokens   p p p BLANK BLANK BLANK        labels   . . . t t END
encoder_decoder  source   p p p      tokens BEGIN t t    labels   t t END

A target starts at the prompt's true end. Padding stands behind.
"""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped

from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclasses.dataclass(frozen=True)
class Batch:
    """What the model reads and what it must say; [L] for one example, [B, L] for a batch.

    Attributes:
      tokens: ids, and mask: True at tokens, False at padding.
      labels: the id that each place must give.
      target: True where the label belongs to the target and is asked for, end token included: the
        loss and exact match.
      answer: True where the label belongs to the scored answer, end token excluded: token accuracy.
      source_tokens, source_mask: [S] or [B, S], what the encoder of an encoder–decoder reads; None
        elsewhere.
      structure, source_structure: what position schemes may follow, of each token: "symbols" (True
        at symbols of prompt and target, and at the target's blanks), "coupled" (symbols that belong
        together share a number from 1, others have 0) and "parts" (0 up to where the target begins,
        1 from there); and what else a task says.
      segments, source_segments: the example that each token belongs to, from 1, 0 at padding, where
        several share a context; None elsewhere.
    """

    tokens: Any
    mask: Any
    labels: Any
    target: Any
    answer: Any
    structure: Any
    source_tokens: Any = None
    source_mask: Any = None
    source_structure: Any = None
    segments: Any = None
    source_segments: Any = None


jax.tree_util.register_dataclass(Batch, [f.name for f in dataclasses.fields(Batch)], [])


@dataclasses.dataclass(frozen=True)
class Layout:
    """What layouts share.

    Args:
      end_token: the model must also say that the target has ended.
      examples_per_context: packed into one context, in training.
      document_mask: examples of one context do not see each other.
    """

    end_token: bool
    examples_per_context: int = 1
    document_mask: bool = True

    knows_target_length: ClassVar[bool] = False
    causal: ClassVar[bool] = True  # a target token is said before its position is read

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        """Stack -> L for examples up to this length; the stack that answers is last."""
        raise NotImplementedError

    def parts(self, task: Task, length: int) -> dict[str, tuple[int, ...]]:
        """Stack -> the lengths of its parts, those of structure["parts"]; they sum to L."""
        tokens = self.num_tokens(task, length)
        if len(tokens) > 1:  # prompt and target are streams of their own
            return {stack: (n,) for stack, n in tokens.items()}
        ((stack, n),) = tokens.items()
        answer = task.target_bound(length) + self.end_token
        return {stack: (n - answer, answer)}

    def vocabularies(self, task: Task) -> dict[str, int]:
        """Stack -> V."""
        raise NotImplementedError

    def __call__(self, task: Task, example: Example) -> Batch:
        """Lays out one example; vmap for a batch."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Decoder(Layout):
    """BEGIN prompt SEPARATOR target in one causal stream."""

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        return {
            "decoder": 1 + task.prompt_bound(length) + task.target_bound(length) + self.end_token
        }

    def vocabularies(self, task: Task) -> dict[str, int]:
        return {"decoder": _shared(task).size}

    def __call__(self, task: Task, example: Example) -> Batch:
        words, end = _shared(task), int(self.end_token)
        place = jnp.arange(1 + len(example.prompt) + len(example.target) + end)
        separator = 1 + example.prompt_mask.sum()
        said = example.target_mask.sum()  # target tokens
        stop = separator + said + end  # the first place after the last that predicts
        tokens = jnp.select(
            [place == 0, place < separator, place == separator, place < stop],
            [
                words.begin,
                _at(example.prompt, place - 1),
                words.separator,
                _at(example.target, place - separator - 1),
            ],
            words.pad,
        )
        inside = (place > 0) & (place < separator)
        structure = _structure(
            example, inside, place - 1, place - separator - 1, place >= separator
        )
        return Batch(
            tokens, place < stop, *_asked(example, place - separator, said, end, words), structure
        )


@dataclasses.dataclass(frozen=True)
class Encoder(Layout):
    """The prompt, then a blank for every target token, in one bidirectional stream; the answer is
    read at the blanks.

    Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
    (https://arxiv.org/abs/2305.16843). The number of blanks tells the model how long the target is.
    """

    knows_target_length = True
    causal = False

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        return {"encoder": task.prompt_bound(length) + task.target_bound(length) + self.end_token}

    def vocabularies(self, task: Task) -> dict[str, int]:
        return {"encoder": _shared(task).size}

    def __call__(self, task: Task, example: Example) -> Batch:
        words, end = _shared(task), int(self.end_token)
        place = jnp.arange(len(example.prompt) + len(example.target) + end)
        first = example.prompt_mask.sum()  # blank
        said = example.target_mask.sum()
        mask = place < first + said + end
        given = (
            mask & (place >= first) & (place < first + said) & ~_at(example.asked, place - first)
        )
        tokens = jnp.select(
            [place < first, given, mask],
            [_at(example.prompt, place), _at(example.target, place - first), words.blank],
            words.pad,
        )
        structure = _structure(example, place < first, place, place - first, place >= first)
        return Batch(tokens, mask, *_asked(example, place - first, said, end, words), structure)


@dataclasses.dataclass(frozen=True)
class EncoderDecoder(Layout):
    """The prompt for the encoder; BEGIN target for the decoder. The two sides have vocabularies of
    their own.
    """

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        return {
            "encoder": task.prompt_bound(length),
            "decoder": task.target_bound(length) + self.end_token,
        }

    def vocabularies(self, task: Task) -> dict[str, int]:
        return {"encoder": task.vocabulary.size, "decoder": task.target_vocabulary.size}

    def __call__(self, task: Task, example: Example) -> Batch:
        out, end = task.target_vocabulary, int(self.end_token)
        place = jnp.arange(len(example.target) + end)
        said = example.target_mask.sum()
        mask = place < said + end
        tokens = jnp.select(
            [place == 0, mask], [out.begin, _at(example.target, place - 1)], out.pad
        )
        asked = _asked(example, place, said, end, out)
        source = jnp.where(example.prompt_mask, example.prompt, task.vocabulary.pad)
        structure = _structure(example, jnp.zeros_like(mask), place, place - 1, jnp.ones_like(mask))
        there = jnp.arange(len(source))
        of_source = _structure(
            example, example.prompt_mask, there, jnp.full_like(there, -1), there < 0
        )
        return Batch(tokens, mask, *asked, structure, source, example.prompt_mask, of_source)


LAYOUTS: dict[str, type[Layout]] = {
    "decoder": Decoder,
    "encoder": Encoder,
    "encoder_decoder": EncoderDecoder,
}


def pack(batch: Batch, k: int) -> Batch:
    """[B * k, L] examples -> [B, k * L] contexts of k examples each, one after the other, padding
    behind.
    """

    def both(mask: Array, *values: Array) -> list[Array]:
        example = jnp.broadcast_to((jnp.arange(len(mask)) % k + 1)[:, None], mask.shape)
        return [packed(value, mask, k) for value in (*values, mask, jnp.where(mask, example, 0))]

    tokens, labels, target, answer, mask, segments = both(
        batch.mask, batch.tokens, batch.labels, batch.target, batch.answer
    )
    structure = {name: packed(value, batch.mask, k) for name, value in batch.structure.items()}
    if batch.source_tokens is None:
        return Batch(tokens, mask, labels, target, answer, structure, segments=segments)
    source, source_mask, source_segments = both(batch.source_mask, batch.source_tokens)
    of_source = {
        name: packed(value, batch.source_mask, k) for name, value in batch.source_structure.items()
    }
    return Batch(
        tokens,
        mask,
        labels,
        target,
        answer,
        structure,
        source,
        source_mask,
        of_source,
        segments,
        source_segments,
    )


def packed(
    values: Shaped[Array, "n l *a"], mask: Bool[Array, "n l"], k: int
) -> Shaped[Array, "b m *a"]:
    """Rows of k examples [n, L] -> [n / k, k * L], each one's tokens following the last one's."""
    contexts = len(values) // k
    order = jnp.argsort(~mask.reshape(contexts, -1), axis=1, stable=True)
    rows = values.reshape(contexts, -1, *values.shape[2:])
    return jnp.take_along_axis(rows, order.reshape(*order.shape, *(1,) * (rows.ndim - 2)), axis=1)


def _shared(task: Task) -> Vocabulary:
    """The vocabulary of one stream for prompt and target: the larger, so that no symbol of either
    is a shared token.
    """
    return max(task.vocabulary, task.target_vocabulary, key=lambda words: words.size)


def _asked(
    example: Example, step: Array, said: Array, end: int, words: Vocabulary
) -> tuple[Array, Array, Array]:
    """Labels, target and answer of places that give target token number `step`."""
    is_target, is_end = (step >= 0) & (step < said), (step == said) & bool(end)
    labels = jnp.where(
        is_target, _at(example.target, step), jnp.where(is_end, words.end, words.pad)
    )
    return (
        labels,
        (is_target & _at(example.asked, step)) | is_end,
        is_target & _at(example.answer_mask, step),
    )


def _structure(
    example: Example, in_prompt: Array, prompt_index: Array, step: Array, in_target: Array
) -> dict[str, Array]:
    """Of places that hold prompt symbol `prompt_index`, or stand for target symbol `step`, counted
    from 0.
    """
    is_target = (step >= 0) & (step < example.target_mask.sum())
    coupled = jnp.where(
        in_prompt, prompt_index + 1, jnp.where(is_target, _at(example.alignment, step) + 1, 0)
    )

    def of(prompt: Array, target: Array) -> Array:
        wide = (-1, *(1,) * (prompt.ndim - 1))
        parts = jnp.where(in_prompt.reshape(wide), _at(prompt, prompt_index), _at(target, step))
        return jnp.where((in_prompt | is_target).reshape(wide), parts, 0)

    known = {
        "symbols": in_prompt | is_target,
        "coupled": coupled,
        "parts": in_target.astype(jnp.int32),
    }
    return known | {name: of(*pair) for name, pair in example.structure.items()}


def _at(values: Shaped[Array, "n *a"], index: Array) -> Shaped[Array, "l *a"]:
    """Values at indices, any value at those beyond; zeros where there are none."""
    if not len(values):
        return jnp.zeros((len(index), *values.shape[1:]), values.dtype)
    return jnp.take(values, jnp.clip(index, 0, len(values) - 1), axis=0)
