"""Named streams of random keys: every random number is a fold of (seed, stream, index).

Nothing random has state, so a resumed training is bit-equal to an unbroken one.
"""

import jax
from jaxtyping import Array, ArrayLike, Int, Key

# The streams of a data seed. The integers must never change: another integer draws other numbers.
EXAMPLES = 0
LENGTHS = 1
POSITIONS = 2
DROPOUT = 3
EVALUATION = 4
SOURCE_POSITIONS = 5
NAMED_SCHEMES = 6
LOOPS = 7
# In evaluation, folded into the key of an example. A task splits this key, and
# split(key, n)[i] == fold_in(key, i), so the integer is one that no split reaches.
EVALUATED_POSITIONS = 0x504F5349


def stream_key(
    key: Key[Array, ""],
    name: Int[ArrayLike, ""],
) -> Key[Array, ""]:
    """The key of a named stream."""
    return jax.random.fold_in(key, name)


def fold(
    key: Key[Array, ""],
    indices: Int[ArrayLike, "n"],
) -> Key[Array, "n"]:
    """One key for each index."""
    return jax.vmap(lambda i: jax.random.fold_in(key, i))(indices)


def stream_keys(keys: Key[Array, "n"], name: int) -> Key[Array, "n"]:
    """The key of a named stream for each of several keys."""
    return jax.vmap(lambda key: stream_key(key, name))(keys)
