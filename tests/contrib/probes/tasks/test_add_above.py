import itertools

import numpy as np

from pe_lab.contrib.probes.tasks.add_above import AddAbove
from pe_lab.tasks import _grids
from tests.tasks.drawing import drawn, said

VARIANTS = [{}, {"num_symbols": 2, "min_side": 1}]
CHANCE_LEVELS = [
    (dict(num_symbols=2, min_side=1), 1, "exact_match", 1 / 2, 1),
]
REFUSALS = [
    (dict(num_symbols=1), "two symbols or more, got num_symbols=1"),
    (dict(min_side=0), "min_side must be at least 1, got 0"),
]


def oracle(task, prompt):
    rows = _grids.rows(prompt, task.num_symbols)
    written = list(rows[0])
    for above, row in itertools.pairwise(rows):
        written.append(task.num_symbols)
        written += [(a + b) % task.num_symbols for a, b in zip(above, row, strict=True)]
    return np.array(written)


def test_a_grid_by_hand():
    assert said(AddAbove(), "1 2 3 / 4 5 6 / 7 8 9") == "1 2 3 / 5 7 9 / 1 3 5"


def test_rows_and_columns_are_those_of_the_grid():
    """Grids of two rows and three columns."""
    examples = drawn(AddAbove(), 3, 60)
    found = (examples.prompt_mask.sum(axis=1) == 7) & (examples.prompt[:, 3] == 10)
    assert found.any()
    labels = [[1, 1], [1, 2], [1, 3], [0, 0], [2, 1], [2, 2], [2, 3]]
    for side in examples.structure["grid"]:
        for row in np.asarray(side)[found]:
            assert row[:7].tolist() == labels
