"""Scores of the trained model with one encoding switched off."""

import functools

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pe_lab.contrib.inspection.scorecard import markdown_table
from pe_lab.contrib.inspection.trained.findings import Findings, KnockOutScore
from pe_lab.contrib.inspection.trained.sections.section import Section, enumeration, grid, number
from pe_lab.results.plots import drawing

_NO_NUMBER = "0.85"  # gray where the encoding does not act
_MAX_HEADS = 12  # with numbers in the cells


def section(findings: Findings) -> Section:
    pictures = {}
    if any(row.layer for row in findings.knock_outs):
        pictures["trained_knock_out"] = functools.partial(figure, findings)
    return Section(
        title="Knock-outs of the encoding",
        measured=(
            "Exact match and, in brackets, token accuracy of the trained model with an encoding "
            "switched off: on one head, on all heads of a layer, or everywhere. The right tokens "
            "are the input, and nothing is trained again."
        ),
        reading=(
            "The first row of the table is the model as it is. If the score falls, the encoding "
            "was in use there. An encoding at the input acts once, before all layers, and has one "
            "row. A layer that is applied several times is switched off each time."
        ),
        this_run=_this_run(findings),
        limits=(
            "If the score does not fall, the encoding may still be in use: other heads can replace "
            "one head. A score of 0 means that this model relies on the encoding, not that the "
            "task needs one: a model without it was never trained."
        ),
        pictures=pictures,
        table=summary(findings),
    )


def _this_run(findings: Findings) -> str:
    length = findings.run.lengths[0]
    rows = [row for row in findings.knock_outs if row.length == length]
    unchanged = rows[0]
    texts = [f"{number(unchanged.exact_match)} as trained"]
    for row in rows[1:]:
        if row.layer is None:
            texts.append(f"{number(row.exact_match)} with {row.encoding} off everywhere")
    heads = [row for row in rows if row.head is not None]
    if heads:
        worst = min(heads, key=lambda row: row.exact_match)
        place = f"{worst.encoding} on head {worst.head} in layer {worst.layer} of the {worst.where}"
        texts.append(f"at least {number(worst.exact_match)} with one head off ({place})")
    return f"At length {length}, exact match is {enumeration(texts)}."


def figure(findings: Findings) -> Figure:
    """A map per encoding, attention and length: layers against heads."""
    inside = [row for row in findings.knock_outs if row.layer]
    places = list(dict.fromkeys((row.encoding, row.where) for row in inside))
    lengths = list(dict.fromkeys(row.length for row in inside))
    layers = max(row.layer or 0 for row in inside)
    heads = max(row.head or 0 for row in inside)
    height_of_map = 0.75 + 0.28 * layers
    size = (drawing.WIDTH, height_of_map * len(places) + 0.7)
    figure, axes = grid(len(places), len(lengths), size)
    for axes_of_place, (encoding, where) in zip(axes, places, strict=True):
        for axis, length in zip(axes_of_place, lengths, strict=True):
            panel = (encoding, where, length)
            rows = [row for row in inside if (row.encoding, row.where, row.length) == panel]
            scores = _scores(rows, layers, heads)
            axis.set_facecolor(_NO_NUMBER)
            image = axis.imshow(scores, cmap="viridis", vmin=0, vmax=1, aspect="auto")
            if heads <= _MAX_HEADS:
                _write_numbers(axis, scores)
            # The first row of a length is the model as it is.
            unchanged = next(row for row in findings.knock_outs if row.length == length)
            axis.set_title(f"length {length}: {unchanged.exact_match:.2f} as trained")
            head_names = [str(head + 1) for head in range(heads)]
            axis.set_xticks(range(heads + 1), [*head_names, "all"])
            axis.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
            axis.grid(visible=False)
        label = "layer"
        if len(places) > 1:
            label = f"{encoding} in {where}\nlayer"
        axes_of_place[0].set_ylabel(label)
    figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01, label="exact match")
    for axis in axes[-1]:
        axis.set_xlabel("head that is off")
    name = places[0][0] if len(places) == 1 else "an encoding"
    figure.suptitle(f"Exact match with {name} off on one head, or on all heads of a layer")
    return figure


def _scores(rows: list[KnockOutScore], layers: int, heads: int) -> Float[np.ndarray, "n h"]:
    """Exact match by layer and head; the last column is all heads."""
    scores = np.full((layers, heads + 1), np.nan)
    for row in rows:
        assert row.layer is not None
        column = heads if row.head is None else row.head - 1
        scores[row.layer - 1, column] = row.exact_match
    return scores


def _write_numbers(axis: Axes, scores: Float[np.ndarray, "n h"]) -> None:
    for (layer, head), value in np.ndenumerate(scores):
        if np.isfinite(value):
            text = f"{value:.2f}".removeprefix("0")
            color = "black" if value > 0.6 else "white"
            axis.text(head, layer, text, ha="center", va="center", fontsize=6, color=color)


def summary(findings: Findings) -> str:
    """Exact match, and token accuracy in brackets: a row per knock-out, a column per length."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for row in findings.knock_outs:
        place = ("nothing", "", "")
        if row.encoding is not None:
            where = "everywhere" if row.layer is None else f"{row.where}, layer {row.layer}"
            place = (row.encoding, where, str(row.head or "all"))
        score = f"{row.exact_match:.2f} ({row.token_accuracy:.2f})"
        rows.setdefault(place, []).append(score)
    header = ["off", "where", "heads", *(f"length {n}" for n in findings.run.lengths)]
    body = [[*place, *scores] for place, scores in rows.items()]
    return markdown_table(header, body)
