"""What a table of codes is like: whether rows repeat, grow, jump, and how much of it training can
show.

Pure functions of float64 tables E [L, C], a row for each position in order. Of an encoding inside
attention the same table has a row for each distance (`probe.profile`). Definitions without a source
are this project's own.
"""

from collections.abc import Mapping

import ml_dtypes
import numpy as np
from jaxtyping import Bool, Float

Table = Float[np.ndarray, "_ c"]
_FLOAT, _BFLOAT16 = 1e-6, 1e-3  # of the root mean square: nearer than this two codes are one


def distances(E: Table) -> Float[np.ndarray, "l l"]:
    """|E(p) - E(q)| of all pairs; exactly 0 where rows are equal."""
    return np.stack([np.linalg.norm(E - row, axis=1) for row in E])


def through_bfloat16(E: Table) -> Table:
    """What is left of it in bfloat16, whose first whole number without a value of its own is
    257.
    """
    return E.astype(ml_dtypes.bfloat16).astype(np.float64)


def nearest(E: Table) -> float | None:
    """min over p != q of |E(p) - E(q)|; None of one row."""
    return float(_pairs(E).min()) if len(E) > 1 else None


def collisions(E: Table, tolerance: float = _FLOAT) -> int:
    """Pairs p < q with |E(p) - E(q)| <= tolerance * rms(E): the model cannot tell them apart."""
    return int((_pairs(E) <= tolerance * rms(E)).sum())


def collisions_in_bfloat16(E: Table) -> int:
    """The same after a round trip through bfloat16, with the coarser tolerance of its eight
    bits.
    """
    return collisions(through_bfloat16(E), _BFLOAT16)


def equal_neighbours(E: Table) -> int:
    """Rows that equal the row before them, exactly."""
    return int((E[1:] == E[:-1]).all(axis=1).sum())


def alias_margin(E: Table) -> float | None:
    """min over |p - q| >= 2 of |E(p) - E(q)|, over the median step: below 1 some far position is
    nearer than a neighbour.
    """
    if len(E) < 3 or not (step := np.median(steps(E))):
        return None
    p, q = np.triu_indices(len(E), 2)
    return float(distances(E)[p, q].min() / step)


def rms(E: Table) -> float:
    return float(np.sqrt(np.mean(E**2)))


def growth(sizes: Mapping[int, float]) -> float | None:
    """The exponent a of size ~ length^a, by least squares of the logarithms; 0 where all is 0.

    None of one length, and where nothing becomes something, as the position of a lone token does.
    """
    n, size = np.asarray(list(sizes)), np.asarray(list(sizes.values()))
    if len(sizes) < 2 or (size.any() and not size.all()):
        return None
    return float(np.polyfit(np.log(n), np.log(size), 1)[0]) if size.any() else 0.0


def steps(E: Table) -> Float[np.ndarray, "n"]:
    """|E(p + 1) - E(p)| of each p."""
    return np.linalg.norm(np.diff(E, axis=0), axis=1)


def step_ratio(E: Table) -> float | None:
    """The largest step over the median one."""
    return (
        float(steps(E).max() / np.median(steps(E))) if len(E) > 1 and np.median(steps(E)) else None
    )


def step_variation(E: Table) -> float | None:
    """Standard deviation of the steps over their mean."""
    return float(steps(E).std() / steps(E).mean()) if len(E) > 1 and steps(E).any() else None


def step_share(E: Table) -> float | None:
    """The largest step over the root mean square distance of two positions at random, sqrt(2 sum
    var E_c).

    1: somewhere a step leads as far away as a jump to anywhere. None where all rows are equal.
    """
    typical = np.sqrt(2 * E.var(axis=0).sum())
    return float(steps(E).max() / typical) if len(E) > 1 and typical else None


def coordinates_that_change(E: Table, by: float = 0.5) -> int:
    """The most coordinates that change by more than this in one step; 0 of one row."""
    return int((np.abs(np.diff(E, axis=0)) > by).sum(axis=1).max(initial=0))


def length_consistency(tables: Mapping[int, Table]) -> float | None:
    """(max - min) / mean over lengths of the mean step, at the positions that all lengths have;
    None of one length or no step.

    Args:
      tables: length -> its codes, of which each has at least the first one's rows.
    """
    first = len(tables[min(tables)])
    found = np.asarray([steps(E[:first]).mean() if first > 1 else 0.0 for E in tables.values()])
    return float(np.ptp(found) / found.mean()) if len(found) > 1 and found.any() else None


def drift(short: Table, long: Table) -> float | None:
    """|E_long - E_short| / |E_short| over the rows of the shorter: what a longer example changes at
    the same positions.
    """
    size = np.linalg.norm(short)
    return float(np.linalg.norm(long[: len(short)] - short) / size) if size else None


def mean_square_norm(E: Table) -> float:
    """mean |E(p)|^2; of a sinusoidal code exactly D / 2."""
    return float((E**2).sum(axis=1).mean())


def norm_variation(E: Table) -> float | None:
    """Standard deviation of |E(p)|^2 over positions, over its mean."""
    squares = (E**2).sum(axis=1)
    return float(squares.std() / squares.mean()) if squares.any() else None


def effective_dimension(E: Table) -> float | None:
    """The participation ratio of the variances v along principal directions, (sum v)^2 / sum v^2:
    how many carry the code.
    """
    variances = np.linalg.svd(E - E.mean(axis=0), compute_uv=False) ** 2
    return float(variances.sum() ** 2 / (variances**2).sum()) if np.ptp(E, axis=0).any() else None


def unseen_coordinates(seen: Table, beyond: Float[np.ndarray, "m c"]) -> Bool[np.ndarray, "m c"]:
    """Where a coordinate lies outside of the range that it had in training; what is undefined, NaN,
    does too.
    """
    slack = _FLOAT * rms(seen)
    return ~((beyond >= seen.min(axis=0) - slack) & (beyond <= seen.max(axis=0) + slack))


def _pairs(E: Table) -> Float[np.ndarray, "n"]:
    return distances(E)[np.triu_indices(len(E), 1)]
