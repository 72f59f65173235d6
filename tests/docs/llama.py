"""A small Llama in Flax NNX with random weights, as a user has one: bonsai's names and call.

It has a rotary embedding of its own, in NumPy and float64. Its formulas are those of transformers
5.24.0, modeling_rope_utils.py.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

VOCABULARY, WIDTH, HEADS, GROUPS, HEAD_DIM, LAYERS = 17, 48, 4, 2, 16, 2
SIZES = dict(
    vocab_size=VOCABULARY,
    hidden_size=WIDTH,
    num_attention_heads=HEADS,
    num_key_value_heads=GROUPS,
    head_dim=HEAD_DIM,
    num_hidden_layers=LAYERS,
    max_position_embeddings=16,
)


def frequencies(config, length):
    """Radians per position of each pair of channels that rotates, and the factor of q and k.

    Args:
      length: the largest position and 1 more; the types dynamic and longrope read it.
    """
    given = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
    base = given.get("rope_theta", config.get("rope_theta", 10_000.0))
    fraction = given.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    channels = int(HEAD_DIM * fraction)
    exact = base ** -(np.arange(0, channels, 2) / channels)
    kind, factor = given.get("rope_type", given.get("type", "default")), given.get("factor", 1.0)
    trained = given.get("original_max_position_embeddings", 16)
    if kind == "llama3":
        turns = trained * exact / (2 * np.pi)
        low, high = given["low_freq_factor"], given["high_freq_factor"]
        smooth = np.clip((turns - low) / (high - low), 0, 1)
        return (1 - smooth) * exact / factor + smooth * exact, 1.0
    if kind == "yarn":

        def pair(turns):
            return channels * np.log(trained / (turns * 2 * np.pi)) / (2 * np.log(base))

        low = max(np.floor(pair(given.get("beta_fast", 32))), 0)
        high = min(np.ceil(pair(given.get("beta_slow", 1))), channels - 1)
        ramp = np.clip((np.arange(channels // 2) - low) / max(high - low, 1e-3), 0, 1)
        return exact / factor * ramp + exact * (1 - ramp), 0.1 * np.log(factor) + 1
    if kind == "dynamic":
        longest = max(length, SIZES["max_position_embeddings"])
        grown = factor * longest / SIZES["max_position_embeddings"] - (factor - 1)
        base *= grown ** (channels / (channels - 2))
        return base ** -(np.arange(0, channels, 2) / channels), 1.0
    if kind == "longrope":
        divisors = given["long_factor" if length > trained else "short_factor"]
        return exact / np.asarray(divisors), np.sqrt(1 + np.log(factor) / np.log(trained))
    return exact / factor, 1.0


class Attention(nnx.Module):
    def __init__(self, config, layer, *, rngs):
        def linear(inputs, outputs):
            return nnx.Linear(inputs, outputs, use_bias=False, rngs=rngs)

        self.hidden_size, self.head_dim = WIDTH, HEAD_DIM
        self.num_heads, self.num_kv_heads = HEADS, GROUPS
        self.q_proj = linear(WIDTH, HEADS * HEAD_DIM)
        self.k_proj = linear(WIDTH, GROUPS * HEAD_DIM)
        self.v_proj = linear(WIDTH, GROUPS * HEAD_DIM)
        self.o_proj = linear(HEADS * HEAD_DIM, WIDTH)
        self.rotates = bool(config.get("no_rope_layers", [1] * LAYERS)[layer])
        self.frequencies = functools.partial(frequencies, config)

    def rotate(self, x, positions):
        """The first channels in halves, [B, L, H, Dh]."""
        if not self.rotates:
            return x
        radians, factor = self.frequencies(int(positions.max()) + 1)
        half = len(radians)
        angles = jnp.multiply.outer(positions, jnp.asarray(radians, jnp.float32))[:, :, None]
        sin, cos = factor * jnp.sin(angles), factor * jnp.cos(angles)
        one, two, rest = jnp.split(x, (half, 2 * half), axis=-1)
        return jnp.concatenate([one * cos - two * sin, two * cos + one * sin, rest], axis=-1)

    def __call__(self, x, segment_ids, attn_mask=None, cache=None):
        batch, length, _ = x.shape
        q = self.q_proj(x).reshape(batch, length, HEADS, HEAD_DIM)
        k, v = (
            project(x).reshape(batch, length, GROUPS, HEAD_DIM)
            for project in (self.k_proj, self.v_proj)
        )
        positions = positions_of(segment_ids)
        q, k = self.rotate(q, positions), self.rotate(k, positions)
        q = q.reshape(batch, length, GROUPS, HEADS // GROUPS, HEAD_DIM)
        logits = jnp.einsum("btkgh,bskh->bkgts", q, k) / HEAD_DIM**0.5
        mask = segment_ids[:, :, None] == segment_ids[:, None, :]
        mask &= np.tril(np.ones((1, length, length), bool))
        weights = jax.nn.softmax(jnp.where(mask[:, None, None], logits, -1e30))
        out = jnp.einsum("bkgts,bskh->btkgh", weights, v)
        return self.o_proj(out.reshape(batch, length, -1))


def positions_of(segment_ids):
    """Positions that begin at 0 in each segment; padding is all 0."""
    rows = []
    for row in np.asarray(segment_ids):
        position, positions = -1, []
        for i, segment in enumerate(row):
            position = position + 1 if i and segment and segment == row[i - 1] else 0
            positions.append(position)
        rows.append(positions)
    return jnp.asarray(rows)


class Layer(nnx.Module):
    def __init__(self, config, layer, *, rngs):
        self.self_attn = Attention(config, layer, rngs=rngs)
        self.gate_proj = nnx.Linear(WIDTH, 2 * WIDTH, use_bias=False, rngs=rngs)
        self.up_proj = nnx.Linear(WIDTH, 2 * WIDTH, use_bias=False, rngs=rngs)
        self.down_proj = nnx.Linear(2 * WIDTH, WIDTH, use_bias=False, rngs=rngs)
        self.input_layernorm = nnx.RMSNorm(WIDTH, rngs=rngs)
        self.post_attention_layernorm = nnx.RMSNorm(WIDTH, rngs=rngs)

    def __call__(self, x, segment_ids, attn_mask=None, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), segment_ids, attn_mask, cache=cache)
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(nnx.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nnx.Module):
    def __init__(self, config, *, rngs):
        self.embedder = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
        self.layers = nnx.List([Layer(config, i, rngs=rngs) for i in range(LAYERS)])
        self.final_norm = nnx.RMSNorm(WIDTH, rngs=rngs)
        self.lm_head = nnx.Linear(WIDTH, VOCABULARY, use_bias=False, rngs=rngs)

    def __call__(self, tokens, segment_ids, cache, attn_mask=None):
        x = self.embedder(tokens)
        for layer in self.layers:
            x = layer(x, segment_ids, attn_mask=attn_mask, cache=cache)
        return self.lm_head(self.final_norm(x))


def names(**config):
    """What a listing of the docs expects: a model and its config."""
    config = {"model_type": "llama", **SIZES, **config}
    return {"config": config, "model": Llama(config, rngs=nnx.Rngs(0))}
