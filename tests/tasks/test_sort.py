import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.tasks.sort import Sort, _is_range
from tests.tasks.drawing import drawn, symbols

VARIANTS = [{}, dict(distinct=False, num_symbols=5), dict(numbers=(10, 9999)), dict(numbers=(1, 3))]
COMMA = 10


def oracle(task, prompt):
    if task.numbers is None:
        return np.array(sorted(prompt.tolist()))
    text = task.vocabulary.text(prompt.tolist()).replace(" ", "")
    numbers = sorted(text.split(","), key=int)
    return np.array(symbols(task.vocabulary, " ".join(",".join(numbers))))


@pytest.mark.slow
def test_each_distinct_symbol_is_aligned_to_its_one_place_and_repeated_ones_to_none():
    e = Sort(num_symbols=9).sample(jax.random.key(0), jnp.asarray(4), 6)
    assert e.alignment.tolist() == [*np.argsort(e.prompt[:4]).tolist(), -1, -1]
    assert (drawn(Sort(distinct=False), 4, 5).alignment == -1).all()
    assert (drawn(Sort(numbers=(10, 99)), 4, 5).alignment == -1).all()


def test_the_longest_distinct_list_is_the_alphabet():
    assert (
        Sort().max_length,
        Sort(distinct=False).max_length,
        Sort(numbers=(10, 99)).max_length,
    ) == (150, None, None)


def test_all_pairs_of_distinct_symbols_are_drawn_as_often():
    """Twelve pairs of four symbols, 2400 draws: 200 each, standard deviation 14."""
    pairs = np.bincount(drawn(Sort(num_symbols=4), 2, 2400).prompt @ [4, 1], minlength=16).reshape(
        4, 4
    )
    assert np.diag(pairs).sum() == 0
    assert np.abs(pairs[~np.eye(4, dtype=bool)] - 200).max() < 62


def written(one, example):
    return [
        int(word)
        for word in one.vocabulary.text(example.prompt[example.prompt_mask].tolist())
        .replace(" ", "")
        .split(",")
    ]


@pytest.mark.slow
def test_numbers_are_uniform_from_the_least_to_the_largest():
    """8 to 12, of one digit and of two; 1500 draws of one: 300 each, standard deviation 15.5."""
    one = Sort(numbers=(8, 12))
    e = drawn(one, 1, 1500)
    found = np.bincount(
        [written(one, jax.tree.map(lambda leaf, i=i: leaf[i], e))[0] for i in range(1500)],
        minlength=13,
    )
    assert found[:8].sum() == 0
    assert np.abs(found[8:] - 300).max() < 70


@pytest.mark.full
def test_numbers_of_several_widths_stand_one_behind_the_other():
    """0 has one digit as well; digits are symbols of numbers, commas are not."""
    one = Sort(numbers=(0, 100))
    e = one._number_example(
        jnp.array([100, 0, 7, 0]), jnp.array([0, 7, 100, 101]), jnp.arange(4) < 3
    )
    assert e.prompt.tolist() == [1, 0, 0, COMMA, 0, COMMA, 7] + [0] * 8
    assert e.target.tolist() == [0, COMMA, 7, COMMA, 1, 0, 0] + [0] * 8
    assert e.prompt_mask.sum() == e.target_mask.sum() == 7
    assert (
        e.structure["symbols"][0].tolist()
        == [True, True, True, False, True, False, True] + [False] * 8
    )
    assert (
        e.structure["symbols"][1].tolist()
        == [True, False, True, False, True, True, True] + [False] * 8
    )


def test_bounds_are_of_the_widest_numbers():
    assert [Sort(numbers=(10, 9999)).prompt_bound(n) for n in (1, 3)] == [4, 14]
    assert [Sort().prompt_bound(n) for n in (1, 3)] == [1, 3]


def test_ranges_that_are_none_are_refused():
    assert not any(map(_is_range, ((), (10,), (1, 2, 3), ("a", "b"), (1.5, 5), (False, 5))))
    for numbers in ((5, 5), (-1, 5), (0, 10**9)):
        with pytest.raises(
            ValueError, match="the first less than the second, of 0 to 999999999, got"
        ):
            Sort(numbers=numbers)
    with pytest.raises(ValueError, match="Sort needs two symbols or more"):
        Sort(num_symbols=1)
    for arguments in (dict(num_symbols=5), dict(distinct=False)):
        with pytest.raises(ValueError, match="with numbers takes no num_symbols and no distinct"):
            Sort(numbers=(10, 99), **arguments)


def test_places_of_commas_at_the_answer_reveal_how_many_digits_each_number_has():
    numbers = Sort(numbers=(1, 9999))
    assert [numbers.reveals("symbols", causal) for causal in (True, False)] == [None, "answer"]
    assert Sort().reveals("symbols", causal=False) is None
