import functools

import jax
import numpy as np
import pytest

from pe_lab.tasks._draws import distinct
from pe_lab.tasks.associative_recall import AssociativeRecall

VARIANTS = [
    {},
    dict(variant="forgetting", gaps="fixed", slots_per_pair=2, random_filler=False),
    dict(variant="compositional", gaps="uniform", slots_per_pair=1, num_symbols=60),
    dict(num_symbols=40, num_slots=12),
]
CHANCE_LEVELS = [
    (dict(num_symbols=10, slots_per_pair=1), 2, "token_accuracy", 1 / 5, 2),
]
REFUSALS = [
    (dict(power=0.0), "above 0, got 0"),
    (dict(gaps="uniform", power=0.5), r"gaps='uniform' takes no power\.$"),
]


def oracle(task, prompt, given):
    width = task._width
    book = {}
    for *key, value in prompt.reshape(-1, width).tolist():
        book[tuple(key)] = value
    target = []
    for *key, value in given.reshape(-1, width).tolist():
        target += [*key, book[tuple(key)] if value == -1 else value]
    return np.array(target)


@functools.cache
def draw(task, bound):
    return jax.jit(jax.vmap(lambda k, n: task.sample(k, n, bound), in_axes=(0, None)))


def many(length, bound=5, **arguments):
    keys = jax.random.split(jax.random.key(0), 1200)
    return jax.tree.map(
        np.asarray,
        draw(AssociativeRecall(**{"num_symbols": 14, "slots_per_pair": 4, **arguments}), bound)(
            keys, length
        ),
    )


def fixed(length):
    return many(length, gaps="fixed", random_filler=False)


def forgetting(length):
    return many(length, variant="forgetting")


def test_selections_without_replacement_are_all_equally_likely():
    """2400 draws of 12 ordered pairs: 200 each, standard deviation 14. All 4 are a permutation."""
    all_ = np.asarray(
        jax.jit(jax.vmap(lambda k: distinct(k, 4, 4)))(jax.random.split(jax.random.key(0), 2400))
    )
    assert (np.sort(all_, axis=1) == np.arange(4)).all()
    for a, b in ((0, 1), (2, 3)):
        counts = np.bincount(all_[:, a] * 4 + all_[:, b], minlength=16).reshape(4, 4)
        np.testing.assert_allclose(counts[~np.eye(4, dtype=bool)], 200, atol=70)


@pytest.mark.slow
def test_keys_are_of_the_first_half_values_of_the_second_and_none_comes_twice():
    e = many(5)
    keys, values = e.prompt[:, ::2], e.prompt[:, 1::2]
    assert (keys.min(), keys.max(), values.min(), values.max()) == (1, 6, 7, 13)
    assert all(len(set(row)) == 5 for row in [*keys.tolist(), *values.tolist()])


@pytest.mark.slow
def test_every_key_is_asked_once_for_its_value():
    e = many(5)
    for prompt, target, asked, source in zip(
        e.prompt[:50], e.target, e.asked_mask, e.alignment, strict=False
    ):
        where = np.nonzero(asked)[0]
        assert sorted(target[where - 1]) == sorted(prompt[::2])
        np.testing.assert_array_equal(prompt[source[where] - 1], target[where - 1])
        assert (where % 2 == 1).all()
        assert (source[~asked] == -1).all()


def test_slots_of_the_power_law():
    """One pair, 4 slots: proportional to i**-0.99; 1200 draws, standard deviation at most 17."""
    expected = np.arange(1, 5) ** -0.99
    counts = np.bincount(np.argmax(many(1).asked_mask, axis=1) // 2, minlength=4)
    np.testing.assert_allclose(counts, 1200 * expected / expected.sum(), atol=80)


@pytest.mark.slow
def test_uniform_slots():
    """One pair, 4 slots, 1200 draws: 300 each expected, standard deviation 15."""
    counts = np.bincount(np.argmax(many(1, gaps="uniform").asked_mask, axis=1) // 2, minlength=4)
    np.testing.assert_allclose(counts, 300, atol=75)


@pytest.mark.slow
def test_fixed_slots_have_the_order_of_the_pairs():
    e = fixed(3)
    np.testing.assert_array_equal(e.target[:, :24:8], e.prompt[:, :6:2])
    np.testing.assert_array_equal(np.nonzero(e.asked_mask[0])[0], [1, 9, 17])


@pytest.mark.slow
def test_slots_without_a_key_are_filled():
    """6 tokens beside one pair, uniform on 14 symbols: 514 of 7200 each, standard deviation 22."""
    e = many(1)
    filler = ~np.repeat(e.asked_mask.reshape(1200, -1, 2).any(axis=2), 2, axis=1) & e.target_mask
    assert filler.sum() == 7200
    np.testing.assert_allclose(np.bincount(e.target[filler], minlength=14), 514, atol=105)
    still = fixed(3)
    assert (still.target[:, :24].reshape(1200, 12, 2)[:, [1, 2, 3, 5, 6, 7, 9, 10, 11]] == 0).all()


@pytest.mark.slow
def test_half_of_the_keys_are_written_again_with_another_value():
    """2 of 4 keys: 600 of 2400 each, standard deviation 17; 400 for each shift of a value, 18."""
    e = forgetting(4)
    keys, values = e.prompt[:, :12:2], e.prompt[:, 1:12:2]
    again = np.argmax(keys[:, None, :4] == keys[:, 4:, None], axis=2)
    assert (again[:, 0] != again[:, 1]).all()
    np.testing.assert_array_equal(np.take_along_axis(keys, again, axis=1), keys[:, 4:])
    np.testing.assert_allclose(np.bincount(again.ravel(), minlength=4), 600, atol=85)
    shift = (values[:, 4:] - np.take_along_axis(values, again, axis=1)) % 7
    np.testing.assert_allclose(np.bincount(shift.ravel(), minlength=7)[1:], 400, atol=90)
    assert (shift > 0).all()
    last = e.alignment[e.asked_mask].reshape(1200, 4)
    assert ((last >= 8).sum(axis=1) == 2).all()
    assert [set(forgetting(n).prompt_mask.sum(axis=1).tolist()) for n in (1, 5)] == [{2}, {14}]


@pytest.mark.slow
def test_keys_of_two_tokens_fill_a_grid():
    e = many(4, variant="compositional", num_symbols=30)
    triples = e.prompt[:, :12].reshape(1200, 4, 3)
    assert (triples.min(axis=(0, 1)) == [1, 10, 20]).all()
    assert (triples.max(axis=(0, 1)) == [9, 19, 29]).all()
    for entries in triples.tolist():
        assert len({(a, b) for a, b, _ in entries}) == 4
        assert (len({a for a, _, _ in entries}), len({b for _, b, _ in entries})) == (2, 2)
    same_first = (
        triples[:, 0, 0] == triples[:, 1, 0]
    )  # one of three others: 400 expected, standard deviation 16
    assert abs(same_first.sum() - 400) < 80


def test_coupled_positions_do_not_tell_the_pair():
    prompt, target = many(1).structure["coupled"]
    assert prompt[0].tolist() == [1, 2, *[0] * 8]
    assert target[0].tolist() == [0] * 40


def test_the_papers_sizes():
    task = AssociativeRecall()
    assert [task.prompt_bound(n) + task.target_bound(n) for n in (4, 8, 16)] == [64, 128, 256]
    tight = AssociativeRecall(slots_per_pair=1)
    assert [tight.prompt_bound(n) + tight.target_bound(n) for n in (16, 256)] == [64, 1024]
    assert AssociativeRecall(variant="forgetting").prompt_bound(8) == 24
    assert AssociativeRecall(variant="compositional").prompt_bound(4) == 12


@pytest.mark.slow
def test_num_slots_is_the_number_of_slots_of_every_number_of_pairs():
    for length in (1, 3):
        drawn = many(length, num_slots=6)
        assert (drawn.target_mask.sum(axis=1) == 12).all()
        assert (drawn.answer_mask.sum(axis=1) == length).all()
    assert AssociativeRecall(num_slots=6).max_length == 6


def test_num_slots_needs_a_slot_and_no_fixed_gaps():
    for arguments in (dict(num_slots=0), dict(num_slots=6, gaps="fixed")):
        with pytest.raises(ValueError, match="num_slots is 1 or more, without gaps='fixed'"):
            AssociativeRecall(**arguments)


def test_there_are_no_more_pairs_than_keys():
    assert AssociativeRecall().max_length == 4095
    assert AssociativeRecall(num_symbols=12, variant="compositional").max_length == 4
    assert AssociativeRecall(num_symbols=30, variant="compositional").max_length == 10


def test_names():
    assert AssociativeRecall(num_symbols=12).vocabulary.text([0, 1, 5, 6, 11]) == "_ k1 k5 v0 v5"
    assert (
        AssociativeRecall(num_symbols=12, variant="compositional").vocabulary.text(
            [1, 3, 4, 7, 8, 11]
        )
        == "a1 a3 b0 b3 v0 v3"
    )


@pytest.mark.parametrize(("name", "value"), [("num_symbols", 5), ("slots_per_pair", 0)])
def test_what_has_no_pairs_or_slots_is_refused(name, value):
    with pytest.raises(ValueError, match=f"got {name}={value}"):
        AssociativeRecall(**{name: value})
