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
