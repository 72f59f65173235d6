"""An encoding outside of a model, and the table of numbers that describes it.

An encoding at the input has one row for each position: its embedding. An encoding in attention has
one row for each distance, as the last token sees it. The kind of the encoding says what a row is:

    embedding  the embedding of a position
    rotation   the logits of DRAWS random queries and keys, each the same at all positions
    bias       the bias of each head, and whether the mask allows the distance
    content    as for a rotation, where queries, keys or inputs meet learned vectors

Two sorts of encodings have no table. Encodings that read no positions depend on the tokens, and
their numbers would describe random tokens. Encodings that treat all distances equally have nothing
to describe. Parameters are freshly initialized. A position of several axes is the same on each.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, Num, PyTree

from pe_lab.contrib.inspection.draws import DRAWS, SEQUENCES, Draws, all_directions, random_draws
from pe_lab.contrib.inspection.last_token import LOGIT_HOOKS, LastToken, active_hooks
from pe_lab.encodings.base import AttentionEncoding, InputEncoding
from pe_lab.positions.base import PositionScheme
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.labels import label

_CONTIGUOUS = {"name": "contiguous"}
Spec = JsonObject  # the name of a plugin and its arguments


@dataclasses.dataclass(frozen=True)
class UntrainedEncoding:
    """One encoding with fresh parameters, the sizes of a model, and a position scheme.

    Args:
      spec: of the encoding, dict(name=…, …).
      length: L, the number of tokens.
      width, num_heads: D and H of the model.
      positions: spec of the scheme.
      seed: of the parameters.
    """

    spec: Spec
    length: int = 64
    width: int = 64
    num_heads: int = 4
    positions: Spec = dataclasses.field(default_factory=_CONTIGUOUS.copy)
    seed: int = 0

    def __post_init__(self) -> None:
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
                f"{self.name} reads whole positions, but {self.positions['name']} gives fractions."
            )

    @property
    def name(self) -> str:
        encoding = label(self.spec)
        if self.positions == _CONTIGUOUS:
            return encoding
        return f"{encoding} of {label(self.positions)}"

    @functools.cached_property
    def scheme(self) -> PositionScheme:
        spec = plugins.resolve("positions", self.positions)
        return plugins.build("positions", spec, num_layers=1)

    @functools.cached_property
    def encoding(self) -> InputEncoding | AttentionEncoding:
        return plugins.build(
            "encodings",
            plugins.resolve("encodings", self.spec),
            width=self.width,
            num_heads=self.num_heads,
            head_dim=self.width // self.num_heads,
            num_layers=1,
            bidirectional=False,
            rngs=nnx.Rngs(params=jax.random.key(self.seed)),
        )

    @functools.cached_property
    def kind(self) -> str | None:
        """Kind of the table: embedding, rotation, bias or content; None without a table."""
        # Some encodings transform queries and keys without rotating them by position.
        if self._hook_kind == "rotation" and not self._distances_differ:
            return None
        return self._hook_kind

    @functools.cached_property
    def _hook_kind(self) -> str | None:
        """The kind that follows from the hooks alone."""
        if self.encoding.requirements.site == "input":
            return "embedding"
        changes_logits = any(hook in LOGIT_HOOKS for hook in self.hooks)
        if not self.encoding.requirements.reads_positions or not changes_logits:
            return None
        # A rotation with a content bias also depends on the learned vectors of the bias.
        if "content_bias" in self.hooks or "transform_logits" in self.hooks:
            return "content"
        return "rotation" if "transform_qk" in self.hooks else "bias"

    @functools.cached_property
    def hooks(self) -> tuple[str, ...]:
        """Active hooks of an encoding in attention."""
        assert isinstance(self.encoding, AttentionEncoding)
        return active_hooks(self.encoding, self.positions_of(1), self.draws())

    @functools.cached_property
    def _distances_differ(self) -> bool:
        # A single distance has nothing to differ from.
        if self.max_length == 1:
            return True
        rows = self.table(max(2, self.length))
        largest_range = np.ptp(rows, axis=0).max()
        # Relative to the rounding of float32.
        return bool(largest_range > 1e-5 * np.abs(rows).max())

    @property
    def why_none(self) -> str:
        """Reason of a missing table."""
        if not self.hooks:
            return "it adds nothing"
        if not self.encoding.requirements.reads_positions:
            return (
                "it reads no positions, so the effect of a distance depends on the tokens between"
            )
        if self._hook_kind == "rotation":
            return "it changes the logits of a query equally at all distances"
        return f"it acts only in {' and '.join(self.hooks)} and does not change logits"

    @property
    def max_length(self) -> int | None:
        """Largest number of tokens that the encoding and the scheme have positions for."""
        limits = (self.encoding.requirements.max_positions, self.scheme.max_length)
        known = [limit for limit in limits if limit is not None]
        return min(known, default=None)

    def lengths(self, *factors: int) -> list[int]:
        """Multiples of the length, up to the largest number of tokens."""
        limit = self.max_length
        multiples = [factor * self.length for factor in factors]
        return [length for length in multiples if limit is None or length <= limit]

    def table(
        self, length: int, shift: int = 0, params: PyTree | None = None
    ) -> Float[np.ndarray, "l c"]:
        """The table for an example of this length, with all positions moved by a shift.

        Rows that the encoding does not have are NaN.
        """
        params = self.params if params is None else params
        values, mask = self.read(params, shift, self.draws(), length=length)
        if mask is None:
            return np.asarray(values, np.float64)
        # A mask has its own columns, since -inf has no statistics.
        parts = []
        if "mask" in self.hooks:
            parts.append(np.asarray(mask, np.float64))
        if any(hook in LOGIT_HOOKS and hook != "mask" for hook in self.hooks):
            parts.append(np.asarray(values, np.float64))
        return np.concatenate(parts).T

    def embeddings_at(self, positions: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n c"]:
        """Embeddings of whole positions, whatever the scheme; of an encoding at the input."""
        assert isinstance(self.encoding, InputEncoding)
        on_axes = self._on_axes(jnp.asarray(positions)[None])
        embeddings = self.encoding.embed(on_axes)
        return np.asarray(embeddings[0], np.float64)

    def logits(self, length: int, *, self_keys: bool = False) -> Float[np.ndarray, "c s"]:
        """Logits against the distance 0..S-1, per draw and head; -inf where masked.

        Args:
          self_keys: each key equals its query, with unit vectors of all directions.
        """
        draws = self.draws(self_keys=self_keys)
        values, mask = self.read(self.params, 0, draws, length=length)
        assert mask is not None
        return np.where(mask, np.asarray(values, np.float64), -np.inf)

    @functools.cached_property
    def _split(self) -> tuple[PyTree, PyTree]:
        return nnx.split(self.encoding)

    @property
    def params(self) -> PyTree:
        return self._split[1]

    @functools.cached_property
    def read(self) -> Callable[..., tuple[Array, Array | None]]:
        """Compiled (params, shift, draws; length) -> embeddings [L, C] and None, or logits and
        mask [N * H, L] against distance.
        """

        def read(
            params: PyTree, shift: Int[Array, ""] | int, draws: Draws, length: int
        ) -> tuple[Array, Array | None]:
            graph, _ = self._split
            encoding = nnx.merge(graph, params)
            positions = self.positions_of(length) + shift
            # The kind would call this function; the hooks alone decide here.
            if self._hook_kind == "embedding":
                return encoding.embed(positions)[0], None
            s, allowed = self._logits(encoding, positions, draws)
            # The last key is at distance 0, so the order is reversed.
            logits = s[:, :, 0, ::-1].reshape(-1, length)
            mask = allowed[:, :, 0, ::-1].reshape(-1, length)
            return logits, mask

        # One program per length serves all parameters, shifts and draws.
        return jax.jit(read, static_argnames="length")

    def draws(self, *, self_keys: bool = False) -> Draws:
        """The queries, keys and inputs that the table is read with, the same at all positions."""
        if self_keys:
            return all_directions(self.seed, self.num_heads, self.width)
        return random_draws(self.seed, DRAWS, 1, self.num_heads, self.width)

    def attention_of_random_tokens(self, length: int) -> Float[np.ndarray, "n h s"]:
        """Attention weights of the last of random tokens, by distance, in SEQUENCES examples."""
        draws = random_draws(self.seed, SEQUENCES, length, self.num_heads, self.width)

        @jax.jit
        def weights(params: PyTree, draws: Draws) -> Float[Array, "n h s"]:
            graph, _ = self._split
            encoding = nnx.merge(graph, params)
            s, allowed = self._logits(encoding, self.positions_of(length), draws)
            return encoding.normalize(s, allowed)[:, :, 0, ::-1]

        return np.asarray(weights(self.params, draws), np.float64)

    def _logits(
        self, encoding: AttentionEncoding, positions: Num[Array, "1 l *a"], draws: Draws
    ) -> tuple[Array, Array]:
        last = LastToken(encoding, positions, draws)
        return last.logits(self.num_heads, bias_only=self._hook_kind == "bias")

    def positions_of(self, length: int) -> Num[Array, "1 l *a"]:
        """Positions that the scheme gives to an example of this length."""
        keys = jax.random.split(jax.random.key(self.seed), 1)
        try:
            positions = self.scheme(keys, jnp.ones((1, length), bool), train=False)[0]
        except ValueError as e:  # the scheme needs the structure of a task's examples
            raise UserError(one_line(e)) from e
        return self._on_axes(positions)

    def _on_axes(self, positions: Num[Array, "1 l ..."]) -> Num[Array, "1 l ..."]:
        axes = self.encoding.requirements.num_axes
        if axes > 1 and positions.ndim == 2:
            return jnp.stack([positions] * axes, axis=-1)
        return positions
