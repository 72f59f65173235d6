"""Decoding: an answer token by token from a prompt, with a cache of keys and values.

For a causal model, greedy decoding is right if and only if every target token is the argmax under
teacher forcing. The cache changes the cost and nothing else.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from pe_lab.encodings.ops import as_positions
from pe_lab.model.cache import Cache, Memory, empty_keys, view_cache
from pe_lab.model.streams import Positions, Stream, View
from pe_lab.model.terms import StackTerms
from pe_lab.model.transformer import Transformer
from pe_lab.runs.errors import UserError


def start(
    model: Transformer,
    positions: tuple[Positions, ...],
    batch: int,
    source: Stream | None = None,
) -> Cache:
    """An empty cache for contexts whose slots have these positions.

    Args:
      positions: of each position scheme, [N, B|1, S].
      batch: B.
      source: the input of the encoder of an encoder–decoder.

    Raises:
      UserError: an encoder fills its blanks in one pass and has nothing to cache.
    """
    stack = model.decoder
    if stack is None:
        raise UserError("An encoder fills all its blanks in one pass: there is nothing to decode.")
    positions = tuple(map(as_positions, positions))
    memory = None if source is None else _memory(model, positions, source)
    filled = jnp.zeros(batch, jnp.int32)
    cache = Cache(positions, filled, keys=(), memory=memory)
    keys = empty_keys(stack, cache)
    recent = {} if stack.smear is None else stack.smear.no_inputs(batch)
    return dataclasses.replace(cache, keys=keys, recent=recent)


def _memory(model: Transformer, positions: tuple[Positions, ...], source: Stream) -> Memory:
    """The encoder's keys for each layer of the decoder."""
    stack, encoder = model.decoder, model.encoder
    assert stack is not None
    assert encoder is not None
    terms = encoder.position_terms(source)
    x = encoder.embed(source.tokens, terms.embeddings)
    x, _ = encoder(x, terms)
    # Keys do not depend on queries, so queries at every slot, none of them valid, will do.
    batch = len(source.tokens)
    num_slots = positions[0].shape[2]
    valid = jnp.zeros((batch, num_slots), bool)
    slots = jnp.arange(num_slots)[None]
    no_arange = (False,) * len(positions)
    queries = View(
        positions=positions,
        valid=valid,
        slots=slots,
        lengths=valid.sum(axis=1),
        arange=no_arange,
    )
    cross = stack.cross_attention_terms(queries, terms.view)
    keys = stack.memory(x, terms.view.valid, cross)
    return Memory(keys, terms.view)


def extend(
    model: Transformer,
    cache: Cache,
    tokens: Int[Array, "b l"],
    mask: Bool[Array, "b l"],
) -> tuple[Float[Array, "b l v"], Cache]:
    """Logits after each of the next tokens (a whole prompt, or one token), and the new cache.

    Args:
      tokens: the next of each example, their padding behind them.
      mask: True at tokens. They go into the example's next slots.
    """
    stack = model.decoder
    assert stack is not None
    views = view_cache(cache, mask)
    queries, keys = views.queries, views.keys
    memory_keys = None if cache.memory is None else cache.memory.keys
    memory_view = None if cache.memory is None else cache.memory.view
    embeddings = stack.position_embeddings(queries.positions)
    attention = stack.self_attention_terms(queries, keys)
    cross = stack.cross_attention_terms(queries, memory_view)
    terms = StackTerms(embeddings, attention, cross, queries)

    before = stack.before(queries, cache.recent, views.counts)
    x = stack.embed(tokens, embeddings, before)
    x, layer_keys = stack(x, terms, memory_keys, views.layers(cache))
    recent = {} if before is None else before.latest
    cache = dataclasses.replace(cache, filled=keys.lengths, keys=layer_keys, recent=recent)
    return model.logits(x), cache


def generate(
    model: Transformer,
    prompt: Int[Array, "b p"],
    mask: Bool[Array, "b p"],
    *,
    end: int,
    max_tokens: int,
    limit: int | Int[Array, ""] | None = None,
    positions: tuple[Positions, ...] | None = None,
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
      source: the input of the encoder of an encoder–decoder.
      temperature: 0 takes the most likely token; t > 0 samples from softmax(logits / t).
      key: of the samples; needed with a temperature.

    Returns:
      The answers [B, T], `end` included and repeated after it, and each answer's number of tokens
      before its end.

    Raises:
      UserError: the model is an encoder.
    """
    if positions is None:
        num_slots = prompt.shape[1] + max_tokens
        contiguous = jnp.arange(num_slots)[None, None]
        positions = (contiguous,) * model.num_schemes
    # The graph is static and the parameters are arguments: equal models share one program.
    graph, params = nnx.split(model)
    if limit is None:
        limit = max_tokens
    if key is None:
        key = jax.random.key(0)  # not read at temperature 0
    return _generate(
        graph,
        params,
        prompt,
        mask,
        positions,
        source,
        end,
        limit,
        temperature,
        key,
        max_tokens,
    )


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Answers:
    """The state of the loop that adds tokens.

    Attributes:
      step: number of tokens added.
      last_logits: of the next token.
      done: True where an answer has its end token.
      tokens: the answers so far, and the end token after them.
    """

    step: Int[Array, ""] | int
    last_logits: Float[Array, "b v"]
    cache: Cache
    done: Bool[Array, "b"]
    tokens: Int[Array, "b t"]


@functools.partial(jax.jit, static_argnames=("graph", "max_tokens"))
def _generate(
    graph: nnx.GraphDef[Transformer],
    params: PyTree,
    prompt: Int[Array, "b p"],
    mask: Bool[Array, "b p"],
    positions: tuple[Positions, ...],
    source: Stream | None,
    end: int | Int[Array, ""],
    limit: int | Int[Array, ""],
    temperature: float | Float[Array, ""],
    key: Key[Array, ""],
    max_tokens: int,
) -> tuple[Int[Array, "b t"], Int[Array, "b"]]:
    model = nnx.merge(graph, params)
    batch = len(prompt)
    cache = start(model, positions, batch, source)
    logits, cache = extend(model, cache, prompt, mask)
    prompt_lengths = mask.sum(axis=1)
    last_token = prompt_lengths[:, None, None] - 1  # [B, 1, 1]
    last_logits = jnp.take_along_axis(logits, last_token, axis=1)  # [B, 1, V]
    last_logits = last_logits[:, 0]

    def is_running(state: _Answers) -> Bool[Array, ""]:
        return (state.step < limit) & ~state.done.all()

    def add_token(state: _Answers) -> _Answers:
        step_key = jax.random.fold_in(key, state.step)  # does not depend on the limit
        token = _choose(state.last_logits, temperature, step_key)
        token = jnp.where(state.done, end, token)
        done = state.done | (token == end)
        # The end token is no input: an answer that is done adds nothing to the cache.
        is_input = ~done[:, None]
        logits, cache = extend(model, state.cache, token[:, None], is_input)
        tokens = state.tokens.at[:, state.step].set(token)
        return _Answers(
            step=state.step + 1,
            last_logits=logits[:, 0],
            cache=cache,
            done=done,
            tokens=tokens,
        )

    first = _Answers(
        step=0,
        last_logits=last_logits,
        cache=cache,
        done=jnp.zeros(batch, bool),
        tokens=jnp.full((batch, max_tokens), end, jnp.int32),
    )
    last = jax.lax.while_loop(is_running, add_token, first)
    answers = last.tokens
    index = jnp.arange(max_tokens)[None]
    index_of_end = jnp.where(answers == end, index, max_tokens)  # max_tokens where there is no end
    return answers, index_of_end.min(axis=1)


def _choose(
    logits: Float[Array, "b v"],
    temperature: float | Float[Array, ""],
    key: Key[Array, ""],
) -> Int[Array, "b"]:
    """The most likely token, or a sample."""
    temperature = jnp.asarray(temperature, jnp.float32)
    samples = temperature > 0
    # Both are computed, because the temperature is traced: one program serves all temperatures.
    divisor = jnp.where(samples, temperature, 1.0)  # 1 where the sample is not used
    sample = jax.random.categorical(key, logits / divisor)
    most_likely = logits.argmax(axis=-1)
    token = jnp.where(samples, sample, most_likely)
    return token.astype(jnp.int32)
