"""The subject of a law: one encoding with arguments inside a tiny transformer of one architecture.

In an encoder–decoder it also acts in cross-attention, if its class allows that.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from pe_lab import kernels
from pe_lab.contrib.laws import models
from pe_lab.contrib.laws.models import stream
from pe_lab.encodings.requirements import Requirements
from pe_lab.model.decode import extend, start
from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings.settings import STACKS, Model

BATCH, LENGTH, SOURCE_LENGTH = 2, 7, 6
BOUND = 64  # positions that the laws use, of those that a member has
UNEVEN = jnp.asarray([[[0, 1, 3, 4, 9, 11, 12], [0, 2, 3, 5, 6, 7, 13]]])  # a row for each example


@dataclasses.dataclass(frozen=True)
class Subject:
    """One encoding in a tiny transformer.

    Its parameters are moved away from their initial values, so that all of them matter.
    """

    spec: Any  # dict(name=..., ...), or a tuple of them
    architecture: str = "decoder"
    changes: tuple[tuple[str, Any], ...] = ()  # other fields of the model

    @functools.cached_property
    def model(self) -> Model:
        specs = self.spec if isinstance(self.spec, tuple) else (self.spec,)
        return models.settings(*map(self._placed, specs), **dict(self.changes))

    def _placed(self, spec: dict[str, Any]) -> dict[str, Any]:
        """In every stack, cross-attention included where the class is defined there."""
        cls: Any = plugins.find("encodings", spec["name"])
        everywhere = (
            self.architecture == "encoder_decoder"
            and cls.requirements.site == "attention"
            and cls.requirements.cross
        )
        return {**spec, "stacks": STACKS[self.architecture]} if everywhere else spec

    def build(self, seed: int = 0, kernels: kernels.Kernels = kernels.REFERENCE) -> Transformer:
        vocabularies = models.VOCABULARIES[self.architecture]
        return Transformer(self.model, vocabularies, kernels=kernels, key=jax.random.key(seed))

    @functools.cached_property
    def encoding(self) -> Any:
        """The first as it was built, with its traits."""
        return (*self.start.input_encodings, *self.start.attention_encodings)[0]

    @property
    def acts_across(self) -> bool:
        """Whether two streams of positions meet in it."""
        needs = self.requirements
        return self.architecture == "encoder_decoder" and needs.site == "attention" and needs.cross

    @property
    def requirements(self) -> Requirements:
        if not self.spec:
            return Requirements(relative=True, reads_positions=False)
        return self.encoding.requirements

    def stream(self, tokens: Any, positions: Any = None, *parts: Any, **more: Any) -> Stream:
        """What a stack reads, every axis of its positions the same unless they are given."""
        positions = (
            jnp.asarray(np.arange(tokens.shape[1])[None, None])
            if positions is None
            else jnp.asarray(positions)
        )
        return stream(tokens, self.on_axes(positions), *parts, **more)

    def on_axes(self, positions: Any) -> Any:
        axes = self.requirements.num_axes if self.spec else 1
        has_axes = positions.ndim == 4
        return positions if axes == 1 or has_axes else jnp.stack([positions] * axes, axis=-1)

    @functools.cached_property
    def start(self) -> Transformer:
        return self.build()

    @functools.cached_property
    def max_positions(self) -> int | None:
        found = [
            e.requirements.max_positions
            for e in (*self.start.input_encodings, *self.start.attention_encodings)
        ]
        return min((m for m in found if m is not None), default=None)

    @property
    def bound(self) -> int:
        return min(BOUND, self.max_positions or BOUND)

    @functools.cached_property
    def params(self) -> Any:
        return models.moved(models.params(self.start))

    @functools.cached_property
    def call(self) -> Callable:
        """(params, stream, source) -> logits, in the reference form."""
        return self.call_with(kernels.REFERENCE)

    @functools.cached_property
    def compiled(self) -> Callable:
        return jax.jit(self.call)

    def call_with(self, kernels: kernels.Kernels) -> Callable:
        """The same with other kernels."""
        graph = nnx.graphdef(
            self.start if kernels == self.start.answering.kernels else self.build(kernels=kernels)
        )
        start = self.start
        return lambda params, stream, source: nnx.merge(graph, params)(
            models.by_stack(start, stream, source)
        )

    def source(
        self, tokens: object = None, *parts: object, arange: bool = False, **more: object
    ) -> Stream | None:
        """Default input of an encoder–decoder's encoder, with parts replaced. None elsewhere."""
        if self.architecture != "encoder_decoder":
            return None
        return self.stream(
            default_source() if tokens is None else tokens, *parts, arange=arange, **more
        )

    def logits(
        self,
        tokens=None,
        positions=None,
        mask=None,
        segments=None,
        *,
        source=None,
        params=None,
        arange=False,
        call=None,
    ):
        """Compiled logits of a default batch with parts replaced."""
        read = self.stream(
            default_tokens() if tokens is None else tokens, positions, mask, segments, arange=arange
        )
        source = self.source(arange=arange) if source is None else source
        call = self.compiled if call is None else jax.jit(call)
        return np.asarray(call(self.params if params is None else params, read, source))

    @functools.cached_property
    def decoded(self) -> dict[str, np.ndarray]:
        """Logits of a full forward pass, and of a prefill with prompts and decoding from the cache.

        Prompts and answers differ in length: the first example has 4 + 3 tokens, the second has
        2 + 2. Positions are uneven.

        Returns:
          full, cached: [B, L, V] logits.
          prompt, answer: [B, L], True at the tokens of a prompt and of an answer.
        """
        tokens, prompts, answers = default_tokens(), jnp.asarray([4, 2]), jnp.asarray([3, 2])
        rest = jnp.take_along_axis(tokens, prompts[:, None] + jnp.arange(3)[None], axis=1)
        source = self.source(mask=models.prefix([SOURCE_LENGTH, 4], SOURCE_LENGTH))

        def cached(params, source):
            model = nnx.merge(nnx.graphdef(self.start), params)
            empty = start(model, (self.on_axes(UNEVEN),), BATCH, source)
            prefill, cache = extend(model, empty, tokens[:, :4], models.prefix(prompts, 4))
            return prefill, models.decode(model, cache, rest, models.prefix(answers, 3))

        prefill, stepped = map(np.asarray, jax.jit(cached)(self.params, source))
        whole, prompt = (np.asarray(models.prefix(n, LENGTH)) for n in (prompts + answers, prompts))
        found = {
            "full": self.logits(tokens, UNEVEN, jnp.asarray(whole), source=source),
            "prompt": prompt,
            "answer": whole & ~prompt,
        }
        found["cached"] = np.zeros_like(found["full"])
        found["cached"][prompt] = prefill[prompt[:, :4]]
        found["cached"][whole & ~prompt] = stepped[np.asarray(models.prefix(answers, 3))]
        return found


def default_tokens(batch: int = BATCH, length: int = LENGTH) -> jax.Array:
    return models.random_tokens(batch, length)


def default_source(batch: int = BATCH, length: int = SOURCE_LENGTH) -> jax.Array:
    return models.random_tokens(batch, length, size=9, seed=8)


def in_(*architectures: str) -> Callable:
    """Marks a law that makes sense in some architectures only."""

    def mark(law: Callable) -> Callable:
        law.architectures = architectures  # type: ignore[attr-defined]
        return law

    return mark
