"""The pictures of a trained run: attention maps, four-term shares, heads against length, probes,
knock-outs, failures.
"""

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pe_lab.inspection.trained import failure_kinds
from pe_lab.inspection.trained.findings import BEFORE, Findings
from pe_lab.inspection.trained.four_terms import TERMS
from pe_lab.results.plots import drawing, styles

TERM_NAMES = {
    "cc": "content × content",
    "cp": "content × place",
    "pc": "place × content",
    "pp": "place × place",
}
TERM_COLORS = {
    "cc": "#0a6da0",
    "cp": "#7cc4ea",
    "pc": "#f2a488",
    "pp": "#ce0827",
}  # of content blue, of place red
_KIND_COLORS = ("#0a6da0", "#7cc4ea", "#ce0827", "#f2a488", "#619f08", "#4d4d4d", "#b3b3b3")
_KIND_HATCHES = ("", "", "", "", "", "", "///")
LINES = (
    ("#0a6da0", "o"),
    ("#ce0827", "s"),
    ("#447303", "^"),
    ("#bd04a3", "D"),
    ("#733af9", "v"),
    ("#6b6b6b", "P"),
)
_NO_NUMBER = "0.85"


def draw(found: Findings, folder: Path) -> dict[str, str]:
    """Writes all that there are as PNG and PDF; the stem of each file by what it shows."""
    written: dict[str, str] = {}

    def save(what: str, stem: str, figure: Any) -> None:
        drawing.save(figure, [folder / f"{stem}{suffix}" for suffix in drawing.SUFFIXES])
        written[what] = stem

    with drawing.settings():
        for length, seen in found.seen.items():
            for name in seen.first:
                save(
                    f"attention {name} {length}",
                    f"trained_attention_{name}_{length}",
                    _maps(found, length, name),
                )
        every: dict[str, Callable[[Findings], Any]] = {
            "terms": _terms,
            "heads": _heads,
            "probes": _probes,
            "failures": _failures,
        }
        for what, picture in every.items():
            if what != "failures" or any(row["failed"] for row in found.failures):
                save(what, f"trained_{what}", picture(found))
        if any(row["layer"] for row in found.knock_out):
            save("knock_out", "trained_knock_out", _knock_out(found))
    return written


def _maps(found: Findings, length: int, name: str) -> Any:
    """Attention of the first example: a row of maps a layer, a map a head; rings at what the task
    names.
    """
    seen = found.seen[length]
    heads, queries, keys = seen.first[name][0].shape
    layers = [
        np.where(mask, w, np.nan)
        for mask, w in zip(seen.first_mask[name], seen.first[name], strict=True)
    ]
    shown = np.isfinite(np.stack(layers)).any(axis=(0, 1))  # [L, S]
    rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
    wide = max(min(drawing.WIDTH, 2.0 * heads + 0.9), 1.2 * heads)
    size = (wide, 0.9 + ((wide - 0.9) / heads * len(rows) / len(columns) + 0.25) * len(layers))
    figure, axes = drawing.pyplot().subplots(
        len(layers), heads, figsize=size, squeeze=False, sharex=True, sharey=True
    )
    figure.set_layout_engine("constrained")
    named = np.argwhere(seen.aligned) if _is_named(found, name) else np.zeros((0, 2), int)
    at = named + np.subtract(
        (queries, keys), seen.aligned.shape
    )  # a sink token stands before the others
    for layer, (line, each) in enumerate(zip(axes, layers, strict=True), start=1):
        for head, (axis, w) in enumerate(zip(line, each, strict=True), start=1):
            image = axis.imshow(w, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
            axis.scatter(
                at[:, 1],
                at[:, 0],
                s=min(40.0, 1500 / len(columns) ** 2),
                facecolors="none",
                edgecolors="#ce0827",
                linewidths=0.5,
            )
            axis.set(
                title=f"layer {layer}, head {head}",
                xlim=(columns[0] - 0.5, columns[-1] + 0.5),
                ylim=(rows[-1] + 0.5, rows[0] - 0.5),
            )
            axis.grid(visible=False)
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.yaxis.get_major_locator().set_params(integer=True)
    figure.colorbar(image, ax=axes, fraction=0.02, pad=0.01, label="attention weight")
    figure.supxlabel("place of the key (looked at)", fontsize=8)
    figure.supylabel("place of the query", fontsize=8)
    rings = "; red: the token that the task names" if len(at) else ""
    figure.suptitle(
        textwrap.fill(
            f"Who looks at whom, {name}, length {length}, one example{rings}", int(14 * wide)
        )
    )
    return figure


def _is_named(found: Findings, name: str) -> bool:
    return any(row["attention"] == name and row["aligned"] is not None for row in found.attention)


def _terms(found: Findings) -> Any:
    """Stacked shares of each layer, mean over heads: a panel a state and length, a row an
    attention.
    """
    names = list(dict.fromkeys(row["attention"] for row in found.terms))
    states = list(dict.fromkeys((row["when"], row["length"]) for row in found.terms))
    size = (drawing.WIDTH, 2.2 * len(names) + 0.7)
    figure, axes = drawing.pyplot().subplots(
        len(names), len(states), figsize=size, squeeze=False, sharey=True, layout="constrained"
    )
    for line, name in zip(axes, names, strict=True):
        for axis, (when, length) in zip(line, states, strict=True):
            rows = [
                r
                for r in found.terms
                if (r["attention"], r["when"], r["length"]) == (name, when, length)
            ]
            layers = sorted({row["layer"] for row in rows})
            bottom = np.zeros(len(layers))
            for term in TERMS:
                high = np.array(
                    [mean(r[term] for r in rows if r["layer"] == layer) or 0.0 for layer in layers]
                )
                axis.bar(
                    layers,
                    high,
                    bottom=bottom,
                    color=TERM_COLORS[term],
                    label=TERM_NAMES[term],
                    width=0.8,
                )
                bottom = bottom + high
            axis.set(title=f"{when}, length {length}", xticks=layers, ylim=(0, 1))
            axis.set_xlabel("layer")
            axis.grid(visible=False)
        line[0].set_ylabel(
            "share of logit energy" if len(names) == 1 else f"{name}:\nshare of logit energy"
        )
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.suptitle("What sets a query's logits apart (query × key)")
    return figure


def _heads(found: Findings) -> Any:
    """Entropy, mass on the named token and distance against length: a column a layer, a line a
    head.
    """
    after = [row for row in found.attention if row["when"] != BEFORE]
    asked = {
        "entropy": "entropy / log n",
        "aligned": "mass on the\nnamed token",
        "distance": "mean distance\nin tokens",
    }
    asked = {
        key: label for key, label in asked.items() if any(row[key] is not None for row in after)
    }
    columns = list(dict.fromkeys((row["attention"], row["layer"]) for row in after))
    size = (
        max(drawing.WIDTH * min(1.0, 0.3 + 0.3 * len(columns)), 1.2 * len(columns)),
        1.7 * len(asked) + 0.7,
    )
    figure, axes = drawing.pyplot().subplots(
        len(asked),
        len(columns),
        figsize=size,
        squeeze=False,
        sharex=True,
        sharey="row",
        layout="constrained",
    )
    several = len({name for name, _ in columns}) > 1
    for line, (key, label) in zip(axes, asked.items(), strict=True):
        for axis, (name, layer) in zip(line, columns, strict=True):
            rows = [row for row in after if (row["attention"], row["layer"]) == (name, layer)]
            for head in sorted({row["head"] for row in rows}):
                points = [
                    (row["length"], row[key])
                    for row in rows
                    if row["head"] == head and row[key] is not None
                ]
                color, marker = LINES[(head - 1) % len(LINES)]
                dashes = styles.DASHES[(head - 1) // len(LINES) % len(styles.DASHES)] or (
                    None,
                    None,
                )
                axis.plot(
                    *xy(points), color=color, marker=marker, dashes=dashes, label=f"head {head}"
                )
            if key == "aligned":
                chance = sorted(
                    {
                        (row["length"], row["by_chance"])
                        for row in rows
                        if row["by_chance"] is not None
                    }
                )
                axis.plot(*xy(chance), color="0.5", linestyle=":", label="all keys alike")
            _mark_training(axis, found)
            drawing.length_axis(axis, sorted({row["length"] for row in after}))
        line[0].set_ylabel(label)
        top = max(row[key] or 0.0 for row in after) if key == "distance" else 1.0
        line[0].set_ylim(0, 1.05 * top or 1.0)
    for first, last, (name, layer) in zip(axes[0], axes[-1], columns, strict=True):
        first.set_title(f"{name}, layer {layer}" if several else f"layer {layer}")
        last.set_xlabel(f"length in {found.about['unit']}")
    handles = {
        label: handle
        for axis in axes.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=6, handlelength=3.5
    )
    figure.suptitle("What each head does as examples grow")
    return figure


def _probes(found: Findings) -> Any:
    """R² and error of a linear probe of place against the layer: a line a length, dashed before
    training.
    """
    stacks = list(dict.fromkeys(row["stack"] for row in found.probes))
    states = list(dict.fromkeys((row["when"], row["length"]) for row in found.probes))
    size = (drawing.WIDTH, 2.4 * len(stacks) + 0.5)
    figure, axes = drawing.pyplot().subplots(
        len(stacks), 2, figsize=size, squeeze=False, layout="constrained"
    )
    lengths = list(dict.fromkeys(length for _, length in states))
    for line, stack in zip(axes, stacks, strict=True):
        for axis, key, label in zip(
            line,
            ("r2", "error"),
            ("R² (1: every place is read)", "mean error in tokens"),
            strict=True,
        ):
            for when, length in states:
                rows = [
                    r
                    for r in found.probes
                    if (r["stack"], r["when"], r["length"]) == (stack, when, length)
                    and r[key] is not None
                ]
                color, marker = (
                    ("0.5", "o") if when == BEFORE else LINES[lengths.index(length) % len(LINES)]
                )
                axis.plot(
                    [row["layer"] for row in rows],
                    [row[key] for row in rows],
                    color=color,
                    marker=marker,
                    linestyle="--" if when == BEFORE else "-",
                    label=f"{when}, length {length}",
                )
            layers = sorted({row["layer"] for row in found.probes if row["stack"] == stack})
            axis.set_xticks(layers, ["input", *map(str, layers[1:])])
            axis.set(xlabel="after layer", ylabel=label, title=stack if len(stacks) > 1 else "")
            axis.set_ylim(
                min(0.0, axis.get_ylim()[0]) if key == "r2" else 0.0, 1.05 if key == "r2" else None
            )
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle("How well a linear map of hidden states tells a token's place")
    return figure


def _knock_out(found: Findings) -> Any:
    """Exact match left without an encoding on one head, or all of a layer: a map an encoding and
    attention, a column a length.
    """
    inside = [row for row in found.knock_out if row["layer"]]
    places = list(dict.fromkeys((row["encoding"], row["where"]) for row in inside))
    lengths = list(dict.fromkeys(row["length"] for row in inside))
    layers, heads = max(row["layer"] for row in inside), max(row["head"] or 0 for row in inside)
    size = (drawing.WIDTH, (0.75 + 0.28 * layers) * len(places) + 0.7)
    figure, axes = drawing.pyplot().subplots(
        len(places), len(lengths), figsize=size, squeeze=False, layout="constrained"
    )
    for line, place in zip(axes, places, strict=True):
        for axis, length in zip(line, lengths, strict=True):
            left = np.full((layers, heads + 1), np.nan)
            for row in inside:
                if (row["encoding"], row["where"], row["length"]) == (*place, length):
                    left[row["layer"] - 1, heads if row["head"] is None else row["head"] - 1] = row[
                        "exact_match"
                    ]
            axis.set_facecolor(_NO_NUMBER)  # where it does not act
            image = axis.imshow(left, cmap="viridis", vmin=0, vmax=1, aspect="auto")
            for (i, j), value in np.ndenumerate(left) if heads <= 12 else ():
                if np.isfinite(value):
                    axis.text(
                        j,
                        i,
                        f"{value:.2f}".removeprefix("0"),
                        ha="center",
                        va="center",
                        fontsize=6,
                        color="black" if value > 0.6 else "white",
                    )
            (whole,) = (
                row["exact_match"]
                for row in found.knock_out
                if row["encoding"] is None and row["length"] == length
            )
            axis.set_title(f"length {length}: {whole:.2f} with all")
            axis.set_xticks(range(heads + 1), [*(str(h + 1) for h in range(heads)), "all"])
            axis.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
            axis.grid(visible=False)
        line[0].set_ylabel(f"{' in '.join(place)}\nlayer" if len(places) > 1 else "layer")
    figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01, label="exact match left")
    for axis in axes[-1]:
        axis.set_xlabel("head on which it is off")
    figure.suptitle(
        f"What is left without {places[0][0] if len(places) == 1 else 'an encoding'} on one head, "
        f"or on all heads of a layer"
    )
    return figure


def _failures(found: Findings) -> Any:
    """How answers fail, by length, and where they first go wrong."""
    figure, (left, right) = drawing.pyplot().subplots(
        1, 2, figsize=(drawing.WIDTH, 3.0), layout="constrained"
    )
    names = [str(row["length"]) for row in found.failures]
    bottom = np.zeros(len(names))
    for kind, color, hatch in zip(failure_kinds.KINDS, _KIND_COLORS, _KIND_HATCHES, strict=True):
        high = np.array(
            [
                (row["shares"][kind] or 0.0) * row["failed"] / row["examples"]
                for row in found.failures
            ]
        )
        if high.any():
            left.bar(
                names,
                high,
                bottom=bottom,
                color=color,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.4,
                label=kind,
                width=0.7,
            )
        bottom = bottom + high
    left.set(
        xlabel=f"length in {found.about['unit']}",
        ylabel="share of examples that fail",
        ylim=(0, 1.02),
        title="how they fail",
    )
    for i, row in enumerate(found.failures):
        if row["failed"]:
            color, marker = LINES[i % len(LINES)]
            counts = np.array(row["first_error"]) / row["failed"]
            right.plot(
                range(1, len(counts) + 1),
                counts,
                color=color,
                marker=marker,
                markersize=3,
                label=f"length {row['length']}",
            )
    right.set(
        xlabel="token of the answer",
        ylabel="share of failed examples",
        title="where they first go wrong",
    )
    right.set_ylim(bottom=0)
    right.legend()
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.suptitle("How answers fail")
    return figure


def _mark_training(axis: Any, found: Findings) -> None:
    axis.axvline(
        found.about["trained_length"],
        color="black",
        linestyle="--",
        linewidth=1,
        label="training length",
    )


def xy(points: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [x for x, _ in points], [y for _, y in points]


def mean(values: Any) -> float | None:
    kept = [v for v in values if v is not None]
    return sum(kept) / len(kept) if kept else None
