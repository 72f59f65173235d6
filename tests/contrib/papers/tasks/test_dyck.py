import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.dyck import Dyck
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn

VARIANTS = [
    {},
    dict(max_depth=2, num_kinds=5),
    dict(answer="completion"),
    dict(answer="completion", max_depth=3),
]


def oracle(task, prompt):
    stack, legal = [], []
    for symbol in prompt.tolist():
        if symbol % 2 == 0:
            stack.append(symbol + 1)
        else:
            assert stack.pop() == symbol
        legal.append(stack[-1] if stack else 2 * task.num_kinds)
    return np.array(legal if task.answer == "legal" else stack[::-1])


def words(one, length, count):
    """What was drawn, and how often."""
    prompts = [
        one.vocabulary.text(row).replace(" ", "")
        for row in drawn(one, length, count).prompt.tolist()
    ]
    return {word: prompts.count(word) for word in sorted(set(prompts))}


def test_worked_examples():
    nothing = 4
    assert oracle(Dyck(), np.array([0, 2, 3, 1, 0, 1])).tolist() == [1, 3, 1, nothing, 1, nothing]
    assert oracle(Dyck(answer="completion"), np.array([0, 2, 0, 1])).tolist() == [3, 1]


@pytest.mark.slow
def test_words_of_a_length_are_uniform():
    """1000 draws: 200 of each of five, standard deviation 13.

    Four are no deeper than 2: 250 of each, standard deviation 14.
    """
    found = words(Dyck(num_kinds=1), 6, 1000)
    assert list(found) == ["((()))", "(()())", "(())()", "()(())", "()()()"]
    assert max(abs(n - 200) for n in found.values()) < 57
    found = words(Dyck(num_kinds=1, max_depth=2), 6, 1000)
    assert list(found) == ["(()())", "(())()", "()(())", "()()()"]
    assert max(abs(n - 250) for n in found.values()) < 62


@pytest.mark.slow
def test_kinds_of_pairs_are_uniform():
    """Two words of three kinds squared, 1800 draws: 100 each, standard deviation 10."""
    found = words(Dyck(num_kinds=3), 4, 1800)
    assert len(found) == 18
    assert max(abs(n - 100) for n in found.values()) < 45


@pytest.mark.slow
def test_of_an_odd_length_the_word_has_one_bracket_less():
    assert drawn(Dyck(), 5, 1).prompt.shape == (1, 4)
    assert (Dyck().min_length, Dyck(answer="completion").min_length) == (2, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("max_depth", "shares"),
    [(None, {"((((": 1 / 5, "((()": 2 / 5, "(()(": 2 / 5}), (3, {"((()": 2 / 4, "(()(": 2 / 4})],
)
def test_a_prompt_to_be_completed_is_half_of_a_word_that_closes_at_its_end(max_depth, shares):
    """Five words within the first bracket, or four of depth 2.

    1000 draws: standard deviation at most 16.
    """
    found = words(Dyck(num_kinds=1, max_depth=max_depth, answer="completion"), 4, 1000)
    assert list(found) == list(shares)
    assert all(abs(n - 1000 * shares[word]) < 72 for word, n in found.items())


@pytest.mark.slow
def test_a_completion_closes_all_that_is_open_and_never_nothing():
    e = drawn(Dyck(answer="completion"), 9, 200)
    height = np.where(e.prompt % 2 == 0, 1, -1).sum(axis=1)
    assert (e.target_mask.sum(axis=1) == height).all()
    assert height.min() >= 1
    assert [Dyck(answer="completion", max_depth=3).target_bound(n) for n in (2, 9)] == [2, 3]


@pytest.mark.slow
def test_no_word_is_deeper_than_its_bound_at_any_length():
    deep = np.cumsum(np.where(drawn(Dyck(max_depth=3), 200, 50).prompt % 2 == 0, 1, -1), axis=1)
    assert (deep.min(), deep.max()) == (0, 3)
    assert (deep[:, -1] == 0).all()


def test_brackets_have_names_of_their_own():
    assert Dyck(num_kinds=5).vocabulary.names == (
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "(4",
        ")4",
    )
    assert Dyck(num_kinds=1).target_vocabulary.names == ("(", ")", "-")


@pytest.mark.slow
def test_its_floor_is_a_half():
    """After an odd prefix one of two brackets closes, after an even one often none does."""
    assert abs(chance_levels(Dyck(), (20,), 1000)[0]["token_accuracy"] - 0.5) < 0.06


def test_depths_that_leave_nothing_to_draw_are_refused():
    with pytest.raises(ValueError, match="at least 1 for legal, got 0"):
        Dyck(max_depth=0)
    with pytest.raises(ValueError, match="at least 2 for completion, got 1"):
        Dyck(max_depth=1, answer="completion")
    with pytest.raises(ValueError, match="one kind of brackets or more, got num_kinds=0"):
        Dyck(num_kinds=0)
