"""All measured numbers of one encoding, by name."""

import dataclasses

import numpy as np
from jaxtyping import Float

from pe_lab.contrib.inspection import linear_shift, similarity
from pe_lab.contrib.inspection import table_statistics as statistics
from pe_lab.contrib.inspection.exposure import exposure
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.runs.errors import UserError

Number = float | int  # counts are whole numbers
Numbers = dict[str, Number | None]
FACTORS = (1, 4, 16)  # multiples of the length whose tables are compared
SHIFT = 5  # positions; not a power of two, whose multiples are the periods of several encodings
_BFLOAT16_POSITIONS = 4096
# A period of the slowest common sine is 62,832 positions.
_SHIFT_POSITIONS = 2**16
_SHIFT_PAIRS = 1024  # at least; half of them fit the linear map


def measure(encoding: UntrainedEncoding) -> Numbers:
    """All numbers; None where one is undefined. Empty for an encoding without a table.

    Raises:
      UserError: a row of the table is not finite at a position that the scheme gives.
    """
    if encoding.kind is None:
        return {}
    lengths = encoding.lengths(*FACTORS)
    tables = {n: encoding.table(n) for n in lengths}
    if not all(np.isfinite(table).all() for table in tables.values()):
        raise UserError(
            f"{encoding.name} is not a finite number at some of its positions, up to a length of "
            f"{max(tables)}."
        )
    E = tables[encoding.length]
    # None if the scheme or the encoding has no positions for four times the length.
    long = tables.get(4 * encoding.length)
    largest = {n: float(np.abs(table).max()) for n, table in tables.items()}
    if encoding.kind == "embedding":
        growth_with_width = _growth_with_width(encoding)
        shift = _shift_residuals(encoding)
    else:
        growth_with_width = None
        shift = {"change by a common shift": _change_by_shift(encoding)}
    return {
        "smallest distance": statistics.nearest(E),
        "colliding pairs": statistics.collisions(E),
        "colliding pairs, bfloat16": statistics.collisions_in_bfloat16(E),
        "equal neighbors of 4096, bfloat16": _equal_neighbors(encoding),
        "alias margin": statistics.alias_margin(E),
        "largest value": float(np.abs(E).max()),
        "growth with length": statistics.growth(largest),
        "change of step with length": statistics.length_consistency(tables),
        "drift to 4 lengths": None if long is None else statistics.drift(E, long),
        "largest step / median": statistics.step_ratio(E),
        "variation of steps": statistics.step_variation(E),
        "largest step / random pair": statistics.step_share(E),
        "coordinates that change by 1/2": statistics.coordinates_that_change(E),
        **shift,
        **_similarity(encoding, E),
        "mean square norm": statistics.mean_square_norm(E),
        "variation of square norms": statistics.norm_variation(E),
        "growth of square norm with width": growth_with_width,
        "effective dimension": statistics.effective_dimension(E),
        **exposure(encoding, E, lengths[-1]),
    }


def similarity_by_distance(encoding: UntrainedEncoding, length: int) -> Float[np.ndarray, "h s"]:
    """Against distance: the bias of each head, or the mean logit of unit queries with themselves.

    The mean is over all directions of the query. Logits are divided by the square root of the head
    width, as in attention.
    """
    logits = encoding.logits(length, self_keys=True)
    return logits.reshape(-1, encoding.num_heads, length).mean(axis=0)


def fill_masked(logits: Float[np.ndarray, "c s"]) -> Float[np.ndarray, "c s"]:
    """Logits with a finite number where masked: below all others, by as much as they span."""
    allowed = np.isfinite(logits)
    low = logits[allowed].min()
    high = logits[allowed].max()
    below = low - max(high - low, 1.0)
    return np.where(allowed, logits, below)


def _shift_residuals(encoding: UntrainedEncoding) -> Numbers:
    """Residuals of the shift maps over far positions, whatever the scheme.

    The summary takes the best map but the linear one: a constant may be added, as the layer that
    reads the embedding can.
    """
    limit = encoding.encoding.requirements.max_positions or _SHIFT_POSITIONS
    last = min(_SHIFT_POSITIONS, limit) - SHIFT
    if last < 1:
        return {"shift residual": None}
    # Random positions, so that fitted and judged positions cover the same range.
    count = max(_SHIFT_PAIRS, 4 * encoding.width)  # twice as many equations as unknowns
    positions = np.random.default_rng(0).permutation(last)[:count]
    before = encoding.embeddings_at(positions)
    after = encoding.embeddings_at(positions + SHIFT)
    fitted = len(positions) // 2
    orthogonal = linear_shift.residual(before, after, fitted, "orthogonal")
    affine = linear_shift.residual(before, after, fitted, "affine")
    known = [residual for residual in (orthogonal, affine) if residual is not None]
    return {
        "shift residual, orthogonal": orthogonal,
        "shift residual, linear": linear_shift.residual(before, after, fitted, "linear"),
        "shift residual, affine": affine,
        "shift residual": min(known, default=None),
    }


def _change_by_shift(encoding: UntrainedEncoding) -> float | None:
    """Change of the table when all positions move far away, relative to its spread.

    None without so many positions.
    """
    # An odd shift does not hide dependence on blocks of even size.
    shift = 16 * encoding.length + SHIFT
    limit = encoding.encoding.requirements.max_positions
    if limit is not None and encoding.length + shift > limit:
        return None
    E = encoding.table(encoding.length)
    moved = encoding.table(encoding.length, shift=shift)
    spread = np.linalg.norm(E - E.mean(axis=0))
    if not spread:
        return None
    return float(np.linalg.norm(moved - E) / spread)


def _similarity(encoding: UntrainedEncoding, E: Float[np.ndarray, "l c"]) -> Numbers:
    positions = np.arange(len(E), dtype=np.float64)
    numbers: Numbers = {}
    if encoding.kind == "embedding":
        K = similarity.gram(E)
        curve = similarity.by_offset(K)
        distance = np.abs(positions[:, None] - positions[None])
        half = similarity.half_decay(curve)
        numbers["share that the offset decides"] = similarity.toeplitz_fraction(K)
        numbers["asymmetry"] = similarity.symmetry_defect(K)
    else:
        # Masked keys count as the least similar ones.
        K = fill_masked(similarity_by_distance(encoding, encoding.length))
        curve = K.mean(axis=0)
        distance = np.broadcast_to(positions, K.shape)
        half = None
    return {
        **numbers,
        "decay stops at": similarity.first_increase(curve),
        "half of its similarity at": half,
        "steps that do not rise": similarity.monotone_fraction(curve),
        "nearer is more similar": similarity.nearer_is_more_similar(K, distance),
    }


def _equal_neighbors(encoding: UntrainedEncoding) -> int | None:
    limit = encoding.max_length
    if encoding.kind != "embedding":
        return None
    if limit is not None and limit < _BFLOAT16_POSITIONS:
        return None
    rounded = statistics.through_bfloat16(encoding.table(_BFLOAT16_POSITIONS))
    return statistics.equal_neighbors(rounded)


def _growth_with_width(encoding: UntrainedEncoding) -> float | None:
    sizes = {}
    for width in (encoding.width, 2 * encoding.width, 4 * encoding.width):
        try:
            resized = dataclasses.replace(encoding, width=width)
            table = resized.table(encoding.length)
        except UserError:  # some encodings have a largest width
            continue
        sizes[width] = statistics.mean_square_norm(table)
    return statistics.growth(sizes)
