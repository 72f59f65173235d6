"""Kinds of wrong answers, and the token at which answers first fail."""

import functools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pe_lab.contrib.inspection.scorecard import markdown_table
from pe_lab.contrib.inspection.trained import failure_kinds
from pe_lab.contrib.inspection.trained.findings import Findings
from pe_lab.contrib.inspection.trained.sections.section import LINES, Section, grid, number
from pe_lab.results.formats import DASH
from pe_lab.results.plots import drawing

_COLORS = ("#0a6da0", "#7cc4ea", "#ce0827", "#f2a488", "#619f08", "#4d4d4d", "#b3b3b3")
_HATCHES = ("", "", "", "", "", "", "///")


def section(findings: Findings) -> Section:
    if findings.run.greedy:
        answers = "The greedy answer of the trained model to each example, token by token."
    else:
        answers = "The answers of the trained model in one pass, with the right tokens as input."
    kinds = []
    for name, meaning in failure_kinds.KINDS.items():
        # Without an end token, no answer stops early or late.
        if findings.run.end_token or "stopped" not in name:
            kinds.append(f"- *{name}*: {meaning}")
    pictures = {}
    if any(row.failed for row in findings.failures):
        pictures["trained_failures"] = functools.partial(figure, findings)
    return Section(
        title="Wrong answers",
        measured=f"{answers} An answer is compared up to the length of the right one.",
        reading=(
            "Each wrong answer has one kind, the first in this list that applies. The cells of the "
            "table are shares of the wrong answers.\n\n" + "\n".join(kinds)
        ),
        this_run=_this_run(findings),
        limits="With few symbols, three tokens also agree by chance. A kind is not a cause.",
        pictures=pictures,
        table=_table(findings),
    )


def _this_run(findings: Findings) -> str:
    texts = []
    for row in findings.failures:
        text = f"At length {row.length}, {row.failed} of {row.examples} answers are wrong"
        if row.failed:
            kind = max(row.shares, key=lambda name: row.shares[name] or 0.0)
            share = number(row.shares[kind])
            text += f", most often as *{kind}* ({share})"
        texts.append(text + ".")
    return " ".join(texts)


def figure(findings: Findings) -> Figure:
    """Shares of each kind by length, and the first error by token."""
    figure, axes = grid(1, 2, (drawing.WIDTH, 3.0))
    kinds, places = axes[0]
    _stack_kinds(kinds, findings)
    kinds.set(xlabel=f"length ({findings.run.unit})", ylabel="share of examples", ylim=(0, 1.02))
    kinds.set_title("kind of wrong answer")
    for i, row in enumerate(findings.failures):
        if row.failed:
            color, marker = LINES[i % len(LINES)]
            shares = np.array(row.first_error) / row.failed
            tokens = range(1, len(shares) + 1)
            name = f"length {row.length}"
            places.plot(tokens, shares, color=color, marker=marker, markersize=3, label=name)
    places.set(xlabel="token of the answer", ylabel="share of wrong answers", title="first error")
    places.set_ylim(bottom=0)
    places.legend()
    entries = kinds.get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=4)
    figure.suptitle("Wrong answers")
    return figure


def _stack_kinds(axis: Axes, findings: Findings) -> None:
    lengths = [str(row.length) for row in findings.failures]
    bottom = np.zeros(len(lengths))
    for kind, color, hatch in zip(failure_kinds.KINDS, _COLORS, _HATCHES, strict=True):
        shares = []
        for row in findings.failures:
            # The table has shares of the wrong answers, the picture shares of all.
            shares.append((row.shares[kind] or 0.0) * row.failed / row.examples)
        if any(shares):
            bars = axis.bar(lengths, shares, bottom=bottom, width=0.7, label=kind, color=color)
            for bar in bars:
                bar.set(hatch=hatch, edgecolor="white", linewidth=0.4)
        bottom = bottom + np.array(shares)


def _table(findings: Findings) -> str:
    body = []
    for row in findings.failures:
        wrong = f"{row.failed} of {row.examples}"
        shares = map(number, row.shares.values())
        body.append([str(row.length), wrong, *shares, _median_token(row.first_error)])
    header = ["length", "wrong", *failure_kinds.KINDS, "first error (median token)"]
    return markdown_table(header, body)


def _median_token(counts: Sequence[int]) -> str:
    tokens = np.repeat(np.arange(1, len(counts) + 1), counts)
    if not len(tokens):
        return DASH
    # The lower of two middle tokens, because there is none between them.
    return str(tokens[(len(tokens) - 1) // 2])
