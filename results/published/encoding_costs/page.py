"""Tables of the costs of encodings and options, and the parts of a step by their place."""

from pathlib import Path
from typing import Any

from docs.build import markdown
from docs.build.costs import COSTS, FOLDER, Figures, figures
from pe_lab.runs.plugins import plugins

OPTION_COSTS = FOLDER / "options.json"
TOKENS = (80, 512)  # the longest context of the two measurements of each encoding
# Parts of a step by the beginning of a place's name. Records have the names of their commit.
PLACES = {
    "own hooks": (
        "encodings/",
        "kernels/encodings/",
        "kernels/biases_cpu.py",
        "kernels/diagonals.py",
    ),
    "scores, softmax and sum": (
        "encodings/ops.py masked_softmax",
        "encodings/base.py weighted_sum",
        "model/attention.py attend",
        "model/attention.py _normalized",
        "kernels/attention_cpu.py",
    ),
    "projections, feed-forward": (
        "kernels/products.py",
        "model/attention.py Attention",
        "model/block.py FeedForward",
    ),
}


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page of costs."""
    every = figures(root / COSTS)
    options = figures(root / OPTION_COSTS)
    profile = figures(root / FOLDER / "profile.json")
    return {
        "costs": cost_table(every),
        "option_costs": cost_table(options, "option"),
        "profiles": profile_table(profile),
        "load": loads(every),
        "option_load": loads(options),
        "speeds": speeds(every),
        "commit": _commit(every, options, profile),
        "projections": projections(profile),
        "seconds": [f"{figure['seconds_per_step']:.3f}" for figure in every["nope"]],
        "not_measured": ", ".join(not_measured(every)),
        "megabytes": [f"{figure['temporary_bytes'] / 1e6:.0f}" for figure in every["nope"]],
        "ratio": lambda name, i: f"{every[name][i]['times_first']:.2f}",
        "temporaries": lambda name, i: f"{_temporaries(every, name, i):.1f}",
        "own_milliseconds": lambda name: f"{_by_place(profile[name][0])['own hooks']:.1f}",
        "milliseconds": f"{1e3 * every['nope'][0]['seconds_per_step']:.0f}",
    }


def not_measured(by_label: Figures) -> list[str]:
    """Return the encodings without figures, as code."""
    measured = {label.partition("(")[0] for label in by_label}
    return [f"`{name}`" for name in plugins.names("encodings") if name not in measured]


def _commit(*records: Figures) -> str:
    figures_of_all = [figure for record in records for pair in record.values() for figure in pair]
    (commit,) = {figure["provenance"]["commit"] for figure in figures_of_all}
    return str(commit)[:7]


def projections(profile: Figures) -> str:
    """Return the lowest and the highest milliseconds of projections and feed-forward."""
    spent = [_by_place(first)["projections, feed-forward"] for first, _ in profile.values()]
    return f"{min(spent):.0f} to {max(spent):.0f}"


def loads(by_label: Figures) -> list[str]:
    """Return the load of the machine before the first figure and before the last."""
    pairs = list(by_label.values())
    first, last = pairs[0][0], pairs[-1][-1]
    return [f"{figure['load_before']:.1f}" for figure in (first, last)]


def speeds(by_label: Figures) -> str:
    """Return the lowest and the highest GFLOP/s of the machine next to the steps."""
    peaks = [figure["peak_flops_per_second"] / 1e9 for pair in by_label.values() for figure in pair]
    return f"{min(peaks):.0f} to {max(peaks):.0f}"


def cost_table(by_label: Figures, kind: str = "encoding") -> str:
    """Return time and temporary memory over those of the first, such as NoPE."""
    rows = [[kind]]
    rows[0] += [f"step, {tokens} tokens" for tokens in TOKENS]
    rows[0] += [f"temporaries, {tokens}" for tokens in TOKENS]
    for label, pair in by_label.items():
        row = [f"`{label}`" if kind == "encoding" else label]
        for figure in pair:
            low, high = figure["times_first_quartiles"]
            row.append(f"{figure['times_first']:.2f} ({low:.2f}–{high:.2f})")
        row += [f"{_temporaries(by_label, label, i):.2f}" for i in range(len(TOKENS))]
        rows.append(row)
    return markdown.table(rows)


def _temporaries(by_label: Figures, label: str, i: int) -> float:
    """Return temporary memory over that of the first."""
    first = next(iter(by_label.values()))
    ratio: float = by_label[label][i]["temporary_bytes"] / first[i]["temporary_bytes"]
    return ratio


def profile_table(profile: Figures) -> str:
    """Return the milliseconds of a step by place."""
    rows = [["encoding, tokens", *PLACES, "all else", "sum"]]
    for name, pair in profile.items():
        for figure, tokens in zip(pair, TOKENS, strict=True):
            spent = _by_place(figure)
            cells = [f"{milliseconds:.1f}" for milliseconds in spent.values()]
            rows.append([f"`{name}`, {tokens}", *cells, f"{sum(spent.values()):.1f}"])
    return markdown.table(rows)


def _by_place(figure: dict[str, Any]) -> dict[str, float]:
    spent = dict.fromkeys([*PLACES, "all else"], 0.0)
    for place, seconds in figure["profile"].items():
        spent[_kind(place)] += 1e3 * seconds
    return spent


def _kind(place: str) -> str:
    # The later kinds are the more specific ones, such as one function of a folder.
    for kind, beginnings in reversed(PLACES.items()):
        if place.startswith(beginnings):
            return kind
    return "all else"
