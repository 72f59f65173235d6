"""The two kinds of position encoding, and what they are told of tokens.

An `InputEncoding` turns positions into a code that meets the token embedding. An
`AttentionEncoding` acts inside attention through hooks whose defaults change nothing, so the base
class is NoPE and encodings compose. Both are told positions, never lengths or indices: packing,
offsets and randomized positions then work with every encoding.

Shape letters: B batch, L queries, S keys, H heads, D width, Dh head width, C channels of a code, A axes of
a position, P pairs of channels that rotate.
"""

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Num, Shaped

from pe_lab.choices import ChecksChoices

Lift = Literal["pad", "project"]
HOOKS_OF_THE_EXPLICIT_PATH = ("scores", "weights", "mix")
TRAITS = (  # of attention encodings; what wraps one has its own
    *("relative", "reads_positions", "real_positions", "reads_length", "sums_between", "coarse", "adds_scores"),
    *("causal", "bidirectional", "cross", "num_axes", "max_positions"),
)


@dataclasses.dataclass(frozen=True)
class Tokens:
    """One side of an attention call, as encodings see it.

    Attributes:
      positions: [B|1, L], int or float; [B|1, L, A] where a position has several axes.
      slots: [B|1, L], the place of each token on the key axis; None where the two sides are different streams.
      lengths: [B], each example's true length, so far while decoding; None where it is not known.
      features: what the encoding's `features` returned for these tokens, [B, L, ...] leaves.
      arange: static; the positions are consecutive, in one row for the whole batch, and both sides start alike.
    """

    positions: Any
    slots: Any = None
    lengths: Any = None
    features: Any = None
    arange: bool = False


jax.tree_util.register_dataclass(Tokens, ["positions", "slots", "lengths", "features"], ["arange"])


def _signature(cls: type) -> inspect.Signature:
    """Of a constructor, its parents' arguments included where it passes on the **rest."""
    found: dict[str, inspect.Parameter] = {}
    for owner in (c for c in cls.__mro__ if "__init__" in vars(c) and c is not object):
        own = [p for p in inspect.signature(vars(owner)["__init__"]).parameters.values() if p.name != "self"]
        for p in own:
            found.setdefault(p.name, p)
        if not any(p.kind is p.VAR_KEYWORD for p in own) or owner.__module__ == "flax.nnx.module":
            break
    named = [p for p in found.values() if p.kind is p.KEYWORD_ONLY]
    return inspect.Signature(named or [p for p in found.values() if p.kind is p.POSITIONAL_OR_KEYWORD])


def _check_tokens(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method with a check of the parameters that it annotates as `Tokens`.

    Without it a bare array fails inside the method, where the error does not name the cause. The
    check reads types only, so compiled programs do not contain it.
    """
    signature = inspect.signature(method)
    names = list(signature.parameters)
    of_tokens = [name for name in names if signature.parameters[name].annotation is Tokens]
    if not of_tokens:
        return method

    @functools.wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        for name in of_tokens:
            value = values.get(name)
            if name in values and not isinstance(value, Tokens):
                hook = f"{type(args[0]).__name__}.{method.__name__}"
                got = type(value).__name__
                message = f"{hook} takes Tokens as {name}, got {got}: pass Tokens(positions)."
                raise TypeError(message)
        return method(*args, **kwargs)

    return checked


class _Traits(ChecksChoices):
    """What an encoding declares of itself; the model refuses the rest and the laws read it."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        cls.__signature__ = _signature(cls)  # type: ignore[attr-defined]  # Flax's metaclass hides it from help
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _check_tokens(method))

    at_input: ClassVar[bool]
    relative: bool = False  # a common shift of all positions changes nothing
    reads_positions: bool = True
    real_positions: bool = True  # positions may be fractions
    reads_length: bool = False  # the whole example's length matters, beside its positions
    causal: bool = True
    bidirectional: bool = True
    sums_between: bool = False  # all tokens between key and query matter, whether the query sees them or not
    coarse: bool = False  # neighbouring positions may mean the same
    adds_scores: bool = False  # what `scores` adds does not depend on s
    num_axes: int = 1  # A of the positions that it reads; 1: positions are [B|1, L]
    max_positions: int | None = None  # positions 0..max_positions-1 have a code; None: all have


class InputEncoding(_Traits, nnx.Module):
    """A code of each position, combined with the token embedding.

    Args:
      code_width: C, the channels of `code`.
      width: D, the model's.
      combine: "add" the code, "concat" it and project back to D, or "multiply" by it.
      lift: how a code of C < D channels reaches D when added or multiplied: "pad" with zeros, or
        "project" by a learned matrix.
      scale: factor on the code before it is combined.
      learn_scale: train the factor, starting from `scale`.
    """

    at_input = True

    def __init__(
        self,
        code_width: int,
        /,
        *,
        width: int,
        combine: Literal["add", "concat", "multiply"] = "add",
        lift: Lift = "pad",
        scale: float = 1.0,
        learn_scale: bool = False,
        rngs: nnx.Rngs,
    ):
        name = type(self).__name__
        if lift == "pad" and combine != "concat" and code_width > width:
            raise ValueError(f"{name} has {code_width} channels and the width is {width}: take fewer, or lift='project'.")
        self.width, self.combine = width, combine
        self.scale = nnx.Param(jnp.asarray(scale)) if learn_scale else scale
        into = width + code_width if combine == "concat" else code_width
        projects = combine == "concat" or lift == "project"
        self.projection = nnx.Linear(into, width, use_bias=False, rngs=rngs) if projects else None

    def code(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l c"]:
        """The code of each position, [B|1, L] (or [B|1, L, A]) -> [B|1, L, C], in float32."""
        raise NotImplementedError

    def scaled_code(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l d"]:
        """What meets the embedding: the code times its scale, lifted to D unless concatenated."""
        scale = self.scale[...] if isinstance(self.scale, nnx.Param) else self.scale
        code = scale * self.code(positions)
        if self.combine == "concat":
            return code
        if self.projection is not None:
            return self.projection(code)
        return jnp.pad(code, ((0, 0), (0, 0), (0, self.width - code.shape[-1])))

    def __call__(self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]) -> Float[Array, "b l d"]:
        code = self.scaled_code(positions).astype(x.dtype)
        if self.combine == "add":
            return x + code
        if self.combine == "multiply":
            return x * code
        assert self.projection is not None
        code = jnp.broadcast_to(code, (*x.shape[:2], code.shape[-1]))
        return self.projection(jnp.concatenate([x, code], axis=-1))


class AttentionEncoding(_Traits, nnx.Module):
    """The identity: logits = q·k / sqrt(Dh), softmax, weighted sum. Subclasses override hooks.

    One rule of units for all: `bias` and `kernel` are in logit units, added after q·k / sqrt(Dh).
    """

    at_input = False
    cross: bool = False  # defined between two streams of positions
    shared: ClassVar[bool] = True  # by default one module serves all layers; matters with parameters

    def features(self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]) -> Any:
        """Per token: (for queries, for keys), each None or [B, L, ...] leaves; the latter is cached beside k and v."""
        return None, None

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h f"], Float[Array, "b s h f"]]:
        """Queries and keys as they enter the product; their width may grow, the scale stays 1 / sqrt(Dh)."""
        return q, k

    def kernel(self, offsets: Shaped[Array, "*o"]) -> Float[Array, "h *o"] | None:
        """A bias that depends on offsets (key position - query position) alone, [*O] -> [H, *O]."""
        return None

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "_ _ l s"] | None:
        """[B|1, H|1, L, S]. By default the kernel's, computed from L+S-1 offsets where positions are aranges."""
        if not self.acts_in("kernel"):
            return None
        if self.is_kernel(Q, K):
            queries, keys = Q.positions.shape[1], K.positions.shape[1]
            of_offset = self.kernel(jnp.arange(1 - queries, keys))
            return None if of_offset is None else toeplitz(of_offset, queries)[None]
        return None if (of_pair := self.kernel(relative(Q, K))) is None else jnp.moveaxis(of_pair, 0, 1)

    def is_kernel(self, Q: Tokens, K: Tokens) -> bool:
        """Whether its bias is the kernel of the distances in slots: positions are aranges, and no other bias takes its place."""
        return Q.arange and K.arange and self.acts_in("kernel") and not self.acts_in("bias")

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "_ _ l s"] | None:
        """[B|1, H|1, L, S], True where a query may attend, beyond what the model allows."""
        return None

    def scores(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        """The logits, scaled and biased but not masked, rewritten with the raw q and k."""
        return s

    def weights(self, s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]) -> Float[Array, "b h l s"]:
        """The normalizer. A query that may attend to nothing gets zeros."""
        return masked_softmax(s, mask)

    def mix(self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens) -> Float[Array, "b l h e"]:
        """The weighted sum of values."""
        return jnp.einsum("bhls,bshe->blhe", w, v)

    @property
    def fusable(self) -> bool:
        """Whether a fused kernel can compute it: no hook of the explicit path is overridden, or `scores` alone, which adds a bias."""
        own = [hook for hook in HOOKS_OF_THE_EXPLICIT_PATH if self.acts_in(hook)]
        return not own or (own == ["scores"] and self.adds_scores)

    def acts_in(self, hook: str) -> bool:
        """Whether it has its own version of a hook."""
        return getattr(type(self), hook) is not getattr(AttentionEncoding, hook)


class Chain(AttentionEncoding):
    """Several attention encodings on one layer: q and k, then scores, in order; biases add, masks and.

    At most one of them may replace the normalizer, and one the mixing of values. Built for a call
    from modules that the model owns, so it is made of references and never split into parameters.
    """

    def __init__(self, parts: Sequence[AttentionEncoding]):
        self.parts = nnx.List(parts)
        self.adds_scores = all(part.adds_scores for part in parts if part.acts_in("scores"))
        for hook in ("weights", "mix"):
            names = [type(p).__name__ for p in parts if p.acts_in(hook)]
            if len(names) > 1:
                raise ValueError(f"{' and '.join(names)} cannot act on one layer: each replaces {hook}.")

    def features(self, x, positions):
        pairs = [p.features(x, positions) for p in self.parts]
        return tuple(q for q, _ in pairs), tuple(k for _, k in pairs)

    def qk(self, q, k, Q: Tokens, K: Tokens):
        for part, Qi, Ki in self._each(Q, K):
            q, k = part.qk(q, k, Qi, Ki)
        return q, k

    def is_kernel(self, Q: Tokens, K: Tokens):
        biased = [part.is_kernel(Qi, Ki) for part, Qi, Ki in self._each(Q, K) if part.acts_in("kernel") or part.acts_in("bias")]
        return bool(biased) and all(biased)

    def kernel(self, offsets):
        found = [k for part in self.parts if (k := part.kernel(offsets)) is not None]
        return sum(found[1:], found[0]) if found else None

    def bias(self, Q: Tokens, K: Tokens):
        found = [b for part, Qi, Ki in self._each(Q, K) if (b := part.bias(Qi, Ki)) is not None]
        return sum(found[1:], found[0]) if found else None

    def mask(self, Q: Tokens, K: Tokens):
        found = [m for part, Qi, Ki in self._each(Q, K) if (m := part.mask(Qi, Ki)) is not None]
        return jnp.stack(jnp.broadcast_arrays(*found)).all(0) if found else None

    def scores(self, s, q, k, Q: Tokens, K: Tokens, mask):
        for part, Qi, Ki in self._each(Q, K):
            s = part.scores(s, q, k, Qi, Ki, mask)
        return s

    def weights(self, s, mask):
        for part in self.parts:
            if part.acts_in("weights"):
                return part.weights(s, mask)
        return super().weights(s, mask)

    def mix(self, w, v, Q: Tokens, K: Tokens):
        for part, Qi, Ki in self._each(Q, K):
            if part.acts_in("mix"):
                return part.mix(w, v, Qi, Ki)
        return super().mix(w, v, Q, K)

    def acts_in(self, hook):
        return any(part.acts_in(hook) for part in self.parts)

    def _each(self, Q: Tokens, K: Tokens):
        for i, part in enumerate(self.parts):
            own = [dataclasses.replace(T, features=None if T.features is None else T.features[i]) for T in (Q, K)]
            yield part, *own


class OnAxis(AttentionEncoding):
    """An encoding of one axis of positions that have several; its traits are the inner one's.

    Args:
      axis: of the A axes, from 0.
    """

    def __init__(self, inner: AttentionEncoding, axis: int):
        self.inner, self.axis = inner, axis
        for trait in TRAITS:
            setattr(self, trait, getattr(inner, trait))

    def features(self, x, positions):
        return self.inner.features(x, positions[..., self.axis])

    def qk(self, q, k, Q: Tokens, K: Tokens):
        return self.inner.qk(q, k, *self._own(Q, K))

    def is_kernel(self, Q: Tokens, K: Tokens):
        return self.inner.is_kernel(*self._own(Q, K))

    def kernel(self, offsets):
        return self.inner.kernel(offsets)

    def bias(self, Q: Tokens, K: Tokens):
        return self.inner.bias(*self._own(Q, K))

    def mask(self, Q: Tokens, K: Tokens):
        return self.inner.mask(*self._own(Q, K))

    def scores(self, s, q, k, Q: Tokens, K: Tokens, mask):
        Q, K = self._own(Q, K)
        return self.inner.scores(s, q, k, Q, K, mask)

    def weights(self, s, mask):
        return self.inner.weights(s, mask)

    def mix(self, w, v, Q: Tokens, K: Tokens):
        return self.inner.mix(w, v, *self._own(Q, K))

    def acts_in(self, hook):
        return self.inner.acts_in(hook)

    def _own(self, Q: Tokens, K: Tokens) -> list[Tokens]:
        for side in (Q, K):
            if side.positions.ndim < 3 or not 0 <= self.axis < side.positions.shape[2]:
                raise ValueError(f"OnAxis reads axis {self.axis} of positions [B, L, A], got {list(side.positions.shape)}.")
        return [dataclasses.replace(T, positions=T.positions[..., self.axis]) for T in (Q, K)]


def of_axes(positions: Num[Array, "b l *a"], num_axes: int, name: str) -> Num[Array, "b l *a"]:
    """The positions, if they have as many axes as is read of them.

    Raises:
      ValueError: they have not.
    """
    shape, wanted = positions.shape, "[B, L]" if num_axes == 1 else f"[B, L, {num_axes}]"
    if shape[2:] != (() if num_axes == 1 else (num_axes,)):
        raise ValueError(f"{name} reads positions {wanted}, got {list(shape)}.")
    return positions


def relative(Q: Tokens, K: Tokens) -> Num[Array, "b l s"]:
    """key position - query position, [B|1, L, S]: the only way to offsets.

    Raises:
      ValueError: positions have several axes.
    """
    for side in (Q, K):
        of_axes(side.positions, 1, "An encoding of offsets")
    return K.positions[:, None, :] - Q.positions[:, :, None]


def masked_softmax(s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]) -> Float[Array, "b h l s"]:
    """Softmax over the allowed keys in float32; a row that allows none is zero, and so are its gradients."""
    s = jnp.where(mask, s.astype(jnp.float32), jnp.finfo(jnp.float32).min)
    e = jnp.where(mask, jnp.exp(s - jax.lax.stop_gradient(s.max(axis=-1, keepdims=True))), 0.0)
    return e / jnp.maximum(e.sum(axis=-1, keepdims=True), jnp.finfo(jnp.float32).tiny)


def toeplitz(kernel: Float[Array, "h o"], num_queries: int | None = None) -> Float[Array, "h l s"]:
    """[H, L+S-1] over offsets 1-L..S-1 -> [H, L, S] with out[i, j] = kernel[j - i]; L = S unless given."""
    heads, offsets = kernel.shape
    num_queries = num_queries or (offsets + 1) // 2
    num_keys = offsets + 1 - num_queries
    if jax.default_backend() == "cpu":  # a row is a slice of the kernel, and values are copied in runs
        take = functools.partial(jax.lax.dynamic_slice_in_dim, kernel, slice_size=num_keys, axis=-1)
        return jax.vmap(take, out_axes=-2)(jnp.arange(num_queries)[::-1])
    return skew(jnp.broadcast_to(kernel[None, :, None], (1, heads, num_queries, offsets)), num_keys)[0]


def uniform_linear(inputs: int, outputs: int, rngs: nnx.Rngs) -> nnx.Linear:
    """A linear layer with the initialization of PyTorch's nn.Linear.

    Weights and biases are uniform within 1 / sqrt(inputs).
    """
    limit = inputs**-0.5

    def initialize(key: Array, shape: tuple[int, ...], dtype: Any) -> Array:
        return jax.random.uniform(key, shape, dtype, -limit, limit)

    return nnx.Linear(inputs, outputs, kernel_init=initialize, bias_init=initialize, rngs=rngs)


def lookup(table: Float[Array, "n c"], index: Num[Array, "*o"]) -> Float[Array, "*o c"]:
    """Rows of a table; an index outside of it, negative ones included, gives NaN instead of a wrong row."""
    if not jnp.issubdtype(index.dtype, jnp.integer):
        raise TypeError(f"A table is read at whole positions, got {index.dtype}.")
    inside = (index >= 0) & (index < table.shape[0])
    return jnp.where(inside[..., None], jnp.take(table, jnp.where(inside, index, 0), axis=0), jnp.nan)


def angles(positions: Num[Array, "*p"], frequencies: Sequence[float]) -> Float[Array, "*p f"]:
    """positions x frequencies in radians, up to whole turns: float32 within (-pi, pi), right to 1e-6 below position 2^24.

    A plain float32 product is off by 1e-3 at position 1e5 already. Here a whole position times a
    frequency's share of a turn is a product of integers modulo 2^32, whose wrap is the whole turns; a
    position's fraction is multiplied as usual.
    """
    turns = np.asarray(frequencies, np.float64) / (2 * math.pi) * 2.0**32
    high, low = (np.floor(turns) % 2.0**32).astype(np.uint32), (turns % 1.0).astype(np.float32)
    row, fractions = (*(1,) * positions.ndim, -1), jnp.issubdtype(positions.dtype, jnp.floating)
    whole = (jnp.floor(positions) if fractions else positions).astype(jnp.int32)[..., None]
    product = jax.lax.bitcast_convert_type(whole, jnp.uint32) * high.reshape(row)
    carried = jnp.floor(whole.astype(jnp.float32) * low.reshape(row)).astype(jnp.int32)
    phase = jax.lax.bitcast_convert_type(product, jnp.int32) + carried
    found = phase.astype(jnp.float32) * (2 * math.pi / 2.0**32)
    if not fractions:
        return found
    fraction = (positions - jnp.floor(positions)).astype(jnp.float32)[..., None]
    return found + fraction * jnp.asarray(frequencies, jnp.float32).reshape(row)


def rotate(
    x: Float[Array, "b l h e"],
    angles: Float[Array, "#b l #h p"],
    layout: Literal["interleaved", "half"] = "interleaved",
    amplitude: float = 1.0,
) -> Float[Array, "b l h e"]:
    """Turns the pairs of the first 2P channels of each head by an angle a pair, and leaves the other channels.

    Args:
      layout: a pair is two neighbours ("interleaved"), or channels m and m + P ("half").
      amplitude: of what is turned.
    """
    cos, sin, rotated = amplitude * jnp.cos(angles), amplitude * jnp.sin(angles), 2 * angles.shape[-1]
    side = -1 if layout == "interleaved" else -2  # of an array of pairs, [..., P, 2] or [..., 2, P]
    both = (*cos.shape[:-1], rotated)
    cos, sin = jnp.stack([cos, cos], axis=side).reshape(both), jnp.stack([-sin, sin], axis=side).reshape(both)
    turned, rest = x[..., :rotated].astype(jnp.float32), x[..., rotated:]
    pairs = turned.reshape(*x.shape[:-1], *((-1, 2) if layout == "interleaved" else (2, -1)))
    partners = jnp.flip(pairs, axis=side).reshape(turned.shape)  # faster on a CPU than halves apart and put together again
    y = (turned * cos + partners * sin).astype(x.dtype)
    return jnp.concatenate([y, rest], axis=-1) if rest.shape[-1] else y


def skew(x: Float[Array, "b h l o"], num_keys: int) -> Float[Array, "b h l s"]:
    """`toeplitz` with a row for each query: columns are the offsets 1-L, 2-L, …, out[..., i, j] = x[..., i, j-i+L-1].

    Of the L+S-1 offsets the last may be left out, as those of the future are where attention is causal: they count as 0.
    On an accelerator without a gather: rows padded by one and flattened start one earlier each, and a gradient's sums have one order.
    """
    if jax.default_backend() == "cpu":
        return _skewed(x, num_keys)
    batch, heads, num_queries, given = x.shape
    offsets = num_queries + num_keys - 1
    padded = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, offsets + 1 - given)))
    skewed = padded.reshape(batch, heads, -1)[..., : num_queries * offsets].reshape(batch, heads, num_queries, offsets)
    return skewed[..., num_queries - 1 :]


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _skewed(x: Float[Array, "b h l o"], num_keys: int) -> Float[Array, "b h l s"]:
    """`skew` for CPUs: both it and its gradient copy a run of each row, where XLA's own gradient would be a scatter."""
    return _skewed_forward(x, num_keys)[0]


def _skewed_forward(x, num_keys):
    queries, given = x.shape[2:]
    padded = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, queries + num_keys - 1 - given)))
    return _slices(padded, jnp.arange(queries)[::-1], num_keys), jnp.zeros((0, given))


def _skewed_backward(num_keys, saved, g):
    queries, given = g.shape[2], saved.shape[1]
    padded = jnp.pad(g, ((0, 0), (0, 0), (0, 0), (queries - 1, max(0, given - num_keys))))
    return (_slices(padded, jnp.arange(queries), given),)


_skewed.defvjp(_skewed_forward, _skewed_backward)


def _slices(x: Float[Array, "b h l o"], first: Int[Array, "l"], size: int) -> Float[Array, "b h l s"]:
    """Of each row, so many columns from its first."""
    return jax.vmap(functools.partial(jax.lax.dynamic_slice_in_dim, slice_size=size, axis=-1), in_axes=(2, 0), out_axes=2)(x, first)
