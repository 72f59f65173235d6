"""Figures of a run through its training: shares, heads, exact match, and the input."""

from pathlib import Path
from typing import Any

from pe_lab.inspection.trained.findings import Findings, Rows, TrainingCourse
from pe_lab.inspection.trained.four_terms import TERMS
from pe_lab.inspection.trained.pictures import LINES, TERM_COLORS, TERM_NAMES, mean, xy
from pe_lab.results.plots import drawing

_HEADS = {
    "aligned": "attention on the\nnamed token",
    "entropy": "spread of attention\n(entropy / log n)",
}
_LOOKS = {
    "cc": "token looks for token",
    "cp": "token looks at place",
    "pc": "place looks for token",
    "pp": "place looks at place",
}
_CHANCE = {"color": "0.4", "linestyle": ":"}
_BESIDE = 1.9  # inches: the legends
# of each panel, by its title: a line's name and number, and those of what to compare it with
_INPUT = {
    "how loud they are": {"rms of the code": "rms of code", "rms of the token": "rms of token"},
    "cosine of tokens and codes": {
        "rms": "rms cosine",
        "of random directions": "rms cosine of random directions",
    },
    "shared directions": {"overlap": "overlap", "by chance": "overlap by chance"},
}


def draw(found: Findings, folder: Path) -> dict[str, str]:
    """Writes them as PNG and PDF where something was kept; the stem of each file by what it
    shows.
    """
    written: dict[str, str] = {}

    def save(what: str, figure: Any) -> None:
        drawing.save(figure, [folder / f"trained_{what}{suffix}" for suffix in drawing.SUFFIXES])
        written[what] = f"trained_{what}"

    with drawing.settings():
        if found.through.terms:
            save("through_training", _layers(found.through, found.about["trained_length"]))
        if found.through.input:
            save("through_training_input", _input(found.through.input))
    return written


def _layers(found: TrainingCourse, trained_length: int) -> Any:
    """One column for each layer: the four shares, each head, and exact match at the same steps."""
    rows = found.terms
    columns = list(dict.fromkeys((row["attention"], row["layer"]) for row in rows))
    heads = {
        key: label
        for key, label in _HEADS.items()
        if any(row[key] is not None for row in found.attention)
    }
    ratios = [2.0, *(1.0 for _ in heads), 1.0]
    size = (max(drawing.WIDTH, 1.6 * len(columns) + _BESIDE), 1.15 * sum(ratios) + 0.8)
    figure, axes = drawing.pyplot().subplots(
        len(ratios),
        len(columns),
        figsize=size,
        squeeze=False,
        sharex=True,
        sharey="row",
        height_ratios=ratios,
        layout="constrained",
    )
    several = len({name for name, _ in columns}) > 1
    for line, (name, layer) in zip(axes.T, columns, strict=True):
        line[0].set_title(f"{name}, layer {layer}" if several else f"layer {layer}")
        _areas(line[0], [row for row in rows if (row["attention"], row["layer"]) == (name, layer)])
        of_layer = [
            row for row in found.attention if (row["attention"], row["layer"]) == (name, layer)
        ]
        for axis, key in zip(line[1:-1], heads, strict=True):
            _lines(axis, of_layer, key)
        _exact_match(line[-1], found.curve, trained_length)
        for axis in line:
            axis.set_ylim(0, 1 if axis is line[0] else 1.04)
            if found.solved_at is not None:
                label = "first solved" if axis is line[-1] else None
                axis.axvline(
                    found.solved_at, color="black", linestyle="--", linewidth=1, label=label
                )
        line[-1].set_xlim(0, max(row["step"] for row in (*rows, *found.curve)) or 1)
        line[-1].set_xlabel("training steps")
        line[-1].locator_params(axis="x", nbins=5, integer=True)
    for axis, label in zip(
        axes[:, 0],
        ("share of what sets\nlogits apart", *heads.values(), "validation\nexact match"),
        strict=True,
    ):
        axis.set_ylabel(label)
    _legends(axes)
    figure.suptitle(
        f"Inside the model, training step by step (examples of length {rows[0]['length']})"
    )
    return figure


def _legends(axes: Any) -> None:
    """Beside each row what is new in it, areas in the order in which they lie."""
    known: dict[str, Any] = {}
    for i, line in enumerate(axes):
        found = {
            name: handle
            for axis in line
            for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        new = {name: handle for name, handle in found.items() if name not in known}
        known |= new
        if new:
            names, areas = list(new), i == 0
            names = names[::-1] if areas else names
            handles = [new[name] for name in names]
            line[-1].legend(
                handles,
                names,
                loc="center left",
                bbox_to_anchor=(1.02, 0.5),
                labelspacing=1.2 if areas else 0.5,
            )


def _areas(axis: Any, rows: Rows) -> None:
    steps = sorted({row["step"] for row in rows})
    heights = [
        [mean(row[term] for row in rows if row["step"] == step) or 0.0 for step in steps]
        for term in TERMS
    ]
    names = [f"{TERM_NAMES[term]}\n({_LOOKS[term]})" for term in TERMS]
    axis.stackplot(
        steps,
        heights,
        labels=names,
        colors=[TERM_COLORS[term] for term in TERMS],
        edgecolor="white",
        linewidth=0.4,
    )
    axis.grid(visible=False)


def _lines(axis: Any, rows: Rows, key: str) -> None:
    """A thin line a head; of more than have colours, grey ones and their mean."""
    rows = [row for row in rows if row[key] is not None]
    steps, heads = (sorted({row[what] for row in rows}) for what in ("step", "head"))
    for head in heads:
        color, label = (
            (LINES[head - 1][0], f"head {head}")
            if len(heads) <= len(LINES)
            else ("0.75", "each head")
        )
        axis.plot(
            *xy([(row["step"], row[key]) for row in rows if row["head"] == head]),
            color=color,
            linewidth=1.1,
            label=label,
        )
    if len(heads) > len(LINES):
        means = [mean(row[key] for row in rows if row["step"] == step) for step in steps]
        axis.plot(steps, means, color=LINES[0][0], label="mean over heads")
    if rows and key == "aligned":
        axis.plot(
            *xy(sorted({(row["step"], row["by_chance"]) for row in rows})),
            **_CHANCE,
            label="all keys alike",
        )


def _exact_match(axis: Any, curve: Rows, trained_length: int) -> None:
    """Exact match of each length of the curve: full lines up to the training length."""
    lengths = sorted({int(length) for point in curve for length in point["exact_match"]})
    for i, length in enumerate(lengths):
        points = [
            (p["step"], p["exact_match"][str(length)])
            for p in curve
            if str(length) in p["exact_match"]
        ]
        shown = (
            {"color": "black", "linestyle": "-"}
            if length <= trained_length
            else {"color": "0.45", "linestyle": "-."}
        )
        axis.plot(
            *xy(points),
            **shown,
            marker="os^DvP"[i % 6],
            markersize=3,
            markevery=len(points) // 20 + 1,
            linewidth=1.2,
            clip_on=False,
            label=f"length {length}",
        )


def _input(rows: Rows) -> Any:
    """How loud the code is beside the token, and how far the two share directions, by step."""
    figure, axes = drawing.pyplot().subplots(
        1, len(_INPUT), figsize=(drawing.WIDTH, 2.2), layout="constrained"
    )
    for axis, (title, lines) in zip(axes, _INPUT.items(), strict=True):
        for (label, key), shown in zip(
            lines.items(), ({"color": LINES[0][0]}, _CHANCE), strict=True
        ):
            axis.plot(
                [row["step"] for row in rows], [row[key] for row in rows], **shown, label=label
            )
        axis.set(title=title, xlabel="training steps")
        axis.set_ylim(0, 1.15 * max(row[key] for row in rows for key in lines.values()) or 1.0)
        axis.locator_params(axis="x", nbins=4, integer=True)
        axis.legend()
    figure.suptitle("Token and code at the input, through training")
    return figure
