import functools

import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.ngram import Ngram
from pe_lab.tasks.chance_levels import chance_levels

VARIANTS = [{}, dict(form="suffix", num_symbols=2), dict(form="duplicate"), dict(gram=1, answer=2)]
VARIANTS += [dict(direction="left"), dict(direction="left", form="suffix", answer=2)]
REFUSALS = [
    (dict(direction="left", form="duplicate"), "direction must be 'right' where the target is a"),
]


def oracle(task, prompt, given=None):
    if task.form == "duplicate":
        return prompt
    text = prompt.tolist()[task._prefix_length :]
    gram = (prompt if given is None else given).tolist()[: task.gram]
    if task.direction == "left":
        # Found from the end, and read towards the start.
        if task.form == "prefix":
            gram = gram[::-1]
        text = text[::-1]
    start = 0
    while text[start : start + task.gram] != gram:
        start += 1
    answer = text[start + task.gram :][: task.answer]
    return np.array(gram + answer if task.form == "suffix" else answer)


def test_to_the_left_is_the_mirror_image():
    string, gram = [4, 0, 2, 1, 3, 0], [0, 2, 1]
    assert oracle(Ngram(direction="left"), np.array([*gram, 26, *string])).tolist() == [4]
    for form in ("prefix", "suffix"):
        right, left = (many(10, form=form, answer=2, direction=d) for d in ("right", "left"))
        first = 4 if form == "prefix" else 0
        np.testing.assert_array_equal(
            left.prompt[:, first : first + 10], right.prompt[:, first : first + 10][:, ::-1]
        )
        np.testing.assert_array_equal(left.target, right.target)
        copied = np.take_along_axis(left.prompt, left.alignment, axis=1)
        np.testing.assert_array_equal(copied[left.alignment >= 0], left.target[left.alignment >= 0])


@functools.cache
def draw(task):
    """Examples in bounds for strings of 24."""
    return jax.jit(jax.vmap(lambda k, n: task.sample(k, n, 24), in_axes=(0, None)))


def many(length, **arguments):
    keys = jax.random.split(jax.random.key(0), 1200)
    return jax.tree.map(np.asarray, draw(Ngram(**arguments))(keys, length))


def places(string, gram):
    return [i for i in range(len(string) - len(gram) + 1) if string[i : i + len(gram)] == gram]


def test_worked_examples():
    string, gram = [0, 3, 1, 2, 0, 4], [1, 2, 0]
    assert oracle(Ngram(), np.array([*gram, 26, *string])).tolist() == [4]
    assert oracle(Ngram(gram=2), np.array([3, 1, 26, *string])).tolist() == [2, 0, 4]
    assert oracle(Ngram(gram=2, answer=1), np.array([3, 1, 26, *string])).tolist() == [2]
    assert oracle(Ngram(form="suffix"), np.array(string), np.array([*gram, -1])).tolist() == [
        *gram,
        4,
    ]
    assert oracle(Ngram(form="duplicate"), np.array(string)).tolist() == string


@pytest.mark.slow
def test_the_ngram_occurs_once():
    for row in many(24).prompt.tolist():
        assert len(places(row[4:], row[:3])) == 1


@pytest.mark.slow
def test_among_repeated_ngrams_one_that_occurs_once_is_found():
    """Bits, n-grams of 3: at most 8 of 22 can be different."""
    found = many(24, num_symbols=2, form="suffix")
    for row, target in zip(found.prompt.tolist(), found.target[:, :3].tolist(), strict=True):
        once = [i for i in range(19) if len(places(row, row[i : i + 3])) == 1]
        assert len(places(row, target)) == 1 or not once


def test_where_none_occurs_once_the_first_place_counts():
    """Bits, n-grams of 3: of the 19 starts of a string of 24 often none is alone."""
    e = many(24, num_symbols=2, form="suffix")
    several = 0
    for row, target, source in zip(
        e.prompt.tolist(), e.target[:, :3].tolist(), e.alignment[:, 3].tolist(), strict=True
    ):
        several += len(places(row, target)) > 1
        assert places(row, target)[0] + 3 == source
    assert several > 100


@pytest.mark.parametrize(("answer", "starts"), [(None, 5), (2, 3)])
def test_every_start_is_equally_likely_and_leaves_three_more_symbols(answer, starts):
    """Strings of 10: starts up to 4, or to 2 for answers of two; standard deviations 14 and 16."""
    e = many(10, answer=answer)
    begins = e.alignment[:, 0] - 7
    counts = np.bincount(begins)
    assert len(counts) == starts
    np.testing.assert_allclose(counts, 1200 / starts, atol=75)
    assert (e.target_mask.sum(axis=1) == (answer or 7 - begins)).all()


def test_symbols_are_uniform():
    """28800 of 2 symbols: 14400 each, standard deviation 85."""
    np.testing.assert_allclose(
        np.bincount(many(24, num_symbols=2, form="suffix").prompt.ravel()), 14400, atol=400
    )


def test_the_suffix_is_given_and_the_answer_asked():
    e = many(24, num_symbols=2, form="suffix")
    assert not e.asked_mask[:, :3].any()
    np.testing.assert_array_equal(e.asked_mask[:, 3:], e.target_mask[:, 3:])
    assert e.target_mask[:, :6].all()
    assert (e.alignment[:, :3] == -1).all()


@pytest.mark.slow
def test_a_duplicate_is_one_ngram_written_over_another():
    """Strings of 10, starts up to 5: 12 ordered pairs do not overlap, 100 draws of each."""
    plain, over = many(10).prompt[:, 4:14], many(10, form="duplicate")
    np.testing.assert_array_equal(over.alignment[0], [*range(10), *[-1] * 14])
    counts = np.zeros((6, 6))
    for before, after in zip(plain.tolist(), over.prompt[:, :10].tolist(), strict=True):
        ways = [
            (i, j)
            for i in range(6)
            for j in range(6)
            if i != j and after == before[:j] + before[i : i + 3] + before[j + 3 :]
        ]
        assert ways
        counts[ways[0]] += len(ways) == 1
    i, j = np.indices(counts.shape)
    overlaps = abs(i - j) < 3
    assert (counts[overlaps] == 0).all()
    np.testing.assert_allclose(counts[~overlaps], 100, atol=50)  # standard deviation 10


def test_coupled_positions_tell_the_place_of_a_copy_only():
    prompt, target = many(10).structure["coupled"]
    assert prompt[0].tolist() == [*range(1, 15), *[0] * 14]
    assert target[0].tolist() == [0] * 21
    assert (many(24, num_symbols=2, form="suffix").structure["coupled"][1] == 0).all()
    assert many(10, form="duplicate").structure == {}


def test_bounds_and_names():
    assert (Ngram().prompt_bound(20), Ngram().target_bound(20)) == (24, 17)
    assert (
        Ngram(form="suffix", answer=4).prompt_bound(20),
        Ngram(form="suffix", answer=4).target_bound(20),
    ) == (20, 7)
    assert (Ngram().min_length, Ngram(answer=4).min_length, Ngram(form="duplicate").min_length) == (
        6,
        10,
        8,
    )
    assert Ngram().vocabulary.text([0, 25, 26]) == "a z |"
    assert Ngram(num_symbols=30, form="suffix").vocabulary.text([0, 29]) == "0 29"


@pytest.mark.slow
def test_the_floor_is_the_share_of_one_letter():
    """4000 of 26 letters, standard deviation 0.003."""
    assert abs(chance_levels(Ngram(answer=4), (12,), 1000)[0]["token_accuracy"] - 1 / 26) < 0.02


@pytest.mark.parametrize(("name", "value"), [("num_symbols", 1), ("gram", 0), ("answer", 0)])
def test_what_cannot_be_looked_up_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        Ngram(**{name: value})
