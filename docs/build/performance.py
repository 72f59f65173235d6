"""Tables and the picture of docs/performance.md, from the records of the engine."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from docs.build.published import STUDIES
from pe_lab.runs.records import records

FOLDER = Path("results/published/engine")
PICTURE = Path("docs/pictures/scaling.svg")
# Tokens of a context, by the lengths in the labels of engine.json.
TOKENS = {"19 · 19": "40", "1 · 40": "4 to 82"}


def _contexts(symbols: int, batch: int) -> str:
    lengths = f"config.train.min_length={symbols} config.train.max_length={symbols}"
    return f"engine {lengths} config.train.batch_size={batch}"


# Descriptions of the models of peer.json, by study and overrides.
MODELS = {
    "engine": "5 layers, width 64, 8 heads, 40 tokens",
    _contexts(127, 32): "the same, 256 tokens",
    _contexts(255, 16): "the same, 512 tokens",
    _contexts(511, 8): "the same, 1,024 tokens",
    "quickstart": "the quickstart's",
}
# What scaling.json changes, and its label on an axis.
AXES = {
    "tokens": "tokens in a context",
    "width": "width (feed-forward: 4 × width)",
    "heads": "heads (width 64)",
}
GPU_STUDIES = ("huang25_literature", "story_separators_longer")
_TOKENS_OF_A_STEP = 8192  # of scaling.json
_TOKENS_OF_A_MEMBER = 128 * 40  # of members.json

Figure = dict[str, Any]


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page, from the records below `root`."""
    # Both versions were measured at the same time on two cores.
    after, before = (_seconds(root, name) for name in ("after.json", "before.json"))
    assert list(after.index) == list(before.index)
    return {
        "engine": _read(root, "engine.json"),
        "tokens": TOKENS,
        "speedups": before / after,
        "peers": peer_rates(root),
        "scaling": scaling(root),
        "members": _read(root, "members.json"),
        "models": MODELS,
        "gpu": gpu_table(root),
        "evaluation": _read(root, "evaluation.json"),
        "lengths": _lengths,
        "large_study": _read(root, "large_study.json"),
    }


def _seconds(root: Path, name: str) -> "pd.Series[float]":
    """Return the seconds of a step by the label of the figure."""
    return pd.DataFrame(_read(root, name)).set_index("label")["seconds_per_step"]


def gpu_table(root: Path) -> str:
    """Steps per second of the studies that a GPU trained, by members of a program."""
    rows = [["study", "device", "members", "steps/s of all members"]]
    for study in GPU_STUDIES:
        found: dict[tuple[str, str], list[float]] = {}
        for record in records.read_all(root / STUDIES / study).values():
            cost, device = record["cost"], record["provenance"]["device"]
            assert cost is not None, "published runs are finished"
            key = device.removeprefix("gpu: "), str(cost["members"])
            found.setdefault(key, []).append(cost["steps_per_second"] or math.nan)
        for key, rates in found.items():
            rows.append([study, *key, f"{min(rates):,.0f} to {max(rates):,.0f}"])
    return markdown.table(rows)


def peer_rates(root: Path) -> pd.DataFrame:
    """Steps per second of two workers together: a row for each model, a column for each program."""
    figures = pd.DataFrame(_read(root, "peer.json"))
    models = []
    for study, overrides in figures[["study", "overrides"]].itertuples(index=False):
        of_model = [text for text in overrides if "encodings" not in text]
        models.append(MODELS[" ".join([study, *of_model])])
    figures = figures.assign(model=models, rate=1 / figures["seconds_per_step"])
    by_program = figures.groupby(["model", "what"], sort=False)["rate"].sum()
    return by_program.unstack(sort=False)


def scaling(root: Path) -> list[Figure]:
    """Return the figures with the size that changes, its value, and the time per token."""
    figures = []
    for figure in _read(root, "scaling.json"):
        first, second = figure["label"].split()[:2]  # "width 32", "64 tokens", "4 heads"
        size, value = (first, second) if first == "width" else (second, first)
        microseconds = 1e6 * figure["seconds_per_step"] / _TOKENS_OF_A_STEP
        figures.append({**figure, "size": size, "value": value, "microseconds": microseconds})
    # Sorting is stable, so the values keep their order.
    return sorted(figures, key=lambda figure: list(AXES).index(figure["size"]))


def _lengths(overrides: Sequence[str]) -> str:
    """Return the lengths of an evaluation, shortened if they are many."""
    (override,) = [text for text in overrides if "lengths" in text]
    lengths = override.partition("(")[2].strip(")").split(",")
    return ", ".join(lengths) if len(lengths) < 5 else f"{lengths[0]} to {lengths[-1]}"


def draw(root: Path) -> None:
    """Draw the time per token against tokens, width, heads and members, from the records."""
    from pe_lab.results.plots import drawing

    pyplot = drawing.pyplot()
    pyplot.rcParams.update({"font.size": 9, "svg.hashsalt": "pe_lab"})
    figure, axes = pyplot.subplots(1, 4, figsize=(11, 2.8), sharey=True, layout="constrained")
    style: dict[str, object] = dict(color="black", marker="o", markersize=4)
    figures = pd.DataFrame(scaling(root)).groupby("size", sort=False)
    for axis, (size, of_size) in zip(axes[:3], figures, strict=True):
        values = of_size["value"].astype(int)
        axis.loglog(values, of_size["microseconds"], **style)
        axis.set_xticks(values, of_size["value"], minor=False)
        axis.set_xlabel(AXES[size])
    members = pd.DataFrame(_read(root, "members.json")).query("study == 'engine'")
    for how, line in {"map": "-", "vmap": "--"}.items():
        of_how = members[members["how"] == how]
        counts = of_how["members"]
        microseconds = 1e6 * of_how["seconds_per_step"] / counts / _TOKENS_OF_A_MEMBER
        axes[3].loglog(counts, microseconds, line, label=how, **style)
    axes[3].set_xticks([1, 9], ["1", "9"])
    axes[3].set_xlabel("members of one program")
    axes[3].legend()
    for axis in axes:
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("µs per token of a step")
    figure.savefig(root / PICTURE, metadata={"Date": None})
    pyplot.close(figure)


def _read(root: Path, name: str) -> Any:
    return json.loads((root / FOLDER / name).read_text(encoding="utf-8"))
