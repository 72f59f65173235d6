"""Base classes of position encodings and the token context that their hooks receive.

An `InputEncoding` embeds positions, and the embedding meets the token embedding at the input. An
`AttentionEncoding` acts inside attention through hooks. The default of every hook changes nothing,
so the base class is NoPE, and several encodings compose on one layer. Encodings receive positions
and never lengths or indices, so packing, offsets and randomized positions work with all of them.

Shape letters: B batch, L queries, S keys, H heads, D width, Dh head width, C channels of an
embedding, A axes of a position, P pairs of channels that rotate.
"""

import dataclasses
import inspect
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Num, PyTree, Shaped

from pe_lab.choices import ChecksChoices
from pe_lab.encodings._checks import (
    check_arguments,
    check_declared,
    check_site,
    constructor_signature,
)
from pe_lab.encodings.ops import (
    as_positions,
    check_axes,
    check_finite,
    masked_softmax,
    pad_channels,
)
from pe_lab.encodings.requirements import Requirements

Lift = Literal["pad", "project"]
# Argument of a hook -> the argument with its tokens.
SIDES = {"Q": "Q", "K": "K", "q": "Q", "k": "K", "v": "K"}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Tokens:
    """The tokens of one side of an attention call (queries or keys), as encodings see them.

    Attributes:
      positions: [B|1, L], integer or float; [B|1, L, A] where a position has several axes.
      slots: [B|1, L], index of each token on the key axis; None in cross-attention, where queries
        and keys are different streams.
      lengths: [B], number of valid tokens of each example, so far while decoding; None if unknown.
      features: result of the encoding's `features` for these tokens, leaves [B, L, ...].
      preceding: [B|1, L], number of tokens before each one in its example; None: the slot is this
        number.
      arange: static; the positions are consecutive, one row for the whole batch, and queries and
        keys start at the same position.
    """

    positions: Num[Array, "#b l *a"]
    slots: Int[Array, "#b l"] | None = None
    lengths: Int[Array, "_"] | None = None
    features: PyTree = None
    preceding: Int[Array, "#b l"] | None = None
    arange: bool = dataclasses.field(default=False, metadata=dict(static=True))

    def on_axis(self, axis: int | None) -> "Tokens":
        """The same tokens with one axis of their positions; None keeps all axes.

        Raises:
          ValueError: the positions do not have this axis.
        """
        if axis is None:
            return self
        shape = self.positions.shape
        if len(shape) < 3 or not 0 <= axis < shape[2]:
            raise ValueError(f"Axis {axis} needs positions [B, L, A], got {list(shape)}.")
        return dataclasses.replace(self, positions=self.positions[..., axis])


class _Encoding(ChecksChoices, nnx.Module):
    """Base of both kinds of encoding: declared requirements and a readable signature.

    Attributes:
      requirements: what the encoding needs and guarantees.
      example: values of the arguments without default, with which pages show the encoding.
      head_dim: Dh, if the encoding is built for one head width; hooks check it.
    """

    requirements: Requirements
    head_dim: int | None = None
    example: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        check_site(cls, inherited=getattr(super(cls, cls), "requirements", cls.requirements))
        # Flax's metaclass hides the arguments of the constructor from `help`.
        cls.__signature__ = constructor_signature(cls)  # type: ignore[attr-defined]
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                # The hooks of the base class take queries and keys of any width.
                check_width = cls.__module__ != __name__
                checked = check_arguments(method, Tokens, SIDES, check_width=check_width)
                setattr(cls, name, checked)

    def require(self, **changes: Any) -> None:
        """Change requirements that depend on constructor arguments."""
        self.requirements = dataclasses.replace(self.requirements, **changes)


class InputEncoding(_Encoding):
    """An embedding of each position, combined with the token embedding.

    Args:
      channels: C, the channels of `embed`.
      width: D, the width of the model.
      combine: "add" the embedding, "concat" it and project back to D, or "multiply" by it.
      lift: how an embedding of C < D channels reaches D when it is added or multiplied: "pad" with
        zeros, or "project" by a learned matrix.
      scale: factor on the embedding before it is combined.
      learn_scale: train the factor, starting from `scale`.
      rngs: of random parameters; None if there are none.
    """

    requirements = Requirements(site="input")

    def __init__(
        self,
        channels: int,
        /,
        *,
        width: int,
        combine: Literal["add", "concat", "multiply"] = "add",
        lift: Lift = "pad",
        scale: float = 1.0,
        learn_scale: bool = False,
        rngs: nnx.Rngs | None = None,
    ):
        if lift == "pad" and combine != "concat" and channels > width:
            raise ValueError(
                f"{type(self).__name__} has {channels} channels and the width is {width}: take "
                f"fewer, or lift='project'."
            )
        check_finite(type(self).__name__, scale=scale)
        self.width = width
        self.combine = combine
        self.scale = nnx.Param(jnp.asarray(scale, jnp.float32)) if learn_scale else scale
        projection = None
        if combine == "concat" or lift == "project":
            if rngs is None:
                raise ValueError(
                    f"{type(self).__name__} draws a matrix for combine='concat' and for "
                    f"lift='project', so it needs rngs=nnx.Rngs(0)."
                )
            inputs = width + channels if combine == "concat" else channels
            projection = nnx.Linear(inputs, width, use_bias=False, rngs=rngs)
        self.projection = projection

    def embed(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l c"]:
        """Embedding of each position, [B|1, L] (or [B|1, L, A]) -> [B|1, L, C], in float32."""
        raise NotImplementedError

    def scaled_embedding(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l d"]:
        """The embedding times its scale, lifted to D channels unless it is concatenated."""
        embedding = self.embed(positions)
        scale = self.scale[...] if isinstance(self.scale, nnx.Param) else self.scale
        embedding = scale * embedding
        if self.combine == "concat":
            return embedding
        if self.projection is not None:
            return self.projection(embedding)
        return pad_channels(embedding, self.width)

    def combine_with(
        self, x: Float[Array, "b l d"], embedding: Float[Array, "#b l c"]
    ) -> Float[Array, "b l d"]:
        """Token embeddings combined with the result of `scaled_embedding`."""
        embedding = embedding.astype(x.dtype)
        if self.combine == "add":
            return x + embedding
        if self.combine == "multiply":
            return x * embedding
        assert self.projection is not None
        # One row of positions serves all examples, but concatenation does not broadcast.
        batch, length, _ = x.shape
        channels = embedding.shape[-1]
        embedding = jnp.broadcast_to(embedding, (batch, length, channels))
        both = jnp.concatenate([x, embedding], axis=-1)
        return self.projection(both)

    def __call__(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> Float[Array, "b l d"]:
        embedding = self.scaled_embedding(positions)
        return self.combine_with(x, embedding)


class AttentionEncoding(_Encoding):
    """The identity: logits = q·k / sqrt(Dh), softmax, weighted sum. Subclasses override hooks.

    All biases are in units of logits: they are added after q·k / sqrt(Dh).

    Every constructor takes `rngs`, also without random parameters, because Flax's Linen bridge
    passes it to all modules.
    """

    requirements = Requirements()

    def __init__(self, *, rngs: nnx.Rngs | None = None):
        pass

    def __init_subclass__(cls, **options: object):
        super().__init_subclass__(**options)
        check_declared(cls, cls.requirements, base=AttentionEncoding)

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[PyTree, PyTree]:
        """State of each token: (for queries, for keys), each None or leaves [B, L, ...].

        The state of the keys is cached together with keys and values.
        """
        return None, None

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h f"], Float[Array, "b s h f"]]:
        """Queries and keys of the product. They may widen; the scale stays 1 / sqrt(Dh)."""
        return q, k

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "_ _ l s"] | None:
        """Additive term [B|1, H|1, L, S] that depends on positions alone."""
        return None

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"] | None:
        """Additive term [B, H, L, S] that reads the raw queries, keys or features."""
        return None

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "_ _ l s"] | None:
        """[B|1, H|1, L, S], True where a query may attend, beyond what the model allows."""
        return None

    def transform_logits(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        """New logits from those with all biases, not yet masked. Declare replaces=("logits",)."""
        return s

    def normalize(
        self, s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]
    ) -> Float[Array, "b h l s"]:
        """Attention weights, zeros if a query sees no key. Declare replaces=("normalize",)."""
        return masked_softmax(s, mask)

    def combine(
        self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b l h e"]:
        """Weighted sum of values. Declare replaces=("combine",)."""
        return weighted_sum(w, v)


def weighted_sum(w: Float[Array, "b h l s"], v: Float[Array, "b s h e"]) -> Float[Array, "b l h e"]:
    return jnp.einsum("bhls,bshe->blhe", w, v)


def relative(Q: Tokens, K: Tokens) -> Num[Array, "b l s"]:
    """Key position - query position, [B|1, L, S].

    Raises:
      ValueError: positions have several axes.
    """
    for side in (Q, K):
        check_axes(side.positions, 1, "An encoding of offsets")
    of_keys = as_positions(K.positions)[:, None, :]
    of_queries = as_positions(Q.positions)[:, :, None]
    return of_keys - of_queries


class OffsetBias(AttentionEncoding):
    """A bias that depends on the offset (key position - query position) alone.

    Subclasses define `of_offset` and nothing else.
    """

    requirements = Requirements(relative=True, cross=True, only_bias=True)

    def of_offset(self, offset: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        """Bias of each head at each offset, [*O] -> [H, *O]."""
        raise NotImplementedError

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "_ h l s"]:
        by_head = self.of_offset(relative(Q, K))  # [H, B|1, L, S]
        return jnp.moveaxis(by_head, 0, 1)
