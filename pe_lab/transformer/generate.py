"""Decoding: an answer token by token from a prompt, with a cache.

For a causal model, greedy decoding is exactly right when, and only when, every target token is the
argmax under teacher forcing: the cache changes what it costs, and nothing else.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key

from pe_lab.transformer.streams import Cache, Stream
from pe_lab.transformer.transformer import Transformer


def generate(
    model: Transformer,
    prompt: Int[Array, "b p"],
    mask: Bool[Array, "b p"],
    *,
    end: int,
    max_tokens: int,
    limit: int | Int[Array, ""] | None = None,
    positions: Any = None,
    source: Stream | None = None,
    temperature: float | Float[Array, ""] = 0.0,
    key: Key[Array, ""] | None = None,
) -> tuple[Int[Array, "b t"], Int[Array, "b"]]:
    """Continues every prompt until its end token; compiled once for all prompts up to P tokens and answers up to T.

    Args:
      prompt: ids, their padding behind them. For an encoder–decoder, the decoder's own prompt: BEGIN.
      mask: True at tokens.
      end: the id after which an answer ends.
      max_tokens: static, T: room for the longest answer.
      limit: traced, at most T: stop here.
      positions: [N, B|1, P + T] of every slot of the context; None: 0, 1, 2, … . A scheme that draws for a
        whole example is asked once, for the context: drawing anew at each token would be another model.
      source: what the encoder of an encoder–decoder reads.
      temperature: 0 takes the likeliest token; t > 0 samples from softmax(logits / t).
      key: of the samples; needed with a temperature.

    Returns:
      The answers [B, T], `end` included and `end` after it, and how many tokens each has before its end.

    Raises:
      UserError: the model is an encoder.
    """
    if positions is None:
        positions = jnp.arange(prompt.shape[1] + max_tokens)[None, None]
    graph, params = nnx.split(model)
    limit, key = max_tokens if limit is None else limit, jax.random.key(0) if key is None else key
    return _generate(graph, params, prompt, mask, positions, source, end, limit, temperature, key, max_tokens)


@functools.partial(jax.jit, static_argnames=("graph", "max_tokens"))
def _generate(graph, params, prompt, mask, positions, source, end, limit, temperature, key, max_tokens):
    model = nnx.merge(graph, params)
    batch = len(prompt)
    logits, cache = model.extend(model.start(positions, batch, source), prompt, mask)
    last = jnp.take_along_axis(logits, mask.sum(axis=1)[:, None, None] - 1, axis=1)[:, 0]  # [B, V] after the prompt

    def going(carry):
        step, _, _, done, _ = carry
        return (step < limit) & ~done.all()

    def body(carry):
        step, last, cache, done, answers = carry
        token = jnp.where(done, end, _choose(last, temperature, jax.random.fold_in(key, step)))
        done = done | (token == end)
        logits, cache = model.extend(cache, token[:, None], ~done[:, None])
        return step + 1, logits[:, 0], cache, done, answers.at[:, step].set(token)

    done, answers = jnp.zeros(batch, bool), jnp.full((batch, max_tokens), end, jnp.int32)
    answers = jax.lax.while_loop(going, body, (0, last, cache, done, answers))[-1]
    return answers, jnp.where(answers == end, jnp.arange(max_tokens)[None], max_tokens).min(axis=1)


def _choose(logits: Float[Array, "b v"], temperature: Any, key: Any) -> Int[Array, "b"]:
    """The likeliest token, or a sample."""
    temperature = jnp.asarray(temperature, jnp.float32)
    sampled = jax.random.categorical(key, logits / jnp.where(temperature > 0, temperature, 1.0))
    return jnp.where(temperature > 0, sampled, logits.argmax(axis=-1)).astype(jnp.int32)


def decode(model: Transformer, cache: Cache, tokens: Int[Array, "b l"], mask: Bool[Array, "b l"]) -> tuple[Float[Array, "b l v"], Cache]:
    """Logits after given tokens, one token at a time: what generation would compute if it said them."""

    def one(cache, step):
        token, there = step
        logits, cache = model.extend(cache, token[:, None], there[:, None])
        return cache, logits[:, 0]

    cache, logits = jax.lax.scan(one, cache, (tokens.T, mask.T))
    return jnp.moveaxis(logits, 0, 1), cache
