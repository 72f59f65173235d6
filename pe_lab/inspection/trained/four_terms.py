"""Shares of content and position in the logits, for any encoding and any layer.

A query is the sum of a content part and a position part, and so is a key. Their product has four
terms: cc, cp, pc and pp, with the query's part first. A softmax ignores what all keys of a query
have in common, so each term is centered over the visible keys. Its energy is the sum of squares,
and its share is relative to the sum of the four energies. If terms are not orthogonal, the energy
of their sum differs: `together`.

The position part of a query or key is its mean over examples (Song and Zhong 2023, "Uncovering
hidden geometry in Transformers via disentangling position and context",
https://arxiv.org/abs/2310.04861). It includes tokens that all examples share, such as separators
at fixed positions, and 1 / N of the energy of the content.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

TERMS = ("cc", "cp", "pc", "pp")
Heads = Float[np.ndarray, "n l h e"]


@dataclasses.dataclass(frozen=True)
class FourTermShares:
    """For each head; NaN if its logits do not differ.

    Attributes:
      shares: of TERMS.
      together: energy of the sum of the terms, divided by the sum of their energies; 1 if they are
        orthogonal.
      nearness: correlation of pp with minus the distance, within rows; NaN without variance.
    """

    shares: Float[np.ndarray, "4 h"]
    together: Float[np.ndarray, "h"]
    nearness: Float[np.ndarray, "h"]


def split_by_position(x: Heads, valid: Bool[np.ndarray, "n l"]) -> tuple[Heads, Heads]:
    """Content and position parts of queries or keys: the deviation from the mean, and the mean.

    The mean is over the examples whose position is not padding.
    """
    x = x.astype(np.float64)  # a sum in bfloat16 would be rounded
    where = valid[..., None, None]
    mean = np.where(where, x, 0).sum(axis=0) / np.maximum(where.sum(axis=0), 1)
    return np.where(where, x - mean, 0), np.where(where, mean, 0)


def shares(
    q: tuple[np.ndarray, np.ndarray],
    k: tuple[np.ndarray, np.ndarray],
    mask: Bool[np.ndarray, "n _ l s"],
    *,
    one_stream: bool = True,
) -> FourTermShares:
    """The four shares of queries and keys.

    Args:
      q, k: content and position parts of each, [N, L, H, Dh] and [N, S, H, Dh].
      mask: True where a query sees a key; of one head for all, or of each.
      one_stream: queries and keys are of one stream, so that they have a distance.
    """
    num_examples, num_queries, num_heads = q[0].shape[:3]
    num_keys = k[0].shape[1]
    energies = np.zeros((4, num_heads))
    energy_of_sum = np.zeros(num_heads)
    products = np.zeros((3, num_heads))  # of pp and nearness: mixed, pp squared, nearness squared
    distance = np.abs(np.arange(num_queries)[:, None] - np.arange(num_keys)[None])
    for n in range(num_examples):  # one by one, since long examples would not fit together
        visible = np.broadcast_to(mask[n], (num_heads, *mask.shape[2:]))
        queries = [np.moveaxis(x[n].astype(np.float64), 1, 0) for x in q]  # [H, L, Dh]
        keys = [np.moveaxis(x[n].astype(np.float64), 1, 0) for x in k]
        terms = [_centered(a @ b.mT, visible) for a in queries for b in keys]
        energies += [np.square(term).sum((1, 2)) for term in terms]
        energy_of_sum += np.square(sum(terms)).sum((1, 2))
        pp = terms[3]
        near = _centered(np.broadcast_to(-distance.astype(np.float64), visible.shape), visible)
        products += [(a * b).sum((1, 2)) for a, b in ((pp, near), (pp, pp), (near, near))]
    total = np.where(energies.sum(axis=0) > 0, energies.sum(axis=0), np.nan)
    scale = np.sqrt(products[1] * products[2])
    # Without variance the correlation is undefined.
    nearness = products[0] / np.where((scale > 0) & one_stream, scale, np.nan)
    return FourTermShares(energies / total, energy_of_sum / total, nearness)


def _centered(
    term: Float[np.ndarray, "h l s"], visible: Bool[np.ndarray, "h l s"]
) -> Float[np.ndarray, "h l s"]:
    """The term minus its mean over the visible keys; 0 where a key is not visible."""
    count = np.maximum(visible.sum(axis=-1, keepdims=True), 1)
    mean = np.where(visible, term, 0).sum(axis=-1, keepdims=True) / count
    return np.where(visible, term - mean, 0)
