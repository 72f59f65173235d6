"""The transformer's forward pass from the equations, in NumPy and float64.

It reads one example without padding, pair by pair. It shares nothing with pe_lab but the names of
parameters and of the config's fields. Encodings are fixed: sinusoidal at the input, RoPE and T5's
bias inside every attention, cross-attention included.
"""

import math

import numpy as np


def logits(p, model, read, source=None):
    """[L, V] of (ids, positions); an encoder–decoder also reads a source."""
    p = _float64(p)
    memory = None if source is None else stack(p["encoder"], model, *source, causal=False)
    answering = p.get("decoder") or p["encoder"]
    x, _ = stack(answering, model, *read, causal="decoder" in p, memory=memory)
    x = x[1:] if model.sink_token else x
    return x @ (
        answering["embedding"]["embedding"].T if model.tied_output else p["output"]["kernel"]
    )


def stack(p, model, ids, positions, causal, memory=None):
    """The last layer's output and its positions, a sink token's first if there is one."""
    x = np.stack([p["embedding"]["embedding"][i] for i in ids]) * (
        math.sqrt(model.width) if model.scale_embeddings else 1
    )
    x = x + np.stack([sinusoid(n, model.width) for n in positions])
    if model.sink_token:
        x, positions = np.stack([p["sink"], *x]), [positions[0] - 1, *positions]
    tables = [p["attention_encodings"][i]["table"] for i in sorted(p["attention_encodings"])]
    inputs = x
    for loop in range(model.num_loops):
        if model.loop_injection == "add" and loop > 0:
            x = x + inputs
        if model.loop_injection == "linear":
            last = x if loop > 0 else 0 * x
            x = np.concatenate([last, inputs], axis=1) @ p["loop_inputs"]["linear"]["kernel"]
        for _, layer in sorted(p["blocks"].items()):
            x = block(layer, model, x, positions, causal, memory, tables)
    return normed(p.get("norm"), x), positions


def block(p, model, x, positions, causal, memory, tables):
    after = p.get("after_attention", {0: None, 1: None})
    own = [[sees(model, causal, i, j) for j in range(len(x))] for i in range(len(x))]

    def around(x, sublayer, layer):
        if model.norm_position == "post":
            return normed(p["norms"][sublayer], x + layer(x))
        x = x + layer(normed(p["norms"][sublayer], x))
        return normed(p["second_norms"][sublayer], x) if model.norm_position == "both" else x

    def within(x):
        return normed(
            after[0],
            attention(
                p["attention"], model, x, positions, x, positions, own, tables[0], not causal
            ),
        )

    def across(x):
        everything = [
            [not model.sink_token or i > 0 or j == 0 for j in range(len(memory[0]))]
            for i in range(len(x))
        ]
        return normed(
            after[1],
            attention(p["cross"], model, x, positions, *memory, everything, tables[1], True),
        )

    x = around(x, 0, within)
    if memory is not None:
        x = around(x, 2, across)
    if model.feedforward_width == 0:
        return x
    return around(x, 1, lambda x: feedforward(p["feedforward"], model, x))


def sees(model, causal, query, key):
    """Whether the query at one place of a stream may attend to the key at another."""
    if model.sink_token and 0 in (query, key):
        return key == 0
    near = model.sliding_window is None or abs(query - key) < model.sliding_window
    return near and (key <= query or not causal)


def attention(p, model, x, of_queries, y, of_keys, allowed, table, both_sides):
    """softmax(f·q·k / sqrt(Dh) + bias) v for each head and query, over the keys allowed."""
    head_dim, outputs = model.width // model.num_heads, []
    for h in range(model.num_heads):
        q, k, v = (
            a @ matrix(p, model, name)[:, h * head_dim : (h + 1) * head_dim]
            for a, name in ((x, "query"), (y, "key"), (y, "value"))
        )
        q, k = normed(p.get("query_norm"), q), normed(p.get("key_norm"), k)
        rows = []
        for i in range(len(x)):
            keys = [j for j in range(len(y)) if allowed[i][j]]
            log_n = math.log(len(keys))
            factor = {
                "none": 1,
                "log_n": log_n,
                "ssmax": log_n * p.get("log_n_factor", [0] * (h + 1))[h],
            }[model.logit_temperature]
            if not model.scale_logits:
                factor *= math.sqrt(head_dim)
            s = [
                factor
                * (turned(q[i], of_queries[i]) @ turned(k[j], of_keys[j]))
                / math.sqrt(head_dim)
                + table[bucket(of_keys[j] - of_queries[i], len(table), both_sides), h]
                for j in keys
            ]
            w = np.exp(s - np.max(s))
            rows.append(w / w.sum() @ v[keys])
        outputs.append(np.stack(rows))
    return np.concatenate(outputs, axis=1) @ p["out"]["kernel"]


def matrix(p, model, name):
    """The matrix of queries, keys or values, which may be that of queries."""
    shared = {"none": (), "qk": ("key",), "qkv": ("key", "value")}[model.shared_projections]
    return p["query" if name in shared else name]["kernel"]


def feedforward(p, model, x):
    into = linear(p["into"], x)
    if model.activation == "swiglu":
        gate = linear(p["gate"], x)
        return linear(p["out"], gate / (1 + np.exp(-gate)) * into)
    if model.activation == "geglu":
        return linear(p["out"], gelu(linear(p["gate"], x)) * into)
    return linear(p["out"], np.maximum(into, 0) if model.activation == "relu" else gelu(into))


def gelu(x):
    """jax.nn.gelu's approximation, not the exact one with erf."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def linear(p, x):
    return x @ p["kernel"] + p["bias"]


def normed(p, x):
    """Layer norm where there is a bias, else RMS norm; x itself where there is no norm."""
    if p is None:
        return x
    if "bias" in p:
        x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * p["scale"] + p.get("bias", 0)


def sinusoid(position, width):
    return np.array(
        [
            (math.sin, math.cos)[c % 2](position / 10000 ** (c // 2 * 2 / width))
            for c in range(width)
        ]
    )


def turned(x, position):
    """RoPE: neighbouring channels as a complex number, times one of modulus 1."""
    pairs = [
        complex(x[c], x[c + 1]) * np.exp(1j * position / 10000 ** (c / len(x)))
        for c in range(0, len(x), 2)
    ]
    return np.array([part for z in pairs for part in (z.real, z.imag)])


def bucket(offset, buckets, both_sides, max_distance=128):
    """T5's: exact up to half of a side's buckets, logarithmic up to max_distance."""
    start = buckets // 2 if both_sides and offset > 0 else 0
    buckets, distance = (buckets // 2, abs(offset)) if both_sides else (buckets, max(-offset, 0))
    exact = buckets // 2
    if distance < exact:
        return start + distance
    return start + min(
        exact
        + int(math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact)),
        buckets - 1,
    )


def _float64(p):
    return (
        {k: _float64(v) for k, v in p.items()} if isinstance(p, dict) else np.asarray(p, np.float64)
    )
