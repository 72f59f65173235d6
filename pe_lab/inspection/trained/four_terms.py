"""The four terms of (Q(x+e))ᵀK(y+f): how much of what sets logits apart is of tokens, of places,
and of both.

Content and place, as query and as key: cc, cp, pc, pp. Only what differs within a query's row
counts, since a softmax ignores what a row has in common: each term is centred over the keys in
sight, and its energy is the sum of squares. Shares are of the sum of the four energies. Where terms
are not orthogonal, the energy of their sum is another: `together`.

What of a query or key is of its place is its mean over examples, in any layer and for any encoding
(Song and Zhong 2023, "Uncovering hidden geometry in Transformers via disentangling position and
context", https://arxiv.org/abs/2310.04861). It holds all that is alike in all examples, the shared
tokens at fixed places with it, and 1 / N of the content's energy.
"""

import dataclasses
import math

import numpy as np
from jaxtyping import Bool, Float

TERMS = ("cc", "cp", "pc", "pp")


@dataclasses.dataclass(frozen=True)
class Shares:
    """Of each head, [H]; NaN where no logits differ.

    Attributes:
      shares: of TERMS, [4, H].
      together: energy of the sum of the four over the sum of their energies: 1 if they are
        orthogonal.
      nearness: correlation of pp with minus the distance, within rows; NaN where it does not vary.
    """

    shares: Float[np.ndarray, "4 h"]
    together: Float[np.ndarray, "h"]
    nearness: Float[np.ndarray, "h"]


def by_place(
    x: Float[np.ndarray, "n l h e"], valid: Bool[np.ndarray, "n l"]
) -> tuple[np.ndarray, np.ndarray]:
    """Content and place of queries or keys: what differs from the mean over examples, and that
    mean.
    """
    x, there = (
        x.astype(np.float64),
        valid[..., None, None],
    )  # the model's own type would round the sum
    mean = np.where(there, x, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, x - mean, 0), np.where(there, mean, 0)


def shares(
    q: tuple[np.ndarray, np.ndarray],
    k: tuple[np.ndarray, np.ndarray],
    mask: Bool[np.ndarray, "n _ l s"],
    *,
    one_stream: bool = True,
) -> Shares:
    """The four terms of queries and keys.

    Args:
      q, k: content and place of each, [N, L, H, Dh] and [N, S, H, Dh].
      mask: True where a query sees a key; of one head for all, or of each.
      one_stream: keys and queries stand in one stream, so that there is a distance.
    """
    heads = q[0].shape[2]
    energies, whole, moments = np.zeros((4, heads)), np.zeros(heads), np.zeros((3, heads))
    apart = np.abs(np.arange(q[0].shape[1])[:, None] - np.arange(k[0].shape[1])[None]).astype(
        np.float64
    )
    for n in range(len(q[0])):  # one after the other: long examples would not fit at once
        seen = np.broadcast_to(mask[n], (heads, *mask.shape[2:]))
        queries, keys = (
            [np.moveaxis(x[n].astype(np.float64), 1, 0) for x in of] for of in (q, k)
        )  # [H, L, Dh]
        each = [_centred(a @ b.mT, seen) for a in queries for b in keys]
        energies += [np.square(term).sum((1, 2)) for term in each]
        whole += np.square(sum(each)).sum((1, 2))
        near = _centred(np.broadcast_to(-apart, seen.shape), seen)
        moments += [
            (a * b).sum((1, 2)) for a, b in ((each[3], near), (each[3], each[3]), (near, near))
        ]
    total = np.where(energies.sum(axis=0) > 0, energies.sum(axis=0), np.nan)
    varies = np.sqrt(moments[1] * moments[2])
    nearness = moments[0] / np.where((varies > 0) & one_stream, varies, np.nan)
    return Shares(energies / total, whole / total, nearness)


def _centred(
    term: Float[np.ndarray, "h l s"], seen: Bool[np.ndarray, "h l s"]
) -> Float[np.ndarray, "h l s"]:
    """Less the mean over the keys in sight; 0 where there is none."""
    mean = np.where(seen, term, 0).sum(axis=-1, keepdims=True) / np.maximum(
        seen.sum(axis=-1, keepdims=True), 1
    )
    return np.where(seen, term - mean, 0)


def orthogonality(
    tokens: Float[np.ndarray, "v d"], codes: Float[np.ndarray, "l d"]
) -> dict[str, float]:
    """How far tokens and codes share directions, beside what random ones would.

    Returns:
      rms cosine, of every token with every code, and that of random directions, 1 / sqrt(D); mean
      of its size, and that of random directions, sqrt(2 / (pi D)) where D is large; its largest;
      overlap: of the directions that hold 90% of the codes, the share that as many main directions
        of the tokens hold; its
      value by chance, directions / D.
    """
    unit = [
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
        for rows in (tokens, codes)
    ]
    cosines, width = unit[0] @ unit[1].T, tokens.shape[1]
    (_, _, of_tokens), (_, sizes, of_codes) = (
        np.linalg.svd(rows, full_matrices=False) for rows in (tokens, codes)
    )
    held = np.cumsum(np.square(sizes)) / max(np.square(sizes).sum(), 1e-30)
    count = min(int((held < 0.9).sum()) + 1, len(tokens), len(codes))
    shared = np.square(of_codes[:count] @ of_tokens[:count].T).sum() / count
    return {
        "rms cosine": float(np.sqrt(np.square(cosines).mean())),
        "rms cosine of random directions": width**-0.5,
        "mean absolute cosine": float(np.abs(cosines).mean()),
        "mean absolute cosine of random directions": math.sqrt(2 / (math.pi * width)),
        "largest cosine": float(np.abs(cosines).max()),
        "directions of the codes": count,
        "overlap": float(shared),
        "overlap by chance": count / width,
    }
