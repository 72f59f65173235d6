"""An encoding outside of a model, and the table that the diagnostics read of it: a row for each
position, or for each distance.

At the input a row is `embed(p)`. Inside attention it is what the encoding adds to the logits at a
distance, seen from the last token:

    bias     its number for each head, and for each head whether the mask allows it
    turn     the logits of DRAWS random queries and keys, each the same at all places, as the
             distance turns them
    content  the same, where queries, keys or inputs meet learned vectors: their mean over queries
             is nothing, their pattern is not

What reads no positions has no such table: there the tokens between decide, and a number would be
one of made-up tokens. Nor has what does the same at every distance. Parameters are fresh. Positions
of several axes are the same on each.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, Num

from pe_lab.encodings.base import Tokens
from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.labels import label

DRAWS = 16  # of queries, keys and inputs a head, from standard normals
SEQUENCES = 1024  # of random tokens, where tokens decide
_HOOKS = (
    "transform_qk",
    "bias",
    "content_bias",
    "mask",
    "transform_logits",
    "normalize",
    "combine",
)
_OF_LOGITS = _HOOKS[:5]
_REPLACED_BY = {"logits": "transform_logits", "normalize": "normalize", "combine": "combine"}
_CONTIGUOUS = {"name": "contiguous"}


@dataclasses.dataclass(frozen=True)
class UntrainedEncoding:
    """One encoding with fresh parameters, in the company of one model's sizes and one position
    scheme.

    Args:
      spec: of the encoding, dict(name=…, …).
      length: L, tokens of an example.
      width, num_heads: D and H of the model that it is made for.
      positions: spec of the scheme.
      seed: of the parameters.
    """

    spec: Mapping[str, Any]
    length: int = 64
    width: int = 64
    num_heads: int = 4
    positions: Mapping[str, Any] = dataclasses.field(default_factory=_CONTIGUOUS.copy)
    seed: int = 0

    def __post_init__(self):
        if min(self.length, self.width, self.num_heads) < 1 or self.width % self.num_heads:
            raise UserError(
                f"The width must be a multiple of the heads and all be at least 1, got "
                f"{self.width} and {self.num_heads}."
            )
        if self.max_length is not None and self.max_length < self.length:
            raise UserError(
                f"{self.name} has no more than {self.max_length} positions, and the length is "
                f"{self.length}."
            )
        if self.scheme.real and self.encoding.requirements.whole_positions:
            raise UserError(
                f"{self.name} reads whole positions, and those of {self.positions['name']} are "
                f"fractions."
            )

    @property
    def name(self) -> str:
        given = label(self.spec)
        return given if self.positions == _CONTIGUOUS else f"{given} of {label(self.positions)}"

    @functools.cached_property
    def scheme(self) -> Any:
        return plugins.build(
            "positions", plugins.resolve("positions", self.positions), num_layers=1
        )

    @functools.cached_property
    def encoding(self) -> Any:
        sizes = dict(
            width=self.width,
            num_heads=self.num_heads,
            head_dim=self.width // self.num_heads,
            num_layers=1,
        )
        made = plugins.resolve("encodings", self.spec)
        return plugins.build(
            "encodings",
            made,
            **sizes,
            bidirectional=False,
            rngs=nnx.Rngs(params=jax.random.key(self.seed)),
        )

    @functools.cached_property
    def kind(self) -> str | None:
        """Which table it has: code, turn, bias, content, or None."""
        return None if self._acts_as == "turn" and not self._turns else self._acts_as

    @functools.cached_property
    def _acts_as(self) -> str | None:
        """The kind that its hooks say."""
        if self.encoding.requirements.site == "input":
            return "code"
        if not self.encoding.requirements.reads_positions or not any(
            hook in _OF_LOGITS for hook in self.hooks
        ):
            return None
        if "content_bias" in self.hooks or "transform_logits" in self.hooks:
            return "content"
        return "turn" if "transform_qk" in self.hooks else "bias"

    @functools.cached_property
    def hooks(self) -> tuple[str, ...]:
        """Hooks of an encoding in attention that return a term, return other queries and keys, or
        are declared to replace.
        """

        def terms(draws: Any) -> dict[str, Any]:
            return _terms(
                self.encoding, *self._last_token(self.encoding, self.positions_of(1), draws)
            )

        acting = {
            *jax.eval_shape(terms, self.draws()),
            *(_REPLACED_BY[part] for part in self.encoding.requirements.replaces),
        }
        return tuple(hook for hook in _HOOKS if hook in acting)

    @functools.cached_property
    def _turns(self) -> bool:
        """Whether some distance differs from another in what it does to queries and keys."""
        if self.max_length == 1:
            return True
        rows = self.table(max(2, self.length))
        return bool(np.ptp(rows, axis=0).max() > 1e-5 * np.abs(rows).max())

    @property
    def why_none(self) -> str:
        """Why there is no table, where there is none."""
        if not self.hooks:
            return "it adds nothing"
        if not self.encoding.requirements.reads_positions:
            return "it reads no positions: the tokens between decide what a distance means"
        if self._acts_as == "turn":
            return "it changes a query's logits at all distances alike"
        return f"it acts in {' and '.join(self.hooks)} alone, and changes no logits"

    @property
    def max_length(self) -> int | None:
        """The most tokens that it has rows for."""
        found = [
            n
            for n in (self.encoding.requirements.max_positions, self.scheme.max_length)
            if n is not None
        ]
        return min(found) if found else None

    def lengths(self, *times: int) -> list[int]:
        """So many times the length, as far as it has rows."""
        return [
            n * self.length
            for n in times
            if self.max_length is None or n * self.length <= self.max_length
        ]

    def resized(self, width: int) -> "UntrainedEncoding":
        return dataclasses.replace(self, width=width)

    def table(self, length: int, shift: int = 0, params: Any = None) -> Float[np.ndarray, "l c"]:
        """Its rows for an example of this length, all positions moved by a shift; those that it
        lacks are NaN.
        """
        found, mask = self._read(self.params if params is None else params, shift, length=length)
        if mask is None:
            return np.asarray(found, np.float64)
        adds = any(hook in _OF_LOGITS and hook != "mask" for hook in self.hooks)
        parts = [mask] * ("mask" in self.hooks) + [found] * adds
        return np.concatenate([np.asarray(part, np.float64) for part in parts]).T

    def codes_at(self, places: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n c"]:
        """The codes of whole positions, whatever the scheme; of an encoding at the input."""
        return np.asarray(
            self.encoding.embed(self._on_axes(jnp.asarray(places)[None]))[0], np.float64
        )

    def logits(self, length: int, own_key: bool = False) -> Float[np.ndarray, "c s"]:
        """What a distance 0..S-1 gives each head, or each draw and head; -inf where the mask
        forbids it.

        Args:
          own_key: keys are their queries, unit vectors of all directions, and the product is not
            divided by sqrt(Dh).
        """
        found, mask = self._read(self.params, 0, length=length, own_key=own_key)
        return np.where(mask, np.asarray(found, np.float64), -np.inf)

    @functools.cached_property
    def _split(self) -> tuple[Any, Any]:
        return nnx.split(self.encoding)

    @property
    def params(self) -> Any:
        return self._split[1]

    @functools.cached_property
    def read(self) -> Any:
        """(params, shift, draws; length) -> code [L, C], or logits [N * H, L] against distance and
        the mask; compiled for a length.
        """

        def read(params, shift, draws, length):
            encoding, positions = (
                nnx.merge(self._split[0], params),
                self.positions_of(length) + shift,
            )
            if self._acts_as == "code":
                return encoding.embed(positions)[0], None
            return tuple(
                a[:, :, 0, ::-1].reshape(-1, length)
                for a in self._logits(encoding, positions, draws)
            )

        return jax.jit(read, static_argnames="length")

    def _read(self, params: Any, shift: int, length: int, own_key: bool = False) -> Any:
        return self.read(params, shift, self.draws(own_key), length=length)

    def draws(self, own_key: bool = False) -> Any:
        """Queries and keys [N, 1, H, Dh] and inputs [N, 1, D], the same at all places; a factor on
        the product of the first two.
        """
        if own_key:
            return self._all_directions()
        q, k, x = self._random(DRAWS, 1)
        return q, k, x, np.float32(q.shape[-1] ** -0.5)

    def attention_of_random_tokens(self, length: int) -> Float[np.ndarray, "n h s"]:
        """Weights of the last token by distance, in SEQUENCES whose queries, keys and inputs are
        random at every place.
        """
        q, k, x = self._random(SEQUENCES, length)
        draws = q[:, -1:], k, x, np.float32(q.shape[-1] ** -0.5)

        @jax.jit
        def weights(params, draws):
            encoding = nnx.merge(self._split[0], params)
            s, allowed = self._logits(encoding, self.positions_of(length), draws)
            return encoding.normalize(s, allowed)[:, :, 0, ::-1]

        return np.asarray(weights(self.params, draws), np.float64)

    def _random(self, count: int, places: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        normal = np.random.default_rng(self.seed).standard_normal
        q, k = normal((2, count, places, self.num_heads, self.width // self.num_heads)).astype(
            np.float32
        )
        return q, k, normal((count, places, self.width)).astype(np.float32)

    def _all_directions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.float32]:
        """Unit queries that are their own keys: the axes of a random frame a head, both ways, with
        inputs of both signs.

        A mean over them is that over all directions, exactly, of what is a polynomial of degree 3
        or less in the query.
        """
        normal, size = (
            np.random.default_rng(self.seed).standard_normal,
            self.width // self.num_heads,
        )
        frames = np.linalg.qr(normal((self.num_heads, size, size)))[0]  # [H, Dh, Dh]
        axes, inputs = np.moveaxis(frames, 0, 1)[:, None], normal((size, 1, self.width))
        q, x = (np.concatenate([a, -a]).astype(np.float32) for a in (axes, inputs))
        return q, q, x, np.float32(1.0)

    def positions_of(self, length: int) -> Num[Array, "1 l *a"]:
        try:
            keys = jax.random.split(jax.random.key(self.seed), 1)
            found = self.scheme(keys, jnp.ones((1, length), bool), train=False)[0]
        except ValueError as e:  # it follows a task's structure
            raise UserError(one_line(e)) from e
        return self._on_axes(found)

    def _on_axes(self, positions: Num[Array, "1 l ..."]) -> Num[Array, "1 l ..."]:
        axes = self.encoding.requirements.num_axes
        return (
            jnp.stack([positions] * axes, axis=-1)
            if axes > 1 and positions.ndim == 2
            else positions
        )

    def _last_token(
        self, encoding: Any, positions: Num[Array, "1 l *a"], draws: Any
    ) -> tuple[Array, Array, Tokens, Tokens]:
        """The query of the last token and the keys of all, each with its tokens."""
        length, (q, k, x, _) = positions.shape[1], draws
        k, x = (jnp.broadcast_to(a, (len(a), length, *a.shape[2:])) for a in (k, x))
        slots, lengths = jnp.arange(length)[None], jnp.asarray([length])
        of_query, of_key = encoding.features(x, positions)
        last = jax.tree.map(lambda a: a[:, -1:], (positions, slots, of_query))
        return (
            q,
            k,
            Tokens(last[0], last[1], lengths, last[2]),
            Tokens(positions, slots, lengths, of_key),
        )

    def _logits(
        self, encoding: Any, positions: Num[Array, "1 l *a"], draws: Any
    ) -> tuple[Array, Array]:
        """The logits of the last token and what it may see, [N, H, 1, L]; of a bias alone N is
        1.
        """
        q, k, Q, K = self._last_token(encoding, positions, draws)
        terms = _terms(encoding, q, k, Q, K)
        length, factor = positions.shape[1], draws[-1]
        allowed = terms.get("mask", jnp.ones((1, 1, 1, length), bool))
        if self._acts_as == "bias":
            s = terms.get("bias", jnp.zeros((1, 1, 1, length)))
        else:
            s = factor * jnp.einsum("blhe,bshe->bhls", *terms.get("transform_qk", (q, k)))
            s = sum((terms[hook] for hook in ("bias", "content_bias") if hook in terms), s)
            s = encoding.transform_logits(s, q, k, Q, K, allowed)
        shape = (len(s), self.num_heads, 1, length)
        return jnp.broadcast_to(s, shape), jnp.broadcast_to(allowed, shape)


def _terms(encoding: Any, q: Array, k: Array, Q: Tokens, K: Tokens) -> dict[str, Any]:
    """What hooks return, without those that change nothing."""
    new_q, new_k = encoding.transform_qk(q, k, Q, K)
    returned = {
        "transform_qk": None if new_q is q and new_k is k else (new_q, new_k),
        "bias": encoding.bias(Q, K),
        "content_bias": encoding.content_bias(q, k, Q, K),
        "mask": encoding.mask(Q, K),
    }
    return {hook: value for hook, value in returned.items() if value is not None}
