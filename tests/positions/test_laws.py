"""Every law on every scheme of the folder."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import plugins

ARGUMENTS = {"shifted": {"max_shift": 20}, "randomized": {"maximum": 40, "per": "example"}}
NAMES = plugins.names("positions")


@functools.cache
def scheme(name, **more):
    return plugins.build("positions", plugins.resolve("positions", {"name": name, **ARGUMENTS.get(name, {}), **more}), num_layers=3)


def keys(n=3, seed=0):
    return jax.random.split(jax.random.key(seed), n)


def mask(lengths=(7, 4, 1), padded=7):
    return jnp.arange(padded)[None] < jnp.asarray(lengths)[:, None]


def rows(name, m, train, seed=0):
    """[N, B, L], a row for each example."""
    out = scheme(name)(keys(len(m), seed), m, train=train)
    assert out.ndim == 3
    assert out.shape[0] in (1, 3)
    assert out.shape[1] in (1, len(m))
    return np.broadcast_to(out, (out.shape[0], len(m), m.shape[1]))


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_positions_ascend_within_the_bound_and_padding_is_zero(name, train):
    m = mask()
    out, bound = rows(name, m, train), scheme(name).bound(7)
    for b, length in enumerate((7, 4, 1)):
        valid = out[:, b, :length]
        assert (np.diff(valid, axis=1) > 0).all()
        assert valid.min() >= 0
        assert valid.max() <= bound
    everywhere_padded = np.pad(np.asarray(m), ((0, 0), (0, 2)))
    assert (rows(name, jnp.asarray(everywhere_padded), train)[:, :, 7:] == 0).all()
    if not scheme(name).arange:
        assert (out[:, ~np.asarray(m)] == 0).all()


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_padded_length_changes_no_draw(name, train):
    short, long = rows(name, mask(padded=7), train), rows(name, mask(padded=12), train)
    np.testing.assert_array_equal(short[:, mask()], long[:, :, :7][:, mask()])


@pytest.mark.parametrize("name", NAMES)
def test_in_evaluation_an_example_does_not_depend_on_its_neighbours(name):
    together = rows(name, mask(), train=False)
    alone = scheme(name)(keys()[1:2], mask()[1:2], train=False)
    np.testing.assert_array_equal(together[:, 1, :4], np.broadcast_to(alone, (len(together), 1, 7))[:, 0, :4])


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_eager_with_traced_lengths(name):
    compiled = jax.jit(lambda k, m: scheme(name)(k, m, train=True))
    np.testing.assert_array_equal(compiled(keys(), mask()), scheme(name)(keys(), mask(), train=True))


@pytest.mark.parametrize("name", NAMES)
def test_traits_say_what_positions_are(name):
    out = scheme(name)(keys(), mask(), train=True)
    assert jnp.issubdtype(out.dtype, jnp.floating) == scheme(name).real
    if scheme(name).arange:
        np.testing.assert_array_equal(out, jnp.arange(7)[None, None])
    same_start = [rows(name, mask((n, 4, 1)), train=False)[:, 0, :3] for n in (7, 5)]
    assert scheme(name).reads_length == (np.abs(same_start[0] - same_start[1]).max() > 0)
