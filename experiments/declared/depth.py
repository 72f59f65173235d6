"""How many blocks does each depth learn?"""

import itertools

import pandas as pd

from configs import state_tracking
from experiments.declared import common
from pe_lab.contrib.grids import run_scores

LEAST_SEEDS = 3
_SCORE = run_scores.at(1.5)
_LAYERS = "model.num_layers"


def blocks_lines(runs: pd.DataFrame) -> list[str]:
    """Return the numbers of blocks that each depth learns, and the shares of cells of the law.

    Args:
      runs: result of `common.read` for the form `blocks` of state_tracking.

    Raises:
      UserError: the runs are of another form, or a cell lacks a run.
    """
    cells = learned_cells(runs)
    lines = []
    for depth in state_tracking.DEPTHS:
        learned = [blocks for blocks in state_tracking.BLOCKS if cells[depth, blocks]]
        texts = ", ".join(map(str, learned)) or "none"
        lines.append(f"depth {depth}: learned {texts}; largest {max(learned, default=0)}")
    allowed, others = by_the_law(cells)
    as_the_law = sum(allowed) + len(others) - sum(others)
    return [
        *lines,
        f"of {len(allowed)} cells with k <= d + 2, {sum(allowed)} are learned; "
        f"of {len(others)} others, {sum(others)}",
        f"{as_the_law}/{len(cells)} cells are learned if and only if k <= d + 2",
    ]


def learned_cells(runs: pd.DataFrame) -> dict[tuple[int, int], bool]:
    """Return whether each cell is learned, by its depth and its number of blocks.

    Arguments and errors are those of `blocks_lines`.
    """
    runs = _of_blocks(runs)
    cells = {}
    for depth, blocks in itertools.product(state_tracking.DEPTHS, state_tracking.BLOCKS):
        is_depth = runs[_LAYERS] == state_tracking.layers_label(depth)
        is_task = runs["task"] == state_tracking.blocks_label(blocks)
        cells[depth, blocks] = is_learned(runs[is_depth & is_task])
    return cells


def by_the_law(cells: dict[tuple[int, int], bool]) -> tuple[list[bool], list[bool]]:
    """Return which cells are learned, of those with k <= d + 2 and of the others."""
    allowed = [learns for (depth, blocks), learns in cells.items() if blocks <= depth + 2]
    others = [learns for (depth, blocks), learns in cells.items() if blocks > depth + 2]
    return allowed, others


def _of_blocks(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the declared runs, one of each."""
    folder = "state_tracking: FOLDER"
    common.check_columns(folder, runs.columns, (_LAYERS, _SCORE))
    layers = [state_tracking.layers_label(depth) for depth in state_tracking.DEPTHS]
    tasks = [state_tracking.blocks_label(blocks) for blocks in state_tracking.BLOCKS]
    rates, seeds = state_tracking.RATES, range(state_tracking.SEEDS["blocks"])
    runs = runs[runs["rate"].isin(rates) & runs["seed"].isin(list(seeds))]
    common.check_one_of_each(folder, runs, (_LAYERS, layers), tasks, rates, seeds)
    return runs


def is_learned(cell: pd.DataFrame) -> bool:
    """Return whether enough seeds of a cell extrapolate, at the rate that validation chooses."""
    chosen = common.chosen(cell)
    extrapolates = (chosen["solved"] == 1) & (chosen[_SCORE] >= common.THRESHOLD)
    return bool(extrapolates.sum() >= LEAST_SEEDS)
