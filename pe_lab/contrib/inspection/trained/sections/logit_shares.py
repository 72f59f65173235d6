"""Shares of content and position in the logits of each layer."""

import functools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pe_lab.contrib.inspection.scorecard import markdown_table
from pe_lab.contrib.inspection.trained.findings import AFTER, Findings, HeadTerms
from pe_lab.contrib.inspection.trained.four_terms import TERMS
from pe_lab.contrib.inspection.trained.sections.section import (
    TERM_COLORS,
    TERM_NAMES,
    Section,
    by_layer,
    enumeration,
    grid,
    layer_name,
    mean,
    number,
    state_cells,
)
from pe_lab.results.plots import drawing


def section(findings: Findings) -> Section:
    return Section(
        title="Content and position in the logits",
        measured=(
            "A logit is the product of a query and a key. Each of them is the sum of a position "
            "part, its mean over examples at that position, and a content part, the remainder. "
            "The product therefore has four terms. The measurement is the share of each term in "
            "the differences between the logits of a query, as energy (sum of squares), averaged "
            "over heads."
        ),
        reading=(
            "The first word is the query's part, the second the key's. *content × content* means "
            "that the tokens decide which key is attended to. *position × position* means that the "
            "positions decide, whatever the tokens are. In the table, *together* is the energy of "
            "the sum of the terms over the sum of their energies: 1 if the terms do not interfere. "
            "*nearness* is the correlation of position × position with minus the distance: "
            "positive values favor near keys."
        ),
        this_run=_this_run(findings),
        limits=(
            "The split is made before an encoding in attention acts, so it does not contain what a "
            "rotation or a bias adds to the logits. Tokens that all examples share at one "
            "position, such as BEGIN and SEPARATOR, count as position."
        ),
        pictures={"trained_terms": functools.partial(figure, findings)},
        table=_table(findings),
    )


def _this_run(findings: Findings) -> str:
    length = findings.run.lengths[0]
    after = [row for row in findings.terms if row.state.when == AFTER]
    at_length = [row for row in after if row.state.length == length]
    texts = []
    for (name, layer), rows in by_layer(at_length).items():
        means = [mean(row.share(term) for row in rows) or 0.0 for term in TERMS]
        largest = max(means)
        term = TERM_NAMES[TERMS[means.index(largest)]]
        texts.append(f"{term} in layer {layer} of the {name} ({largest:.2f})")
    return f"After training, at length {length}, the largest term is {enumeration(texts)}."


def figure(findings: Findings) -> Figure:
    """Stacked shares of each layer: a panel per state and length, a row per attention."""
    names = list(dict.fromkeys(row.attention for row in findings.terms))
    states = list(dict.fromkeys(row.state for row in findings.terms))
    size = (drawing.WIDTH, 2.2 * len(names) + 0.7)
    figure, axes = grid(len(names), len(states), size, sharey=True)
    for axes_of_name, name in zip(axes, names, strict=True):
        for axis, state in zip(axes_of_name, states, strict=True):
            of_state = [row for row in findings.terms if row.state == state]
            rows = [row for row in of_state if row.attention == name]
            _stack(axis, rows)
            axis.set_title(f"{state.when}, length {state.length}")
            axis.set_xlabel("layer")
        label = "share of logit energy"
        if len(names) > 1:
            label = f"{name}:\n{label}"
        axes_of_name[0].set_ylabel(label)
    entries = axes[0, 0].get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=4)
    figure.suptitle("Shares of content and position in the logits (query × key)")
    return figure


def _stack(axis: Axes, rows: list[HeadTerms]) -> None:
    layers = sorted({row.layer for row in rows})
    bottom = np.zeros(len(layers))
    for term in TERMS:
        shares = np.zeros(len(layers))
        for index, layer in enumerate(layers):
            of_layer = [row.share(term) for row in rows if row.layer == layer]
            # Heads whose logits do not differ have no shares.
            shares[index] = mean(of_layer) or 0.0
        color, name = TERM_COLORS[term], TERM_NAMES[term]
        axis.bar(layers, shares, bottom=bottom, color=color, label=name, width=0.8)
        bottom = bottom + shares
    axis.set(xticks=layers, ylim=(0, 1))
    axis.grid(visible=False)


def _table(findings: Findings) -> str:
    groups: dict[tuple[str, ...], list[HeadTerms]] = {}
    for row in findings.terms:
        group = (*state_cells(row.state), layer_name(row))
        groups.setdefault(group, []).append(row)
    header = ["state", "length", "layer", *TERM_NAMES.values(), "together", "nearness"]
    body = [[*group, *term_cells(rows)] for group, rows in groups.items()]
    return markdown_table(header, body)


def term_cells(rows: list[HeadTerms]) -> list[str]:
    """Means over heads of the shares, *together* and *nearness*."""
    means = [mean(row.share(term) for row in rows) for term in TERMS]
    means.append(mean(row.together for row in rows))
    means.append(mean(row.nearness for row in rows))
    return [number(value) for value in means]
