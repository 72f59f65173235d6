"""Decoding: an answer token by token from a prompt, with a cache of keys and values.

For a causal model, greedy decoding is right if and only if every target token is the argmax under
teacher forcing. The cache changes the cost and nothing else.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key

from pe_lab.model.attention import Keys
from pe_lab.model.stack import Stack
from pe_lab.model.terms import StackTerms, Stream, View, with_sink
from pe_lab.model.transformer import Transformer
from pe_lab.runs.errors import UserError


@dataclasses.dataclass(frozen=True)
class Cache:
    """State of decoding.

    Attributes:
      positions: of each position scheme, of every slot of the context, [N, B|1, S].
      filled: [B], slots that hold tokens.
      keys: of each applied layer, buffers of S slots.
      memory: of an encoder–decoder, the encoder's keys for each layer, and their view.
    """

    positions: tuple[Any, ...]
    filled: Any
    keys: tuple[Keys, ...]
    memory: tuple[tuple[Keys, ...], View] | None = None


jax.tree_util.register_dataclass(Cache, ["positions", "filled", "keys", "memory"], [])


def start(
    model: Transformer, positions: tuple[Any, ...], batch: int, source: Stream | None = None
) -> Cache:
    """An empty cache for contexts whose slots have these positions.

    Args:
      positions: of each position scheme, [N, B|1, S].
      batch: B.
      source: what the encoder of an encoder–decoder reads.

    Raises:
      UserError: an encoder fills its blanks in one pass and has nothing to cache.
    """
    stack = model.decoder
    if stack is None:
        raise UserError("An encoder fills all its blanks in one pass: there is nothing to decode.")
    if stack.sink is not None:
        positions = tuple(with_sink(p) for p in positions)
    memory = None if source is None else _memory(model, positions, source)
    empty = Cache(positions, jnp.zeros(batch, jnp.int32), (), memory)
    empty = dataclasses.replace(empty, keys=_buffers(stack, empty))
    if stack.sink is None:
        return empty
    is_token = jnp.ones((batch, 1), bool)
    return _extend(model, empty, is_token, lambda terms: stack.sink_inputs(batch))[1]


def extend(
    model: Transformer, cache: Cache, tokens: Int[Array, "b l"], mask: Bool[Array, "b l"]
) -> tuple[Float[Array, "b l v"], Cache]:
    """Logits after each of the next tokens (a whole prompt, or one token), and the new cache.

    Args:
      tokens: the next of each example, their padding behind them.
      mask: True at tokens. They go into the example's next slots.
    """
    stack = model.decoder
    assert stack is not None
    return _extend(model, cache, mask, lambda terms: stack.embed(tokens, terms.embeddings))


def decode(
    model: Transformer, cache: Cache, tokens: Int[Array, "b l"], mask: Bool[Array, "b l"]
) -> tuple[Float[Array, "b l v"], Cache]:
    """Logits after given tokens, computed one token at a time as generation does."""

    def step(cache, token_and_mask):
        token, is_token = token_and_mask
        logits, cache = extend(model, cache, token[:, None], is_token[:, None])
        return cache, logits[:, 0]

    cache, logits = jax.lax.scan(step, cache, (tokens.T, mask.T))
    return jnp.moveaxis(logits, 0, 1), cache


def generate(
    model: Transformer,
    prompt: Int[Array, "b p"],
    mask: Bool[Array, "b p"],
    *,
    end: int,
    max_tokens: int,
    limit: int | Int[Array, ""] | None = None,
    positions: tuple[Any, ...] | None = None,
    source: Stream | None = None,
    temperature: float | Float[Array, ""] = 0.0,
    key: Key[Array, ""] | None = None,
) -> tuple[Int[Array, "b t"], Int[Array, "b"]]:
    """Continue every prompt until its end token.

    Compiled once for all prompts up to P tokens and answers up to T.

    Args:
      prompt: ids, their padding behind them. For an encoder–decoder, the decoder's prompt: BEGIN.
      mask: True at tokens.
      end: the id after which an answer ends.
      max_tokens: static, T: room for the longest answer.
      limit: traced, at most T: stop here.
      positions: of each position scheme, [N, B|1, P + T] of every slot; None: 0, 1, 2, …. A scheme
        that draws positions for a whole example is called once, for the whole context.
      source: what the encoder of an encoder–decoder reads.
      temperature: 0 takes the most likely token; t > 0 samples from softmax(logits / t).
      key: of the samples; needed with a temperature.

    Returns:
      The answers [B, T], `end` included and repeated after it, and each answer's number of tokens
      before its end.

    Raises:
      UserError: the model is an encoder.
    """
    if positions is None:
        positions = (jnp.arange(prompt.shape[1] + max_tokens)[None, None],)
    graph, params = nnx.split(model)
    limit = max_tokens if limit is None else limit
    key = jax.random.key(0) if key is None else key
    return _generate(
        graph, params, prompt, mask, positions, source, end, limit, temperature, key, max_tokens
    )


@functools.partial(jax.jit, static_argnames=("graph", "max_tokens"))
def _generate(
    graph, params, prompt, mask, positions, source, end, limit, temperature, key, max_tokens
):
    model = nnx.merge(graph, params)
    batch = len(prompt)
    logits, cache = extend(model, start(model, positions, batch, source), prompt, mask)
    last_token = mask.sum(axis=1)[:, None, None] - 1
    last_logits = jnp.take_along_axis(logits, last_token, axis=1)[:, 0]

    def is_running(state):
        step, _, _, done, _ = state
        return (step < limit) & ~done.all()

    def add_token(state):
        step, last_logits, cache, done, answers = state
        token = _choose(last_logits, temperature, jax.random.fold_in(key, step))
        token = jnp.where(done, end, token)
        done = done | (token == end)
        logits, cache = extend(model, cache, token[:, None], ~done[:, None])
        return step + 1, logits[:, 0], cache, done, answers.at[:, step].set(token)

    done = jnp.zeros(batch, bool)
    answers = jnp.full((batch, max_tokens), end, jnp.int32)
    state = (0, last_logits, cache, done, answers)
    answers = jax.lax.while_loop(is_running, add_token, state)[-1]
    before_end = jnp.where(answers == end, jnp.arange(max_tokens)[None], max_tokens)
    return answers, before_end.min(axis=1)


def _choose(logits: Float[Array, "b v"], temperature: Any, key: Any) -> Int[Array, "b"]:
    """The most likely token, or a sample."""
    temperature = jnp.asarray(temperature, jnp.float32)
    scaled = logits / jnp.where(temperature > 0, temperature, 1.0)
    sampled = jax.random.categorical(key, scaled)
    return jnp.where(temperature > 0, sampled, logits.argmax(axis=-1)).astype(jnp.int32)


def _extend(model: Transformer, cache: Cache, mask: Any, inputs: Callable[[StackTerms], Any]):
    """Append inputs [B, L, D] to the cache: their logits, and the new cache."""
    stack = model.decoder
    assert stack is not None
    queries, keys, write = _views(cache, mask)
    memory_keys, memory_view = (None, None) if cache.memory is None else cache.memory
    embeddings = ()
    if stack.input_encodings:
        embeddings = stack.position_embeddings(queries.positions)
    terms = StackTerms(
        embeddings,
        stack.self_attention_terms(queries, keys),
        stack.cross_attention_terms(queries, memory_view),
        queries,
    )
    keepers = [functools.partial(_insert, buffer, write) for buffer in cache.keys]
    x, layer_keys = stack.run(inputs(terms), terms, memory_keys, keepers)
    cache = dataclasses.replace(cache, filled=keys.lengths, keys=layer_keys)
    return model.logits(x), cache


def _views(cache: Cache, mask: Bool[Array, "b l"]) -> tuple[View, View, Any]:
    """Views of the next tokens and of all slots, and the slots to write to.

    Padded tokens have the slot and position of their example's last token, and are not written.
    """
    room = cache.positions[0].shape[2]
    filled = cache.filled + mask.sum(axis=1)
    next_slots = cache.filled[:, None] + jnp.arange(mask.shape[1])[None]
    write = jnp.where(mask, next_slots, room)
    last_slot = jnp.maximum(filled - 1, 0)[:, None]
    slots = jnp.minimum(next_slots, jnp.minimum(last_slot, room - 1))
    positions = tuple(_take_slots(p, slots) for p in cache.positions)
    arange = (False,) * len(positions)
    queries = View(positions, mask, slots, filled, arange=arange)
    all_slots = jnp.arange(room)[None]
    is_filled = all_slots < filled[:, None]
    return queries, View(cache.positions, is_filled, all_slots, filled, arange=arange), write


def _take_slots(positions: Any, slots: Int[Array, "b l"]) -> Any:
    """[N, B|1, S, ...] at each example's slots -> [N, B, L, ...]."""
    rows = jnp.broadcast_to(positions, (len(positions), len(slots), *positions.shape[2:]))
    index = slots[None].reshape(1, *slots.shape, *(1,) * (rows.ndim - 3))
    return jnp.take_along_axis(rows, index, axis=2)


def _insert(buffer: Keys, slots: Int[Array, "b l"], new: Keys) -> Keys:
    """New keys written to their slots; slots beyond the room are dropped."""

    def insert(old, values):
        return old.at[jnp.arange(len(slots))[:, None], slots].set(values, mode="drop")

    return jax.tree.map(insert, buffer, new)


def _memory(
    model: Transformer, positions: tuple[Any, ...], source: Stream
) -> tuple[tuple[Keys, ...], View]:
    """The encoder's keys for each layer of the decoder, and the view of its stream."""
    stack, encoder = model.decoder, model.encoder
    assert stack is not None
    assert encoder is not None
    terms = encoder.position_terms(source)
    x = encoder(source.tokens, terms)
    nobody = jnp.zeros((len(source.tokens), positions[0].shape[2]), bool)
    arange = (False,) * len(positions)
    slots = jnp.arange(nobody.shape[1])[None]
    queries = View(positions, nobody, slots, nobody.sum(axis=1), arange=arange)
    cross = stack.cross_attention_terms(queries, terms.view)
    return stack.memory(x, terms.view.valid, cross), terms.view


def _buffers(stack: Stack, cache: Cache) -> tuple[Keys, ...]:
    """Empty keys of every applied layer."""
    batch, room = len(cache.filled), cache.positions[0].shape[2]
    _, keys, _ = _views(cache, jnp.zeros((batch, 0), bool))

    def shapes():
        inputs = jnp.zeros((batch, room, stack.embedding.features), stack.dtype)
        terms = stack.self_attention_terms(keys, keys)
        layers = [i % len(stack.blocks) for i in range(stack.depth)]
        return tuple(stack.blocks[i].attention.keys(inputs, keys.valid, terms[i]) for i in layers)

    empty = jax.eval_shape(shapes)
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), empty)
