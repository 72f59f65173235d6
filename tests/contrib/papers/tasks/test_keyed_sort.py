import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.keyed_sort import KeyedSort, _ascending
from tests.tasks.drawing import drawn, symbols

VARIANTS = [{}, dict(max_digits=20, fewer=False, reverse=False, num_labels=12)]
COMMA, COLON, A = 10, 11, 12


def oracle(task, prompt):
    text = task.vocabulary.text(prompt.tolist()).replace(" ", "")
    items = [item.split(":") for item in text.split(",")]
    step = -1 if task.reverse else 1
    items.sort(key=lambda item: int(item[1][::step]))
    return np.array(symbols(task.vocabulary, " , ".join(label for label, _ in items)))


def test_worked_examples():
    prompt = np.array([A, COLON, 3, 2, 1, COMMA, A + 1, COLON, 5, 4])
    assert oracle(KeyedSort(), prompt).tolist() == [A + 1, COMMA, A]  # 45, 123
    assert oracle(KeyedSort(reverse=False), prompt).tolist() == [A + 1, COMMA, A]  # 54, 321
    prompt = np.array([A, COLON, 1, 2, COMMA, A + 1, COLON, 2, 1])
    assert oracle(KeyedSort(), prompt).tolist() == [A + 1, COMMA, A]  # 12, 21
    assert oracle(KeyedSort(reverse=False), prompt).tolist() == [A, COMMA, A + 1]


@pytest.mark.slow
def test_numbers_beyond_an_integers_range_are_told_apart_by_their_first_digits_first():
    """Least significant digit first: 2 * 10**19, 9 * 10**18 + 9, 9 * 10**18, and two that are 5."""
    digits = np.zeros((6, 20), int)
    digits[0, 19], digits[1, [18, 0]], digits[2, 18], digits[3, 0], digits[4, 0] = 2, 9, 9, 5, 5
    assert _ascending(jnp.asarray(digits), jnp.arange(6) < 5).tolist() == [3, 4, 2, 1, 0, 5]


@pytest.mark.slow
def test_labels_are_neighbours_in_a_cycle_from_a_uniform_start():
    """Four labels, 1000 draws: 250 each, standard deviation 14."""
    e = drawn(KeyedSort(max_digits=1, num_labels=4), 3)
    labels = e.prompt[:, ::4] - A  # label, colon, digit, comma
    assert np.abs(np.bincount(labels[:, 0], minlength=4) - 250).max() < 62
    assert (labels[:, 1:] == (labels[:, :-1] + 1) % 4).all()


@pytest.mark.slow
@pytest.mark.parametrize(("fewer", "expected"), [(True, [733, 333, 133]), (False, [400, 400, 400])])
def test_numbers_of_all_widths_are_drawn_and_none_begins_with_zero(fewer, expected):
    """If `fewer`, width 1 has the share (1 + 1/2 + 1/3) / 3.

    1200 draws: standard deviation at most 17.
    """
    e = drawn(KeyedSort(max_digits=3, fewer=fewer, reverse=False), 1, 1200)
    widths = e.prompt_mask.sum(axis=1) - 2
    assert np.abs(np.bincount(widths, minlength=4)[1:] - expected).max() < 76
    first, second = e.prompt[:, 2], e.prompt[widths > 1, 3]
    assert first.min() == 1
    assert np.abs(np.bincount(first)[1:] - 1200 / 9).max() < 52  # standard deviation 11
    assert (
        np.abs(np.bincount(second, minlength=10) - len(second) / 10).max() < 45
    )  # standard deviation at most 8.5


@pytest.mark.slow
def test_labels_are_aligned_to_themselves_and_digits_alone_are_symbols():
    e = jax.tree.map(lambda leaf: leaf[0], drawn(KeyedSort(max_digits=1, fewer=False), 2, 1))
    first = 0 if e.prompt[2] <= e.prompt[6] else 4
    assert e.alignment.tolist() == [first, -1, 4 - first]
    assert e.structure["symbols"][0].tolist() == [False, False, True, False, False, False, True]
    assert e.structure["symbols"][1].tolist() == [False] * 3


@pytest.mark.full
def test_one_key_is_one_example_in_wider_shapes_too():
    sample = jax.jit(KeyedSort(num_labels=9).sample, static_argnums=2)
    short, long = (sample(jax.random.key(2), 4, bound) for bound in (4, 7))
    for narrow, wide in zip(jax.tree.leaves(short), jax.tree.leaves(long), strict=True):
        assert narrow.tolist() == wide[: len(narrow)].tolist()


def test_bounds_and_the_longest_list():
    assert [KeyedSort().prompt_bound(n) for n in (1, 3)] == [12, 38]
    assert [KeyedSort().target_bound(n) for n in (1, 3)] == [1, 5]
    assert KeyedSort().max_length == 102
    assert len(set(KeyedSort().vocabulary.names)) == 114


def test_no_digits_and_one_label_are_refused():
    with pytest.raises(ValueError, match="a digit and two labels or more, got 0 and 102"):
        KeyedSort(max_digits=0)
    with pytest.raises(ValueError, match="a digit and two labels or more, got 10 and 1"):
        KeyedSort(num_labels=1)
