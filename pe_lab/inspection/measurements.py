"""Every number of one encoding: the definitions of codes, shifts, similarity, rotations and biases,
applied to its table.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from pe_lab.encodings.base import Tokens
from pe_lab.inspection import (
    linear_shift,
    receptive_field,
    rotation_angles,
    similarity,
    table_statistics,
)
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.runs.errors import UserError

Number = float | int  # counts are whole
Numbers = dict[str, Number | None]
TIMES = (1, 4, 16)  # the length, and how much longer examples it is compared with
SHIFT = 5  # positions; no power of two, whose multiples periods and groups often are
_LONG = 4096  # positions among which bfloat16 is asked for equal neighbours
_SPREAD, _PAIRS = (
    2**16,
    1024,
    # a period of the slowest common sine is 62,832 positions; pairs for the linear map, half of
    # which fit it
)


def numbers(probe: UntrainedEncoding) -> Numbers:
    """All of them by name, None where one has no answer for this encoding or this length; empty
    where it has no table.

    Raises:
      UserError: it has no finite row for some position that the scheme gives.
    """
    if probe.kind is None:
        return {}
    tables = {n: probe.table(n) for n in probe.lengths(*TIMES)}
    if any(not np.isfinite(table).all() for table in tables.values()):
        raise UserError(
            f"{probe.name} is not a finite number at some of its positions, up to a length of "
            f"{max(tables)}."
        )
    E = tables[probe.length]
    return {
        "smallest distance": table_statistics.nearest(E),
        "colliding pairs": table_statistics.collisions(E),
        "colliding pairs, bfloat16": table_statistics.collisions_in_bfloat16(E),
        "equal neighbours of 4096, bfloat16": _equal_neighbours(probe),
        "alias margin": table_statistics.alias_margin(E),
        "largest value": float(np.abs(E).max()),
        "growth with length": table_statistics.growth(
            {n: float(np.abs(F).max()) for n, F in tables.items()}
        ),
        "change of step with length": table_statistics.length_consistency(tables),
        "drift to 4 lengths": table_statistics.drift(E, tables[4 * probe.length])
        if 4 * probe.length in tables
        else None,
        "largest step / median": table_statistics.step_ratio(E),
        "variation of steps": table_statistics.step_variation(E),
        "largest step / random pair": table_statistics.step_share(E),
        "coordinates that change by 1/2": table_statistics.coordinates_that_change(E),
        **(
            _shifts(probe)
            if probe.kind == "code"
            else {"change by a common shift": _change_by_shift(probe)}
        ),
        **_similarity(probe, E),
        "mean square norm": table_statistics.mean_square_norm(E),
        "variation of square norms": table_statistics.norm_variation(E),
        "growth of square norm with width": _growth_with_width(probe)
        if probe.kind == "code"
        else None,
        "effective dimension": table_statistics.effective_dimension(E),
        **_exposure(probe, E),
    }


def frequencies(probe: UntrainedEncoding) -> Float[np.ndarray, "h p"] | None:
    """Radians that each pair of channels turns from one token to the next, by head, fastest first;
    None of what turns nothing.

    Read from what the encoding does to every channel, as the angles of eigenvalues, whatever its
    layout. What is no linear map of queries (PoPE) is asked for its attribute `frequencies`.
    """
    if probe.kind != "turn" or probe.length < 2:
        return None
    channels = probe.width // probe.num_heads
    basis = jnp.broadcast_to(
        jnp.eye(channels)[:, None, None], (channels, 2, probe.num_heads, channels)
    )
    slots, lengths = jnp.arange(2)[None], jnp.asarray([probe.length])
    tokens = Tokens(probe.positions_of(probe.length)[:, :2], slots, lengths)
    once, twice = (
        np.asarray(probe.encoding.transform_qk(n * basis, n * basis, tokens, tokens)[0], np.float64)
        for n in (1, 2)
    )
    if once.shape != basis.shape or not np.allclose(twice, 2 * once, atol=1e-5):
        own = getattr(probe.encoding, "frequencies", None)
        return None if own is None else np.sort(np.atleast_2d(np.asarray(own, np.float64)))[:, ::-1]
    first, second = np.moveaxis(once, 2, 0)[:, :, 0], np.moveaxis(once, 2, 0)[:, :, 1]
    turns = np.abs(np.angle(np.linalg.eigvals(np.linalg.solve(first, second))))
    return np.sort(turns, axis=-1)[:, ::-1][
        :, ::2
    ]  # a pair's two eigenvalues turn by as much, one each way


def kernel(probe: UntrainedEncoding, length: int) -> Float[np.ndarray, "h s"]:
    """Against distance: a head's bias, or the mean similarity of unit queries of all directions
    with themselves.
    """
    found = probe.logits(length, own_key=True)
    return found.reshape(-1, probe.num_heads, length).mean(axis=0)


def _shifts(probe: UntrainedEncoding) -> Numbers:
    """Of positions far and wide, whatever the scheme; a constant may be added, as the layer behind
    a code can.
    """
    last = min(_SPREAD, probe.encoding.requirements.max_positions or _SPREAD) - SHIFT
    if last < 1:
        return {"shift residual": None}
    places = np.random.default_rng(0).permutation(last)[:_PAIRS]
    before, after = probe.codes_at(places), probe.codes_at(places + SHIFT)
    by_map = {
        f"shift residual, {m}": linear_shift.residual(before, after, len(places) // 2, m)
        for m in ("orthogonal", "linear", "affine")
    }
    known = [r for name, r in by_map.items() if r is not None and "linear" not in name]
    return {**by_map, "shift residual": min(known, default=None)}


def _change_by_shift(probe: UntrainedEncoding) -> float | None:
    """What a far, odd shift of all positions changes of the table, over the spread of its
    values.
    """
    E, moved = probe.table(probe.length), probe.table(probe.length, shift=16 * probe.length + SHIFT)
    spread = np.linalg.norm(E - E.mean(axis=0))
    return float(np.linalg.norm(moved - E) / spread) if spread else None


def _similarity(probe: UntrainedEncoding, E: Float[np.ndarray, "l c"]) -> Numbers:
    place = np.arange(len(E), dtype=np.float64)
    if probe.kind == "code":
        K = similarity.gram(E)
        curve, distance = similarity.by_offset(K), np.abs(place[:, None] - place[None])
        more: Numbers = {
            "share that the offset decides": similarity.toeplitz_fraction(K),
            "asymmetry": similarity.symmetry_defect(K),
        }
    else:
        K = visible(kernel(probe, probe.length))
        curve, distance, more = K.mean(axis=0), np.broadcast_to(place, K.shape), {}
    return {
        **more,
        "decay stops at": similarity.first_increase(curve),
        "half of its similarity at": similarity.half_decay(curve) if probe.kind == "code" else None,
        "steps that do not rise": similarity.monotone_fraction(curve),
        "nearer is more similar": similarity.nearer_is_more_similar(K, distance),
    }


def visible(logits: Float[np.ndarray, "c s"]) -> Float[np.ndarray, "c s"]:
    """With a number for what the mask forbids: less than all that it allows, by as much as that
    spans.
    """
    allowed = np.isfinite(logits)
    low, high = logits[allowed].min(), logits[allowed].max()
    return np.where(allowed, logits, low - max(high - low, 1.0))


def _exposure(probe: UntrainedEncoding, E: Float[np.ndarray, "l c"]) -> Numbers:
    """How much of what an example of two lengths asks, beyond the first, was never shown by
    examples of one.

    None where the scheme has no positions for so many tokens.
    """
    n, turns = probe.length, frequencies(probe)
    there = probe.scheme.max_length is None or 2 * n <= probe.scheme.max_length
    outside = table_statistics.unseen_coordinates(E, probe.table(2 * n)[n:]) if there else None
    found: Numbers = {
        "coordinates out of range": None if outside is None else float(outside.mean())
    }
    if turns is not None:
        share = float(rotation_angles.completed(turns.ravel(), n).mean())
        return {**found, "pairs that complete a period": share, "unseen": 1 - share}
    found["unseen"] = None if outside is None else _unseen(probe, outside)
    if probe.kind == "bias":
        length = probe.lengths(*TIMES)[-1]
        longest = probe.logits(length)
        found["largest bias"] = float(np.abs(longest[np.isfinite(longest)]).max())
        found["tokens among which 99% is asked for"] = length
        found |= {
            f"99% of head {h} within": r
            for h, r in enumerate(receptive_field.receptive_field(longest), start=1)
        }
    return found


def _unseen(probe: UntrainedEncoding, outside: Bool[np.ndarray, "l c"]) -> float:
    """The share of new rows L..2L-1, or of attention that falls on them."""
    new = outside.any(axis=1) | untrained(probe)
    if probe.kind == "code":
        return float(new.mean())
    return float(
        receptive_field.attention(probe.logits(2 * probe.length))[:, probe.length :][:, new]
        .sum(axis=1)
        .mean()
    )


def untrained(probe: UntrainedEncoding) -> Bool[np.ndarray, "l"]:
    """Rows L..2L-1 that depend on parameters which no row of a shorter example reaches, as those of
    a table do.
    """
    n, draws = probe.length, probe.draws()

    def seen(params: Any):
        found = probe.read(params, 0, draws, length=n)[0]
        return (
            found * jnp.asarray(np.random.default_rng(1).standard_normal(found.shape), found.dtype)
        ).sum()

    moved, random = [], np.random.default_rng(2)
    leaves, tree = jax.tree.flatten(probe.params)
    for leaf, gradient in zip(
        leaves, jax.tree.leaves(jax.grad(seen)(probe.params)) if leaves else [], strict=True
    ):
        moved.append(
            leaf
            + jnp.where(gradient == 0, random.standard_normal(leaf.shape).astype(np.float32), 0.0)
        )
    before, after = (
        probe.table(2 * n, params=p) for p in (probe.params, jax.tree.unflatten(tree, moved))
    )
    differs = (before != after).any(axis=1) & np.isfinite(before).all(axis=1)
    return np.zeros(n, bool) if differs[:n].any() else differs[n:]


def _equal_neighbours(probe: UntrainedEncoding) -> int | None:
    enough = probe.max_length is None or probe.max_length >= _LONG
    return (
        table_statistics.equal_neighbours(table_statistics.through_bfloat16(probe.table(_LONG)))
        if probe.kind == "code" and enough
        else None
    )


def _growth_with_width(probe: UntrainedEncoding) -> float | None:
    sizes = {}
    for width in (probe.width, 2 * probe.width, 4 * probe.width):
        try:
            sizes[width] = table_statistics.mean_square_norm(
                probe.resized(width).table(probe.length)
            )
        except UserError:  # it is made for narrow ones
            continue
    return table_statistics.growth(sizes)
