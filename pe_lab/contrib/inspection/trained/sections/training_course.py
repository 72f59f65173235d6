"""A run through training: logit shares, heads and exact match at each kept step."""

import functools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pe_lab.contrib.inspection.scorecard import markdown_table
from pe_lab.contrib.inspection.trained.findings import (
    Findings,
    HeadAttention,
    HeadTerms,
    StateInput,
    TrainingCourse,
    ValidationPoint,
)
from pe_lab.contrib.inspection.trained.four_terms import TERMS
from pe_lab.contrib.inspection.trained.sections.heads import has_learned_sinks
from pe_lab.contrib.inspection.trained.sections.input_section import number_cells
from pe_lab.contrib.inspection.trained.sections.logit_shares import term_cells
from pe_lab.contrib.inspection.trained.sections.section import (
    LINES,
    TERM_COLORS,
    TERM_NAMES,
    Section,
    by_layer,
    grid,
    layer_name,
    legend_entries,
    mean,
    number,
)
from pe_lab.results.plots import drawing

NOT_KEPT = (
    "The course of training: this run kept its final parameters only. To keep the parameters of "
    "each point of the curve, train with `--config.checkpoints.keep_curve=True`; "
    "`--config.evaluate.curve_every` sets the distance of the points. A finished run is not "
    "trained again, so name another folder with `--results`."
)
_HEAD_LABELS = {
    "aligned": "weight on the\nnamed token",
    "entropy": "entropy / log n",
    "sink_share": "weight on the\nlearned sink",
}
_CHANCE = ("0.4", ":")  # color and line style
_LEGEND_WIDTH = 1.9  # inches
_MARKERS = "os^DvP"


def section(findings: Findings) -> Section:
    course = findings.course
    return Section(
        title="Through training",
        measured=(
            "The shares of content and position in the logits, the attention of each head and the "
            "validation exact match, at each step whose parameters were kept."
        ),
        reading=(
            "A column is a layer, and all rows share the training steps, so that events above one "
            "another coincide. Top: the four shares, averaged over heads. Blue areas are queries "
            "that depend on content, red areas on position. A layer of *position × position* "
            "attends to fixed or near positions whatever the tokens are. A layer of *content × "
            "content* attends to matching content wherever it is; from the second layer on, the "
            "content of a position may come from another token. Middle: each head, as in *Heads by "
            "length*. Bottom, the same in all columns: exact match, in black up to the training "
            "length and in gray beyond. The task counts as solved when the mean of the black lines "
            f"reaches {course.threshold:g} (dashed line)."
        ),
        this_run=_this_run(course, findings.run.trained_length),
        limits=(
            "Changes at the same time may have a common cause; the picture does not show which "
            "change causes which. Nothing is known between two points."
        ),
        pictures={
            "trained_through_training": functools.partial(
                figure, course, findings.run.trained_length
            )
        },
        table=_table(course),
    )


def input_section(findings: Findings) -> Section:
    first = findings.course.input[0]
    last = findings.course.input[-1]
    before = first.parts.directions
    after = last.parts.directions
    names = list(number_cells(first.parts))
    body = []
    for row in findings.course.input:
        body.append([str(row.state.step), *number_cells(row.parts).values()])
    return Section(
        title="Token and position at the input through training",
        measured="The numbers of *Token and position at the input* at each kept step.",
        reading=(
            "Left: the sizes of token and position embedding. Middle: their rms cosine; below the "
            "dotted line they share fewer directions than random ones. Right: the overlap of their "
            "main directions; its dotted line falls if the embeddings need fewer directions."
        ),
        this_run=(
            f"The rms cosine is {number(before.rms_cosine)} at step {first.state.step} and "
            f"{number(after.rms_cosine)} at step {last.state.step}."
        ),
        limits="As for *Token and position at the input*.",
        pictures={
            "trained_through_training_input": functools.partial(input_figure, findings.course.input)
        },
        table=markdown_table(["step", *names], body),
    )


def _this_run(course: TrainingCourse, trained_length: int) -> str:
    lengths = {length for point in course.curve for length in point.exact_match}
    if course.solved_at is not None:
        return f"The task is first solved at step {course.solved_at}."
    if any(length <= trained_length for length in lengths):
        return "The task is not solved at any point of the curve."
    return "The curve has no length up to the training length, so it does not show when it solves."


def figure(course: TrainingCourse, trained_length: int) -> Figure:
    terms_of = by_layer(course.terms)
    attention_of = by_layer(course.attention)
    keys = []
    for key in _HEAD_LABELS:
        # A task may name no token, and a model may have no sinks.
        if any(getattr(row, key) is not None for row in course.attention):
            keys.append(key)
    ratios = [2.0, *[1.0] * len(keys), 1.0]
    width = max(drawing.WIDTH, 1.6 * len(terms_of) + _LEGEND_WIDTH)
    size = (width, 1.15 * sum(ratios) + 0.8)
    figure, axes = grid(
        len(ratios), len(terms_of), size, sharex=True, sharey="row", height_ratios=ratios
    )
    several = len({name for name, _ in terms_of}) > 1
    for column, ((name, layer), terms) in enumerate(terms_of.items()):
        heads = attention_of[name, layer]
        title = f"{name}, layer {layer}" if several else f"layer {layer}"
        axes[0, column].set_title(title)
        _stack(axes[0, column], terms)
        for axis, key in zip(axes[1:-1, column], keys, strict=True):
            _plot_heads(axis, heads, key)
        _plot_exact_match(axes[-1, column], course.curve, trained_length)
        if course.solved_at is not None:
            for axis in axes[:, column]:
                axis.axvline(course.solved_at, color="black", linestyle="--", linewidth=1)
            # One label, in the legend of the last row.
            axes[-1, column].lines[-1].set_label("first solved")
        steps = [row.state.step for row in terms]
        steps += [point.step for point in course.curve]
        axes[-1, column].set_xlim(0, max(steps) or 1)
        axes[-1, column].set_xlabel("training step")
        axes[-1, column].locator_params(axis="x", nbins=5, integer=True)
    labels = ["share of\nlogit energy", *(_HEAD_LABELS[key] for key in keys)]
    labels.append("validation\nexact match")
    for axis, label in zip(axes[:, 0], labels, strict=True):
        axis.set_ylabel(label)
    _add_legends(axes)
    length = course.terms[0].state.length
    figure.suptitle(f"Logit shares and heads through training (examples of length {length})")
    return figure


def _stack(axis: Axes, rows: Sequence[HeadTerms]) -> None:
    steps = sorted({row.state.step for row in rows})
    areas = np.zeros((len(TERMS), len(steps)))
    for column, step in enumerate(steps):
        of_step = [row for row in rows if row.state.step == step]
        for area, term in zip(areas, TERMS, strict=True):
            area[column] = mean(row.share(term) for row in of_step) or 0.0
    colors = [TERM_COLORS[term] for term in TERMS]
    labels = [TERM_NAMES[term] for term in TERMS]
    axis.stackplot(steps, areas, labels=labels, colors=colors, edgecolor="white", linewidth=0.4)
    axis.set_ylim(0, 1)
    axis.grid(visible=False)


def _plot_heads(axis: Axes, rows: Sequence[HeadAttention], key: str) -> None:
    """A line per head; with more heads than colors, gray lines and their mean."""
    rows = [row for row in rows if getattr(row, key) is not None]
    steps = sorted({row.state.step for row in rows})
    heads = sorted({row.head for row in rows})
    many = len(heads) > len(LINES)
    for head in heads:
        color, label = "0.75", "one head"
        if not many:
            color, label = LINES[head - 1][0], f"head {head}"
        of_head = [row for row in rows if row.head == head]
        steps_of_head = [row.state.step for row in of_head]
        values = [getattr(row, key) for row in of_head]
        axis.plot(steps_of_head, values, color=color, linewidth=1.1, label=label)
    if many:
        means = []
        for step in steps:
            means.append(mean(getattr(row, key) for row in rows if row.state.step == step))
        color, _ = LINES[0]
        axis.plot(steps, np.array(means, float), color=color, label="mean over heads")
    if rows and key == "aligned":
        chance = {row.state.step: row.by_chance for row in rows}
        color, style = _CHANCE
        uniform = np.array([chance[step] for step in steps], float)  # NaN for None
        axis.plot(steps, uniform, color=color, linestyle=style, label="uniform attention")
    axis.set_ylim(0, 1.04)


def _plot_exact_match(axis: Axes, curve: Sequence[ValidationPoint], trained_length: int) -> None:
    lengths = sorted({length for point in curve for length in point.exact_match})
    for i, length in enumerate(lengths):
        points = [point for point in curve if length in point.exact_match]
        color, linestyle = "black", "-"
        if length > trained_length:
            color, linestyle = "0.45", "-."
        axis.plot(
            [point.step for point in points],
            [point.exact_match[length] for point in points],
            color=color,
            linestyle=linestyle,
            marker=_MARKERS[i % len(_MARKERS)],
            markersize=3,
            markevery=len(points) // 20 + 1,
            linewidth=1.2,
            clip_on=False,
            label=f"length {length}",
        )
    axis.set_ylim(0, 1.04)


def _add_legends(axes: np.ndarray) -> None:
    """To the right of each row, the entries that no row above has."""
    known: set[str] = set()
    for row, axes_of_row in enumerate(axes):
        entries = legend_entries(axes_of_row)
        names = [name for name in entries if name not in known]
        known |= set(names)
        if names:
            if row == 0:
                names.reverse()  # in the order of the stacked areas, from the top
            handles = [entries[name] for name in names]
            outside = (1.02, 0.5)
            axes_of_row[-1].legend(handles, names, loc="center left", bbox_to_anchor=outside)


def input_figure(rows: Sequence[StateInput]) -> Figure:
    """Sizes, cosines and overlap of tokens and embeddings by step."""
    directions = [row.parts.directions for row in rows]
    panels = {
        "size (rms)": {
            "embedding": [row.parts.embedding_rms for row in rows],
            "token": [row.parts.token_rms for row in rows],
        },
        "cosine of tokens and embeddings": {
            "rms": [d.rms_cosine for d in directions],
            "random directions": [d.rms_cosine_by_chance for d in directions],
        },
        "overlap of main directions": {
            "overlap": [d.overlap for d in directions],
            "random directions": [d.overlap_by_chance for d in directions],
        },
    }
    steps = [row.state.step for row in rows]
    figure, axes = grid(1, len(panels), (drawing.WIDTH, 2.2))
    line_styles = ((LINES[0][0], "-"), _CHANCE)
    for axis, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for label, (color, style) in zip(lines, line_styles, strict=True):
            values = lines[label]
            axis.plot(steps, values, color=color, linestyle=style, label=label)
        axis.set(title=title, xlabel="training step")
        highest = max(map(max, lines.values()))
        axis.set_ylim(0, 1.15 * highest or 1.0)
        axis.locator_params(axis="x", nbins=4, integer=True)
        axis.legend()
    figure.suptitle("Token and position at the input through training")
    return figure


def _table(course: TrainingCourse) -> str:
    """A row per step and layer, with means over heads."""
    groups: dict[tuple[str, str], tuple[list[HeadTerms], list[HeadAttention]]] = {}
    # Both lists have a row per step, layer and head in the same order.
    for terms, attention in zip(course.terms, course.attention, strict=True):
        key = (str(terms.state.step), layer_name(terms))
        term_rows, attention_rows = groups.setdefault(key, ([], []))
        term_rows.append(terms)
        attention_rows.append(attention)
    columns = {
        "entropy": "entropy / log n",
        "aligned": "weight on the named token",
        "by_chance": "uniform attention",
    }
    if has_learned_sinks(course.attention):
        columns["sink_share"] = "weight on the learned sink"
    body = []
    for key, (term_rows, attention_rows) in groups.items():
        means = [mean(getattr(row, name) for row in attention_rows) for name in columns]
        body.append([*key, *term_cells(term_rows), *map(number, means)])
    shares = [*TERM_NAMES.values(), "together", "nearness"]
    return markdown_table(["step", "layer", *shares, *columns.values()], body)
