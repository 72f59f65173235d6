"""Tables and the picture of docs/performance.md, from the records of the engine."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "results" / "published" / "engine"
LENGTHS = {"19 · 19": "40", "1 · 40": "4 to 82"}


def lookups(root: Path) -> dict[str, str]:
    """Lookups of the page, one for each table."""
    return {
        "engine": table(),
        "peers": peer_table(),
        "scaling": scaling_table(),
        "members": members_table(),
        "evaluation": evaluation_table(),
    }


def table() -> str:
    """Rates now; how many times faster the fast form was than the commit before it, measured beside each other."""
    lines = [
        "| encoding | tokens | steps/s | share of peak | times faster than before |",
        "|---|---|---|---|---|",
    ]
    for now, after, before in zip(
        *map(_read, ("engine.json", "after.json", "before.json")), strict=True
    ):
        assert now["label"] == after["label"] == before["label"]
        lengths, _, encoding = now["label"].rpartition(" · ")
        faster = before["seconds_per_step"] / after["seconds_per_step"]
        cells = [
            f"`{encoding}`",
            LENGTHS[lengths],
            f"{1 / now['seconds_per_step']:.2f}",
            f"{now['share_of_peak']:.2f}",
            f"{faster:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


_MIXED = "engine config.train.min_length=1 config.train.max_length=40"
_WIDE = "config.model.width=128 config.model.feedforward_width=512 config.model.num_heads=4"
MODELS = {  # of peer.json: study and overrides -> what it is
    "engine": "5 layers, width 64, 8 heads, 40 tokens",
    _MIXED: "the same, 4 to 82 tokens",
    f"{_MIXED} {_WIDE}": "width 128, 4 heads, 4 to 82 tokens",
    "quickstart": "the quickstart's",
}


def peer_table() -> str:
    """Steps a second of two workers together, ours and x-transformers', and how many times as fast we are."""
    rates: dict[str, dict[str, float]] = {}
    for figure in json.loads((FOLDER / "peer.json").read_text(encoding="utf-8")):
        model = " ".join(
            [figure["study"], *(o for o in figure["overrides"] if "encodings" not in o)]
        )
        total = rates.setdefault(model, {})
        total[figure["what"]] = total.get(figure["what"], 0.0) + 1 / figure["seconds_per_step"]
    lines = [
        "| model | pe_lab | x-transformers, float32 | bfloat16 autocast | times float32's | times autocast's |",
        "|---|---|---|---|---|---|",
    ]
    for model, (ours, single, half) in ((model, each.values()) for model, each in rates.items()):
        lines.append(
            f"| {MODELS[model]} | {ours:.1f} | {single:.1f} | {half:.1f} | {ours / single:.2f} | {ours / half:.2f} |"
        )
    return "\n".join(lines)


AXES = {
    "tokens": "tokens in a context",
    "width": "width, feed-forward 4 times it",
    "heads": "heads of a width of 64",
}


def _read(name: str) -> list[dict]:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def scaling() -> dict[str, list[dict]]:
    """What is changed -> its figures, by its value."""
    found: dict[str, list[dict]] = {"tokens": [], "width": [], "heads": []}
    for figure in _read("scaling.json"):
        words = figure["label"].split()
        what, value = (words[0], words[1]) if words[0] == "width" else (words[1], words[0])
        found[what].append(
            {**figure, "value": int(value), "microseconds": 1e6 * figure["seconds_per_step"] / 8192}
        )
    return found


def scaling_table() -> str:
    """Microseconds a token of a step."""
    lines = [
        "| changed | value | µs a token | share of peak | temporaries, MB |",
        "|---|---|---|---|---|",
    ]
    for what, figures in scaling().items():
        for f in figures:
            cells = [
                what,
                str(f["value"]),
                f"{f['microseconds']:.1f}",
                f"{f['share_of_peak']:.2f}",
                f"{f['temporary_bytes'] / 1e6:.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def members_table() -> str:
    """How much longer members take in one program than as many alone, and what they hold."""
    lines = [
        "| model | members | how | times alone | state, MB | temporaries, MB |",
        "|---|---|---|---|---|---|",
    ]
    for f in _read("members.json"):
        model = "the quickstart's" if f["study"] == "quickstart" else MODELS["engine"]
        held = [f"{f[kind] / 1e6:.1f}" for kind in ("state_bytes", "temporary_bytes")]
        cells = [model, str(f["members"]), f["how"], f"{f['times_alone']:.2f}", *held]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def evaluation_table() -> str:
    lines = [
        "| lengths | examples | seconds | share of 10,000 steps | most memory of the process, GB |",
        "|---|---|---|---|---|",
    ]
    for f in _read("evaluation.json"):
        (asked,) = [
            o.partition("(")[2].strip(")").split(",") for o in f["overrides"] if "lengths" in o
        ]
        which = ", ".join(asked) if len(asked) < 5 else f"{asked[0]} to {asked[-1]}"
        cells = [
            which,
            f"{f['examples']:,}",
            f"{f['evaluation_seconds']:.0f}",
            f"{f['share']:.1%}",
            f"{f['peak_bytes'] / 1e9:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(file: Path) -> None:
    """Cost a token against what is changed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "svg.hashsalt": "pe_lab"})
    figure, axes = pyplot.subplots(1, 4, figsize=(11, 2.8), sharey=True, layout="constrained")
    for axis, (what, figures) in zip(axes[:3], scaling().items(), strict=True):
        axis.loglog(
            [f["value"] for f in figures],
            [f["microseconds"] for f in figures],
            color="black",
            marker="o",
            markersize=4,
        )
        axis.set_xticks(
            [f["value"] for f in figures], [str(f["value"]) for f in figures], minor=False
        )
        axis.minorticks_off()
        axis.set_xlabel(
            {
                "tokens": "tokens in a context",
                "width": "width, feed-forward 4 times it",
                "heads": "heads of a width of 64",
            }[what]
        )
        axis.grid(alpha=0.3)
    for how, line in {"map": "-", "vmap": "--"}.items():
        found = [f for f in _read("members.json") if f["how"] == how and f["study"] == "engine"]
        costs = [1e6 * f["seconds_per_step"] / f["members"] / (128 * 40) for f in found]
        axes[3].loglog(
            [f["members"] for f in found],
            costs,
            line,
            color="black",
            marker="o",
            markersize=4,
            label=how,
        )
    axes[3].set_xticks([1, 9], ["1", "9"])
    axes[3].minorticks_off()
    axes[3].set_xlabel("members of one program")
    axes[3].legend()
    axes[3].grid(alpha=0.3)
    axes[0].set_ylabel("µs a token of a step")
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
