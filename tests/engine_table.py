"""The first table of docs/performance.md, from its records."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "results" / "published" / "engine"
LENGTHS = {"19 · 19": "40", "1 · 40": "4 to 82"}


def table() -> str:
    now, before = (json.loads((FOLDER / name).read_text(encoding="utf-8")) for name in ("engine.json", "before.json"))
    lines = ["| encoding | tokens | steps/s | share of peak | before, steps/s | times faster |", "|---|---|---|---|---|---|"]
    for new, old in zip(now, before, strict=True):
        assert new["label"] == old["label"]
        lengths, _, encoding = new["label"].rpartition(" · ")
        rates = [1 / figure["seconds_per_step"] for figure in (new, old)]
        cells = [f"`{encoding}`", LENGTHS[lengths], f"{rates[0]:.2f}", f"{new['share_of_peak']:.2f}", f"{rates[1]:.2f}"]
        lines.append(f"| {' | '.join([*cells, f'{rates[0] / rates[1]:.1f}'])} |")
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
        model = " ".join([figure["study"], *(o for o in figure["overrides"] if "encodings" not in o)])
        total = rates.setdefault(model, {})
        total[figure["what"]] = total.get(figure["what"], 0.0) + 1 / figure["seconds_per_step"]
    lines = [
        "| model | pe_lab | x-transformers, float32 | bfloat16 autocast | times float32's | times autocast's |",
        "|---|---|---|---|---|---|",
    ]
    for model, (ours, single, half) in ((model, each.values()) for model, each in rates.items()):
        lines.append(f"| {MODELS[model]} | {ours:.1f} | {single:.1f} | {half:.1f} | {ours / single:.2f} | {ours / half:.2f} |")
    return "\n".join(lines)
