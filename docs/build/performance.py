"""Tables and the picture of docs/performance.md, from the records of the engine."""

import json
import math
from pathlib import Path
from typing import Any

from docs.build import markdown
from docs.build.published import STUDIES
from pe_lab.runs import records

FOLDER = Path("results/published/engine")
PICTURE = Path("docs/pictures/scaling.svg")
# Tokens of a context, by the lengths in the labels of engine.json.
TOKENS = {"19 · 19": "40", "1 · 40": "4 to 82"}

_MIXED = "engine config.train.min_length=1 config.train.max_length=40"
_WIDE = "config.model.width=128 config.model.feedforward_width=512 config.model.num_heads=4"
# Descriptions of the models of peer.json, by study and overrides.
MODELS = {
    "engine": "5 layers, width 64, 8 heads, 40 tokens",
    _MIXED: "the same, 4 to 82 tokens",
    f"{_MIXED} {_WIDE}": "width 128, 4 heads, 4 to 82 tokens",
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


def lookups(root: Path) -> dict[str, str]:
    """Lookups of the page, one for each table, from the records below `root`."""
    return {
        "engine": engine_table(root),
        "peers": peer_table(root),
        "scaling": scaling_table(root),
        "members": members_table(root),
        "gpu": gpu_table(root),
        "evaluation": evaluation_table(root),
        "large_study": large_study_table(root),
    }


def engine_table(root: Path) -> str:
    """Steps per second, and the speedup over the commit before the optimizations.

    The speedup is of two versions that were measured at the same time on two cores.
    """
    rows = [["encoding", "tokens", "steps/s", "share of peak", "times faster than before"]]
    current = _read(root, "engine.json")
    after, before = _read(root, "after.json"), _read(root, "before.json")
    for figure, new, old in zip(current, after, before, strict=True):
        assert figure["label"] == new["label"] == old["label"]
        lengths, _, encoding = figure["label"].rpartition(" · ")
        speedup = old["seconds_per_step"] / new["seconds_per_step"]
        rate = f"{1 / figure['seconds_per_step']:.2f}"
        share = f"{figure['share_of_peak']:.2f}"
        rows.append([f"`{encoding}`", TOKENS[lengths], rate, share, f"{speedup:.1f}"])
    return markdown.table(rows)


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


def peer_table(root: Path) -> str:
    """Steps per second of two workers together, of pe_lab and of x-transformers, and ratios."""
    rates: dict[str, dict[str, float]] = {}
    for figure in _read(root, "peer.json"):
        overrides = [text for text in figure["overrides"] if "encodings" not in text]
        model = " ".join([figure["study"], *overrides])
        rates_of_model = rates.setdefault(model, {})
        program = figure["what"]
        rates_of_model.setdefault(program, 0.0)
        rates_of_model[program] += 1 / figure["seconds_per_step"]
    peers = ["x-transformers, float32", "bfloat16 autocast"]
    rows = [["model", "pe_lab", *peers, "times float32's", "times autocast's"]]
    for model, rates_of_model in rates.items():
        ours, float32, autocast = rates_of_model.values()
        numbers = [f"{rate:.1f}" for rate in (ours, float32, autocast)]
        ratios = [f"{ours / float32:.2f}", f"{ours / autocast:.2f}"]
        rows.append([MODELS[model], *numbers, *ratios])
    return markdown.table(rows)


def scaling(root: Path) -> dict[str, list[Figure]]:
    """Map each changed size to its figures; they gain its value and the time per token."""
    by_size: dict[str, list[Figure]] = {size: [] for size in AXES}
    for figure in _read(root, "scaling.json"):
        first, second = figure["label"].split()[:2]  # "width 32", "64 tokens", "4 heads"
        size, value = (first, second) if first == "width" else (second, first)
        microseconds = 1e6 * figure["seconds_per_step"] / _TOKENS_OF_A_STEP
        by_size[size].append({**figure, "value": int(value), "microseconds": microseconds})
    return by_size


def scaling_table(root: Path) -> str:
    """Time per token, share of the peak and temporary memory, by the changed size."""
    rows = [["changed", "value", "µs per token", "share of peak", "temporaries, MB"]]
    for size, figures in scaling(root).items():
        for figure in figures:
            time, share = f"{figure['microseconds']:.1f}", f"{figure['share_of_peak']:.2f}"
            megabytes = f"{figure['temporary_bytes'] / 1e6:.0f}"
            rows.append([size, str(figure["value"]), time, share, megabytes])
    return markdown.table(rows)


def members_table(root: Path) -> str:
    """Time per member of one program over the time of a single member, and memory."""
    rows = [["model", "members", "how", "times alone", "state, MB", "temporaries, MB"]]
    for figure in _read(root, "members.json"):
        model = MODELS[figure["study"]]
        state = f"{figure['state_bytes'] / 1e6:.1f}"
        temporaries = f"{figure['temporary_bytes'] / 1e6:.1f}"
        ratio = f"{figure['times_alone']:.2f}"
        rows.append([model, str(figure["members"]), figure["how"], ratio, state, temporaries])
    return markdown.table(rows)


def evaluation_table(root: Path) -> str:
    """Time and memory of an evaluation."""
    memory = "most memory of the process, GB"
    rows = [["lengths", "examples", "seconds", "share of 10,000 steps", memory]]
    for figure in _read(root, "evaluation.json"):
        (override,) = [text for text in figure["overrides"] if "lengths" in text]
        lengths = override.partition("(")[2].strip(")").split(",")
        shown = ", ".join(lengths) if len(lengths) < 5 else f"{lengths[0]} to {lengths[-1]}"
        seconds, share = f"{figure['evaluation_seconds']:.0f}", f"{figure['share']:.1%}"
        gigabytes = f"{figure['peak_bytes'] / 1e9:.2f}"
        rows.append([shown, f"{figure['examples']:,}", seconds, share, gigabytes])
    return markdown.table(rows)


def draw(root: Path) -> None:
    """Draw the time per token against tokens, width, heads and members, from the records."""
    from pe_lab.results.plots import drawing

    pyplot = drawing.pyplot()
    pyplot.rcParams.update({"font.size": 9, "svg.hashsalt": "pe_lab"})
    figure, axes = pyplot.subplots(1, 4, figsize=(11, 2.8), sharey=True, layout="constrained")
    style: dict[str, Any] = dict(color="black", marker="o", markersize=4)
    for axis, (size, figures) in zip(axes[:3], scaling(root).items(), strict=True):
        values = [figure["value"] for figure in figures]
        axis.loglog(values, [figure["microseconds"] for figure in figures], **style)
        axis.set_xticks(values, [str(value) for value in values], minor=False)
        axis.set_xlabel(AXES[size])
    members = [each for each in _read(root, "members.json") if each["study"] == "engine"]
    for how, line in {"map": "-", "vmap": "--"}.items():
        figures = [each for each in members if each["how"] == how]
        counts = [each["members"] for each in figures]
        microseconds = [
            1e6 * each["seconds_per_step"] / each["members"] / _TOKENS_OF_A_MEMBER
            for each in figures
        ]
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


def large_study_table(root: Path) -> str:
    """CPU time and memory of the commands that read or plan a large study."""
    path = root / FOLDER / "large_study.json"
    measured = json.loads(path.read_text(encoding="utf-8"))
    size = {"plan": f"{measured['points']:,} points"}
    rows = [["command", "size", "CPU", "memory"]]
    for figure in measured["figures"]:
        of_command = size.get(figure["command"], f"{measured['records']:,} records")
        cost = [f"{figure['cpu_seconds']:.0f} s", f"{figure['peak_megabytes']:.0f} MB"]
        rows.append([f"`{figure['command']}`", of_command, *cost])
    return markdown.table(rows)


def _read(root: Path, name: str) -> list[Figure]:
    figures: list[Figure] = json.loads((root / FOLDER / name).read_text(encoding="utf-8"))
    return figures
