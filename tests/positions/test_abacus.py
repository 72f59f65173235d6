import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.abacus import Abacus

REFUSALS = [
    (dict(max_shift=-1), "0 or more, got -1"),
]


# The reference entry abacus_positions: symbols at tokens 4..9 of 4 5 0 6 7 8 1 9 2.
SYMBOLS = [1, 1, 0, 1, 1, 1, 0, 1, 0]
POSITIONS = [1, 2, 0, 1, 2, 3, 0, 1, 0]


def of(scheme, train, symbols=SYMBOLS, draws=1, mask=None, segments=None, **structure):
    rows = {
        name: jnp.broadcast_to(jnp.asarray(row), (draws, len(row)))
        for name, row in {"symbols": symbols, **structure}.items()
    }
    there = jnp.broadcast_to(jnp.asarray(mask or [1] * len(symbols), bool), (draws, len(symbols)))
    segments = None if segments is None else jnp.broadcast_to(jnp.asarray(segments), there.shape)
    keys = jax.random.split(jax.random.key(0), draws)
    return np.asarray(scheme(keys, there, segments=segments, structure=rows, train=train)[0])


@pytest.mark.slow
def test_agrees_with_reference():
    assert of(Abacus(), train=False).tolist() == [POSITIONS]


@pytest.mark.slow
def test_each_example_of_training_shifts_all_its_symbols_by_one_draw():
    drawn = of(Abacus(5), train=True, draws=1200)
    shift = drawn[:, 0] - 1
    np.testing.assert_array_equal(
        drawn, np.where(np.asarray(SYMBOLS) == 1, np.asarray(POSITIONS) + shift[:, None], 0)
    )
    counts = np.bincount(shift)
    assert len(counts) == 6
    assert counts.min() > 140  # 200 expected, standard deviation 13


@pytest.mark.full
def test_the_default_shifts_by_0_to_99():
    shift = of(Abacus(), train=True, draws=3000)[:, 0] - 1
    assert set(shift) == set(range(100))


@pytest.mark.full
def test_a_run_ends_where_the_part_or_the_example_does():
    """Prompt and blanks stand side by side, and so do packed examples."""
    ones = [1, 1, 1, 1, 1]
    assert of(Abacus(), False, ones).tolist() == [[1, 2, 3, 4, 5]]
    assert of(Abacus(), False, ones, parts=[0, 0, 1, 1, 1]).tolist() == [[1, 2, 1, 2, 3]]
    assert of(Abacus(), False, ones, parts=[0, 0, 1, 1, 1], segments=[1, 1, 1, 2, 2]).tolist() == [
        [1, 2, 1, 1, 2]
    ]


@pytest.mark.full
def test_bound_is_reached_by_one_long_run():
    drawn = of(Abacus(5), train=True, symbols=[1, 1, 1, 1], draws=200)
    assert drawn.max() == Abacus(5).bound(4, True) == 9
    assert of(Abacus(5), False, [1, 1, 1, 1]).max() == Abacus(5).bound(4, False) == 4
