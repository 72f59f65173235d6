"""Laws that every encoding in its folder must pass, as functions that raise AssertionError.

A `Subject` is one encoding with arguments inside a tiny transformer of one architecture. In an
encoder–decoder it also acts in cross-attention, if its class allows that. test_laws.py runs every
law on every member. test_planted.py runs them on broken encodings and sees them fail.
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
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.model.decode import extend, start
from pe_lab.model.sites import is_encoding
from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer
from pe_lab.runs import plugins
from pe_lab.runs.settings import STACKS, Model
from tests import members, models
from tests.models import ARCHITECTURES, assert_close, assert_differs, stream

BATCH, LENGTH, SOURCE_LENGTH = 2, 7, 6
HOOKS = (
    "features",
    "transform_qk",
    "bias",
    "content_bias",
    "mask",
    "transform_logits",
    "normalize",
    "combine",
)
BOUND = 64  # positions that the laws use, of those that a member has
UNEVEN = jnp.asarray([[[0, 1, 3, 4, 9, 11, 12], [0, 2, 3, 5, 6, 7, 13]]])  # a row for each example


@functools.cache
def names(architecture: str = "decoder") -> tuple[str, ...]:
    """Members that may act in all self-attention of an architecture."""
    names = members.names("encodings")
    return tuple(name for name in names if acts_in(requirements(name), architecture))


def acts_in(needs: Requirements, architecture: str) -> bool:
    """Whether an encoding may act in all self-attention of an architecture."""
    traits = {
        "decoder": ["causal"],
        "encoder": ["bidirectional"],
        "encoder_decoder": ["causal", "bidirectional"],
    }[architecture]
    return all(getattr(needs, trait) for trait in traits)


def requirements(name: str) -> Requirements:
    return plugins.find("encodings", name).requirements  # type: ignore[attr-defined]


def hooks(encoding: Any) -> list[str]:
    """The hooks that an encoding, or its class, has of its own."""
    cls = encoding if isinstance(encoding, type) else type(encoding)
    return [hook for hook in HOOKS if getattr(cls, hook) is not getattr(AttentionEncoding, hook)]


own_tests = functools.partial(members.own_tests, "encodings")
spec = functools.partial(members.spec, "encodings")


def build(name: str) -> Any:
    """The member alone, outside of a model."""
    context = {"width": 64, "num_heads": 4, "head_dim": 16, "num_layers": 2, "bidirectional": False}
    plugin = plugins.resolve("encodings", spec(name))
    return plugins.build("encodings", plugin, **context, rngs=nnx.Rngs(params=0))


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
        self, tokens: Any = None, *parts: Any, arange: bool = False, **more: Any
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


# The laws. Each takes a Subject.


def shape_is_kept_and_finite(subject: Subject) -> None:
    """The model has one finite logit for each token and symbol."""
    logits = subject.logits()
    assert logits.shape == (BATCH, LENGTH, 11)
    assert np.isfinite(logits).all()


def one_token_is_enough(subject: Subject) -> None:
    """The logits of a string of one token are finite."""
    assert np.isfinite(
        subject.logits(default_tokens(length=1), source=subject.source(default_source(length=1)))
    ).all()


def positions_are_read_not_indices(subject: Subject) -> None:
    """Uneven gaps between positions change the logits exactly if the encoding reads positions."""
    base, uneven = subject.logits(), subject.logits(positions=UNEVEN[:, :1])
    if subject.requirements.reads_positions:
        assert_differs(base, uneven)
    else:
        assert_close(base, uneven, 0)


def shift_is_ignored_if_relative(subject: Subject) -> None:
    """A shift of all positions changes the logits exactly if the encoding is not relative.

    Both streams are shifted. There are several shifts, because a wrong rotation can be right at
    one: 37 is nearly six whole turns.
    """
    base, largest = subject.logits(), subject.bound - LENGTH
    shifts = sorted({min(shift, largest) for shift in (1, 4, 35, 37)})
    if subject.requirements.relative and subject.max_positions is None:
        shifts.append(-35)
    for shift in shifts:
        source = subject.source(positions=np.arange(SOURCE_LENGTH)[None, None] + shift)
        shifted = subject.logits(positions=np.arange(LENGTH)[None, None] + shift, source=source)
        if subject.requirements.relative:
            assert_close(base, shifted, 1e-4)
    if not subject.requirements.relative:
        assert_differs(base, shifted)


@in_("encoder_decoder")
def between_two_streams_both_positions_are_read(subject: Subject) -> None:
    """A shift of one stream alone changes the logits of an encoding that reads positions, if it
    acts in cross-attention or is not relative.
    """
    base = subject.logits()
    of_target = subject.logits(positions=np.arange(LENGTH)[None, None] + 3)
    of_source = subject.logits(
        source=subject.source(positions=np.arange(SOURCE_LENGTH)[None, None] + 3)
    )
    for shifted in (of_target, of_source):
        if subject.requirements.reads_positions and (
            subject.acts_across or not subject.requirements.relative
        ):
            assert_differs(base, shifted)
        else:
            assert_close(base, shifted, 1e-4)


@in_("decoder", "encoder_decoder")
def order_is_seen(subject: Subject) -> None:
    """Two swapped tokens before the last one change its logits."""
    tokens = default_tokens()
    tokens = tokens.at[:, 4].set(3).at[:, 5].set(8)
    swapped = tokens.at[:, 4].set(8).at[:, 5].set(3)
    assert_differs(subject.logits(tokens)[:, 6], subject.logits(swapped)[:, 6])


@in_("encoder", "encoder_decoder")
def an_encoder_sees_order_through_positions_alone(subject: Subject) -> None:
    """Permuting an encoder's tokens changes the logits exactly if the encoding reads positions."""
    if subject.architecture == "encoder":
        order, tokens = jnp.asarray([3, 0, 6, 1, 2, 4, 5]), default_tokens()
        logits, permuted = subject.logits(tokens)[:, order], subject.logits(tokens[:, order])
    else:
        order, tokens = jnp.asarray([3, 0, 5, 1, 2, 4]), default_source()
        logits, permuted = (
            subject.logits(source=subject.source(tokens)),
            subject.logits(source=subject.source(tokens[:, order])),
        )
    if subject.requirements.reads_positions:
        assert_differs(logits, permuted)
    else:
        assert_close(logits, permuted)


def last_two_positions_differ(subject: Subject) -> None:
    """At the largest positions, a step of one changes the logits unless the encoding is coarse."""
    last = np.arange(subject.bound - LENGTH, subject.bound)[None, None]
    before = last.copy()
    before[..., -1] = subject.bound - 2
    if subject.requirements.reads_positions and not subject.requirements.coarse:
        assert_differs(
            subject.logits(positions=last)[:, -1], subject.logits(positions=before)[:, -1]
        )


def beyond_its_positions_there_is_nothing(subject: Subject) -> None:
    """A position outside the declared range, such as -1, gives NaN and no row of the table."""
    if subject.max_positions is None:
        return
    for outside in (subject.max_positions, -1):
        positions = np.append(np.arange(LENGTH - 1), outside)[None, None]
        assert np.isnan(subject.logits(positions=positions)[:, -1]).all(), (
            "a position outside the range got an embedding"
        )


def negative_positions_are_positions_too(subject: Subject) -> None:
    """At negative positions logits are finite, and a step of one changes them.

    The step may have no effect for a coarse encoding.
    """
    if subject.max_positions is not None:
        return
    up_to_zero = np.arange(1 - LENGTH, 1)[None, None]
    logits = subject.logits(positions=up_to_zero)
    for each in (logits, subject.logits(positions=up_to_zero - 40)):
        assert np.isfinite(each).all(), "not finite at negative positions"
    before = up_to_zero.copy()
    before[..., -1] -= 1
    if subject.requirements.reads_positions and not subject.requirements.coarse:
        assert_differs(logits[:, -1], subject.logits(positions=before)[:, -1])


def one_row_equals_a_row_for_each(subject: Subject) -> None:
    """One row of positions for the batch gives the same logits as that row for each example."""
    rows = np.broadcast_to(np.arange(LENGTH), (1, BATCH, LENGTH))
    source = subject.source(
        positions=np.broadcast_to(np.arange(SOURCE_LENGTH), (1, BATCH, SOURCE_LENGTH))
    )
    assert_close(subject.logits(), subject.logits(positions=rows, source=source))


def cpu_kernels_equal_the_reference(subject: Subject) -> None:
    """The kernels of CPUs give the logits of the reference, for consecutive and other positions."""
    for arange in (False, True):
        assert_kernels_agree(subject, "cpu", arange)


def accelerator_kernels_equal_the_reference(subject: Subject) -> None:
    """The kernels of accelerators give the logits of the reference."""
    assert_kernels_agree(subject, "cuda", arange=True)


def assert_kernels_agree(subject: Subject, platform: str, arange: bool) -> None:
    mask = models.prefix([LENGTH, 5], LENGTH)
    source = subject.source(mask=models.prefix([4, SOURCE_LENGTH], SOURCE_LENGTH), arange=arange)
    call = subject.call_with(kernels.choose("auto", platform))
    fast = subject.logits(mask=mask, source=source, arange=arange, call=call)
    assert_close(subject.logits(mask=mask, source=source)[mask], fast[mask])


def compiled_equals_eager(subject: Subject) -> None:
    """The compiled model gives the logits of the model that is not compiled."""
    with jax.disable_jit():
        eager = subject.call(subject.params, subject.stream(default_tokens()), subject.source())
    assert_close(eager, subject.logits())


@in_("decoder", "encoder_decoder")
def future_does_not_leak(subject: Subject) -> None:
    """The logits of a token do not depend on later tokens."""
    tokens = default_tokens()
    other = tokens.at[:, 5:].set((tokens[:, 5:] + 1) % 11)
    assert_close(subject.logits(tokens)[:, :5], subject.logits(other)[:, :5], 0)


def padding_does_not_reach_valid_tokens(subject: Subject) -> None:
    """An example has the same logits alone, padded with tokens, and padded with NaN embeddings.

    Both streams are padded.
    """
    tokens, source_tokens = default_tokens(), default_source()
    mask, source_mask = (
        models.prefix([4] * BATCH, LENGTH),
        models.prefix([3] * BATCH, SOURCE_LENGTH),
    )
    positions = np.where(mask[:1], np.arange(LENGTH)[None], 0)[None]
    source_positions = np.where(source_mask[:1], np.arange(SOURCE_LENGTH)[None], 0)[None]

    def alone():
        return subject.logits(tokens[:, :4], source=subject.source(source_tokens[:, :3]))

    def padded(params=None):
        source = subject.source(source_tokens, source_positions, source_mask)
        return subject.logits(tokens, positions, mask, source=source, params=params)[:, :4]

    assert_close(alone(), padded())
    poisoned = jax.tree_util.tree_map_with_path(
        lambda path, p: p.at[-1].set(jnp.nan) if is_embedding(path) else p, subject.params
    )
    tokens = jnp.where(mask, jnp.minimum(tokens, 9), 10)
    source_tokens = jnp.where(source_mask, jnp.minimum(source_tokens, 7), 8)
    assert_close(alone(), padded(poisoned))


def is_embedding(path: tuple[Any, ...]) -> bool:
    return str(path[1]) == "['embedding']"


def packed_segments_equal_separate_ones(subject: Subject) -> None:
    """Two examples in one context have the logits of each example alone.

    The second one is padded where it is alone. An encoding that reads lengths is left out.
    """
    if subject.requirements.reads_length:
        return
    tokens, of_source = default_tokens(), default_source()
    segments = jnp.asarray([[1, 1, 1, 1, 2, 2, 2]] * BATCH)
    source = subject.source(
        of_source,
        jnp.asarray([[[0, 1, 2, 0, 1, 2]]]),
        segments=jnp.asarray([[1, 1, 1, 2, 2, 2]] * BATCH),
    )
    packed = subject.logits(
        tokens, jnp.asarray([[[0, 1, 2, 3, 0, 1, 2]]]), segments=segments, source=source
    )
    assert_close(
        packed[:, :4], subject.logits(tokens[:, :4], source=subject.source(of_source[:, :3]))
    )
    second = jnp.pad(tokens[:, 4:], ((0, 0), (0, 1)))
    separate = subject.logits(
        second, mask=models.prefix([3] * BATCH, 4), source=subject.source(of_source[:, 3:])
    )
    assert_close(packed[:, 4:], separate[:, :3])


def one_seed_gives_one_backbone(subject: Subject) -> None:
    """The backbone's initial parameters are those of the same seed without an encoding."""
    bare = backbone_parameters(subject.architecture, subject.changes)
    mine = jax.tree_util.tree_leaves_with_path(models.params(subject.start))
    backbone = {path: value for path, value in mine if not is_encoding(path)}
    assert backbone.keys() == bare.keys()
    for path, value in backbone.items():
        np.testing.assert_array_equal(value, bare[path])


@functools.cache
def backbone_parameters(architecture: str, changes: tuple[tuple[str, Any], ...]) -> dict[Any, Any]:
    """Parameters by path of the model without encodings, from the seed of `Subject.start`."""
    model = Subject((), architecture, changes).build()
    return dict(jax.tree_util.tree_leaves_with_path(models.params(model)))


def gradients_are_finite_and_reach_every_parameter(subject: Subject) -> None:
    """Every parameter has a gradient that is finite and not 0."""
    mask = models.prefix([LENGTH, 5], LENGTH)
    read = subject.stream(default_tokens(), np.where(mask, np.arange(LENGTH)[None], 0)[None], mask)
    source = subject.source(mask=models.prefix([4, SOURCE_LENGTH], SOURCE_LENGTH))
    loss = jax.jit(
        jax.grad(lambda p: jnp.where(mask[..., None], subject.call(p, read, source) ** 2, 0).sum())
    )
    for path, g in jax.tree_util.tree_leaves_with_path(loss(subject.params)):
        name = jax.tree_util.keystr(path)
        assert np.isfinite(g).all(), f"the gradient of {name} is not finite"
        assert np.abs(g).max() > 0, f"the gradient of {name} is 0"


def half_precision_keeps_positions_apart(subject: Subject) -> None:
    """Positions stay float32 in a model that computes in bfloat16, which has no 257.

    So logits at far positions are about as close to those of float32 as at positions below 257.
    The median of the far errors counts, because one place may be ill-conditioned. A step of one
    that float32 sees is seen too.
    """
    half = dataclasses.replace(subject, changes=(*subject.changes, ("compute_dtype", "bfloat16")))
    far = (
        (500, 1000, 2000) if subject.max_positions is None else ()
    )  # short tables end before bfloat16 does
    firsts = (0, *far) if far else (0, min(250, subject.bound - LENGTH))
    places = [first + np.arange(LENGTH)[None, None] for first in firsts]
    whole, rounded = ([one.logits(positions=p) for p in places] for one in (subject, half))
    errors = [np.abs(a - b) for a, b in zip(whole, rounded, strict=True)]
    assert np.sqrt((errors[0] ** 2).mean()) < 0.1 * whole[0].std(), (
        "half of the precision is not a tenth of the answer"
    )
    if far:
        assert np.median([e.max() for e in errors[1:]]) < 3 * errors[0].max(), "positions are lost"
    if subject.requirements.coarse:
        return
    for p, a, b in zip(places, whole, rounded, strict=True):
        before = p.copy()
        before[..., -1] -= 1
        seen = np.abs(a - subject.logits(positions=before))[:, -1].max()
        if seen > 0.05:  # more than the rounding of an answer
            assert np.abs(b - half.logits(positions=before))[:, -1].max() > seen / 2


@in_("decoder", "encoder_decoder")
def prefill_equals_the_full_forward(subject: Subject) -> None:
    """The prompt's logits from a cache are those of a full forward pass.

    An encoding that reads lengths is left out, because the full forward pass is longer.
    """
    if subject.requirements.reads_length:
        return
    found = subject.decoded
    assert_close(found["full"][found["prompt"]], found["cached"][found["prompt"]])


@in_("decoder", "encoder_decoder")
def decoding_equals_the_full_forward(subject: Subject) -> None:
    """The answer's logits, token by token from a cache, are those of a full forward pass.

    An encoding that reads lengths is left out, because it sees the length grow.
    """
    if subject.requirements.reads_length:
        return
    found = subject.decoded
    assert_close(found["full"][found["answer"]], found["cached"][found["answer"]])


LAWS = {
    f.__name__: f
    for f in (
        shape_is_kept_and_finite,
        one_token_is_enough,
        positions_are_read_not_indices,
        shift_is_ignored_if_relative,
        between_two_streams_both_positions_are_read,
        order_is_seen,
        an_encoder_sees_order_through_positions_alone,
        last_two_positions_differ,
        beyond_its_positions_there_is_nothing,
        negative_positions_are_positions_too,
        one_row_equals_a_row_for_each,
        cpu_kernels_equal_the_reference,
        accelerator_kernels_equal_the_reference,
        compiled_equals_eager,
        half_precision_keeps_positions_apart,
        future_does_not_leak,
        padding_does_not_reach_valid_tokens,
        packed_segments_equal_separate_ones,
        one_seed_gives_one_backbone,
        gradients_are_finite_and_reach_every_parameter,
        prefill_equals_the_full_forward,
        decoding_equals_the_full_forward,
    )
}


def laws_of(architecture: str) -> list[str]:
    return [
        name
        for name, law in LAWS.items()
        if architecture in getattr(law, "architectures", ARCHITECTURES)
    ]


def check(spec: dict[str, Any], architecture: str = "decoder") -> list[str]:
    """Run every law of an architecture on one encoding, for instance one of your own package.

    Returns:
      the names of the laws, which all hold.

    Raises:
      AssertionError: the first law that does not hold.
    """
    subject = Subject(spec, architecture)
    for law in laws_of(architecture):
        LAWS[law](subject)
    return laws_of(architecture)


# What every input encoding takes.
COMMON = {
    "combine": ("add", "multiply"),
    "scale": (1.0, 0.5),
    "learn_scale": (False, True),
    "lift": ("pad", "project"),
}


def is_attention(name: str) -> bool:
    return issubclass(plugins.find("encodings", name), AttentionEncoding)


def sensitive(name: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Argument -> two sets of arguments that must give different logits.

    A member states two values, or two dicts where its argument matters only beside others.
    """
    found = getattr(own_tests(name), "SENSITIVE", {})  # test_laws.py reports a file without it
    return {
        a: tuple(v if isinstance(v, dict) else {a: v} for v in values)
        for a, values in found.items()
    }
