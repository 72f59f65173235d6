"""Statistics of a table of position embeddings: collisions, growth, steps and dimensions.

All functions are pure and take float64 tables E [L, C] with one row for each position in order.
The same statistics describe the table of an encoding in attention, which has one row for each
distance (untrained.py). Statistics without a source are defined by this project.
"""

from collections.abc import Mapping

import ml_dtypes
import numpy as np
from jaxtyping import Bool, Float

Table = Float[np.ndarray, "_ c"]
# Rows count as equal if their distance is at most this share of the table's root mean square.
_TOLERANCE, _TOLERANCE_BFLOAT16 = 1e-6, 1e-3


def distances(E: Table) -> Float[np.ndarray, "l l"]:
    """|E(p) - E(q)| of all pairs; exactly 0 where rows are equal."""
    # Row by row: the expansion with inner products is not exact for equal rows.
    return np.stack([np.linalg.norm(E - row, axis=1) for row in E])


def through_bfloat16(E: Table) -> Table:
    """The table rounded to bfloat16, which represents whole numbers exactly up to 256."""
    return E.astype(ml_dtypes.bfloat16).astype(np.float64)


def nearest(E: Table) -> float | None:
    """min over p != q of |E(p) - E(q)|; None for one row."""
    if len(E) < 2:
        return None
    return float(_pair_distances(E).min())


def collisions(E: Table, tolerance: float = _TOLERANCE) -> int:
    """Number of pairs p < q with |E(p) - E(q)| <= tolerance * rms(E)."""
    is_equal = _pair_distances(E) <= tolerance * rms(E)
    return int(is_equal.sum())


def collisions_in_bfloat16(E: Table) -> int:
    """Collisions after rounding to bfloat16, with a tolerance that fits its eight bits."""
    return collisions(through_bfloat16(E), _TOLERANCE_BFLOAT16)


def equal_neighbors(E: Table) -> int:
    """Number of rows that equal the row before them exactly."""
    is_equal = (E[1:] == E[:-1]).all(axis=1)
    return int(is_equal.sum())


def alias_margin(E: Table) -> float | None:
    """min over |p - q| >= 2 of |E(p) - E(q)|, divided by the median step.

    Below 1, some distant position is nearer than a neighbor.
    """
    if len(E) < 3:
        return None
    median_step = np.median(steps(E))
    if not median_step:
        return None
    beyond_neighbors = np.triu_indices(len(E), 2)
    smallest = distances(E)[beyond_neighbors].min()
    return float(smallest / median_step)


def rms(E: Table) -> float:
    return float(np.sqrt(np.mean(E**2)))


def growth(sizes: Mapping[int, float]) -> float | None:
    """Exponent a of size ~ length^a, by least squares of the logarithms; 0 if all sizes are 0.

    None for one length, and if only some of the sizes are 0.
    """
    lengths = np.asarray(list(sizes))
    size = np.asarray(list(sizes.values()))
    if len(sizes) < 2:
        return None
    if not size.any():
        return 0.0
    if not size.all():  # the logarithm of 0
        return None
    exponent, _ = np.polyfit(np.log(lengths), np.log(size), 1)
    return float(exponent)


def steps(E: Table) -> Float[np.ndarray, "n"]:
    """|E(p + 1) - E(p)| of each p."""
    return np.linalg.norm(np.diff(E, axis=0), axis=1)


def step_ratio(E: Table) -> float | None:
    """The largest step divided by the median step."""
    if len(E) < 2:
        return None
    sizes = steps(E)
    median = np.median(sizes)
    return float(sizes.max() / median) if median else None


def step_variation(E: Table) -> float | None:
    """Standard deviation of the steps divided by their mean."""
    sizes = steps(E)
    if not sizes.any():  # also without a step
        return None
    return float(sizes.std() / sizes.mean())


def step_share(E: Table) -> float | None:
    """The largest step divided by the root mean square distance of two random rows.

    At 1, one step leads as far as a jump to a random position. None if all rows are equal.
    """
    random_pair = np.sqrt(2 * E.var(axis=0).sum())
    if len(E) < 2 or not random_pair:
        return None
    return float(steps(E).max() / random_pair)


def coordinates_that_change(E: Table) -> int:
    """Largest number of coordinates that change by more than 1/2 in one step; 0 for one row."""
    changed = np.abs(np.diff(E, axis=0)) > 0.5
    return int(changed.sum(axis=1).max(initial=0))


def length_consistency(tables: Mapping[int, Table]) -> float | None:
    """(max - min) / mean over lengths of the mean step, at the positions that all lengths have.

    Args:
      tables: length -> its table; each has at least as many rows as the shortest.

    Returns:
      None for one length or without steps.
    """
    rows = len(tables[min(tables)])
    if rows < 2 or len(tables) < 2:
        return None
    shared_rows = [E[:rows] for E in tables.values()]
    mean_steps = np.asarray([steps(E).mean() for E in shared_rows])
    if not mean_steps.any():
        return None
    return float(np.ptp(mean_steps) / mean_steps.mean())


def drift(short: Table, long: Table) -> float | None:
    """|E_long - E_short| / |E_short| over the rows of the shorter example."""
    size = np.linalg.norm(short)
    if not size:
        return None
    change = long[: len(short)] - short
    return float(np.linalg.norm(change) / size)


def mean_square_norm(E: Table) -> float:
    """mean |E(p)|^2; exactly D / 2 for sinusoidal embeddings."""
    squares = (E**2).sum(axis=1)
    return float(squares.mean())


def norm_variation(E: Table) -> float | None:
    """Standard deviation of |E(p)|^2 over positions, divided by its mean."""
    squares = (E**2).sum(axis=1)
    if not squares.any():
        return None
    return float(squares.std() / squares.mean())


def effective_dimension(E: Table) -> float | None:
    """Participation ratio (sum v)^2 / sum v^2 of the variances v along principal directions."""
    if not np.ptp(E, axis=0).any():
        return None
    centered = E - E.mean(axis=0)
    variances = np.linalg.svd(centered, compute_uv=False) ** 2
    return float(variances.sum() ** 2 / (variances**2).sum())


def unseen_coordinates(seen: Table, beyond: Float[np.ndarray, "m c"]) -> Bool[np.ndarray, "m c"]:
    """Coordinates outside the range that they have in the seen rows; NaN counts as outside."""
    slack = _TOLERANCE * rms(seen)
    is_above = beyond >= seen.min(axis=0) - slack
    is_below = beyond <= seen.max(axis=0) + slack
    return ~(is_above & is_below)  # not the reverse comparison, which is False for NaN


def _pair_distances(E: Table) -> Float[np.ndarray, "n"]:
    above_diagonal = np.triu_indices(len(E), 1)
    return distances(E)[above_diagonal]
