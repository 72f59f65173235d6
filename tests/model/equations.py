"""The transformer's forward pass from the equations, in NumPy and float64.

It reads one example without padding, pair by pair. It shares nothing with pe_lab but the names of
parameters and of the config's fields. Encodings are fixed: sinusoidal at the input, RoPE and T5's
bias inside every attention, cross-attention included. FoX may be a fourth one.
"""

import math

import numpy as np


def logits(p, model, read, source=None):
    """[L, V] of (ids, positions); an encoder–decoder also reads a source."""
    p = _float64(p)
    memory = None if source is None else stack(p["encoder"], model, *source, causal=False)
    answering = p.get("decoder") or p["encoder"]
    x, _ = stack(answering, model, *read, causal="decoder" in p, memory=memory)
    return x @ (
        answering["embedding"]["embedding"].T if model.tied_output else p["output"]["kernel"]
    )


def stack(p, model, ids, positions, causal, memory=None):
    """The last layer's output and its positions."""
    x = np.stack([p["embedding"]["embedding"][i] for i in ids]) * (
        math.sqrt(model.width) if model.scale_embeddings else 1
    )
    x = smeared(p.get("smear"), x)
    x = x + np.stack([sinusoid(n, model.width) for n in positions])
    encodings = [encoding for _, encoding in sorted(p["attention_encodings"].items())]
    tables = [encoding["table"] for encoding in encodings if "table" in encoding]
    forget = [encoding["projection"] for encoding in encodings if "projection" in encoding]
    inputs = x
    for loop in range(model.num_loops):
        if model.loop_injection == "add" and loop > 0:
            x = x + inputs
        if model.loop_injection == "linear":
            last = x if loop > 0 else 0 * x
            x = np.concatenate([last, inputs], axis=1) @ p["loop_inputs"]["linear"]["kernel"]
        for number, layer in sorted(p["blocks"].items()):
            layer_forget = forget[number] if forget else None
            share = offset_share(model, number)
            x = block(layer, model, x, positions, causal, memory, tables, layer_forget, share)
    return normed(p.get("norm"), x), positions


def block(p, model, x, positions, causal, memory, tables, forget, share):
    after = p.get("after_attention", {0: None, 1: None})
    neighbors = p.get("convolutions", {}) | {"offset": share}
    kernels = neighbors.get("kernels", {})
    own = [[sees(model, causal, i, j) for j in range(len(x))] for i in range(len(x))]

    def around(x, sublayer, layer):
        if model.norm_position == "post":
            return normed(p["norms"][sublayer], x + layer(x))
        x = x + layer(normed(p["norms"][sublayer], x))
        return normed(p["second_norms"][sublayer], x) if model.norm_position == "both" else x

    def within(x):
        x = convolved(kernels.get("A"), model, x)
        tokens = (x, positions, x, positions, own)
        y = attention(p["attention"], model, *tokens, tables[0], not causal, neighbors, forget)
        return normed(after[0], convolved(kernels.get("O"), model, y))

    def across(x):
        everything = [[True] * len(memory[0]) for _ in x]
        return normed(
            after[1],
            attention(p["cross"], model, x, positions, *memory, everything, tables[1], True),
        )

    x = around(x, 0, within)
    if memory is not None:
        x = around(x, 2, across)
    if model.feedforward_width == 0:
        return x

    def forward(x):
        x = convolved(kernels.get("C"), model, x)
        return convolved(kernels.get("F"), model, feedforward(p["feedforward"], model, x, kernels))

    return around(x, 1, forward)


def sees(model, causal, query, key):
    """Whether the query at one place of a stream may attend to the key at another."""
    near = model.sliding_window is None or abs(query - key) < model.sliding_window
    return near and (key <= query or not causal)


def attention(
    p, model, x, of_queries, y, of_keys, allowed, table, both_sides, neighbors=None, forget=None
):
    """softmax(f·q·k / sqrt(Dh) + bias) v for each head and query, over the keys allowed."""
    head_dim, outputs = model.width // model.num_heads, []
    neighbors = neighbors or {}
    kernels, shifts = neighbors.get("kernels", {}), neighbors.get("shifts", {})
    for h in range(model.num_heads):
        q, k, v = (
            a @ matrix(p, model, name)[:, h * head_dim : (h + 1) * head_dim]
            for a, name in ((x, "query"), (y, "key"), (y, "value"))
        )
        k = shifted(shifts.get("key"), model, k, y, h)
        v = shifted(shifts.get("value"), model, v, y, h)
        q, k = normed(p.get("query_norm"), q), normed(p.get("key_norm"), k)
        q, k, v = (
            convolved(kernels[name][:, h] if name in kernels else None, model, a)
            for name, a in (("B_query", q), ("B_key", k), ("B_value", v))
        )
        k = offset(k, neighbors.get("offset", 0))
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
                + forgotten(forget, y[j + 1 : i + 1], h)
                for j in keys
            ]
            w = np.exp(s - np.max(s))
            sink = np.exp(p["sinks"][h] - np.max(s)) if model.learned_sinks else 0
            rows.append(w / (w.sum() + sink) @ v[keys])
        outputs.append(gated(p.get("gate", {}), model, np.stack(rows), x, h))
    return np.concatenate(outputs, axis=1) @ p["out"]["kernel"]


def forgotten(p, x, h):
    """FoX's bias: the sum of log sigmoid(w·x + b) over the tokens after the key."""
    return 0 if p is None else np.log(sigmoid(linear(p, x)[:, h])).sum()


def gated(p, model, out, x, h):
    """The output of a head, normed, times a sigmoid of the input of attention."""
    out = normed(p.get("norm"), out)
    if "projection" not in p:
        return out
    gate = np.split(sigmoid(x @ p["projection"]["kernel"]), model.num_heads, axis=1)
    return out * gate[h]


def shifted(p, model, x, inputs, h):
    """Keys or values of a head, mixed with those of the token before; zeros before the first."""
    if p is None:
        return x
    share = sigmoid(inputs @ p["kernel"][:, h])[:, None]
    last = np.stack([before(x, t, 1) for t in range(len(x))])
    return share * last + (1 - share) * x


def offset_share(model, layer):
    on = model.key_offset_layers is None or layer in model.key_offset_layers
    return model.key_offset if on else 0


def offset(k, share):
    """k[t, D:] = k[t-1, D:] for t >= 1, as in modded-nanogpt's train_gpt.py at 0016a3c."""
    first = round((1 - share) * k.shape[1])
    k = k.copy()
    k[1:, first:] = k[:-1, first:].copy()
    return k


def smeared(p, x):
    """x_t + factor sigmoid(gate · x_t[:C]) x_(t-1), as in the same file."""
    if p is None:
        return x
    weight = p["factor"] * sigmoid(x[:, : len(p["gate"])] @ p["gate"])
    return x + weight[:, None] * np.stack([before(x, t, 1) for t in range(len(x))])


def convolved(kernel, model, x):
    """For each channel alone, the sum over n of kernel[n] times the input n tokens before."""
    if kernel is None:
        return x
    out = np.zeros_like(x)
    for t in range(len(x)):
        for n in range(len(kernel)):
            out[t] += kernel[n] * before(x, t, n)
    return x + out if model.convolution_residual else out


def before(x, t, n):
    """The input n tokens before one; zeros before the first."""
    return x[t - n] if t >= n else np.zeros_like(x[t])


def matrix(p, model, name):
    """The matrix of queries, keys or values, which may be that of queries."""
    shared = {"none": (), "qk": ("key",), "qkv": ("key", "value")}[model.shared_projections]
    return p["query" if name in shared else name]["kernel"]


def feedforward(p, model, x, kernels):
    into = convolved(kernels.get("D"), model, linear(p["into"], x))
    if model.activation in ("swiglu", "geglu"):
        gate = convolved(kernels.get("D_gate"), model, linear(p["gate"], x))
        gate = gate * sigmoid(gate) if model.activation == "swiglu" else gelu(gate)
        return linear(p["out"], gate * into)
    return linear(p["out"], np.maximum(into, 0) if model.activation == "relu" else gelu(into))


def gelu(x):
    """jax.nn.gelu's approximation, not the exact one with erf."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


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
