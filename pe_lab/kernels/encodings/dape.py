"""DAPE whose inner bias is computed in its own fast form."""

from typing import Any

from pe_lab.encodings.dape import DAPE
from pe_lab.kernels.diagonals import Diagonals


def transform_logits(encoding: DAPE, diagonals: Diagonals, s, q, k, Q, K, mask) -> Any:
    from pe_lab.kernels.encodings import hook

    bias = hook(diagonals, encoding.inner, "bias")(Q, K)
    if bias is None:
        bias = hook(diagonals, encoding.inner, "content_bias")(q, k, Q, K)
    return encoding.adapt(s, bias, mask)
