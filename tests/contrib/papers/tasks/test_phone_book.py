import functools

import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.phone_book import PhoneBook
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import symbols

VARIANTS = [{}, dict(num_names=9, num_digits=1)]


def oracle(task, prompt):
    *entries, query = prompt.tolist()
    book: dict[int, list[int]] = {}
    for symbol in entries:
        if symbol >= 10:
            name = symbol
            book[name] = []
        else:
            book[name].append(symbol)
    return np.array(book[query])


@functools.cache
def draw(bound):
    """Numbers of two digits, 6 names."""
    return jax.jit(
        jax.vmap(
            lambda k, n: PhoneBook(num_names=6, num_digits=2).sample(k, n, bound), in_axes=(0, None)
        )
    )


def many(length, bound=6):
    return jax.tree.map(np.asarray, draw(bound)(jax.random.split(jax.random.key(0), 1000), length))


def test_a_worked_example():
    task = PhoneBook(num_digits=3)
    prompt = symbols(task.vocabulary, "n7 6 1 3 n2 9 0 4 n2")
    assert prompt == [17, 6, 1, 3, 12, 9, 0, 4, 12]
    assert oracle(task, np.array(prompt)).tolist() == [9, 0, 4]


@pytest.mark.slow
def test_no_name_comes_twice_and_every_entry_is_asked_for_equally_often():
    """5 entries, 1000 draws: 200 each expected, standard deviation 13."""
    e = many(5)
    names = e.prompt[:, :15:3]
    assert all(len(set(row)) == 5 for row in names.tolist())
    asked = np.argmax(names == e.prompt[:, 15:16], axis=1)
    np.testing.assert_array_equal(e.alignment, np.stack([3 * asked + 1, 3 * asked + 2], axis=1))
    counts = np.bincount(asked, minlength=5)
    assert counts.min() > 140
    assert counts.max() < 260
    first = np.bincount(names[:, 0] - 10, minlength=6)  # 167 each, standard deviation 12
    assert first.min() > 110
    assert first.max() < 225


@pytest.mark.slow
def test_numbers_begin_with_6_to_9():
    """2000 digits: 500 of each first one, standard deviation 19; 200 of each other, 13."""
    e = many(2)
    firsts, others = (
        np.bincount(e.prompt[:, [place, place + 3]].ravel(), minlength=10) for place in (1, 2)
    )
    assert firsts[:6].sum() == 0
    np.testing.assert_allclose(firsts[6:], 500, atol=95)
    np.testing.assert_allclose(others, 200, atol=65)


def test_digits_are_numbers_and_names_are_not():
    prompt, target = many(2).structure["symbols"]
    assert prompt[0].tolist() == [False, True, True, False, True, True, *[False] * 13]
    assert target[0].tolist() == [True, True]


def test_coupled_positions_do_not_tell_the_entry():
    prompt, target = many(2).structure["coupled"]
    assert prompt[0].tolist() == [1, 2, 3, 4, 5, 6, 7, *[0] * 12]
    assert target[0].tolist() == [0, 0]


@pytest.mark.slow
def test_one_key_is_one_example_in_wider_bounds():
    for a, b in zip(jax.tree.leaves(many(3, bound=4)), jax.tree.leaves(many(3)), strict=True):
        np.testing.assert_array_equal(a, b[:, : a.shape[1]])


def test_bounds():
    task = PhoneBook()
    assert (task.prompt_bound(20), task.target_bound(20)) == (221, 10)
    assert (task.min_length, task.max_length) == (1, 1000)


@pytest.mark.slow
def test_the_floor_is_a_quarter_for_the_first_digit_and_a_tenth_for_others():
    """2000 digits, standard deviation 0.009; the guesses are learnt from as many."""
    assert (
        abs(chance_levels(PhoneBook(num_digits=2), (4,), 1000)[0]["token_accuracy"] - 0.175) < 0.045
    )


def test_what_is_no_book_is_refused():
    with pytest.raises(ValueError, match="num_names=1 "):
        PhoneBook(num_names=1)
    with pytest.raises(ValueError, match="num_digits=0"):
        PhoneBook(num_digits=0)
