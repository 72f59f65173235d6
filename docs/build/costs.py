"""Records of the costs of encodings."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path("results/published/encoding_costs")
COSTS = FOLDER / "costs.json"
Figures = dict[str, list[dict[str, Any]]]


def figures(record: Path) -> Figures:
    """Map the label of each encoding or option to its two figures: 80 tokens and 512."""
    by_label: Figures = {}
    for figure in json.loads(record.read_text(encoding="utf-8")):
        by_label.setdefault(figure["label"], []).append(figure)
    return by_label
