"""Whether a shift of the position is one linear map of the code: E(p + shift) = M E(p), whatever p.

Vaswani et al. 2017, section 3.5 (https://arxiv.org/abs/1706.03762) chose sines with cosines for
this. M is fitted on one part of the positions and judged on the others.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

Method = Literal["orthogonal", "linear", "affine"]
_RCOND = 1e-6  # of least squares: singular values below this share of the largest are nothing


def residual(
    before: Float[np.ndarray, "n c"],
    after: Float[np.ndarray, "n c"],
    fitted: int,
    method: Method = "orthogonal",
) -> float | None:
    """Mean squared error of the map that takes codes to those a shift later, over the variance of
    the latter.

    0: the map is exact; 1: no better than the mean code. Positions must be enough, and far enough
    apart, to tell the slow channels of a code from each other: from its first 256 rows alone a wide
    sinusoidal code has no map that can be found.

    Args:
      fitted: how many of the pairs fit the map; the others judge it.
      method: "orthogonal", a rotation or reflection by Procrustes; "linear", least squares;
        "affine", the same with a constant added. Least squares is ill-conditioned where a code
        nearly has fewer dimensions.

    Returns:
      None where fewer than two pairs are left to judge, or their codes are all equal.
    """
    target = after[fitted:]
    if len(target) < 2 or fitted < 1 or not (variance := target.var(axis=0).sum()):
        return None
    if method == "affine":
        before = np.column_stack([before, np.ones(len(before))])
    given, wanted = before[:fitted], after[:fitted]
    M = (
        procrustes(given, wanted)
        if method == "orthogonal"
        else np.linalg.lstsq(given, wanted, rcond=_RCOND)[0]
    )
    return float(((before[fitted:] @ M - target) ** 2).sum(axis=1).mean() / variance)


def procrustes(
    before: Float[np.ndarray, "n c"], after: Float[np.ndarray, "n c"]
) -> Float[np.ndarray, "c c"]:
    """The orthogonal M with before @ M nearest to after: U V^T of the singular value decomposition
    of before^T after.
    """
    U, _, V = np.linalg.svd(before.T @ after)
    return U @ V


def rotation_map(
    frequencies: Float[np.ndarray, "p"], shift: float | int
) -> Float[np.ndarray, "c c"]:
    """The map of sine-cosine pairs, exact: M @ E(p) = E(p + shift) for E(p) = [sin(w_0 p), cos(w_0
    p), sin(w_1 p), …].

    Each pair turns by w_k shift, since sin(a + b) = cos b sin a + sin b cos a and cos(a + b) = cos
    b cos a - sin b sin a.
    """
    M = np.zeros((2 * len(frequencies), 2 * len(frequencies)))
    for k, angle in enumerate(np.multiply(frequencies, shift)):
        M[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [
            [np.cos(angle), np.sin(angle)],
            [-np.sin(angle), np.cos(angle)],
        ]
    return M
