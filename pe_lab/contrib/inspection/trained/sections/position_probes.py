"""Linear probes of position in the hidden states of each layer."""

import functools

from matplotlib.figure import Figure

from pe_lab.contrib.inspection.scorecard import markdown_table
from pe_lab.contrib.inspection.trained.findings import AFTER, BEFORE, Findings
from pe_lab.contrib.inspection.trained.sections.section import (
    LINES,
    Section,
    grid,
    number,
    state_cells,
)
from pe_lab.results.plots import drawing

_LABELS = {"r2": "R² (1: exact position)", "error": "mean error (tokens)"}


def section(findings: Findings) -> Section:
    return Section(
        title="Position in the hidden states",
        measured=(
            "For each layer, ridge regression from the hidden states to the positions of the "
            "tokens, fitted on half of the examples and scored on the other half."
        ),
        reading=(
            "R² of 1 means that every position can be read from the hidden state. R² of 0 is no "
            "better than always the middle position. *input* is the state before the first layer. "
            "The dashed line is the untrained model."
        ),
        this_run=_this_run(findings),
        limits=(
            "A high R² shows that the position can be read, not that the model reads it. A "
            "position may also be present in a form that no linear map reads. Tokens at fixed "
            "positions, such as BEGIN and SEPARATOR, raise R² above 0 even if no other position "
            "is known."
        ),
        pictures={"trained_probes": functools.partial(figure, findings)},
        table=_table(findings),
    )


def _this_run(findings: Findings) -> str:
    """R² before the first and after the last layer, where both are known."""
    texts = []
    for length in findings.run.lengths:
        stacks: dict[str, list[float]] = {}
        for row in findings.probes:
            known = row.state.when == AFTER and row.state.length == length
            if known and row.r2 is not None:
                stacks.setdefault(row.stack, []).append(row.r2)
        for stack, r2 in stacks.items():
            texts.append(
                f"At length {length}, R² is {number(r2[0])} at the input of the {stack} and "
                f"{number(r2[-1])} after its last layer."
            )
    return " ".join(texts)


def figure(findings: Findings) -> Figure:
    """R² and error against the layer: a line per length, dashed before training."""
    stacks = list(dict.fromkeys(row.stack for row in findings.probes))
    states = list(dict.fromkeys(row.state for row in findings.probes))
    lengths = list(dict.fromkeys(state.length for state in states))
    figure, axes = grid(len(stacks), 2, (drawing.WIDTH, 2.4 * len(stacks) + 0.5))
    for axes_of_stack, stack in zip(axes, stacks, strict=True):
        of_stack = [row for row in findings.probes if row.stack == stack]
        layers = sorted({row.layer for row in of_stack})
        for axis, (key, label) in zip(axes_of_stack, _LABELS.items(), strict=True):
            for state in states:
                rows = [row for row in of_stack if row.state == state]
                known = [row for row in rows if getattr(row, key) is not None]
                color, marker = LINES[lengths.index(state.length) % len(LINES)]
                linestyle = "-"
                if state.when == BEFORE:
                    color, marker, linestyle = "0.5", "o", "--"
                axis.plot(
                    [row.layer for row in known],
                    [getattr(row, key) for row in known],
                    color=color,
                    marker=marker,
                    linestyle=linestyle,
                    label=f"{state.when}, length {state.length}",
                )
            axis.set_xticks(layers, ["input", *map(str, layers[1:])])
            axis.set(xlabel="layer", ylabel=label)
            if len(stacks) > 1:
                axis.set_title(stack)
            if key == "r2":
                # A probe that is worse than the mean position has a negative R².
                lowest, _ = axis.get_ylim()
                axis.set_ylim(min(0.0, lowest), 1.05)
            else:
                axis.set_ylim(bottom=0.0)
    entries = axes[0, 0].get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=3)
    figure.suptitle("Linear probe of position in the hidden states")
    return figure


def _table(findings: Findings) -> str:
    header = ["state", "length", "stack", "after layer", "R²", "mean error (tokens)"]
    body = []
    for row in findings.probes:
        place = [*state_cells(row.state), row.stack, str(row.layer or "input")]
        body.append([*place, number(row.r2), number(row.error)])
    return markdown_table(header, body)
