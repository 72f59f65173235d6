"""How many blocks does each depth learn?"""

import pandas as pd

from configs import state_tracking
from experiments.declared import common
from pe_lab.contrib.grids import run_scores

LEAST_SEEDS = 3
_SCORE = run_scores.at(1.5)


def blocks_lines(runs: pd.DataFrame) -> list[str]:
    """Return the numbers of blocks that each depth learns, and the share of cells of the law.

    Args:
      runs: result of `common.read` for the form `blocks` of state_tracking.
    """
    lines, as_the_law = [], 0
    for depth in state_tracking.DEPTHS:
        layers = runs[runs["model.num_layers"] == state_tracking.layers_label(depth)]
        learned = []
        for blocks in state_tracking.BLOCKS:
            cell = layers[layers["task"] == state_tracking.blocks_label(blocks)]
            if is_learned(cell):
                learned.append(blocks)
            as_the_law += (blocks in learned) == (blocks <= depth + 2)
        texts = ", ".join(map(str, learned)) or "none"
        lines.append(f"depth {depth}: learned {texts}; largest {max(learned, default=0)}")
    cells = len(state_tracking.DEPTHS) * len(state_tracking.BLOCKS)
    return [*lines, f"{as_the_law}/{cells} cells are learned if and only if k <= d + 2"]


def is_learned(cell: pd.DataFrame) -> bool:
    """Return whether enough seeds of a cell extrapolate, at the rate that validation chose."""
    if cell.empty:
        return False
    rate = cell.groupby("rate")[common.LOSS].mean().idxmin()
    chosen = cell[cell["rate"] == rate]
    extrapolates = chosen["solved"].astype(bool) & (chosen[_SCORE] >= common.THRESHOLD)
    return bool(extrapolates.sum() >= LEAST_SEEDS)
