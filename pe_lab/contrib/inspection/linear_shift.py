"""Linear maps that shift positions: whether E(p + shift) = M E(p) holds for all p with one M.

Vaswani et al. 2017, section 3.5 (https://arxiv.org/abs/1706.03762), give this property as the
reason for pairs of sines and cosines. M is fitted on some positions and judged on others.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

Method = Literal["orthogonal", "linear", "affine"]
# Relative to the largest singular value. Smaller ones are treated as 0 in least squares, which is
# ill-conditioned for embeddings with fewer effective dimensions than channels.
_RCOND = 1e-6


def residual(
    before: Float[np.ndarray, "n c"],
    after: Float[np.ndarray, "n c"],
    fitted: int,
    method: Method = "orthogonal",
) -> float | None:
    """Mean squared error of the fitted map, divided by the variance of its targets.

    0 means that the map is exact, and 1 that it is no better than the mean embedding. The
    positions must be many and far apart: the slow channels of a wide sinusoidal embedding look
    constant over its first 256 rows.

    Args:
      before, after: embeddings of positions, and of the same positions plus the shift.
      fitted: number of pairs that fit the map; the others judge it.
      method: "orthogonal" (a rotation or reflection, by Procrustes), "linear" (least squares), or
        "affine" (least squares with a constant).

    Returns:
      None if fewer than two pairs are left to judge, or if their targets are all equal.
    """
    target = after[fitted:]
    if len(target) < 2 or fitted < 1:
        return None
    variance = target.var(axis=0).sum()
    if not variance:
        return None
    if method == "affine":
        before = np.column_stack([before, np.ones(len(before))])
    if method == "orthogonal":
        M = procrustes(before[:fitted], after[:fitted])
    else:
        M, *_ = np.linalg.lstsq(before[:fitted], after[:fitted], rcond=_RCOND)
    errors = before[fitted:] @ M - target
    squared_errors = (errors**2).sum(axis=1)
    return float(squared_errors.mean() / variance)


def procrustes(
    before: Float[np.ndarray, "n c"], after: Float[np.ndarray, "n c"]
) -> Float[np.ndarray, "c c"]:
    """The orthogonal M that brings before @ M nearest to after.

    M is U V^T of the singular value decomposition of before^T after.
    """
    U, _, V = np.linalg.svd(before.T @ after)
    return U @ V


def rotation_map(
    frequencies: Float[np.ndarray, "p"], shift: float | int
) -> Float[np.ndarray, "c c"]:
    """The exact map M @ E(p) = E(p + shift) of E(p) = [sin(w_0 p), cos(w_0 p), sin(w_1 p), …].

    Each pair turns by w_k * shift: sin(a + b) = cos b sin a + sin b cos a and
    cos(a + b) = cos b cos a - sin b sin a.
    """
    width = 2 * len(frequencies)
    M = np.zeros((width, width))
    for k, angle in enumerate(np.multiply(frequencies, shift)):
        cos, sin = np.cos(angle), np.sin(angle)
        pair = slice(2 * k, 2 * k + 2)
        M[pair, pair] = [[cos, sin], [-sin, cos]]
    return M
