"""The declared rule of state_tracking:blocks: which numbers of blocks each depth learns."""

from pathlib import Path
from typing import Any

from configs import state_tracking
from docs.build.published import STUDIES
from experiments.declared import common, depth


def lookups(root: Path) -> dict[str, Any]:
    runs = common.read([str(root / STUDIES / "state_tracking_blocks")])
    cells = depth.learned_cells(runs)
    allowed, others = depth.by_the_law(cells)

    def largest(layers: int) -> str:
        """The largest number of blocks that a depth learns."""
        learned = [blocks for blocks in state_tracking.BLOCKS if cells[layers, blocks]]
        return str(max(learned, default="none"))

    return {
        "largest": largest,
        "allowed": f"{sum(allowed)} of {len(allowed)}",
        "others": f"{sum(others)} of {len(others)}",
        "as_the_law": f"{sum(allowed) + len(others) - sum(others)} of {len(cells)}",
        "least_seeds": f"{depth.LEAST_SEEDS} of {state_tracking.SEEDS['blocks']}",
    }
