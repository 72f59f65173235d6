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
import itertools

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
    is_valid = valid[..., None, None]
    count = np.maximum(is_valid.sum(axis=0), 1)
    mean = np.where(is_valid, x, 0).sum(axis=0) / count
    content = np.where(is_valid, x - mean, 0)
    position = np.where(is_valid, mean, 0)
    return content, position


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
    num_examples, num_queries, num_heads, _ = q[0].shape
    num_keys = k[0].shape[1]
    energies = np.zeros((4, num_heads))
    energy_of_sum = np.zeros(num_heads)
    products = np.zeros((3, num_heads))  # of pp and nearness: mixed, pp squared, nearness squared
    query_index, key_index = np.indices((num_queries, num_keys))
    nearness_of_keys = -np.abs(query_index - key_index).astype(np.float64)
    for n in range(num_examples):  # one by one, since long examples would not fit together
        visible = np.broadcast_to(mask[n], (num_heads, *mask.shape[2:]))
        queries = [_by_head(part[n]) for part in q]
        keys = [_by_head(part[n]) for part in k]
        terms = []  # in the order of TERMS
        for query_part, key_part in itertools.product(queries, keys):
            terms.append(_centered(query_part @ key_part.mT, visible))
        cc, cp, pc, pp = terms
        energies += [_energy(term) for term in terms]
        energy_of_sum += _energy(cc + cp + pc + pp)
        near = _centered(np.broadcast_to(nearness_of_keys, visible.shape), visible)
        products += [(pp * near).sum((1, 2)), _energy(pp), _energy(near)]
    total = energies.sum(axis=0)
    total = np.where(total > 0, total, np.nan)
    mixed, pp_squared, near_squared = products
    scale = np.sqrt(pp_squared * near_squared)
    # Without variance the correlation is undefined.
    has_correlation = (scale > 0) & one_stream
    nearness = mixed / np.where(has_correlation, scale, np.nan)
    return FourTermShares(energies / total, energy_of_sum / total, nearness)


def _by_head(x: Float[np.ndarray, "l h e"]) -> Float[np.ndarray, "h l e"]:
    return np.moveaxis(x.astype(np.float64), 1, 0)


def _energy(term: Float[np.ndarray, "h l s"]) -> Float[np.ndarray, "h"]:
    return np.square(term).sum((1, 2))


def _centered(
    term: Float[np.ndarray, "h l s"], visible: Bool[np.ndarray, "h l s"]
) -> Float[np.ndarray, "h l s"]:
    """The term minus its mean over the visible keys; 0 where a key is not visible."""
    count = np.maximum(visible.sum(axis=-1, keepdims=True), 1)  # padding sees no key
    total = np.where(visible, term, 0).sum(axis=-1, keepdims=True)
    mean = total / count
    return np.where(visible, term - mean, 0)
