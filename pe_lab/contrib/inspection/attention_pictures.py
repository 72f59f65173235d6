"""Panels and captions of biases, masks, and encodings that depend on content or tokens."""

import numpy as np
from matplotlib.axes import Axes

from pe_lab.contrib.inspection import receptive_field
from pe_lab.contrib.inspection.draws import DRAWS, SEQUENCES
from pe_lab.contrib.inspection.measurements import fill_masked
from pe_lab.contrib.inspection.panels import (
    MAP,
    add_colorbar,
    color,
    decay_sentence,
    mark_length,
    plot_by_head,
    plot_heads,
    unique_sentence,
)
from pe_lab.contrib.inspection.scorecard import Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding


def bias_by_head(axis: Axes, encoding: UntrainedEncoding) -> None:
    """The bias of each head at each distance; a line ends where its mask does."""
    logits = encoding.logits(encoding.length)
    bias = np.where(np.isfinite(logits), logits, np.nan)  # a line has gaps at NaN
    plot_heads(axis, bias)
    axis.set(title="bias of each head", xlabel="distance (positions)")
    axis.set_ylabel("added to the logit")


def attention_by_head(axis: Axes, encoding: UntrainedEncoding) -> None:
    """Attention of each head to each distance if all keys are equal."""
    weights = receptive_field.attention(encoding.logits(encoding.length))
    relative = weights / weights.max(axis=1, keepdims=True)
    image = axis.imshow(
        relative, aspect="auto", cmap="Greys", vmin=0, vmax=1, interpolation="nearest"
    )
    add_colorbar(axis, image)
    axis.set(title="attention to equal keys, relative to each head's maximum", ylabel="head")
    axis.set_xlabel("distance (positions)")
    num_heads = len(weights)
    names = [str(head + 1) for head in range(num_heads)]
    axis.set_yticks(range(num_heads), names)


def cumulative_attention(axis: Axes, encoding: UntrainedEncoding) -> None:
    """Share of each head's attention within a distance, in an example of up to four lengths."""
    longest = encoding.lengths(1, 2, 4)[-1]
    weights = receptive_field.attention(encoding.logits(longest))
    plot_heads(axis, np.cumsum(weights, axis=-1))
    axis.axhline(0.99, color="0.6", linewidth=1)
    mark_length(axis, encoding)
    end = (longest, 0.99)
    axis.annotate("99 %", end, textcoords="offset points", xytext=(0, 5), fontsize=6.5, ha="right")
    axis.set(title="share of attention within a distance", xlabel="distance (positions)")
    axis.set(ylabel="share", ylim=(0, 1.12))


def random_logits(axis: Axes, encoding: UntrainedEncoding) -> None:
    """The logits of each random query and key at each distance, minus their mean."""
    logits = fill_masked(encoding.logits(encoding.length))
    by_head = logits.reshape(-1, encoding.num_heads, encoding.length)
    first_head = by_head[:, 0]
    # A softmax ignores the mean of a query's logits.
    centered = first_head - first_head.mean(axis=1, keepdims=True)
    top = np.abs(centered).max() or 1.0
    image = axis.imshow(
        centered.T, aspect="auto", cmap=MAP, vmin=-top, vmax=top, interpolation="nearest"
    )
    add_colorbar(axis, image)
    axis.set(title="head 1: logits of random queries and keys", xlabel="query and key")
    axis.set_ylabel("distance (positions)")


def mean_logit(axis: Axes, encoding: UntrainedEncoding) -> None:
    """The logit of a query whose key equals it: the mean of each head, and the spread over all."""
    logits = fill_masked(encoding.logits(encoding.length, self_keys=True))
    mean = logits.mean(axis=0)
    spread = logits.std(axis=0)
    by_head = logits.reshape(-1, encoding.num_heads, encoding.length).mean(axis=0)
    distance = np.arange(encoding.length)
    low, high = mean - spread, mean + spread
    shade = color(encoding)
    axis.fill_between(distance, low, high, color=shade, alpha=0.2, linewidth=0)
    plot_by_head(axis, by_head)
    axis.set(title="query and equal key: mean and spread", xlabel="distance (positions)")
    axis.set_ylabel("logit")


def random_token_attention(axis: Axes, encoding: UntrainedEncoding) -> None:
    """Attention of the last of random tokens, by distance."""
    weights = encoding.attention_of_random_tokens(encoding.length)
    plot_heads(axis, weights.mean(axis=0))
    uniform = 1 / encoding.length
    axis.axhline(uniform, color="black", linewidth=1, zorder=3, label="uniform attention")
    axis.set(title=f"attention of the last token, mean of {len(weights)} random sequences")
    axis.set(xlabel="distance (positions)", ylabel="weight")
    axis.set_ylim(bottom=0)


BIAS_PANELS = (bias_by_head, attention_by_head, cumulative_attention)
CONTENT_PANELS = (random_logits, mean_logit)
TOKEN_PANELS = (random_token_attention,)


def bias_caption(row: Row) -> str:
    fields = []
    for name, value in row.numbers.items():
        if name.startswith("99% of head") and value is not None:
            fields.append(f"{value:.0f}")
    tokens = row.numbers["tokens of the receptive field"]
    if row.numbers["largest bias"]:
        start = "Left: the bias that each head adds to the logit of a key, by distance. Middle:"
    else:
        start = "The encoding is a mask. Left:"
    return (
        f"{start} the attention of each head if all keys are equal (dark is much). Right: the "
        f"share of this attention within a distance; the dashed line is the length. In an example "
        f"of {tokens:,} tokens, 99% lies within {', '.join(fields)} positions, head by head. "
        f"{decay_sentence(row)}"
    )


def content_caption(row: Row) -> str:
    return (
        f"Left: the logits of {DRAWS} random queries and keys of the first head at each distance, "
        "a column for each pair, minus their mean. Right: the logit of a query and an equal key, a "
        "line for each head if they differ. If its mean over all directions is flat and its spread "
        f"is wide, the effect of a distance depends on the query. {unique_sentence(row)} "
        f"{decay_sentence(row)}"
    )


def token_caption(row: Row) -> str:
    return (
        f"The scorecard has no numbers for this encoding: {row.reason}. The picture shows random "
        f"tokens only: the attention of the last token by distance, averaged over {SEQUENCES:,} "
        f"sequences. Other tokens give another picture."
    )
