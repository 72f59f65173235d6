"""Means of each head's attention: its spread, its mass on the named token, and its distance."""

import functools
from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pe_lab.contrib.inspection.scorecard import markdown_table
from pe_lab.contrib.inspection.trained.findings import AFTER, Findings, HeadAttention
from pe_lab.contrib.inspection.trained.sections.section import (
    LINES,
    Section,
    by_layer,
    enumeration,
    grid,
    layer_name,
    legend_entries,
    number,
    state_cells,
)
from pe_lab.results.plots import drawing, styles

_LABELS = {
    "entropy": "entropy / log n",
    "aligned": "weight on the\nnamed token",
    "distance": "mean distance\n(tokens)",
    "sink_share": "weight on the\nlearned sink",
}


def section(findings: Findings) -> Section:
    reading_of_sinks = ""
    if has_learned_sinks(findings.attention):
        reading_of_sinks = (
            " *Weight on the learned sink* is the attention to no token. The other numbers are of "
            "the weights on tokens, scaled to a sum of 1."
        )
    return Section(
        title="Heads by length",
        measured=(
            f"Means of the attention weights over {findings.run.examples} examples per length. "
            "Only queries that predict a token of the answer count; in the encoder of an "
            "encoder-decoder, all tokens do."
        ),
        reading=(
            "A column is a layer, a line is a head. *Entropy / log n* is the spread of attention "
            "over n visible keys: 0 for attention to one key, 1 for uniform attention. *Weight on "
            "the named token* is the attention to the token of the prompt that has to be produced "
            "next; the dotted line is uniform attention. It is missing for tasks that name no such "
            "token. *Mean distance* is the distance between query and keys. The dashed line is the "
            "training length. If a head loses the named token beyond it, longer examples may fail "
            f"there.{reading_of_sinks}"
        ),
        this_run=_this_run(findings),
        limits=(
            "A mean hides differences between queries: a head may look up one token at one query "
            "and rest at others. One run is one seed. Another seed may distribute the same work "
            "over other heads."
        ),
        pictures={"trained_heads": functools.partial(figure, findings)},
        table=_table(findings),
    )


def has_learned_sinks(rows: Iterable[HeadAttention]) -> bool:
    """Whether the weight on a learned sink is known in a row."""
    return any(row.sink_share is not None for row in rows)


def _this_run(findings: Findings) -> str:
    lengths = findings.run.lengths
    after = [row for row in findings.attention if row.state.when == AFTER]
    at_first = [row for row in after if row.state.length == lengths[0]]
    known = [row for row in at_first if row.aligned is not None]
    if not known:
        return "This task names no token of the prompt."
    best = max(known, key=lambda row: row.aligned or 0.0)
    text = (
        f"At length {lengths[0]}, head {best.head} in layer {best.layer} of the {best.attention} "
        f"has the most weight on the named token: {number(best.aligned)}, compared with "
        f"{number(best.by_chance)} for uniform attention."
    )
    best_head = (best.attention, best.layer, best.head)
    other_lengths = []
    for row in after:
        head = (row.attention, row.layer, row.head)
        if head == best_head and row.state.length != lengths[0]:
            other_lengths.append(f"{number(row.aligned)} at length {row.state.length}")
    if other_lengths:
        text += f" The same head has {enumeration(other_lengths)}."
    return text


def figure(findings: Findings) -> Figure:
    after = [row for row in findings.attention if row.state.when == AFTER]
    keys = []
    for key in _LABELS:
        # A task may name no token, two streams have no distance, and a model may have no sinks.
        if any(getattr(row, key) is not None for row in after):
            keys.append(key)
    layers = by_layer(after)
    lengths = sorted({row.state.length for row in after})
    # Few layers get a narrow picture, many a wide one.
    share_of_page = min(1.0, 0.3 + 0.3 * len(layers))
    width = max(drawing.WIDTH * share_of_page, 1.2 * len(layers))
    size = (width, 1.7 * len(keys) + 0.7)
    figure, axes = grid(len(keys), len(layers), size, sharex=True, sharey="row")
    for axes_of_key, key in zip(axes, keys, strict=True):
        for axis, rows in zip(axes_of_key, layers.values(), strict=True):
            _plot_heads(axis, rows, key)
            axis.axvline(
                findings.run.trained_length,
                color="black",
                linestyle="--",
                linewidth=1,
                label="training length",
            )
            drawing.ticks_at(axis, lengths)
        axes_of_key[0].set_ylabel(_LABELS[key])
        top = 1.0
        if key == "distance":  # the others are shares
            top = max(row.distance or 0.0 for row in after) or 1.0
        axes_of_key[0].set_ylim(0, 1.05 * top)
    several = len({name for name, _ in layers}) > 1
    for column, (name, index) in enumerate(layers):
        title = f"{name}, layer {index}" if several else f"layer {index}"
        axes[0, column].set_title(title)
        axes[-1, column].set_xlabel(f"length ({findings.run.unit})")
    entries = legend_entries(axes.flat)
    handles, labels = list(entries.values()), list(entries)
    figure.legend(handles, labels, loc="outside lower center", ncols=4, handlelength=3.5)
    figure.suptitle("Attention of each head by length of the example")
    return figure


def _plot_heads(axis: Axes, rows: list[HeadAttention], key: str) -> None:
    for head in sorted({row.head for row in rows}):
        of_head = [row for row in rows if row.head == head]
        known = [row for row in of_head if getattr(row, key) is not None]
        color, marker = LINES[(head - 1) % len(LINES)]
        # Heads that share a color differ in their dashes.
        dashes = styles.DASHES[(head - 1) // len(LINES) % len(styles.DASHES)]
        axis.plot(
            [row.state.length for row in known],
            [getattr(row, key) for row in known],
            color=color,
            marker=marker,
            dashes=dashes or (None, None),
            label=f"head {head}",
        )
    if key == "aligned":
        chance = {row.state.length: row.by_chance for row in rows if row.by_chance is not None}
        lengths = sorted(chance)
        values = [chance[length] for length in lengths]
        axis.plot(lengths, values, color="0.5", linestyle=":", label="uniform attention")


def _table(findings: Findings) -> str:
    header = [
        "state",
        "length",
        "layer",
        "head",
        "entropy / log n",
        "weight on the named token",
        "uniform attention",
        "distance",
    ]
    with_sinks = has_learned_sinks(findings.attention)
    if with_sinks:
        header.append("weight on the learned sink")
    body = []
    for row in findings.attention:
        values = [row.entropy, row.aligned, row.by_chance, row.distance]
        if with_sinks:
            values.append(row.sink_share)
        place = [*state_cells(row.state), layer_name(row), str(row.head)]
        body.append([*place, *map(number, values)])
    return markdown_table(header, body)
