"""Layouts: from an example to the token sequences of a transformer.

decoder          tokens   BEGIN p p p SEPARATOR t t      labels   . . . . t t END
encoder          tokens   p p p BLANK BLANK BLANK        labels   . . . t t END
encoder_decoder  source   p p p      tokens BEGIN t t    labels   t t END

The target follows the last token of the prompt; padding follows the target. A task without a prompt
has no encoder_decoder layout.

Shape letter: L tokens of a sequence.
"""

import dataclasses
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Shaped

from pe_lab.tasks.base import AnyArray, Example, Task, Vocabulary
from pe_lab.tasks.batch import Batch

# Every batch has these structures. A task's own structures replace them.
DEFAULT_STRUCTURES = ("symbols", "coupled", "parts")


class _Labels(NamedTuple):
    """The three fields of a batch that describe the predictions."""

    labels: Int[Array, "l"]
    target: Bool[Array, "l"]
    answer: Bool[Array, "l"]


@dataclasses.dataclass(frozen=True)
class Layout:
    """Base class of the layouts.

    Args:
      end_token: the model also predicts the end of the target.
      examples_per_context: examples that are packed into one context in training.
      document_mask: tokens attend to tokens of their own example only.

    Traits:
      reveals_target_length: the input shows the length of the target.
      causal: the model predicts a target token before it reads the token's position.
    """

    end_token: bool
    examples_per_context: int = 1
    document_mask: bool = True

    reveals_target_length: ClassVar[bool] = False
    causal: ClassVar[bool] = True

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        """Map each stack to its L for examples up to this length; the predicting stack is last."""
        raise NotImplementedError

    def parts(self, task: Task, length: int) -> dict[str, tuple[int, ...]]:
        """Map each stack to the lengths of its parts (structure["parts"]), which sum to L."""
        tokens = self.num_tokens(task, length)
        if len(tokens) > 1:  # the prompt and the target are separate sequences
            return {stack: (size,) for stack, size in tokens.items()}
        ((stack, size),) = tokens.items()
        target_size = task.target_bound(length) + self.end_token
        return {stack: (size - target_size, target_size)}

    def vocabularies(self, task: Task) -> dict[str, int]:
        """Map each stack to its number of token ids."""
        raise NotImplementedError

    def __call__(self, task: Task, example: Example) -> Batch:
        """Lay out one example; use vmap for a batch."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Decoder(Layout):
    """BEGIN prompt SEPARATOR target in one causal sequence."""

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        prompt_size = 1 + task.prompt_bound(length)
        target_size = task.target_bound(length) + self.end_token
        return {"decoder": prompt_size + target_size}

    def vocabularies(self, task: Task) -> dict[str, int]:
        return {"decoder": _larger_vocabulary(task).size}

    def __call__(self, task: Task, example: Example) -> Batch:
        vocabulary = _larger_vocabulary(task)
        prompt_size = 1 + len(example.prompt)
        target_size = len(example.target) + self.end_token
        index = jnp.arange(prompt_size + target_size)
        separator = 1 + example.prompt_mask.sum()  # its index, after BEGIN and the prompt
        target_length = example.target_mask.sum()
        # Without an end token the last target token predicts nothing, so it is no input.
        mask = index < separator + target_length + self.end_token
        prompt_index = index - 1
        target_index = index - separator - 1

        tokens = jnp.select(
            [index == 0, index < separator, index == separator, mask],
            [
                vocabulary.begin,
                _take(example.prompt, prompt_index),
                vocabulary.separator,
                _take(example.target, target_index),
            ],
            vocabulary.pad,
        )
        in_prompt = (index > 0) & (index < separator)
        structure = _structure(example, in_prompt, prompt_index, target_index, index >= separator)
        # A token predicts the next one, so the separator predicts target token 0.
        labels = _labels(example, index - separator, self.end_token, vocabulary)
        return Batch(tokens, mask, *labels, structure)


@dataclasses.dataclass(frozen=True)
class Encoder(Layout):
    """The prompt, then a blank for each target token, in one bidirectional sequence.

    The model predicts the target at the blanks, as in Deletang et al. 2023
    (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023 (https://arxiv.org/abs/2305.16843). The
    number of blanks reveals the length of the target.
    """

    reveals_target_length = True
    causal = False

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        target_size = task.target_bound(length) + self.end_token
        return {"encoder": task.prompt_bound(length) + target_size}

    def vocabularies(self, task: Task) -> dict[str, int]:
        return {"encoder": _larger_vocabulary(task).size}

    def __call__(self, task: Task, example: Example) -> Batch:
        vocabulary = _larger_vocabulary(task)
        target_size = len(example.target) + self.end_token
        index = jnp.arange(len(example.prompt) + target_size)
        prompt_length = example.prompt_mask.sum()
        target_length = example.target_mask.sum()
        target_index = index - prompt_length
        in_prompt = index < prompt_length
        in_target = ~in_prompt & (target_index < target_length)
        # The end token is predicted at a blank, too.
        mask = target_index < target_length + self.end_token
        # Target tokens that the model need not predict take the place of their blanks.
        is_input = in_target & ~_take(example.asked, target_index)

        tokens = jnp.select(
            [in_prompt, is_input, mask],
            [
                _take(example.prompt, index),
                _take(example.target, target_index),
                vocabulary.blank,
            ],
            vocabulary.pad,
        )
        structure = _structure(example, in_prompt, index, target_index, ~in_prompt)
        # A blank predicts the target token at its own index.
        labels = _labels(example, target_index, self.end_token, vocabulary)
        return Batch(tokens, mask, *labels, structure)


@dataclasses.dataclass(frozen=True)
class EncoderDecoder(Layout):
    """The prompt for the encoder, BEGIN target for the decoder, each with its own vocabulary."""

    def num_tokens(self, task: Task, length: int) -> dict[str, int]:
        return {
            "encoder": task.prompt_bound(length),
            "decoder": task.target_bound(length) + self.end_token,
        }

    def vocabularies(self, task: Task) -> dict[str, int]:
        return {"encoder": task.vocabulary.size, "decoder": task.target_vocabulary.size}

    def __call__(self, task: Task, example: Example) -> Batch:
        vocabulary = task.target_vocabulary
        target_size = len(example.target) + self.end_token
        target_length = example.target_mask.sum()
        index = jnp.arange(target_size)
        # As in `Decoder`, the last target token is an input only if an end token follows.
        mask = index < target_length + self.end_token
        tokens = jnp.select(
            [index == 0, mask],
            [vocabulary.begin, _take(example.target, index - 1)],
            vocabulary.pad,
        )
        in_prompt = jnp.zeros_like(mask)
        structure = _structure(example, in_prompt, index, index - 1, ~in_prompt)
        labels = _labels(example, index, self.end_token, vocabulary)

        source_mask = jnp.asarray(example.prompt_mask)
        source_index = jnp.arange(len(source_mask))
        # The source has no target tokens, and all of it is part 0.
        no_target = jnp.full_like(source_index, -1)
        from_target = jnp.zeros_like(source_mask)
        source_structure = _structure(example, source_mask, source_index, no_target, from_target)
        return Batch(
            tokens,
            mask,
            *labels,
            structure,
            source_tokens=jnp.where(source_mask, example.prompt, task.vocabulary.pad),
            source_mask=source_mask,
            source_structure=source_structure,
        )


LAYOUTS: dict[str, type[Layout]] = {
    "decoder": Decoder,
    "encoder": Encoder,
    "encoder_decoder": EncoderDecoder,
}


def _larger_vocabulary(task: Task) -> Vocabulary:
    """The vocabulary of a sequence with prompt and target: no symbol is a special token."""
    vocabularies = (task.vocabulary, task.target_vocabulary)
    return max(vocabularies, key=lambda vocabulary: vocabulary.size)


def _labels(
    example: Example, target_index: Int[Array, "l"], end_token: bool, vocabulary: Vocabulary
) -> _Labels:
    """Labels of tokens that predict the target tokens of these indices."""
    target_length = example.target_mask.sum()
    in_target = (target_index >= 0) & (target_index < target_length)
    is_end = (target_index == target_length) & end_token
    labels = jnp.select(
        [in_target, is_end],
        [_take(example.target, target_index), vocabulary.end],
        vocabulary.pad,
    )
    is_predicted = in_target & _take(example.asked, target_index)
    is_answer = in_target & _take(example.answer_mask, target_index)
    return _Labels(labels, is_predicted | is_end, is_answer)


def _structure(
    example: Example,
    in_prompt: Bool[Array, "l"],
    prompt_index: Int[Array, "l"],
    target_index: Int[Array, "l"],
    from_target: Bool[Array, "l"],
) -> dict[str, Array]:
    """Structure of tokens that hold a prompt symbol or a target symbol (or its blank)."""
    target_length = example.target_mask.sum()
    in_target = (target_index >= 0) & (target_index < target_length)
    is_symbol = in_prompt | in_target
    # A target token has the number of its prompt token. Without a source (-1) the number is 0.
    source = _take(example.alignment, target_index)
    coupled = jnp.select(
        [in_prompt, in_target],
        [prompt_index + 1, source + 1],
        0,
    )
    parts = from_target.astype(jnp.int32)
    structure = {"symbols": is_symbol, "coupled": coupled, "parts": parts}
    # The structures of a task replace the defaults.
    for name, (prompt, target) in example.structure.items():
        prompt_values = _take(prompt, prompt_index)
        target_values = _take(target, target_index)
        axes = (-1, *[1] * (prompt.ndim - 1))  # labels may have an axis more than tokens
        values = jnp.where(in_prompt.reshape(axes), prompt_values, target_values)
        structure[name] = jnp.where(is_symbol.reshape(axes), values, 0)
    return structure


def _take(values: Shaped[AnyArray, "n *a"], index: Int[Array, "l"]) -> Shaped[Array, "l *a"]:
    """Values at indices clipped to the valid range; zeros if there are no values."""
    if len(values) == 0:
        shape = (len(index), *values.shape[1:])
        return jnp.zeros(shape, values.dtype)
    # Without the clip, jnp.take fills in NaN or an extreme integer; callers mask these places.
    valid_index = jnp.clip(index, 0, len(values) - 1)
    return jnp.take(jnp.asarray(values), valid_index, axis=0)
