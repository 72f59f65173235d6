"""Every law on every scheme of the folder."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.plugins import plugins
from tests import choices, members
from tests.marks import full_except


def specs():
    """Case -> spec: every scheme with its ARGUMENTS, and its VARIANTS on top of them."""
    cases = {}
    for name in members.names("positions"):
        cases[name] = members.spec("positions", name)
        variants = getattr(members.own_tests("positions", name), "VARIANTS", {})
        for title, arguments in variants.items():
            cases[f"{name}, {title}"] = members.spec("positions", name, **arguments)
    return cases


SPECS = specs()
LENGTHS = (7, 4, 1)
STRUCTURE = {
    "symbols": [0, 1, 1, 0, 1, 1, 1],
    "coupled": [0, 1, 2, 0, 2, 3, 1],
    "parts": [0, 0, 0, 1, 1, 1, 1],
    "separators": [0, 1, 0, 0, 1, 1, 0],
    "grid": [[0, 0], [1, 1], [1, 1], [1, 2], [2, 1], [0, 0], [0, 0]],
}
SEGMENTS = [1, 1, 2, 2, 2, 3, 3]

# One scheme that counts, one that follows a structure, and one that draws; the full suite has all.
QUICK = ("contiguous", "coupled", "random_floats")

every = pytest.mark.parametrize("name", SPECS)
few = pytest.mark.parametrize("name", full_except(QUICK, SPECS))
trained_and_evaluated = pytest.mark.parametrize("train", [False, True])


@functools.cache
def scheme(name):
    return plugins.build("positions", plugins.resolve("positions", SPECS[name]), num_layers=3)


def keys(n=3, seed=0):
    return jax.random.split(jax.random.key(seed), n)


def mask(lengths=LENGTHS, padded=7):
    return jnp.arange(padded)[None] < jnp.asarray(lengths)[:, None]


def wide(values, m):
    """A value a place, as long as a mask, in each of its rows; 0 at padding."""
    row = np.asarray(values)
    padding = np.zeros((m.shape[1] - len(row), *row.shape[1:]), row.dtype)
    row = jnp.asarray(np.concatenate([row, padding]))
    there = m.reshape(*m.shape, *(1,) * (row.ndim - 1))
    return jnp.where(there, row[None], 0)


def positions(name, k, m, train, segments=True):
    """What a scheme gives where it may follow a structure, and segments if they are given."""
    structure = {key: wide(values, m) for key, values in STRUCTURE.items()}
    return scheme(name)(
        k, m, segments=wide(SEGMENTS, m) if segments else None, structure=structure, train=train
    )


def rows(name, m, train, seed=0, segments=True):
    """[N, B, L, A], a row for each example."""
    out = positions(name, keys(len(m), seed), m, train, segments)
    assert out.ndim == (3 if scheme(name).num_axes == 1 else 4)
    assert out.shape[0] in (1, 3)
    assert out.shape[1] in (1, len(m))
    return np.broadcast_to(out, (out.shape[0], len(m), *out.shape[2:])).reshape(
        out.shape[0], *m.shape, scheme(name).num_axes
    )


@pytest.mark.parametrize("name", plugins.names("positions"))
def test_it_has_a_test_file_of_its_own(name):
    assert Path(__file__).with_name(f"test_{name}.py").exists(), (
        f"pe_lab/positions/{name}.py needs tests/positions/test_{name}.py, with "
        "ARGUMENTS, a value for each argument that has no default"
    )


@pytest.mark.parametrize("segments", [False, True])
@trained_and_evaluated
@few
def test_positions_ascend_within_the_bound_and_padding_is_zero(name, train, segments):
    m = mask(padded=9)
    for seed in range(5):
        out = rows(name, m, train, seed, segments)
        for b, length in enumerate(LENGTHS):
            valid = out[:, b, :length]
            if scheme(name).ascending:
                assert (np.diff(valid, axis=1) > 0).all()
            assert scheme(name).real or valid.min() >= 0
            assert valid.max() <= scheme(name).bound(length, train) * (
                1 + 1e-6 * scheme(name).real
            )  # float32
        assert (out[:, :, 7:] == 0).all()
        if not scheme(name).arange:
            assert (out[:, ~np.asarray(m)] == 0).all()


@trained_and_evaluated
@few
def test_the_padded_length_changes_no_draw(name, train):
    short, long = rows(name, mask(padded=7), train), rows(name, mask(padded=12), train)
    np.testing.assert_array_equal(short[:, mask()], long[:, :, :7][:, mask()])


@trained_and_evaluated
@few
def test_an_example_depends_on_its_own_key_and_not_on_its_neighbours(name, train):
    together = rows(name, mask(), train)
    alone = positions(name, keys()[1:2], mask()[1:2], train)
    np.testing.assert_array_equal(together[:, 1, :4], alone.reshape(len(together), 7, -1)[:, :4])


@trained_and_evaluated
@few
def test_compiled_and_side_by_side_equals_eager(name, train):
    """With traced lengths, segments and structures; side by side as members are."""
    both = jnp.stack([keys(seed=0), keys(seed=1)])
    compiled = jax.jit(jax.vmap(lambda k, m: positions(name, k, m, train), in_axes=(0, None)))(
        both, mask()
    )
    eager = np.stack([positions(name, k, mask(), train) for k in both])
    np.testing.assert_allclose(compiled, eager, rtol=1e-6 if scheme(name).real else 0)


@every
def test_traits_say_what_positions_are(name):
    for train in (False, True):
        out = positions(name, keys(), mask(), train)
        assert jnp.issubdtype(out.dtype, jnp.floating) == scheme(name).real
        assert scheme(name).num_axes == (1 if out.ndim == 3 else out.shape[3])
    if scheme(name).arange:
        np.testing.assert_array_equal(out, jnp.arange(7)[None, None])
    same_start = [rows(name, mask((n, 4, 1)), train=False)[:, 0, :3] for n in (7, 5)]
    assert scheme(name).reads_length == (np.abs(same_start[0] - same_start[1]).max() > 0)


@every
def test_only_schemes_that_keep_differences_count_tokens_by_ones(name):
    """From any start, in every example: a relative encoding then reads contiguous positions."""
    steps = []
    for train in (False, True):
        of_tokens = rows(name, mask(), train)
        for b, length in enumerate(LENGTHS):
            steps += np.diff(of_tokens[:, b, :length], axis=1).ravel().tolist()
    assert scheme(name).keeps_differences == bool(np.allclose(steps, 1, atol=1e-5))


@pytest.mark.parametrize("name", ["abacus", "coupled", "multimodal", "separators", "two_stream"])
def test_what_follows_a_structure_says_which_it_lacks(name):
    for structure in (None, {"other": wide([1], mask())}):
        with pytest.raises(
            ValueError,
            match=r"follows structure\['(symbols|coupled|grid|parts|separators)'\], one value "
            r"a token, and was given none",
        ):
            scheme(name)(keys(), mask(), structure=structure, train=False)


REFUSALS = [
    pytest.param(name, arguments, sentence, id=f"{name}-{arguments}")
    for name in plugins.names("positions")
    for arguments, sentence in getattr(members.own_tests("positions", name), "REFUSALS", ())
]


@pytest.mark.parametrize(("name", "arguments", "sentence"), REFUSALS)
def test_arguments_that_make_no_sense_are_refused(name, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        plugins.find("positions", name)(**arguments)


@pytest.mark.parametrize(("name", "argument"), choices.arguments("positions"))
def test_a_misspelled_choice_is_rejected(name, argument):
    choices.assert_misspellings_are_rejected("positions", name, argument)
