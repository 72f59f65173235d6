"""The laws that every encoding obeys by being in its folder, as functions that raise AssertionError.

A `Subject` is one encoding with arguments inside a tiny decoder; test_laws.py runs every law on every
member, test_planted.py runs them on broken encodings and sees them fail.
"""

import dataclasses
import functools
import importlib.util
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from pe_lab import config, plugins
from pe_lab.encodings.base import AttentionEncoding, InputEncoding, Tokens
from pe_lab.transformer.attention import attend
from pe_lab.transformer.transformer import Transformer, is_encoding

WIDTH, HEADS, LAYERS, VOCABULARY = 16, 2, 2, 11
BATCH, LENGTH = 2, 7
BOUND = 64  # positions that the laws use, of those that a member has


def names() -> list[str]:
    return plugins.names("encodings")


def own_tests(name: str) -> Any:
    """The member's own test file: its SENSITIVE arguments, and ARGUMENTS where the defaults do not fit."""
    if importlib.util.find_spec(f"tests.encodings.test_{name}") is None:  # test_laws.py says so
        return types.SimpleNamespace(SENSITIVE={})
    return importlib.import_module(f"tests.encodings.test_{name}")


def spec(name: str, **arguments: Any) -> dict[str, Any]:
    given = getattr(own_tests(name), "ARGUMENTS", {}) if ":" not in name else {}
    return {"name": name, **given, **arguments}


@dataclasses.dataclass(frozen=True)
class Subject:
    """One encoding in a tiny decoder, parameters moved away from their start so that all of them matter."""

    spec: Any  # dict(name=..., ...), or a tuple of them

    @functools.cached_property
    def model(self) -> config.Model:
        specs = self.spec if isinstance(self.spec, tuple) else (self.spec,)
        return config.Model(
            width=WIDTH,
            num_layers=LAYERS,
            num_heads=HEADS,
            feedforward_width=2 * WIDTH,
            activation="gelu",
            norm="layer",
            norm_position="pre",
            dropout=0.0,
            scale_embeddings=True,
            tied_output=False,
            encodings=tuple(config._encoding(s) for s in specs),
        )

    def build(self, seed: int = 0) -> Transformer:
        return Transformer(self.model, VOCABULARY, key=jax.random.key(seed))

    @functools.cached_property
    def cls(self) -> Any:
        return plugins.find("encodings", self.spec["name"])

    @functools.cached_property
    def max_positions(self) -> int | None:
        model = self.build()
        found = [e.max_positions for e in (*model.input_encodings, *model.attention_encodings)]
        return min((m for m in found if m is not None), default=None)

    @property
    def bound(self) -> int:
        return min(BOUND, self.max_positions or BOUND)

    @functools.cached_property
    def graph(self) -> nnx.GraphDef:
        return nnx.graphdef(self.build())

    @functools.cached_property
    def params(self) -> Any:
        params = nnx.to_pure_dict(nnx.state(self.build(), nnx.Param))
        moved = [p + 0.3 * jax.random.normal(jax.random.key(i), p.shape) for i, p in enumerate(jax.tree.leaves(params))]
        return jax.tree.unflatten(jax.tree.structure(params), moved)

    def call(self, params, tokens, positions, mask, segments=None, arange=False, fused=False):
        return nnx.merge(self.graph, params)(tokens, positions, mask, segments=segments, arange=arange, fused=fused)

    @functools.cached_property
    def compiled(self):
        return jax.jit(self.call, static_argnames=("arange", "fused"))

    def logits(self, tokens=None, positions=None, mask=None, **more) -> np.ndarray:
        """Compiled logits of a default batch with parts replaced."""
        tokens = default_tokens() if tokens is None else tokens
        positions = jnp.arange(tokens.shape[1])[None, None] if positions is None else positions
        mask = jnp.ones(tokens.shape, bool) if mask is None else mask
        return np.asarray(self.compiled(self.params, tokens, positions, mask, **more))


def default_tokens(batch: int = BATCH, length: int = LENGTH) -> jax.Array:
    return jax.random.randint(jax.random.key(7), (batch, length), 0, VOCABULARY)


def assert_close(a: Any, b: Any, tolerance: float = 2e-5) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert np.isfinite(a).all()
    assert np.isfinite(b).all()
    assert np.abs(a - b).max() <= tolerance, f"differ by {np.abs(a - b).max()}"


def assert_differs(a: Any, b: Any, least: float = 1e-3) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert np.isfinite(a).all()
    assert np.isfinite(b).all()
    assert np.abs(a - b).max() > least, f"differ by {np.abs(a - b).max()} only"


def per_example(positions: jax.Array) -> jax.Array:
    """The same positions given as a row for each example."""
    return jnp.broadcast_to(positions, (positions.shape[0], BATCH, positions.shape[2]))


# The laws. Each takes a Subject.


def shape_is_kept_and_finite(subject: Subject) -> None:
    logits = subject.logits()
    assert logits.shape == (BATCH, LENGTH, VOCABULARY)
    assert np.isfinite(logits).all()


def one_token_is_enough(subject: Subject) -> None:
    assert np.isfinite(subject.logits(default_tokens(BATCH, 1))).all()


def positions_are_read_not_indices(subject: Subject) -> None:
    """Uneven gaps change the logits, and only of what reads positions."""
    base = subject.logits()
    gaps = jnp.asarray([0, 1, 3, 4, 9, 11, 12])[None, None]
    if subject.cls.reads_positions:
        assert_differs(base, subject.logits(positions=gaps))
    else:
        assert_close(base, subject.logits(positions=gaps), 0)


def shift_is_ignored_if_relative(subject: Subject) -> None:
    shift = min(37, subject.bound - LENGTH)
    base, shifted = subject.logits(), subject.logits(positions=jnp.arange(LENGTH)[None, None] + shift)
    if subject.cls.relative:
        assert_close(base, shifted, 1e-4)
    else:
        assert_differs(base, shifted)


def order_is_seen(subject: Subject) -> None:
    """The last two tokens before the end swapped: another logit at the end."""
    tokens = default_tokens()
    tokens = tokens.at[:, 4].set(3).at[:, 5].set(8)
    swapped = tokens.at[:, 4].set(8).at[:, 5].set(3)
    assert_differs(subject.logits(tokens)[:, 6], subject.logits(swapped)[:, 6])


def last_two_positions_differ(subject: Subject) -> None:
    """At the end of the range, a step of one still matters."""
    last = jnp.arange(subject.bound - LENGTH, subject.bound)[None, None]
    before = last.at[..., -1].set(subject.bound - 2)
    if subject.cls.reads_positions:
        assert_differs(subject.logits(positions=last)[:, -1], subject.logits(positions=before)[:, -1])


def beyond_its_positions_there_is_nothing(subject: Subject) -> None:
    """NaN, loud, and not the last row again."""
    if subject.max_positions is None:
        return
    positions = jnp.arange(LENGTH).at[-1].set(subject.max_positions)[None, None]
    assert np.isnan(subject.logits(positions=positions)[:, -1]).all(), "a position without a code was given one"


def one_row_equals_a_row_for_each(subject: Subject) -> None:
    positions = jnp.arange(LENGTH)[None, None]
    assert_close(subject.logits(positions=positions), subject.logits(positions=per_example(positions)))


def arange_form_equals_general_form(subject: Subject) -> None:
    assert_close(subject.logits(arange=False), subject.logits(arange=True))


def fused_equals_explicit(subject: Subject) -> None:
    mask = jnp.ones((BATCH, LENGTH), bool).at[1, 5:].set(False)
    explicit, fused = (subject.logits(mask=mask, fused=f) for f in (False, True))
    assert_close(explicit[mask], fused[mask])


def compiled_equals_eager(subject: Subject) -> None:
    tokens, mask = default_tokens(), jnp.ones((BATCH, LENGTH), bool)
    with jax.disable_jit():
        eager = subject.call(subject.params, tokens, jnp.arange(LENGTH)[None, None], mask)
    assert_close(eager, subject.logits())


def future_does_not_leak(subject: Subject) -> None:
    tokens = default_tokens()
    other = tokens.at[:, 5:].set((tokens[:, 5:] + 1) % VOCABULARY)
    assert_close(subject.logits(tokens)[:, :5], subject.logits(other)[:, :5], 0)


def padding_does_not_reach_valid_tokens(subject: Subject) -> None:
    """Alone, padded with tokens, and padded with NaN embeddings: an example's logits are the same."""
    tokens = default_tokens()
    alone = subject.logits(tokens[:, :4], jnp.arange(4)[None, None])
    mask = jnp.arange(LENGTH)[None] < 4
    mask = jnp.broadcast_to(mask, tokens.shape)
    positions = jnp.where(mask[:1], jnp.arange(LENGTH)[None], 0)[None]
    assert_close(alone, subject.logits(tokens, positions, mask)[:, :4])
    poison = VOCABULARY - 1
    params = jax.tree_util.tree_map_with_path(
        lambda path, p: p.at[poison].set(jnp.nan) if "embedding" in str(path[0]) else p, subject.params
    )
    tokens = jnp.where(mask, jnp.minimum(tokens, poison - 1), poison)
    alone = subject.logits(tokens[:, :4], jnp.arange(4)[None, None])
    assert_close(alone, subject.compiled(params, tokens, positions, mask)[:, :4])


def packed_segments_equal_separate_ones(subject: Subject) -> None:
    tokens = default_tokens()
    segments = jnp.asarray([[1, 1, 1, 1, 2, 2, 2]] * BATCH)
    positions = jnp.asarray([[[0, 1, 2, 3, 0, 1, 2]]])
    packed = subject.logits(tokens, positions, segments=segments)
    assert_close(packed[:, :4], subject.logits(tokens[:, :4], jnp.arange(4)[None, None]))
    assert_close(packed[:, 4:], subject.logits(tokens[:, 4:], jnp.arange(3)[None, None]))


def one_seed_gives_one_backbone(subject: Subject) -> None:
    bare = nnx.to_pure_dict(nnx.state(Subject(()).build(3), nnx.Param))
    mine = nnx.to_pure_dict(nnx.state(subject.build(3), nnx.Param))
    backbone = {p: v for p, v in jax.tree_util.tree_leaves_with_path(mine) if not is_encoding(p)}
    bare_leaves = dict(jax.tree_util.tree_leaves_with_path(bare))
    assert backbone.keys() == bare_leaves.keys()
    for path, value in backbone.items():
        np.testing.assert_array_equal(value, bare_leaves[path])


def gradients_are_finite_and_reach_every_parameter(subject: Subject) -> None:
    tokens, mask = default_tokens(), jnp.ones((BATCH, LENGTH), bool).at[1, 5:].set(False)
    positions = jnp.where(mask, jnp.arange(LENGTH)[None], 0)[None]
    loss = jax.jit(jax.grad(lambda p: jnp.where(mask[..., None], subject.call(p, tokens, positions, mask) ** 2, 0).sum()))
    for path, g in jax.tree_util.tree_leaves_with_path(loss(subject.params)):
        assert np.isfinite(g).all(), path
        assert np.abs(g).max() > 0, path


def one_query_sees_what_the_whole_sees(subject: Subject) -> None:
    """Decoding's shape: the last query alone against all keys gives the last row of the full attention."""
    if issubclass(subject.cls, InputEncoding):
        return
    encoding = nnx.merge(subject.graph, subject.params).encoding_of(0)
    q, k, v = (jax.random.normal(jax.random.key(i), (BATCH, LENGTH, HEADS, WIDTH // HEADS)) for i in range(3))
    x = jax.random.normal(jax.random.key(3), (BATCH, LENGTH, WIDTH))
    positions, slots = jnp.arange(LENGTH)[None], jnp.arange(LENGTH)
    of_queries, of_keys = encoding.features(x, positions)
    Q, K = (Tokens(positions, slots, None, f) for f in (of_queries, of_keys))
    last = Tokens(positions[:, -1:], slots[-1:], None, jax.tree.map(lambda f: f[:, -1:], of_queries))
    causal = (slots[None] <= slots[:, None])[None, None]
    whole = attend(encoding, q, k, v, Q, K, causal)
    assert_close(attend(encoding, q[:, -1:], k, v, last, K, causal[:, :, -1:]), whole[:, -1:])


LAWS = {
    f.__name__: f
    for f in (
        shape_is_kept_and_finite,
        one_token_is_enough,
        positions_are_read_not_indices,
        shift_is_ignored_if_relative,
        order_is_seen,
        last_two_positions_differ,
        beyond_its_positions_there_is_nothing,
        one_row_equals_a_row_for_each,
        arange_form_equals_general_form,
        fused_equals_explicit,
        compiled_equals_eager,
        future_does_not_leak,
        padding_does_not_reach_valid_tokens,
        packed_segments_equal_separate_ones,
        one_seed_gives_one_backbone,
        gradients_are_finite_and_reach_every_parameter,
        one_query_sees_what_the_whole_sees,
    )
}


def is_attention(name: str) -> bool:
    return issubclass(plugins.find("encodings", name), AttentionEncoding)


def sensitive(name: str) -> dict[str, tuple[Any, Any]]:
    """Argument -> two values that must give different logits; those of all input encodings included."""
    own = own_tests(name).SENSITIVE
    if is_attention(name):
        return own
    common = {"combine": ("add", "multiply"), "scale": (1.0, 0.5), "learn_scale": (False, True), "lift": ("pad", "project")}
    return {**common, **own}
